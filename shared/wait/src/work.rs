//! A worker: receives what is due in a queue and works it, several batches side by side, until it is told to stop.
//! What the waiter function and its schedule are on AWS, this is in a process of ours.
//!
//! A message is hidden from other workers for as long as its run can live. One that cannot be worked stays hidden for
//! that time and comes again; whoever dies with messages in hand delays them by that much and loses nothing.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::delay;
use crate::engine::{Engine, Run};
use crate::event::Rules;
use crate::gather;
use crate::handle::{Handled, handle};
use crate::queue::{self, Delivery, QueueError};
use crate::sweep::{Swept, sweep};

/// The longest that one message is worked: every effect of a pass fits, even if each takes as long as it may.
pub const LEASE: Duration = Duration::from_secs(60);

/// How long a message is hidden: it comes again a little after its run has surely ended.
pub const VISIBILITY: Duration = Duration::from_secs(65);

/// How many messages are worked side by side, in batches as they are received.
const SIDE_BY_SIDE: usize = 100;

/// The longest that a sweep may take.
const SWEEP: Duration = Duration::from_secs(300);

/// The longest pause between two looks into the queue: another process may have sent what is due sooner.
const IDLE: Duration = Duration::from_millis(250);

/// The longest pause after a queue has not answered.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Works a queue.
#[derive(Debug, Clone)]
pub struct Worker {
    engine: Engine,
    rules: Rules,
    sweep_every: Option<Duration>,
}

/// What became of the messages of a batch.
type Batch = Vec<Handled>;

impl Worker {
    /// A worker of the engine's queue. `rules` are those for raw messages; each takes the queue's id of the message as
    /// its origin.
    #[must_use]
    pub fn new(engine: Engine, rules: Rules) -> Self {
        Self {
            engine,
            rules,
            sweep_every: None,
        }
    }

    /// The same worker that also sweeps: at its start, and then each time that this has passed.
    #[must_use]
    pub fn sweeping_every(mut self, pause: Duration) -> Self {
        self.sweep_every = Some(pause);
        self
    }

    /// Works until `stop` is ready, then ends what is in hand; `handled` hears of each message. Dropped, it lets go of
    /// what is in hand, which comes again later.
    ///
    /// # Errors
    /// [`QueueError::Refused`]: the queue cannot be worked. A queue that does not answer is asked again.
    pub async fn run(&self, stop: impl Future<Output = ()>, handled: impl Fn(&Handled)) -> Result<(), QueueError> {
        tokio::select! {
            biased;
            worked = self.work(stop, handled) => worked,
            () = self.sweep() => unreachable!("it sweeps for ever"),
        }
    }

    async fn work(&self, stop: impl Future<Output = ()>, handled: impl Fn(&Handled)) -> Result<(), QueueError> {
        let mut stop = pin!(stop);
        let mut in_hand = JoinSet::new();
        let places = Arc::new(Semaphore::new(SIDE_BY_SIDE));
        let mut faults: u32 = 0;
        loop {
            let most = places.available_permits().min(queue::BATCH);
            let mut pause = IDLE;
            if most > 0 {
                let received = tokio::select! {
                    biased;
                    received = self.engine.queue.receive(most, VISIBILITY) => received,
                    // A queue may take its time to answer that it is empty; what it gives meanwhile comes again.
                    () = &mut stop => break,
                };
                match received {
                    Ok(deliveries) => {
                        faults = 0;
                        let full = deliveries.len() == most;
                        self.take(deliveries, &places, &mut in_hand);
                        pause = if full { Duration::ZERO } else { self.until_next().await };
                    }
                    Err(QueueError::Unavailable(why)) => {
                        tracing::warn!(why, "the queue does not answer, it is asked again");
                        pause = Duration::from_secs(1)
                            .saturating_mul(1 << faults.min(5))
                            .min(LONGEST_PAUSE);
                        faults += 1;
                    }
                    Err(fault) => return Err(fault),
                }
            }
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some(done) = in_hand.join_next() => told(done, &handled),
                () = self.engine.clock.sleep(pause), if most > 0 => {}
            }
        }
        while let Some(done) = in_hand.join_next().await {
            told(done, &handled);
        }
        Ok(())
    }

    /// Works what was received as one batch; each message frees its place when the batch has ended.
    fn take(&self, deliveries: Vec<Delivery>, places: &Arc<Semaphore>, in_hand: &mut JoinSet<Batch>) {
        let size = u32::try_from(deliveries.len()).unwrap_or(u32::MAX);
        if size == 0 {
            return;
        }
        let taken = places.clone().try_acquire_many_owned(size).ok();
        let Self { engine, rules, .. } = self.clone();
        in_hand.spawn(async move {
            let _taken = taken;
            gather::together(&engine, deliveries, |engine, delivery| {
                work(engine, rules.clone(), delivery)
            })
            .await
        });
    }

    /// How long until the queue's next message is due, as far as it can tell, at most [`IDLE`].
    async fn until_next(&self) -> Duration {
        match self.engine.queue.next_due().await {
            Ok(Some(due)) => delay::until(due, self.engine.clock.now()).min(IDLE),
            Ok(None) | Err(_) => IDLE,
        }
    }

    /// Sweeps for ever; what one sweep could not do, a later one does.
    async fn sweep(&self) {
        let Some(pause) = self.sweep_every else {
            return std::future::pending().await;
        };
        loop {
            let run = Run::new(self.engine.clone(), SWEEP);
            match tokio::time::timeout(run.left(), sweep(&run, false)).await {
                Ok(Ok(Some(Swept { sent, .. }))) if sent > 0 => {
                    tracing::warn!(sent, "waits without a timer were found and go on");
                }
                Ok(Ok(_)) => {}
                Ok(Err(why)) => tracing::warn!(%why, "a sweep broke off"),
                Err(_) => tracing::warn!("a sweep took too long and was ended"),
            }
            self.engine.clock.sleep(pause).await;
        }
    }
}

/// Works one message and acknowledges it, unless it is to come again.
async fn work(engine: Engine, mut rules: Rules, delivery: Delivery) -> Handled {
    rules.origin.clone_from(&delivery.id);
    let run = Run::new(engine, LEASE);
    let handled = handle(&run, &rules, &delivery.body).await;
    if !matches!(handled, Handled::GiveBack(_))
        && let Err(why) = run.engine().queue.acknowledge(&[delivery]).await
    {
        tracing::warn!(%why, "a message was not acknowledged: it comes again and is known to be over");
    }
    handled
}

fn told(done: Result<Batch, tokio::task::JoinError>, handled: &impl Fn(&Handled)) {
    match done {
        Ok(batch) => batch.iter().for_each(handled),
        Err(why) => tracing::error!(%why, "the handling of a batch broke off: its messages come again"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::queue::{Outgoing, Queue};
    use crate::target::Seen;
    use crate::testing::{Bench, request};
    use crate::wait::Status;

    /// Works until `enough` messages were handled.
    async fn work_until(bench: &Bench, enough: u32) -> u32 {
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let count = Cell::new(0);
        let worker = Worker::new(bench.engine(), bench.rules("unused"));
        let mut stopped = stopped;
        let stop_when = async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let hear = |_: &Handled| {
            count.set(count.get() + 1);
            if count.get() >= enough {
                stop.send_replace(true);
            }
        };
        worker.run(stop_when, hear).await.unwrap();
        count.get()
    }

    #[tokio::test]
    async fn a_worker_passes_a_wait_through_to_its_end() {
        let bench = Bench::new();
        let asked = request("s3://my-bucket/key", "origin-1");
        bench.look.will_see([
            Seen::Pending(Status::new("absent")),
            Seen::Pending(Status::new("absent")),
            Seen::Satisfied(Status::new("exists")),
        ]);
        bench.start(&asked).await;
        assert_eq!(work_until(&bench, 3).await, 3);
        let (record, _) = bench.record(&asked.target).await.unwrap();
        assert!(record.is_over());
        assert_eq!(record.pass, 3);
        assert!(bench.queue.waiting().is_empty());
    }

    #[tokio::test]
    async fn a_message_that_nobody_understands_does_not_stop_the_others() {
        let bench = Bench::new();
        let nonsense = Outgoing {
            body: "nonsense".to_owned(),
            delay: Duration::ZERO,
        };
        assert!(bench.queue.send(vec![nonsense]).await[0].is_ok());
        let asked = request("s3://my-bucket/key", "origin-1");
        bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
        bench.start(&asked).await;
        work_until(&bench, 2).await;
        assert!(bench.record(&asked.target).await.unwrap().0.is_over());
    }

    #[tokio::test]
    async fn a_raw_message_starts_a_wait_of_its_own_identity() {
        let bench = Bench::new();
        let body = r#"{"target":"s3://my-bucket/raw"}"#.to_owned();
        bench
            .queue
            .send(vec![Outgoing {
                body,
                delay: Duration::ZERO,
            }])
            .await;
        bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
        work_until(&bench, 2).await;
        let (record, _) = bench
            .record(&crate::testing::target("s3://my-bucket/raw"))
            .await
            .unwrap();
        assert!(record.is_over());
        assert_ne!(record.wait.origin, "unused");
    }

    #[tokio::test]
    async fn told_to_stop_a_worker_ends_what_is_in_hand_first() {
        let bench = Bench::new();
        let asked = request("s3://my-bucket/key", "origin-1");
        bench.start(&asked).await;
        Worker::new(bench.engine(), bench.rules("unused"))
            .run(async {}, |_| {})
            .await
            .unwrap();
        let (record, _) = bench.record(&asked.target).await.unwrap();
        assert_eq!(record.pass, 1);
        assert!(!bench.queue.waiting().is_empty(), "the next timer was sent");
    }
}
