//! `matsu cancel`: a wait ends here and now.

use std::process::ExitCode;

use matsu_wait::cancel::{Cancelled, cancel};
use matsu_wait::engine::Run;
use matsu_wait::wait::OutcomeKind;
use matsu_wait::work::LEASE;

use crate::args::{Common, Output};
use crate::failure::Failure;
use crate::find::Which;
use crate::report::Ending;
use crate::say;
use crate::session::Session;

pub(crate) const HELP: &str = "\
Whoever works the queue tells the outcome, about a minute later: the waiter function, matsu worker,
or a matsu wait with the same queue. What the wait is for is left alone.

Exit codes:
  0 the wait is cancelled   1 there is none, or it has ended otherwise
  252 usage   253 configuration or credentials   254 service error";

/// Runs the command.
pub(crate) async fn run(common: &Common, which: Which) -> Result<ExitCode, Failure> {
    let session = Session::open_silent(common).await?;
    session.check_store()?;
    let engine = session.engine().await?;
    let target = which.find(&session, &engine).await?.wait.target;
    let absent = || Failure::Absent(format!("{target} is not waited for"));
    let record = match cancel(&Run::new(engine, LEASE), &target).await? {
        Cancelled::Cancelled(record) | Cancelled::Over(record) => record,
        Cancelled::Absent => return Err(absent()),
        Cancelled::Elsewhere { home } => return Err(Session::elsewhere(&target, &home)),
    };
    let ending = Ending::of(&record).ok_or_else(absent)?;
    match session.output {
        Output::Json => say::json(&ending.document)?,
        Output::Text => say::result(ending.line())?,
    }
    if ending.kind != OutcomeKind::Cancelled {
        return Err(Failure::Absent(format!(
            "{target} had ended already: there is nothing to cancel"
        )));
    }
    if session.embedded() && session.config.webhook.is_some() && record.notified.is_none() {
        say::note("the outcome is told once the queue is worked, in a minute at the earliest: matsu worker works it");
    }
    Ok(ExitCode::SUCCESS)
}
