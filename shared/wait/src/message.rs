//! Queue messages: wire types, and what a body turns out to be.

use jiff::Timestamp;
use matsu_lock::Token;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::brief;
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
                return Err(BadBody(brief(format!(
                    "v is {}: it takes a whole number from 1",
                    fields["v"]
                ))));
            }
        }
        let message: Message = serde_json::from_value(value).map_err(|e| BadBody(brief(e.to_string())))?;
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

/// How many bytes a character of a text takes in a body: see [`Message::to_body`].
pub(crate) fn bytes_in_body(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        ' '..='~' => 1,
        c => 6 * c.len_utf16(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::target::{S3Object, Target, Until};
    use crate::wait::{Outcome, OutcomeKind, Owed, Past, Policy, Status};

    fn message(key: &str) -> Message {
        let at: Timestamp = "2026-03-02T08:30:00Z".parse().unwrap();
        let outcome = Outcome {
            kind: OutcomeKind::Completed,
            limit: None,
            reason: key.to_owned(),
            at,
            extra: Extra::new(),
        };
        Message {
            v: VERSION,
            wait: Wait {
                id: "w1".to_owned(),
                target: Target::S3Object(S3Object {
                    bucket: "example-data".to_owned(),
                    key: key.to_owned(),
                    until: Until::Deleted,
                    extra: Extra::new(),
                }),
                policy: Policy::default(),
                origin: format!("s3:example-data/{key}#01"),
                home: "123456789012/timers".to_owned(),
                job: None,
                job_started: None,
                started_at: at,
                status: Some(Status::new("present").at(Some(7))),
                ever_seen: true,
                denied: 1,
                missing: 2,
                history: vec![Past {
                    wait: "w0".to_owned(),
                    origin: "event-0".to_owned(),
                    outcome: OutcomeKind::GaveUp,
                    extra: Extra::new(),
                }],
                owed: vec![Owed {
                    wait: "w0".to_owned(),
                    outcome,
                    passes: 3,
                    started_at: at,
                    status: None,
                    extra: Extra::new(),
                }],
                extra: Extra::new(),
            },
            count: 4,
            token: Token::new("\"d41d8cd98f00b204\""),
            msg: "m1".to_owned(),
            seen: Some(Token::new("\"e5f6\"")),
            not_before: Some(at),
            tries: 2,
            extra: Extra::new(),
        }
    }

    /// A timer in JSON with one field changed, or taken away by null.
    fn with(name: &str, value: Value) -> String {
        let mut json = serde_json::to_value(message("a")).unwrap();
        if value.is_null() {
            json.as_object_mut().unwrap().remove(name);
        } else {
            json[name] = value;
        }
        json.to_string()
    }

    #[test]
    fn a_timer_reads_back_the_same_whatever_is_in_it_and_its_body_is_printable_ascii() {
        for key in [
            "a",
            "",
            "\u{0}\u{7}\u{1f}\u{7f}\u{80}\u{9f}\t\r\n",
            "\u{fffe}\u{ffff}\u{feff}\u{2028}",
            "🐟👩‍👩‍👧 日本 é",
            "\u{10ffff}",
            "\"\\/ %2F + \\u0041 {'}",
        ] {
            let message = message(key);
            let body = message.to_body();
            assert!(body.bytes().all(|b| (b' '..=b'~').contains(&b)), "{body}");
            assert_eq!(Body::parse(&body), Ok(Body::Timer(Box::new(message))), "{key:?}");
        }
    }

    #[test]
    fn fields_of_a_later_release_are_kept() {
        let mut sent = message("a");
        let later = json!({"of": [null, 1.5, {"x": "\u{ffff}"}]});
        for extra in [
            &mut sent.extra,
            &mut sent.wait.extra,
            &mut sent.wait.policy.extra,
            &mut sent.wait.owed[0].outcome.extra,
        ] {
            extra.insert("later".to_owned(), later.clone());
            extra.insert("nothing".to_owned(), Value::Null);
        }
        let Ok(Body::Timer(read)) = Body::parse(&sent.to_body()) else {
            panic!("{}", sent.to_body());
        };
        assert_eq!(*read, sent);
        assert_eq!(read.to_body(), sent.to_body());
    }

    #[test]
    fn a_timer_of_a_later_release_is_told_apart_whatever_else_is_in_it() {
        for (body, version) in [
            (with("v", json!(2)), 2),
            (with("v", json!(u64::MAX)), u32::MAX),
            (json!({"v": 7, "wait": "w1", "count": 0}).to_string(), 7),
        ] {
            assert_eq!(Body::parse(&body), Ok(Body::Newer(version)), "{body}");
        }
    }

    #[test]
    fn a_body_that_nobody_will_ever_understand_says_why() {
        for (body, says) in [
            (String::new(), "not JSON"),
            ("hello".to_owned(), "not JSON"),
            ("{'v': 1}".to_owned(), "not JSON"),
            ("[".repeat(100_000), "not JSON"),
            ("null".to_owned(), "it is null"),
            ("true".to_owned(), "a truth value"),
            ("[]".to_owned(), "a list"),
            ("\"{}\"".to_owned(), "a text"),
            (with("v", json!(0)), "v is 0"),
            (with("v", json!(-1)), "v is -1"),
            (with("v", json!(1.5)), "v is 1.5"),
            (with("v", json!("1")), "v is \"1\""),
            (with("count", json!(0)), "count is 0"),
            (with("count", json!(-1)), "-1"),
            (with("count", json!(1.5)), "1.5"),
            (with("count", json!("1")), "string"),
            (with("count", json!(4_294_967_296_u64)), "4294967296"),
            (with("count", Value::Null), "count"),
            (with("token", Value::Null), "token"),
            (with("msg", json!(1)), "1"),
            (with("wait", json!({})), "id"),
            (with("wait", json!("w1")), "w1"),
        ] {
            match Body::parse(&body) {
                Err(BadBody(why)) => assert!(why.contains(says), "{body}: {why}"),
                other => panic!("{body}: {other:?}"),
            }
        }
    }

    #[test]
    fn any_other_object_is_a_raw_message() {
        for value in [
            json!({}),
            json!({"target": "s3://example-data/a", "v": 9}),
            json!({"wait": 1}),
        ] {
            for body in [value.to_string(), format!("\u{feff} {value}\r\n")] {
                assert_eq!(Body::parse(&body), Ok(Body::Raw(value.clone())), "{body}");
            }
        }
    }

    /// The most that can come together: a request of the greatest length, the longest identities, as many earlier waits
    /// as are remembered and as may be owed, with endless reasons and statuses, all in characters of six bytes.
    #[test]
    fn the_longest_wait_fits_a_message() {
        let key = "\u{1}".repeat(1_024);
        let rules = crate::testing::Bench::new().rules("message-1");
        let origin = format!("s3:{}/{key}#{}", "b".repeat(63), "0061A1".repeat(20));
        let ask = |padding: usize| {
            let policy = json!({"later": "x".repeat(padding)});
            let target = json!({"kind": "s3-object", "bucket": "example-data", "key": key});
            let wanted = crate::event::direct(&json!({"target": target, "policy": policy, "origin": origin}), &rules);
            match wanted {
                Ok(crate::event::Wanted::Start(request)) => Some(request),
                _ => None,
            }
        };
        let without = crate::start::Request {
            origin: String::new(),
            ..ask(0).unwrap()
        };
        let padding = 32 * 1_024 - crate::event::raw_body(&without).len();
        assert_eq!(ask(padding + 1), None);
        let longest = ask(padding).unwrap();
        let mut sent = message(&key);
        sent.wait.policy = longest.policy;
        sent.wait.origin.clone_from(&origin);
        sent.wait.id = "0".repeat(32);
        sent.msg = "0".repeat(32);
        let endless = "\u{1}".repeat(5_000);
        let look = crate::target::Seen::Failed(Status::new(endless.clone()).at(Some(100)), endless);
        let (seen, next) = crate::decide::decide(sent.wait.clone(), &look, 1, sent.wait.started_at);
        let crate::decide::Next::Finish(outcome) = next else {
            panic!("{next:?}");
        };
        sent.wait.status.clone_from(&seen.status);
        sent.wait.history = vec![
            Past {
                wait: "0".repeat(32),
                origin,
                outcome: OutcomeKind::FailedToStart,
                extra: Extra::new(),
            };
            crate::wait::HISTORY
        ];
        sent.wait.owed = vec![
            Owed {
                wait: "0".repeat(32),
                outcome,
                passes: u32::MAX,
                started_at: Timestamp::MAX,
                status: seen.status,
                extra: Extra::new(),
            };
            crate::start::MOST_OWED
        ];
        let body = sent.to_body();
        println!("the longest message has {} of {LONGEST_BODY} bytes", body.len());
        assert!((200_000..=LONGEST_BODY).contains(&body.len()), "{}", body.len());
        assert_eq!(Body::parse(&body), Ok(Body::Timer(Box::new(sent))));
    }

    #[test]
    fn a_body_of_the_greatest_length_is_read() {
        let sent = message(&"\u{ffff}".repeat(20_000));
        let body = sent.to_body();
        assert!(body.len() > LONGEST_BODY);
        assert_eq!(Body::parse(&body), Ok(Body::Timer(Box::new(sent))));
    }
}
