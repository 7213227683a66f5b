//! The engine as a configuration asks for it: every port with its real implementation.

use std::path::Path;
use std::sync::Arc;

use matsu_lock::{Clock, Encryption, OsRandom, Random, S3Store, Store, StoreError, SystemClock};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::aws::Aws;
use crate::config::{Config, LogFormat, QueueUrl, StoreUrl};
use crate::engine::Engine;
use crate::event::Rules;
use crate::job::rds_copy::RdsJobs;
use crate::notify::{LogOnly, Notify, Slack};
use crate::queue::{BadQueueUrl, Queue, QueueError, SqsQueue};
use crate::secret::Secrets;
use crate::target::http::Reach;
use crate::target::{self, Here};

/// Why an engine could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The queue cannot be opened.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The queue's URL is none.
    #[error(transparent)]
    QueueUrl(#[from] BadQueueUrl),
    /// The channel cannot be set up.
    #[error("the webhook cannot be used: {0}")]
    Webhook(String),
    /// This build has no embedded store and queue.
    #[error("this program has no SQLite in it: it takes an S3 store and an SQS queue")]
    NoSqlite,
}

/// Puts the engine together. Nothing is asked of AWS yet.
///
/// # Errors
/// [`SetupError`].
pub fn engine(config: &Config, aws: &Arc<Aws>, here: &Here) -> Result<Engine, SetupError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let random: Arc<dyn Random> = Arc::new(OsRandom);
    let secrets = Arc::new(Secrets::new(Some(aws.clone()), config.function.clone()));
    let notify: Arc<dyn Notify> = match &config.webhook {
        None => Arc::new(LogOnly),
        Some(webhook) => Arc::new(
            Slack::new(webhook.clone(), here.clone(), secrets.clone(), &config.roots).map_err(SetupError::Webhook)?,
        ),
    };
    let reach = Reach::new(config.http_allow.clone(), config.roots.clone(), secrets);
    let (store, queue) = records_and_timers(config, aws, &clock, &random)?;
    Ok(Engine {
        store,
        queue,
        look: Arc::new(target::Targets::new(Some(aws.clone()), here.clone()).reaching(reach)),
        jobs: Arc::new(RdsJobs::new(Some(aws.clone()), config.copy.clone(), here.clone())),
        notify,
        clock,
        random,
    })
}

type RecordsAndTimers = (Arc<dyn Store>, Arc<dyn Queue>);

/// Store and queue. Where both are in one file they share its connection.
fn records_and_timers(
    config: &Config,
    aws: &Aws,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn Random>,
) -> Result<RecordsAndTimers, SetupError> {
    let mut files = Files::default();
    let store: Arc<dyn Store> = match &config.store {
        StoreUrl::S3 { bucket, prefix } => {
            let encryption = config.store_kms_key.clone().map(Encryption::Kms);
            Arc::new(S3Store::new(
                aws.s3(None),
                bucket,
                prefix,
                encryption,
                clock.clone(),
                random.clone(),
            ))
        }
        StoreUrl::Sqlite(path) => files.store(path, clock, random)?,
    };
    let queue: Arc<dyn Queue> = match &config.queue {
        QueueUrl::Sqs(url) => Arc::new(SqsQueue::new(
            aws.sqs(),
            url,
            config.dlq.clone(),
            clock.clone(),
            random.clone(),
        )?),
        QueueUrl::Sqlite(path) => files.queue(path, clock, random)?,
    };
    Ok((store, queue))
}

/// The files that are open.
#[cfg(feature = "sqlite")]
#[derive(Default)]
struct Files(Vec<matsu_lock::SqliteFile>);

#[cfg(feature = "sqlite")]
impl Files {
    fn open(&mut self, path: &Path) -> Result<matsu_lock::SqliteFile, SetupError> {
        let file = match self.0.iter().find(|file| file.path() == path) {
            Some(file) => file.clone(),
            None => matsu_lock::SqliteFile::open(path)?,
        };
        self.0.push(file.clone());
        Ok(file)
    }

    fn store(
        &mut self,
        path: &Path,
        clock: &Arc<dyn Clock>,
        random: &Arc<dyn Random>,
    ) -> Result<Arc<dyn Store>, SetupError> {
        let file = self.open(path)?;
        Ok(Arc::new(matsu_lock::SqliteStore::new(
            file,
            clock.clone(),
            random.clone(),
        )?))
    }

    fn queue(
        &mut self,
        path: &Path,
        clock: &Arc<dyn Clock>,
        random: &Arc<dyn Random>,
    ) -> Result<Arc<dyn Queue>, SetupError> {
        let file = self.open(path)?;
        Ok(Arc::new(crate::queue::SqliteQueue::new(
            file,
            clock.clone(),
            random.clone(),
        )?))
    }
}

/// This build opens none.
#[cfg(not(feature = "sqlite"))]
#[derive(Default)]
struct Files {}

#[cfg(not(feature = "sqlite"))]
impl Files {
    fn store(&mut self, _: &Path, _: &Arc<dyn Clock>, _: &Arc<dyn Random>) -> Result<Arc<dyn Store>, SetupError> {
        Err(SetupError::NoSqlite)
    }

    fn queue(&mut self, _: &Path, _: &Arc<dyn Clock>, _: &Arc<dyn Random>) -> Result<Arc<dyn Queue>, SetupError> {
        Err(SetupError::NoSqlite)
    }
}

/// The rules for reading events and raw messages; `origin` is the identity of a request without one of its own.
#[must_use]
pub fn rules(config: &Config, here: &Here, origin: String) -> Rules {
    Rules {
        here: here.clone(),
        policy: config.policy.clone(),
        on_object_created: config.on_object_created,
        files: matches!(config.queue, QueueUrl::Sqlite(_)),
        http_allow: config.http_allow.clone(),
        own_store: config.own_store(),
        origin,
    }
}

/// Begins to write the log to standard error, with what the configuration leaves to be said. Only the first call counts.
pub fn logging(config: &Config, level: &str) {
    let level = level.parse().unwrap_or(LevelFilter::OFF);
    // Our own packages alone: what the libraries below have to say may hold secrets.
    let ours = Targets::new().with_target("matsu", level);
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = match config.log {
        LogFormat::Text => lines.compact().with_filter(ours).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_filter(ours).boxed(),
    };
    // A second call finds the log running already: that is fine.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    for name in &config.not_yet {
        tracing::warn!(name, "the setting is taken, but this version does not act on it yet");
    }
}
