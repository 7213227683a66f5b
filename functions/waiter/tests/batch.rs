//! The waiter's answer to whole batches, over in-memory ports.

use std::sync::Arc;

use matsu_wait::engine::{Engine, Run};
use matsu_wait::queue::Queue;
use matsu_wait::target::Seen;
use matsu_wait::testing::{Bench, FaultyQueue, SECOND, target};
use matsu_wait::wait::{OutcomeKind, Status};
use matsu_waiter::Event;
use serde_json::{Value, json};

fn batch(bodies: &[(&str, &str)]) -> Event {
    let records: Vec<Value> = bodies
        .iter()
        .map(|(id, body)| {
            json!({
                "messageId": id, "receiptHandle": "handle", "body": body, "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {}, "md5OfBody": "0", "eventSource": "aws:sqs", "awsRegion": "eu-central-1",
                "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:waits"
            })
        })
        .collect();
    Event::read(json!({"Records": records})).expect("a batch")
}

async fn answer(bench: &Bench, run: &Run, bodies: &[(&str, &str)]) -> Value {
    let answered = matsu_waiter::answer(run, |id| bench.rules(id), batch(bodies)).await;
    serde_json::to_value(answered.expect("a batch never fails")).expect("an answer")
}

fn nothing_failed() -> Value {
    json!({"batchItemFailures": []})
}

fn raw(key: &str, count: u32) -> String {
    json!({"target": format!("s3://data/{key}"), "count": count}).to_string()
}

#[tokio::test]
async fn a_bad_message_is_put_aside_and_its_neighbours_are_worked() {
    let bench = Bench::new();
    let (first, third) = (raw("a", 1), raw("b", 1));
    for bad in [
        "test",
        "{'target':'s3://data/x'}",
        "true",
        "{}",
        "",
        "[1]",
        "{\"target\":\"s3://data\"}",
    ] {
        let bench = Bench::new();
        let bodies = [("1", first.as_str()), ("2", bad), ("3", third.as_str())];
        assert_eq!(answer(&bench, &bench.run(), &bodies).await, nothing_failed(), "{bad}");
        assert!(bench.record(&target("s3://data/a")).await.is_some());
        assert!(bench.record(&target("s3://data/b")).await.is_some());
        if !bad.is_empty() {
            let dead = bench.queue.dead();
            assert_eq!(dead.len(), 1, "{bad}");
            assert_eq!(dead[0].0, bad);
            assert!(!dead[0].1.is_empty());
        }
    }
    let marked = format!("\u{feff}{first}\n");
    assert_eq!(answer(&bench, &bench.run(), &[("1", &marked)]).await, nothing_failed());
    assert!(bench.record(&target("s3://data/a")).await.is_some());
}

#[tokio::test]
async fn only_the_message_whose_successor_cannot_be_sent_is_given_back() {
    let bench = Bench::new();
    let engine = Engine {
        queue: Arc::new(FaultyQueue::new(bench.queue.clone(), "refused")),
        ..bench.engine()
    };
    let run = Run::new(engine, bench.lease());
    let bodies = [("1", raw("refused", 1)), ("2", raw("fine", 1))];
    let bodies = bodies.each_ref().map(|(id, body)| (*id, body.as_str()));
    let failures = json!({"batchItemFailures": [{"itemIdentifier": "1"}]});
    assert_eq!(answer(&bench, &run, &bodies).await, failures);
    assert_eq!(bench.queue.waiting().len(), 1);
    // The next delivery goes on where this one failed.
    assert_eq!(answer(&bench, &bench.run(), &bodies[..1]).await, nothing_failed());
    assert_eq!(bench.queue.waiting().len(), 2);
}

#[tokio::test]
async fn one_message_twice_in_a_batch_is_worked_once_and_named_at_most_once() {
    let bench = Bench::new();
    let body = raw("a", 1);
    let bodies = [("1", body.as_str()), ("1", body.as_str()), ("2", body.as_str())];
    assert_eq!(answer(&bench, &bench.run(), &bodies).await, nothing_failed());
    assert_eq!(bench.queue.sends(), 1);
    let engine = Engine {
        queue: Arc::new(FaultyQueue::new(bench.queue.clone(), "refused")),
        ..bench.engine()
    };
    let run = Run::new(engine, bench.lease());
    let body = raw("refused", 1);
    let failures = json!({"batchItemFailures": [{"itemIdentifier": "1"}]});
    assert_eq!(answer(&bench, &run, &[("1", &body), ("1", &body)]).await, failures);
}

#[tokio::test]
async fn the_breaker_by_count_opens_at_its_pass_and_not_before() {
    let bench = Bench::new();
    let policy = json!({"max_count": 30});
    let bodies: Vec<(String, String)> = [29, 30, 31]
        .iter()
        .map(|count| {
            let body = json!({"target": format!("s3://data/{count}"), "count": count, "policy": policy});
            (count.to_string(), body.to_string())
        })
        .collect();
    let bodies: Vec<_> = bodies.iter().map(|(id, body)| (id.as_str(), body.as_str())).collect();
    assert_eq!(answer(&bench, &bench.run(), &bodies).await, nothing_failed());
    bench.turn().await;
    let told = bench.notify.taken();
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|a| a.outcome.kind == OutcomeKind::GaveUp));
    let waiting = bench.queue.waiting();
    assert_eq!(waiting.len(), 1);
    assert!(waiting[0].body.contains("\"count\":30"), "{}", waiting[0].body);
}

#[tokio::test(start_paused = true)]
async fn the_answer_comes_before_the_runs_time_is_over_however_slow_the_targets_are() {
    let bench = Bench::new();
    bench.look.hangs(true);
    let keys: Vec<String> = (0..10).map(|key| raw(&key.to_string(), 1)).collect();
    for (key, body) in keys.iter().enumerate() {
        assert_eq!(
            answer(&bench, &bench.run(), &[(&key.to_string(), body)]).await,
            nothing_failed()
        );
    }
    let deliveries = bench.queue.receive(10, SECOND * 360).await.unwrap();
    let bodies: Vec<_> = deliveries.iter().map(|d| (d.id.as_str(), d.body.as_str())).collect();
    assert_eq!(bodies.len(), 10);
    #[expect(
        clippy::disallowed_methods,
        reason = "the paused clock of the runtime is what is measured"
    )]
    let began = tokio::time::Instant::now();
    let run = Run::new(bench.engine(), SECOND * 30);
    assert_eq!(answer(&bench, &run, &bodies).await, nothing_failed());
    assert!(began.elapsed() < SECOND * 30, "{:?}", began.elapsed());
    assert_eq!(
        bench.queue.waiting().len(),
        20,
        "ten hidden, ten sent on: a slow look is a pass like any other"
    );
}

#[tokio::test]
async fn a_completed_wait_is_told_once_and_a_failing_channel_fails_no_message() {
    let bench = Bench::new();
    bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
    bench.notify.will_answer([matsu_wait::notify::Told::Later {
        after: None,
        why: "500".to_owned(),
    }]);
    assert_eq!(
        answer(&bench, &bench.run(), &[("1", &raw("a", 2))]).await,
        nothing_failed()
    );
    let first = bench.queue.receive(1, SECOND).await.unwrap().pop().unwrap();
    bench.queue.purge();
    let sends = bench.queue.sends();
    assert_eq!(
        answer(&bench, &bench.run(), &[("2", &first.body)]).await,
        nothing_failed()
    );
    assert_eq!(bench.queue.sends(), sends + 1);
    assert_eq!(bench.look.looked().len(), 1);
}

#[test]
fn what_is_no_sqs_batch_is_an_error_that_names_what_is_wrong() {
    for (payload, names) in [
        (json!(null), "SQS batch"),
        (json!([]), "SQS batch"),
        (json!({}), "Records"),
        (json!({"Records": null}), "SQS batch"),
        (
            json!({"Records": [{"eventSource": "aws:s3", "messageId": "1", "body": ""}]}),
            "aws:s3",
        ),
        (
            json!({"Records": [{"eventSource": "aws:sqs", "body": ""}]}),
            "messageId",
        ),
    ] {
        let error = Event::read(payload).unwrap_err().to_string();
        assert!(error.contains(names), "{error}");
    }
    let empty = Event::read(json!({"Records": []})).unwrap();
    assert!(matches!(empty, Event::Batch(batch) if batch.records.is_empty()));
}

#[tokio::test]
async fn a_sweep_from_the_schedule_answers_what_it_found_and_sent() {
    let bench = Bench::new();
    bench
        .start(&matsu_wait::testing::request("s3://data/a", "origin-1"))
        .await;
    bench.queue.purge();
    bench.clock.advance(SECOND * 3_600);
    let sweep = || async {
        let event = Event::read(json!({"sweep": true})).unwrap();
        let answered = matsu_waiter::answer(&bench.run(), |id| bench.rules(id), event).await;
        serde_json::to_value(answered.unwrap()).unwrap()
    };
    assert_eq!(sweep().await, json!({"swept": 1, "sent": 1}));
    assert_eq!(bench.queue.waiting().len(), 1);
    assert_eq!(sweep().await, json!({"swept": 1, "sent": 0}));
    for bad in [json!({"sweep": false}), json!({"sweep": "yes"}), json!({"sweep": null})] {
        assert!(Event::read(bad).unwrap_err().to_string().contains("it takes true"));
    }
}

/// A look that breaks the program.
#[derive(Debug)]
struct Panics;

#[async_trait::async_trait]
impl matsu_wait::target::Look for Panics {
    async fn look(&self, target: &matsu_wait::Target) -> Seen {
        assert!(!target.to_string().ends_with("poison"), "on purpose");
        Seen::Satisfied(Status::new("exists"))
    }
}

#[tokio::test]
async fn a_message_that_breaks_the_program_is_given_back_and_its_neighbours_are_worked() {
    let bench = Bench::new();
    for key in ["a", "poison", "b"] {
        let asked = matsu_wait::testing::request(&format!("s3://data/{key}"), key);
        bench.start(&asked).await;
    }
    let deliveries = bench.queue.receive(10, SECOND).await.unwrap();
    let bodies: Vec<_> = deliveries.iter().map(|d| (d.id.as_str(), d.body.as_str())).collect();
    let engine = Engine {
        look: Arc::new(Panics),
        ..bench.engine()
    };
    let failures = answer(&bench, &Run::new(engine, bench.lease()), &bodies).await;
    assert_eq!(
        failures,
        json!({"batchItemFailures": [{"itemIdentifier": bodies[1].0}]})
    );
    assert_eq!(bench.notify.taken().len(), 2);
}
