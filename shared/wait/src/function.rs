//! What both Lambda functions do before their first event: read the configuration, wire the engine.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
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
    clients: Clients,
    wired: OnceCell<Wired>,
}

/// The AWS clients, from the moment on when they are made: reading the root certificates takes most of a start, and the
/// runtime asks for its first event meanwhile.
type Clients = Shared<BoxFuture<'static, Arc<Aws>>>;

fn clients() -> Clients {
    let runtime = tokio::runtime::Handle::current();
    let made = tokio::task::spawn_blocking(move || runtime.block_on(Aws::load(&Options::default())));
    async { Arc::new(made.await.expect("the clients are made without a panic")) }
        .boxed()
        .shared()
}

/// The engine, and where it runs.
#[derive(Debug)]
pub struct Wired {
    engine: Engine,
    config: Config,
    here: Here,
}

impl Function {
    /// Reads and checks the environment, and begins the log. Within a runtime of tokio.
    ///
    /// # Errors
    /// [`BadConfig`]: the function does not start.
    pub fn load() -> Result<Self, BadConfig> {
        let clients = clients();
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
            clients,
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
                let aws = self.clients.clone().await;
                let here = Here {
                    region: aws.region().map(str::to_owned),
                    account: function_arn
                        .split(':')
                        .nth(4)
                        .filter(|account| !account.is_empty())
                        .map(str::to_owned),
                };
                let engine = setup::engine(&self.config, &aws, &here)?;
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
