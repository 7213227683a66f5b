//! How a wait has ended, or stands, for people and for programs: pure.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use matsu_wait::notify::Announcement;
use matsu_wait::record::Record;
use matsu_wait::target::Target;
use matsu_wait::wait::{OutcomeKind, Status};
use matsu_wait::{delay, duration};
use schemars::JsonSchema;
use serde::Serialize;

/// The document of one wait; what is not known, or not yet, is null.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Result")]
pub(crate) struct Document {
    /// The wait's id, never used twice.
    pub(crate) wait: Option<String>,
    /// What is waited for.
    pub(crate) target: Option<Target>,
    /// How the wait ended; null while it goes on.
    #[schemars(extend("enum" = ["completed", "failed", "vanished", "cancelled", "gave-up", "cannot-check", null]))]
    pub(crate) outcome: Option<&'static str>,
    /// Which limit was reached, if it gave up.
    #[schemars(extend("enum" = ["count", "deadline", null]))]
    pub(crate) limit: Option<&'static str>,
    /// What the last look saw, in the service's own word.
    pub(crate) status: Option<String>,
    /// Percent done, where the service tells.
    pub(crate) progress: Option<u8>,
    /// The number of passes.
    pub(crate) count: Option<u32>,
    /// From the start to the end, or until now.
    pub(crate) elapsed_seconds: Option<f64>,
    /// Why it ended so, in words for people.
    pub(crate) reason: Option<String>,
}

/// The end of a wait.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ending {
    pub(crate) kind: OutcomeKind,
    pub(crate) document: Document,
}

impl Document {
    /// The wait of a record, as it stands at `now`.
    pub(crate) fn of(record: &Record, now: Timestamp) -> Self {
        let outcome = record.outcome.as_ref();
        let (text, progress) = match record.wait.status.clone() {
            Some(Status { text, progress, .. }) => (Some(text), progress),
            None => (None, None),
        };
        Self {
            wait: Some(record.wait.id.clone()),
            target: Some(record.wait.target.shown()),
            outcome: outcome.map(|o| o.kind.word()),
            limit: outcome.and_then(|o| o.limit).map(matsu_wait::Limit::word),
            status: text,
            progress,
            count: Some(record.passes()),
            elapsed_seconds: Some(seconds(delay::until(
                outcome.map_or(now, |o| o.at),
                record.wait.started_at,
            ))),
            reason: outcome.map(|o| o.reason.clone()),
        }
    }

    /// The wait of an outcome that is told.
    pub(crate) fn told(announcement: &Announcement) -> Self {
        let Announcement {
            wait,
            target,
            outcome,
            passes,
            status,
            ..
        } = announcement.clone();
        Self {
            wait: Some(wait),
            target: Some(target),
            outcome: Some(outcome.kind.word()),
            limit: outcome.limit.map(matsu_wait::Limit::word),
            progress: status.as_ref().and_then(|status| status.progress),
            status: status.map(|status| status.text),
            count: Some(passes),
            elapsed_seconds: Some(seconds(announcement.duration())),
            reason: Some(outcome.reason),
        }
    }

    /// Something in the place of a record that cannot be read.
    pub(crate) fn unreadable(why: String) -> Self {
        Self {
            wait: None,
            target: None,
            outcome: None,
            limit: None,
            status: None,
            progress: None,
            count: None,
            elapsed_seconds: None,
            reason: Some(why),
        }
    }
}

impl Ending {
    /// The end that a record tells, if it tells one.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let outcome = record.outcome.as_ref()?;
        Some(Self {
            kind: outcome.kind,
            document: Document::of(record, outcome.at),
        })
    }

    /// The outcome and the number of passes: `completed after 3 passes`.
    pub(crate) fn how(&self) -> String {
        let count = self.document.count.map(passes);
        count.map_or_else(
            || self.kind.word().to_owned(),
            |count| format!("{} after {count}", self.kind.word()),
        )
    }

    /// One line for people: the outcome, and what it was about.
    pub(crate) fn line(&self) -> String {
        let Document {
            target,
            count,
            elapsed_seconds,
            reason,
            ..
        } = &self.document;
        let style = match self.kind {
            OutcomeKind::Completed => AnsiColor::Green,
            OutcomeKind::Cancelled | OutcomeKind::GaveUp => AnsiColor::Yellow,
            OutcomeKind::Failed | OutcomeKind::FailedToStart | OutcomeKind::Vanished | OutcomeKind::CannotCheck => {
                AnsiColor::Red
            }
        };
        let style = Style::new().bold().fg_color(Some(style.into()));
        let mut line = format!("{style}{}{style:#}", self.kind.word());
        if let Some(target) = target {
            line.push_str(&format!(": {target}"));
        }
        if let Some(count) = count {
            line.push_str(&format!(" after {}", passes(*count)));
        }
        if let Some(seconds) = elapsed_seconds {
            line.push_str(&format!(" in {}", duration::show(Duration::from_secs_f64(*seconds))));
        }
        if let Some(reason) = reason {
            line.push_str(&format!(
                ": {}",
                reason.split_whitespace().collect::<Vec<_>>().join(" ")
            ));
        }
        line
    }
}

fn passes(count: u32) -> String {
    format!("{count} {}", if count == 1 { "pass" } else { "passes" })
}

/// Seconds with milliseconds.
fn seconds(d: Duration) -> f64 {
    (d.as_secs_f64() * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
pub(crate) mod tests {
    use matsu_wait::record::{Lease, State};
    use matsu_wait::testing::{BEGINNING, wait_for};
    use matsu_wait::wait::{Extra, Limit, Outcome, Policy};
    use serde_json::json;

    use super::*;

    pub(crate) fn record(text: &str) -> Record {
        Record {
            v: 1,
            wait: wait_for(text, Policy::default()),
            state: State::Waiting,
            pass: 3,
            parent: None,
            msg: "msg".to_owned(),
            put: "put".to_owned(),
            lease: Lease::new(Duration::from_secs(60)),
            takeovers: 0,
            outcome: None,
            notified: None,
            extra: Extra::new(),
        }
    }

    pub(crate) fn ended(text: &str, kind: OutcomeKind, after: i64) -> Record {
        let at = Timestamp::from_second(BEGINNING + after).unwrap();
        let outcome = Outcome {
            kind,
            limit: None,
            reason: "it is\nso".to_owned(),
            at,
            extra: Extra::new(),
        };
        Record {
            state: State::Done,
            outcome: Some(outcome),
            ..record(text)
        }
    }

    #[test]
    fn the_document_of_an_open_wait_has_nulls_for_what_is_not_known_yet() {
        let now = Timestamp::from_millisecond(BEGINNING * 1_000 + 1_500).unwrap();
        let document = serde_json::to_value(Document::of(&record("s3://my-bucket/k"), now)).unwrap();
        assert_eq!(
            document,
            json!({
                "wait": "wait-1",
                "target": {"kind": "s3-object", "bucket": "my-bucket", "key": "k", "until": "exists"},
                "outcome": null, "limit": null, "status": null, "progress": null,
                "count": 3, "elapsed_seconds": 1.5, "reason": null,
            })
        );
    }

    #[test]
    fn the_document_of_an_ended_wait_tells_its_outcome_and_limit() {
        let mut record = ended("s3://my-bucket/k", OutcomeKind::GaveUp, 90);
        record.outcome.as_mut().unwrap().limit = Some(Limit::Deadline);
        record.wait.status = Some(Status::new("copying").at(Some(45)));
        let document = Document::of(&record, Timestamp::MAX);
        assert_eq!((document.outcome, document.limit), (Some("gave-up"), Some("deadline")));
        assert_eq!(
            (document.status.as_deref(), document.progress),
            (Some("copying"), Some(45))
        );
        assert_eq!(document.elapsed_seconds, Some(90.0));
    }

    #[test]
    fn the_line_for_people_is_one_line_with_outcome_target_passes_duration_and_reason() {
        let ending = Ending::of(&ended("s3://my-bucket/k", OutcomeKind::Completed, 62)).unwrap();
        let plain = anstream::adapter::strip_str(&ending.line()).to_string();
        assert_eq!(plain, "completed: s3://my-bucket/k after 3 passes in 1m2s: it is so");
    }

    #[test]
    fn an_open_wait_has_no_ending() {
        assert_eq!(Ending::of(&record("s3://my-bucket/k")), None);
    }
}
