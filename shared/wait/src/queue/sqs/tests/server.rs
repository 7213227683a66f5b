//! A server on the loopback that speaks SQS's JSON protocol: it says what it is told to say and otherwise answers from
//! a queue in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Region};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use matsu_lock::HandClock;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::queue::{Delivery, MemoryQueue, Outgoing, Queue};

/// A running server.
pub(super) struct Server {
    pub(super) clock: Arc<HandClock>,
    /// What it answers from.
    pub(super) model: Arc<MemoryQueue>,
    script: Arc<Script>,
    endpoint: String,
    task: JoinHandle<()>,
}

struct Script {
    model: Arc<MemoryQueue>,
    requests: Mutex<Vec<(String, Value)>>,
    answers: Mutex<VecDeque<(u16, Value)>>,
    pause: Mutex<Duration>,
}

impl Server {
    pub(super) async fn start() -> Self {
        let clock = Arc::new(HandClock::new(Timestamp::UNIX_EPOCH));
        let model = Arc::new(MemoryQueue::new("model", clock.clone()));
        let script = Arc::new(Script {
            model: model.clone(),
            requests: Mutex::default(),
            answers: Mutex::default(),
            pause: Mutex::default(),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(answer).with_state(script.clone());
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            clock,
            model,
            script,
            endpoint,
            task,
        }
    }

    /// A client that tries once.
    pub(super) fn client(&self) -> Client {
        Client::from_conf(self.config().build())
    }

    /// A client that tries once and waits no longer than this.
    pub(super) fn impatient_client(&self, limit: Duration) -> Client {
        let limits = TimeoutConfig::builder().operation_attempt_timeout(limit);
        Client::from_conf(self.config().timeout_config(limits.build()).build())
    }

    fn config(&self) -> aws_sdk_sqs::config::Builder {
        aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-west-1"))
            .allow_no_auth()
            .endpoint_url(&self.endpoint)
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .retry_config(RetryConfig::disabled())
    }

    /// The next request that nothing was said for yet is answered like this.
    pub(super) fn say(&self, status: u16, body: Value) {
        self.script.answers.lock().unwrap().push_back((status, body));
    }

    /// The next answer comes late.
    pub(super) fn pause(&self, pause: Duration) {
        *self.script.pause.lock().unwrap() = pause;
    }

    /// The bodies of the requests for this operation so far.
    pub(super) fn requests(&self, operation: &str) -> Vec<Value> {
        let requests = self.script.requests.lock().unwrap();
        requests
            .iter()
            .filter(|(o, _)| o == operation)
            .map(|(_, body)| body.clone())
            .collect()
    }

    pub(super) async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

#[expect(clippy::disallowed_methods, reason = "the client's own limits are real time")]
async fn answer(State(script): State<Arc<Script>>, headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    let target = headers["x-amz-target"].to_str().unwrap();
    let operation = target.strip_prefix("AmazonSQS.").unwrap().to_owned();
    let body: Value = serde_json::from_slice(&body).unwrap();
    script.requests.lock().unwrap().push((operation.clone(), body.clone()));
    let pause = std::mem::take(&mut *script.pause.lock().unwrap());
    tokio::time::sleep(pause).await;
    let said = script.answers.lock().unwrap().pop_front();
    let (status, answer) = match said {
        Some(said) => said,
        None => model(&script.model, &operation, &body).await,
    };
    (StatusCode::from_u16(status).unwrap(), answer.to_string())
}

/// What SQS would say.
async fn model(queue: &MemoryQueue, operation: &str, body: &Value) -> (u16, Value) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let seconds = |value: &Value| Duration::from_secs(value.as_u64().unwrap());
    let entries = body["Entries"].as_array().cloned().unwrap_or_default();
    let successful: Vec<_> = entries
        .iter()
        .map(|e| json!({"Id": e["Id"], "MessageId": "m", "MD5OfMessageBody": "0"}))
        .collect();
    match operation {
        "SendMessageBatch" => {
            let outgoing = |e: &Value| Outgoing {
                body: text(&e["MessageBody"]),
                delay: seconds(&e["DelaySeconds"]),
            };
            let answers = queue.send(entries.iter().map(outgoing).collect()).await;
            assert!(answers.iter().all(Result::is_ok), "{answers:?}");
            (200, json!({"Successful": successful}))
        }
        "DeleteMessageBatch" => {
            let delivery = |e: &Value| Delivery {
                id: String::new(),
                body: String::new(),
                receipt: text(&e["ReceiptHandle"]),
                receives: 0,
            };
            queue
                .acknowledge(&entries.iter().map(delivery).collect::<Vec<_>>())
                .await
                .unwrap();
            (200, json!({"Successful": successful}))
        }
        "ReceiveMessage" => {
            let most = body["MaxNumberOfMessages"].as_u64().unwrap();
            let visibility = seconds(&body["VisibilityTimeout"]);
            let deliveries = queue.receive(usize::try_from(most).unwrap(), visibility).await.unwrap();
            let message = |d: Delivery| {
                json!({"MessageId": d.id, "ReceiptHandle": d.receipt, "Body": d.body, "MD5OfBody": "0",
                    "Attributes": {"ApproximateReceiveCount": d.receives.to_string()}})
            };
            (
                200,
                json!({"Messages": deliveries.into_iter().map(message).collect::<Vec<_>>()}),
            )
        }
        "SendMessage" => {
            let reason = text(&body["MessageAttributes"]["reason"]["StringValue"]);
            queue.bury(&text(&body["MessageBody"]), &reason).await.unwrap();
            (200, json!({"MessageId": "m", "MD5OfMessageBody": "0"}))
        }
        other => panic!("nothing was said for {other}"),
    }
}
