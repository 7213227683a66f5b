//! What every command begins with: its settings, and the ports that it asks for.

use std::sync::Arc;

use matsu_lock::{OsRandom, Random};
use matsu_wait::aws::{Aws, Options};
use matsu_wait::config::{Config, QueueUrl, Role, Source, StoreUrl, Values};
use matsu_wait::engine::Engine;
use matsu_wait::event::Rules;
use matsu_wait::setup;
use matsu_wait::target::{BadTarget, Here, Target, Until, file};

use serde_json::Value;

use crate::args::{Common, Output};
use crate::failure::Failure;
use crate::settings::values;

/// A command in its surroundings.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) config: Config,
    pub(crate) aws: Arc<Aws>,
    pub(crate) here: Here,
    pub(crate) output: Output,
}

impl Session {
    /// Reads the configuration and begins the log. Nothing is asked of AWS.
    pub(crate) async fn open(common: &Common) -> Result<Self, Failure> {
        Self::of(values(common)?, common, None).await
    }

    /// The same for a process that goes on by itself: a JSON log is its only way to tell what happens.
    pub(crate) async fn open_worker(common: &Common) -> Result<Self, Failure> {
        let values = values(common)?;
        let json = values.optional("MATSU_LOG").as_deref() == Some("json");
        Self::of(values, common, json.then_some("info")).await
    }

    /// The same for a command that says itself what went wrong: the log is silent unless a level is set.
    pub(crate) async fn open_silent(common: &Common) -> Result<Self, Failure> {
        Self::of(values(common)?, common, Some("off")).await
    }

    /// The same for a command that asks only the store: no queue has to be set.
    pub(crate) async fn open_store(common: &Common) -> Result<Self, Failure> {
        let mut values = values(common)?;
        if values.text("MATSU_QUEUE").is_none() && values.text("MATSU_STORE").is_some_and(|url| !is_file(url)) {
            values.insert(
                "MATSU_QUEUE",
                "https://localhost/000000000000/unused".to_owned(),
                Source::Environment,
            )?;
        }
        Self::of(values, common, Some("off")).await
    }

    async fn of(values: Values, common: &Common, log_level: Option<&str>) -> Result<Self, Failure> {
        let config = Config::new(&values, Role::Command)?;
        let unset = values.optional("MATSU_LOG_LEVEL").is_none();
        setup::logging(&config, log_level.filter(|_| unset).unwrap_or(config.log_level));
        let options = Options {
            profile: common.profile.clone(),
            region: common.region.clone(),
            endpoint_url: common.endpoint_url.clone(),
            region_from_files: is_local(&config),
        };
        let aws = Arc::new(Aws::load(&options).await);
        let here = Here {
            region: aws.region().map(str::to_owned),
            account: None,
        };
        Ok(Self {
            config,
            aws,
            here,
            output: common.output,
        })
    }

    /// The ports. Where store or queue are in AWS there must be a region and credentials.
    pub(crate) async fn engine(&self) -> Result<Engine, Failure> {
        if !is_local(&self.config) {
            if self.aws.region().is_none() {
                let why = "no region is set: set AWS_REGION, or name one with --region or in the profile";
                return Err(Failure::Configuration(why.to_owned()));
            }
            self.aws.credentials().await?;
        }
        Ok(setup::engine(&self.config, &self.aws, &self.here)?)
    }

    /// How events are read; requests without an identity get a fresh one.
    pub(crate) fn rules(&self) -> Rules {
        setup::rules(&self.config, &self.here, OsRandom.id())
    }

    /// Whether the queue is a file of this machine, worked by whoever waits.
    pub(crate) fn embedded(&self) -> bool {
        matches!(self.config.queue, QueueUrl::Sqlite(_))
    }

    /// Whether the records are a file of this machine.
    pub(crate) fn local_store(&self) -> bool {
        matches!(self.config.store, StoreUrl::Sqlite(_))
    }

    /// Reads a target as people type it here: paths become absolute, and where a short form needs our account it is
    /// asked for. An object in JSON is a target as well.
    pub(crate) async fn target(&self, text: &str, until: Option<Until>) -> Result<Target, Failure> {
        let folder = std::env::current_dir()
            .map_err(|fault| Failure::Configuration(format!("the current folder cannot be told: {fault}")))?;
        let text = file::absolute(text, &folder);
        let object = text.trim_start().starts_with('{').then(|| serde_json::from_str(&text));
        let object: Option<Value> = object
            .transpose()
            .map_err(|fault| Failure::Usage(format!("the target {text} is not JSON: {fault}")))?;
        let read = |here: &Here| match &object {
            Some(object) => Target::from_value(object, until, here),
            None => Target::parse(&text, until, here),
        };
        let parsed = match read(&self.here) {
            Err(BadTarget::NeedsAccount(_)) => {
                let here = Here {
                    account: Some(self.aws.account().await?),
                    ..self.here.clone()
                };
                read(&here)
            }
            parsed => parsed,
        };
        let target = parsed.map_err(|bad| match bad {
            BadTarget::NeedsRegion(_) | BadTarget::NeedsAccount(_) => Failure::Configuration(bad.to_string()),
            BadTarget::Bad(_) => Failure::Usage(bad.to_string()),
        })?;
        if let Target::Http(http) = &target {
            let checked = http.check(&self.config.http_allow);
            checked.map_err(|bad| Failure::Usage(bad.to_string()))?;
        }
        if !self.embedded() && matches!(target, Target::File(_)) {
            return Err(Failure::Usage(format!(
                "{target} is on this machine, where the waiter function cannot look: such a target takes a queue and a \
                 store of this machine, --queue sqlite:PATH --store sqlite:PATH"
            )));
        }
        Ok(target)
    }

    /// Whether whoever works the queue can read the store.
    pub(crate) fn check_store(&self) -> Result<(), Failure> {
        match &self.config.store {
            StoreUrl::Sqlite(path) if !self.embedded() => Err(Failure::Configuration(format!(
                "the queue is in SQS, but the waits would be kept in {}, which the waiter function cannot read: \
                 set --store or MATSU_STORE to s3://BUCKET/PREFIX",
                path.display()
            ))),
            StoreUrl::Sqlite(_) | StoreUrl::S3 { .. } => Ok(()),
        }
    }

    /// Nothing can be done here about a wait of another queue.
    pub(crate) fn elsewhere(target: &Target, home: &str) -> Failure {
        Failure::Configuration(format!(
            "the wait for {target} belongs to the queue {home}: name that one with --queue or MATSU_QUEUE"
        ))
    }

    /// Asks which account is ours, for short forms in what is read later.
    pub(crate) async fn know_account(&mut self) -> Result<(), Failure> {
        self.here.account = Some(self.aws.account().await?);
        Ok(())
    }
}

/// Whether neither store nor queue is in AWS.
fn is_local(config: &Config) -> bool {
    matches!(
        (&config.store, &config.queue),
        (StoreUrl::Sqlite(_), QueueUrl::Sqlite(_))
    )
}

fn is_file(url: &str) -> bool {
    url.trim().is_empty() || url.starts_with("sqlite:")
}
