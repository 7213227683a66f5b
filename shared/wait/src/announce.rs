//! The outbox: a decided outcome is told, and then recorded as told.

use std::time::Duration;

use jiff::Timestamp;
use matsu_lock::Token;

use crate::delay;
use crate::engine::{Run, limit};
use crate::ledger::{self, Put, Stop};
use crate::notify::{Announcement, Told};
use crate::pass::Passed;
use crate::record::{Notified, Record};
use crate::wait::Wait;

/// An outcome that could not be told for this long never will be.
const GIVE_UP: Duration = Duration::from_secs(3 * 86_400);

/// What telling the owed outcomes came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwedTold {
    /// How many are owed no longer.
    pub(crate) settled: usize,
    /// Whether the channel asked to come later, and when if it said so.
    pub(crate) later: Option<Option<Duration>>,
}

/// Announces the outcome of `record`, done and standing at `token`, and what is still owed before it; then records that
/// (`tries`: how often it was put off before). The announcement is at least once: a run that dies between the channel's
/// answer and the record of it leaves it to the next.
///
/// # Errors
/// [`Stop`]: give the message back.
pub(crate) async fn announce(
    run: &Run,
    record: Record,
    token: Token,
    now: Timestamp,
    tries: u32,
) -> Result<Passed, Stop> {
    let Some(outcome) = record.outcome.clone() else {
        return Ok(Passed::Over);
    };
    let mut told = ledger::rewritten(run, &record);
    let owed = owed(run, &mut told.wait, now).await;
    let mut later = owed.later;
    if later.is_none() {
        let announcement = Announcement {
            wait: record.wait.id.clone(),
            target: record.wait.target.clone(),
            outcome: outcome.clone(),
            passes: record.passes(),
            started_at: record.wait.started_at,
            status: record.wait.status.clone(),
        };
        match tell(run, &announcement, now).await {
            Ok(notified) => told.notified = Some(notified),
            Err(after) => later = Some(after),
        }
    }
    let mut token = token;
    if told.notified.is_some() || owed.settled > 0 {
        match ledger::put(run, Some(&token), &told).await? {
            Put::Written { token: written, .. } => token = written,
            Put::Other(_) => return Ok(Passed::Overtaken),
        }
    }
    let Some(after) = later else {
        return Ok(Passed::Finished(outcome.kind));
    };
    let Some(mut again) = ledger::again(&told, token) else {
        return Ok(Passed::Over);
    };
    again.tries = tries.saturating_add(1);
    let delay = delay::announcement(after, tries, |low, high| run.engine().random.between(low, high));
    ledger::send(run, again, delay, now).await?;
    Ok(Passed::AnnouncedLater(outcome.kind))
}

/// Tells what `wait` owes, the oldest first, up to the first that the channel does not take now.
pub(crate) async fn owed(run: &Run, wait: &mut Wait, now: Timestamp) -> OwedTold {
    let mut settled = 0;
    while let Some(owed) = wait.owed.first() {
        let announcement = Announcement {
            wait: owed.wait.clone(),
            target: wait.target.clone(),
            outcome: owed.outcome.clone(),
            passes: owed.passes,
            started_at: owed.started_at,
            status: owed.status.clone(),
        };
        match tell(run, &announcement, now).await {
            Ok(_) => {
                wait.owed.remove(0);
                settled += 1;
            }
            Err(after) => {
                return OwedTold {
                    settled,
                    later: Some(after),
                };
            }
        }
    }
    OwedTold { settled, later: None }
}

/// Tells one outcome: settled for good, or to be told later, when the channel said so after this time.
async fn tell(run: &Run, announcement: &Announcement, now: Timestamp) -> Result<Notified, Option<Duration>> {
    let told = run.effect(limit::TELL, run.engine().notify.tell(announcement)).await;
    let (after, why) = match told {
        Ok(Some(Told::Sent)) => return Ok(Notified::Sent),
        Ok(Some(Told::Never(why))) => return Ok(undeliverable(announcement, why)),
        Ok(Some(Told::Later { after, why })) => (after, why),
        Ok(None) => (None, "no answer in time".to_owned()),
        Err(out_of_time) => (None, out_of_time.to_string()),
    };
    if delay::until(now, announcement.outcome.at) >= GIVE_UP {
        return Ok(undeliverable(announcement, format!("{why}, for three days")));
    }
    tracing::warn!(wait = announcement.wait, why, "the outcome will be announced later");
    Err(after)
}

/// The full text goes to the log: nobody else will ever tell it.
fn undeliverable(announcement: &Announcement, why: String) -> Notified {
    tracing::error!(
        wait = announcement.wait,
        target = %announcement.target,
        outcome = announcement.outcome.kind.word(),
        reason = announcement.outcome.reason,
        passes = announcement.passes,
        why,
        "the outcome cannot be announced"
    );
    Notified::Undeliverable(why)
}
