//! Payloads are built here the way the services build them: envelopes carry their contents as text.

mod forms;
mod mutations;
mod rds;
mod requests;
mod s3;

use serde_json::{Value, json};

use super::{BadEvent, Item, OnObjectCreated, Rules, Wanted, read};
use crate::start::Request;
use crate::target::http::Allow;
use crate::target::{Here, S3Object, Target, Until};
use crate::wait::{Extra, Policy};

const BUCKET: &str = "example-data";

fn rules() -> Rules {
    Rules {
        here: Here {
            region: Some("eu-central-1".to_owned()),
            account: Some("123456789012".to_owned()),
        },
        policy: Policy::default(),
        on_object_created: OnObjectCreated::WaitDeleted,
        files: true,
        http_allow: Allow::default(),
        own_store: Some(("example-state".to_owned(), "waits".to_owned())),
        origin: "invocation-1".to_owned(),
    }
}

/// One record of an S3 notification; `object` as it stands in the record.
fn s3_record(name: &str, object: &Value) -> Value {
    json!({
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "eu-central-1",
        "eventTime": "2026-03-02T08:30:00.000Z", "eventName": name,
        "s3": {"s3SchemaVersion": "1.0", "configurationId": "all", "object": object,
               "bucket": {"name": BUCKET, "arn": format!("arn:aws:s3:::{BUCKET}")}},
    })
}

fn created(key: &str, sequencer: &str) -> Value {
    s3_record(
        "ObjectCreated:Put",
        &json!({"key": key, "size": 5, "eTag": "d41d8cd9", "sequencer": sequencer}),
    )
}

fn removed(key: &str, sequencer: &str) -> Value {
    s3_record("ObjectRemoved:Delete", &json!({"key": key, "sequencer": sequencer}))
}

fn records(records: &[Value]) -> Value {
    json!({ "Records": records })
}

/// One SQS record with the body as it is.
fn sqs_record(id: &str, body: &str) -> Value {
    json!({
        "messageId": id, "receiptHandle": "EXAMPLE", "body": body, "messageAttributes": {},
        "attributes": {"ApproximateReceiveCount": "1"}, "eventSource": "aws:sqs", "awsRegion": "eu-central-1",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:requests",
    })
}

fn in_sqs(body: &Value) -> Value {
    records(&[sqs_record("sqs-1", &body.to_string())])
}

/// An SNS envelope with the message as it is, as SNS puts it into SQS and Lambda.
fn envelope(message: &str) -> Value {
    json!({
        "Type": "Notification", "MessageId": "sns-1", "Subject": "of no matter", "Message": message,
        "TopicArn": "arn:aws:sns:eu-central-1:123456789012:events", "Timestamp": "2026-03-02T08:30:01.000Z",
    })
}

fn sns_record(message: &str) -> Value {
    records(&[json!({"EventSource": "aws:sns", "EventVersion": "1.0", "Sns": envelope(message)})])
}

fn in_sns(message: &Value) -> Value {
    sns_record(&message.to_string())
}

fn s3_bridge(kind: &str, key: &str) -> Value {
    json!({
        "version": "0", "id": "event-1", "detail-type": kind, "source": "aws.s3", "account": "123456789012",
        "region": "eu-west-1", "time": "2026-03-02T08:30:00Z", "resources": [format!("arn:aws:s3:::{BUCKET}")],
        "detail": {"version": "0", "bucket": {"name": BUCKET}, "object": {"key": key, "sequencer": "617f08299329d189"}},
    })
}

fn rds_bridge(kind: &str, event: &str, arn: &str) -> Value {
    json!({
        "version": "0", "id": "event-1", "detail-type": kind, "source": "aws.rds", "account": "123456789012",
        "region": "eu-central-1", "time": "2026-03-02T02:10:41Z", "resources": [arn],
        "detail": {"EventCategories": ["creation"], "SourceType": "SNAPSHOT", "SourceArn": arn, "EventID": event,
                   "SourceIdentifier": arn.splitn(7, ':').last(), "Message": "of no matter"},
    })
}

fn subscription(source: &str, event: &str, id: &str, arn: Option<&str>) -> Value {
    let mut value = json!({
        "Event Source": source, "Event Time": "2026-03-02 02:10:41.000", "Source ID": id, "Event Message": "of no matter",
        "Identifier Link": "https://console.aws.amazon.com/rds/home",
        "Event ID": format!("http://docs.amazonwebservices.com/AmazonRDS/latest/UserGuide/USER_Events.html#{event}"),
    });
    if let Some(arn) = arn {
        value["Source ARN"] = json!(arn);
    }
    value
}

fn wanted(payload: &Value) -> Vec<Result<Wanted, BadEvent>> {
    read(payload, &rules()).into_iter().map(|item| item.wanted).collect()
}

/// The one thing that a payload asks for.
fn only(payload: &Value) -> Wanted {
    let mut all = wanted(payload);
    assert_eq!(all.len(), 1, "{payload}: {all:?}");
    all.remove(0).unwrap_or_else(|e| panic!("{payload}: {e}"))
}

/// The sentence about the one thing that is wrong with a payload.
fn bad(payload: &Value) -> String {
    let mut all = wanted(payload);
    assert_eq!(all.len(), 1, "{payload}: {all:?}");
    all.remove(0).expect_err(&payload.to_string()).0
}

fn object(key: &str, until: Until) -> Target {
    Target::S3Object(S3Object {
        bucket: BUCKET.to_owned(),
        key: key.to_owned(),
        until,
        extra: Extra::new(),
    })
}

fn gone(key: &str) -> Target {
    object(key, Until::Deleted)
}

fn start(target: Target, origin: &str) -> Wanted {
    Wanted::Start(Request {
        target,
        job: None,
        policy: Policy::default(),
        origin: origin.to_owned(),
        count: 1,
        seen: None,
    })
}

fn is_ignored(wanted: &Wanted, why: &str) -> bool {
    matches!(wanted, Wanted::Ignored(text) if text.contains(why))
}

/// In short, for tables: `start in/a#origin`, `wake in/a`, `copy ARN#origin`, `ignored`, `bad`.
fn short(item: &Item) -> String {
    match &item.wanted {
        Ok(Wanted::Copy { request, origin, .. }) => format!("copy {}#{origin}", request.source),
        Ok(Wanted::Start(request)) => format!("start {}#{}", request.target, request.origin),
        Ok(Wanted::Wake(target)) => format!("wake {target}"),
        Ok(Wanted::Ignored(_)) => "ignored".to_owned(),
        Err(_) => "bad".to_owned(),
    }
}

fn shorts(payload: &Value) -> Vec<String> {
    read(payload, &rules()).iter().map(short).collect()
}
