//! A queue whose requests fail as told.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{Faults, Plan, never};
use crate::queue::{Delivery, Outgoing, Queue, QueueError};

/// A fault of one request to a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueFault {
    /// It has no effect and is not answered.
    Lost,
    /// It has its effect and is not answered: a message is sent, received (and hidden), or removed.
    Unanswered,
    /// It has no effect, and there is never an answer.
    Hangs,
    /// It has its effect, and there is never an answer.
    HangsAfter,
    /// It has no effect: too many requests.
    Throttled,
    /// It has no effect, for lack of permission.
    Denied,
}

impl QueueFault {
    /// What becomes of a request that would do `act`.
    async fn of<T>(self, act: impl Future<Output = T>) -> Result<T, QueueError> {
        let unanswered = || Err(QueueError::Unavailable("no answer".to_owned()));
        match self {
            Self::Lost => unanswered(),
            Self::Unanswered => {
                act.await;
                unanswered()
            }
            Self::Hangs => never().await,
            Self::HangsAfter => {
                act.await;
                never().await
            }
            Self::Throttled => Err(QueueError::Unavailable("throttled".to_owned())),
            Self::Denied => Err(QueueError::Refused("denied".to_owned())),
        }
    }
}

/// A queue whose coming requests fail as told, and that may refuse messages with a certain text in them; everything else
/// is the queue behind it.
#[derive(Debug)]
pub struct FaultyQueue {
    inner: Arc<dyn Queue>,
    refused: Option<String>,
    sends: Plan<QueueFault>,
    receives: Plan<QueueFault>,
    acknowledgements: Plan<QueueFault>,
    burials: Plan<QueueFault>,
    visibilities: Plan<QueueFault>,
}

impl FaultyQueue {
    /// A queue in front of `inner` without faults yet.
    #[must_use]
    pub fn in_front_of(inner: Arc<dyn Queue>) -> Self {
        Self {
            inner,
            refused: None,
            sends: Plan::default(),
            receives: Plan::default(),
            acknowledgements: Plan::default(),
            burials: Plan::default(),
            visibilities: Plan::default(),
        }
    }

    /// A queue in front of `inner` that does not answer to messages which contain `text`; an empty text is in all.
    pub fn new(inner: Arc<dyn Queue>, text: impl Into<String>) -> Self {
        Self {
            refused: Some(text.into()),
            ..Self::in_front_of(inner)
        }
    }

    /// What happens to the coming messages; those that are sent together are one each.
    pub fn sends(&self, faults: impl Faults<QueueFault>) {
        self.sends.set(faults);
    }

    /// What happens to the coming receives.
    pub fn receives(&self, faults: impl Faults<QueueFault>) {
        self.receives.set(faults);
    }

    /// What happens to the coming acknowledgements; deliveries that are acknowledged together are one.
    pub fn acknowledgements(&self, faults: impl Faults<QueueFault>) {
        self.acknowledgements.set(faults);
    }

    /// What happens to the coming bodies that are put aside.
    pub fn burials(&self, faults: impl Faults<QueueFault>) {
        self.burials.set(faults);
    }

    /// What happens to the coming questions for the queue's visibility timeout.
    pub fn visibilities(&self, faults: impl Faults<QueueFault>) {
        self.visibilities.set(faults);
    }

    async fn send_one(&self, message: Outgoing) -> Result<(), QueueError> {
        let is_refused = |text: &String| message.body.contains(text);
        if self.refused.as_ref().is_some_and(is_refused) {
            return Err(QueueError::Unavailable("no answer".to_owned()));
        }
        let send = async { self.inner.send(vec![message]).await.into_iter().collect() };
        planned(&self.sends, send).await
    }
}

/// What becomes of a request, as its plan says.
async fn planned<T>(
    plan: &Plan<QueueFault>,
    act: impl Future<Output = Result<T, QueueError>>,
) -> Result<T, QueueError> {
    match plan.next() {
        None => act.await,
        Some(fault) => fault.of(act).await?,
    }
}

#[async_trait]
impl Queue for FaultyQueue {
    fn home(&self) -> &str {
        self.inner.home()
    }

    async fn send(&self, messages: Vec<Outgoing>) -> Vec<Result<(), QueueError>> {
        let mut answers = Vec::new();
        for message in messages {
            answers.push(self.send_one(message).await);
        }
        answers
    }

    async fn receive(&self, most: usize, visibility: Duration) -> Result<Vec<Delivery>, QueueError> {
        planned(&self.receives, self.inner.receive(most, visibility)).await
    }

    async fn acknowledge(&self, deliveries: &[Delivery]) -> Result<(), QueueError> {
        planned(&self.acknowledgements, self.inner.acknowledge(deliveries)).await
    }

    async fn bury(&self, body: &str, reason: &str) -> Result<bool, QueueError> {
        planned(&self.burials, self.inner.bury(body, reason)).await
    }

    async fn visibility(&self) -> Result<Duration, QueueError> {
        planned(&self.visibilities, self.inner.visibility()).await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, QueueError> {
        self.inner.next_due().await
    }
}
