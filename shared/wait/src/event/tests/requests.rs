//! Requests in JSON, and requests that were put off.

use std::collections::BTreeMap;
use std::time::Duration;

use matsu_lock::Token;

use super::super::{direct, raw, raw_body};
use super::*;
use crate::job::{CopyRequest, Job, Tags};
use crate::message::Body;

fn request(value: &Value) -> Request {
    match direct(value, &rules()) {
        Ok(Wanted::Start(request)) => request,
        other => panic!("{value}: {other:?}"),
    }
}

fn copy(value: &Value) -> CopyRequest {
    match direct(value, &rules()) {
        Ok(Wanted::Copy { request, .. }) => request,
        other => panic!("{value}: {other:?}"),
    }
}

fn refused(value: &Value) -> String {
    direct(value, &rules()).expect_err(&value.to_string()).0
}

#[test]
fn the_short_forms_mean_a_snapshot_and_an_object_until_it_is_gone() {
    let snapshot = Target::parse("rds:snapshot/orders", None, &rules().here).unwrap();
    assert_eq!(request(&json!({"snapshot": "orders", "count": 1})).target, snapshot);
    assert_eq!(request(&json!({"target": "rds:snapshot/orders"})).target, snapshot);

    assert_eq!(
        request(&json!({"bucket": BUCKET, "key": "a", "count": 1})).target,
        gone("a")
    );
    assert_eq!(
        request(&json!({"bucket": BUCKET, "key": "a", "until": "exists"})).target,
        object("a", Until::Exists)
    );
    for key in [" ", "None", "null", "a+b%20c", "dir/", "\u{7}\u{ffff}"] {
        assert_eq!(request(&json!({"bucket": BUCKET, "key": key})).target, gone(key));
    }
}

#[test]
fn until_is_exists_unless_said_otherwise() {
    let with = |until: Value| request(&json!({"target": "s3://example-data/a", "until": until})).target;
    for unset in [
        Value::Null,
        json!(""),
        json!(" "),
        json!("None"),
        json!("null"),
        json!("exists"),
    ] {
        assert_eq!(with(unset), object("a", Until::Exists));
    }
    assert_eq!(with(json!("deleted")), gone("a"));
    let whole = json!({"target": {"kind": "s3-object", "bucket": BUCKET, "key": "a", "until": "deleted"}});
    assert_eq!(request(&whole).target, gone("a"));
}

#[test]
fn a_region_beside_a_short_form_is_where_it_is_and_must_not_contradict_the_target() {
    let there = Here {
        region: Some("us-east-1".to_owned()),
        ..rules().here
    };
    assert_eq!(
        request(&json!({"target": "rds:snapshot/orders", "region": "us-east-1"})).target,
        Target::parse("rds:snapshot/orders", None, &there).unwrap()
    );
    let whole = json!({"kind": "rds-snapshot", "id": "orders", "region": "eu-west-1"});
    let text = refused(&json!({"target": whole, "region": "us-east-1"}));
    assert!(
        text.contains("region is \"us-east-1\"") && text.contains("eu-west-1"),
        "{text}"
    );
}

#[test]
fn the_count_is_a_whole_number_and_absent_or_nought_is_one() {
    let with = |count: Value| direct(&json!({"target": "s3://example-data/a", "count": count}), &rules());
    assert_eq!(request(&json!({"target": "s3://example-data/a"})).count, 1);
    for (count, is) in [
        (json!(null), 1),
        (json!(""), 1),
        (json!(0), 1),
        (json!(1), 1),
        (json!(29), 29),
        (json!(30), 30),
        (json!(31), 31),
        (json!(u32::MAX), u32::MAX),
    ] {
        match with(count.clone()) {
            Ok(Wanted::Start(request)) => assert_eq!(request.count, is, "{count}"),
            other => panic!("{count}: {other:?}"),
        }
    }
    for count in [
        json!(-1),
        json!(1.5),
        json!(1e3),
        json!("1"),
        json!("x"),
        json!(true),
        json!([1]),
        json!({}),
        json!(4_294_967_296_u64),
        json!(u64::MAX),
    ] {
        let text = with(count.clone()).unwrap_err().0;
        assert!(
            text.starts_with("count is ") && text.contains("whole number"),
            "{count}: {text}"
        );
    }
}

#[test]
fn a_policy_says_only_what_differs() {
    let with = |policy: Value| request(&json!({"target": "s3://example-data/a", "policy": policy})).policy;
    let anyway = rules().policy;
    for unset in [
        Value::Null,
        json!("None"),
        json!({}),
        json!({"min_delay": null, "max_delay": "", "max_count": "None", "timeout": " "}),
    ] {
        assert_eq!(with(unset), anyway);
    }
    assert_eq!(
        with(json!({"timeout": "1h30m"})),
        Policy {
            timeout: Duration::from_secs(5_400),
            ..anyway.clone()
        }
    );
    assert_eq!(
        with(json!({"min_delay": "30s", "max_delay": "5m", "max_count": 7, "timeout": "2h"})),
        Policy {
            min_delay: Duration::from_secs(30),
            max_delay: Duration::from_secs(300),
            max_count: 7,
            timeout: Duration::from_secs(7_200),
            ..anyway
        }
    );
}

#[test]
fn a_policy_that_cannot_be_kept_is_named() {
    for (policy, says) in [
        (json!("30s"), "policy is \"30s\""),
        (json!([]), "policy is a list"),
        (json!({"min_delay": "0s"}), "policy.min_delay is \"0s\""),
        (json!({"min_delay": "30"}), "policy.min_delay is \"30\""),
        (json!({"max_delay": 30}), "policy.max_delay is 30"),
        (json!({"timeout": "-1h"}), "policy.timeout is \"-1h\""),
        (json!({"max_count": 0}), "max_count 0"),
        (json!({"max_count": -1}), "policy.max_count is -1"),
        (json!({"max_count": "7"}), "policy.max_count is \"7\""),
        (json!({"min_delay": "1h"}), "policy: min_delay 1h is longer"),
        (json!({"max_delay": "30d"}), "policy: max_delay 30d is too long"),
    ] {
        let text = refused(&json!({"target": "s3://example-data/a", "policy": policy}));
        assert!(text.contains(says), "{policy}: {text}");
    }
}

#[test]
fn a_copy_takes_all_its_fields_and_blank_ones_count_as_unset() {
    let full = json!({
        "job": "rds-copy", "source": "orders", "to": "orders-dr", "source_region": "eu-central-1", "region": "eu-west-1",
        "kms_key": "alias/backups", "tags": "copy", "policy": {"timeout": "6h"}, "origin": "nightly",
    });
    let Ok(Wanted::Copy {
        request,
        policy,
        origin,
    }) = direct(&full, &rules())
    else {
        panic!("{full}");
    };
    assert_eq!(
        request,
        CopyRequest {
            by_event: false,
            source: "orders".to_owned(),
            source_region: Some("eu-central-1".to_owned()),
            to: Some("orders-dr".to_owned()),
            to_region: Some("eu-west-1".to_owned()),
            kms_key: Some("alias/backups".to_owned()),
            tags: Some(Tags::Copy),
        }
    );
    assert_eq!(policy.timeout, Duration::from_secs(6 * 3_600));
    assert_eq!(origin, "nightly");

    for unset in [json!(null), json!(""), json!("  "), json!("None"), json!("null")] {
        let value = json!({"job": "rds-copy", "source": "orders", "to": unset, "source_region": unset, "region": unset,
                           "kms_key": unset, "tags": unset, "policy": unset, "target": unset, "count": unset});
        let plain = CopyRequest {
            source: "orders".to_owned(),
            ..CopyRequest::default()
        };
        assert_eq!(copy(&value), plain, "{unset}");
    }
}

#[test]
fn tags_are_the_word_copy_or_pairs_or_an_object_of_texts() {
    let with = |tags: Value| direct(&json!({"job": "rds-copy", "source": "orders", "tags": tags}), &rules());
    let these = |pairs: &[(&str, &str)]| {
        let map: BTreeMap<String, String> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Some(Tags::These(map))
    };
    for (tags, is) in [
        (json!("copy"), Some(Tags::Copy)),
        (json!("a=1"), these(&[("a", "1")])),
        (
            json!(" a = 1 , b=x=y, c=,"),
            these(&[("a", "1"), ("b", "x=y"), ("c", "")]),
        ),
        (json!({"a": "1", "b": ""}), these(&[("a", "1"), ("b", "")])),
        (json!({}), None),
    ] {
        match with(tags.clone()) {
            Ok(Wanted::Copy { request, .. }) => assert_eq!(request.tags, is, "{tags}"),
            other => panic!("{tags}: {other:?}"),
        }
    }
    for tags in [
        json!("a"),
        json!("=1"),
        json!("a=1,b"),
        json!(["a=1"]),
        json!({"a": 1}),
        json!(7),
        json!(true),
    ] {
        let text = with(tags.clone()).unwrap_err().0;
        assert!(text.starts_with("tags is ") && text.contains("k=v"), "{tags}: {text}");
    }
}

#[test]
fn a_request_that_is_wrong_is_told_which_field_and_what_it_takes() {
    for (value, says) in [
        (json!({"target": ""}), "target is empty"),
        (json!({"target": " ", "count": 1}), "target is"),
        (json!({"target": null}), "target is null"),
        (json!({"target": 5}), "target is"),
        (json!({"target": "hello"}), "target"),
        (
            json!({"target": "s3://example-data/a", "until": "gone"}),
            "until is \"gone\"",
        ),
        (json!({"target": "s3://example-data/a", "until": 1}), "until is 1"),
        (json!({"target": "s3://example-data/a", "region": 1}), "region is 1"),
        (
            json!({"target": "s3://example-data/a", "origin": {}}),
            "origin is an object",
        ),
        (json!({"target": "s3://example-data/a", "seen": 1}), "seen is 1"),
        (
            json!({"target": "s3://example-data/a", "snapshot": "orders"}),
            "target and snapshot",
        ),
        (
            json!({"target": "s3://example-data/a", "job": "rds-copy"}),
            "job and target",
        ),
        (json!({"target": "s3://example-data/a", "job": 1}), "job is 1"),
        (
            json!({"target": "s3://example-data/a", "job": {"kind": "bake-bread"}}),
            "job: ",
        ),
        (
            json!({"target": "s3://example-data/a", "job": {"kind": "rds-copy"}}),
            "job: ",
        ),
        (json!({"job": {"kind": "rds-copy", "source": "x"}}), "job is an object"),
        (json!({"job": "bake-bread", "source": "x"}), "job is \"bake-bread\""),
        (json!({"job": "rds-copy"}), "source is missing"),
        (json!({"job": "rds-copy", "source": ["x"]}), "source is a list"),
        (json!({"job": "rds-copy", "source": "x", "to": 1}), "to is 1"),
        (json!({"job": "rds-copy", "source": "x", "kms_key": 1}), "kms_key is 1"),
        (json!({"snapshot": 1}), "snapshot is 1"),
        (json!({"bucket": BUCKET}), "key is missing"),
        (json!({"bucket": BUCKET, "key": ""}), "key is empty"),
        (json!({"bucket": 1, "key": "a"}), "bucket is 1"),
        (json!({"key": "a"}), "it has the fields \"key\""),
        (json!({}), "it has no field"),
        (json!(7), "it is 7"),
    ] {
        let text = refused(&value);
        assert!(text.contains(says), "{value}: {text}");
    }
}

#[test]
fn unknown_fields_are_passed_over() {
    let value = json!({"target": "s3://example-data/a", "until": "deleted", "comment": {"by": "me"}, "Version": 3});
    assert_eq!(direct(&value, &rules()), Ok(start(gone("a"), "invocation-1")));
}

#[test]
fn what_people_type_into_a_console_is_read_or_refused() {
    let wait = "{\"target\":\"s3://example-data/a\",\"count\":1}";
    for body in [
        wait.to_owned(),
        format!("\u{feff}{wait}"),
        format!("{wait}\r\n"),
        format!("  {wait}\n\n"),
    ] {
        let Ok(Body::Raw(value)) = Body::parse(&body) else {
            panic!("{body:?}");
        };
        assert_eq!(request(&value).target, object("a", Until::Exists));
        assert_eq!(
            shorts(&records(&[sqs_record("m", &body)])),
            ["start s3://example-data/a#m"]
        );
    }
    for body in ["{'target':'s3://example-data/a'}", "true", "\"x\"", "", "[]"] {
        assert!(Body::parse(body).is_err(), "{body:?}");
    }
    for body in ["{}", "{\"target\":\"\",\"count\":1}"] {
        let Ok(Body::Raw(value)) = Body::parse(body) else {
            panic!("{body:?}");
        };
        assert!(direct(&value, &rules()).is_err(), "{body:?}");
    }
}

/// Requests of every kind, with everything that may be in them.
fn requests() -> Vec<Request> {
    let snapshot = Target::parse("rds:snapshot/orders-copy", None, &rules().here).unwrap();
    let source = "arn:aws:rds:eu-central-1:123456789012:snapshot:rds:orders";
    let jobs: [Option<Job>; 4] = [
        Value::Null,
        json!({"kind": "rds-copy", "source": source}),
        json!({"kind": "rds-copy", "source": source, "source_created": "2026-03-02T02:10:41.5Z", "tags": "copy",
               "kms_key": "alias/backups"}),
        json!({"kind": "rds-copy", "source": source, "tags": {"these": {"team": "a \u{7} \u{ffff} 🐟"}}}),
    ]
    .map(|job| serde_json::from_value(job).unwrap());
    let mut later = Policy {
        min_delay: Duration::from_millis(1),
        max_delay: Duration::from_secs(7),
        max_count: u32::MAX,
        ..Policy::default()
    };
    later.extra.insert("patience".to_owned(), json!({"of": [null, 1, "x"]}));
    later.extra.insert("nothing".to_owned(), Value::Null);
    let mut all = Vec::new();
    for target in [
        snapshot,
        gone("a"),
        object("\u{7}\u{ffff}🐟\"\\ %2F+/", Until::Exists),
        gone(" "),
        gone("None"),
    ] {
        for job in &jobs {
            for (policy, count, seen) in [
                (Policy::default(), 1, None),
                (later.clone(), u32::MAX, Some(Token::new("\"d41d8cd98f00b204\""))),
            ] {
                all.push(Request {
                    target: target.clone(),
                    job: job.clone(),
                    policy,
                    origin: "s3:example-data/a \u{ffff}#0061A1".to_owned(),
                    count,
                    seen,
                });
            }
        }
    }
    all
}

#[test]
fn a_request_that_is_put_off_reads_back_the_same() {
    for request in requests() {
        let body = raw_body(&request);
        assert!(body.bytes().all(|b| (b' '..=b'~').contains(&b)), "{body}");
        let Ok(Body::Raw(value)) = Body::parse(&body) else {
            panic!("{body}");
        };
        assert_eq!(value, raw(&request));
        assert!(value["target"].is_object(), "{body}");
        let back = direct(
            &value,
            &Rules {
                origin: "another".to_owned(),
                ..rules()
            },
        );
        assert_eq!(back, Ok(Wanted::Start(request)), "{body}");
    }
}

#[test]
fn an_http_target_is_taken_as_a_string_and_as_an_object() {
    for target in [
        json!("https://status.example.test/job/1?x=%2F"),
        json!({"kind": "http", "url": "https://status.example.test/job/1", "expect": {"json": "status == 'done'"}}),
    ] {
        let wanted = direct(&json!({"target": target, "count": 1}), &rules());
        let Ok(Wanted::Start(request)) = wanted else {
            panic!("{wanted:?}");
        };
        assert_eq!(request.target.kind(), "http");
    }
}

#[test]
fn an_http_target_that_must_not_be_asked_is_bad_input_unless_it_is_allowed() {
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "https://[::ffff:169.254.169.254]/",
        "https://0x7f.1/",
        "http://localhost:9001/",
        "http://metadata.google.internal/",
        "http://status.example.test/",
        "http://user:pw@169.254.169.254/",
        "gopher://x",
    ] {
        for target in [json!(url), json!({"kind": "http", "url": url})] {
            let error = direct(&json!({"target": target, "count": 1}), &rules()).unwrap_err();
            assert!(
                error.0.contains("target") || error.0.contains("MATSU_HTTP_ALLOW"),
                "{url}: {error}"
            );
        }
    }
    let allowing = Rules {
        http_allow: Allow::parse("127.0.0.0/8, localhost").unwrap(),
        ..rules()
    };
    for url in ["http://127.0.0.1:9001/", "http://localhost:9001/", "https://0x7f.1/"] {
        assert!(direct(&json!({"target": url}), &allowing).is_ok(), "{url}");
    }
}

#[test]
fn whatever_is_wrong_at_length_is_said_in_short_with_what_it_takes() {
    let long = "x".repeat(200_000);
    for (payload, begins, ends) in [
        (
            json!({"target": format!("s3://{long}")}),
            "target: s3://xxx",
            "it takes s3://BUCKET/KEY",
        ),
        (json!({"target": format!("arn:{long}")}), "target: ", "snapshot"),
        (
            json!({"target": "s3://example-data/a", "job": {"kind": long}}),
            "job: unknown variant",
            "`rds-copy`",
        ),
    ] {
        let why = bad(&payload);
        assert!(why.starts_with(begins) && why.ends_with(ends), "{why}");
        assert!(why.chars().count() < 1_100, "{} characters", why.chars().count());
    }
}

#[test]
fn a_request_that_would_not_fit_into_the_messages_of_its_wait_is_refused() {
    let long = |length| "x".repeat(length);
    for (payload, names) in [
        (
            json!({"target": "s3://example-data/a", "policy": {"later": long(40_000)}}),
            "the request has 40",
        ),
        (
            json!({"target": {"kind": "s3-object", "bucket": BUCKET, "key": "a", "later": long(40_000)}}),
            "the request has 40",
        ),
        (
            json!({"job": "rds-copy", "source": "a", "tags": {"a": long(30_000)}}),
            "the request has 30",
        ),
        (
            json!({"target": "s3://example-data/a", "origin": long(6_401)}),
            "origin is",
        ),
        (
            json!({"target": "s3://example-data/a", "origin": "é".repeat(1_100)}),
            "origin is",
        ),
    ] {
        let why = bad(&payload);
        assert!(why.starts_with(names) && why.contains("it takes at most"), "{why}");
    }
}

#[test]
fn the_longest_requests_of_the_services_are_taken_and_can_be_put_off() {
    let tags: serde_json::Map<_, _> = (0..50).map(|n| (format!("{n:0128}"), json!("v".repeat(256)))).collect();
    let copy = only(&json!({"job": "rds-copy", "source": "a", "tags": tags}));
    assert!(matches!(copy, Wanted::Copy { .. }), "{copy:?}");
    let key = "\u{1}".repeat(1_024);
    let Wanted::Start(request) = only(&s3_bridge("Object Created", &key)) else {
        panic!("it starts a wait");
    };
    let put_off = Request {
        origin: format!("s3:{BUCKET}/{key}#0061A1"),
        seen: Some(matsu_lock::Token::new("token")),
        ..request
    };
    assert_eq!(only(&crate::event::raw(&put_off)), Wanted::Start(put_off));
}
