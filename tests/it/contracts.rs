//! The contracts of store and queue, kept by S3 and SQS as the emulator speaks them, and by S3 through a proxy that
//! hides every few writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::body::Bytes;
use matsu_lock::{Clock as _, S3Store, SystemClock, contract};
use matsu_wait::queue;
use serde_json::{Value, json};

use crate::clients;
use crate::http::{Call, Method, StatusCode};
use crate::proxy::{Proxy, Trouble};
use crate::servers::{ACCOUNT, Ministack, REGION};

/// A store in a new bucket of the emulator, reached at `url`.
async fn store(cloud: &Ministack, url: &str) -> Arc<S3Store> {
    cloud.s3(Method::PUT, "/records", Bytes::new()).await;
    clients::store(url, "records")
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_keeps_the_contract_of_a_store_through_a_hundred_races() {
    let cloud = Ministack::start().await;
    let proxy = Proxy::start(cloud.url()).await;
    let begun = SystemClock.elapsed();
    contract::check(store(&cloud, &proxy.url()).await, 100, "contract").await;
    let told = |status: StatusCode| proxy.seen().iter().filter(|s| s.told == Some(status)).count();
    println!(
        "100 races in {} s: {} requests, {} of them refused",
        (SystemClock.elapsed() - begun).as_secs(),
        proxy.seen().len(),
        told(StatusCode::PRECONDITION_FAILED),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_keeps_the_contract_of_a_store_when_every_fifth_write_is_hidden_or_refused() {
    let cloud = Ministack::start().await;
    let proxy = Proxy::start(cloud.url()).await;
    for (nth, trouble) in [
        (0, Trouble::LoseAnswer),
        (5, Trouble::AnswerInstead(StatusCode::SERVICE_UNAVAILABLE)),
        (10, Trouble::Refuse(StatusCode::CONFLICT)),
        (15, Trouble::Refuse(StatusCode::SERVICE_UNAVAILABLE)),
    ] {
        let writes = AtomicUsize::new(0);
        proxy.trouble(usize::MAX, trouble, move |call: &Call| {
            call.method() == Method::PUT && writes.fetch_add(1, Ordering::Relaxed) % 20 == nth
        });
    }
    contract::check(store(&cloud, &proxy.url()).await, 10, "contract").await;
    let hidden = proxy.seen().iter().filter(|s| s.told.is_none()).count();
    assert!(hidden > 10, "only {hidden} answers were lost: this checked nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn sqs_keeps_the_contract_of_a_queue() {
    let cloud = Ministack::start().await;
    let dead = cloud.queue("dead", &json!({})).await;
    let redrive = json!({"deadLetterTargetArn": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:dead"), "maxReceiveCount": 5});
    let url = cloud
        .queue("alive", &json!({"RedrivePolicy": redrive.to_string()}))
        .await;
    let sqs = clients::queue(cloud.url(), &url);

    let pass = async |time: Duration| SystemClock.sleep(time).await;
    let letters = async || dead_letters(&cloud, &dead).await;
    queue::contract::all(&*sqs, pass, letters).await;
}

/// The bodies that were put aside, with their reasons.
async fn dead_letters(cloud: &Ministack, queue: &str) -> Vec<(String, String)> {
    let wanted = json!({"QueueUrl": queue, "MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"]});
    let received = cloud.json("sqs", "AmazonSQS.ReceiveMessage", &wanted).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    received["Messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|m| (text(&m["Body"]), text(&m["MessageAttributes"]["reason"]["StringValue"])))
        .collect()
}
