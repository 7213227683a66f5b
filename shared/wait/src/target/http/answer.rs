//! What an answer means: pure.

use jmespath::Variable;
use reqwest::StatusCode;
use serde_json::Value;

use super::body::{self, Says};
use super::expect::Expect;
use crate::target::Seen;
use crate::wait::Status;

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// The HTTP status.
    pub(super) status: u16,
    /// The kind of its body, without parameters and in lower case.
    pub(super) kind: Option<String>,
    /// The host that it leads to, where it is a redirect.
    pub(super) leads_to: Option<String>,
    /// Its body.
    pub(super) body: Body,
}

/// What came of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// All of it, unpacked.
    Whole(Vec<u8>),
    /// Nobody needs it.
    Unread,
    /// More than is read; the limit in bytes.
    TooLong(usize),
    /// It broke off, or cannot be unpacked.
    Torn(String),
}

/// Whether a body has to be read to judge an answer of this status.
pub(super) fn needs_body(expect: &Expect, status: u16) -> bool {
    if expect.takes(status) {
        expect.is_customary() || expect.asks_body()
    } else {
        (200..=299).contains(&status) && (expect.failed.is_some() || expect.progress.is_some())
    }
}

/// What an answer means.
pub(super) fn classify(expect: &Expect, answer: &Answer) -> Seen {
    let status = answer.status;
    let name = named(status);
    match status {
        _ if expect.takes(status) => judge(expect, answer, true),
        200..=299 => judge(expect, answer, false),
        300..=399 => {
            let to = answer.leads_to.as_deref().unwrap_or("nowhere");
            Seen::Pending(Status::new(format!("{name}, a redirect to {to} that is not followed")))
        }
        401 | 403 | 407 => Seen::Denied(format!(
            "the host answers {name}: it takes a header that lets in, such as {{\"Authorization\": \"ssm:NAME\"}}"
        )),
        404 | 410 => Seen::Missing,
        408 | 423 | 425 | 429 | 500.. => Seen::Unknown(name),
        _ => Seen::Pending(Status::new(name)),
    }
}

/// Judges an answer by its body; `counts` says whether its status is expected.
fn judge(expect: &Expect, answer: &Answer, counts: bool) -> Seen {
    let name = named(answer.status);
    let customary = counts && expect.is_customary();
    if customary && is_page(answer) {
        return Seen::Pending(Status::new(format!(
            "{name} with a page for people: expect.status would have to say that this is what is waited for"
        )));
    }
    let value = match &answer.body {
        Body::Whole(bytes) => match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => Some(value),
            Err(_) if !needs_json(expect, answer, counts) => None,
            Err(_) if bytes.is_empty() => {
                return Seen::Unknown(format!("{name} with an empty body in place of JSON"));
            }
            Err(why) => return Seen::Unknown(format!("{name} with a body that is no JSON: {why}")),
        },
        // Without a body no rule for it holds.
        Body::Unread if counts && expect.json.is_some() => return Seen::Pending(Status::new(name)),
        Body::Unread => None,
        Body::TooLong(limit) => {
            let most = limit >> 20;
            return Seen::Pending(Status::new(format!(
                "{name} with a body of more than {most} MiB, which is not read"
            )));
        }
        Body::Torn(why) => return Seen::Unknown(format!("{name}, and then its body broke off: {why}")),
    };
    let body = value.as_ref().and_then(|value| Variable::try_from(value).ok());
    let says = match (&value, &body) {
        (Some(value), _) if customary => body::customary(value),
        (_, Some(body)) => body::by_rules(expect, body),
        _ => Says::Done,
    };
    let progress = body.and_then(|body| body::progress(expect, &body));
    match says {
        Says::Failed(why) => Seen::Failed(Status::new(format!("failed ({name})")).at(progress), why),
        Says::Done if counts => Seen::Satisfied(Status::new(format!("as expected ({name})"))),
        Says::Done => Seen::Pending(Status::new(name).at(progress)),
        Says::Not(why) => Seen::Pending(Status::new(format!("{name}, {why}")).at(progress)),
    }
}

/// Whether an answer whose body is no JSON is none.
fn needs_json(expect: &Expect, answer: &Answer, counts: bool) -> bool {
    let bodiless = matches!(answer.status, 204 | 205 | 304);
    let kind = answer.kind.as_deref().unwrap_or_default();
    let says_json = kind == "application/json" || kind.ends_with("+json");
    counts && (expect.json.is_some() || !bodiless && (expect.asks_body() || says_json))
}

/// Whether a body is for people: a form to log in, an error of something in between.
fn is_page(answer: &Answer) -> bool {
    matches!(answer.kind.as_deref(), Some("text/html" | "application/xhtml+xml"))
}

/// A status with its usual name.
fn named(status: u16) -> String {
    let name = StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason());
    name.map_or_else(|| status.to_string(), |name| format!("{status} {name}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn classified(expect: &Value, status: u16, body: Body) -> Seen {
        let answer = Answer {
            status,
            kind: None,
            leads_to: None,
            body,
        };
        classify(&Expect::read(expect).unwrap(), &answer)
    }

    #[test]
    fn no_status_completes_a_wait_unless_it_is_expected() {
        for status in 100..600 {
            let satisfied = |expect| matches!(classified(&expect, status, Body::Unread), Seen::Satisfied(_));
            assert_eq!(satisfied(json!({})), status == 200, "{status}");
            assert_eq!(
                satisfied(json!({"status": "400-404"})),
                (400..=404).contains(&status),
                "{status}"
            );
            assert!(
                !satisfied(json!({"json": "a", "status": "100-599"})),
                "{status} without a body"
            );
        }
    }

    #[test]
    fn an_answer_that_can_have_no_body_needs_none_unless_something_must_hold_of_it() {
        let empty = || Body::Whole(Vec::new());
        for (expect, status, done) in [
            (json!({"status": [200, 204], "failed": "error"}), 204, true),
            (json!({"status": [200, 204], "failed": "error"}), 200, false),
            (json!({"status": [200, 204], "json": "a"}), 204, false),
        ] {
            let seen = classified(&expect, status, empty());
            assert_eq!(matches!(seen, Seen::Satisfied(_)), done, "{expect} {status}: {seen:?}");
        }
    }

    #[test]
    fn a_body_is_read_only_where_it_is_judged() {
        for (expect, status, needed) in [
            (json!({}), 200, true),
            (json!({}), 202, false),
            (json!({}), 500, false),
            (json!({"status": 200}), 200, false),
            (json!({"json": "a"}), 200, true),
            (json!({"json": "a"}), 202, false),
            (json!({"failed": "a"}), 202, true),
            (json!({"failed": "a"}), 404, false),
            (json!({"failed": "a", "status": 404}), 404, true),
            (json!({"progress": "a"}), 202, true),
        ] {
            assert_eq!(
                needs_body(&Expect::read(&expect).unwrap(), status),
                needed,
                "{expect} {status}"
            );
        }
    }
}
