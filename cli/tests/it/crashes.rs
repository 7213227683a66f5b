//! A worker that is killed again and again in the middle of its work.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use matsu_lock::{Clock, OsRandom, Random, SqliteFile, SqliteStore, Store, SystemClock};
use matsu_wait::record::{self, Record, State};

use crate::harness::{Rig, pause, slow_webhook};

const WAITS: usize = 100;
const KILLS: usize = 10;

/// Every record, read from the file itself.
async fn records(store: &SqliteStore) -> Vec<Record> {
    let page = store.list(record::PREFIX, None).await.unwrap();
    let mut records = Vec::new();
    for listed in page.entries {
        let stored = store.get(&listed.key).await.unwrap().unwrap();
        records.push(Record::from_body(&listed.key, &stored.body).unwrap());
    }
    records
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figure_a_worker_killed_ten_times_in_the_middle_of_100_waits_loses_none() {
    let rig = Rig::new();
    // Slow enough for a kill to come between a message and the record of it now and then.
    let (url, messages) = slow_webhook("200 OK", Duration::from_millis(150));
    let environment = [
        ("MATSU_SLACK_WEBHOOK", url.as_str()),
        ("MATSU_MIN_DELAY", "1s"),
        ("MATSU_MAX_DELAY", "1s"),
        ("MATSU_STORE", "sqlite:matsu.db"),
    ];
    for number in 0..WAITS {
        let target = rig.file(&format!("awaited-{number}."));
        let mut start = rig.command(&["start", "wait", &target]);
        assert!(start.envs(environment).output().unwrap().status.success());
    }
    let file = SqliteFile::open(rig.path("matsu.db")).unwrap();
    let store = SqliteStore::new(file, Arc::new(SystemClock), Arc::new(OsRandom)).unwrap();
    let work = || {
        let mut worker = rig.command(&["worker", "--sweep-every", "20s"]);
        worker.envs(environment).stdout(Stdio::null()).stderr(Stdio::null());
        worker.spawn().unwrap()
    };

    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    let hear = |wait: Duration, told: &mut BTreeMap<String, usize>| {
        while let Ok(message) = messages.recv_timeout(wait) {
            let text = message["text"].as_str().unwrap();
            let name = text.split("awaited-").nth(1).unwrap().split('.').next().unwrap();
            *told.entry(name.to_owned()).or_default() += 1;
        }
    };
    // Told at the moment of a kill, and not recorded as told: only these may be told again.
    let mut died_between = 0;
    let mut accounted: BTreeMap<String, usize> = BTreeMap::new();
    let mut worker = work();
    for kill in 0..KILLS {
        for number in kill * WAITS / KILLS..(kill + 1) * WAITS / KILLS {
            rig.touch(&format!("awaited-{number}."));
        }
        pause(OsRandom.between(Duration::from_millis(200), Duration::from_millis(1_300)));
        worker.kill().unwrap();
        worker.wait().unwrap();
        hear(Duration::from_millis(100), &mut told);
        for record in records(&store)
            .await
            .into_iter()
            .filter(|r| r.state == State::Done && !r.is_over())
        {
            let target = record.wait.target.to_string();
            let Some((name, times)) = told
                .iter()
                .find(|(name, _)| target.ends_with(&format!("awaited-{name}.")))
            else {
                continue;
            };
            let before = accounted.insert(name.clone(), *times).unwrap_or_default();
            died_between += times - before;
        }
        worker = work();
    }
    let begun = SystemClock.elapsed();
    loop {
        let open = records(&store).await.iter().filter(|r| !r.is_over()).count();
        if open == 0 {
            break;
        }
        let waited = SystemClock.elapsed() - begun;
        assert!(
            waited < Duration::from_secs(420),
            "{open} of {WAITS} waits have not ended"
        );
        pause(Duration::from_millis(500));
    }
    hear(Duration::from_millis(500), &mut told);
    worker.kill().unwrap();
    worker.wait().unwrap();

    let records = records(&store).await;
    assert_eq!(records.len(), WAITS);
    assert_eq!(told.len(), WAITS, "each is told");
    let passes: u32 = records.iter().map(|record| record.pass).sum();
    let repeats = told.values().sum::<usize>() - WAITS;
    println!(
        "{KILLS} kills in the middle of {WAITS} waits: none lost, {passes} passes, {repeats} told again, \
         {died_between} runs died between the channel's answer and its record; the last ended {:.0?} after the last kill",
        SystemClock.elapsed() - begun
    );
    assert!(
        repeats <= died_between,
        "{repeats} were told again, {died_between} may be"
    );
}
