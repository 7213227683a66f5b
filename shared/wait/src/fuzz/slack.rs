//! Messages to Slack, whatever is told in them.

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::{cases, long_text, moment, quickly, text};
use crate::notify::Announcement;
use crate::notify::slack::{plain, render};
use crate::target::{Here, S3Object, Target, Until};
use crate::testing::here;
use crate::wait::{Extra, Limit, Outcome, OutcomeKind, Status};

/// Any target that can be read, and objects under keys of every kind.
fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        text().prop_filter_map("no target", |text| Target::parse(&text, None, &here()).ok()),
        (text(), any::<bool>()).prop_map(|(key, gone)| Target::S3Object(S3Object {
            bucket: "example-data".to_owned(),
            key,
            until: if gone { Until::Deleted } else { Until::Exists },
            extra: Extra::new(),
        })),
        "[a-z]{1,30}".prop_map(|id| Target::parse(&format!("rds:snapshot/{id}"), None, &here()).unwrap()),
    ]
}

fn announcement() -> impl Strategy<Value = Announcement> {
    let reason = prop_oneof![4 => text(), 1 => long_text()];
    let limit = select(&[None, Some(Limit::Count), Some(Limit::Deadline)][..]);
    let outcome = (select(&OutcomeKind::ALL[..]), limit, reason, moment());
    let status = prop::option::of((text(), any::<Option<u8>>()));
    (target(), outcome, status, text(), any::<u32>(), moment()).prop_map(
        |(target, (kind, limit, reason, at), status, wait, passes, started_at)| Announcement {
            wait,
            target,
            outcome: Outcome {
                kind,
                limit,
                reason,
                at,
                extra: Extra::new(),
            },
            passes,
            started_at,
            status: status.map(|(text, percent)| Status::new(text).at(percent)),
        },
    )
}

/// Every text in a message.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn at<'a>(message: &'a Value, place: &str) -> &'a str {
    message.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What Slack takes, and what it gives a meaning to.
fn is_taken(message: &Value) -> Result<(), TestCaseError> {
    let written = message.to_string();
    prop_assert_eq!(&serde_json::from_str::<Value>(&written).unwrap(), message);
    let header = at(message, "/blocks/0/text/text");
    prop_assert!((1..=150).contains(&units(header)), "{}", header);
    for section in ["/blocks/1/text/text", "/blocks/2/text/text"] {
        prop_assert!((1..=3_000).contains(&units(at(message, section))));
    }
    let fields = message["blocks"][3]["fields"].as_array().unwrap();
    prop_assert!((1..=10).contains(&fields.len()));
    for field in fields {
        prop_assert!((1..=2_000).contains(&units(at(field, "/text"))));
    }
    prop_assert!(units(at(message, "/text")) > 0);
    let all = texts(message);
    prop_assert!(all.iter().map(|text| units(text)).sum::<usize>() < 10_000);
    for text in all {
        let without = ["&amp;", "&lt;", "&gt;"]
            .iter()
            .fold(text.to_owned(), |text, entity| text.replace(entity, ""));
        prop_assert!(!without.contains(['<', '>', '&']), "{}", text);
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{:?}", text);
    }
    Ok(())
}

/// A target of visible ASCII alone as it stands in a message.
fn shown(target: &Target) -> Option<String> {
    let text = target.to_string();
    text.bytes()
        .all(|b| matches!(b, b' '..=b'~'))
        .then(|| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn whatever_is_told_slack_takes_it_and_reads_nothing_into_it(
        announcement in announcement(), account in prop::option::of(text()), region in prop::option::of(text()),
    ) {
        let message = quickly(|| render(&announcement, &Here { region: region.clone(), account: account.clone() }));
        is_taken(&message)?;
        let word = announcement.outcome.kind.word();
        let (line, header) = (at(&message, "/text"), at(&message, "/blocks/0/text/text"));
        prop_assert!(line.contains(word) && header.contains(word), "{}", message);
        prop_assert!(at(&message, "/blocks/3/fields/0/text").contains(word));
        if let Some(shown) = shown(&announcement.target) {
            prop_assert!(at(&message, "/blocks/1/text/text").starts_with(&shown), "{}", message);
            prop_assert!(line.contains(&shown), "{}", line);
        }
        prop_assert_eq!(&plain(&announcement)["text"], &message["text"]);
    }

    #[test]
    fn a_wait_at_either_end_of_time_is_told(announcement in announcement()) {
        let ends = [Timestamp::MIN, Timestamp::MAX];
        for (started_at, at) in ends.into_iter().flat_map(|started| ends.map(|at| (started, at))) {
            let mut announcement = announcement.clone();
            (announcement.started_at, announcement.outcome.at) = (started_at, at);
            is_taken(&render(&announcement, &here()))?;
        }
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_target_longer_than_slack_takes_is_cut_and_its_condition_is_not(key in long_text(), announcement in announcement()) {
        let target = Target::S3Object(S3Object {
            bucket: "example-data".to_owned(), key: format!("x{key}"), until: Until::Deleted, extra: Extra::new(),
        });
        let long = Announcement { target: target.clone(), ..announcement };
        let message = quickly(|| render(&long, &here()));
        is_taken(&message)?;
        let full = at(&message, "/blocks/1/text/text");
        let condition = " (until deleted)";
        prop_assert!(full.ends_with(condition), "{}", full);
        if let Some(shown) = shown(&target) {
            let whole = full.strip_suffix(condition).unwrap_or_default();
            let kept = whole.strip_suffix('…').unwrap_or(whole);
            prop_assert!(shown.starts_with(kept), "{}", full);
            prop_assert_eq!(whole == shown, shown.len() + condition.len() <= 3_000, "{} of {}", whole.len(), shown.len());
        }
    }
}
