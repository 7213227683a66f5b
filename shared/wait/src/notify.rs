//! Telling people: the port, and one channel a file (rendering pure, then sending).

pub mod slack;

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

pub use slack::{Slack, Webhook};

use crate::target::Target;
use crate::wait::{Outcome, Status};

/// One outcome to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The wait's id.
    pub wait: String,
    /// What was waited for.
    pub target: Target,
    /// How it ended.
    pub outcome: Outcome,
    /// After how many passes.
    pub passes: u32,
    /// When it had started; with the outcome's time this gives the duration.
    pub started_at: Timestamp,
    /// What the last look saw.
    pub status: Option<Status>,
}

impl Announcement {
    /// From the start to the outcome.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::try_from(self.outcome.at.duration_since(self.started_at)).unwrap_or_default()
    }
}

/// What became of telling it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// The channel took it.
    Sent,
    /// Not now (429, 5xx, no answer), perhaps with the channel's own word when to come again.
    Later {
        /// The channel's own word.
        after: Option<Duration>,
        /// What happened; no secret in it.
        why: String,
    },
    /// Never (any other 4xx, an address that cannot be had); no secret in the reason.
    Never(String),
}

/// The port to a channel.
#[async_trait]
pub trait Notify: Send + Sync + std::fmt::Debug {
    /// Tells one outcome, within ten seconds. It never fails: what went wrong is part of the answer.
    async fn tell(&self, announcement: &Announcement) -> Told;
}

/// No channel: the outcome goes to the log alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogOnly;

#[async_trait]
impl Notify for LogOnly {
    async fn tell(&self, announcement: &Announcement) -> Told {
        tracing::info!(
            wait = announcement.wait,
            target = %announcement.target,
            outcome = announcement.outcome.kind.word(),
            reason = announcement.outcome.reason,
            "the wait has ended"
        );
        Told::Sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{File, Until};
    use crate::wait::{Extra, OutcomeKind};

    fn from_to(started_at: &str, at: &str) -> Announcement {
        Announcement {
            wait: "w1".to_owned(),
            target: Target::File(File {
                path: "/tmp/done".to_owned(),
                until: Until::Exists,
                extra: Extra::new(),
            }),
            outcome: Outcome {
                kind: OutcomeKind::Completed,
                limit: None,
                reason: "it is there".to_owned(),
                at: at.parse().unwrap(),
                extra: Extra::new(),
            },
            passes: 1,
            started_at: started_at.parse().unwrap(),
            status: None,
        }
    }

    #[test]
    fn the_duration_is_from_the_start_to_the_outcome_and_never_below_nothing() {
        for (started_at, at, seconds) in [
            ("2026-01-15T03:00:00Z", "2026-01-15T03:04:05Z", 245),
            ("2026-01-15T03:00:00Z", "2026-01-15T03:00:00Z", 0),
            ("2026-01-15T03:00:01Z", "2026-01-15T03:00:00Z", 0),
        ] {
            assert_eq!(from_to(started_at, at).duration(), Duration::from_secs(seconds));
        }
    }

    #[tokio::test]
    async fn without_a_channel_an_outcome_counts_as_told() {
        let announcement = from_to("2026-01-15T03:00:00Z", "2026-01-15T03:04:05Z");
        assert_eq!(LogOnly.tell(&announcement).await, Told::Sent);
    }
}
