//! The ports together, and one run of them within its lease.

use std::sync::Arc;
use std::time::Duration;

use matsu_lock::{Clock, Random, Store};

use crate::job::Jobs;
use crate::notify::Notify;
use crate::queue::{LONGEST_DELAY, Queue};
use crate::target::Look;

/// Everything that the verbs work with.
#[derive(Debug, Clone)]
pub struct Engine {
    /// Where the records are.
    pub store: Arc<dyn Store>,
    /// Where the timers are.
    pub queue: Arc<dyn Queue>,
    /// What looks at targets.
    pub look: Arc<dyn Look>,
    /// What starts jobs.
    pub jobs: Arc<dyn Jobs>,
    /// What tells people.
    pub notify: Arc<dyn Notify>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
}

/// The longest that each kind of effect may take, or a quarter of the lease where that is less: a function with a short
/// time-out works, too. One begins only if this fits before the lease's end.
pub mod limit {
    use std::time::Duration;

    /// A read or write of the store.
    pub const STORE: Duration = Duration::from_secs(5);
    /// A look at a target.
    pub const LOOK: Duration = Duration::from_secs(10);
    /// The start of a job.
    pub const JOB: Duration = Duration::from_secs(15);
    /// A message to the queue.
    pub const SEND: Duration = Duration::from_secs(5);
    /// A message to people.
    pub const TELL: Duration = Duration::from_secs(10);
}

/// One run: a Lambda invocation, a worker's handling of one message, a command. It ends with its lease, whatever happens.
#[derive(Debug, Clone)]
pub struct Run {
    engine: Engine,
    lease: Duration,
    ends: Duration,
}

/// The longest lease: what a queue can delay a message by, so that "when every run is dead" needs no hop.
pub const LONGEST_LEASE: Duration = LONGEST_DELAY;

/// The lease would end before the effect surely has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run's time is over")]
pub struct OutOfTime;

impl Run {
    /// A run that lives at most `lease` from now on, and never longer than [`LONGEST_LEASE`].
    #[must_use]
    pub fn new(engine: Engine, lease: Duration) -> Self {
        let lease = lease.min(LONGEST_LEASE);
        let ends = engine.clock.elapsed().saturating_add(lease);
        Self { engine, lease, ends }
    }

    /// The same run, until the same end, with other ports.
    #[must_use]
    pub fn with(&self, engine: Engine) -> Self {
        Self { engine, ..self.clone() }
    }

    /// The ports.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The longest that this run may live, from its beginning.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// What is left of it.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.ends.saturating_sub(self.engine.clock.elapsed())
    }

    /// Begins an effect only if `limit` (at most a quarter of the lease) fits before the lease's end, and drops it after
    /// that time: none is an effect of which nobody knows what became of it.
    ///
    /// # Errors
    /// [`OutOfTime`]: it was not begun.
    pub async fn effect<T>(
        &self,
        limit: Duration,
        effect: impl Future<Output = T> + Send,
    ) -> Result<Option<T>, OutOfTime> {
        let limit = limit.min(self.lease / 4);
        if self.left() < limit {
            return Err(OutOfTime);
        }
        Ok(tokio::time::timeout(limit, effect).await.ok())
    }
}
