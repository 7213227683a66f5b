//! The store port: small bodies under string keys, written conditionally.
//!
//! # Contract
//!
//! * Reads and lists see every write that was answered before they began.
//! * Of any number of concurrent conditional writes on one key and token, at most one takes effect.
//! * A write that was answered [`Write::Refused`] has no effect, now or later. One answered [`Write::Unknown`] may take
//!   effect at any later time, or never. One that ended in a [`StoreError`] has no effect.
//! * Tokens are opaque and compared byte for byte. They repeat only if the same body is written again, so callers put a
//!   fresh random id into every body and keep it over the retries of one write.
//!
//! [`crate::contract`] holds the suite that checks this.

use async_trait::async_trait;
use jiff::Timestamp;

/// The store's opaque version of one body: an S3 `ETag` verbatim, a random word elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(String);

impl Token {
    /// The token as the store wrote it.
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }

    /// The token as the store wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a conditional write came to. None of the three is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// It took effect.
    Written {
        /// The version that it made.
        token: Token,
        /// The store's own time of day at its answer, where it tells one (S3's `Date`).
        date: Option<Timestamp>,
    },
    /// The condition did not hold: the key exists (create), is absent or has another token (replace).
    Refused,
    /// Nobody knows: time-out, reset, 5xx, a conflict that went on, or a refusal after an attempt that may itself have
    /// been written. Read back to settle it. The text says what happened.
    Unknown(String),
}

/// A body that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The bytes as they were written.
    pub body: Vec<u8>,
    /// Their version.
    pub token: Token,
    /// The store's own time of day at its answer, where it tells one (S3's `Date`).
    pub date: Option<Timestamp>,
    /// When the body was written, by the same clock as `date` and told with it (S3's `Last-Modified`).
    pub written: Option<Timestamp>,
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The whole key.
    pub key: String,
    /// The version.
    pub token: Token,
    /// When it was last written, by the store's clock.
    pub written: Timestamp,
    /// Whether the body says of itself that something is left to do: see [`is_open`].
    pub open: bool,
}

/// One page of a listing, in the order of the keys' bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The lines.
    pub entries: Vec<Listed>,
    /// What to give to the next [`Store::list`]; none: this was the last page.
    pub next: Option<String>,
}

/// A request that came to nothing and will not take effect later, or a read without an answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The store answered 403. On a read this proves nothing about the key: S3 says so of absent keys, too.
    #[error("{action} was denied: {message}")]
    Denied {
        /// The IAM action that was refused, such as `s3:PutObject`.
        action: &'static str,
        /// What the store said.
        message: String,
    },
    /// No answer to a read, or one that may be different in a moment: time-out, 5xx, throttling, busy, credentials that
    /// have expired, a clock that the store finds too far off. Of a write it says that nothing was written: a write
    /// that may have been is [`Write::Unknown`].
    #[error("the store did not answer: {0}")]
    Unavailable(String),
    /// The store or the request is set up wrongly: no such bucket, conditional writes not implemented, a key that is
    /// too long, missing credentials, a file that is no database.
    #[error("the store cannot do this: {0}")]
    Unusable(String),
}

/// A store of small bodies with conditional writes. See the module's text for the contract.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// The body under `key`, or none where the store is sure that there is none.
    ///
    /// # Errors
    /// [`StoreError`]; a denied read is an error, never an absence.
    async fn get(&self, key: &str) -> Result<Option<Stored>, StoreError>;

    /// Writes `body` if there is nothing under `key`.
    ///
    /// # Errors
    /// [`StoreError`], and then nothing was or will be written.
    async fn create(&self, key: &str, body: Vec<u8>) -> Result<Write, StoreError>;

    /// Writes `body` over the version `token`.
    ///
    /// # Errors
    /// [`StoreError`], and then nothing was or will be written.
    async fn replace(&self, key: &str, token: &Token, body: Vec<u8>) -> Result<Write, StoreError>;

    /// A page of what lies under `prefix`; `after` is the page before's [`Page::next`].
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Page, StoreError>;
}

/// Whether a body of `length` bytes is *open*: something is left to do for it. Bodies of odd length are open, those of
/// even length are closed, because a listing of S3 tells nothing of a body but its length. Whoever writes bodies that
/// are to be skipped when finished pads them (JSON may end in a space).
#[must_use]
pub fn is_open(length: u64) -> bool {
    length % 2 == 1
}
