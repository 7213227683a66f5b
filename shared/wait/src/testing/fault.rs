//! Ports in front of others that fail as told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use matsu_lock::{Page, Store, StoreError, Stored, Token, Write};

use super::held;
use crate::queue::{Delivery, Outgoing, Queue, QueueError};

/// A fault of one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFault {
    /// It takes effect and is not answered.
    Unanswered,
    /// It takes no effect and is not answered.
    Lost,
    /// It is not answered and takes effect when [`FaultyStore::land`] is called.
    Late,
    /// It is refused for lack of permission.
    Denied,
}

/// A fault of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFault {
    /// It is not answered.
    Unavailable,
    /// It is refused for lack of permission.
    Denied,
}

/// Key, token (none: a create) and body of a write that is still on its way.
type LateWrite = (String, Option<Token>, Vec<u8>);

/// A store whose coming requests fail as told, one after the other; then it is the one behind it.
#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    writes: Mutex<VecDeque<Option<WriteFault>>>,
    reads: Mutex<VecDeque<Option<ReadFault>>>,
    late: Mutex<Vec<LateWrite>>,
}

impl FaultyStore {
    /// A store in front of `inner` without faults yet.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            writes: Mutex::default(),
            reads: Mutex::default(),
            late: Mutex::default(),
        }
    }

    /// What happens to the coming writes; none: nothing bad.
    pub fn writes(&self, faults: impl IntoIterator<Item = Option<WriteFault>>) {
        *held(&self.writes) = faults.into_iter().collect();
    }

    /// What happens to the coming reads; none: nothing bad.
    pub fn reads(&self, faults: impl IntoIterator<Item = Option<ReadFault>>) {
        *held(&self.reads) = faults.into_iter().collect();
    }

    /// Lets the late writes arrive; answers what became of each.
    ///
    /// # Panics
    /// If the store behind does not answer.
    pub async fn land(&self) -> Vec<Write> {
        let late = std::mem::take(&mut *held(&self.late));
        let mut answers = Vec::new();
        for (key, token, body) in late {
            answers.push(
                self.pass_on(&key, token.as_ref(), body)
                    .await
                    .expect("the store answers"),
            );
        }
        answers
    }

    async fn pass_on(&self, key: &str, token: Option<&Token>, body: Vec<u8>) -> Result<Write, StoreError> {
        match token {
            Some(token) => self.inner.replace(key, token, body).await,
            None => self.inner.create(key, body).await,
        }
    }

    async fn write(&self, key: &str, token: Option<&Token>, body: Vec<u8>) -> Result<Write, StoreError> {
        let unknown = Ok(Write::Unknown("no answer".to_owned()));
        let fault = held(&self.writes).pop_front().flatten();
        match fault {
            None => self.pass_on(key, token, body).await,
            Some(WriteFault::Unanswered) => self.pass_on(key, token, body).await.and(unknown),
            Some(WriteFault::Lost) => unknown,
            Some(WriteFault::Late) => {
                held(&self.late).push((key.to_owned(), token.cloned(), body));
                unknown
            }
            Some(WriteFault::Denied) => Err(StoreError::Denied {
                action: "s3:PutObject",
                message: "no".to_owned(),
            }),
        }
    }
}

#[async_trait]
impl Store for FaultyStore {
    async fn get(&self, key: &str) -> Result<Option<Stored>, StoreError> {
        let fault = held(&self.reads).pop_front().flatten();
        match fault {
            None => self.inner.get(key).await,
            Some(ReadFault::Unavailable) => Err(StoreError::Unavailable("no answer".to_owned())),
            Some(ReadFault::Denied) => Err(StoreError::Denied {
                action: "s3:GetObject",
                message: "no".to_owned(),
            }),
        }
    }

    async fn create(&self, key: &str, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(key, None, body).await
    }

    async fn replace(&self, key: &str, token: &Token, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(key, Some(token), body).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Page, StoreError> {
        self.inner.list(prefix, after).await
    }
}

/// A queue that does not take messages with a certain text in them; everything else is the queue behind it.
#[derive(Debug)]
pub struct FaultyQueue {
    inner: Arc<dyn Queue>,
    refused: String,
}

impl FaultyQueue {
    /// A queue in front of `inner` that does not answer to messages which contain `text`; an empty text is in all.
    pub fn new(inner: Arc<dyn Queue>, text: impl Into<String>) -> Self {
        Self {
            inner,
            refused: text.into(),
        }
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
            if message.body.contains(&self.refused) {
                answers.push(Err(QueueError::Unavailable("no answer".to_owned())));
            } else {
                answers.extend(self.inner.send(vec![message]).await);
            }
        }
        answers
    }

    async fn receive(&self, most: usize, visibility: Duration) -> Result<Vec<Delivery>, QueueError> {
        self.inner.receive(most, visibility).await
    }

    async fn acknowledge(&self, deliveries: &[Delivery]) -> Result<(), QueueError> {
        self.inner.acknowledge(deliveries).await
    }

    async fn bury(&self, body: &str, reason: &str) -> Result<bool, QueueError> {
        self.inner.bury(body, reason).await
    }

    async fn visibility(&self) -> Result<Duration, QueueError> {
        self.inner.visibility().await
    }
}
