use jiff::Timestamp;
use matsu_lock::Clock;

use super::*;
use crate::decide;
use crate::target::Seen;
use crate::testing::{Bench, SECOND, request, target};
use crate::wait::{Limit, OutcomeKind, Status};

const TARGET: &str = "s3://my-bucket/key";

/// A wait that looks every ten seconds and gives up after 30, or three looks.
fn short() -> crate::start::Request {
    let policy = Policy {
        min_delay: 10 * SECOND,
        max_delay: 10 * SECOND,
        timeout: 30 * SECOND,
        max_count: 3,
        ..Policy::default()
    };
    crate::start::Request {
        policy,
        ..request(TARGET, "origin-1")
    }
}

#[tokio::test]
async fn an_extended_wait_goes_on_past_its_old_deadline_and_count() {
    let bench = Bench::new();
    bench.start(&short()).await;
    bench.turn().await;
    let Extended::Extended(longer) = extend(&bench.run(), &target(TARGET), 100 * SECOND).await.unwrap() else {
        panic!("it is extended");
    };
    let (policy, deadline) = (&longer.wait.policy, longer.wait.deadline());
    assert_eq!((policy.timeout, policy.max_count), (130 * SECOND, 13));
    let (record, _) = bench.record(&target(TARGET)).await.unwrap();
    assert_eq!((record.pass, record.wait.deadline()), (1, deadline));
    let newest = bench.queue.waiting().last().unwrap().due - bench.clock.elapsed();
    assert_eq!(
        newest,
        bench.lease(),
        "whoever looks right now has ended when it arrives"
    );

    bench.until_quiet(600 * SECOND).await;
    let (record, _) = bench.record(&target(TARGET)).await.unwrap();
    let outcome = record.outcome.unwrap();
    assert_eq!(
        (outcome.kind, outcome.limit),
        (OutcomeKind::GaveUp, Some(Limit::Deadline))
    );
    assert_eq!(outcome.at, deadline);
    assert_eq!(bench.notify.taken().len(), 1);
}

#[tokio::test]
async fn the_timer_of_the_old_policy_is_stale_and_forks_nothing() {
    let bench = Bench::new();
    bench.start(&short()).await;
    bench.turn().await;
    extend(&bench.run(), &target(TARGET), 100 * SECOND).await.unwrap();
    assert_eq!(bench.queue.waiting().len(), 2);
    bench.clock.advance(20 * SECOND);
    bench.turn().await;
    assert_eq!(bench.look.looked().len(), 1, "the old timer looks at nothing");
    assert_eq!(bench.queue.waiting().len(), 1);
}

#[tokio::test]
async fn a_pass_that_was_looking_meanwhile_neither_ends_the_wait_nor_forks_it() {
    let bench = Bench::new();
    bench.start(&short()).await;
    let first = bench.queue.waiting()[0].clone();
    bench.turn().await;
    extend(&bench.run(), &target(TARGET), 100 * SECOND).await.unwrap();
    // The message of the pass that had claimed before the extension comes once more.
    bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
    let rules = bench.rules("again");
    let handled = crate::handle::handle(&bench.run(), &rules, &first.body).await;
    let crate::handle::Handled::Passed(passed) = handled else {
        panic!("{handled:?}");
    };
    assert_eq!(passed, crate::pass::Passed::Postponed);
    bench.until_quiet(600 * SECOND).await;
    assert_eq!(bench.notify.taken().len(), 1);
    let (record, _) = bench.record(&target(TARGET)).await.unwrap();
    assert_eq!(record.outcome.unwrap().kind, OutcomeKind::Completed);
}

#[tokio::test]
async fn an_ended_wait_and_an_unknown_target_are_not_extended() {
    let bench = Bench::new();
    let answer = extend(&bench.run(), &target(TARGET), SECOND).await.unwrap();
    assert_eq!(answer, Extended::Absent);
    bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
    bench.start(&short()).await;
    bench.turn().await;
    let answer = extend(&bench.run(), &target(TARGET), SECOND).await.unwrap();
    assert!(matches!(answer, Extended::Over(_)), "{answer:?}");
    assert!(bench.queue.waiting().is_empty());
}

#[test]
fn a_longer_policy_never_overflows() {
    let policy = lengthened(&Policy::default(), Duration::MAX);
    assert_eq!((policy.timeout, policy.max_count), (duration::LONGEST, u32::MAX));
    let wait = crate::testing::wait_for(TARGET, policy);
    let text = serde_json::to_string(&wait).unwrap();
    assert!(serde_json::from_str::<crate::wait::Wait>(&text).is_ok(), "{text}");
    assert!(decide::before_look(&wait, u32::MAX, 0, Timestamp::MAX).is_none());
}
