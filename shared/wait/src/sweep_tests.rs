use std::sync::Arc;

use matsu_lock::{Clock, HandClock, MemoryStore, Store};

use super::*;
use crate::engine::Engine;
use crate::message::Body;
use crate::queue::MemoryQueue;
use crate::start::Request;
use crate::target::{Seen, Target};
use crate::testing::{BEGINNING, Bench, FaultyQueue, ReadFault, SECOND, WriteFault, request, target};
use crate::wait::{OutcomeKind, Policy, Status};

const MINUTE: Duration = Duration::from_secs(60);

/// A wait with a fixed interval of a minute: its threshold is lease 60 s + delay 60 s + hidden 65 s.
fn every_minute(text: &str, origin: &str) -> Request {
    let policy = Policy {
        min_delay: MINUTE,
        max_delay: MINUTE,
        ..Policy::default()
    };
    Request {
        policy,
        ..request(text, origin)
    }
}

async fn swept(bench: &Bench) -> Swept {
    sweep(&bench.run(), false).await.unwrap().expect("nobody else sweeps")
}

fn counted(swept: u64, sent: u64) -> Swept {
    Swept {
        swept,
        sent,
        adopted: 0,
    }
}

#[tokio::test]
async fn a_purged_queue_loses_no_wait() {
    let bench = Bench::new();
    let asked = every_minute("s3://my-bucket/key", "origin-1");
    bench.start(&asked).await;
    bench.turn().await;
    bench.queue.purge();
    bench.clock.advance(184 * SECOND);
    assert_eq!(
        swept(&bench).await,
        counted(1, 0),
        "a run may be alive, a timer on its way"
    );
    bench.clock.advance(SECOND);
    assert_eq!(swept(&bench).await, counted(1, 1));
    bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
    bench.until_quiet(MINUTE).await;
    let (record, _) = bench.record(&asked.target).await.unwrap();
    assert_eq!(record.outcome.unwrap().kind, OutcomeKind::Completed);
    assert_eq!(bench.notify.taken().len(), 1);
    bench.clock.advance(24 * 60 * MINUTE);
    assert_eq!(swept(&bench).await, counted(0, 0), "what is over is not even read");
}

#[tokio::test]
async fn a_wait_that_was_never_claimed_is_found_too() {
    let bench = Bench::new();
    bench.start(&every_minute("s3://my-bucket/key", "origin-1")).await;
    bench.queue.purge();
    bench.clock.advance(4 * MINUTE);
    assert_eq!(swept(&bench).await, counted(1, 1));
    bench.turn().await;
    assert_eq!(bench.look.looked().len(), 1);
}

#[tokio::test]
async fn an_outcome_whose_message_was_lost_is_announced() {
    let bench = Bench::new();
    let asked = every_minute("s3://my-bucket/key", "origin-1");
    bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
    bench.notify.will_answer([
        crate::notify::Told::Later {
            after: None,
            why: "503".to_owned(),
        },
        crate::notify::Told::Sent,
    ]);
    bench.start(&asked).await;
    bench.turn().await;
    bench.queue.purge();
    bench.clock.advance(20 * MINUTE);
    assert_eq!(swept(&bench).await, counted(1, 1));
    bench.until_quiet(MINUTE).await;
    assert!(bench.record(&asked.target).await.unwrap().0.is_over());
    assert_eq!(bench.notify.taken().len(), 1);
}

#[tokio::test]
async fn a_backlog_of_hours_at_a_sweep_every_minute_gets_a_message_only_when_its_age_has_doubled() {
    let bench = Bench::new();
    bench.start(&every_minute("s3://my-bucket/key", "origin-1")).await;
    let mut sent_at = Vec::new();
    for minute in 1..=24 * 60 {
        bench.clock.advance(MINUTE);
        if swept(&bench).await.sent > 0 {
            sent_at.push(minute);
        }
    }
    // 185 s · 2^k, each seen by the next whole minute.
    assert_eq!(sent_at, [4, 7, 13, 25, 50, 99, 198, 395, 790]);
    assert_eq!(bench.queue.waiting().len(), 1 + sent_at.len());
    // The backlog ends: the copies find themselves stale, nothing is looked at twice.
    bench.turn().await;
    assert_eq!(bench.look.looked().len(), 1);
}

#[tokio::test]
async fn a_sweep_after_a_long_pause_sends_one_message_however_often_the_age_has_doubled() {
    let bench = Bench::new();
    bench.start(&every_minute("s3://my-bucket/key", "origin-1")).await;
    bench.queue.purge();
    assert_eq!(swept(&bench).await, counted(0, 0));
    bench.clock.advance(72 * 60 * MINUTE);
    assert_eq!(swept(&bench).await, counted(1, 1));
    assert_eq!(swept(&bench).await, counted(1, 0));
}

#[tokio::test]
async fn of_two_sweeps_at_once_one_stops() {
    /// Another sweep writes its note between this one's read and its write.
    #[derive(Debug)]
    struct Raced(Arc<MemoryStore>);
    #[async_trait::async_trait]
    impl Store for Raced {
        async fn get(&self, key: &str) -> Result<Option<matsu_lock::Stored>, StoreError> {
            let read = self.0.get(key).await;
            self.0.create(key, b"{}".to_vec()).await?;
            read
        }
        async fn create(&self, key: &str, body: Vec<u8>) -> Result<Write, StoreError> {
            self.0.create(key, body).await
        }
        async fn replace(&self, key: &str, token: &Token, body: Vec<u8>) -> Result<Write, StoreError> {
            self.0.replace(key, token, body).await
        }
        async fn list(&self, _: &str, _: Option<&str>) -> Result<matsu_lock::Page, StoreError> {
            panic!("the slower sweep lists nothing");
        }
    }
    let bench = Bench::new();
    let mut engine = bench.engine();
    engine.store = Arc::new(Raced(bench.store.clone()));
    assert_eq!(sweep(&Run::new(engine, MINUTE), false).await.unwrap(), None);
}

#[tokio::test]
async fn a_clock_that_was_a_day_ahead_hides_nothing() {
    let bench = Bench::new();
    bench.clock.advance(24 * 60 * MINUTE);
    let ahead = Arc::new(HandClock::new(bench.clock.now() + 24 * 60 * MINUTE));
    let mut engine = bench.engine();
    engine.clock = ahead;
    sweep(&Run::new(engine, MINUTE), false).await.unwrap();
    bench.start(&every_minute("s3://my-bucket/key", "origin-1")).await;
    bench.queue.purge();
    bench.clock.advance(4 * MINUTE);
    assert_eq!(swept(&bench).await, counted(1, 1));
}

#[tokio::test]
async fn the_first_sweep_goes_by_the_clock_of_the_store_and_not_by_its_own() {
    let bench = Bench::new();
    let mut engine = bench.engine();
    engine.store = Arc::new(MemoryStore::new(bench.clock.clone()).telling_date());
    let asked = every_minute("s3://my-bucket/key", "origin-1");
    crate::start::start(&Run::new(engine.clone(), MINUTE), &asked)
        .await
        .unwrap();
    engine.clock = Arc::new(HandClock::new(bench.clock.now() + 24 * 60 * MINUTE));
    let ahead = Run::new(engine.clone(), MINUTE);
    let swept = sweep(&ahead, false).await.unwrap();
    assert_eq!(swept.unwrap().sent, 0, "the record is new");

    // Nor does the note that it left mislead the sweeps after it.
    bench.clock.advance(4 * MINUTE);
    let right = Engine {
        clock: bench.clock.clone(),
        ..engine
    };
    let right = Run::new(right, MINUTE);
    assert_eq!(sweep(&right, false).await.unwrap().unwrap().sent, 1);
    assert_eq!(sweep(&right, false).await.unwrap().unwrap().sent, 0);
    assert_eq!(sweep(&ahead, false).await.unwrap().unwrap().sent, 0);
}

#[tokio::test]
async fn the_waits_of_another_queue_are_left_alone_until_they_are_adopted() {
    let bench = Bench::new();
    let asked = every_minute("s3://my-bucket/key", "origin-1");
    bench.start(&asked).await;
    let (before, _) = bench.record(&asked.target).await.unwrap();
    bench.queue.purge();
    bench.clock.advance(60 * MINUTE);
    let mut engine = bench.engine();
    let new_home = Arc::new(MemoryQueue::new("111111111111/new", bench.clock.clone()));
    engine.queue = new_home.clone();
    let run = Run::new(engine, MINUTE);
    assert_eq!(sweep(&run, false).await.unwrap(), Some(counted(0, 0)));
    let adopted = Swept {
        swept: 0,
        sent: 1,
        adopted: 1,
    };
    assert_eq!(sweep(&run, true).await.unwrap(), Some(adopted));
    let (record, token) = bench.record(&asked.target).await.unwrap();
    assert_eq!(record.wait.home, "111111111111/new");
    assert_eq!((record.pass, &record.wait.id), (before.pass, &before.wait.id));
    let waiting = new_home.waiting();
    assert_eq!(waiting[0].due - bench.clock.elapsed(), MINUTE, "delayed by a lease");
    let Ok(Body::Timer(timer)) = Body::parse(&waiting[0].body) else {
        panic!("{}", waiting[0].body);
    };
    assert_eq!(
        (timer.token, timer.count, timer.wait.home),
        (token, 1, record.wait.home)
    );
}

#[tokio::test]
async fn a_record_that_cannot_be_read_does_not_keep_the_others_from_being_swept() {
    let bench = Bench::new();
    for name in ["waits/0.json", "waits/zz.json"] {
        bench.store.create(name, b"{".to_vec()).await.unwrap();
    }
    bench.start(&every_minute("s3://my-bucket/key", "origin-1")).await;
    bench.queue.purge();
    bench.clock.advance(10 * MINUTE);
    assert_eq!(swept(&bench).await, counted(1, 1));
}

#[tokio::test]
async fn a_queue_that_takes_nothing_ends_the_sweep_and_the_next_doubling_makes_it_good() {
    let bench = Bench::new();
    bench.start(&every_minute("s3://my-bucket/key", "origin-1")).await;
    bench.queue.purge();
    bench.clock.advance(4 * MINUTE);
    let mut engine = bench.engine();
    engine.queue = Arc::new(FaultyQueue::new(bench.queue.clone(), ""));
    assert!(matches!(
        sweep(&Run::new(engine, MINUTE), false).await,
        Err(Stop::Queue(_))
    ));
    assert_eq!(swept(&bench).await.sent, 0);
    bench.clock.advance(3 * MINUTE);
    assert_eq!(swept(&bench).await.sent, 1);
}

#[tokio::test]
async fn a_note_that_was_written_unanswered_lets_the_sweep_go_on_and_a_lost_one_ends_it() {
    let bench = Bench::new();
    let (store, run) = bench.run_with_faults();
    for _ in 0..2 {
        store.writes([Some(WriteFault::Lost)]);
        assert!(matches!(sweep(&run, false).await, Err(Stop::Store(_))));
        store.writes([Some(WriteFault::Unanswered)]);
        assert_eq!(sweep(&run, false).await.unwrap(), Some(counted(0, 0)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_ends_the_sweep_in_time() {
    let bench = Bench::new();
    bench.start(&every_minute("s3://my-bucket/key", "origin-1")).await;
    bench.clock.advance(4 * MINUTE);
    let (store, run) = bench.run_with_faults();
    store.reads([Some(ReadFault::Hangs)]);
    assert!(matches!(sweep(&run, false).await, Err(Stop::Store(_))));
    store.writes([Some(WriteFault::Hangs)]);
    assert!(matches!(sweep(&run, false).await, Err(Stop::Store(_))));
    store.lists([Some(ReadFault::Hangs)]);
    assert!(matches!(sweep(&run, false).await, Err(Stop::Store(_))));
    // A record that is not told at once is asked for again.
    store.reads([None, Some(ReadFault::Hangs)]);
    assert!(sweep(&run, false).await.unwrap().is_some());
}

#[tokio::test]
async fn a_wait_that_moves_on_while_it_is_adopted_stays_where_it_is() {
    /// Another run writes a record just before anybody replaces it.
    #[derive(Debug)]
    struct Moving(Arc<MemoryStore>);
    #[async_trait::async_trait]
    impl Store for Moving {
        async fn get(&self, key: &str) -> Result<Option<matsu_lock::Stored>, StoreError> {
            self.0.get(key).await
        }
        async fn create(&self, key: &str, body: Vec<u8>) -> Result<Write, StoreError> {
            self.0.create(key, body).await
        }
        async fn replace(&self, key: &str, token: &Token, body: Vec<u8>) -> Result<Write, StoreError> {
            if let Some(stands) = self.0.get(key).await?
                && let Ok(mut record) = Record::from_body(key, &stands.body)
            {
                record.put = "another run".to_owned();
                self.0.replace(key, &stands.token, record.to_body()).await?;
            }
            self.0.replace(key, token, body).await
        }
        async fn list(&self, prefix: &str, after: Option<&str>) -> Result<matsu_lock::Page, StoreError> {
            self.0.list(prefix, after).await
        }
    }
    let bench = Bench::new();
    let asked = every_minute("s3://my-bucket/key", "origin-1");
    bench.start(&asked).await;
    let new_home = Arc::new(MemoryQueue::new("111111111111/new", bench.clock.clone()));
    let engine = crate::Engine {
        store: Arc::new(Moving(bench.store.clone())),
        queue: new_home.clone(),
        ..bench.engine()
    };
    assert_eq!(
        sweep(&Run::new(engine, MINUTE), true).await.unwrap(),
        Some(counted(0, 0))
    );
    assert_eq!(
        bench.record(&asked.target).await.unwrap().0.wait.home,
        "000000000000/bench"
    );
    assert!(new_home.waiting().is_empty());
}

/// The cost follows the open waits: 1,000 of them, 10 orphans among those, in 100,000 records.
#[tokio::test]
async fn figure_a_sweep_of_1000_open_waits_among_100000_records() {
    let bench = Bench::new();
    let closed = vec![b' '; 1_000];
    for number in 0..99_000 {
        let key = record::key(&object(number));
        bench.store.create(&key, closed.clone()).await.unwrap();
    }
    for number in 99_000..99_010 {
        bench.start(&every_minute(&object(number).to_string(), "orphan")).await;
    }
    bench.queue.purge();
    bench.clock.advance(10 * MINUTE);
    for number in 99_010..100_000 {
        bench.start(&every_minute(&object(number).to_string(), "alive")).await;
    }
    bench.clock.advance(2 * MINUTE);
    bench.store.reset_counts();
    let sent = bench.queue.sends();
    assert_eq!(swept(&bench).await, counted(1_000, 10));
    assert_eq!(bench.queue.sends() - sent, 10);
    let counts = bench.store.counts();
    println!("a sweep of 1,000 open waits (10 orphans) among 100,000 records: {counts:?}");
    assert!(
        counts.lists <= 110 && counts.gets <= 1_100 && counts.puts == 1,
        "{counts:?}"
    );
}

fn object(number: u32) -> Target {
    target(&format!("s3://my-bucket/{number:06}"))
}

#[test]
fn an_age_is_due_when_it_has_passed_the_threshold_or_a_doubling_of_it_since_the_sweep_before() {
    let at = |second: i64| Timestamp::from_second(BEGINNING + second).unwrap();
    let due = |before: Option<i64>, now: i64| {
        let window = Window {
            before: before.map(at),
            now: at(now),
        };
        window.is_due(at(0), Duration::from_secs(100))
    };
    let table = [
        (None, 99, false),
        (None, 100, true),
        (None, 399, true),
        (Some(-50), 99, false),
        (Some(-50), 100, true),
        (Some(99), 100, true),
        (Some(100), 199, false),
        (Some(100), 200, true),
        (Some(150), 201, true),
        (Some(200), 399, false),
        (Some(399), 400, true),
        (Some(150), 1_700, true),
    ];
    for (before, now, expected) in table {
        assert_eq!(due(before, now), expected, "{before:?} {now}");
    }
}
