//! Payloads with anything wrong in them: none breaks the reader, and none starts, copies or wakes what it does not name.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Map;

use super::super::{direct, raw};
use super::*;
use crate::fuzz::{self, any_json, cases, changes, long_text, quickly, text};

/// Payloads of every form, and the samples of real events.
static SEEDS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let arn = "arn:aws:rds:eu-central-1:123456789012:snapshot:orders-copy";
    let cluster = "arn:aws:rds:eu-central-1:123456789012:cluster-snapshot:main";
    let mut seeds = vec![
        records(&[
            created("in/a+b%2B", "0061A1"),
            removed("in/a+b%2B", "0061A2"),
            created("in/c", "01"),
        ]),
        s3_bridge("Object Created", "in/a"),
        s3_bridge("Object Deleted", "in/a"),
        rds_bridge("RDS DB Cluster Snapshot Event", "RDS-EVENT-0168", cluster),
        subscription("db-cluster-snapshot", "RDS-EVENT-0060", "main", Some(cluster)),
        json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": BUCKET}),
        json!({"target": "s3://example-data/a", "until": "deleted", "count": 3, "policy": {"timeout": "1h", "max_count": 9}}),
        json!({"bucket": BUCKET, "key": "a", "region": "eu-central-1"}),
        json!({"snapshot": "orders", "origin": "me", "seen": "token"}),
        json!({"target": {"kind": "rds-snapshot", "id": "orders-copy", "region": "eu-west-1", "account": "123456789012"},
               "job": {"kind": "rds-copy", "source": arn, "tags": {"these": {"a": "b"}}}, "count": 1, "origin": "e"}),
    ];
    seeds.extend(fuzz::samples("infra/events"));
    for event in [
        "0042", "0091", "0059", "0060", "0061", "0190", "0196", "0197", "0040", "0041", "0090",
    ] {
        let event = format!("RDS-EVENT-{event}");
        seeds.push(rds_bridge("RDS DB Snapshot Event", &event, arn));
        seeds.push(subscription("db-snapshot", &event, "orders-copy", Some(arn)));
    }
    let bare = seeds.clone();
    seeds.extend(bare.iter().map(in_sqs));
    seeds.extend(bare.iter().map(in_sns));
    seeds.extend(bare.iter().map(|seed| in_sqs(&envelope(&seed.to_string()))));
    seeds.extend(bare.iter().map(|seed| json!(seed.to_string())));
    seeds
});

/// Every object in a payload, also within texts.
fn objects(value: &Value, found: &mut Vec<Map<String, Value>>) {
    match value {
        Value::Object(fields) => {
            fields.values().for_each(|value| objects(value, found));
            found.push(fields.clone());
        }
        Value::Array(items) => items.iter().for_each(|value| objects(value, found)),
        Value::String(text) => {
            let inner = serde_json::from_str(text.trim_start_matches('\u{feff}').trim());
            if let Ok(inner @ (Value::Object(_) | Value::Array(_) | Value::String(_))) = inner {
                objects(&inner, found);
            }
        }
        _ => {}
    }
}

/// The text at a place in an object.
fn at<'a>(object: &'a Map<String, Value>, place: &[&str]) -> &'a str {
    let (first, rest) = place.split_first().unwrap();
    let start = object.get(*first);
    let end = rest.iter().try_fold(start, |value, name| value.map(|v| v.get(name)));
    end.flatten().and_then(Value::as_str).unwrap_or_default()
}

/// A key as forms have it, decoded without the reader's own means.
fn decoded(key: &str) -> String {
    let spaced = key.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced)
        .decode_utf8_lossy()
        .into_owned()
}

/// Whether an object is an event of S3 about this object, and what happened to it begins with one of `names`.
fn tells_of(object: &Map<String, Value>, target: &S3Object, names: &[&str]) -> bool {
    let name = at(object, &["eventName"]).trim();
    let record = names
        .iter()
        .any(|begin| name.trim_start_matches("s3:").starts_with(begin))
        && at(object, &["s3", "bucket", "name"]) == target.bucket
        && decoded(at(object, &["s3", "object", "key"])) == target.key;
    let kind = at(object, &["detail-type"]).trim().replace(' ', "");
    let bridge = names.iter().any(|begin| kind == begin.replace("Removed", "Deleted"))
        && at(object, &["source"]).trim() == "aws.s3"
        && at(object, &["detail", "bucket", "name"]) == target.bucket
        && at(object, &["detail", "object", "key"]) == target.key;
    record || bridge
}

/// Whether an object asks for this target in so many words.
fn asks_for(object: &Map<String, Value>, target: &Target) -> bool {
    let written = [
        at(object, &["target"]),
        at(object, &["snapshot"]),
        at(object, &["id"]),
        at(object, &["url"]),
    ];
    let here = rules().here;
    match target {
        Target::S3Object(s3) => {
            at(object, &["target"]) == format!("s3://{}/{}", s3.bucket, s3.key)
                || at(object, &["bucket"]) == s3.bucket && at(object, &["key"]) == s3.key
        }
        Target::File(file) => {
            at(object, &["target"]) == format!("file:{}", file.path) || at(object, &["path"]) == file.path
        }
        Target::Http(http) => written
            .iter()
            .any(|text| reqwest::Url::parse(text).is_ok_and(|url| url.as_str() == http.url)),
        Target::RdsSnapshot(rds) | Target::RdsClusterSnapshot(rds) => {
            let is_of = |name: &str, own: &Option<String>, held: &str| {
                let said = at(object, &[name]).trim();
                said == held || own.as_deref() == Some(held) || at(object, &["target"]).contains(held)
            };
            let whole = target.to_string();
            written.iter().any(|text| {
                let short = text
                    .strip_prefix("rds:snapshot/")
                    .or(text.strip_prefix("rds:cluster-snapshot/"));
                let is_short = *text == rds.id || short == Some(&rds.id);
                *text == whole
                    || is_short
                        && is_of("region", &here.region, &rds.region)
                        && is_of("account", &here.account, &rds.account)
            })
        }
    }
}

/// Whether an object is an event of RDS with one of these ids about the snapshot of this ARN.
fn is_of_rds(object: &Map<String, Value>, topics: &[String], arn: &str, ids: &[&str]) -> bool {
    let has_id = |text: &str| ids.iter().any(|id| text.trim().ends_with(id));
    let bridge = has_id(at(object, &["detail", "EventID"])) && at(object, &["detail", "SourceArn"]) == arn;
    // Without an ARN it lies where the topic lies.
    let beside = topics.iter().any(|topic| {
        let place = topic.replace(":sns:", ":rds:");
        let place = place.rsplit_once(':').map_or("", |(place, _)| place);
        let id = at(object, &["Source ID"]);
        ["snapshot", "cluster-snapshot"]
            .iter()
            .any(|kind| arn == format!("{place}:{kind}:{id}"))
    });
    let named = at(object, &["Source ARN"]) == arn || beside;
    bridge || has_id(at(object, &["Event ID"])) && named
}

const MADE: [&str; 4] = ["RDS-EVENT-0042", "RDS-EVENT-0091", "RDS-EVENT-0075", "RDS-EVENT-0169"];
const COPIED: [&str; 4] = ["RDS-EVENT-0060", "RDS-EVENT-0061", "RDS-EVENT-0197", "RDS-EVENT-0190"];

/// Whether the payload names what is wanted, event and thing.
fn is_named(payload: &Value, wanted: &Wanted) -> bool {
    let mut found = Vec::new();
    objects(payload, &mut found);
    let topics: Vec<String> = found.iter().map(|o| at(o, &["TopicArn"]).to_owned()).collect();
    found.iter().any(|object| match wanted {
        Wanted::Start(request) => match &request.target {
            Target::S3Object(s3) if s3.until == Until::Deleted && tells_of(object, s3, &["ObjectCreated"]) => true,
            target => asks_for(object, target),
        },
        Wanted::Wake(Target::S3Object(s3)) => {
            tells_of(object, s3, &["ObjectRemoved", "ObjectDeleted", "LifecycleExpiration"])
        }
        Wanted::Wake(target) => is_of_rds(object, &topics, &target.to_string(), &COPIED),
        Wanted::Copy { request, .. } => {
            let asked = at(object, &["job"]).trim() == "rds-copy" && at(object, &["source"]).trim() == request.source;
            asked || is_of_rds(object, &topics, &request.source, &MADE)
        }
        Wanted::Ignored(_) => true,
    })
}

/// Reads a payload and checks everything that came of it.
fn stays_with_what_is_named(payload: &Value) -> Result<(), TestCaseError> {
    for item in quickly(|| read(payload, &rules())) {
        match item.wanted {
            Ok(Wanted::Ignored(why)) => prop_assert!(!why.is_empty()),
            Ok(wanted) => {
                prop_assert!(is_named(payload, &wanted), "{:?}", wanted);
                if let Wanted::Start(request) = wanted {
                    prop_assert!(request.count > 0 && !request.origin.is_empty(), "{:?}", request);
                    prop_assert_eq!(direct(&raw(&request), &rules()), Ok(Wanted::Start(request)));
                }
            }
            Err(BadEvent(why)) => prop_assert!(!why.is_empty() && why.chars().count() < 2_000, "{}", why),
        }
    }
    Ok(())
}

#[test]
fn every_seed_names_what_comes_of_it() {
    let (mut starts, mut copies, mut wakes) = (0, 0, 0);
    for payload in SEEDS.iter() {
        stays_with_what_is_named(payload).unwrap_or_else(|e| panic!("{payload}: {e}"));
        for wanted in wanted(payload) {
            match wanted {
                Ok(Wanted::Start(_)) => starts += 1,
                Ok(Wanted::Copy { .. }) => copies += 1,
                Ok(Wanted::Wake(_)) => wakes += 1,
                Ok(Wanted::Ignored(_)) | Err(_) => {}
            }
        }
    }
    assert!(starts > 20 && copies > 10 && wakes > 40, "{starts} {copies} {wakes}");
}

proptest! {
    #![proptest_config(cases(5_000))]

    #[test]
    fn a_mangled_event_breaks_nothing_and_starts_nothing_that_it_does_not_name(
        which in any::<Index>(), changes in changes(5),
    ) {
        let mut payload = which.get(&SEEDS).clone();
        changes.iter().for_each(|change| change.apply(&mut payload));
        stays_with_what_is_named(&payload)?;
    }

    #[test]
    fn any_json_and_any_text_is_read_or_refused(value in any_json(), text in text()) {
        for payload in [value.clone(), json!(value.to_string()), json!(text.clone()), in_sqs(&value)] {
            stays_with_what_is_named(&payload)?;
        }
        stays_with_what_is_named(&records(&[sqs_record("sqs-1", &text)]))?;
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn an_event_with_the_longest_text_in_it_is_read_within_the_bound(
        which in any::<Index>(), long in long_text(), place in select(&["", "target", "body", "Message", "key", "Records"][..]),
    ) {
        let mut payload = which.get(&SEEDS).clone();
        if let Some(fields) = payload.as_object_mut() {
            fields.insert(place.to_owned(), json!(long));
        }
        stays_with_what_is_named(&payload)?;
        stays_with_what_is_named(&json!(long))?;
        stays_with_what_is_named(&in_sns(&json!({"target": long})))?;
        stays_with_what_is_named(&json!({"target": "s3://example-data/a", "job": {"kind": long}}))?;
    }
}
