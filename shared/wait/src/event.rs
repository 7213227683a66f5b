//! Payloads in, requests out: pure.

use serde_json::Value;

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

use crate::job::CopyRequest;
use crate::start::Request;
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
    /// An early look at a target, if it is waited for.
    Wake(Target),
    /// Nothing; the text says why.
    Ignored(String),
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
    /// Bucket and prefix of our own store: what happens under it starts nothing.
    pub own_store: Option<(String, String)>,
    /// The identity of requests that carry none of their own.
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
