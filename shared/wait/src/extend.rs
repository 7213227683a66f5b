//! Extend: a running wait gets more time.

use std::time::Duration;

use crate::duration;
use crate::engine::Run;
use crate::ledger::{self, Put, Stop};
use crate::record::{self, Record, State};
use crate::target::Target;
use crate::wait::Policy;

/// What an extension came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Extended {
    /// The wait goes on under the new policy, as this record says.
    Extended(Box<Record>),
    /// It has ended; nothing was done.
    Over(Box<Record>),
    /// Nothing is waited for there.
    Absent,
    /// It belongs to another queue, and nothing was done.
    Elsewhere {
        /// That queue: [`crate::wait::Wait::home`].
        home: String,
    },
}

/// Moves the deadline of the wait for `target` by `by` and allows as many passes more as may happen in that time, so that
/// the count does not end it first.
///
/// One write, which makes the timers stale that are on their way; then a timer under the new policy. What dies between
/// the two is made good by a sweep.
///
/// # Errors
/// [`Stop`].
pub async fn extend(run: &Run, target: &Target, by: Duration) -> Result<Extended, Stop> {
    let Some(mut stands) = ledger::read(run, &record::key(target)).await? else {
        return Ok(Extended::Absent);
    };
    loop {
        let record = &stands.record;
        if record.wait.home != run.engine().queue.home() {
            let home = record.wait.home.clone();
            return Ok(Extended::Elsewhere { home });
        }
        if record.state == State::Done {
            return Ok(Extended::Over(Box::new(stands.record)));
        }
        let (now, a_lease) = (stands.now(run), ledger::a_lease(run, record));
        let mut longer = ledger::rewritten(run, record);
        longer.wait.policy = lengthened(&record.wait.policy, by);
        match ledger::put(run, Some(&stands.token), &longer).await? {
            Put::Written { token, .. } => {
                let count = longer.pass.saturating_add(1);
                let next = ledger::timer(longer.wait.clone(), count, token, run.engine().random.id());
                ledger::send(run, next, a_lease, now).await?;
                return Ok(Extended::Extended(Box::new(longer)));
            }
            Put::Other(None) => return Ok(Extended::Absent),
            Put::Other(Some(other)) => stands = *other,
        }
    }
}

fn lengthened(policy: &Policy, by: Duration) -> Policy {
    let passes = by.as_millis().div_ceil(policy.min_delay.as_millis().max(1));
    Policy {
        timeout: policy.timeout.saturating_add(by).min(duration::LONGEST),
        max_count: policy
            .max_count
            .saturating_add(u32::try_from(passes).unwrap_or(u32::MAX)),
        ..policy.clone()
    }
}

#[cfg(test)]
#[path = "extend_tests.rs"]
mod tests;
