//! Payloads in, requests out: pure.
//!
//! A payload is told apart by its content, never by trial:
//!
//! | it has | it is |
//! |---|---|
//! | `Records` | a list: each record by its `eventSource` — S3, SQS (its body again), SNS (its message again) |
//! | `detail-type` | an EventBridge event: by `source` S3 or RDS, anything delivered by CloudTrail is ignored |
//! | `Type` with `Message` or `TopicArn` | an SNS envelope (within SQS): its message again |
//! | `Event ID` or `Event Source` | an event of an RDS event subscription |
//! | `Event` = `s3:TestEvent` | what S3 sends when a notification is set up |
//! | anything else | a request in JSON: [`direct`] |
//!
//! JSON that was put into a string once too often is unwrapped one level. Unknown fields are passed over.

mod fields;
mod rds;
mod request;
mod s3;
mod settle;
#[cfg(test)]
mod tests;
mod wrapped;

use serde_json::Value;

pub use request::{direct, raw, raw_body};

/// What a JSON value is, in words for messages.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The most that a sentence keeps of whatever it quotes, in characters; its beginning and its end are what counts.
const LONGEST_SENTENCE: usize = 1_000;

/// A sentence about somebody else's text, cut in the middle where that is long.
pub(crate) fn brief(sentence: String) -> String {
    let cut = sentence.chars().count().saturating_sub(LONGEST_SENTENCE);
    if cut == 0 {
        return sentence;
    }
    let begin = sentence.chars().take(LONGEST_SENTENCE / 2);
    let end = sentence.chars().skip(LONGEST_SENTENCE / 2 + cut);
    begin.chain(['…']).chain(end).collect()
}

use crate::job::CopyRequest;
use crate::start::Request;
use crate::target::http::Allow;
use crate::target::{Here, Target};
use crate::wait::Policy;

/// What an event, or one record of it, asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// A copy, and the wait for it.
    Copy {
        /// The copy.
        request: CopyRequest,
        /// How to wait for it.
        policy: Policy,
        /// The identity of the request.
        origin: String,
    },
    /// A wait.
    Start(Request),
    /// An early look at a target, if it is waited for. One that follows a [`Wanted::Start`] of the same target, and that
    /// start created the wait, has nothing to hurry: the first look is on its way.
    Wake(Target),
    /// Nothing; the text says why.
    Ignored(String),
}

/// One thing that a payload asks for, or the reason why nobody understands it. A bad one says nothing of its neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The SQS message that it came in, if it came in one: what a batch answer names. An outer message counts, not one
    /// wrapped in it.
    pub message_id: Option<String>,
    /// What is asked for.
    pub wanted: Result<Wanted, BadEvent>,
}

/// What the reading of events depends on beside the payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Where short forms are read.
    pub here: Here,
    /// The policy where a request says nothing else.
    pub policy: Policy,
    /// What a created object means.
    pub on_object_created: OnObjectCreated,
    /// Bucket and prefix of our own store: what happens under it starts nothing. An empty prefix is the whole bucket.
    pub own_store: Option<(String, String)>,
    /// Whether files are of this machine: not where messages come from anywhere.
    pub files: bool,
    /// What `http` targets may reach although it is private.
    pub http_allow: Allow,
    /// The identity of requests that carry none of their own and came in no envelope that has one.
    pub origin: String,
}

/// What a created object means (`MATSU_ON_OBJECT_CREATED`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnObjectCreated {
    /// Wait until it is gone.
    #[default]
    WaitDeleted,
    /// Nothing.
    Ignore,
}

/// A payload that is not understood; the sentence names the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the event is not understood: {0}")]
pub struct BadEvent(pub String);

/// Reads a payload: everything that it asks for, in the order in which it is to be done. A list without records asks for
/// nothing; a payload that is no event at all is one item that says so.
///
/// Of several records about one S3 object the latest start and the latest removal count, in the order of their
/// sequencers; the others are ignored with that reason.
#[must_use]
pub fn read(payload: &Value, rules: &Rules) -> Vec<Item> {
    settle::settle(wrapped::unwrap(payload, rules))
}
