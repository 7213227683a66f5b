//! `matsu demo`: the whole flow on this machine. The starter's code, the waiter's code, the store, the queue, the target
//! and the notification are the real ones; only S3 and Slack are small servers of our own on loopback.

mod bucket;
mod slack;
mod stage;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use matsu_lock::{OsRandom, Random};
use matsu_wait::aws::Aws;
use matsu_wait::config::{BadConfig, Config, Role, Source, Values};
use matsu_wait::engine::{Engine, Run};
use matsu_wait::setup;
use matsu_wait::target::{Here, Seen, Target};
use matsu_wait::work::{LEASE, Worker};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use self::bucket::Bucket;
use self::slack::Inbox;
use self::stage::Stage;
use crate::failure::Failure;
use crate::overhear::Overheard;

const BUCKET: &str = "demo-bucket";
const KEY: &str = "report.csv";

/// After so many looks the object is deleted.
const LOOKS: u32 = 3;

/// The demo ends within this time, whatever happens.
const LONGEST: Duration = Duration::from_secs(18);

/// A second message would come within this time.
const SECOND_MESSAGE: Duration = Duration::from_millis(500);

/// Runs the command.
pub(crate) async fn run() -> Result<ExitCode, Failure> {
    tokio::select! {
        played = tokio::time::timeout(LONGEST, play()) => {
            played.map_err(|_| broken("it took too long"))??;
            Ok(ExitCode::SUCCESS)
        }
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(130)),
    }
}

async fn play() -> Result<(), Failure> {
    let mut stage = Stage::default();
    stage.title("matsu demo: the whole flow on this machine, without an account")?;
    let folder = tempfile::tempdir().map_err(broken)?;
    let (bucket, inbox) = (Bucket::default(), Inbox::default());
    let s3 = serve(bucket.router()).await?;
    let slack = serve(inbox.router()).await?;
    let webhook = format!("http://{slack}/services/demo");
    stage.step(&format!(
        "A small S3 and a small Slack listen on {s3} and {slack}; store and queue are one SQLite file"
    ))?;

    let aws = Arc::new(Aws::loopback(&format!("http://{s3}")).await);
    let config = config(folder.path(), &webhook)?;
    let here = Here {
        region: aws.region().map(str::to_owned),
        account: None,
    };
    let mut engine = setup::engine(&config, &aws, &here)?;
    let (tell, mut looks) = mpsc::unbounded_channel();
    let hear = move |_: &Target, seen: &Seen| {
        // Nobody listens any more once the message is there.
        let _ = tell.send(seen.clone());
    };
    engine.look = Arc::new(Overheard {
        inner: engine.look.clone(),
        hear,
    });

    put(&aws).await?;
    stage.step(&format!(
        "The object s3://{BUCKET}/{KEY} is put, and S3 tells the starter"
    ))?;
    let rules = setup::rules(&config, &here, OsRandom.id());
    let run = Run::new(engine.clone(), LEASE);
    let answer = matsu_starter::serve(&run, &rules, &notification())
        .await
        .map_err(broken)?;
    let wait = answer.started.first().and_then(|served| served.wait.clone());
    let wait = wait.ok_or_else(|| broken("the starter started nothing"))?;
    stage.step("The starter starts a wait until the object is gone, and ends")?;
    stage.detail(&format!("wait {wait}"))?;

    let (stop, stopped) = oneshot::channel::<()>();
    let worker = Worker::new(engine.clone(), rules);
    let stopped = async {
        let _ = stopped.await;
    };
    let watch = async {
        stage.step("The waiter looks, pings itself through the queue, and looks again: one short run a pass")?;
        watch(&mut stage, &aws, &mut looks).await?;
        let message = inbox.first().await;
        tokio::time::timeout(SECOND_MESSAGE, inbox.second())
            .await
            .map_or(Ok(()), |()| Err(broken("two messages came")))?;
        stage.step("The message arrives at Slack")?;
        stage.message(&slack::as_text(&message))?;
        drop(stop);
        Ok::<(), Failure>(())
    };
    let work = async { worker.run(stopped, |_| {}).await.map_err(Failure::from) };
    tokio::try_join!(watch, work)?;
    stage.end(&engine_is_idle(&engine).await)
}

/// Shows the passes, and deletes the object after some.
async fn watch(stage: &mut Stage, aws: &Aws, looks: &mut mpsc::UnboundedReceiver<Seen>) -> Result<(), Failure> {
    for pass in 1.. {
        let seen = looks.recv().await.ok_or_else(|| broken("nobody looks any more"))?;
        match seen {
            Seen::Pending(status) => stage.pass(pass, &status.text, "not yet: look again in 1s")?,
            Seen::Satisfied(status) => return stage.pass(pass, &status.text, "completed"),
            other => return Err(broken(format!("the waiter saw {other:?}"))),
        }
        if pass == LOOKS {
            delete(aws).await?;
            stage.step(&format!("The object s3://{BUCKET}/{KEY} is deleted"))?;
        }
    }
    Ok(())
}

/// The settings of the demo; those of the user are not read.
fn config(folder: &Path, webhook: &str) -> Result<Config, BadConfig> {
    let mut values = Values::from_vars(std::iter::empty())?;
    let store = format!("sqlite:{}", folder.join("matsu.db").display());
    let settings = [
        ("MATSU_STORE", store.as_str()),
        ("MATSU_MIN_DELAY", "1s"),
        ("MATSU_MAX_DELAY", "1s"),
        ("MATSU_SLACK_WEBHOOK", webhook),
    ];
    for (name, text) in settings {
        values.insert(name, text.to_owned(), Source::Environment)?;
    }
    Config::new(&values, Role::Command)
}

/// Serves on a free port of loopback until the program ends; its address.
async fn serve(router: axum::Router) -> Result<std::net::SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(broken)?;
    let address = listener.local_addr().map_err(broken)?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

async fn put(aws: &Aws) -> Result<(), Failure> {
    let body = b"a,b\n1,2\n".to_vec().into();
    let put = aws
        .s3(None)
        .put_object()
        .bucket(BUCKET)
        .key(KEY)
        .body(body)
        .send()
        .await;
    put.map(|_| ())
        .map_err(|e| broken(format!("the object cannot be put: {e:?}")))
}

async fn delete(aws: &Aws) -> Result<(), Failure> {
    let delete = aws.s3(None).delete_object().bucket(BUCKET).key(KEY).send().await;
    delete
        .map(|_| ())
        .map_err(|e| broken(format!("the object cannot be deleted: {e:?}")))
}

/// What S3 sends when an object was put.
fn notification() -> Value {
    json!({"Records": [{
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-east-1",
        "eventTime": "2026-01-01T00:00:00.000Z",
        "eventName": "ObjectCreated:Put",
        "userIdentity": {"principalId": "AWS:AIDAEXAMPLE"},
        "requestParameters": {"sourceIPAddress": "127.0.0.1"},
        "responseElements": {"x-amz-request-id": "D82B88E5F771F645"},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "demo",
            "bucket": {"name": BUCKET, "arn": format!("arn:aws:s3:::{BUCKET}")},
            "object": {"key": KEY, "size": 8, "eTag": "0f343b0931126a20f133d67c2b018a3b", "sequencer": "0055AED6DCD90281E5"},
        },
    }]})
}

/// Whether anything is left in the queue, in words.
async fn engine_is_idle(engine: &Engine) -> String {
    match engine.queue.next_due().await {
        Ok(None) => "The wait is over: one message was told, and nothing is left in the queue.".to_owned(),
        Ok(Some(_)) | Err(_) => "The wait is over: one message was told.".to_owned(),
    }
}

fn broken(why: impl std::fmt::Display) -> Failure {
    Failure::Service(format!("the demo broke off: {why}"))
}
