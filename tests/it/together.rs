//! What a batch of timers costs: one question and one send for all of it, a write for each, and no read.

use std::time::Duration;

use matsu_lock::{OsRandom, Random as _};
use serde_json::{Value, json};

use crate::clients;
use crate::lambda::Stage;
use crate::rds::Kind;
use crate::servers::{ACCOUNT, REGION};
use crate::waits::{ask_for_all, read};

/// So many snapshots of one region are waited for.
const WAITS: usize = 100;
/// What the event source mapping delivers at a time.
const BATCH: usize = 10;

/// The timer that claims the pass after the one that `record` shows, which stands there as `etag`.
fn next_timer(record: &Value, etag: &str) -> String {
    let count = record["pass"].as_u64().expect("a record has a pass") + 1;
    json!({"v": 1, "wait": record["wait"], "count": count, "token": etag, "msg": OsRandom.id()}).to_string()
}

/// Timers as the event source mapping delivers them.
fn delivered(bodies: &[String]) -> Value {
    let records = bodies.iter().map(|body| {
        json!({
            "messageId": OsRandom.id(), "receiptHandle": "handle", "body": body, "md5OfBody": "0",
            "attributes": {"ApproximateReceiveCount": "1"}, "messageAttributes": {}, "eventSource": "aws:sqs",
            "eventSourceARN": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:matsu"), "awsRegion": REGION,
        })
    });
    json!({"Records": records.collect::<Vec<_>>()})
}

/// How often snapshots were described, batches sent, records written and read so far.
fn requests(stage: &Stage) -> [usize; 4] {
    let sends = |action: &str| {
        stage
            .sqs
            .seen()
            .iter()
            .filter(|s| s.action.as_deref() == Some(action))
            .count()
    };
    let (writes, reads) = stage.store_requests();
    let described = stage.rds.asked("DescribeDBSnapshots").len();
    [
        described,
        sends("SendMessageBatch") + sends("SendMessage"),
        writes,
        reads,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn figure_ten_batches_of_ten_timers_ask_rds_ten_times_and_send_ten_times() {
    // No timer of the queue's own comes due meanwhile.
    let stage = Stage::set(&[("MATSU_MIN_DELAY", "15m"), ("MATSU_MAX_DELAY", "15m")]).await;
    let mut targets = Vec::new();
    for number in 0..WAITS {
        let id = format!("nightly-{number}");
        stage.rds.script(&id, &[("copying", 40)]);
        targets.push(read(&stage.rds.holds(Kind::Instance, REGION, &id), None));
    }
    ask_for_all(&*clients::queue(stage.cloud.url(), &stage.queue), &targets).await;
    stage
        .until("the first passes", Duration::from_secs(60), async || {
            stage.counted(&stage.queue, &["Delayed"]).await == WAITS as u64
                && stage.counted(&stage.queue, &["", "NotVisible"]).await == 0
        })
        .await;
    let versions = stage.versions().await;
    assert_eq!(versions.len(), WAITS);
    assert!(versions.iter().all(|(record, _)| record["pass"] == 1), "{versions:#?}");

    let timers: Vec<_> = versions.iter().map(|(record, etag)| next_timer(record, etag)).collect();
    let before = requests(&stage);
    for batch in timers.chunks(BATCH) {
        let answer = stage.invoke("waiter", &delivered(batch)).await;
        assert_eq!(answer, json!({"batchItemFailures": []}));
    }
    let after = requests(&stage);

    let [described, sent, written, read] = std::array::from_fn(|n| after[n] - before[n]);
    println!(
        "{WAITS} waits for snapshots of one region, in batches of {BATCH}: a round of passes took {described} \
         DescribeDBSnapshots, {sent} SendMessageBatch, {written} writes and {read} reads of the store"
    );
    assert!(
        described <= WAITS / BATCH && sent <= WAITS / BATCH,
        "{described}, {sent}"
    );
    assert_eq!((written, read), (WAITS, 0));
    assert!(stage.records().await.iter().all(|record| record["pass"] == 2));
    assert_eq!(stage.counted(&stage.queue, &["Delayed"]).await, 2 * WAITS as u64);
}
