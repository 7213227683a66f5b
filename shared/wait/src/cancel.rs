//! Cancel: the wait for a target ends here and now; its passes find nothing left to do.

use jiff::Timestamp;

use crate::decide;
use crate::engine::Run;
use crate::ledger::{self, Put, Stop};
use crate::record::{self, Record, State};
use crate::target::Target;
use crate::wait::{Outcome, OutcomeKind};

/// What a cancel came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Cancelled {
    /// The wait has ended as cancelled, as this record says; that is announced when every run that may be alive has ended.
    Cancelled(Box<Record>),
    /// It had ended before.
    Over(Box<Record>),
    /// Nothing is waited for there.
    Absent,
    /// It belongs to another queue, and nothing was done.
    Elsewhere {
        /// That queue: [`crate::wait::Wait::home`].
        home: String,
    },
}

/// Ends the wait for `target` by one write that a pass cannot undo, then sends the timer that announces it.
///
/// One that died between the two is made good by the next cancel, or a sweep.
///
/// # Errors
/// [`Stop`].
pub async fn cancel(run: &Run, target: &Target) -> Result<Cancelled, Stop> {
    let Some(mut stands) = ledger::read(run, &record::key(target)).await? else {
        return Ok(Cancelled::Absent);
    };
    loop {
        let record = &stands.record;
        if record.wait.home != run.engine().queue.home() {
            let home = record.wait.home.clone();
            return Ok(Cancelled::Elsewhere { home });
        }
        let a_lease = ledger::a_lease(run, record);
        if record.state == State::Done {
            if !record.is_over() {
                ledger::remind(run, record, stands.token, a_lease).await?;
            }
            return Ok(Cancelled::Over(Box::new(stands.record)));
        }
        let outcome = outcome(record, stands.now(run));
        let done = ledger::closed(run, record, stands.token.clone(), outcome);
        match ledger::put(run, Some(&stands.token), &done).await? {
            Put::Written { token, .. } => {
                ledger::remind(run, &done, token, a_lease).await?;
                return Ok(Cancelled::Cancelled(Box::new(done)));
            }
            Put::Other(None) => return Ok(Cancelled::Absent),
            Put::Other(Some(other)) => stands = *other,
        }
    }
}

/// Somebody's decision, with what was known at that time: the record shows what the pass before saw.
fn outcome(record: &Record, now: Timestamp) -> Outcome {
    let reason = match &record.wait.status {
        Some(status) => format!("somebody cancelled the wait; it was {status}"),
        None => "somebody cancelled the wait".to_owned(),
    };
    decide::outcome(OutcomeKind::Cancelled, None, reason, now)
}

#[cfg(test)]
#[path = "cancel_tests.rs"]
mod tests;
