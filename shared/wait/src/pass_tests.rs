use std::sync::Arc;
use std::time::Duration;

use matsu_lock::{Clock, HandClock, MemoryStore, Write};

use super::*;
use crate::Engine;
use crate::handle::Handled;
use crate::job::{Job, RdsCopy, Tags};
use crate::message::Body;
use crate::notify::Told;
use crate::queue::{Outgoing, Queue};
use crate::record::Notified;
use crate::start::Request;
use crate::testing::{Bench, FaultyQueue, ReadFault, SECOND, WriteFault, request, target};
use crate::wait::{Extra, Limit, Owed, Policy, Status};

const TARGET: &str = "s3://bucket/key";

fn satisfied() -> Seen {
    Seen::Satisfied(Status::new("exists"))
}

fn later(after: u64) -> Told {
    Told::Later {
        after: Some(SECOND * u32::try_from(after).unwrap()),
        why: "503".to_owned(),
    }
}

/// A fixed interval of a second, so that tests can count.
fn every_second(origin: &str) -> Request {
    let policy = Policy {
        min_delay: SECOND,
        max_delay: SECOND,
        ..Policy::default()
    };
    Request {
        policy,
        ..request(TARGET, origin)
    }
}

fn timer(body: &str) -> Message {
    match Body::parse(body) {
        Ok(Body::Timer(message)) => *message,
        other => panic!("{other:?}"),
    }
}

/// The timers in the queue with the delay that is left of each.
fn timers(bench: &Bench) -> Vec<(Message, Duration)> {
    let now = bench.clock.elapsed();
    let waiting = bench.queue.waiting();
    waiting
        .into_iter()
        .map(|w| (timer(&w.body), w.due.saturating_sub(now)))
        .collect()
}

/// A wait that was started and whose first message was received, but not worked.
async fn first_message(bench: &Bench, request: &Request) -> Message {
    bench.start(request).await;
    let delivery = bench.queue.receive(1, SECOND * 360).await.unwrap().pop().unwrap();
    bench.queue.acknowledge(std::slice::from_ref(&delivery)).await.unwrap();
    timer(&delivery.body)
}

async fn record(bench: &Bench) -> (Record, Token) {
    bench.record(&target(TARGET)).await.unwrap()
}

/// Begins a pass and kills it where it hangs.
async fn killed(bench: &Bench, message: &Message) {
    let run = bench.run();
    let pass = pass(&run, message.clone());
    assert!(
        tokio::time::timeout(Duration::from_millis(20), pass).await.is_err(),
        "the pass ended before it was killed"
    );
}

/// A pass whose run died while it looked, and its message.
async fn died_looking(bench: &Bench) -> Message {
    let message = first_message(bench, &every_second("event-1")).await;
    bench.look.hangs(true);
    killed(bench, &message).await;
    bench.look.hangs(false);
    message
}

// Figures.

#[tokio::test]
async fn a_wait_of_k_passes_costs_1_plus_k_plus_2_puts_and_no_get() {
    println!("passes  PUTs  GETs");
    for passes in [1_usize, 2, 10, 100] {
        let bench = Bench::new();
        let pending = Seen::Pending(Status::new("copying"));
        bench
            .look
            .will_see(std::iter::repeat_n(pending, passes - 1).chain([satisfied()]));
        bench.start(&every_second("event-1")).await;
        bench.until_quiet(SECOND * 1_000).await;
        let counts = bench.store.counts();
        println!("{passes:6}  {:4}  {:4}", counts.puts, counts.gets);
        assert_eq!(bench.look.looked().len(), passes);
        assert_eq!((counts.puts, counts.gets), (1 + passes as u64 + 2, 0));
        assert_eq!(bench.notify.taken().len(), 1);
    }
}

// Step 0.

#[tokio::test]
async fn a_message_before_its_time_is_forwarded_by_at_most_fifteen_minutes_and_touches_no_store() {
    let bench = Bench::new();
    let mut message = first_message(&bench, &request(TARGET, "event-1")).await;
    bench.store.reset_counts();
    for (ahead, delay) in [(2_000, 900), (900, 900), (7, 7)] {
        message.not_before = Some(bench.clock.now() + SECOND * ahead);
        assert_eq!(pass(&bench.run(), message.clone()).await.unwrap(), Passed::Hopped);
        let (forwarded, left) = timers(&bench).pop().unwrap();
        assert_eq!((&forwarded, left), (&message, SECOND * delay));
        bench.queue.purge();
    }
    let counts = bench.store.counts();
    assert_eq!((counts.puts, counts.gets), (0, 0));
}

#[tokio::test]
async fn a_hop_is_never_beyond_the_deadline() {
    let bench = Bench::new();
    let policy = Policy {
        timeout: SECOND * 100,
        ..Policy::default()
    };
    let mut message = first_message(
        &bench,
        &Request {
            policy,
            ..request(TARGET, "event-1")
        },
    )
    .await;
    message.not_before = Some(bench.clock.now() + SECOND * 500);
    assert_eq!(pass(&bench.run(), message.clone()).await.unwrap(), Passed::Hopped);
    assert_eq!(timers(&bench).pop().unwrap().1, SECOND * 100);
    bench.queue.purge();
    bench.clock.advance(SECOND * 100);
    assert_eq!(
        pass(&bench.run(), message).await.unwrap(),
        Passed::Finished(OutcomeKind::GaveUp)
    );
    assert_eq!(bench.look.looked().len(), 1);
}

#[tokio::test]
async fn a_delay_longer_than_a_queue_takes_goes_by_hops() {
    let bench = Bench::new();
    let policy = Policy {
        min_delay: SECOND * 2_000,
        max_delay: SECOND * 2_000,
        ..Policy::default()
    };
    bench
        .look
        .will_see([Seen::Pending(Status::new("copying")), satisfied()]);
    bench
        .start(&Request {
            policy,
            ..request(TARGET, "event-1")
        })
        .await;
    let began = bench.clock.elapsed();
    let became = bench.until_quiet(SECOND * 3_000).await;
    let hops = became
        .iter()
        .filter(|h| matches!(h, Handled::Passed(Passed::Hopped)))
        .count();
    assert_eq!(hops, 2);
    assert_eq!(bench.look.looked().len(), 2);
    assert!((1_999..2_003).contains(&(bench.clock.elapsed() - began).as_secs()));
    assert_eq!(bench.store.counts().puts, 1 + 2 + 2);
}

// Step 1: claim.

#[tokio::test]
async fn a_claim_that_took_effect_unanswered_is_known_by_its_put() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let (store, run) = bench.run_with_faults();
    store.writes([Some(WriteFault::Unanswered)]);
    assert_eq!(pass(&run, message).await.unwrap(), Passed::Again);
    assert_eq!((record(&bench).await.0.pass, bench.look.looked().len()), (1, 1));
}

#[tokio::test]
async fn a_claim_of_which_nothing_is_seen_is_the_same_put_again_and_its_late_first_try_bounces() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let (store, run) = bench.run_with_faults();
    store.writes([Some(WriteFault::Late), Some(WriteFault::Lost)]);
    assert_eq!(pass(&run, message).await.unwrap(), Passed::Again);
    let before = record(&bench).await;
    assert_eq!(store.land().await, [Write::Refused]);
    assert_eq!(record(&bench).await, before);
    assert_eq!(bench.look.looked().len(), 1);
}

#[tokio::test]
async fn a_read_without_an_answer_is_asked_again() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let (store, run) = bench.run_with_faults();
    store.writes([Some(WriteFault::Unanswered)]);
    store.reads([Some(ReadFault::Unavailable), Some(ReadFault::Unavailable)]);
    assert_eq!(pass(&run, message).await.unwrap(), Passed::Again);
}

#[tokio::test]
async fn a_claim_that_cannot_be_settled_before_the_lease_ends_is_given_back() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    for reads in [None, Some(ReadFault::Unavailable)] {
        let (store, run) = bench.run_with_faults();
        store.writes(std::iter::repeat_n(Some(WriteFault::Lost), 10_000));
        store.reads(std::iter::repeat_n(reads, 10_000));
        let stop = pass(&run, message.clone()).await.unwrap_err();
        assert!(matches!(stop, Stop::OutOfTime(_)), "{stop}");
        assert!(run.left() < crate::engine::limit::STORE);
    }
    assert!(bench.look.looked().is_empty());
    assert!(bench.queue.waiting().is_empty());
}

#[tokio::test]
async fn a_denied_read_while_settling_gives_the_message_back() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let (store, run) = bench.run_with_faults();
    store.writes([Some(WriteFault::Lost)]);
    store.reads([Some(ReadFault::Denied)]);
    let stop = pass(&run, message).await.unwrap_err();
    assert!(matches!(stop, Stop::Store(_)), "{stop}");
    assert!(bench.look.looked().is_empty());
}

#[tokio::test]
async fn a_message_without_a_record_is_acknowledged() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let empty = Engine {
        store: Arc::new(MemoryStore::new(bench.clock.clone())),
        ..bench.engine()
    };
    let passed = pass(&Run::new(empty, bench.lease()), message).await.unwrap();
    assert_eq!(passed, Passed::Over);
    assert!(bench.look.looked().is_empty());
}

#[tokio::test]
async fn a_message_of_a_wait_that_another_replaced_is_acknowledged() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench.look.will_see([satisfied()]);
    assert_eq!(
        pass(&bench.run(), message.clone()).await.unwrap(),
        Passed::Finished(OutcomeKind::Completed)
    );
    bench.start(&every_second("event-2")).await;
    assert_eq!(pass(&bench.run(), message).await.unwrap(), Passed::Over);
    assert_eq!(bench.look.looked().len(), 1);
}

#[tokio::test]
async fn a_message_of_another_queues_wait_is_acknowledged_and_touches_no_store() {
    let bench = Bench::new();
    let mut message = first_message(&bench, &every_second("event-1")).await;
    bench.store.reset_counts();
    message.wait.home = "000000000000/elsewhere".to_owned();
    assert_eq!(pass(&bench.run(), message).await.unwrap(), Passed::Over);
    assert_eq!(bench.store.counts(), matsu_lock::Counts::default());
}

#[tokio::test]
async fn a_message_that_comes_again_after_the_announcement_is_acknowledged() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench.look.will_see([satisfied()]);
    pass(&bench.run(), message.clone()).await.unwrap();
    assert_eq!(pass(&bench.run(), message).await.unwrap(), Passed::Over);
    assert_eq!((bench.look.looked().len(), bench.notify.taken().len()), (1, 1));
    assert!(bench.queue.waiting().is_empty());
}

#[tokio::test]
async fn another_message_for_a_pass_that_is_claimed_is_a_copy() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    pass(&bench.run(), message.clone()).await.unwrap();
    bench.queue.purge();
    let copy = Message {
        msg: "a sweep's".to_owned(),
        ..message
    };
    assert_eq!(pass(&bench.run(), copy).await.unwrap(), Passed::Copy);
    assert!(bench.queue.waiting().is_empty());
    assert_eq!(bench.look.looked().len(), 1);
}

#[tokio::test]
async fn a_message_that_comes_again_while_its_pass_is_claimed_is_sent_on_delayed_by_the_longer_lease() {
    for (own, theirs) in [(60, 60), (20, 60), (200, 60)] {
        let bench = Bench::new();
        let message = died_looking(&bench).await;
        let run = Run::new(bench.engine(), SECOND * own);
        assert_eq!(pass(&run, message.clone()).await.unwrap(), Passed::Postponed);
        let (again, delay) = timers(&bench).pop().unwrap();
        assert_eq!(delay, SECOND * own.max(theirs));
        let seen = Some(record(&bench).await.1);
        assert_eq!(again, Message { seen, ..message });
        assert_eq!(bench.look.looked().len(), 1, "only the one that died");
    }
}

#[tokio::test]
async fn a_dead_claimer_is_taken_over_with_its_whole_record() {
    let bench = Bench::new();
    let message = died_looking(&bench).await;
    // A change that came after the message was sent.
    let (mut changed, token) = record(&bench).await;
    changed.wait.policy.max_count = 7;
    changed.put = "another".to_owned();
    ledger::put(&bench.run(), Some(&token), &changed).await.unwrap();
    pass(&bench.run(), message.clone()).await.unwrap();
    let became = bench.until_quiet(SECOND * 62).await;
    assert!(matches!(became[0], Handled::Passed(Passed::Again)), "{became:?}");
    let (next, _) = timers(&bench).pop().unwrap();
    assert_eq!((next.count, next.wait.policy.max_count), (3, 7));
    assert_eq!(
        record(&bench).await.0.takeovers,
        0,
        "the next claim starts from nothing"
    );
}

#[tokio::test]
async fn a_takeover_is_counted_and_looks_once() {
    let bench = Bench::new();
    let message = died_looking(&bench).await;
    pass(&bench.run(), message.clone()).await.unwrap();
    bench.clock.advance(bench.lease());
    bench.turn().await;
    let (taken, _) = record(&bench).await;
    assert_eq!((taken.takeovers, taken.pass, taken.parent), (1, 1, Some(message.token)));
    assert_eq!(
        bench.look.looked().len(),
        2,
        "the one that died and the one that took over"
    );
}

#[tokio::test]
async fn a_claimer_that_lived_on_is_not_taken_over() {
    let bench = Bench::new();
    let message = died_looking(&bench).await;
    pass(&bench.run(), message.clone()).await.unwrap();
    // The record moves on before the message comes back.
    let (stands, token) = record(&bench).await;
    let moved = ledger::rewritten(&bench.run(), &stands);
    ledger::put(&bench.run(), Some(&token), &moved).await.unwrap();
    bench.clock.advance(bench.lease());
    let became = bench.turn().await;
    assert!(matches!(became[..], [Handled::Passed(Passed::Postponed)]), "{became:?}");
    assert_eq!(bench.look.looked().len(), 1);
}

#[tokio::test]
async fn the_fourth_takeover_of_one_pass_ends_as_cannot_check_without_a_look() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench.look.hangs(true);
    killed(&bench, &message).await;
    for _ in 0..3 {
        pass(&bench.run(), message.clone()).await.unwrap();
        let (again, delay) = timers(&bench).pop().unwrap();
        bench.queue.purge();
        bench.clock.advance(delay);
        killed(&bench, &again).await;
    }
    pass(&bench.run(), message).await.unwrap();
    bench.clock.advance(bench.lease());
    let became = bench.turn().await;
    assert!(
        matches!(
            became[..],
            [Handled::Passed(Passed::Finished(OutcomeKind::CannotCheck))]
        ),
        "{became:?}"
    );
    assert_eq!(bench.look.looked().len(), 4);
    assert_eq!(bench.notify.taken().len(), 1);
}

#[tokio::test]
async fn a_message_of_an_earlier_pass_is_stale() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    pass(&bench.run(), message.clone()).await.unwrap();
    bench.clock.advance(SECOND);
    bench.turn().await;
    let waiting = bench.queue.waiting().len();
    assert_eq!(pass(&bench.run(), message).await.unwrap(), Passed::Stale);
    assert_eq!(bench.queue.waiting().len(), waiting);
    assert_eq!(bench.look.looked().len(), 2);
}

#[tokio::test]
async fn a_message_with_a_token_that_never_was_is_stale() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let forged = Message {
        token: Token::new("forged"),
        ..message.clone()
    };
    assert_eq!(pass(&bench.run(), forged.clone()).await.unwrap(), Passed::Stale);
    assert!(bench.look.looked().is_empty());
    // Nor does it become anything once the pass is claimed from another token.
    bench.turn().await;
    pass(&bench.run(), message).await.unwrap();
    assert_eq!(pass(&bench.run(), forged).await.unwrap(), Passed::Stale);
    assert_eq!(bench.look.looked().len(), 1);
}

#[tokio::test]
async fn a_message_of_a_wait_that_another_queue_adopted_is_acknowledged() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let elsewhere = Engine {
        queue: Arc::new(crate::queue::MemoryQueue::new("111111111111/new", bench.clock.clone())),
        ..bench.engine()
    };
    crate::sweep::sweep(&Run::new(elsewhere, bench.lease()), true)
        .await
        .unwrap();
    assert_eq!(pass(&bench.run(), message).await.unwrap(), Passed::Over);
    assert!(bench.look.looked().is_empty());
}

// Step 2: what is owed.

/// A first message whose wait owes the outcomes of two earlier waits.
async fn owing(bench: &Bench) -> Message {
    let mut message = first_message(bench, &every_second("event-1")).await;
    for number in 1..=2 {
        message.wait.owed.push(Owed {
            wait: format!("earlier-{number}"),
            outcome: decide::outcome(OutcomeKind::Failed, None, "it failed".to_owned(), bench.clock.now()),
            passes: number,
            started_at: bench.clock.now(),
            status: None,
            extra: Extra::new(),
        });
    }
    message
}

#[tokio::test]
async fn what_is_owed_is_announced_in_order_and_recorded_before_the_look() {
    let bench = Bench::new();
    let message = owing(&bench).await;
    bench.store.reset_counts();
    assert_eq!(pass(&bench.run(), message.clone()).await.unwrap(), Passed::Again);
    let told: Vec<_> = bench.notify.taken().into_iter().map(|a| a.wait).collect();
    assert_eq!(told, ["earlier-1", "earlier-2"]);
    assert_eq!(bench.store.counts().puts, 2);
    let (stands, token) = record(&bench).await;
    assert!(stands.wait.owed.is_empty());
    assert_eq!(
        (stands.pass, stands.parent, stands.msg),
        (1, Some(message.token), message.msg)
    );
    let (next, _) = timers(&bench).pop().unwrap();
    assert_eq!((next.token, next.wait.owed.len()), (token, 0));
}

#[tokio::test]
async fn what_cannot_be_announced_now_stays_owed_and_the_wait_goes_on() {
    let bench = Bench::new();
    let message = owing(&bench).await;
    bench.notify.will_answer([Told::Sent, later(60)]);
    assert_eq!(pass(&bench.run(), message).await.unwrap(), Passed::Again);
    assert_eq!(record(&bench).await.0.wait.owed.len(), 1);
    bench.notify.will_answer([Told::Sent]);
    bench.look.will_see([satisfied()]);
    bench.until_quiet(SECOND * 10).await;
    let told: Vec<_> = bench.notify.taken().into_iter().map(|a| a.wait).collect();
    assert_eq!(told[..2], ["earlier-1", "earlier-2"]);
    assert_eq!(told.len(), 3);
    assert!(record(&bench).await.0.is_over());
}

#[tokio::test]
async fn a_run_that_is_overtaken_while_it_announces_what_is_owed_gives_back() {
    let bench = Bench::new();
    let message = owing(&bench).await;
    let engine = Engine {
        notify: Arc::new(Overtaker(bench.store.clone(), Told::Sent)),
        ..bench.engine()
    };
    let stop = pass(&Run::new(engine, bench.lease()), message).await.unwrap_err();
    assert!(matches!(stop, Stop::Overtaken(_)), "{stop}");
    assert!(bench.look.looked().is_empty());
}

// Steps 3 and 4: check, then send, then acknowledge.

#[tokio::test]
async fn a_pending_target_is_looked_at_again_with_the_token_of_the_last_put() {
    let bench = Bench::new();
    let message = first_message(&bench, &request(TARGET, "event-1")).await;
    assert_eq!(pass(&bench.run(), message.clone()).await.unwrap(), Passed::Again);
    let (next, delay) = timers(&bench).pop().unwrap();
    assert_eq!(
        (next.count, next.token, delay),
        (2, record(&bench).await.1, SECOND * 15)
    );
    assert_ne!(next.msg, message.msg);
    assert_eq!(next.wait.status, Some(Status::new("copying")));
}

#[tokio::test]
async fn a_message_whose_successor_cannot_be_sent_is_given_back_and_the_wait_goes_on_with_its_next_delivery() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let engine = Engine {
        queue: Arc::new(FaultyQueue::new(bench.queue.clone(), "")),
        ..bench.engine()
    };
    let stop = pass(&Run::new(engine, bench.lease()), message.clone())
        .await
        .unwrap_err();
    assert!(matches!(stop, Stop::Queue(_)), "{stop}");
    assert_eq!(pass(&bench.run(), message).await.unwrap(), Passed::Postponed);
    bench.look.will_see([satisfied()]);
    bench.until_quiet(SECOND * 100).await;
    assert!(record(&bench).await.0.is_over());
    assert_eq!(bench.notify.taken().len(), 1);
}

#[tokio::test]
async fn an_unanswered_look_is_a_pass_like_any_other_and_comes_again_with_jitter() {
    let bench = Bench::new();
    let message = first_message(&bench, &request(TARGET, "event-1")).await;
    bench.look.will_see([Seen::Unknown("throttled".to_owned())]);
    assert_eq!(pass(&bench.run(), message).await.unwrap(), Passed::Again);
    let (next, delay) = timers(&bench).pop().unwrap();
    assert_eq!(next.count, 2);
    assert!((SECOND * 15..=SECOND * 19).contains(&delay), "{delay:?}");
}

#[tokio::test]
async fn a_fixed_interval_stays_fixed_after_an_unanswered_look() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench.look.will_see([Seen::Unknown("throttled".to_owned())]);
    assert_eq!(pass(&bench.run(), message).await.unwrap(), Passed::Again);
    assert_eq!(timers(&bench).pop().unwrap().1, SECOND);
}

#[tokio::test]
async fn the_pass_after_the_last_one_gives_up_without_a_look() {
    let bench = Bench::new();
    let policy = Policy {
        max_count: 30,
        ..Policy::default()
    };
    for (count, looks, ended) in [(29, 1, false), (30, 1, true), (31, 0, true)] {
        let bench_request = Request {
            policy: policy.clone(),
            count,
            ..request(TARGET, "event-1")
        };
        let bench = Bench::new();
        let message = first_message(&bench, &bench_request).await;
        let passed = pass(&bench.run(), message).await.unwrap();
        assert_eq!(
            passed == Passed::Finished(OutcomeKind::GaveUp),
            ended,
            "{count}: {passed:?}"
        );
        assert_eq!(bench.look.looked().len(), looks, "{count}");
        assert_eq!(bench.notify.taken().len(), usize::from(ended));
        if ended {
            assert_eq!(bench.notify.taken()[0].outcome.limit, Some(Limit::Count));
        }
    }
    assert!(bench.queue.waiting().is_empty());
}

#[tokio::test]
async fn the_stores_own_clock_decides_about_the_deadline() {
    let bench = Bench::new();
    let theirs = Arc::new(HandClock::new(bench.clock.now()));
    let store = Arc::new(MemoryStore::new(theirs.clone()).telling_date());
    let engine = Engine {
        store,
        ..bench.engine()
    };
    let policy = Policy {
        timeout: SECOND * 100,
        ..Policy::default()
    };
    let run = || Run::new(engine.clone(), bench.lease());
    crate::start::start(
        &run(),
        &Request {
            policy,
            ..request(TARGET, "event-1")
        },
    )
    .await
    .unwrap();
    bench.clock.jump(jiff::SignedDuration::from_hours(24));
    let (message, _) = timers(&bench).pop().unwrap();
    assert_eq!(pass(&run(), message).await.unwrap(), Passed::Again);
    theirs.advance(SECOND * 100);
    let (message, _) = timers(&bench).pop().unwrap();
    assert_eq!(
        pass(&run(), message).await.unwrap(),
        Passed::Finished(OutcomeKind::GaveUp)
    );
}

#[tokio::test]
async fn a_job_that_is_refused_in_a_pass_ends_as_failed_to_start() {
    let bench = Bench::new();
    let job = RdsCopy {
        source: "arn".to_owned(),
        source_created: None,
        source_instance: None,
        source_cluster: None,
        kms_key: None,
        tags: Tags::None,
        extra: crate::wait::Extra::new(),
    };
    bench.jobs.will_answer([
        crate::job::Begun::Later("throttled".to_owned()),
        crate::job::Begun::Refused("quota".to_owned()),
    ]);
    let message = first_message(
        &bench,
        &Request {
            job: Some(Job::RdsCopy(Box::new(job))),
            ..every_second("event-1")
        },
    )
    .await;
    assert_eq!(
        pass(&bench.run(), message).await.unwrap(),
        Passed::Finished(OutcomeKind::FailedToStart)
    );
    assert!(bench.look.looked().is_empty());
    assert_eq!(bench.notify.taken()[0].outcome.reason, "quota");
}

// Step 5: the end.

#[tokio::test]
async fn a_run_that_is_overtaken_before_the_outcome_is_recorded_gives_back_and_tells_nobody() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench.look.will_see([satisfied()]);
    let engine = Engine {
        look: Arc::new(Overtaker(bench.store.clone(), Told::Sent)),
        ..bench.engine()
    };
    let stop = pass(&Run::new(engine, bench.lease()), message).await.unwrap_err();
    assert!(matches!(stop, Stop::Overtaken(_)), "{stop}");
    assert!(bench.notify.asked().is_empty());
}

#[tokio::test]
async fn a_run_that_is_overtaken_after_the_announcement_acknowledges() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench.look.will_see([satisfied()]);
    let engine = Engine {
        notify: Arc::new(Overtaker(bench.store.clone(), Told::Sent)),
        ..bench.engine()
    };
    assert_eq!(
        pass(&Run::new(engine, bench.lease()), message).await.unwrap(),
        Passed::Overtaken
    );
}

#[tokio::test]
async fn writes_of_the_end_that_took_effect_unanswered_neither_lose_nor_repeat_the_announcement() {
    let unanswered = Some(WriteFault::Unanswered);
    for faults in [
        [None, unanswered, None],
        [None, None, unanswered],
        [unanswered, unanswered, unanswered],
    ] {
        let bench = Bench::new();
        let message = first_message(&bench, &every_second("event-1")).await;
        bench.look.will_see([satisfied()]);
        let (store, run) = bench.run_with_faults();
        store.writes(faults);
        assert_eq!(
            pass(&run, message).await.unwrap(),
            Passed::Finished(OutcomeKind::Completed)
        );
        assert_eq!(bench.notify.taken().len(), 1);
        assert!(record(&bench).await.0.is_over());
    }
}

#[tokio::test]
async fn a_run_that_dies_before_it_tells_leaves_the_announcement_to_the_next_without_a_look() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench.look.will_see([satisfied()]);
    bench.notify.will_answer([later(1)]);
    bench.notify.hangs(true);
    killed(&bench, &message).await;
    bench.notify.hangs(false);
    bench.notify.will_answer([Told::Sent]);
    assert_eq!(pass(&bench.run(), message).await.unwrap(), Passed::Postponed);
    bench.until_quiet(SECOND * 100).await;
    assert_eq!((bench.look.looked().len(), bench.notify.taken().len()), (1, 1));
    assert!(record(&bench).await.0.is_over());
}

#[tokio::test]
async fn an_announcement_that_is_put_off_comes_again_from_the_message_without_a_look() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench.look.will_see([satisfied()]);
    let unavailable = || Told::Later {
        after: None,
        why: "503".to_owned(),
    };
    bench
        .notify
        .will_answer([unavailable(), unavailable(), unavailable(), Told::Sent]);
    assert_eq!(
        pass(&bench.run(), message.clone()).await.unwrap(),
        Passed::AnnouncedLater(OutcomeKind::Completed)
    );
    let (again, delay) = timers(&bench).pop().unwrap();
    assert_eq!(
        (again.tries, again.seen, again.token),
        (1, Some(record(&bench).await.1), message.token)
    );
    assert!((SECOND..=SECOND * 10).contains(&delay), "{delay:?}");
    bench.until_quiet(SECOND * 200).await;
    assert_eq!(
        (
            bench.look.looked().len(),
            bench.notify.asked().len(),
            bench.notify.taken().len()
        ),
        (1, 4, 1)
    );
    assert!(record(&bench).await.0.is_over());
}

#[tokio::test]
async fn what_the_channel_asks_for_is_obeyed_up_to_fifteen_minutes() {
    for (asked, delay) in [(2, 2), (0, 1), (86_400, 900)] {
        let bench = Bench::new();
        let message = first_message(&bench, &every_second("event-1")).await;
        bench.look.will_see([satisfied()]);
        bench.notify.will_answer([later(asked)]);
        pass(&bench.run(), message).await.unwrap();
        assert_eq!(timers(&bench).pop().unwrap().1, SECOND * delay);
    }
}

#[tokio::test]
async fn what_the_channel_never_takes_is_recorded_as_undeliverable_after_one_try() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench.look.will_see([satisfied()]);
    bench.notify.will_answer([Told::Never("no_service".to_owned())]);
    assert_eq!(
        pass(&bench.run(), message).await.unwrap(),
        Passed::Finished(OutcomeKind::Completed)
    );
    assert_eq!(
        record(&bench).await.0.notified,
        Some(Notified::Undeliverable("no_service".to_owned()))
    );
    assert_eq!(bench.notify.asked().len(), 1);
    assert!(bench.queue.waiting().is_empty());
}

#[tokio::test]
async fn what_the_channel_does_not_take_for_three_days_is_undeliverable() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench.look.will_see([satisfied()]);
    bench.notify.will_answer([later(900)]);
    pass(&bench.run(), message).await.unwrap();
    let began = bench.clock.elapsed();
    bench.until_quiet(SECOND * 4 * 86_400).await;
    let days = (bench.clock.elapsed() - began).as_secs_f64() / 86_400.0;
    assert!((3.0..3.02).contains(&days), "{days}");
    assert!(matches!(
        record(&bench).await.0.notified,
        Some(Notified::Undeliverable(_))
    ));
    assert_eq!(bench.look.looked().len(), 1);
}

#[tokio::test]
async fn an_outcome_is_never_opened_again() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    bench
        .look
        .will_see([satisfied(), Seen::Pending(Status::new("copying"))]);
    bench.notify.will_answer([later(1), Told::Sent]);
    pass(&bench.run(), message).await.unwrap();
    let outcome = record(&bench).await.0.outcome;
    bench.until_quiet(SECOND * 100).await;
    assert_eq!(record(&bench).await.0.outcome, outcome);
    assert_eq!(bench.look.looked().len(), 1);
}

// All of it.

#[tokio::test]
async fn an_effect_begins_only_if_it_fits_before_the_lease_ends() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let short = bench.run();
    bench
        .clock
        .advance(bench.lease() - crate::engine::limit::STORE - SECOND);
    assert!(
        matches!(pass(&short, message).await, Err(Stop::OutOfTime(_))),
        "there is no time left for a look"
    );
    assert!(bench.look.looked().is_empty());
    assert_eq!(record(&bench).await.0.pass, 1);
}

#[tokio::test]
async fn a_run_with_a_short_lease_works_as_long_as_everything_is_quick() {
    for lease in [1, 3, 10] {
        let bench = Bench::new();
        let message = first_message(&bench, &every_second("event-1")).await;
        bench.look.will_see([satisfied()]);
        let run = Run::new(bench.engine(), SECOND * lease);
        assert_eq!(
            pass(&run, message).await.unwrap(),
            Passed::Finished(OutcomeKind::Completed)
        );
    }
}

#[tokio::test]
async fn every_message_delivered_twice_means_neither_a_second_chain_nor_a_second_announcement() {
    let bench = Bench::new();
    let pending = Seen::Pending(Status::new("copying"));
    bench
        .look
        .will_see(std::iter::repeat_n(pending, 9).chain([satisfied()]));
    bench.start(&every_second("event-1")).await;
    let mut doubled = std::collections::HashSet::new();
    for _ in 0..2_000 {
        for waiting in bench.queue.waiting() {
            if doubled.insert(waiting.id.clone()) {
                bench.queue.duplicate(&waiting.id);
            }
        }
        bench.turn().await;
        if bench.queue.waiting().is_empty() {
            break;
        }
        bench.clock.advance(SECOND);
    }
    assert!(bench.queue.waiting().is_empty());
    assert_eq!((bench.look.looked().len(), bench.notify.taken().len()), (10, 1));
}

#[tokio::test]
async fn unknown_fields_of_a_message_travel_on() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let mut json = serde_json::to_value(&message).unwrap();
    json["wait"]["later"] = "kept".into();
    pass(&bench.run(), timer(&json.to_string())).await.unwrap();
    let (next, _) = timers(&bench).pop().unwrap();
    assert_eq!(next.wait.extra["later"], "kept");
    assert_eq!(record(&bench).await.0.wait.extra["later"], "kept");
}

#[tokio::test]
async fn a_message_of_a_later_release_is_given_back_and_a_bad_one_is_put_aside_with_its_reason() {
    let bench = Bench::new();
    let message = first_message(&bench, &every_second("event-1")).await;
    let mut json = serde_json::to_value(&message).unwrap();
    json["v"] = 2.into();
    let bodies = [
        json.to_string(),
        "test".to_owned(),
        "{}".to_owned(),
        r#"{"target":"s3://bucket/other","count":-1}"#.to_owned(),
    ];
    let outgoing = |body: &String| Outgoing {
        body: body.clone(),
        delay: Duration::ZERO,
    };
    bench.queue.send(bodies.iter().map(outgoing).collect()).await;
    let became = bench.turn().await;
    assert!(matches!(became[0], Handled::GiveBack(Stop::Newer(2))), "{became:?}");
    assert!(
        became[1..].iter().all(|h| matches!(h, Handled::Buried(_))),
        "{became:?}"
    );
    let dead = bench.queue.dead();
    assert_eq!(
        dead.iter().map(|(body, _)| body.clone()).collect::<Vec<_>>(),
        bodies[1..]
    );
    assert!(dead[2].1.contains("count"), "{dead:?}");
}

/// A port that writes the record while it is asked, as another run would.
#[derive(Debug)]
struct Overtaker(Arc<MemoryStore>, Told);

impl Overtaker {
    async fn overtake(&self, target: &crate::Target) {
        use matsu_lock::Store;
        let key = crate::record::key(target);
        let stored = self.0.get(&key).await.unwrap().unwrap();
        let mut record = Record::from_body(&key, &stored.body).unwrap();
        record.put = "another run".to_owned();
        self.0.replace(&key, &stored.token, record.to_body()).await.unwrap();
    }
}

#[async_trait::async_trait]
impl crate::notify::Notify for Overtaker {
    async fn tell(&self, announcement: &crate::notify::Announcement) -> Told {
        self.overtake(&announcement.target).await;
        self.1.clone()
    }
}

#[async_trait::async_trait]
impl crate::target::Look for Overtaker {
    async fn look(&self, target: &crate::Target) -> Seen {
        self.overtake(target).await;
        satisfied()
    }
}
