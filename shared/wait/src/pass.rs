//! Pass: a timer in, one look at the target at most, the next timer or the outcome out.
//!
//! 0. A timer that comes too early is forwarded.
//! 1. Claim the pass: the one write that every pass costs.
//! 2. Announce what an earlier wait for this target still owes.
//! 3. Check.
//! 4. Pending: send the next timer, *then* acknowledge this one.
//! 5. Terminal: record the outcome, announce it, record that.

use jiff::Timestamp;
use matsu_lock::Token;

use crate::announce::{self, announce};
use crate::decide::{self, Next};
use crate::delay;
use crate::engine::{Run, limit};
use crate::job::Begun;
use crate::ledger::{self, Put, Stop};
use crate::message::Message;
use crate::queue::LONGEST_DELAY;
use crate::record::{Record, State};
use crate::target::Seen;
use crate::wait::{Outcome, OutcomeKind, Wait};

/// What a pass did. In each case the message is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passed {
    /// It came too early and was forwarded.
    Hopped,
    /// It looked, and the next timer is on its way.
    Again,
    /// The wait has ended, and that is announced or recorded as undeliverable.
    Finished(OutcomeKind),
    /// The wait has ended; the announcement is put off.
    AnnouncedLater(OutcomeKind),
    /// The wait has ended; another run wrote while this one announced it.
    Overtaken,
    /// Another run claimed this pass and may be alive: the message comes back when that one is dead.
    Postponed,
    /// Nothing to do: the wait is over, or another one took its place, or it lives in another queue.
    Over,
    /// Nothing to do: another message claimed this pass.
    Copy,
    /// Nothing to do: the wait has moved on.
    Stale,
}

/// A pass that this run has claimed.
struct Claim {
    record: Record,
    token: Token,
    now: Timestamp,
}

/// Does the pass that `message` asks for.
///
/// # Errors
/// [`Stop`]: give the message back.
pub async fn pass(run: &Run, message: Message) -> Result<Passed, Stop> {
    if message.wait.home != run.engine().queue.home() {
        tracing::warn!(
            wait = message.wait.id,
            home = message.wait.home,
            "a message of another queue's wait"
        );
        return Ok(Passed::Over);
    }
    if let Some(forwarded) = hop(run, &message).await? {
        return Ok(forwarded);
    }
    let mut claim = match claim(run, &message).await? {
        Ok(claim) => claim,
        Err(passed) => return Ok(passed),
    };
    if claim.record.state == State::Done {
        return announce(run, claim.record, claim.token, claim.now, message.tries).await;
    }
    claim = settle_owed(run, claim).await?;
    match check(run, &mut claim.record, claim.now).await? {
        Next::Again(delay) => {
            let count = claim.record.pass.saturating_add(1);
            let next = ledger::timer(claim.record.wait, count, claim.token, run.engine().random.id());
            ledger::send(run, next, delay, claim.now).await?;
            Ok(Passed::Again)
        }
        Next::Finish(outcome) => finish(run, claim, outcome).await,
    }
}

/// Step 0. A hop is no pass and touches no store; it is never longer than a queue can delay nor beyond the deadline.
async fn hop(run: &Run, message: &Message) -> Result<Option<Passed>, Stop> {
    let now = run.engine().clock.now();
    let Some(not_before) = message.not_before.filter(|moment| *moment > now) else {
        return Ok(None);
    };
    let rest = delay::until(not_before, now).min(delay::until(message.wait.deadline(), now));
    if rest.is_zero() {
        return Ok(None);
    }
    ledger::send_body(run, message.to_body(), rest.min(LONGEST_DELAY)).await?;
    Ok(Some(Passed::Hopped))
}

/// Step 1: the pass is claimed, or taken over from a claimer who is dead, or there is nothing to do.
async fn claim(run: &Run, message: &Message) -> Result<Result<Claim, Passed>, Stop> {
    let mut record = ledger::waiting(
        run,
        message.wait.clone(),
        message.count,
        Some(message.token.clone()),
        message.msg.clone(),
    );
    let mut replacing = message.token.clone();
    loop {
        let (stands, token) = match ledger::put(run, Some(&replacing), &record).await? {
            Put::Written { token, date } => {
                let now = date.unwrap_or_else(|| run.engine().clock.now());
                return Ok(Ok(Claim { record, token, now }));
            }
            Put::Other(None) => return Ok(Err(Passed::Over)),
            Put::Other(Some(other)) => (other.record, other.token),
        };
        if stands.wait.id != message.wait.id || stands.wait.home != message.wait.home || stands.is_over() {
            return Ok(Err(Passed::Over));
        }
        if stands.pass != message.count || stands.parent.as_ref() != Some(&message.token) {
            return Ok(Err(Passed::Stale));
        }
        if stands.state == State::Waiting && stands.msg != message.msg {
            return Ok(Err(Passed::Copy));
        }
        if message.seen.as_ref() != Some(&token) {
            let now = run.engine().clock.now();
            let mut again = message.clone();
            again.seen = Some(token);
            ledger::send(run, again, ledger::a_lease(run, &stands), now).await?;
            return Ok(Err(Passed::Postponed));
        }
        record = taken_over(run, &stands, message);
        replacing = token;
    }
}

/// The whole record, as a claimer who is dead left it, for this message and run.
fn taken_over(run: &Run, stands: &Record, message: &Message) -> Record {
    let mut record = ledger::rewritten(run, stands);
    record.msg.clone_from(&message.msg);
    if record.state == State::Waiting {
        record.takeovers = record.takeovers.saturating_add(1);
    }
    record
}

/// Step 2: announces what is owed and records that. What cannot be announced now stays owed.
async fn settle_owed(run: &Run, mut claim: Claim) -> Result<Claim, Stop> {
    if claim.record.wait.owed.is_empty() {
        return Ok(claim);
    }
    let mut record = ledger::rewritten(run, &claim.record);
    if announce::owed(run, &mut record.wait, claim.now).await.settled == 0 {
        return Ok(claim);
    }
    match ledger::put(run, Some(&claim.token), &record).await? {
        Put::Written { token, .. } => {
            claim.record = record;
            claim.token = token;
            Ok(claim)
        }
        Put::Other(_) => Err(Stop::Overtaken("it could note an announcement")),
    }
}

/// Step 3: one look at most.
async fn check(run: &Run, record: &mut Record, now: Timestamp) -> Result<Next, Stop> {
    if let Some(outcome) = decide::before_look(&record.wait, record.pass, record.takeovers, now) {
        return Ok(Next::Finish(outcome));
    }
    let seen = match start_job(run, &mut record.wait, now).await? {
        Begun::Started => look(run, &record.wait).await?,
        Begun::Later(why) => Seen::Unknown(format!("not started: {why}")),
        Begun::Refused(why) => {
            return Ok(Next::Finish(decide::outcome(
                OutcomeKind::FailedToStart,
                None,
                why,
                now,
            )));
        }
    };
    let (wait, next) = decide::decide(record.wait.clone(), &seen, record.pass, now);
    record.wait = wait;
    tracing::info!(
        wait = record.wait.id,
        target = %record.wait.target,
        count = record.pass,
        status = record.wait.status.as_ref().map(tracing::field::display),
        "looked"
    );
    Ok(match (next, seen) {
        (Next::Again(delay), Seen::Unknown(_)) => Next::Again(jittered(run, &record.wait, delay, now)),
        (next, _) => next,
    })
}

/// A job that was left is started before the look.
pub(crate) async fn start_job(run: &Run, wait: &mut Wait, now: Timestamp) -> Result<Begun, Stop> {
    let Some(job) = wait.job.as_ref().filter(|_| wait.job_started.is_none()) else {
        return Ok(Begun::Started);
    };
    let begun = run
        .effect(limit::JOB, run.engine().jobs.start(job, &wait.target))
        .await?
        .unwrap_or_else(|| Begun::Later("no answer in time".to_owned()));
    if begun == Begun::Started {
        wait.job_started = Some(now);
    }
    Ok(begun)
}

async fn look(run: &Run, wait: &Wait) -> Result<Seen, Stop> {
    let seen = run.effect(limit::LOOK, run.engine().look.look(&wait.target)).await?;
    Ok(seen.unwrap_or_else(|| Seen::Unknown("no answer in time".to_owned())))
}

/// After an unanswered look the waits that were throttled together part, unless a fixed interval was asked for.
fn jittered(run: &Run, wait: &Wait, delay: std::time::Duration, now: Timestamp) -> std::time::Duration {
    if wait.policy.min_delay == wait.policy.max_delay {
        return delay;
    }
    let spread = run.engine().random.between(delay, delay + delay / 4);
    spread.min(delay::until(wait.deadline(), now).max(delay))
}

/// Step 5: the outcome is recorded before anybody hears of it.
async fn finish(run: &Run, claim: Claim, outcome: Outcome) -> Result<Passed, Stop> {
    let mut record = ledger::rewritten(run, &claim.record);
    record.state = State::Done;
    record.outcome = Some(outcome);
    match ledger::put(run, Some(&claim.token), &record).await? {
        Put::Written { token, .. } => announce(run, record, token, claim.now, 0).await,
        Put::Other(_) => Err(Stop::Overtaken("the outcome could be recorded")),
    }
}

#[cfg(test)]
#[path = "pass_tests.rs"]
mod tests;
