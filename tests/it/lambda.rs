//! The whole flow on one machine: both functions as Lambda runs them, their queue, their store, and what they look at.

use std::time::Duration;

use hyper::body::Bytes;
use matsu_lock::{Clock as _, SystemClock};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::http::{Method, text};
use crate::proxy::Proxy;
use crate::rds::Rds;
use crate::servers::{ACCOUNT, Ministack, REGION, target};
use crate::slack::{self, SECRET, Slack};

/// The bucket of the watched objects and, under `matsu/`, of the store.
pub(crate) const BUCKET: &str = "data";

/// What a function may take, in seconds. It is the lease of a pass, too.
const TIMEOUT: u64 = 30;

/// Everything that one scenario runs on.
pub(crate) struct Stage {
    pub(crate) cloud: Ministack,
    pub(crate) rds: Rds,
    pub(crate) slack: Slack,
    /// In front of S3, for the functions.
    pub(crate) s3: Proxy,
    /// In front of SQS, for the functions.
    pub(crate) sqs: Proxy,
    /// In front of Slack, for the functions.
    pub(crate) hook: Proxy,
    pub(crate) queue: String,
    pub(crate) dead_letters: String,
}

impl Stage {
    /// Deploys both functions with short delays; `settings` come on top.
    pub(crate) async fn set(settings: &[(&str, &str)]) -> Self {
        let cloud = Ministack::start().await;
        let rds = Rds::start().await;
        let slack = Slack::start().await;
        let s3 = Proxy::start(cloud.url()).await;
        let sqs = Proxy::start(cloud.url()).await;
        let hook = Proxy::start(&slack.url()).await;
        cloud.s3(Method::PUT, &format!("/{BUCKET}"), Bytes::new()).await;

        let dead_letters = cloud.queue("matsu-dead", &json!({})).await;
        let redrive = json!({"deadLetterTargetArn": arn("sqs", "matsu-dead"), "maxReceiveCount": 5}).to_string();
        // Production uses six times the timeout; here a killed run shall be missed sooner.
        let attributes = json!({"VisibilityTimeout": TIMEOUT.to_string(), "RedrivePolicy": redrive});
        let queue = cloud.queue("matsu", &attributes).await;

        let mut environment = json!({
            "AWS_ENDPOINT_URL_RDS": rds.url(),
            "AWS_ENDPOINT_URL_S3": s3.url(),
            "AWS_ENDPOINT_URL_SQS": sqs.url(),
            "MATSU_STORE": format!("s3://{BUCKET}/matsu"),
            "MATSU_QUEUE": queue,
            "MATSU_SLACK_WEBHOOK": slack::webhook(&hook.url(), 0),
            "MATSU_MIN_DELAY": "1s",
            "MATSU_MAX_DELAY": "1s",
        });
        for (name, value) in settings {
            environment[*name] = json!(value);
        }
        for name in ["starter", "waiter"] {
            deploy(&cloud, name, &environment).await;
        }
        let mapping = json!({
            "FunctionName": "waiter",
            "EventSourceArn": arn("sqs", "matsu"),
            "BatchSize": 10,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
        });
        cloud
            .lambda(Method::POST, "/2015-03-31/event-source-mappings", &mapping)
            .await;
        Self {
            cloud,
            rds,
            slack,
            s3,
            sqs,
            hook,
            queue,
            dead_letters,
        }
    }

    /// Lets EventBridge bring RDS events to the starter.
    ///
    /// Nobody but RDS may send events in its name, so they travel as the detail of an event of the test's own.
    pub(crate) async fn forward_rds_events(&self) {
        let pattern = json!({"source": ["test.rds"]}).to_string();
        let rule = json!({"Name": "rds", "EventPattern": pattern});
        self.cloud.json("events", "AWSEvents.PutRule", &rule).await;
        let starter = json!({"Id": "starter", "Arn": arn("lambda", "function:starter"), "InputPath": "$.detail"});
        let targets = json!({"Rule": "rds", "Targets": [starter]});
        self.cloud.json("events", "AWSEvents.PutTargets", &targets).await;
    }

    /// Sends an RDS event.
    pub(crate) async fn rds_event(&self, event: &Value) {
        let entry = json!({"Source": "test.rds", "DetailType": "RDS event", "Detail": event.to_string()});
        let sent = self
            .cloud
            .json("events", "AWSEvents.PutEvents", &json!({"Entries": [entry]}))
            .await;
        assert_eq!(sent["FailedEntryCount"], 0, "{sent}");
    }

    /// Lets the whole bucket notify the starter, the store's own keys not excepted.
    pub(crate) async fn forward_object_events(&self) {
        let starter = arn("lambda", "function:starter");
        let notification = format!(
            "<NotificationConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><CloudFunctionConfiguration>\
             <Id>starter</Id><CloudFunction>{starter}</CloudFunction>\
             <Event>s3:ObjectCreated:*</Event><Event>s3:ObjectRemoved:*</Event>\
             </CloudFunctionConfiguration></NotificationConfiguration>"
        );
        self.cloud
            .s3(Method::PUT, &format!("/{BUCKET}?notification"), notification)
            .await;
    }

    /// Invokes a function and answers what it did.
    ///
    /// # Panics
    /// With its log when it ended in an error.
    pub(crate) async fn invoke(&self, function: &str, payload: &Value) -> Value {
        let path = format!("/2015-03-31/functions/{function}/invocations");
        let answer = self
            .cloud
            .ask("lambda", Method::POST, &path, &[], payload.to_string())
            .await;
        let failed = answer.headers().contains_key("x-amz-function-error") || !answer.status().is_success();
        assert!(
            !failed,
            "{function}: {}\n{}",
            text(answer.body()),
            self.evidence().await
        );
        serde_json::from_slice(answer.body()).expect("functions answer in JSON")
    }

    /// Puts an object into the watched bucket.
    pub(crate) async fn put_object(&self, key: &str) {
        self.cloud.s3(Method::PUT, &object(key), "content").await;
    }

    /// Deletes it again.
    pub(crate) async fn delete_object(&self, key: &str) {
        self.cloud.s3(Method::DELETE, &object(key), Bytes::new()).await;
    }

    /// Returns once `what` holds.
    ///
    /// # Panics
    /// With everything that is known when it does not within `limit`.
    pub(crate) async fn until(&self, what: &str, limit: Duration, holds: impl AsyncFn() -> bool) {
        let clock = SystemClock;
        let begun = clock.elapsed();
        while !holds().await {
            let waited = clock.elapsed() - begun;
            assert!(
                waited < limit,
                "{what}: not within {limit:?}\n{}",
                self.evidence().await
            );
            clock.sleep(Duration::from_millis(100)).await;
        }
    }

    /// Returns once Slack has taken `count` messages and nothing is left to do, and answers them as text.
    pub(crate) async fn messages(&self, count: usize, limit: Duration) -> Vec<String> {
        self.until("the messages", limit, async || self.slack.posts().len() >= count)
            .await;
        self.until("an empty queue", limit, async || self.queued(&self.queue).await == 0)
            .await;
        let posts: Vec<String> = self.slack.posts().iter().map(Value::to_string).collect();
        assert_eq!(posts.len(), count, "{posts:#?}\n{}", self.evidence().await);
        assert!(
            !self.cloud.log_tail().contains(SECRET),
            "the webhook's secret is in a log"
        );
        assert_eq!(self.queued(&self.dead_letters).await, 0, "{}", self.evidence().await);
        posts
    }

    /// How many messages a queue holds: due, delayed or being worked on.
    pub(crate) async fn queued(&self, queue: &str) -> u64 {
        self.counted(queue, &["", "Delayed", "NotVisible"]).await
    }

    /// How many messages of these kinds a queue holds.
    pub(crate) async fn counted(&self, queue: &str, kinds: &[&str]) -> u64 {
        let names = kinds.iter().map(|kind| format!("ApproximateNumberOfMessages{kind}"));
        let names: Vec<_> = names.collect();
        let wanted = json!({"QueueUrl": queue, "AttributeNames": names});
        let told = self.cloud.json("sqs", "AmazonSQS.GetQueueAttributes", &wanted).await;
        names
            .iter()
            .filter_map(|name| told["Attributes"][name].as_str()?.parse::<u64>().ok())
            .sum()
    }

    /// The bodies in the store.
    pub(crate) async fn records(&self) -> Vec<Value> {
        self.versions().await.into_iter().map(|(record, _)| record).collect()
    }

    /// The bodies in the store, each with its ETag.
    pub(crate) async fn versions(&self) -> Vec<(Value, String)> {
        let list = self
            .cloud
            .s3(
                Method::GET,
                &format!("/{BUCKET}?list-type=2&prefix=matsu/waits/"),
                Bytes::new(),
            )
            .await;
        let list = text(list.body());
        let mut records = Vec::new();
        for rest in list.split("<Key>").skip(1) {
            let key = rest.split("</Key>").next().unwrap_or_default();
            let record = self.cloud.s3(Method::GET, &object(key), Bytes::new()).await;
            let etag = record.headers()["etag"].to_str().expect("an ETag is text").to_owned();
            records.push((serde_json::from_slice(record.body()).expect("records are JSON"), etag));
        }
        records
    }

    /// The greatest number of passes that a wait has had.
    pub(crate) async fn passes(&self) -> u64 {
        let records = self.records().await;
        records
            .iter()
            .filter_map(|r| r["pass"].as_u64())
            .max()
            .unwrap_or_default()
    }

    /// What the functions asked the store: writes and reads of records.
    pub(crate) fn store_requests(&self) -> (usize, usize) {
        let seen = self.s3.seen();
        let of = |method: Method| {
            seen.iter()
                .filter(|s| s.method == method && s.path.contains("/matsu/"))
                .count()
        };
        (of(Method::PUT), of(Method::GET))
    }

    /// What is known, for the message of a failed test.
    pub(crate) async fn evidence(&self) -> String {
        let records: Vec<String> = self.records().await.iter().map(Value::to_string).collect();
        format!(
            "records: {records:#?}\nSlack: {:#?}\nS3: {:?}\nSQS: {:?}\nthe servers' log:\n{}",
            self.slack.posts(),
            self.s3.seen(),
            self.sqs.seen(),
            self.cloud.log_tail()
        )
    }
}

async fn deploy(cloud: &Ministack, name: &str, environment: &Value) {
    let binary = target().join("release").join(name);
    let program = std::fs::read(&binary).unwrap_or_else(|e| {
        panic!(
            "{}: {e}: run ./tests/run first, it builds the functions",
            binary.display()
        )
    });
    let zip = format!("/{name}-code/{name}.zip");
    cloud.s3(Method::PUT, &format!("/{name}-code"), Bytes::new()).await;
    cloud
        .s3(Method::PUT, &zip, crate::zip::stored("bootstrap", &program))
        .await;
    let function = json!({
        "FunctionName": name,
        "Runtime": "provided.al2023",
        "Handler": "bootstrap",
        "Role": format!("arn:aws:iam::{ACCOUNT}:role/matsu"),
        "Timeout": TIMEOUT,
        "Code": {"S3Bucket": format!("{name}-code"), "S3Key": format!("{name}.zip")},
        "Environment": {"Variables": environment},
    });
    cloud.lambda(Method::POST, "/2015-03-31/functions", &function).await;
}

fn arn(service: &str, resource: &str) -> String {
    format!("arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}")
}

fn object(key: &str) -> String {
    let key: Vec<String> = key
        .split('/')
        .map(|part| utf8_percent_encode(part, NON_ALPHANUMERIC).to_string())
        .collect();
    format!("/{BUCKET}/{}", key.join("/"))
}
