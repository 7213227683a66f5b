//! The starter's answer to whole events, over in-memory ports.

use matsu_starter::{Answer, StartError, serve};
use matsu_wait::testing::{Bench, target};
use matsu_wait::{State, Target};
use serde_json::{Value, json};

fn object(event: &str, key: &str, sequencer: &str) -> Value {
    json!({
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "eu-central-1", "eventName": event,
        "s3": {"bucket": {"name": "data"}, "object": {"key": key, "size": 1, "eTag": "e", "sequencer": sequencer}}
    })
}

fn until_deleted(key: &str) -> Target {
    Target::parse(
        &format!("s3://data/{key}"),
        Some(matsu_wait::target::Until::Deleted),
        &matsu_wait::testing::here(),
    )
    .expect("a target")
}

async fn served(bench: &Bench, payload: &Value) -> Answer {
    serve(&bench.run(), &bench.rules("request-1"), payload)
        .await
        .expect("the event is served")
}

#[tokio::test]
async fn an_object_that_was_put_starts_a_wait_until_it_is_gone_once_however_often_it_is_told() {
    let bench = Bench::new();
    let event = json!({"Records": [object("ObjectCreated:Put", "in/a+b%2B.csv", "01")]});
    let answer = served(&bench, &event).await;
    assert_eq!((answer.started.len(), answer.already.len()), (1, 0));
    assert_eq!(answer.started[0].target, until_deleted("in/a b+.csv"));
    let again = served(&bench, &event).await;
    assert_eq!((again.started.len(), again.already.len()), (0, 1));
    assert_eq!(again.already[0].wait, answer.started[0].wait);
    let (record, _) = bench.record(&until_deleted("in/a b+.csv")).await.unwrap();
    assert_eq!(record.state, State::Waiting);
}

#[tokio::test]
async fn an_object_that_was_removed_hurries_the_wait_for_it_by_an_early_look() {
    let bench = Bench::new();
    served(&bench, &json!({"Records": [object("ObjectCreated:Put", "a", "01")]})).await;
    bench.turn().await;
    let removed =
        json!({"Records": [object("ObjectRemoved:Delete", "a", "02"), object("ObjectRemoved:Delete", "b", "03")]});
    let answer = served(&bench, &removed).await;
    assert_eq!(
        (answer.woken.len(), answer.ignored.len(), answer.started.len()),
        (1, 1, 0)
    );
    assert_eq!(bench.queue.waiting().len(), 2);
    bench
        .look
        .will_see([matsu_wait::target::Seen::Satisfied(matsu_wait::wait::Status::new(
            "deleted",
        ))]);
    bench.until_quiet(std::time::Duration::from_secs(200)).await;
    assert_eq!(bench.notify.taken().len(), 1);
    assert_eq!(bench.look.looked().len(), 2);
}

#[tokio::test]
async fn a_part_that_is_not_understood_takes_nothing_from_its_neighbours() {
    let bench = Bench::new();
    let event =
        json!({"Records": [object("ObjectCreated:Put", "bad%zz", "01"), object("ObjectCreated:Put", "good", "02")]});
    let error = serve(&bench.run(), &bench.rules("request-1"), &event)
        .await
        .unwrap_err();
    assert!(matches!(error, StartError::Bad(_)), "{error}");
    assert!(error.to_string().contains("bad%zz"), "{error}");
    assert!(bench.record(&until_deleted("good")).await.is_some());
}

#[tokio::test]
async fn what_is_recognised_and_unwanted_is_ignored_with_its_reason() {
    let bench = Bench::new();
    let answer = served(
        &bench,
        &json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "data"}),
    )
    .await;
    assert_eq!(serde_json::to_value(&answer).unwrap()["started"], json!([]));
    assert_eq!(answer.ignored.len(), 1);
    assert!(!answer.ignored[0].why.is_empty());
}

#[tokio::test]
async fn a_request_in_json_is_known_by_the_id_of_its_invocation() {
    let bench = Bench::new();
    let request = json!({"target": "s3://data/a", "policy": {"max_count": 3}});
    let answer = served(&bench, &request).await;
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["started"][0]["target"]["kind"], "s3-object");
    assert_eq!(json["started"][0]["job"], Value::Null);
    let (record, _) = bench.record(&target("s3://data/a")).await.unwrap();
    assert_eq!(
        (record.wait.origin.as_str(), record.wait.policy.max_count),
        ("request-1", 3)
    );
}
