//! What workers stand on: a store, a queue, targets that end one after the other, and weather in front of all that has a
//! network between.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hyper::body::Bytes;
use matsu_lock::{OsRandom, SqliteFile, SqliteStore, Store, SystemClock};
use matsu_wait::queue::{Queue, SqliteQueue};
use matsu_wait::record::Record;
use matsu_wait::target::Target;
use serde_json::json;
use tempfile::TempDir;

use crate::clients;
use crate::counts::{name, number};
use crate::http::{Call, Method, Server, StatusCode, answer};
use crate::lambda::BUCKET;
use crate::proxy::Proxy;
use crate::servers::{ACCOUNT, Ministack, REGION};
use crate::slack::{self, Slack};
use crate::waits::{read, record, until_deleted};
use crate::weather::{WEATHER, WEATHER_OF_POSTS, WEATHER_OF_WRITES};

/// Where the targets are.
enum Place {
    /// Files in a folder, and between them jobs of a server that answers how they stand.
    Here {
        folder: TempDir,
        done: Jobs,
        _server: Server,
    },
    /// Objects in a bucket.
    Cloud(Box<Ministack>),
}

/// The jobs that have ended.
type Jobs = Arc<Mutex<BTreeSet<usize>>>;

/// One scenario's ground.
pub(crate) struct Ground {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) targets: Vec<Target>,
    place: Place,
    /// In front of what is looked at; where that is S3, in front of the store, too.
    pub(crate) in_front: Proxy,
    sqs: Option<Proxy>,
    /// In front of the channel.
    pub(crate) hook: Proxy,
    _slack: Slack,
    environment: Vec<(String, String)>,
}

impl Ground {
    /// The embedded store and queue. Half of the targets are files, the others are asked over HTTP.
    pub(crate) async fn embedded(waits: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let root = folder.path().canonicalize().expect("it is there");
        let done = Jobs::default();
        let jobs = done.clone();
        let server = Server::start(move |call: Call| {
            let number = number(call.uri().path()).expect("jobs have numbers");
            let is_done = jobs.lock().expect("no test panicked here").contains(&number);
            let body = json!({"state": if is_done { "done" } else { "running" }}).to_string();
            std::future::ready(Some(answer(StatusCode::OK, "application/json", body)))
        })
        .await;
        let in_front = Proxy::start(&server.url()).await;
        let target = |number: usize| match number % 2 {
            0 => format!("file:{}", root.join(name(number)).display()),
            _ => format!("{}/{}", in_front.url(), name(number)),
        };
        let targets = (0..waits).map(|number| read(&target(number), None)).collect();
        let path = root.join("matsu.db");
        let file = SqliteFile::open(&path).expect("a database can be made");
        let (clock, random) = (Arc::new(SystemClock), Arc::new(OsRandom));
        let store = SqliteStore::new(file.clone(), clock.clone(), random.clone()).expect("it is a store");
        let queue = SqliteQueue::new(file, clock, random).expect("it is a queue");
        let environment = [
            ("MATSU_STORE", format!("sqlite:{}", path.display())),
            ("MATSU_HTTP_ALLOW", "127.0.0.1".to_owned()),
        ];
        let place = Place::Here {
            folder,
            done,
            _server: server,
        };
        Self::on(
            place,
            Arc::new(store),
            Arc::new(queue),
            targets,
            in_front,
            None,
            &environment,
        )
        .await
    }

    /// S3 and SQS of an emulator. The targets are objects, until they are deleted.
    pub(crate) async fn cloud(waits: usize) -> Self {
        let cloud = Ministack::start().await;
        cloud.s3(Method::PUT, &format!("/{BUCKET}"), Bytes::new()).await;
        for number in 0..waits {
            cloud.s3(Method::PUT, &object(number), "content").await;
        }
        let targets = (0..waits).map(until_deleted).collect();
        cloud.queue("matsu-dead", &json!({})).await;
        let redrive =
            json!({"deadLetterTargetArn": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:matsu-dead"), "maxReceiveCount": 5});
        let attributes = json!({"VisibilityTimeout": "65", "RedrivePolicy": redrive.to_string()});
        let url = cloud.queue("matsu", &attributes).await;
        let in_front = Proxy::start(cloud.url()).await;
        let sqs = Proxy::start(cloud.url()).await;
        let environment = [
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_ENDPOINT_URL_S3", in_front.url()),
            ("AWS_ENDPOINT_URL_SQS", sqs.url()),
            ("MATSU_STORE", format!("s3://{BUCKET}/matsu")),
            ("MATSU_QUEUE", url.clone()),
        ];
        let store = clients::store(cloud.url(), BUCKET);
        let queue = clients::queue(cloud.url(), &url);
        Self::on(
            Place::Cloud(Box::new(cloud)),
            store,
            queue,
            targets,
            in_front,
            Some(sqs),
            &environment,
        )
        .await
    }

    async fn on(
        place: Place,
        store: Arc<dyn Store>,
        queue: Arc<dyn Queue>,
        targets: Vec<Target>,
        in_front: Proxy,
        sqs: Option<Proxy>,
        environment: &[(&str, String)],
    ) -> Self {
        let slack = Slack::start().await;
        Self {
            store,
            queue,
            targets,
            place,
            in_front,
            sqs,
            hook: Proxy::start(&slack.url()).await,
            _slack: slack,
            environment: environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        }
    }

    /// The environment of workers, each with a webhook of its own.
    pub(crate) fn equip(&self, min_delay: &str, max_delay: &str) -> impl Fn(usize) -> Vec<(String, String)> + use<> {
        let mut environment = self.environment.clone();
        environment.push(("MATSU_MIN_DELAY".to_owned(), min_delay.to_owned()));
        environment.push(("MATSU_MAX_DELAY".to_owned(), max_delay.to_owned()));
        let hook = self.hook.url();
        move |worker| {
            let mut environment = environment.clone();
            environment.push(("MATSU_SLACK_WEBHOOK".to_owned(), slack::webhook(&hook, worker)));
            environment
        }
    }

    /// Lets it storm.
    pub(crate) fn storm(&self, seed: u64) {
        self.in_front
            .storm(seed, &WEATHER_OF_WRITES, |call| call.method() == Method::PUT);
        self.in_front.storm(seed + 1, &WEATHER, |_| true);
        self.hook.storm(seed + 2, &WEATHER_OF_POSTS, |_| true);
        if let Some(sqs) = &self.sqs {
            sqs.storm(seed + 3, &WEATHER, |_| true);
        }
    }

    /// Ends the storm.
    pub(crate) fn calm(&self) {
        self.proxies().for_each(Proxy::calm);
    }

    /// Every proxy.
    pub(crate) fn proxies(&self) -> impl Iterator<Item = &Proxy> {
        [&self.in_front, &self.hook].into_iter().chain(&self.sqs)
    }

    /// Lets a target come to its end.
    pub(crate) async fn end(&self, number: usize) {
        match &self.place {
            Place::Here { folder, .. } if number.is_multiple_of(2) => {
                std::fs::write(path(folder, number), "").expect("a file can be written");
            }
            Place::Here { done, .. } => {
                done.lock().expect("no test panicked here").insert(number);
            }
            Place::Cloud(cloud) => {
                cloud.s3(Method::DELETE, &object(number), Bytes::new()).await;
            }
        }
    }

    /// The record of a target's wait as it stands.
    pub(crate) async fn record(&self, number: usize) -> Option<Record> {
        record(&*self.store, &self.targets[number]).await
    }
}

fn path(folder: &TempDir, number: usize) -> PathBuf {
    folder.path().join(name(number))
}

fn object(number: usize) -> String {
    format!("/{BUCKET}/{}", name(number))
}
