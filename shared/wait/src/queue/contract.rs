//! The suite that every queue passes; run it on your own with [`all`].
//!
//! It knows nothing of how time passes: with a hand clock it takes a moment, with a real server about a minute. It asks
//! for nothing that a queue at least once and in any order cannot keep, and it never waits for an empty answer where a
//! server may wait for messages.

use std::time::Duration;

use super::{Delivery, Outgoing, Queue, QueueError};
use crate::message::LONGEST_BODY;

/// Long enough for what a check does meanwhile, also on a slow server.
const A_WHILE: Duration = Duration::from_secs(10);

/// Runs every check on an empty queue and leaves it empty. `pass` lets time pass; `dead` reads the dead letters with
/// their reasons.
///
/// # Panics
/// Where the queue does not keep the contract.
pub async fn all(queue: &dyn Queue, pass: impl AsyncFn(Duration), dead: impl AsyncFn() -> Vec<(String, String)>) {
    nothing_asked_is_nothing_done(queue).await;
    a_body_travels_unchanged(queue).await;
    an_acknowledged_message_is_gone(queue, &pass).await;
    a_delayed_message_comes_late_and_not_early(queue, &pass).await;
    an_unacknowledged_message_comes_again(queue, &pass).await;
    answers_stand_in_the_order_of_the_messages(queue).await;
    a_buried_body_is_kept_with_its_reason(queue, &dead).await;
}

async fn nothing_asked_is_nothing_done(queue: &dyn Queue) {
    assert!(!queue.home().is_empty(), "a queue has a home");
    assert_eq!(queue.send(vec![]).await, []);
    assert_eq!(queue.acknowledge(&[]).await, Ok(()));
}

async fn a_body_travels_unchanged(queue: &dyn Queue) {
    let body = "{\"a\": \"待つ & <b> ' \\u0007 🦀\",\r\n\t\"n\": 1}";
    send(queue, body, Duration::ZERO).await;
    let got = gather(queue, 1, A_WHILE).await;
    assert_eq!(got[0].body, body);
    assert_eq!(got[0].receives, 1, "the first delivery is counted as the first");
    acknowledge(queue, &got).await;
}

async fn an_acknowledged_message_is_gone(queue: &dyn Queue, pass: &impl AsyncFn(Duration)) {
    send(queue, "gone", Duration::ZERO).await;
    let got = gather(queue, 1, A_WHILE).await;
    acknowledge(queue, &got).await;
    acknowledge(queue, &got).await;
    pass(A_WHILE).await;
    only_a_marker_is_left(queue).await;
}

async fn a_delayed_message_comes_late_and_not_early(queue: &dyn Queue, pass: &impl AsyncFn(Duration)) {
    send(queue, "late", A_WHILE).await;
    only_a_marker_is_left(queue).await;
    pass(A_WHILE).await;
    let got = gather(queue, 1, A_WHILE).await;
    assert_eq!(got[0].body, "late");
    acknowledge(queue, &got).await;
}

async fn an_unacknowledged_message_comes_again(queue: &dyn Queue, pass: &impl AsyncFn(Duration)) {
    send(queue, "again", Duration::ZERO).await;
    let first = gather(queue, 1, A_WHILE).await;
    only_a_marker_is_left(queue).await;
    pass(A_WHILE).await;
    let second = gather(queue, 1, A_WHILE).await;
    assert_eq!(second[0].body, "again");
    assert_eq!(second[0].id, first[0].id, "a message keeps its id");
    assert_eq!(second[0].receives, 2, "deliveries are counted");
    assert_ne!(
        second[0].receipt, first[0].receipt,
        "every delivery has its own receipt"
    );
    acknowledge(queue, &second).await;
    pass(A_WHILE).await;
    only_a_marker_is_left(queue).await;
}

async fn answers_stand_in_the_order_of_the_messages(queue: &dyn Queue) {
    const TOO_LONG: usize = 7;
    let mut messages: Vec<_> = (0..25)
        .map(|n| outgoing(&format!("batch {n}"), Duration::ZERO))
        .collect();
    messages[TOO_LONG].body = "x".repeat(LONGEST_BODY + 1);
    let answers = queue.send(messages).await;
    assert_eq!(answers.len(), 25);
    for (n, answer) in answers.iter().enumerate() {
        match answer {
            Err(QueueError::Refused(_)) if n == TOO_LONG => {}
            Ok(()) if n != TOO_LONG => {}
            other => panic!("message {n} was answered {other:?}"),
        }
    }
    let got = gather(queue, 24, 6 * A_WHILE).await;
    let mut bodies: Vec<_> = got.iter().map(|d| d.body.clone()).collect();
    let mut expected: Vec<_> = (0..25)
        .filter(|n| *n != TOO_LONG)
        .map(|n| format!("batch {n}"))
        .collect();
    bodies.sort();
    expected.sort();
    assert_eq!(bodies, expected);
    acknowledge(queue, &got).await;
}

async fn a_buried_body_is_kept_with_its_reason(queue: &dyn Queue, dead: &impl AsyncFn() -> Vec<(String, String)>) {
    let body = "{\"nobody\": \"understands\", this";
    match queue.bury(body, "it is not JSON").await {
        Ok(true) => assert_eq!(dead().await, [(body.to_owned(), "it is not JSON".to_owned())]),
        Ok(false) => assert!(
            dead().await.is_empty(),
            "there is no place for dead letters, and there are some"
        ),
        Err(e) => panic!("burying failed: {e}"),
    }
    only_a_marker_is_left(queue).await;
}

/// Sends a message and receives it: whatever else is due would come with it or before it.
async fn only_a_marker_is_left(queue: &dyn Queue) {
    send(queue, "marker", Duration::ZERO).await;
    let got = gather(queue, 1, A_WHILE).await;
    let bodies: Vec<_> = got.iter().map(|d| d.body.as_str()).collect();
    assert_eq!(bodies, ["marker"], "something else was delivered");
    acknowledge(queue, &got).await;
}

/// Receives until `count` messages have come; a queue may answer nothing now and then.
async fn gather(queue: &dyn Queue, count: usize, visibility: Duration) -> Vec<Delivery> {
    let mut got = Vec::new();
    let mut empty = 0;
    while got.len() < count && empty < 3 {
        let more = queue.receive(10, visibility).await.expect("the queue answers");
        assert!(more.len() <= 10, "at most ten were asked for");
        empty = if more.is_empty() { empty + 1 } else { 0 };
        got.extend(more);
    }
    assert!(got.len() >= count, "{} of {count} messages came", got.len());
    got
}

async fn send(queue: &dyn Queue, body: &str, delay: Duration) {
    assert_eq!(queue.send(vec![outgoing(body, delay)]).await, [Ok(())]);
}

async fn acknowledge(queue: &dyn Queue, deliveries: &[Delivery]) {
    assert_eq!(queue.acknowledge(deliveries).await, Ok(()));
}

fn outgoing(body: &str, delay: Duration) -> Outgoing {
    Outgoing {
        body: body.to_owned(),
        delay,
    }
}
