//! Queue messages: wire types, and what a body turns out to be.

use jiff::Timestamp;
use matsu_lock::Token;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::VERSION;
use crate::wait::{Extra, Wait, is_default, token};

/// The longest body that is sent, in bytes: what the oldest queues take.
pub const LONGEST_BODY: usize = 262_144;

/// A timer: it brings the record's token back after a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The version of the format.
    pub v: u32,
    /// The wait, whole, so that the next write needs no read.
    pub wait: Wait,
    /// Which pass this message asks for.
    pub count: u32,
    /// The token that the pass claims from.
    #[serde(with = "token")]
    pub token: Token,
    /// A fresh id from whoever sent it first; redeliveries, hops and postponed copies keep it.
    pub msg: String,
    /// The token of a record that had already claimed this pass: if it is still there when this message arrives, its
    /// claimer is dead.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "token::optional")]
    pub seen: Option<Token>,
    /// Not to be worked before this moment; the queue cannot delay by more than 15 minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// How often the announcement was put off.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tries: u32,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a queue body is.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A timer of ours.
    Timer(Box<Message>),
    /// A request in JSON: a raw message, to be understood by [`crate::event::direct`].
    Raw(Value),
    /// A timer of a later release: to be given back, never dropped.
    Newer(u32),
}

/// A body that nobody will ever understand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the message is not understood: {0}")]
pub struct BadBody(pub String);

impl Message {
    /// The body to send: JSON in printable ASCII, because queues refuse control characters and U+FFFF.
    #[must_use]
    pub fn to_body(&self) -> String {
        ascii(&serde_json::to_string(self).expect("a message has only string keys"))
    }
}

impl Body {
    /// Tells what a body is. A byte order mark and white space around it are passed over.
    ///
    /// # Errors
    /// [`BadBody`] with the place of the fault.
    pub fn parse(text: &str) -> Result<Self, BadBody> {
        let text = text.trim_start_matches('\u{feff}').trim();
        let value: Value = serde_json::from_str(text).map_err(|e| BadBody(format!("it is not JSON: {e}")))?;
        let Value::Object(fields) = &value else {
            return Err(BadBody(format!(
                "it is {}, not a JSON object",
                crate::event::kind_of(&value)
            )));
        };
        if !(fields.contains_key("v") && fields.contains_key("wait")) {
            return Ok(Self::Raw(value));
        }
        match fields["v"].as_u64() {
            Some(v) if v > u64::from(VERSION) => {
                return Ok(Self::Newer(u32::try_from(v).unwrap_or(u32::MAX)));
            }
            Some(v) if v == u64::from(VERSION) => {}
            _ => {
                return Err(BadBody(format!("v is {}: it takes a whole number from 1", fields["v"])));
            }
        }
        let message: Message = serde_json::from_value(value).map_err(|e| BadBody(e.to_string()))?;
        if message.count == 0 {
            return Err(BadBody("count is 0: a pass has a number from 1".to_owned()));
        }
        Ok(Self::Timer(Box::new(message)))
    }
}

/// JSON text with everything outside printable ASCII written as `\uXXXX`; such characters stand only within strings.
pub(crate) fn ascii(json: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        if matches!(c, ' '..='~') {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                write!(text, "\\u{unit:04x}").expect("a string takes every write");
            }
        }
    }
    text
}
