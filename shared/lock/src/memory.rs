//! The store in memory, for tests and demonstrations: it counts the requests that were made of it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::Clock;
use crate::store::{Listed, Page, Store, StoreError, Stored, Token, Write, is_open};

/// How many lines a page of a listing has at most, as on S3.
const PAGE: usize = 1000;

/// How many requests a store was asked, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Reads.
    pub gets: u64,
    /// Conditional writes, whatever they came to.
    pub puts: u64,
    /// Pages of listings.
    pub lists: u64,
}

/// A [`Store`] that lives and dies with the process.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    tells_date: bool,
    page: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: BTreeMap<String, Entry>,
    writes: u64,
    counts: Counts,
}

#[derive(Debug)]
struct Entry {
    body: Vec<u8>,
    token: Token,
    written: Timestamp,
}

impl MemoryStore {
    /// An empty store whose times of writing come from `clock`. It tells no date.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            tells_date: false,
            page: PAGE,
            inner: Mutex::default(),
        }
    }

    /// The same store, telling its clock's time with every answer in whole seconds, as S3 does.
    #[must_use]
    pub fn telling_date(mut self) -> Self {
        self.tells_date = true;
        self
    }

    /// The same store with pages of `lines` lines (at least one).
    #[must_use]
    pub fn with_pages_of(mut self, lines: usize) -> Self {
        self.page = lines.max(1);
        self
    }

    /// What was asked since the start or the last [`MemoryStore::reset_counts`].
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.inner().counts
    }

    /// Counts from zero again.
    pub fn reset_counts(&self) {
        self.inner().counts = Counts::default();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Nothing that can panic happens under the lock, so what it guards is whole also after a panic elsewhere.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn date(&self) -> Option<Timestamp> {
        let now = self.tells_date.then(|| self.clock.now())?;
        Timestamp::from_second(now.as_second()).ok()
    }

    /// Writes if what is there now passes `condition`.
    fn write(&self, key: &str, body: Vec<u8>, condition: impl FnOnce(Option<&Token>) -> bool) -> Write {
        let mut inner = self.inner();
        inner.counts.puts += 1;
        if !condition(inner.entries.get(key).map(|entry| &entry.token)) {
            return Write::Refused;
        }
        inner.writes += 1;
        let token = Token::new(format!("memory-{}", inner.writes));
        let entry = Entry {
            body,
            token: token.clone(),
            written: self.clock.now(),
        };
        inner.entries.insert(key.to_owned(), entry);
        Write::Written {
            token,
            date: self.date(),
        }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn get(&self, key: &str) -> Result<Option<Stored>, StoreError> {
        let mut inner = self.inner();
        inner.counts.gets += 1;
        Ok(inner.entries.get(key).map(|entry| Stored {
            body: entry.body.clone(),
            token: entry.token.clone(),
            date: self.date(),
            written: self.tells_date.then_some(entry.written),
        }))
    }

    async fn create(&self, key: &str, body: Vec<u8>) -> Result<Write, StoreError> {
        Ok(self.write(key, body, |there| there.is_none()))
    }

    async fn replace(&self, key: &str, token: &Token, body: Vec<u8>) -> Result<Write, StoreError> {
        Ok(self.write(key, body, |there| there == Some(token)))
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Page, StoreError> {
        let mut inner = self.inner();
        inner.counts.lists += 1;
        let start = match after {
            Some(last) => Bound::Excluded(last),
            None => Bound::Included(prefix),
        };
        let mut entries: Vec<Listed> = inner
            .entries
            .range::<str, _>((start, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix))
            .take(self.page + 1)
            .map(|(key, entry)| Listed {
                key: key.clone(),
                token: entry.token.clone(),
                written: entry.written,
                open: is_open(entry.body.len() as u64),
            })
            .collect();
        let more = entries.len() > self.page;
        entries.truncate(self.page);
        let next = entries.last().filter(|_| more).map(|last| last.key.clone());
        Ok(Page { entries, next })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{HandClock, SystemClock, contract};

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn it_keeps_the_contract() {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)).with_pages_of(3));
        contract::check(store, 100, "contract").await;
    }

    #[tokio::test]
    async fn it_keeps_the_contract_when_it_tells_a_date() {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)).telling_date());
        contract::values(store.as_ref(), "contract").await;
    }

    #[tokio::test]
    async fn it_counts_every_request_by_kind() {
        let store = MemoryStore::new(Arc::new(HandClock::new(Timestamp::UNIX_EPOCH)));
        store.get("a").await.unwrap();
        store.create("a", b"1".to_vec()).await.unwrap();
        assert_eq!(store.create("a", b"2".to_vec()).await.unwrap(), Write::Refused);
        store.list("", None).await.unwrap();
        let counts = Counts {
            gets: 1,
            puts: 2,
            lists: 1,
        };
        assert_eq!(store.counts(), counts);
        store.reset_counts();
        assert_eq!(store.counts(), Counts::default());
    }

    #[tokio::test]
    async fn it_tells_when_a_body_was_written_and_the_date_only_if_asked_to() {
        let clock = Arc::new(HandClock::new(at("2026-01-15T03:04:05.678Z")));
        let silent = MemoryStore::new(clock.clone());
        let telling = MemoryStore::new(clock.clone()).telling_date();
        silent.create("a", b"1".to_vec()).await.unwrap();
        let Write::Written { date, .. } = telling.create("a", b"1".to_vec()).await.unwrap() else {
            panic!("an absent key can be created");
        };
        assert_eq!(date, Some(at("2026-01-15T03:04:05Z")));
        clock.advance(Duration::from_secs(60));
        assert_eq!(silent.get("a").await.unwrap().unwrap().date, None);
        assert_eq!(
            telling.get("a").await.unwrap().unwrap().date,
            Some(at("2026-01-15T03:05:05Z"))
        );
        let listed = silent.list("", None).await.unwrap().entries;
        assert_eq!(listed[0].written, at("2026-01-15T03:04:05.678Z"));
    }
}
