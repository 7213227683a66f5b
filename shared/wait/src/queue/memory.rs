//! A queue within the process: for tests, simulations and demonstrations. It moves with the clock that it is given.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use matsu_lock::Clock;

use super::{Delivery, LONGEST_DELAY, Outgoing, Queue, QueueError, refusal};

/// How often a message is delivered before it becomes a dead letter, unless said otherwise.
const MAX_RECEIVES: u32 = 5;

/// A queue that lives as long as this value. Its times are [`Clock::elapsed`]: jumps of the time of day do nothing.
#[derive(Debug)]
pub struct MemoryQueue {
    home: String,
    clock: Arc<dyn Clock>,
    /// None: there is no place for dead letters, and messages are delivered for ever.
    max_receives: Option<u32>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    messages: Vec<Entry>,
    dead: Vec<(String, String)>,
    sends: u64,
    /// The last number given to an id or a receipt.
    number: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    message: Waiting,
    /// The receipt of its last delivery.
    receipt: Option<String>,
}

/// A message that is neither acknowledged nor dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The queue's id of it.
    pub id: String,
    /// The body.
    pub body: String,
    /// When it will be delivered (again) at the earliest, by [`Clock::elapsed`].
    pub due: Duration,
    /// How often it was delivered.
    pub receives: u32,
}

impl MemoryQueue {
    /// An empty queue under this name.
    #[must_use]
    pub fn new(home: &str, clock: Arc<dyn Clock>) -> Self {
        Self {
            home: home.to_owned(),
            clock,
            max_receives: Some(MAX_RECEIVES),
            inner: Mutex::default(),
        }
    }

    /// After so many deliveries without an acknowledgement a message becomes a dead letter.
    #[must_use]
    pub fn with_max_receives(mut self, max_receives: u32) -> Self {
        self.max_receives = Some(max_receives);
        self
    }

    /// A queue like one without a dead-letter queue: nothing can be buried, and messages are delivered for ever.
    #[must_use]
    pub fn without_dead_letters(mut self) -> Self {
        self.max_receives = None;
        self
    }

    /// What waits or is hidden, the next one due first.
    #[must_use]
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut waiting: Vec<_> = self.inner().messages.iter().map(|m| m.message.clone()).collect();
        waiting.sort_by_key(|m| m.due);
        waiting
    }

    /// When the next message is due, by [`Clock::elapsed`].
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.inner().messages.iter().map(|m| m.message.due).min()
    }

    /// The dead letters with their reasons, the oldest first.
    #[must_use]
    pub fn dead(&self) -> Vec<(String, String)> {
        self.inner().dead.clone()
    }

    /// How many messages were taken so far.
    #[must_use]
    pub fn sends(&self) -> u64 {
        self.inner().sends
    }

    /// Makes the queue deliver the message once more than it should, as SQS may: a copy under the same id, due at once.
    /// Answers whether there is such a message.
    pub fn duplicate(&self, id: &str) -> bool {
        let now = self.clock.elapsed();
        let mut inner = self.inner();
        let Some(mut copy) = inner.messages.iter().find(|m| m.message.id == id).cloned() else {
            return false;
        };
        copy.message.due = now;
        copy.receipt = None;
        inner.messages.push(copy);
        true
    }

    /// Forgets everything that waits or is hidden, as a purge does.
    pub fn purge(&self) {
        self.inner().messages.clear();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    fn bury_what_came_too_often(&mut self, now: Duration, max_receives: u32) {
        let gone = self
            .messages
            .extract_if(.., |m| m.message.due <= now && m.message.receives >= max_receives);
        self.dead.extend(gone.map(|m| {
            let reason = format!("received {} times without success", m.message.receives);
            (m.message.body, reason)
        }));
    }

    /// Hides the message and gives it a fresh receipt.
    fn deliver(&mut self, index: usize, until: Duration) -> Delivery {
        let receipt = format!("receipt {}", self.number());
        let entry = &mut self.messages[index];
        entry.receipt = Some(receipt.clone());
        entry.message.due = until;
        entry.message.receives += 1;
        Delivery {
            id: entry.message.id.clone(),
            body: entry.message.body.clone(),
            receipt,
            receives: entry.message.receives,
        }
    }
}

#[async_trait]
impl Queue for MemoryQueue {
    fn home(&self) -> &str {
        &self.home
    }

    async fn send(&self, messages: Vec<Outgoing>) -> Vec<Result<(), QueueError>> {
        let now = self.clock.elapsed();
        let mut inner = self.inner();
        let mut send = |Outgoing { body, delay }| {
            if let Some(error) = refusal(&body) {
                return Err(error);
            }
            let id = format!("{} {}", self.home, inner.number());
            let due = now + delay.min(LONGEST_DELAY);
            inner.messages.push(Entry {
                message: Waiting {
                    id,
                    body,
                    due,
                    receives: 0,
                },
                receipt: None,
            });
            inner.sends += 1;
            Ok(())
        };
        messages.into_iter().map(&mut send).collect()
    }

    async fn receive(&self, most: usize, visibility: Duration) -> Result<Vec<Delivery>, QueueError> {
        let now = self.clock.elapsed();
        let mut inner = self.inner();
        if let Some(max_receives) = self.max_receives {
            inner.bury_what_came_too_often(now, max_receives);
        }
        let mut due: Vec<_> = (0..inner.messages.len())
            .filter(|i| inner.messages[*i].message.due <= now)
            .collect();
        due.sort_by_key(|i| inner.messages[*i].message.due);
        due.truncate(most.clamp(1, 10));
        let until = now.saturating_add(visibility);
        Ok(due.into_iter().map(|i| inner.deliver(i, until)).collect())
    }

    async fn acknowledge(&self, deliveries: &[Delivery]) -> Result<(), QueueError> {
        let acknowledged = |m: &Entry| deliveries.iter().any(|d| m.receipt.as_ref() == Some(&d.receipt));
        self.inner().messages.retain(|m| !acknowledged(m));
        Ok(())
    }

    async fn bury(&self, body: &str, reason: &str) -> Result<bool, QueueError> {
        if self.max_receives.is_none() {
            return Ok(false);
        }
        self.inner().dead.push((body.to_owned(), reason.to_owned()));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::contract;
    use jiff::{SignedDuration, Timestamp};
    use matsu_lock::HandClock;

    const SECOND: Duration = Duration::from_secs(1);
    const MINUTE: Duration = Duration::from_secs(60);

    fn queue() -> (Arc<HandClock>, MemoryQueue) {
        let clock = Arc::new(HandClock::new(Timestamp::UNIX_EPOCH));
        (clock.clone(), MemoryQueue::new("home", clock))
    }

    fn message(body: &str, delay: Duration) -> Outgoing {
        Outgoing {
            body: body.to_owned(),
            delay,
        }
    }

    #[tokio::test]
    async fn it_keeps_the_contract() {
        let (clock, queue) = queue();
        contract::all(&queue, async |d| clock.advance(d), async || queue.dead()).await;
    }

    #[tokio::test]
    async fn a_message_comes_at_its_due_time_and_not_a_moment_before() {
        let (clock, queue) = queue();
        clock.advance(MINUTE);
        queue
            .send(vec![message("later", 10 * SECOND), message("sooner", 3 * SECOND)])
            .await;
        let plan: Vec<_> = queue.waiting().into_iter().map(|m| (m.due, m.body)).collect();
        assert_eq!(
            plan,
            [
                (MINUTE + 3 * SECOND, "sooner".to_owned()),
                (MINUTE + 10 * SECOND, "later".to_owned())
            ]
        );
        assert_eq!(queue.next_due(), Some(MINUTE + 3 * SECOND));

        clock.advance(3 * SECOND - Duration::from_nanos(1));
        assert!(queue.receive(10, MINUTE).await.unwrap().is_empty());
        clock.advance(Duration::from_nanos(1));
        assert_eq!(queue.receive(10, MINUTE).await.unwrap()[0].body, "sooner");
        assert_eq!(queue.sends(), 2);
    }

    #[tokio::test]
    async fn a_jump_of_the_time_of_day_changes_nothing() {
        let (clock, queue) = queue();
        queue.send(vec![message("m", MINUTE)]).await;
        clock.jump(SignedDuration::from_hours(48));
        assert!(queue.receive(10, MINUTE).await.unwrap().is_empty());
        clock.jump(SignedDuration::from_hours(-96));
        clock.advance(MINUTE);
        assert_eq!(queue.receive(10, MINUTE).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_delay_beyond_the_longest_is_cut_to_it() {
        let (clock, queue) = queue();
        queue.send(vec![message("m", Duration::MAX)]).await;
        assert_eq!(queue.next_due(), Some(LONGEST_DELAY));
        clock.advance(LONGEST_DELAY);
        assert_eq!(queue.receive(10, Duration::MAX).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn an_old_receipt_removes_nothing() {
        let (clock, queue) = queue();
        queue.send(vec![message("m", Duration::ZERO)]).await;
        let first = queue.receive(1, MINUTE).await.unwrap();
        clock.advance(MINUTE);
        let second = queue.receive(1, MINUTE).await.unwrap();
        queue.acknowledge(&first).await.unwrap();
        assert_eq!(queue.waiting().len(), 1);
        queue.acknowledge(&second).await.unwrap();
        assert!(queue.waiting().is_empty());
    }

    #[tokio::test]
    async fn a_message_received_too_often_becomes_a_dead_letter() {
        let (clock, queue) = queue();
        let queue = queue.with_max_receives(2);
        queue.send(vec![message("poison", Duration::ZERO)]).await;
        for receives in 1..=2 {
            assert_eq!(queue.receive(1, MINUTE).await.unwrap()[0].receives, receives);
            clock.advance(MINUTE);
        }
        assert!(queue.receive(1, MINUTE).await.unwrap().is_empty());
        let reason = "received 2 times without success".to_owned();
        assert_eq!(queue.dead(), [("poison".to_owned(), reason)]);
    }

    #[tokio::test]
    async fn without_dead_letters_nothing_is_buried_and_messages_come_for_ever() {
        let (clock, queue) = queue();
        let queue = queue.without_dead_letters();
        queue.send(vec![message("m", Duration::ZERO)]).await;
        for receives in 1..=20 {
            assert_eq!(queue.receive(1, MINUTE).await.unwrap()[0].receives, receives);
            clock.advance(MINUTE);
        }
        assert_eq!(queue.bury("m", "why").await, Ok(false));
        assert!(queue.dead().is_empty());
    }

    #[tokio::test]
    async fn a_duplicate_has_the_id_of_its_original_and_a_receipt_of_its_own() {
        let (_, queue) = queue();
        queue.send(vec![message("m", Duration::ZERO)]).await;
        let original = queue.receive(10, MINUTE).await.unwrap();
        assert!(queue.duplicate(&original[0].id));
        let copy = queue.receive(10, MINUTE).await.unwrap();
        assert_eq!(copy[0].id, original[0].id);
        assert_ne!(copy[0].receipt, original[0].receipt);
        queue.acknowledge(&original).await.unwrap();
        assert_eq!(queue.waiting().len(), 1);
        assert!(!queue.duplicate("unknown"));
    }

    #[tokio::test]
    async fn a_purge_forgets_what_waits_and_what_is_hidden() {
        let (clock, queue) = queue();
        queue
            .send(vec![message("hidden", Duration::ZERO), message("waiting", MINUTE)])
            .await;
        assert_eq!(queue.receive(1, SECOND).await.unwrap().len(), 1);
        queue.purge();
        clock.advance(2 * MINUTE);
        assert!(queue.receive(10, MINUTE).await.unwrap().is_empty());
        assert_eq!(queue.next_due(), None);
    }
}
