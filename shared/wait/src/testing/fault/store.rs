//! A store whose requests fail as told.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use matsu_lock::{Page, Store, StoreError, Stored, Token, Write};

use super::{Faults, Plan, held, never};

/// A fault of one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFault {
    /// It takes effect and is not answered.
    Unanswered,
    /// It takes no effect and is not answered.
    Lost,
    /// It is not answered and takes effect when [`FaultyStore::land`] is called.
    Late,
    /// It takes no effect, and there is never an answer.
    Hangs,
    /// It takes effect, and there is never an answer.
    HangsAfter,
    /// It takes no effect, and the store says so: too many requests.
    Throttled,
    /// It is refused for lack of permission.
    Denied,
}

/// A fault of one read, or of one page of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFault {
    /// It is not answered.
    Unavailable,
    /// There is never an answer.
    Hangs,
    /// It is refused for lack of permission.
    Denied,
}

impl ReadFault {
    /// What becomes of a read that takes `action`.
    async fn of<T>(self, action: &'static str) -> Result<T, StoreError> {
        match self {
            Self::Unavailable => Err(StoreError::Unavailable("no answer".to_owned())),
            Self::Hangs => never().await,
            Self::Denied => Err(StoreError::Denied {
                action,
                message: "no".to_owned(),
            }),
        }
    }
}

/// Key, token (none: a create) and body of a write that is still on its way.
type LateWrite = (String, Option<Token>, Vec<u8>);

/// A store whose coming requests fail as told, one after the other; then it is the one behind it.
#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    writes: Plan<WriteFault>,
    reads: Plan<ReadFault>,
    lists: Plan<ReadFault>,
    late: Mutex<Vec<LateWrite>>,
}

impl FaultyStore {
    /// A store in front of `inner` without faults yet.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            writes: Plan::default(),
            reads: Plan::default(),
            lists: Plan::default(),
            late: Mutex::default(),
        }
    }

    /// What happens to the coming writes.
    pub fn writes(&self, faults: impl Faults<WriteFault>) {
        self.writes.set(faults);
    }

    /// What happens to the coming reads.
    pub fn reads(&self, faults: impl Faults<ReadFault>) {
        self.reads.set(faults);
    }

    /// What happens to the coming pages of listings.
    pub fn lists(&self, faults: impl Faults<ReadFault>) {
        self.lists.set(faults);
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
        match self.writes.next() {
            None => self.pass_on(key, token, body).await,
            Some(WriteFault::Unanswered) => self.pass_on(key, token, body).await.and(unknown),
            Some(WriteFault::Lost) => unknown,
            Some(WriteFault::Late) => {
                held(&self.late).push((key.to_owned(), token.cloned(), body));
                unknown
            }
            Some(WriteFault::Hangs) => never().await,
            Some(WriteFault::HangsAfter) => {
                let _ = self.pass_on(key, token, body).await;
                never().await
            }
            Some(WriteFault::Throttled) => Err(StoreError::Unavailable("throttled".to_owned())),
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
        match self.reads.next() {
            None => self.inner.get(key).await,
            Some(fault) => fault.of("s3:GetObject").await,
        }
    }

    async fn create(&self, key: &str, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(key, None, body).await
    }

    async fn replace(&self, key: &str, token: &Token, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(key, Some(token), body).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Page, StoreError> {
        match self.lists.next() {
            None => self.inner.list(prefix, after).await,
            Some(fault) => fault.of("s3:ListBucket").await,
        }
    }
}
