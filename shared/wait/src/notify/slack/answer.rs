//! What the webhook's answer means: pure.

use std::time::Duration;

use super::text::fit;
use super::webhook::Address;
use crate::notify::Told;

/// How much of the answer's own words is passed on.
const LONGEST_WORDS: usize = 200;

/// One answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The HTTP status.
    pub(super) status: u16,
    /// How long to stay away, in the webhook's own word.
    pub(super) after: Option<Duration>,
    /// What the body says, fit to be shown: see [`words`].
    pub(super) words: String,
}

impl Answer {
    /// What became of the message.
    pub(super) fn told(&self) -> Told {
        match self.status {
            200..=299 => Told::Sent,
            429 | 500..=599 => Told::Later {
                after: self.after,
                why: self.why(),
            },
            300..=399 => Told::Never(format!("{}: a webhook does not redirect", self.why())),
            _ => Told::Never(self.why()),
        }
    }

    /// Whether the message is refused for its form, so that a plainer one may pass.
    pub(super) fn refuses_the_form(&self) -> bool {
        self.status == 400 && (self.words.starts_with("invalid_blocks") || self.words.starts_with("invalid_payload"))
    }

    /// Whether the address may be an old one: refused as a revoked one is.
    pub(super) fn refuses_the_address(&self) -> bool {
        matches!(self.status, 401 | 403 | 404 | 410)
    }

    fn why(&self) -> String {
        let mut why = format!("the webhook answered {}", self.status);
        if !self.words.is_empty() {
            why.push(' ');
            why.push_str(&self.words);
        }
        if let Some(cure) = cure(&self.words) {
            why.push_str(": ");
            why.push_str(cure);
        }
        why
    }
}

/// What to do about the answers that people can do something about.
fn cure(words: &str) -> Option<&'static str> {
    match words {
        "no_service" | "no_service_id" | "no_team" | "invalid_token" | "No service" => {
            Some("it was revoked or never was one, make a new one")
        }
        "channel_not_found" => Some("its channel was deleted, make a new one for another channel"),
        "channel_is_archived" => Some("unarchive its channel or make a new one for another channel"),
        "action_prohibited" => Some("the workspace does not allow it to post there, ask who runs the workspace"),
        _ => None,
    }
}

/// What a body says, fit for logs and records: without any part of the address, all visible, escaped and cut. `whole`
/// says whether it was read to its end; otherwise its last word may be half a secret and goes.
pub(super) fn words(body: &[u8], whole: bool, address: &Address) -> String {
    let body = String::from_utf8_lossy(body);
    let body = match body.rfind(char::is_whitespace) {
        _ if whole => &*body,
        Some(end) => &body[..end],
        None => "",
    };
    fit(address.hide(body).trim(), LONGEST_WORDS)
}

/// The value of a Retry-After header: seconds, or a date, which counts from the answer's own `Date`, so that no clock
/// of ours is asked (RFC 9110, 10.2.3). Anything else says nothing. The caller puts a bound to it.
pub(super) fn retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        return value.parse().ok().map(Duration::from_secs);
    }
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    let until = parser.parse_timestamp(value).ok()?;
    let now = parser.parse_timestamp(date?.trim()).ok()?;
    // One that has passed by now means: at once.
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook() -> Address {
        Address::parse("https://hooks.slack.test/services/T000/B000/SECRETTOKEN").unwrap()
    }

    fn answer(status: u16, words: &str) -> Answer {
        Answer {
            status,
            after: None,
            words: words.to_owned(),
        }
    }

    #[test]
    fn only_success_counts_as_sent() {
        for status in [200, 201, 204, 299] {
            assert_eq!(answer(status, "").told(), Told::Sent);
        }
        for status in 100..600 {
            assert_eq!(
                answer(status, "ok").told() == Told::Sent,
                (200..300).contains(&status),
                "{status}"
            );
        }
    }

    #[test]
    fn too_many_requests_and_faults_of_the_service_are_for_later() {
        for status in [429, 500, 502, 503, 504, 599] {
            let told = answer(status, "rollup_error").told();
            let why = format!("the webhook answered {status} rollup_error");
            assert_eq!(told, Told::Later { after: None, why });
        }
        let told = Answer {
            after: Some(Duration::from_secs(2)),
            ..answer(429, "")
        }
        .told();
        let why = "the webhook answered 429".to_owned();
        let after = Some(Duration::from_secs(2));
        assert_eq!(told, Told::Later { after, why });
    }

    #[test]
    fn every_other_refusal_is_for_good_and_says_why() {
        for (status, words, expected) in [
            (404, "no_service", "404 no_service: it was revoked"),
            (410, "channel_is_archived", "410 channel_is_archived: unarchive"),
            (403, "action_prohibited", "403 action_prohibited: the workspace"),
            (404, "channel_not_found", "404 channel_not_found: its channel"),
            (403, "invalid_token", "403 invalid_token: it was revoked"),
            (400, "no_text", "400 no_text"),
            (400, "invalid_blocks", "400 invalid_blocks"),
            (408, "", "408"),
            (413, "&lt;html&gt;", "413 &lt;html&gt;"),
            (302, "", "302: a webhook does not redirect"),
            (304, "", "304: a webhook does not redirect"),
        ] {
            let Told::Never(why) = answer(status, words).told() else {
                panic!("{status} {words} is for good");
            };
            assert!(why.starts_with(&format!("the webhook answered {expected}")), "{why}");
        }
    }

    #[test]
    fn only_a_refused_form_asks_for_a_plainer_one() {
        for (status, words, expected) in [
            (400, "invalid_blocks", true),
            (400, "invalid_blocks_format", true),
            (400, "invalid_payload", true),
            (400, "no_text", false),
            (404, "invalid_blocks", false),
            (500, "invalid_payload", false),
            (200, "ok", false),
        ] {
            assert_eq!(answer(status, words).refuses_the_form(), expected, "{status} {words}");
        }
    }

    #[test]
    fn retry_after_is_read_in_both_forms_and_junk_says_nothing() {
        let now = Some("Thu, 15 Jan 2026 03:04:05 GMT");
        let seconds = |n| Some(Duration::from_secs(n));
        for (value, date, expected) in [
            ("2", None, seconds(2)),
            ("0", now, seconds(0)),
            (" 30 ", now, seconds(30)),
            ("86400", None, seconds(86_400)),
            ("Thu, 15 Jan 2026 03:05:00 GMT", now, seconds(55)),
            ("Thu, 15 Jan 2026 03:00:00 GMT", now, seconds(0)),
            ("Thu, 15 Jan 2026 03:05:00 GMT", None, None),
            ("Thu, 15 Jan 2026 03:05:00 GMT", Some("yesterday"), None),
            ("abc", now, None),
            ("", now, None),
            ("-1", now, None),
            ("+5", now, None),
            ("1.5", now, None),
            ("2s", now, None),
            ("NaN", now, None),
            ("99999999999999999999", now, None),
        ] {
            assert_eq!(retry_after(value, date), expected, "{value:?} at {date:?}");
        }
    }

    #[test]
    fn the_words_of_a_body_are_fit_to_be_shown() {
        let long = "x".repeat(1_024);
        for (body, whole, expected) in [
            (&b" no_service\r\n"[..], true, "no_service".to_owned()),
            (b"", true, String::new()),
            (
                b"<html>a & b\n</html>",
                true,
                "&lt;html&gt;a &amp; b␊&lt;/html&gt;".to_owned(),
            ),
            (b"\xff\xfe\x1b[31m", true, "\u{fffd}\u{fffd}␛[31m".to_owned()),
            (long.as_bytes(), true, format!("{}…", "x".repeat(199))),
            (long.as_bytes(), false, String::new()),
            (
                b"cannot find /services/T000/B000/SECRETTOKEN",
                true,
                "cannot find …".to_owned(),
            ),
            (
                b"cannot find /services/T000/B000/SECRETT",
                false,
                "cannot find".to_owned(),
            ),
        ] {
            assert_eq!(words(body, whole, &webhook()), expected);
        }
    }
}
