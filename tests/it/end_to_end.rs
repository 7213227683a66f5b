//! The flow as Lambda runs it: an event in, a copy or a watched object, passes through the queue, one message in Slack.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Call, Method, StatusCode};
use crate::lambda::{BUCKET, Stage};
use crate::proxy::{Trouble, action};
use crate::rds::Kind;
use crate::servers::{ACCOUNT, REGION};

/// How long a scenario of a few passes may take; seconds are usual.
const SOON: Duration = Duration::from_secs(60);
/// The same where something must first be given up by its lease, or put off.
const LATER: Duration = Duration::from_secs(150);

/// The event of a finished manual snapshot.
fn snapshot_event(arn: &str) -> Value {
    let id = arn.rsplit(':').next().expect("an ARN has parts");
    json!({
        "version": "0",
        "id": "5a3d6f0e-8f5b-4a59-9a57-6d0a4c1f7b11",
        "detail-type": "RDS DB Snapshot Event",
        "source": "aws.rds",
        "account": ACCOUNT,
        "time": "2026-01-15T03:04:05Z",
        "region": REGION,
        "resources": [arn],
        "detail": {
            "EventCategories": ["creation"],
            "SourceType": "SNAPSHOT",
            "SourceArn": arn,
            "Date": "2026-01-15T03:04:05.123Z",
            "Message": "Manual snapshot created",
            "SourceIdentifier": id,
            "EventID": "RDS-EVENT-0042",
        },
    })
}

/// The only record, which says that its outcome was announced.
async fn finished_record(stage: &Stage) -> Value {
    stage
        .until("the record of the announcement", SOON, async || {
            stage.records().await.iter().all(|r| !r["notified"].is_null())
        })
        .await;
    let mut records = stage.records().await;
    assert_eq!(records.len(), 1, "{records:#?}");
    records.remove(0)
}

/// A wait of k passes costs the store one write for its start, one for each pass, two for its end, and no read; and the
/// queue one message for each pass.
#[expect(clippy::print_stdout, reason = "the figures are what is measured here")]
async fn costs_as_promised(stage: &Stage, passes: usize) {
    let (writes, reads) = stage.store_requests();
    assert_eq!((writes, reads), (1 + passes + 2, 0), "{:#?}", stage.s3.seen());
    let sends = stage.sqs.seen().iter().filter(|s| is_send(s.action.as_deref())).count();
    assert_eq!(sends, passes, "{:#?}", stage.sqs.seen());
    println!("a wait of {passes} passes: {writes} writes and {reads} reads of the store, {sends} messages sent");
}

/// Whether a request to S3 writes a record.
fn is_record_write(call: &Call) -> bool {
    call.method() == Method::PUT && call.uri().path().contains("/matsu/waits/")
}

/// Whether an operation of SQS sends.
fn is_send(action: Option<&str>) -> bool {
    action.is_some_and(|a| a.starts_with("SendMessage"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_rds_event_ends_as_one_message_after_a_copy_in_another_region() {
    let stage = Stage::set(&[("MATSU_COPY_TO", "us-west-2"), ("MATSU_COPY_NAME", "{id}-dr")]).await;
    let source = stage.rds.holds(Kind::Instance, REGION, "app-1");
    let looks = [
        ("pending", 0),
        ("copying", 10),
        ("copying", 60),
        ("copying", 99),
        ("available", 100),
    ];
    stage.rds.script("app-1-dr", &looks);
    stage.forward_rds_events().await;

    stage.rds_event(&snapshot_event(&source)).await;

    let messages = stage.messages(1, SOON).await;
    let copy = format!("arn:aws:rds:us-west-2:{ACCOUNT}:snapshot:app-1-dr");
    assert!(
        messages[0].contains("completed") && messages[0].contains(&copy),
        "{}",
        messages[0]
    );
    let asked = stage.rds.asked("CopyDBSnapshot");
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert_eq!(asked[0].region, "us-west-2");
    assert_eq!(asked[0].parameters["SourceDBSnapshotIdentifier"], source);
    let record = finished_record(&stage).await;
    assert_eq!(record["outcome"]["kind"], "completed");
    assert_eq!(record["pass"], 5, "one pass for each of {looks:?}");
    costs_as_promised(&stage, 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_event_for_the_same_snapshot_starts_nothing() {
    let stage = Stage::set(&[]).await;
    let source = stage.rds.holds(Kind::Instance, REGION, "app-1");
    stage
        .rds
        .script("app-1-copy", &[("copying", 10), ("copying", 60), ("available", 100)]);

    let first = stage.invoke("starter", &snapshot_event(&source)).await;
    stage
        .until("the first pass", SOON, async || stage.passes().await > 0)
        .await;
    let second = stage.invoke("starter", &snapshot_event(&source)).await;

    assert_eq!(first["started"][0]["job"], "rds-copy", "{first}");
    assert_eq!(second["started"], json!([]), "{second}");
    assert_eq!(second["already"].as_array().map(Vec::len), Some(1), "{second}");
    stage.messages(1, SOON).await;
    assert_eq!(stage.rds.asked("CopyDBSnapshot").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_copy_is_told_as_failed() {
    let stage = Stage::set(&[]).await;
    let source = stage.rds.holds(Kind::Instance, REGION, "app-1");
    stage.rds.script("app-1-copy", &[("copying", 10), ("failed", 10)]);

    stage
        .invoke("starter", &json!({"job": "rds-copy", "source": source}))
        .await;

    let messages = stage.messages(1, SOON).await;
    let copy = format!("arn:aws:rds:{REGION}:{ACCOUNT}:snapshot:app-1-copy");
    assert!(
        messages[0].contains("failed") && messages[0].contains(&copy),
        "{}",
        messages[0]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_throttled_copy_is_started_and_looked_at_by_later_passes() {
    let stage = Stage::set(&[]).await;
    let source = stage.rds.holds(Kind::Instance, REGION, "app-1");
    stage.rds.script("app-1-copy", &[("copying", 10), ("available", 100)]);
    stage.rds.refuse("CopyDBSnapshot", "Throttling", 4);

    stage
        .invoke("starter", &json!({"job": "rds-copy", "source": source}))
        .await;

    let messages = stage.messages(1, LATER).await;
    assert!(messages[0].contains("completed"), "{}", messages[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_put_and_deleted_again_ends_as_one_message() {
    let stage = Stage::set(&[]).await;
    stage.forward_object_events().await;

    stage.put_object("in box/Ärger+100%.csv").await;
    stage
        .until("a few passes", SOON, async || stage.passes().await > 2)
        .await;
    stage.delete_object("in box/Ärger+100%.csv").await;

    let messages = stage.messages(1, SOON).await;
    let target = format!("s3://{BUCKET}/in box/Ärger+100%.csv");
    assert!(
        messages[0].contains("completed") && messages[0].contains(&target),
        "{}",
        messages[0]
    );
    // The bucket told the starter of the store's own writes, too: they started nothing.
    assert_eq!(finished_record(&stage).await["outcome"]["kind"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_breaker_by_count_ends_a_wait_that_would_go_on_for_ever() {
    let stage = Stage::set(&[("MATSU_MAX_COUNT", "3")]).await;

    let answer = stage
        .invoke("starter", &json!({"target": format!("s3://{BUCKET}/never")}))
        .await;

    assert_eq!(answer["started"].as_array().map(Vec::len), Some(1), "{answer}");
    let messages = stage.messages(1, SOON).await;
    assert!(messages[0].contains("gave-up"), "{}", messages[0]);
    let record = finished_record(&stage).await;
    assert_eq!(
        (&record["pass"], &record["outcome"]["limit"]),
        (&json!(3), &json!("count"))
    );
    costs_as_promised(&stage, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_breaker_by_time_gives_one_last_look() {
    let stage = Stage::set(&[("MATSU_TIMEOUT", "3s")]).await;

    stage
        .invoke("starter", &json!({"target": format!("s3://{BUCKET}/never")}))
        .await;

    let messages = stage.messages(1, SOON).await;
    assert!(messages[0].contains("gave-up"), "{}", messages[0]);
    assert_eq!(finished_record(&stage).await["outcome"]["limit"], "deadline");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_sent_twice_still_ends_as_one_message_in_slack() {
    let stage = Stage::set(&[]).await;
    stage
        .sqs
        .trouble(usize::MAX, Trouble::Twice, |call| is_send(action(call).as_deref()));

    stage
        .invoke("starter", &json!({"target": format!("s3://{BUCKET}/late")}))
        .await;
    stage
        .until("a few passes", SOON, async || stage.passes().await > 3)
        .await;
    stage.put_object("late").await;

    let messages = stage.messages(1, LATER).await;
    assert!(messages[0].contains("completed"), "{}", messages[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hides_its_writes_neither_loses_nor_forks_the_wait() {
    let stage = Stage::set(&[]).await;
    for trouble in [
        Trouble::AnswerInstead(StatusCode::SERVICE_UNAVAILABLE),
        Trouble::LoseAnswer,
        Trouble::Refuse(StatusCode::CONFLICT),
        Trouble::Refuse(StatusCode::SERVICE_UNAVAILABLE),
        Trouble::AnswerInstead(StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        stage.s3.trouble(1, trouble, is_record_write);
    }

    stage
        .invoke("starter", &json!({"target": format!("s3://{BUCKET}/late")}))
        .await;
    stage
        .until("a few passes", LATER, async || stage.passes().await > 5)
        .await;
    stage.put_object("late").await;

    let messages = stage.messages(1, LATER).await;
    assert!(messages[0].contains("completed"), "{}", messages[0]);
    assert_eq!(finished_record(&stage).await["takeovers"], Value::Null, "no run died");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_hides_what_it_took_neither_loses_nor_forks_the_wait() {
    let stage = Stage::set(&[]).await;
    for trouble in [
        Trouble::LoseAnswer,
        Trouble::Refuse(StatusCode::SERVICE_UNAVAILABLE),
        Trouble::AnswerInstead(StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        stage.sqs.trouble(1, trouble, |call| is_send(action(call).as_deref()));
    }

    stage
        .invoke("starter", &json!({"target": format!("s3://{BUCKET}/late")}))
        .await;
    stage
        .until("a few passes", LATER, async || stage.passes().await > 3)
        .await;
    stage.put_object("late").await;

    let messages = stage.messages(1, LATER).await;
    assert!(messages[0].contains("completed"), "{}", messages[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_after_its_claim_is_taken_over() {
    let stage = Stage::set(&[]).await;
    stage
        .invoke("starter", &json!({"target": format!("s3://{BUCKET}/late")}))
        .await;
    stage
        .until("the second pass", SOON, async || stage.passes().await > 1)
        .await;

    // The next claim is written, and its run never hears of it.
    stage.s3.trouble(1, Trouble::Hang, is_record_write);
    stage
        .until("a hanging claim", SOON, async || {
            stage.s3.seen().iter().any(|s| s.told.is_none())
        })
        .await;
    assert!(stage.cloud.kill_functions() > 0, "no function ran");
    stage.put_object("late").await;

    let messages = stage.messages(1, LATER).await;
    assert!(messages[0].contains("completed"), "{}", messages[0]);
    let record = finished_record(&stage).await;
    assert_eq!(
        (&record["pass"], &record["takeovers"]),
        (&json!(3), &json!(1)),
        "{record}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn slack_is_asked_again_after_it_was_busy_and_given_up_when_it_is_gone() {
    let stage = Stage::set(&[]).await;
    stage.put_object("there").await;
    stage.slack.answer_next(&[429, 500]);

    stage
        .invoke("starter", &json!({"target": format!("s3://{BUCKET}/there")}))
        .await;

    let messages = stage.messages(1, LATER).await;
    assert!(messages[0].contains("completed"), "{}", messages[0]);
    assert_eq!(finished_record(&stage).await["notified"], "sent");

    stage.slack.answer_next(&[404]);
    stage
        .invoke("starter", &json!({"target": format!("s3://{BUCKET}/there")}))
        .await;
    stage
        .until("the announcement given up", SOON, async || {
            stage
                .records()
                .await
                .iter()
                .any(|r| !r["notified"]["undeliverable"].is_null())
        })
        .await;
    stage.messages(1, SOON).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_nobody_understands_is_put_aside_and_blocks_no_neighbour() {
    let stage = Stage::set(&[]).await;
    stage.put_object("there").await;
    let raw = json!({"bucket": BUCKET, "key": "there", "count": 1});
    for body in ["no JSON at all".to_owned(), raw.to_string()] {
        let message = json!({"QueueUrl": stage.queue, "MessageBody": body});
        stage.cloud.json("sqs", "AmazonSQS.SendMessage", &message).await;
    }

    stage
        .until("a dead letter", SOON, async || {
            stage.queued(&stage.dead_letters).await == 1
        })
        .await;
    let wanted = json!({"QueueUrl": stage.dead_letters, "MessageAttributeNames": ["All"]});
    let received = stage.cloud.json("sqs", "AmazonSQS.ReceiveMessage", &wanted).await;
    let letter = &received["Messages"][0];
    assert_eq!(letter["Body"], "no JSON at all");
    assert!(
        letter["MessageAttributes"]["reason"]["StringValue"].is_string(),
        "{letter}"
    );
    stage
        .until("the neighbour's passes", SOON, async || stage.passes().await > 1)
        .await;
}
