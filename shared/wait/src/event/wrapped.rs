//! What a payload is, and what is wrapped in it: lists, SQS bodies, SNS messages, EventBridge events.

use serde_json::Value;

use super::fields::{Fields, quoted};
use super::{BadEvent, Item, Rules, Wanted, rds, request, s3};

/// The most layers that are opened: a record, its body and an SNS message in it are three.
const MOST_LAYERS: u8 = 5;

/// What RDS says in plain text when an event subscription begins.
const SUBSCRIBED: &str = "successfully subscribed to RDS events";

/// One thing that was found.
#[derive(Debug)]
pub(super) struct Found {
    /// For the caller.
    pub(super) item: Item,
    /// For a change of an S3 object: its sequencer, empty where it has none that can be compared.
    pub(super) change: Option<String>,
}

/// Where the reader is, and what the envelopes around it say.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
    pub(super) rules: &'a Rules,
    /// The identity that the innermost envelope gives.
    pub(super) origin: String,
    /// The ARN of the SNS topic that it came through.
    pub(super) topic: Option<String>,
    message_id: Option<String>,
    at: String,
    layers: u8,
}

/// What an object turns out to be: see the table in [`super`].
enum Form {
    Records,
    EventBridge,
    Sns,
    RdsSubscription,
    S3Test,
    Request,
}

impl Form {
    fn of(fields: &Fields<'_>) -> Self {
        if fields.has("Records") {
            Self::Records
        } else if fields.has("detail-type") {
            Self::EventBridge
        } else if fields.has("Type") && (fields.has("Message") || fields.has("TopicArn")) {
            Self::Sns
        } else if fields.has("Event ID") || fields.has("Event Source") {
            Self::RdsSubscription
        } else if fields.hint("Event") == Some("s3:TestEvent") {
            Self::S3Test
        } else {
            Self::Request
        }
    }
}

/// Everything that is in a payload.
pub(super) fn unwrap(payload: &Value, rules: &Rules) -> Vec<Found> {
    let place = Place {
        rules,
        origin: rules.origin.clone(),
        topic: None,
        message_id: None,
        at: String::new(),
        layers: 0,
    };
    let mut found = Vec::new();
    match payload {
        Value::String(text) => match json(text, "it") {
            Ok(value) => place.open(&value, &mut found),
            Err(bad) => found.push(place.found(Err(bad))),
        },
        value => place.open(value, &mut found),
    }
    found
}

/// The JSON in a text, without byte order mark and white space around it.
fn json(text: &str, at: &str) -> Result<Value, BadEvent> {
    let text = text.trim_start_matches('\u{feff}').trim();
    serde_json::from_str(text).map_err(|e| BadEvent(format!("{at} is {}, which is not JSON: {e}", quoted(text))))
}

/// The JSON in the text of an envelope; if it is a text again, the JSON in that.
fn enclosed(text: &str, at: &str) -> Result<Value, BadEvent> {
    match json(text, at)? {
        Value::String(inner) => json(&inner, at),
        value => Ok(value),
    }
}

impl Place<'_> {
    fn found(&self, wanted: Result<Wanted, BadEvent>) -> Found {
        Found {
            item: Item {
                message_id: self.message_id.clone(),
                wanted,
            },
            change: None,
        }
    }

    fn found_change(&self, read: Result<(Wanted, Option<String>), BadEvent>) -> Found {
        match read {
            Ok((wanted, change)) => Found {
                change,
                ..self.found(Ok(wanted))
            },
            Err(bad) => self.found(Err(bad)),
        }
    }

    /// Tells what `value` is and reads it.
    fn open(&self, value: &Value, found: &mut Vec<Found>) {
        let fields = match Fields::of(value, &self.at) {
            Ok(fields) => fields,
            Err(bad) => return found.push(self.found(Err(bad))),
        };
        match Form::of(&fields) {
            Form::Records => self.open_list(value, &fields, found),
            Form::Sns => self.open_sns(&fields, found),
            Form::EventBridge => found.push(self.event_bridge(&fields)),
            Form::RdsSubscription => found.push(self.found(rds::subscription(&fields, self))),
            Form::S3Test => found.push(self.found(Ok(Wanted::Ignored(
                "s3:TestEvent: S3 tells that a notification is set up".to_owned(),
            )))),
            Form::Request => found.push(self.found(request::request(&fields, self.rules, &self.origin))),
        }
    }

    fn open_list(&self, value: &Value, fields: &Fields<'_>, found: &mut Vec<Found>) {
        let Value::Array(records) = &value["Records"] else {
            return found.push(self.found(Err(fields.wrong("Records", "a list"))));
        };
        if self.layers == MOST_LAYERS {
            let bad = BadEvent(format!("{} is wrapped too deeply", fields.path("Records")));
            return found.push(self.found(Err(bad)));
        }
        for (index, record) in records.iter().enumerate() {
            let at = format!("{}[{index}]", fields.path("Records"));
            match Fields::of(record, &at) {
                Ok(record) => self.open_record(&record, at, found),
                Err(bad) => found.push(self.found(Err(bad))),
            }
        }
    }

    fn open_record(&self, record: &Fields<'_>, at: String, found: &mut Vec<Found>) {
        let name = if record.has("EventSource") {
            "EventSource"
        } else {
            "eventSource"
        };
        let source: String = match record.need(name) {
            Ok(source) => source.split_whitespace().collect(),
            Err(bad) => {
                // Even so, the message that it came in may be known.
                return found.push(self.within(record, at).found(Err(bad)));
            }
        };
        match source.as_str() {
            "aws:sqs" => self.within(record, at).open_sqs(record, found),
            "aws:sns" => {
                let place = self.within(record, at);
                match record.object("Sns") {
                    Ok(envelope) => place.open_sns(&envelope, found),
                    Err(bad) => found.push(place.found(Err(bad))),
                }
            }
            // S3's own, and those of stores that speak like it, such as minio:s3.
            s3 if s3.ends_with(":s3") => found.push(self.found_change(s3::record(record, self))),
            _ => {
                let bad = record.wrong(name, "aws:s3, aws:sqs or aws:sns");
                found.push(self.within(record, at).found(Err(bad)));
            }
        }
    }

    /// The place within a record; if the record is an SQS message, its id is what a batch answer names, unless it is
    /// itself wrapped in another message.
    fn within(&self, record: &Fields<'_>, at: String) -> Self {
        let id = record.hint("messageId");
        Self {
            message_id: self.message_id.clone().or_else(|| id.map(str::to_owned)),
            origin: id.unwrap_or(&self.origin).to_owned(),
            at,
            layers: self.layers + 1,
            ..self.clone()
        }
    }

    fn open_sqs(&self, record: &Fields<'_>, found: &mut Vec<Found>) {
        let body = match record.literal("body") {
            Ok(body) => body,
            Err(bad) => return found.push(self.found(Err(bad))),
        };
        if body.contains(SUBSCRIBED) && is_plain(body) {
            return found.push(self.found(Ok(Wanted::Ignored(format!(
                "a message in plain text: {}",
                quoted(body)
            )))));
        }
        self.open_text(body, record.path("body"), found);
    }

    fn open_sns(&self, envelope: &Fields<'_>, found: &mut Vec<Found>) {
        match envelope.hint("Type") {
            Some("Notification") | None => {}
            Some(other) => {
                return found.push(self.found(Ok(Wanted::Ignored(format!(
                    "an SNS message of the type {}",
                    quoted(other)
                )))));
            }
        }
        let message = match envelope.literal("Message") {
            Ok(message) => message,
            Err(bad) => return found.push(self.found(Err(bad))),
        };
        if is_plain(message) {
            return found.push(self.found(Ok(Wanted::Ignored(format!(
                "an SNS message in plain text: {}",
                quoted(message)
            )))));
        }
        Self {
            origin: envelope.hint("MessageId").unwrap_or(&self.origin).to_owned(),
            topic: envelope.hint("TopicArn").map(str::to_owned),
            ..self.clone()
        }
        .open_text(message, envelope.path("Message"), found);
    }

    fn open_text(&self, text: &str, at: String, found: &mut Vec<Found>) {
        if self.layers == MOST_LAYERS {
            return found.push(self.found(Err(BadEvent(format!("{at} is wrapped too deeply")))));
        }
        match enclosed(text, &at) {
            Ok(value) => Self {
                at,
                layers: self.layers + 1,
                ..self.clone()
            }
            .open(&value, found),
            Err(bad) => found.push(self.found(Err(bad))),
        }
    }

    fn event_bridge(&self, event: &Fields<'_>) -> Found {
        let (kind, source) = match (event.need("detail-type"), event.need("source")) {
            (Ok(kind), Ok(source)) => (kind.trim(), source.trim()),
            (Err(bad), _) | (_, Err(bad)) => return self.found(Err(bad)),
        };
        if kind.ends_with("via CloudTrail") {
            return self.found(Ok(Wanted::Ignored(format!("{kind}: calls are not acted on"))));
        }
        match source {
            "aws.s3" => self.found_change(s3::event_bridge(kind, event, self)),
            "aws.rds" => self.found(rds::event_bridge(kind, event, self)),
            _ => self.found(Err(event.wrong("source", "aws.s3 or aws.rds"))),
        }
    }
}

/// Whether a text is plain, that is, not even the beginning of JSON that could be an event.
fn is_plain(text: &str) -> bool {
    !text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with(['{', '[', '"'])
}
