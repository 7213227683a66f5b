//! What both Lambda functions do before their first event: read the configuration, wire the engine.

use std::sync::Arc;
use std::time::Duration;

use matsu_lock::{Clock, SystemClock};
use tokio::sync::OnceCell;

use crate::aws::{Aws, Options};
use crate::config::{BadConfig, Config, Role, Values};
use crate::engine::{Engine, Run};
use crate::event::Rules;
use crate::setup::{self, SetupError};
use crate::target::Here;

/// The answer is ready this long before the platform would kill the function.
const MARGIN: Duration = Duration::from_millis(500);

/// A function in its environment.
#[derive(Debug)]
pub struct Function {
    config: Config,
    aws: Arc<Aws>,
    wired: OnceCell<Wired>,
}

/// The engine, and where it runs.
#[derive(Debug)]
pub struct Wired {
    engine: Engine,
    config: Config,
    here: Here,
}

impl Function {
    /// Reads and checks the environment, and begins the log.
    ///
    /// # Errors
    /// [`BadConfig`]: the function does not start.
    pub async fn load() -> Result<Self, BadConfig> {
        let values = Values::from_environment()?;
        let config = Config::new(&values, Role::Function)?;
        setup::logging(&config, config.log_level);
        let policy = &config.policy;
        tracing::info!(
            longest_wait_seconds = policy.longest_wait().as_secs(),
            max_count = policy.max_count,
            "ready"
        );
        Ok(Self {
            config,
            aws: Arc::new(Aws::load(&Options::default()).await),
            wired: OnceCell::new(),
        })
    }

    /// What an invocation may use, given when the platform will kill it (milliseconds since 1970): its lease.
    #[must_use]
    pub fn left(&self, deadline: u64) -> Duration {
        let now = u64::try_from(SystemClock.now().as_millisecond()).unwrap_or_default();
        Duration::from_millis(deadline.saturating_sub(now)).saturating_sub(MARGIN)
    }

    /// The engine, wired at the first invocation: only that tells the account, in the function's own ARN.
    ///
    /// # Errors
    /// [`SetupError`].
    pub async fn engine(&self, function_arn: &str) -> Result<&Wired, SetupError> {
        self.wired
            .get_or_try_init(|| async {
                let here = Here {
                    region: self.aws.region().map(str::to_owned),
                    account: function_arn
                        .split(':')
                        .nth(4)
                        .filter(|account| !account.is_empty())
                        .map(str::to_owned),
                };
                let engine = setup::engine(&self.config, &self.aws, &here)?;
                Ok(Wired {
                    engine,
                    config: self.config.clone(),
                    here,
                })
            })
            .await
    }
}

impl Wired {
    /// A run that lives at most `lease`.
    #[must_use]
    pub fn run(&self, lease: Duration) -> Run {
        Run::new(self.engine.clone(), lease)
    }

    /// The rules for reading what comes; `origin` is the identity of a request without one of its own.
    #[must_use]
    pub fn rules(&self, origin: String) -> Rules {
        setup::rules(&self.config, &self.here, origin)
    }
}
