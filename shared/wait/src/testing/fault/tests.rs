use std::sync::Arc;
use std::time::Duration;

use matsu_lock::{MemoryStore, Store, Write};

use super::*;
use crate::handle::Handled;
use crate::job::{Job, RdsCopy, Tags};
use crate::ledger::Stop;
use crate::pass::Passed;
use crate::queue::{Outgoing, Queue, QueueError};
use crate::start::Request;
use crate::target::Seen;
use crate::testing::{Bench, SECOND, request, target};
use crate::wait::{Extra, OutcomeKind, Status};
use crate::work::Worker;
use crate::{Engine, Run};

const TARGET: &str = "s3://my-bucket/key";

fn message(body: &str) -> Outgoing {
    Outgoing {
        body: body.to_owned(),
        delay: Duration::ZERO,
    }
}

fn with_job() -> Request {
    let job = RdsCopy {
        source: "arn:aws:rds:eu-central-1:123456789012:snapshot:source".to_owned(),
        source_created: None,
        source_instance: None,
        source_cluster: None,
        kms_key: None,
        tags: Tags::None,
        extra: Extra::new(),
    };
    Request {
        job: Some(Job::RdsCopy(Box::new(job))),
        ..request(TARGET, "origin-1")
    }
}

/// Starts the wait in a bench whose target is there at the first look.
async fn started(bench: &Bench) {
    bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
    bench.start(&request(TARGET, "origin-1")).await;
}

/// Receives one message and works it with these ports.
async fn handled(bench: &Bench, engine: Engine) -> Handled {
    let delivery = bench.queue.receive(1, SECOND).await.unwrap().pop().unwrap();
    let run = Run::new(engine, bench.lease());
    crate::handle::handle(&run, &bench.rules(&delivery.id), &delivery.body).await
}

fn became(handled: &Handled) -> &Passed {
    match handled {
        Handled::Passed(passed) => passed,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_call_takes_the_next_fault_of_its_plan_and_behind_its_end_all_goes_well() {
    let bench = Bench::new();
    let queue = FaultyQueue::in_front_of(bench.queue.clone());
    queue.sends([None, Some(QueueFault::Lost), Some(QueueFault::Unanswered)]);
    let sent = queue.send(["1", "2", "3", "4"].map(message).to_vec()).await;
    assert_eq!(
        sent.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, false, true]
    );
    let bodies: Vec<_> = bench.queue.waiting().into_iter().map(|w| w.body).collect();
    assert_eq!(
        bodies,
        ["1", "3", "4"],
        "what is unanswered has its effect all the same"
    );
    queue.receives(nth(2, QueueFault::Denied));
    assert_eq!(queue.receive(1, SECOND).await.unwrap().len(), 1);
    assert!(matches!(queue.receive(1, SECOND).await, Err(QueueError::Refused(_))));
    assert_eq!(queue.receive(1, SECOND).await.unwrap().len(), 1);
    queue.visibilities(std::iter::repeat(Some(QueueFault::Throttled)));
    for _ in 0..3 {
        assert!(matches!(queue.visibility().await, Err(QueueError::Unavailable(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn what_hangs_is_never_answered_with_and_without_its_effect() {
    let bench = Bench::new();
    let queue = FaultyQueue::in_front_of(bench.queue.clone());
    let store = FaultyStore::new(bench.store.clone());
    for (happened, of_queue, of_write) in [
        (0, QueueFault::Hangs, WriteFault::Hangs),
        (1, QueueFault::HangsAfter, WriteFault::HangsAfter),
    ] {
        queue.sends([Some(of_queue)]);
        let send = queue.send(vec![message("1")]);
        assert!(tokio::time::timeout(SECOND, send).await.is_err());
        assert_eq!(bench.queue.waiting().len(), happened);
        store.writes([Some(of_write)]);
        let write = store.create("key", b"1".to_vec());
        assert!(tokio::time::timeout(SECOND, write).await.is_err());
        assert_eq!(bench.store.get("key").await.unwrap().is_some(), happened == 1);
    }
    store.reads([Some(ReadFault::Hangs)]);
    assert!(tokio::time::timeout(SECOND, store.get("key")).await.is_err());
    assert!(store.get("key").await.unwrap().is_some());
}

#[tokio::test]
async fn a_store_that_refuses_to_be_asked_so_often_has_written_nothing() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new(Bench::new().clock.clone())));
    store.writes([Some(WriteFault::Throttled)]);
    assert!(store.create("key", b"1".to_vec()).await.is_err());
    store.lists([Some(ReadFault::Unavailable), Some(ReadFault::Denied)]);
    assert!(store.list("", None).await.is_err());
    assert!(store.list("", None).await.is_err());
    assert!(store.list("", None).await.unwrap().entries.is_empty());
    let written = store.create("key", b"1".to_vec()).await.unwrap();
    assert!(matches!(written, Write::Written { .. }));
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_to_a_look_the_wait_goes_on() {
    for fault in [
        LookFault::Lost,
        LookFault::Hangs,
        LookFault::Throttled,
        LookFault::Denied,
        LookFault::Missing,
    ] {
        let bench = Bench::new();
        started(&bench).await;
        let look = Arc::new(FaultyLook::in_front_of(bench.look.clone()));
        look.looks([Some(fault)]);
        let engine = Engine { look, ..bench.engine() };
        assert_eq!(
            became(&handled(&bench, engine.clone()).await),
            &Passed::Again,
            "{fault:?}"
        );
        bench.clock.advance(SECOND * 60);
        bench.turn().await;
        let (record, _) = bench.record(&target(TARGET)).await.unwrap();
        assert_eq!(
            record.outcome.map(|outcome| outcome.kind),
            Some(OutcomeKind::Completed),
            "{fault:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_start_is_not_answered_is_started_by_the_first_pass() {
    for (fault, attempts) in [
        (JobFault::Lost, 1),
        (JobFault::Unanswered, 2),
        (JobFault::Hangs, 1),
        (JobFault::HangsAfter, 2),
        (JobFault::Throttled, 1),
    ] {
        let bench = Bench::new();
        let jobs = Arc::new(FaultyJobs::in_front_of(bench.jobs.clone()));
        jobs.starts([Some(fault)]);
        let run = Run::new(Engine { jobs, ..bench.engine() }, bench.lease());
        crate::start::start(&run, &with_job()).await.unwrap();
        bench.turn().await;
        assert_eq!(bench.jobs.attempts().len(), attempts, "{fault:?}");
        assert_eq!(bench.look.looked().len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_job_that_is_denied_ends_its_wait_as_failed_to_start() {
    let bench = Bench::new();
    let jobs = Arc::new(FaultyJobs::in_front_of(bench.jobs.clone()));
    jobs.starts([Some(JobFault::Denied)]);
    let engine = Engine { jobs, ..bench.engine() };
    crate::start::start(&Run::new(engine, bench.lease()), &with_job())
        .await
        .unwrap();
    assert_eq!(bench.notify.taken()[0].outcome.kind, OutcomeKind::FailedToStart);
}

#[tokio::test(start_paused = true)]
async fn a_copy_whose_source_cannot_be_looked_at_now_is_given_back_and_one_that_never_can_is_put_aside() {
    for (fault, buried) in [
        (JobFault::Lost, false),
        (JobFault::Throttled, false),
        (JobFault::Hangs, false),
        (JobFault::Denied, true),
    ] {
        let bench = Bench::new();
        let jobs = Arc::new(FaultyJobs::in_front_of(bench.jobs.clone()));
        jobs.preparations([Some(fault)]);
        let engine = Engine { jobs, ..bench.engine() };
        bench
            .queue
            .send(vec![message(r#"{"job":"rds-copy","source":"app"}"#)])
            .await;
        match handled(&bench, engine).await {
            Handled::GiveBack(Stop::JobLater(_)) => assert!(!buried, "{fault:?}"),
            Handled::Buried(_) => assert!(buried, "{fault:?}"),
            other => panic!("{fault:?}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_announcement_whose_answer_is_lost_is_told_again_and_none_is_lost() {
    for (fault, told) in [
        (TellFault::Lost, 1),
        (TellFault::Unanswered, 2),
        (TellFault::Hangs, 1),
        (TellFault::HangsAfter, 2),
        (TellFault::Throttled(SECOND), 1),
    ] {
        let bench = Bench::new();
        started(&bench).await;
        let notify = Arc::new(FaultyNotify::in_front_of(bench.notify.clone()));
        notify.announcements([Some(fault)]);
        let engine = Engine {
            notify,
            ..bench.engine()
        };
        let put_off = handled(&bench, engine).await;
        assert_eq!(
            became(&put_off),
            &Passed::AnnouncedLater(OutcomeKind::Completed),
            "{fault:?}"
        );
        bench.until_quiet(SECOND * 900).await;
        assert_eq!(bench.notify.taken().len(), told, "{fault:?}");
        assert!(bench.record(&target(TARGET)).await.unwrap().0.is_over(), "{fault:?}");
    }
}

#[tokio::test]
async fn an_announcement_that_is_denied_is_undeliverable() {
    let bench = Bench::new();
    started(&bench).await;
    let notify = Arc::new(FaultyNotify::in_front_of(bench.notify.clone()));
    notify.announcements([Some(TellFault::Denied)]);
    let engine = Engine {
        notify,
        ..bench.engine()
    };
    let ended = handled(&bench, engine).await;
    assert_eq!(became(&ended), &Passed::Finished(OutcomeKind::Completed));
    assert!(bench.notify.taken().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_bad_message_that_cannot_be_put_aside_is_given_back() {
    for fault in [QueueFault::Lost, QueueFault::Hangs, QueueFault::Denied] {
        let bench = Bench::new();
        bench.queue.send(vec![message("nonsense")]).await;
        let queue = Arc::new(FaultyQueue::in_front_of(bench.queue.clone()));
        queue.burials([Some(fault)]);
        let engine = Engine {
            queue,
            ..bench.engine()
        };
        let handled = handled(&bench, engine).await;
        assert!(
            matches!(handled, Handled::GiveBack(Stop::Queue(_))),
            "{fault:?}: {handled:?}"
        );
        assert!(bench.queue.dead().is_empty());
    }
}

/// Works the queue until `enough` messages were handled.
async fn worked(engine: Engine, bench: &Bench, enough: usize) {
    let enough_handled = tokio::sync::Semaphore::new(0);
    let stop = async {
        let _ = enough_handled.acquire_many(u32::try_from(enough).unwrap()).await;
    };
    Worker::new(engine, bench.rules("unused"))
        .run(stop, |_| enough_handled.add_permits(1))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_worker_asks_a_queue_again_that_does_not_answer() {
    let bench = Bench::new();
    started(&bench).await;
    let queue = Arc::new(FaultyQueue::in_front_of(bench.queue.clone()));
    queue.receives([QueueFault::Lost, QueueFault::Throttled, QueueFault::Lost].map(Some));
    let engine = Engine {
        queue,
        ..bench.engine()
    };
    worked(engine, &bench, 1).await;
    assert!(bench.record(&target(TARGET)).await.unwrap().0.is_over());
}

#[tokio::test]
async fn a_worker_that_may_not_receive_says_so_and_ends() {
    let bench = Bench::new();
    let queue = Arc::new(FaultyQueue::in_front_of(bench.queue.clone()));
    queue.receives([Some(QueueFault::Denied)]);
    let engine = Engine {
        queue,
        ..bench.engine()
    };
    let ended = Worker::new(engine, bench.rules("unused"))
        .run(std::future::pending(), |_| {})
        .await;
    assert!(matches!(ended, Err(QueueError::Refused(_))), "{ended:?}");
}

#[tokio::test]
async fn a_message_that_is_not_removed_comes_again_and_changes_nothing() {
    let bench = Bench::new();
    started(&bench).await;
    let queue = Arc::new(FaultyQueue::in_front_of(bench.queue.clone()));
    queue.acknowledgements([Some(QueueFault::Lost)]);
    let engine = Engine {
        queue,
        ..bench.engine()
    };
    worked(engine, &bench, 2).await;
    assert_eq!(bench.notify.taken().len(), 1);
    assert_eq!(bench.look.looked().len(), 1);
    assert!(bench.queue.waiting().is_empty());
}
