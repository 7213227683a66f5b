//! `matsu worker`: the waiter as a process that goes on, in a container, on a server, on a laptop.

use std::collections::HashSet;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use matsu_wait::config::{Config, LogFormat, QueueUrl, StoreUrl};
use matsu_wait::duration;
use matsu_wait::notify::{Announcement, Notify, Told};
use matsu_wait::work::Worker;
use tokio::sync::oneshot;

use crate::args::{self, Common, Output};
use crate::failure::Failure;
use crate::report::{Document, Ending};
use crate::say;
use crate::session::Session;
use crate::signals::Signals;

/// `matsu worker`
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkerArgs {
    /// How often waits are looked for whose timer was lost
    #[arg(long, allow_hyphen_values = true, value_parser = args::span, value_name = "DURATION", default_value = "5m")]
    pub(crate) sweep_every: Duration,
}

pub(crate) const HELP: &str = "\
It runs until SIGINT or SIGTERM, ends what is in hand, and exits with 0; a second signal ends it at
once, with 130. Each outcome is a line on standard output, with --output json or MATSU_LOG=json a
JSON document. Any number of workers, and the waiter function, may work one queue.";

/// Runs the command.
pub(crate) async fn run(common: &Common, args: WorkerArgs) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen()?;
    let session = Session::open_worker(common).await?;
    session.check_store()?;
    let mut engine = session.engine().await?;
    let log = session.config.log;
    engine.notify = Arc::new(Aloud {
        inner: engine.notify.clone(),
        json: session.output == Output::Json || log == LogFormat::Json,
        put_off: Mutex::default(),
    });
    // One plain read tells what is wrong with a store; the passes would go on trying.
    engine.store.get("waits/").await?;
    note(log, &begins(&session.config, args.sweep_every));
    let worker = Worker::new(engine, session.rules()).sweeping_every(args.sweep_every);
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        let _ = stopped.await;
    };
    let mut working = pin!(worker.run(stopped, |_| {}));
    tokio::select! {
        ended = &mut working => ended?,
        _ = signals.next() => {
            note(log, "ending what is in hand; a second signal ends it at once");
            drop(stop);
            tokio::select! {
                ended = &mut working => ended?,
                _ = signals.next() => return Ok(ExitCode::from(130)),
            }
        }
    }
    note(log, "ended");
    Ok(ExitCode::SUCCESS)
}

/// What is worked, in one line.
fn begins(config: &Config, sweep_every: Duration) -> String {
    let queue = match &config.queue {
        QueueUrl::Sqs(url) => url.clone(),
        QueueUrl::Sqlite(path) => format!("sqlite:{}", path.display()),
    };
    let store = match &config.store {
        StoreUrl::S3 { bucket, prefix } => format!("s3://{bucket}/{prefix}"),
        StoreUrl::Sqlite(path) => format!("sqlite:{}", path.display()),
    };
    format!(
        "working the queue {queue}, records in {store}; a wait of the default policy lasts at most {}; sweeping every {}",
        duration::show(config.policy.longest_wait()),
        duration::show(sweep_every)
    )
}

/// A line about the worker itself, in the form of the log.
fn note(log: LogFormat, text: &str) {
    match log {
        LogFormat::Text => say::note(text),
        LogFormat::Json => tracing::info!("{text}"),
    }
}

/// Tells outcomes as `inner` does, and prints each when it is told for the first time.
#[derive(Debug)]
struct Aloud {
    inner: Arc<dyn Notify>,
    json: bool,
    /// The waits whose outcome was printed and is to be told again.
    put_off: Mutex<HashSet<String>>,
}

impl Aloud {
    /// Whether the outcome of a wait, about which `told` was answered, has not been printed yet.
    fn is_new(&self, wait: &str, told: &Told) -> bool {
        let mut put_off = self.put_off.lock().unwrap_or_else(PoisonError::into_inner);
        match told {
            Told::Later { .. } => put_off.insert(wait.to_owned()),
            Told::Sent | Told::Never(_) => !put_off.remove(wait),
        }
    }

    fn print(&self, announcement: &Announcement) -> Result<(), Failure> {
        let document = Document::told(announcement);
        if self.json {
            return say::json(&document);
        }
        let ending = Ending {
            kind: announcement.outcome.kind,
            document,
        };
        say::result(ending.line())
    }
}

#[async_trait]
impl Notify for Aloud {
    async fn tell(&self, announcement: &Announcement) -> Told {
        let told = self.inner.tell(announcement).await;
        if self.is_new(&announcement.wait, &told)
            && let Err(failure) = self.print(announcement)
        {
            tracing::warn!(%failure, "an outcome was not printed");
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use matsu_wait::notify::LogOnly;

    use super::*;

    #[test]
    fn an_outcome_that_is_told_again_and_again_is_printed_once() {
        let aloud = Aloud {
            inner: Arc::new(LogOnly),
            json: false,
            put_off: Mutex::default(),
        };
        let later = || Told::Later {
            after: None,
            why: "503".to_owned(),
        };
        assert!(aloud.is_new("wait-1", &later()));
        assert!(!aloud.is_new("wait-1", &later()));
        assert!(aloud.is_new("wait-2", &Told::Sent));
        assert!(!aloud.is_new("wait-1", &Told::Sent));
        assert!(aloud.put_off.lock().unwrap().is_empty());
    }
}
