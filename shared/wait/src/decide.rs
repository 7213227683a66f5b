//! The verdict on a look: pure.

use std::time::Duration;

use jiff::Timestamp;

use crate::delay;
use crate::duration;
use crate::message::bytes_in_body;
use crate::target::Seen;
use crate::wait::{Extra, Limit, Outcome, OutcomeKind, Status, Wait};

/// A target that was never seen may still be on its way for this long.
pub const GRACE: Duration = Duration::from_secs(600);
/// Looks in a row that find nothing after the target was seen, until it has vanished.
pub const MISSING_LOOKS: u32 = 2;
/// Looks in a row that are denied, until nobody can tell: a fresh permission needs seconds to be known everywhere.
pub const DENIED_LOOKS: u32 = 3;
/// Take-overs of one pass, until looking itself is what kills the runs.
pub const TAKEOVERS: u32 = 4;

/// The longest reason of an outcome, in bytes as messages carry it: one may carry those of many earlier waits.
const LONGEST_REASON: usize = 2_000;
/// The longest text of a status, likewise.
const LONGEST_STATUS: usize = 600;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Look again after this delay.
    Again(Duration),
    /// The wait has ended.
    Finish(Outcome),
}

/// What pass `pass` comes to before it looks, if it may not look any more.
#[must_use]
pub fn before_look(wait: &Wait, pass: u32, takeovers: u32, now: Timestamp) -> Option<Outcome> {
    if takeovers >= TAKEOVERS {
        let reason = format!("{takeovers} runs died one after the other while looking");
        return Some(outcome(OutcomeKind::CannotCheck, None, reason, now));
    }
    (pass > wait.policy.max_count).then(|| gave_up(wait, Limit::Count, pass - 1, now))
}

/// Takes what pass `pass` saw at `now` into the wait, and says what to do next. `Pass max_count` is the last look; the
/// deadline gets one last look of its own.
#[must_use]
pub fn decide(wait: Wait, seen: &Seen, pass: u32, now: Timestamp) -> (Wait, Next) {
    let wait = observe(wait, seen);
    let ended = verdict(&wait, seen, now)
        .or_else(|| (pass >= wait.policy.max_count).then(|| gave_up(&wait, Limit::Count, pass, now)))
        .or_else(|| (now >= wait.deadline()).then(|| gave_up(&wait, Limit::Deadline, pass, now)));
    let next = match ended {
        Some(outcome) => Next::Finish(outcome),
        None => Next::Again(delay::after(&wait, pass, now)),
    };
    (wait, next)
}

/// What a look leaves in the wait. An unanswered look is no look: the counts of looks in a row stay.
fn observe(mut wait: Wait, seen: &Seen) -> Wait {
    match seen {
        Seen::Satisfied(status) | Seen::Pending(status) | Seen::Failed(status, _) => {
            let text = cut(&status.text, LONGEST_STATUS).to_owned();
            wait.status = Some(Status { text, ..status.clone() });
            wait.ever_seen = true;
            (wait.denied, wait.missing) = (0, 0);
        }
        Seen::Missing => {
            wait.status = Some(Status::new("not found"));
            wait.denied = 0;
            wait.missing = wait.missing.saturating_add(1);
        }
        Seen::Denied(_) => {
            wait.status = Some(Status::new("unknown: denied"));
            wait.missing = 0;
            wait.denied = wait.denied.saturating_add(1);
        }
        Seen::Unknown(why) => {
            let progress = wait.status.as_ref().and_then(|s| s.progress);
            wait.status = Some(Status::new(format!("unknown: {}", cut(why, 200))).at(progress));
        }
    }
    wait
}

/// The end that the look itself proves, if it does.
fn verdict(wait: &Wait, seen: &Seen, now: Timestamp) -> Option<Outcome> {
    match seen {
        Seen::Satisfied(status) => {
            let reason = match status.text.as_str() {
                "exists" => "it exists".to_owned(),
                _ => format!("it is {status}"),
            };
            Some(outcome(OutcomeKind::Completed, None, reason, now))
        }
        Seen::Failed(_, why) => Some(outcome(OutcomeKind::Failed, None, why.clone(), now)),
        Seen::Missing if wait.ever_seen => (wait.missing >= MISSING_LOOKS).then(|| {
            let reason = format!("it was there and was not found at {} looks in a row", wait.missing);
            outcome(OutcomeKind::Vanished, None, reason, now)
        }),
        Seen::Missing => {
            let since = wait.job_started.unwrap_or(wait.started_at);
            let waited = delay::until(now, since);
            (waited >= GRACE).then(|| {
                let reason = format!("it was never found in {}", duration::show(waited));
                outcome(OutcomeKind::Vanished, None, reason, now)
            })
        }
        Seen::Denied(why) => {
            (wait.denied >= DENIED_LOOKS).then(|| outcome(OutcomeKind::CannotCheck, None, why.clone(), now))
        }
        Seen::Pending(_) | Seen::Unknown(_) => None,
    }
}

/// Giving up carries its evidence: how long, how many passes, the last status, and the limit.
fn gave_up(wait: &Wait, limit: Limit, passes: u32, now: Timestamp) -> Outcome {
    let status = wait
        .status
        .as_ref()
        .map_or_else(|| "never looked at".to_owned(), ToString::to_string);
    let elapsed = duration::show(delay::until(now, wait.started_at));
    let limit_text = match limit {
        Limit::Count => format!("{} passes", wait.policy.max_count),
        Limit::Deadline => duration::format(wait.policy.timeout),
    };
    let reason = format!("still {status} after {passes} passes in {elapsed}; the limit is {limit_text}");
    outcome(OutcomeKind::GaveUp, Some(limit), reason, now)
}

/// An outcome decided at `at`, its reason cut to a bound: it travels in records and messages.
#[must_use]
pub fn outcome(kind: OutcomeKind, limit: Option<Limit>, reason: String, at: Timestamp) -> Outcome {
    Outcome {
        kind,
        limit,
        reason: cut(&reason, LONGEST_REASON).to_owned(),
        at,
        extra: Extra::new(),
    }
}

/// At most `most` bytes of a text as messages carry it, cut between characters.
fn cut(text: &str, most: usize) -> &str {
    let mut bytes = 0;
    let mut beyond = text.char_indices().filter(|(_, c)| {
        bytes += bytes_in_body(*c);
        bytes > most
    });
    beyond.next().map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
