//! Every form in which a payload comes, and what is no payload at all.

use super::*;

const ARN: &str = "arn:aws:rds:eu-central-1:123456789012:snapshot:orders";

#[test]
fn a_payload_is_told_apart_by_its_content_whatever_it_came_through() {
    let made = records(&[created("in/file+1.csv", "0061A1")]);
    let made_is = "start s3://example-data/in/file 1.csv#s3:example-data/in/file 1.csv#0061A1";
    let bridged = s3_bridge("Object Created", "in/file 1.csv");
    let bridged_is = "start s3://example-data/in/file 1.csv#event-1";
    let snapshot = rds_bridge("RDS DB Snapshot Event", "RDS-EVENT-0042", ARN);
    let snapshot_is = format!("copy {ARN}#event-1");
    let subscribed = subscription("db-snapshot", "RDS-EVENT-0042", "orders", Some(ARN));
    let wait = json!({"target": "s3://example-data/in/file 1.csv"});
    let wait_is = |origin: &str| format!("start s3://example-data/in/file 1.csv#{origin}");
    let test = json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2026-03-02T08:30:00.000Z",
                      "Bucket": BUCKET, "RequestId": "EXAMPLE", "HostId": "EXAMPLE"});
    let copy = json!({"job": "rds-copy", "source": "orders"});
    let twice = |value: &Value| json!(value.to_string());
    for (form, payload, is) in [
        ("S3", made.clone(), made_is.to_owned()),
        ("S3 in SNS", in_sns(&made), made_is.to_owned()),
        ("S3 in SQS, also raw SNS delivery", in_sqs(&made), made_is.to_owned()),
        (
            "S3 in SNS in SQS",
            in_sqs(&envelope(&made.to_string())),
            made_is.to_owned(),
        ),
        ("S3 by EventBridge", bridged.clone(), bridged_is.to_owned()),
        ("S3 by EventBridge in SQS", in_sqs(&bridged), bridged_is.to_owned()),
        ("S3 by EventBridge in SNS", in_sns(&bridged), bridged_is.to_owned()),
        (
            "S3 by EventBridge in SNS in SQS",
            in_sqs(&envelope(&bridged.to_string())),
            bridged_is.to_owned(),
        ),
        ("RDS by EventBridge", snapshot.clone(), snapshot_is.clone()),
        ("RDS by EventBridge in SQS", in_sqs(&snapshot), snapshot_is.clone()),
        ("RDS by EventBridge in SNS", in_sns(&snapshot), snapshot_is),
        (
            "RDS subscription in SNS",
            in_sns(&subscribed),
            format!("copy {ARN}#sns-1"),
        ),
        (
            "RDS subscription in SNS in SQS",
            in_sqs(&envelope(&subscribed.to_string())),
            format!("copy {ARN}#sns-1"),
        ),
        (
            "RDS subscription by raw SNS delivery",
            in_sqs(&subscribed),
            format!("copy {ARN}#sqs-1"),
        ),
        (
            "a request, also a scheduler's constant",
            wait.clone(),
            wait_is("invocation-1"),
        ),
        ("a request in SQS", in_sqs(&wait), wait_is("sqs-1")),
        ("a request in SNS", in_sns(&wait), wait_is("sns-1")),
        (
            "a request in SNS in SQS",
            in_sqs(&envelope(&wait.to_string())),
            wait_is("sns-1"),
        ),
        ("a copy", copy.clone(), "copy orders#invocation-1".to_owned()),
        ("a copy in SQS", in_sqs(&copy), "copy orders#sqs-1".to_owned()),
        ("encoded twice", twice(&wait), wait_is("invocation-1")),
        ("encoded twice in SQS", in_sqs(&twice(&wait)), wait_is("sqs-1")),
        ("encoded twice in SNS", in_sns(&twice(&made)), made_is.to_owned()),
        ("S3 test", test.clone(), "ignored".to_owned()),
        ("S3 test in SQS", in_sqs(&test), "ignored".to_owned()),
        ("S3 test in SNS", in_sns(&test), "ignored".to_owned()),
        (
            "S3 test in SNS in SQS",
            in_sqs(&envelope(&test.to_string())),
            "ignored".to_owned(),
        ),
    ] {
        assert_eq!(shorts(&payload), [is], "{form}: {payload}");
    }
}

#[test]
fn the_first_messages_in_plain_text_are_ignored() {
    let text = "This is a message to notify that you have been successfully subscribed to RDS events.";
    for payload in [
        sns_record(text),
        in_sqs(&envelope(text)),
        records(&[sqs_record("sqs-1", text)]),
    ] {
        assert!(is_ignored(&only(&payload), "plain text"), "{payload}");
    }
    let mut confirmation = envelope("You have chosen to subscribe to the topic");
    confirmation["Type"] = json!("SubscriptionConfirmation");
    assert!(is_ignored(&only(&in_sqs(&confirmation)), "SubscriptionConfirmation"));
}

#[test]
fn calls_delivered_by_cloudtrail_are_ignored_whatever_they_hold() {
    for (source, detail) in [
        (
            "aws.rds",
            json!({"eventName": "CopyDBSnapshot", "errorCode": "DBSnapshotAlreadyExists", "responseElements": null}),
        ),
        ("aws.s3", json!({"eventName": "DeleteObject"})),
        ("aws.ec2", Value::Null),
    ] {
        let event =
            json!({"id": "event-1", "detail-type": "AWS API Call via CloudTrail", "source": source, "detail": detail});
        assert!(is_ignored(&only(&event), "CloudTrail"), "{event}");
    }
}

#[test]
fn a_list_without_records_asks_for_nothing() {
    assert_eq!(wanted(&json!({"Records": []})), []);
    assert_eq!(wanted(&in_sqs(&json!({"Records": []}))), []);
}

#[test]
fn junk_is_named() {
    for (payload, says) in [
        (Value::Null, "it is null"),
        (json!([]), "it is a list"),
        (json!(42), "it is 42"),
        (json!(true), "it is a truth value"),
        (json!("hello"), "\"hello\""),
        (json!("\"hello\""), "hello"),
        (json!({}), "it has no field"),
        (json!({"Target": "s3://b/k", "n": 1}), "\"Target\""),
        (json!({"Records": null}), "Records is null"),
        (json!({"Records": {}}), "Records is an object"),
        (json!({"Records": [null]}), "Records[0] is null"),
        (json!({"Records": [{}]}), "Records[0].eventSource is missing"),
        (json!({"Records": [{"eventSource": 7}]}), "Records[0].eventSource is 7"),
        (
            json!({"Records": [{"eventSource": "aws:dynamodb"}]}),
            "Records[0].eventSource is \"aws:dynamodb\"",
        ),
        (
            json!({"Records": [{"eventSource": "aws:sqs"}]}),
            "Records[0].body is missing",
        ),
        (
            json!({"Records": [{"eventSource": "aws:sqs", "body": 1}]}),
            "Records[0].body is 1",
        ),
        (
            json!({"Records": [{"EventSource": "aws:sns"}]}),
            "Records[0].Sns is missing",
        ),
        (
            json!({"Records": [{"EventSource": "aws:sns", "Sns": {}}]}),
            "Records[0].Sns.Message is missing",
        ),
        (
            json!({"detail-type": "Scheduled Event", "source": "aws.events"}),
            "source is \"aws.events\"",
        ),
        (json!({"detail-type": "Object Created"}), "source is missing"),
        (json!({"detail-type": null, "source": "aws.s3"}), "detail-type is null"),
        (in_sqs(&json!(5)), "Records[0].body is 5"),
        (records(&[sqs_record("sqs-1", "hello")]), "Records[0].body is \"hello\""),
        (records(&[sqs_record("sqs-1", "{\"target\"")]), "Records[0].body is"),
        (records(&[sqs_record("sqs-1", "{'target': 'x'}")]), "not JSON"),
        (sns_record("{oh"), "Records[0].Sns.Message is"),
    ] {
        let text = bad(&payload);
        assert!(text.contains(says), "{payload}: {text}");
    }
}

#[test]
fn a_bad_record_loses_none_of_its_neighbours_and_each_names_its_message() {
    let batch = records(&[
        sqs_record(
            "m1",
            &records(&[created("a", "01"), json!({"eventSource": "aws:s3"}), created("b", "01")]).to_string(),
        ),
        sqs_record("m2", "oh"),
        json!({"messageId": "m3", "body": "{}"}),
        sqs_record(
            "m4",
            &envelope(&json!({"target": "s3://example-data/c"}).to_string()).to_string(),
        ),
        sqs_record("m5", &json!({"Records": []}).to_string()),
    ]);
    let read: Vec<(Option<String>, String)> = read(&batch, &rules())
        .iter()
        .map(|item| (item.message_id.clone(), short(item)))
        .collect();
    let is = |id: &str, what: &str| (Some(id.to_owned()), what.to_owned());
    assert_eq!(
        read,
        [
            is("m1", "start s3://example-data/a#s3:example-data/a#01"),
            is("m1", "bad"),
            is("m1", "start s3://example-data/b#s3:example-data/b#01"),
            is("m2", "bad"),
            is("m3", "bad"),
            is("m4", "start s3://example-data/c#sns-1"),
        ]
    );
}

#[test]
fn envelopes_within_envelopes_end_somewhere_and_the_outermost_message_is_the_one_that_counts() {
    let mut payload = json!({"target": "s3://example-data/a"});
    for depth in 0..8 {
        payload = records(&[sqs_record(&format!("m{depth}"), &payload.to_string())]);
        let all = read(&payload, &rules());
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].message_id.as_deref(), Some(format!("m{depth}").as_str()));
        assert_eq!(all[0].wanted.is_ok(), depth < 2, "{depth}: {:?}", all[0]);
    }
}

#[test]
fn the_sample_events_are_understood() {
    let copied = |id: &str, origin: &str| format!("copy arn:aws:rds:eu-central-1:123456789012:snapshot:{id}#{origin}");
    let object = "s3://example-uploads/inbox/March report (final).csv";
    let identity = "s3:example-uploads/inbox/March report (final).csv#0055AED6DCD90281E5";
    for (text, is) in [
        (
            include_str!("../../../../../infra/events/s3-created.json"),
            format!("start {object}#{identity}"),
        ),
        (
            include_str!("../../../../../infra/events/s3-removed.json"),
            format!("wake {object}"),
        ),
        (
            include_str!("../../../../../infra/events/rds-snapshot-manual.json"),
            copied("orders-before-upgrade", "7d5c4a53-0a53-4a2d-9d55-0b6f6f1f8a01"),
        ),
        (
            include_str!("../../../../../infra/events/rds-snapshot-automated.json"),
            copied("rds:orders-2026-03-02-02-07", "7d5c4a53-0a53-4a2d-9d55-0b6f6f1f8a02"),
        ),
        (
            include_str!("../../../../../infra/events/rds-cluster-snapshot-automated.json"),
            "copy arn:aws:rds:eu-central-1:123456789012:cluster-snapshot:rds:billing-2026-03-02-02-07#7d5c4a53-0a53-4a2d-9d55-0b6f6f1f8a03"
                .to_owned(),
        ),
        (
            include_str!("../../../../../infra/events/direct-copy.json"),
            copied("orders-before-upgrade", "invocation-1"),
        ),
        (
            include_str!("../../../../../infra/events/direct-wait.json"),
            format!("start {object}#invocation-1"),
        ),
    ] {
        let payload = serde_json::from_str(text).unwrap();
        assert_eq!(shorts(&payload), [is], "{text}");
    }
}

#[test]
fn large_and_deep_bodies_are_read_or_refused_without_harm() {
    let large = "a".repeat(256 * 1024);
    assert!(bad(&records(&[sqs_record("m", &large)])).len() < 1_000);
    assert!(bad(&in_sqs(&json!({ "oh": large }))).len() < 1_000);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(bad(&records(&[sqs_record("m", &deep)])).len() < 1_000);
    let deep = format!("{}1{}", "{\"a\":".repeat(50_000), "}".repeat(50_000));
    assert!(bad(&sns_record(&deep)).len() < 1_000);
    let many: Vec<Value> = (0..5_000)
        .map(|n| created(&format!("in/{}", n % 700), &format!("{n:08x}")))
        .collect();
    let starts = wanted(&records(&many))
        .into_iter()
        .filter(|w| matches!(w, Ok(Wanted::Start(_))))
        .count();
    assert_eq!(starts, 700);
}
