use std::collections::BTreeSet;

use super::*;
use crate::testing;
use crate::wait::{OutcomeKind, Policy};

fn sample() -> Record {
    Record {
        v: 1,
        wait: testing::wait_for("s3://bucket/key", Policy::default()),
        state: State::Waiting,
        pass: 3,
        parent: Some(Token::new("\"etag\"")),
        msg: "message".to_owned(),
        put: "put".to_owned(),
        lease: Lease::new(Duration::from_secs(30)),
        takeovers: 0,
        outcome: None,
        notified: None,
        extra: Extra::new(),
    }
}

#[test]
fn the_length_of_a_body_tells_whether_anything_is_left_to_do() {
    let mut record = sample();
    for reason in ["a", "ab", "abc"] {
        record.outcome = Some(crate::decide::outcome(
            OutcomeKind::Completed,
            None,
            reason.to_owned(),
            jiff::Timestamp::UNIX_EPOCH,
        ));
        for (state, notified, open) in [
            (State::Waiting, None, true),
            (State::Done, None, true),
            (State::Done, Some(Notified::Sent), false),
            (State::Done, Some(Notified::Undeliverable("no".to_owned())), false),
        ] {
            (record.state, record.notified) = (state, notified);
            let body = record.to_body();
            assert_eq!(body.len() % 2 == 1, open);
            assert_eq!(Record::from_body("key", &body).unwrap(), record);
        }
    }
}

#[test]
fn unknown_fields_of_a_record_are_preserved() {
    let mut json = serde_json::to_value(sample()).unwrap();
    json["later"] = serde_json::json!({"a": 1});
    json["wait"]["later"] = serde_json::json!([2]);
    json["wait"]["policy"]["later"] = serde_json::json!(true);
    let record = Record::from_body("key", json.to_string().as_bytes()).unwrap();
    let again: serde_json::Value = serde_json::from_slice(&record.to_body()).unwrap();
    assert_eq!(again, json);
}

#[test]
fn a_body_that_is_no_record_of_this_version_is_refused_with_its_key() {
    let mut newer = serde_json::to_value(sample()).unwrap();
    newer["v"] = 2.into();
    for body in ["", "null", "{}", "not json", &newer.to_string()] {
        let error = Record::from_body("waits/x.json", body.as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains("waits/x.json"), "{error}");
    }
}

#[test]
fn a_lease_in_a_record_is_never_longer_than_a_run_can_have() {
    assert_eq!(Lease(u64::MAX).duration(), LONGEST_LEASE);
}

#[test]
fn no_two_targets_share_a_key_and_every_key_fits_s3() {
    let long = "k".repeat(1_024);
    let wide = "待".repeat(341);
    let keys = [
        "a",
        "A",
        "a/",
        "/a",
        "a//b",
        "a/b",
        "a%2Fb",
        "a%2fb",
        "..",
        "../a",
        "a b",
        "a+b",
        "a%20b",
        "a#b",
        "a?b",
        "a~b",
        "待つ",
        "\u{7}",
        "\u{ffff}",
        &long,
        &long[1..],
        &format!("{}x", &long[..1_023]),
        &wide,
    ];
    let mut seen = BTreeSet::new();
    for bucket in ["bucket", "bucket-2"] {
        for name in keys {
            for until in ["exists", "deleted"] {
                let target: Target = serde_json::from_value(serde_json::json!(
                    {"kind": "s3-object", "bucket": bucket, "key": name, "until": until}
                ))
                .unwrap();
                let key = key(&target);
                assert!(key.len() <= 800, "{}", key.len());
                assert!(key.bytes().all(|b| b.is_ascii_graphic()), "{key}");
                assert!(seen.insert(key.clone()), "{key} stands for two targets");
            }
        }
    }
}

#[test]
fn a_key_is_readable() {
    assert_eq!(
        key(&testing::target("s3://bucket/in/a b.csv")),
        "waits/s3-object=exists=bucket%2Fin%2Fa%20b.csv.json"
    );
}
