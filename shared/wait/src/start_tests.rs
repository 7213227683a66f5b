use std::sync::Arc;

use matsu_lock::{Clock, MemoryStore, Store};

use super::*;
use crate::job::{RdsCopy, Tags};
use crate::message::{Body, Message};
use crate::notify::Told;
use crate::queue::Queue;
use crate::record::Notified;
use crate::target::Seen;
use crate::testing::{Bench, SECOND, WriteFault, request, target};
use crate::wait::Status;

const TARGET: &str = "s3://bucket/key";

fn with_job(origin: &str) -> Request {
    let job = RdsCopy {
        source: "arn:aws:rds:eu-central-1:123456789012:snapshot:source".to_owned(),
        source_created: None,
        source_instance: None,
        source_cluster: None,
        kms_key: None,
        tags: Tags::None,
        extra: crate::wait::Extra::new(),
    };
    Request {
        job: Some(Job::RdsCopy(Box::new(job))),
        ..request(TARGET, origin)
    }
}

fn satisfied() -> Seen {
    Seen::Satisfied(Status::new("exists"))
}

/// The timers in the queue with the delay that is left of each.
fn timers(bench: &Bench) -> Vec<(Message, Duration)> {
    let now = matsu_lock::Clock::elapsed(&*bench.clock);
    let timer = |body: &str| match Body::parse(body) {
        Ok(Body::Timer(message)) => Some(*message),
        _ => None,
    };
    bench
        .queue
        .waiting()
        .into_iter()
        .filter_map(|waiting| Some((timer(&waiting.body)?, waiting.due.saturating_sub(now))))
        .collect()
}

fn created(started: &Started) -> &str {
    match started {
        Started::Created { wait } => wait,
        Started::Already { .. } => panic!("{started:?}"),
    }
}

/// A wait for the target that has ended, announced or not.
async fn ended(bench: &Bench, origin: &str, told: Told) -> String {
    bench.look.will_see([satisfied()]);
    bench.notify.will_answer([told]);
    let id = created(&bench.start(&request(TARGET, origin)).await).to_owned();
    bench.turn().await;
    id
}

fn later() -> Told {
    Told::Later {
        after: Some(SECOND * 600),
        why: "503".to_owned(),
    }
}

#[tokio::test]
async fn a_new_target_gets_a_record_and_its_first_message_at_once() {
    let bench = Bench::new();
    let started = bench.start(&request(TARGET, "event-1")).await;
    let (record, token) = bench.record(&target(TARGET)).await.unwrap();
    assert_eq!(created(&started), record.wait.id);
    assert_eq!((record.state, record.pass, record.parent), (State::Waiting, 0, None));
    assert_eq!(record.wait.home, "000000000000/bench");
    let (message, delay) = timers(&bench).pop().unwrap();
    assert_eq!((message.count, message.token, delay), (1, token, Duration::ZERO));
    assert_eq!((message.wait, message.seen), (record.wait, None));
}

#[tokio::test]
async fn a_start_costs_one_put_and_no_read() {
    let bench = Bench::new();
    bench.start(&request(TARGET, "event-1")).await;
    let counts = bench.store.counts();
    assert_eq!((counts.puts, counts.gets), (1, 0));
}

#[tokio::test]
async fn a_create_that_took_effect_unanswered_is_known_by_its_put() {
    let bench = Bench::new();
    let (store, run) = bench.run_with_faults();
    store.writes([Some(WriteFault::Unanswered)]);
    let started = start(&run, &request(TARGET, "event-1")).await.unwrap();
    created(&started);
    assert_eq!(timers(&bench).len(), 1);
    assert_eq!(bench.store.counts().puts, 1);
}

#[tokio::test]
async fn a_create_of_which_nothing_is_seen_is_the_same_put_again_and_its_late_first_try_bounces() {
    let bench = Bench::new();
    let (store, run) = bench.run_with_faults();
    store.writes([Some(WriteFault::Late)]);
    let started = start(&run, &request(TARGET, "event-1")).await.unwrap();
    created(&started);
    let before = bench.record(&target(TARGET)).await;
    assert_eq!(store.land().await, [matsu_lock::Write::Refused]);
    assert_eq!(bench.record(&target(TARGET)).await, before);
}

#[tokio::test]
async fn a_request_without_permission_to_write_is_given_back_and_nothing_is_sent() {
    let bench = Bench::new();
    let (store, run) = bench.run_with_faults();
    store.writes([Some(WriteFault::Denied)]);
    let stop = start(&run, &request(TARGET, "event-1")).await.unwrap_err();
    assert!(stop.to_string().contains("s3:PutObject"), "{stop}");
    assert!(bench.queue.waiting().is_empty());
}

#[tokio::test]
async fn an_earlier_try_of_the_same_request_is_gone_on_with() {
    let bench = Bench::new();
    let id = created(&bench.start(&request(TARGET, "event-1")).await).to_owned();
    bench.queue.purge();
    let again = bench.start(&request(TARGET, "event-1")).await;
    assert!(matches!(again, Started::Already { wait: Some(wait), .. } if wait == id));
    let (message, delay) = timers(&bench).pop().unwrap();
    assert_eq!((message.count, delay), (1, Duration::ZERO));
    assert_eq!(message.token, bench.record(&target(TARGET)).await.unwrap().1);
}

#[tokio::test]
async fn the_same_request_is_served_already_once_its_wait_was_claimed() {
    let bench = Bench::new();
    bench.start(&request(TARGET, "event-1")).await;
    bench.turn().await;
    let sends = bench.queue.sends();
    assert!(matches!(
        bench.start(&request(TARGET, "event-1")).await,
        Started::Already { wait: Some(_), .. }
    ));
    assert_eq!(bench.queue.sends(), sends);
}

#[tokio::test]
async fn the_same_request_whose_wait_ended_unannounced_sends_its_message_delayed_by_a_lease() {
    let bench = Bench::new();
    let id = ended(&bench, "event-1", later()).await;
    bench.queue.purge();
    let again = bench.start(&request(TARGET, "event-1")).await;
    assert!(matches!(again, Started::Already { wait: Some(wait), .. } if wait == id));
    let (record, token) = bench.record(&target(TARGET)).await.unwrap();
    let (message, delay) = timers(&bench).pop().unwrap();
    assert_eq!(
        (message.count, Some(message.token), message.seen),
        (record.pass, record.parent, Some(token))
    );
    assert_eq!(delay, bench.lease());
    bench.notify.will_answer([Told::Sent]);
    bench.until_quiet(SECOND * 100).await;
    assert_eq!(bench.notify.taken().len(), 1);
}

#[tokio::test]
async fn the_same_request_after_its_wait_is_over_starts_nothing() {
    let bench = Bench::new();
    let id = ended(&bench, "event-1", Told::Sent).await;
    let again = bench.start(&request(TARGET, "event-1")).await;
    assert!(matches!(again, Started::Already { wait: Some(wait), .. } if wait == id));
    assert!(bench.queue.waiting().is_empty());
}

#[tokio::test]
async fn a_request_that_an_earlier_wait_served_is_known_from_the_history() {
    let bench = Bench::new();
    let first = ended(&bench, "event-1", Told::Sent).await;
    let second = ended(&bench, "event-2", Told::Sent).await;
    assert_ne!(first, second);
    let late = bench.start(&request(TARGET, "event-1")).await;
    assert!(matches!(late, Started::Already { wait: Some(wait), .. } if wait == first));
    assert!(bench.queue.waiting().is_empty());
}

#[tokio::test]
async fn the_history_keeps_the_last_sixteen_waits() {
    let bench = Bench::new();
    for number in 0..20 {
        ended(&bench, &format!("event-{number}"), Told::Sent).await;
    }
    let (record, _) = bench.record(&target(TARGET)).await.unwrap();
    let origins: Vec<_> = record.wait.history.iter().map(|past| past.origin.as_str()).collect();
    assert_eq!(origins.len(), HISTORY);
    assert_eq!((origins[0], origins[15]), ("event-3", "event-18"));
}

#[tokio::test]
async fn another_request_for_a_waiting_target_shares_its_wait_and_starts_its_job_all_the_same() {
    let bench = Bench::new();
    let id = created(&bench.start(&request(TARGET, "event-1")).await).to_owned();
    let sends = bench.queue.sends();
    let shared = bench.start(&with_job("event-2")).await;
    assert!(matches!(shared, Started::Already { wait: Some(wait), .. } if wait == id));
    assert_eq!(bench.jobs.attempts(), [target(TARGET)]);
    assert_eq!(bench.queue.sends(), sends);
}

#[tokio::test]
async fn a_throttled_job_of_a_request_that_shares_a_wait_gives_the_request_back() {
    let bench = Bench::new();
    bench.start(&request(TARGET, "event-1")).await;
    bench.jobs.will_answer([Begun::Later("throttled".to_owned())]);
    let stop = start(&bench.run(), &with_job("event-2")).await.unwrap_err();
    assert!(matches!(stop, Stop::JobLater(_)), "{stop}");
}

#[tokio::test]
async fn a_job_that_is_refused_to_a_request_that_shares_a_wait_leaves_the_wait_as_it_is() {
    let bench = Bench::new();
    let id = created(&bench.start(&request(TARGET, "event-1")).await).to_owned();
    let before = bench.record(&target(TARGET)).await;
    bench.jobs.will_answer([Begun::Refused("quota".to_owned())]);
    let shared = bench.start(&with_job("event-2")).await;
    assert!(matches!(shared, Started::Already { wait: Some(wait), .. } if wait == id));
    assert_eq!(bench.record(&target(TARGET)).await, before);
}

#[tokio::test]
async fn the_same_request_whose_wait_ended_unannounced_in_another_queue_sends_nothing() {
    let bench = Bench::new();
    ended(&bench, "event-1", later()).await;
    let elsewhere = Arc::new(crate::queue::MemoryQueue::new("111111111111/new", bench.clock.clone()));
    let engine = crate::Engine {
        queue: elsewhere.clone(),
        ..bench.engine()
    };
    let again = start(&Run::new(engine, bench.lease()), &request(TARGET, "event-1"))
        .await
        .unwrap();
    assert!(matches!(again, Started::Already { wait: Some(_), .. }), "{again:?}");
    assert!(elsewhere.waiting().is_empty());
}

#[tokio::test]
async fn a_request_whose_forerunners_record_is_removed_in_between_starts_afresh() {
    /// What was there is gone as soon as anybody replaces it: its days were over.
    #[derive(Debug)]
    struct Removed {
        before: Arc<MemoryStore>,
        after: Arc<MemoryStore>,
        gone: std::sync::atomic::AtomicBool,
    }
    impl Removed {
        fn now(&self) -> &MemoryStore {
            if self.gone.load(std::sync::atomic::Ordering::Relaxed) {
                &self.after
            } else {
                &self.before
            }
        }
    }
    #[async_trait::async_trait]
    impl Store for Removed {
        async fn get(&self, key: &str) -> Result<Option<matsu_lock::Stored>, matsu_lock::StoreError> {
            self.now().get(key).await
        }
        async fn create(&self, key: &str, body: Vec<u8>) -> Result<matsu_lock::Write, matsu_lock::StoreError> {
            self.now().create(key, body).await
        }
        async fn replace(&self, _: &str, _: &Token, _: Vec<u8>) -> Result<matsu_lock::Write, matsu_lock::StoreError> {
            self.gone.store(true, std::sync::atomic::Ordering::Relaxed);
            Ok(matsu_lock::Write::Refused)
        }
        async fn list(&self, prefix: &str, after: Option<&str>) -> Result<matsu_lock::Page, matsu_lock::StoreError> {
            self.now().list(prefix, after).await
        }
    }
    let bench = Bench::new();
    ended(&bench, "event-1", Told::Sent).await;
    let after = Arc::new(MemoryStore::new(bench.clock.clone()));
    let engine = crate::Engine {
        store: Arc::new(Removed {
            before: bench.store.clone(),
            after: after.clone(),
            gone: false.into(),
        }),
        ..bench.engine()
    };
    let started = start(&Run::new(engine, bench.lease()), &request(TARGET, "event-2"))
        .await
        .unwrap();
    let id = created(&started).to_owned();
    let key = crate::record::key(&target(TARGET));
    let record = Record::from_body(&key, &after.get(&key).await.unwrap().unwrap().body).unwrap();
    assert_eq!((record.wait.id, record.wait.history), (id, Vec::new()));
}

#[tokio::test]
async fn a_copy_that_a_raw_message_asks_for_is_prepared_started_and_waited_for() {
    let bench = Bench::new();
    let job = with_job("unused").job.unwrap();
    bench.jobs.will_prepare([
        Ok((target("rds:snapshot/app-copy"), job)),
        Err(PrepareError::Unwanted("its source is a copy itself".to_owned())),
    ]);
    for source in ["app", "app-copy"] {
        let body = format!(r#"{{"job": "rds-copy", "source": "{source}"}}"#);
        let message = crate::queue::Outgoing {
            body,
            delay: Duration::ZERO,
        };
        bench.queue.send(vec![message]).await;
    }
    bench.turn().await;
    let (record, _) = bench.record(&target("rds:snapshot/app-copy")).await.unwrap();
    assert!(record.wait.job.is_some() && record.pass == 0, "{record:?}");
    assert_eq!(bench.jobs.attempts(), [target("rds:snapshot/app-copy")]);
    assert_eq!(bench.queue.dead()[0].1, "its source is a copy itself");
}

#[tokio::test]
async fn a_request_for_a_target_whose_wait_ended_unannounced_is_put_off_by_a_lease() {
    let bench = Bench::new();
    ended(&bench, "event-1", later()).await;
    bench.queue.purge();
    let before = bench.record(&target(TARGET)).await.unwrap();
    let put_off = bench.start(&with_job("event-2")).await;
    assert!(matches!(put_off, Started::Already { wait: None, .. }));
    assert_eq!(bench.record(&target(TARGET)).await.unwrap(), before);
    assert!(bench.jobs.attempts().is_empty());
    let waiting = bench.queue.waiting().pop().unwrap();
    assert_eq!(waiting.due - matsu_lock::Clock::elapsed(&*bench.clock), bench.lease());
    let Ok(Body::Raw(raw)) = Body::parse(&waiting.body) else {
        panic!("{}", waiting.body)
    };
    let expected = Request {
        seen: Some(before.1),
        ..with_job("event-2")
    };
    assert_eq!(
        event::direct(&raw, &bench.rules("message")),
        Ok(event::Wanted::Start(expected))
    );
}

#[tokio::test]
async fn a_request_that_was_put_off_carries_the_unannounced_outcome_on() {
    let bench = Bench::new();
    let first = ended(&bench, "event-1", later()).await;
    bench.queue.purge();
    bench.start(&request(TARGET, "event-2")).await;
    bench.notify.will_answer([Told::Sent]);
    bench.until_quiet(SECOND * 100).await;
    let told: Vec<_> = bench.notify.taken().into_iter().map(|a| a.wait).collect();
    let (record, _) = bench.record(&target(TARGET)).await.unwrap();
    assert_eq!(told, [first, record.wait.id.clone()]);
    assert!(record.is_over());
    assert!(record.wait.owed.is_empty());
}

#[tokio::test]
async fn a_request_that_was_put_off_too_often_waits_for_the_channel() {
    let bench = Bench::new();
    ended(&bench, "event-0", later()).await;
    for number in 1..=MOST_OWED + 1 {
        bench.queue.purge();
        let (_, token) = bench.record(&target(TARGET)).await.unwrap();
        let again = Request {
            seen: Some(token),
            ..request(TARGET, &format!("event-{number}"))
        };
        let started = bench.start(&again).await;
        bench.turn().await;
        assert_eq!(
            matches!(started, Started::Created { .. }),
            number <= MOST_OWED,
            "{number}: {started:?}"
        );
    }
    let (record, _) = bench.record(&target(TARGET)).await.unwrap();
    assert_eq!(record.wait.owed.len(), MOST_OWED);
}

#[tokio::test]
async fn the_first_message_says_that_the_job_was_started() {
    let bench = Bench::new();
    bench.start(&with_job("event-1")).await;
    let (message, _) = timers(&bench).pop().unwrap();
    assert!(message.wait.job_started.is_some());
    bench.turn().await;
    assert_eq!(bench.jobs.attempts().len(), 1);
}

#[tokio::test]
async fn a_throttled_job_is_left_to_the_passes_which_start_it_before_they_look() {
    let bench = Bench::new();
    bench.jobs.will_answer([
        Begun::Later("20 copies in progress".to_owned()),
        Begun::Later("20".to_owned()),
        Begun::Started,
    ]);
    created(&bench.start(&with_job("event-1")).await);
    bench.turn().await;
    assert!(bench.look.looked().is_empty());
    bench.look.will_see([satisfied()]);
    bench.until_quiet(SECOND * 100).await;
    assert_eq!((bench.jobs.attempts().len(), bench.look.looked().len()), (3, 1));
    assert_eq!(bench.notify.taken()[0].outcome.kind, OutcomeKind::Completed);
}

#[tokio::test]
async fn a_job_that_is_refused_for_good_ends_as_failed_to_start_and_is_announced() {
    let bench = Bench::new();
    bench
        .jobs
        .will_answer([Begun::Refused("the KMS key cannot be used".to_owned())]);
    let started = bench.start(&with_job("event-1")).await;
    created(&started);
    let (record, _) = bench.record(&target(TARGET)).await.unwrap();
    assert_eq!(
        (record.state, record.pass, record.notified),
        (State::Done, 1, Some(Notified::Sent))
    );
    assert!(record.parent.is_some());
    let told = bench.notify.taken();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].outcome.kind, OutcomeKind::FailedToStart);
    assert_eq!(told[0].outcome.reason, "the KMS key cannot be used");
    assert!(bench.queue.waiting().is_empty());
}

#[tokio::test]
async fn a_refused_job_that_cannot_be_announced_now_is_announced_later() {
    let bench = Bench::new();
    bench.jobs.will_answer([Begun::Refused("no".to_owned())]);
    bench.notify.will_answer([later(), Told::Sent]);
    bench.start(&with_job("event-1")).await;
    let (record, token) = bench.record(&target(TARGET)).await.unwrap();
    let (message, _) = timers(&bench).pop().unwrap();
    assert_eq!(
        (message.count, Some(message.token), message.seen),
        (1, record.parent, Some(token))
    );
    bench.until_quiet(SECOND * 1_000).await;
    assert_eq!(bench.notify.taken().len(), 1);
    assert!(bench.record(&target(TARGET)).await.unwrap().0.is_over());
}

#[tokio::test]
async fn a_refused_job_whose_wait_moved_on_in_between_is_over() {
    #[derive(Debug)]
    struct ClaimsMeanwhile(Arc<MemoryStore>);
    #[async_trait::async_trait]
    impl crate::job::Jobs for ClaimsMeanwhile {
        async fn prepare(&self, _: &CopyRequest) -> Result<(Target, Job), PrepareError> {
            Err(PrepareError::Bad("no".to_owned()))
        }
        async fn start(&self, _: &Job, target: &Target) -> Begun {
            use matsu_lock::Store;
            let key = crate::record::key(target);
            let stored = self.0.get(&key).await.unwrap().unwrap();
            let mut record = Record::from_body(&key, &stored.body).unwrap();
            record.put = "another run".to_owned();
            self.0.replace(&key, &stored.token, record.to_body()).await.unwrap();
            Begun::Refused("no".to_owned())
        }
    }
    let bench = Bench::new();
    let engine = crate::Engine {
        jobs: Arc::new(ClaimsMeanwhile(bench.store.clone())),
        ..bench.engine()
    };
    start(&Run::new(engine, bench.lease()), &with_job("event-1"))
        .await
        .unwrap();
    assert!(bench.notify.asked().is_empty());
    assert_eq!(bench.record(&target(TARGET)).await.unwrap().0.state, State::Waiting);
}

#[tokio::test]
async fn a_raw_message_starts_at_its_count_without_delay_under_the_id_of_the_message() {
    let bench = Bench::new();
    bench
        .queue
        .send(vec![crate::queue::Outgoing {
            body: format!(r#"{{"target": "{TARGET}", "count": 29}}"#),
            delay: Duration::ZERO,
        }])
        .await;
    bench.turn().await;
    let (record, _) = bench.record(&target(TARGET)).await.unwrap();
    assert_eq!((record.pass, record.parent), (28, None));
    let (message, delay) = timers(&bench).pop().unwrap();
    assert_eq!((message.count, delay), (29, Duration::ZERO));
    assert!(!record.wait.origin.is_empty());
}

#[tokio::test]
async fn the_deadline_counts_from_the_stores_own_clock() {
    let bench = Bench::new();
    bench.clock.jump(jiff::SignedDuration::from_hours(-24));
    let store = Arc::new(
        MemoryStore::new(Arc::new(matsu_lock::HandClock::new(
            jiff::Timestamp::from_second(crate::testing::BEGINNING).unwrap(),
        )))
        .telling_date(),
    );
    let engine = crate::Engine {
        store,
        ..bench.engine()
    };
    start(&Run::new(engine, bench.lease()), &request(TARGET, "event-1"))
        .await
        .unwrap();
    let (message, _) = timers(&bench).pop().unwrap();
    assert_eq!(message.wait.started_at.as_second(), crate::testing::BEGINNING);
}

#[tokio::test]
async fn a_raw_message_of_the_greatest_count_gets_one_look() {
    let bench = Bench::new();
    let policy = Policy {
        max_count: u32::MAX,
        ..Policy::default()
    };
    let last = Request {
        count: u32::MAX,
        policy,
        ..request(TARGET, "event-1")
    };
    bench.start(&last).await;
    bench.turn().await;
    let (record, _) = bench.record(&target(TARGET)).await.unwrap();
    assert_eq!(bench.look.looked().len(), 1);
    assert_eq!(
        record.outcome.and_then(|outcome| outcome.limit),
        Some(crate::wait::Limit::Count)
    );
}

#[tokio::test]
async fn a_clock_that_is_as_wrong_as_can_be_breaks_nothing() {
    for end in [jiff::Timestamp::MIN, jiff::Timestamp::MAX] {
        let bench = Bench::new();
        bench.clock.jump(end.duration_since(bench.clock.now()));
        assert_eq!(bench.clock.now(), end);
        bench.notify.will_answer([later()]);
        bench.start(&request(TARGET, "event-1")).await;
        bench.look.will_see([Seen::Pending(Status::new("absent")), satisfied()]);
        bench.until_quiet(SECOND * 60).await;
        let (record, _) = bench.record(&target(TARGET)).await.unwrap();
        assert_eq!(record.state, State::Done, "{end}");
        let swept = crate::sweep::sweep(&bench.run(), false).await.unwrap();
        assert!(swept.is_some(), "{end}");
    }
}
