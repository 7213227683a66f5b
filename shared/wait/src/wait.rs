//! The wait itself: wire types, kept in records and messages.

use std::time::Duration;

use jiff::Timestamp;
use matsu_lock::Token;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::duration;
use crate::job::Job;
use crate::target::Target;

/// Fields that this release does not know, kept as they came.
pub type Extra = Map<String, Value>;

/// How many earlier waits of a target a wait remembers.
pub const HISTORY: usize = 16;

/// One run of waiting. It travels whole in every message, so that the next write needs no read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Its id, never used twice.
    pub id: String,
    /// What is waited for.
    pub target: Target,
    /// How often and how long to look.
    pub policy: Policy,
    /// The request that it came from: an event's id, a message's id, an id made by the command.
    pub origin: String,
    /// The queue that it belongs to: [`crate::queue::Queue::home`].
    pub home: String,
    /// The work that it starts, if it starts any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
    /// When that work was started; none: not yet, a pass does it before it looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_started: Option<Timestamp>,
    /// When the wait was accepted.
    pub started_at: Timestamp,
    /// What the last look saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Whether any look found the target.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ever_seen: bool,
    /// Looks in a row that were denied.
    #[serde(default, skip_serializing_if = "is_default")]
    pub denied: u32,
    /// Looks in a row that found nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missing: u32,
    /// Earlier waits for this target, the latest last, at most [`HISTORY`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Past>,
    /// Outcomes of earlier waits for this target that are still to be announced, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owed: Vec<Owed>,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a look saw, in the service's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The service's word: `copying`, `absent`, `unknown: throttled`.
    pub text: String,
    /// Percent done, where the service tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<u8>,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Status {
    /// A status without progress.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            progress: None,
            extra: Extra::new(),
        }
    }

    /// The same with `percent` done.
    #[must_use]
    pub fn at(self, percent: Option<u8>) -> Self {
        Self {
            progress: percent,
            ..self
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.progress {
            Some(percent) => write!(f, "{} {percent} %", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// How often and how long a wait looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The shortest time between two passes.
    #[serde(with = "duration::text")]
    pub min_delay: Duration,
    /// The longest time between two passes.
    #[serde(with = "duration::text")]
    pub max_delay: Duration,
    /// The circuit breaker by count: this pass is the last look.
    pub max_count: u32,
    /// The circuit breaker by time, from [`Wait::started_at`].
    #[serde(with = "duration::text")]
    pub timeout: Duration,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An estimate from progress may stretch the longest delay by this factor.
pub const STRETCH: u32 = 5;

/// Records are kept for 30 days from their last write, so no delay may come near that: stretched, at most seven days.
pub const LONGEST_DELAY: Duration = Duration::from_secs(7 * 86_400 / STRETCH as u64);

impl Default for Policy {
    fn default() -> Self {
        Self {
            min_delay: Duration::from_secs(15),
            max_delay: Duration::from_secs(120),
            max_count: 1_000,
            timeout: Duration::from_secs(86_400),
            extra: Extra::new(),
        }
    }
}

impl Policy {
    /// The policy, if it can be kept.
    ///
    /// # Errors
    /// One sentence that names the field and what it takes.
    pub fn check(self) -> Result<Self, String> {
        if self.min_delay > self.max_delay {
            return Err(format!(
                "min_delay {} is longer than max_delay {}: it takes at most that",
                duration::format(self.min_delay),
                duration::format(self.max_delay)
            ));
        }
        if self.max_delay > LONGEST_DELAY {
            return Err(format!(
                "max_delay {} is too long: it takes at most {}",
                duration::format(self.max_delay),
                duration::format(LONGEST_DELAY)
            ));
        }
        if self.max_count == 0 {
            return Err("max_count 0 allows no look: it takes a whole number from 1".to_owned());
        }
        Ok(self)
    }

    /// The longest that this policy lets one delay become.
    #[must_use]
    pub fn longest_delay(&self) -> Duration {
        if self.min_delay == self.max_delay {
            self.max_delay
        } else {
            self.max_delay * STRETCH
        }
    }

    /// The longest wait that it allows: the time-out, or less where the count ends it sooner.
    #[must_use]
    pub fn longest_wait(&self) -> Duration {
        self.timeout.min(self.longest_delay().saturating_mul(self.max_count))
    }
}

impl Wait {
    /// When the breaker by time opens.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.started_at
            .checked_add(self.policy.timeout)
            .unwrap_or(Timestamp::MAX)
    }
}

/// How a wait ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which end.
    pub kind: OutcomeKind,
    /// Which breaker opened, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Why, in words for people, with the evidence.
    pub reason: String,
    /// When it was decided.
    pub at: Timestamp,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The ends of a wait, kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeKind {
    /// The target is what was waited for.
    Completed,
    /// The work failed.
    Failed,
    /// The work could not be started.
    FailedToStart,
    /// The target is not there (any more).
    Vanished,
    /// Somebody cancelled the wait.
    Cancelled,
    /// A breaker opened.
    GaveUp,
    /// Nobody could tell: looking was denied, or killed every run that tried.
    CannotCheck,
}

impl OutcomeKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Completed,
        Self::Failed,
        Self::FailedToStart,
        Self::Vanished,
        Self::Cancelled,
        Self::GaveUp,
        Self::CannotCheck,
    ];

    /// The outcome word of the interface: a job that failed to start has failed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed | Self::FailedToStart => "failed",
            Self::Vanished => "vanished",
            Self::Cancelled => "cancelled",
            Self::GaveUp => "gave-up",
            Self::CannotCheck => "cannot-check",
        }
    }

    /// The exit code of a command that waited for it.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed | Self::FailedToStart | Self::Vanished => 1,
            Self::Cancelled => 3,
            Self::CannotCheck => 4,
            Self::GaveUp => 124,
        }
    }
}

/// The breakers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// By passes.
    Count,
    /// By time.
    Deadline,
}

impl Limit {
    /// The word of the interface.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Deadline => "deadline",
        }
    }
}

/// An earlier wait for the same target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// Its id.
    pub wait: String,
    /// The request that it came from.
    pub origin: String,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An outcome of an earlier wait for the same target that is still to be announced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// The earlier wait's id.
    pub wait: String,
    /// How it ended.
    pub outcome: Outcome,
    /// After how many passes.
    pub passes: u32,
    /// When it had started.
    pub started_at: Timestamp,
    /// What it saw last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

/// For serde: tokens as plain strings.
pub(crate) mod token {
    use super::Token;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) mod optional {
        use super::{Deserialize, Deserializer, Serialize, Serializer, Token};

        #[expect(clippy::ref_option, reason = "serde asks for a reference")]
        pub(crate) fn serialize<S: Serializer>(t: &Option<Token>, s: S) -> Result<S::Ok, S::Error> {
            t.as_ref().map(Token::as_str).serialize(s)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Token>, D::Error> {
            Ok(Option::<String>::deserialize(d)?.map(Token::new))
        }
    }

    pub(crate) fn serialize<S: Serializer>(t: &Token, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(t.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Token, D::Error> {
        Ok(Token::new(String::deserialize(d)?))
    }
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_taken_up_to_its_bounds_and_not_beyond() {
        let bounds = Policy {
            min_delay: LONGEST_DELAY,
            max_delay: LONGEST_DELAY,
            max_count: u32::MAX,
            timeout: duration::LONGEST,
            extra: Extra::new(),
        };
        let shortest = Policy {
            min_delay: Duration::from_millis(1),
            max_delay: Duration::from_millis(1),
            max_count: 1,
            timeout: Duration::from_millis(1),
            extra: Extra::new(),
        };
        for policy in [bounds.clone(), shortest] {
            assert_eq!(policy.clone().check(), Ok(policy));
        }
        let a_little = Duration::from_millis(1);
        for (policy, names) in [
            (
                Policy {
                    max_delay: LONGEST_DELAY + a_little,
                    ..bounds.clone()
                },
                "max_delay 1d9h36m1ms is too long: it takes at most 1d9h36m",
            ),
            (
                Policy {
                    min_delay: LONGEST_DELAY + a_little,
                    ..bounds.clone()
                },
                "min_delay 1d9h36m1ms is longer",
            ),
            (
                Policy {
                    max_count: 0,
                    ..bounds.clone()
                },
                "max_count 0",
            ),
        ] {
            let why = policy.check().unwrap_err();
            assert!(why.starts_with(names), "{why}");
        }
    }

    #[test]
    fn stretched_five_times_the_longest_delay_is_seven_days_and_forty_years_of_it_are_within_the_longest_wait() {
        let policy = Policy {
            max_delay: LONGEST_DELAY,
            max_count: u32::MAX,
            timeout: Duration::from_secs(40 * 365 * 86_400),
            ..Policy::default()
        };
        assert_eq!(policy.longest_delay(), Duration::from_secs(7 * 86_400));
        assert_eq!(policy.longest_wait(), policy.timeout);
        let few = Policy { max_count: 2, ..policy };
        assert_eq!(few.longest_wait(), Duration::from_secs(14 * 86_400));
    }
}
