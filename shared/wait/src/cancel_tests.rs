use matsu_lock::Clock;

use super::*;
use crate::message::{Body, Message};
use crate::target::Seen;
use crate::testing::{Bench, FaultyQueue, SECOND, WriteFault, request, target};
use crate::wait::{OutcomeKind, Status};

const TARGET: &str = "s3://my-bucket/key";

/// A bench with a wait that was looked at twice and is pending.
async fn pending() -> Bench {
    let bench = Bench::new();
    bench.start(&request(TARGET, "origin-1")).await;
    bench.turn().await;
    bench.clock.advance(15 * SECOND);
    bench.turn().await;
    bench
}

async fn cancelled(bench: &Bench) -> Cancelled {
    cancel(&bench.run(), &target(TARGET)).await.unwrap()
}

#[tokio::test]
async fn a_cancelled_wait_is_announced_after_a_lease_and_never_looked_at_again() {
    let bench = pending().await;
    let (before, token) = bench.record(&target(TARGET)).await.unwrap();
    let Cancelled::Cancelled(done) = cancelled(&bench).await else {
        panic!("it is cancelled");
    };
    let (record, seen) = bench.record(&target(TARGET)).await.unwrap();
    assert_eq!((&*done, &done.wait.id), (&record, &before.wait.id));
    assert_eq!((record.state, record.pass), (State::Done, 3));
    assert_eq!(record.parent, Some(token));
    assert!(!record.is_over());
    let due = bench.queue.waiting().last().unwrap().clone();
    assert_eq!(due.due - bench.clock.elapsed(), bench.lease());
    let Ok(Body::Timer(message)) = Body::parse(&due.body) else {
        panic!("{}", due.body);
    };
    let Message { count, seen: told, .. } = *message;
    assert_eq!((count, told), (3, Some(seen)));

    bench.until_quiet(120 * SECOND).await;
    let told = bench.notify.taken();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].outcome.kind, OutcomeKind::Cancelled);
    assert!(
        told[0].outcome.reason.contains("it was copying"),
        "{}",
        told[0].outcome.reason
    );
    assert_eq!(bench.look.looked().len(), 2);
    assert!(bench.record(&target(TARGET)).await.unwrap().0.is_over());
}

#[tokio::test]
async fn a_cancel_that_died_before_its_message_is_made_good_by_the_next_one() {
    let bench = pending().await;
    let mut deaf = bench.engine();
    deaf.queue = std::sync::Arc::new(FaultyQueue::new(bench.queue.clone(), ""));
    let run = Run::new(deaf, bench.lease());
    assert!(matches!(cancel(&run, &target(TARGET)).await, Err(Stop::Queue(_))));
    bench.queue.purge();
    let Cancelled::Over(record) = cancelled(&bench).await else {
        panic!("it is over");
    };
    assert_eq!(record.outcome.unwrap().kind, OutcomeKind::Cancelled);
    bench.until_quiet(120 * SECOND).await;
    assert_eq!(bench.notify.taken().len(), 1);
}

#[tokio::test]
async fn a_cancel_whose_answer_was_lost_is_settled_and_not_done_twice() {
    let bench = pending().await;
    let (store, run) = bench.run_with_faults();
    store.writes([Some(WriteFault::Unanswered)]);
    let answer = cancel(&run, &target(TARGET)).await.unwrap();
    assert!(matches!(answer, Cancelled::Cancelled(_)), "{answer:?}");
    bench.until_quiet(120 * SECOND).await;
    assert_eq!(bench.notify.taken().len(), 1);
}

#[tokio::test]
async fn what_is_over_unknown_or_of_another_queue_is_left_alone() {
    let bench = Bench::new();
    assert_eq!(cancelled(&bench).await, Cancelled::Absent);

    bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
    bench.start(&request(TARGET, "origin-1")).await;
    bench.turn().await;
    let Cancelled::Over(record) = cancelled(&bench).await else {
        panic!("it is over");
    };
    assert_eq!(record.outcome.unwrap().kind, OutcomeKind::Completed);
    assert!(bench.queue.waiting().is_empty(), "nothing is left to be told");

    let other = target("s3://my-bucket/other");
    bench.start(&request("s3://my-bucket/other", "origin-2")).await;
    let mut engine = bench.engine();
    engine.queue = std::sync::Arc::new(crate::queue::MemoryQueue::new("elsewhere/q", bench.clock.clone()));
    let answer = cancel(&Run::new(engine, bench.lease()), &other).await.unwrap();
    let home = "000000000000/bench".to_owned();
    assert_eq!(answer, Cancelled::Elsewhere { home });
    assert_eq!(bench.record(&other).await.unwrap().0.state, State::Waiting);
}

#[tokio::test]
async fn a_cancel_of_a_shorter_lease_does_not_hide_the_run_that_may_still_look() {
    let bench = pending().await;
    let brief = Run::new(bench.engine(), 10 * SECOND);
    cancel(&brief, &target(TARGET)).await.unwrap();
    let (record, _) = bench.record(&target(TARGET)).await.unwrap();
    assert_eq!(record.lease.duration(), bench.lease());

    // A request that follows waits for that run, too.
    let next = request(TARGET, "origin-2");
    crate::start::start(&brief, &next).await.unwrap();
    let due = bench.queue.waiting().last().unwrap().due;
    assert_eq!(due - bench.clock.elapsed(), bench.lease());
}
