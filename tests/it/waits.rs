//! Many waits as a scenario sees them: what they are for, how they are asked for, and how they stand.

use std::time::Duration;

use matsu_lock::{Random as _, SeededRandom, Store};
use matsu_wait::queue::{self, Outgoing, Queue};
use matsu_wait::record::{self, Record};
use matsu_wait::target::{Here, Target, Until};
use serde_json::json;

use crate::counts::name;
use crate::lambda::BUCKET;

/// The record of a target's wait as it stands.
pub(crate) async fn record(store: &dyn Store, target: &Target) -> Option<Record> {
    let key = record::key(target);
    let stored = store.get(&key).await.expect("the store can be read");
    stored.map(|stored| Record::from_body(&key, &stored.body).expect("it is a record"))
}

/// How many waits are over.
pub(crate) async fn over(store: &dyn Store) -> usize {
    let (mut over, mut from) = (0, None);
    loop {
        let page = store.list(record::PREFIX, from.as_deref()).await;
        let page = page.expect("the store can be listed");
        over += page.entries.iter().filter(|listed| !listed.open).count();
        from = page.next;
        if from.is_none() {
            return over;
        }
    }
}

/// Asks for a wait for each target, by raw messages in the queue, which takes them.
pub(crate) async fn ask_for_all(queue: &dyn Queue, targets: &[Target]) {
    let requests = targets.iter().map(|target| Outgoing {
        body: json!({"target": target}).to_string(),
        delay: Duration::ZERO,
    });
    let requests: Vec<_> = requests.collect();
    for batch in requests.chunks(queue::BATCH) {
        for taken in queue.send(batch.to_vec()).await {
            taken.expect("the queue takes requests");
        }
    }
}

/// Random moments, so many, from the second second on until `end`; each with its number, the first one last.
pub(crate) fn moments(chance: &SeededRandom, count: usize, end: Duration) -> Vec<(Duration, usize)> {
    let draw = |number| (chance.between(Duration::from_secs(2), end), number);
    let mut moments: Vec<_> = (0..count).map(draw).collect();
    moments.sort_unstable_by(|a, b| b.cmp(a));
    moments
}

/// An object of the watched bucket, until it is deleted.
pub(crate) fn until_deleted(number: usize) -> Target {
    read(&format!("s3://{BUCKET}/{}", name(number)), Some(Until::Deleted))
}

/// Reads a target.
pub(crate) fn read(text: &str, until: Option<Until>) -> Target {
    Target::parse(text, until, &Here::default()).expect("it is a target")
}
