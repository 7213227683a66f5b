//! Fields of a payload, with their place for messages.

use serde_json::{Map, Value};

use super::{BadEvent, kind_of};

/// The longest part of a value that a message quotes, in characters.
const QUOTED: usize = 120;

/// An object within a payload.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    at: String,
}

impl<'a> Fields<'a> {
    /// The object `value`, found at the place `at` (empty: the payload itself).
    pub(super) fn of(value: &'a Value, at: &str) -> Result<Self, BadEvent> {
        match value {
            Value::Object(map) => Ok(Self { map, at: at.to_owned() }),
            other => {
                let place = if at.is_empty() { "it" } else { at };
                Err(BadEvent(format!("{place} is {}: it takes a JSON object", shown(other))))
            }
        }
    }

    /// The place of a field, for messages: `Records[0].s3.object.key`.
    pub(super) fn path(&self, name: &str) -> String {
        if self.at.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.at)
        }
    }

    /// All fields as they came.
    pub(super) fn all(&self) -> &'a Map<String, Value> {
        self.map
    }

    /// Whether the field is there, with whatever value.
    pub(super) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// The value, if it is set: null and the texts that are blank, `None` or `null` are not.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| match value {
            Value::Null => false,
            Value::String(text) => !matches!(text.trim(), "" | "None" | "null"),
            _ => true,
        })
    }

    /// An optional text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, BadEvent> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(name, "a text")),
        }
    }

    /// A text that must be set.
    pub(super) fn need(&self, name: &str) -> Result<&'a str, BadEvent> {
        self.text(name)?.ok_or_else(|| self.wrong(name, "a text"))
    }

    /// A text that must be there and is taken as it stands: `None` and a space are keys, too.
    pub(super) fn literal(&self, name: &str) -> Result<&'a str, BadEvent> {
        match self.map.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            _ => Err(self.wrong(name, "a text")),
        }
    }

    /// A text if there is one: for what is good to know, but not worth an error.
    pub(super) fn hint(&self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Value::as_str)
    }

    /// An object that must be there.
    pub(super) fn object(&self, name: &str) -> Result<Self, BadEvent> {
        match self.map.get(name) {
            Some(value @ Value::Object(_)) => Self::of(value, &self.path(name)),
            _ => Err(self.wrong(name, "an object")),
        }
    }

    /// What is wrong with a field, and what it takes.
    pub(super) fn wrong(&self, name: &str, takes: &str) -> BadEvent {
        let is = self.map.get(name).map_or_else(|| "missing".to_owned(), shown);
        BadEvent(format!("{} is {is}: it takes {takes}", self.path(name)))
    }
}

/// A value for a message: short ones as they are, others by their kind.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "empty".to_owned(),
        Value::String(text) => quoted(text),
        Value::Number(number) => number.to_string(),
        other => kind_of(other).to_owned(),
    }
}

/// A text in quotes, cut where it is long.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
