//! The configuration: the only reader of the environment.

mod parse;
mod values;

use std::path::PathBuf;

pub use parse::{queue_url, store_url};
pub use values::{Source, Values};

use crate::event::OnObjectCreated;
use crate::job::CopySettings;
use crate::notify::Webhook;
use crate::target::http::Allow;
use crate::wait::Policy;
use crate::web::Roots;

/// A value or name that the configuration does not take; the sentence names it and what it takes, never a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadConfig(pub String);

/// Where records are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `s3://bucket/prefix`
    S3 {
        /// The bucket.
        bucket: String,
        /// What all keys begin with, without a slash at its end; it may be empty.
        prefix: String,
    },
    /// `sqlite:PATH`, made absolute.
    Sqlite(PathBuf),
}

/// Where timers are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueUrl {
    /// The URL of an SQS queue, opaque.
    Sqs(String),
    /// `sqlite:PATH`, made absolute.
    Sqlite(PathBuf),
}

/// How the log is written (`MATSU_LOG`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Who reads the configuration: that decides what is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A Lambda function: store and queue are required, and on AWS.
    Function,
    /// The command: both default to a file in the user's state folder.
    Command,
}

/// The configuration, complete and checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where records are kept.
    pub store: StoreUrl,
    /// The KMS key that records are encrypted with; none: the bucket's own default.
    pub store_kms_key: Option<String>,
    /// Where timers are kept.
    pub queue: QueueUrl,
    /// The URL of the queue for bad messages; none: from the queue's redrive policy.
    pub dlq: Option<String>,
    /// How often and how long to look where a request does not say.
    pub policy: Policy,
    /// Where outcomes are told; none: the log only.
    pub webhook: Option<Webhook>,
    /// The name of the Lambda function that this is, if it is one: its console encrypts secrets with that.
    pub function: Option<String>,
    /// What `http` targets may reach although it is private.
    pub http_allow: Allow,
    /// Roots that are trusted beside those of this machine.
    pub roots: Roots,
    /// The defaults of snapshot copies.
    pub copy: CopySettings,
    /// What a created S3 object means.
    pub on_object_created: OnObjectCreated,
    /// How the log is written.
    pub log: LogFormat,
    /// The least important lines that it keeps: `error`, `warn`, `info` or `debug`.
    pub log_level: &'static str,
    /// Names that are set and that this version does not act on yet.
    pub not_yet: Vec<&'static str>,
}

impl Config {
    /// Reads and checks every value.
    ///
    /// # Errors
    /// [`BadConfig`] for the first that is wrong.
    pub fn new(values: &Values, role: Role) -> Result<Self, BadConfig> {
        Self::read(values, role).map_err(|bad| values.as_written(bad))
    }

    fn read(values: &Values, role: Role) -> Result<Self, BadConfig> {
        let store = parse::store(values, role)?;
        let config = Self {
            queue: parse::queue(values, role, &store)?,
            store,
            store_kms_key: values.optional("MATSU_STORE_KMS_KEY"),
            dlq: parse::dlq(values)?,
            policy: parse::policy(values)?,
            webhook: parse::webhook(values)?,
            function: values.function().map(str::to_owned),
            http_allow: parse::http_allow(values)?,
            roots: parse::roots(values)?,
            copy: parse::copy(values)?,
            on_object_created: parse::on_object_created(values)?,
            log: parse::log(values, role)?,
            log_level: parse::log_level(values, role)?,
            not_yet: parse::not_yet(values)?,
        };
        Ok(config)
    }

    /// Bucket and prefix of the store, where it is in S3: what happens there starts nothing.
    #[must_use]
    pub fn own_store(&self) -> Option<(String, String)> {
        match &self.store {
            StoreUrl::S3 { bucket, prefix } => Some((bucket.clone(), prefix.clone())),
            StoreUrl::Sqlite(_) => None,
        }
    }
}

#[cfg(test)]
#[path = "config/tests.rs"]
mod tests;
