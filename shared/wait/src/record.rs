//! The record of a wait in the store: lock, ledger and outbox in one. Wire types.

use std::time::Duration;

use matsu_lock::Token;
use serde::{Deserialize, Serialize};

use crate::engine::LONGEST_LEASE;
use crate::target::Target;
use crate::wait::{Extra, Outcome, OutcomeKind, Wait, is_default, token};

/// The version of records and messages that this release writes.
pub const VERSION: u32 = 1;

/// One record: `<prefix>/waits/<encoded target>.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format.
    pub v: u32,
    /// The wait.
    pub wait: Wait,
    /// Waiting or done.
    pub state: State,
    /// The pass that was claimed last; 0 before the first.
    pub pass: u32,
    /// The token that this pass's claim replaced; none: never claimed.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "token::optional")]
    pub parent: Option<Token>,
    /// The id of the message that claimed the pass.
    pub msg: String,
    /// A fresh id of this very write, the same over its retries: reading back tells whose write landed.
    pub put: String,
    /// The longest that the writing run may live.
    pub lease: Lease,
    /// How often this pass was taken over from a run that died.
    #[serde(default, skip_serializing_if = "is_default")]
    pub takeovers: u32,
    /// How the wait ended, once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Whether that was announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notified: Option<Notified>,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Waiting or done. A done record is never made waiting again for the same wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Passes go on.
    Waiting,
    /// The outcome is decided.
    Done,
}

/// What became of the announcement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notified {
    /// The channel took it.
    Sent,
    /// The channel never will, for this reason.
    Undeliverable(String),
}

/// A lease in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lease(u64);

impl Lease {
    /// A lease of `duration`, cut to milliseconds.
    #[must_use]
    pub fn new(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    /// How long it is; a foreign hand cannot make it longer than a run can have.
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::from_millis(self.0).min(LONGEST_LEASE)
    }
}

/// A body that is no record of a version that this release reads.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the record {key} cannot be read: {why}")]
pub struct BadRecord {
    /// Its key.
    pub key: String,
    /// What is wrong with it.
    pub why: String,
}

impl Record {
    /// Whether nothing is left to do: the outcome is decided and announced.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state == State::Done && self.notified.is_some()
    }

    /// How many passes were made: a cancellation takes a pass's place and is none.
    #[must_use]
    pub fn passes(&self) -> u32 {
        match &self.outcome {
            Some(outcome) if outcome.kind == OutcomeKind::Cancelled => self.pass.saturating_sub(1),
            _ => self.pass,
        }
    }

    /// The bytes to store: JSON, padded so that its length tells [`matsu_lock::store::is_open`] whether anything is left to do.
    #[must_use]
    pub fn to_body(&self) -> Vec<u8> {
        let mut body = serde_json::to_vec(self).expect("a record has only string keys");
        if matsu_lock::store::is_open(body.len() as u64) == self.is_over() {
            body.push(b' ');
        }
        body
    }

    /// Reads a stored body.
    ///
    /// # Errors
    /// [`BadRecord`] where it is no record, or one of a version that this release does not read.
    pub fn from_body(key: &str, body: &[u8]) -> Result<Self, BadRecord> {
        let bad = |why: String| BadRecord {
            key: key.to_owned(),
            why,
        };
        let record: Self = serde_json::from_slice(body).map_err(|e| bad(e.to_string()))?;
        if record.v == 0 || record.v > VERSION {
            return Err(bad(format!(
                "it has version {}, this release reads up to {VERSION}",
                record.v
            )));
        }
        Ok(record)
    }
}

/// Encoded targets longer than this are cut and end in a hash: the whole S3 key must stay under 1,024 bytes.
const LONGEST_NAME: usize = 700;

/// Where the records are.
pub const PREFIX: &str = "waits/";

/// The key of the record of `target` in the store: `waits/<encoding>.json`. The encoding is injective: what is not a
/// letter, digit or one of `-._=` is written as `%XX` byte by byte, and a target too long for that ends in `~` (which
/// no other encoding contains) and its SHA-256.
#[must_use]
pub fn key(target: &Target) -> String {
    format!("{PREFIX}{}.json", encode(&target.key()))
}

/// An injective encoding of any text as a part of a key; see [`key`].
pub(crate) fn encode(text: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    use sha2::{Digest, Sha256};
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'=');
    let mut name = utf8_percent_encode(text, ENCODED).to_string();
    if name.len() > LONGEST_NAME {
        name.truncate(LONGEST_NAME);
        name.push('~');
        for byte in Sha256::digest(text.as_bytes()) {
            name.push_str(&format!("{byte:02x}"));
        }
    }
    name
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
