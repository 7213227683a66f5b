//! Wires the starter function: configuration, clients, the runtime.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use matsu_wait::function::Function;
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let function = Function::load()?;
    let function = &function;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| async move {
        let context = event.context;
        let left = function.left(context.deadline);
        let wired = function.engine(&context.invoked_function_arn).await?;
        let run = wired.run(left);
        let rules = wired.rules(context.request_id);
        let answer = tokio::time::timeout(left, matsu_starter::serve(&run, &rules, &event.payload)).await;
        let answer = answer.map_err(|_| format!("not done within {} s", left.as_secs()))??;
        Ok::<_, Error>(answer)
    }))
    .await
}
