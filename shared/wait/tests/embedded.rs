//! The embedded engine under load: one SQLite file, one process, real clock, files as targets.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests, too")]
#![cfg(all(feature = "sqlite", target_os = "linux"))]

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use matsu_lock::{Clock, OsRandom, SqliteFile, SqliteStore, SystemClock};
use matsu_wait::engine::{Engine, Run};
use matsu_wait::event::{OnObjectCreated, Rules};
use matsu_wait::handle::Handled;
use matsu_wait::pass::Passed;
use matsu_wait::queue::SqliteQueue;
use matsu_wait::record::{self, Record};
use matsu_wait::start::{Request, start};
use matsu_wait::target::{Here, Target, Targets};
use matsu_wait::testing::{ScriptedJobs, ScriptedNotify};
use matsu_wait::wait::{OutcomeKind, Policy};
use matsu_wait::work::{LEASE, Worker};

const SECOND: Duration = Duration::from_secs(1);

fn engine(folder: &Path, notify: Arc<ScriptedNotify>) -> Engine {
    let file = SqliteFile::open(folder.join("matsu.db")).unwrap();
    let (clock, random) = (Arc::new(SystemClock), Arc::new(OsRandom));
    Engine {
        store: Arc::new(SqliteStore::new(file.clone(), clock.clone(), random.clone()).unwrap()),
        queue: Arc::new(SqliteQueue::new(file, clock.clone(), random.clone()).unwrap()),
        look: Arc::new(Targets::new(None, Here::default())),
        jobs: Arc::new(ScriptedJobs::default()),
        notify,
        clock,
        random,
    }
}

fn rules() -> Rules {
    Rules {
        here: Here::default(),
        policy: Policy::default(),
        on_object_created: OnObjectCreated::WaitDeleted,
        files: true,
        own_store: None,
        http_allow: Default::default(),
        origin: String::new(),
    }
}

fn request(folder: &Path, number: usize, interval: Duration) -> Request {
    let path = folder.join(format!("awaited-{number}"));
    Request {
        target: Target::parse(&format!("file:{}", path.display()), None, &Here::default()).unwrap(),
        job: None,
        policy: Policy {
            min_delay: interval,
            max_delay: interval,
            ..Policy::default()
        },
        origin: format!("origin-{number}"),
        count: 1,
        seen: None,
    }
}

async fn start_all(engine: &Engine, requests: impl Iterator<Item = Request>) {
    let starts = requests.map(|request| async move {
        start(&Run::new(engine.clone(), LEASE), &request).await.unwrap();
    });
    stream::iter(starts).buffer_unordered(500).collect::<()>().await;
}

/// Resident memory of this process in kilobytes: now, and at its greatest.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let of = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (of("VmRSS:"), of("VmHWM:"))
}

/// Processor time of this process so far, user and system; `/proc` counts it in hundredths of a second.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// Works until `enough`, which sees every message that was handled, says so.
async fn work_until(engine: &Engine, enough: impl Fn(&Handled) -> bool) {
    let (stop, mut stopped) = tokio::sync::watch::channel(false);
    let worker = Worker::new(engine.clone(), rules());
    let stop_when = async move {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let heard = |handled: &Handled| {
        if enough(handled) {
            stop.send_replace(true);
        }
    };
    worker.run(stop_when, heard).await.unwrap();
}

async fn records(engine: &Engine, count: usize, folder: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    for number in 0..count {
        let key = record::key(&request(folder, number, SECOND).target);
        let stored = engine.store.get(&key).await.unwrap().expect("no record is lost");
        records.push(Record::from_body(&key, &stored.body).unwrap());
    }
    records
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figure_1000_embedded_waits_at_once_all_end_and_each_is_told() {
    const WAITS: usize = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let notify = Arc::new(ScriptedNotify::default());
    let engine = engine(folder.path(), notify.clone());
    let before = memory();
    start_all(&engine, (0..WAITS).map(|n| request(folder.path(), n, SECOND))).await;
    let (passes, ended) = (Cell::new(0), Cell::new(0));
    work_until(&engine, |handled| {
        passes.set(passes.get() + 1);
        if passes.get() == 2 * WAITS {
            for number in 0..WAITS {
                std::fs::write(folder.path().join(format!("awaited-{number}")), "").unwrap();
            }
        }
        if matches!(handled, Handled::Passed(Passed::Finished(OutcomeKind::Completed))) {
            ended.set(ended.get() + 1);
        }
        ended.get() == WAITS
    })
    .await;
    assert_eq!(notify.taken().len(), WAITS);
    assert!(records(&engine, WAITS, folder.path()).await.iter().all(Record::is_over));
    let ((_, peak), (begun, _)) = (memory(), before);
    println!(
        "1,000 embedded waits at once: {} passes, all ended and told; peak memory {peak} kB ({} kB more than before)",
        passes.get(),
        peak - begun
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figure_100000_waits_held_by_one_process() {
    const WAITS: usize = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), Arc::default());
    let (before, _) = memory();
    let clock = SystemClock;
    let begun = clock.elapsed();
    start_all(&engine, (0..WAITS).map(|n| request(folder.path(), n, 20 * SECOND))).await;
    let started = clock.elapsed() - begun;
    let (begun, processor_begun) = (clock.elapsed(), processor());
    let passes = Cell::new(0_u32);
    work_until(&engine, |handled| {
        assert!(matches!(handled, Handled::Passed(Passed::Again)), "{handled:?}");
        passes.set(passes.get() + 1);
        passes.get() >= 50_000
    })
    .await;
    let (took, worked) = (clock.elapsed() - begun, processor() - processor_begun);
    let (held, peak) = memory();
    let each = (held.saturating_sub(before)) * 1_024 / WAITS as u64;
    println!(
        "100,000 embedded waits: {:.0} starts a second, {:.0} passes a second at {:.0} µs of processor time each; \
         {each} bytes resident each, {peak} kB at peak",
        WAITS as f64 / started.as_secs_f64(),
        f64::from(passes.get()) / took.as_secs_f64(),
        worked.as_secs_f64() * 1e6 / f64::from(passes.get()),
    );
    assert!(each <= 10_240, "{each} bytes each");
}
