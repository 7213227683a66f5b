//! Ports in front of others that fail as told.

mod jobs;
mod look;
mod notify;
mod queue;
mod store;

use std::sync::Mutex;

pub use jobs::{FaultyJobs, JobFault};
pub use look::{FaultyLook, LookFault};
pub use notify::{FaultyNotify, TellFault};
pub use queue::{FaultyQueue, QueueFault};
pub use store::{FaultyStore, ReadFault, WriteFault};

use super::held;

/// The faults of coming calls, one a call; none: that one goes well. Behind the last everything does.
///
/// The words mean the same at each port: what is *lost* has no effect and is not answered; what is *unanswered* has its
/// effect all the same; what *hangs* is never answered at all, as if the run or the network had died, so that only the
/// caller's own limit ends it.
pub trait Faults<F>: IntoIterator<Item = Option<F>, IntoIter: Send + 'static> {}

impl<F, T: IntoIterator<Item = Option<F>, IntoIter: Send + 'static>> Faults<F> for T {}

/// The `k`th coming call, from 1, fails in this way; all others go well.
///
/// ```
/// # use std::sync::Arc;
/// # use matsu_wait::testing::{Bench, FaultyQueue, QueueFault, nth};
/// let bench = Bench::new();
/// let queue = FaultyQueue::in_front_of(bench.queue.clone());
/// queue.sends(nth(3, QueueFault::Unanswered)); // the third message is taken, and nobody hears of it
/// queue.acknowledgements([Some(QueueFault::Lost), None, Some(QueueFault::Lost)]);
/// queue.receives(std::iter::repeat(Some(QueueFault::Throttled))); // from now on
/// let mut engine = bench.engine();
/// engine.queue = Arc::new(queue);
/// ```
pub fn nth<F: Send + 'static>(k: usize, fault: F) -> impl Faults<F> {
    let well = std::iter::repeat_with(|| None).take(k.saturating_sub(1));
    well.chain(std::iter::once(Some(fault)))
}

/// The faults of one kind of call.
struct Plan<F>(Mutex<Box<dyn Iterator<Item = Option<F>> + Send>>);

impl<F: 'static> Default for Plan<F> {
    fn default() -> Self {
        Self(Mutex::new(Box::new(std::iter::empty())))
    }
}

impl<F> std::fmt::Debug for Plan<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Plan")
    }
}

impl<F> Plan<F> {
    fn set(&self, faults: impl Faults<F>) {
        *held(&self.0) = Box::new(faults.into_iter());
    }

    /// The fault of the call that is made now.
    fn next(&self) -> Option<F> {
        held(&self.0).next().flatten()
    }
}

/// No answer, ever.
async fn never<T>() -> T {
    std::future::pending().await
}

#[cfg(test)]
mod tests;
