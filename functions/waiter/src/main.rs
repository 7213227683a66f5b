//! Wires the waiter function: configuration, clients, the runtime.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use matsu_wait::function::Function;
use matsu_waiter::{Event, answer};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let function = Function::load()?;
    let function = &function;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| async move {
        let context = event.context;
        let left = function.left(context.deadline);
        let wired = function.engine(&context.invoked_function_arn).await?;
        let event = Event::read(event.payload)?;
        let run = wired.run(left);
        Ok::<_, Error>(answer(&run, |message| wired.rules(message.to_owned()), event).await?)
    }))
    .await
}
