//! The suite finds stores out that break the contract, and passes those that are only unsure.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;

use super::*;
use crate::store::{Page, StoreError, Stored, Write};
use crate::{MemoryStore, SystemClock};

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Flaw {
    CreatesOverWhatIsThere,
    ReplacesAnyVersion,
    LooksAndThenWrites,
    FoldsTheCaseOfKeys,
    ListsOnePageOnly,
    WritesAlsoWhatItRefuses,
    /// No breach: every other write takes effect but has no known answer, and every third request has no answer.
    IsUnsure,
}

#[derive(Debug)]
struct Flawed {
    flaw: Flaw,
    inner: MemoryStore,
    requests: AtomicU32,
}

impl Flawed {
    fn new(flaw: Flaw) -> Self {
        let inner = MemoryStore::new(Arc::new(SystemClock)).with_pages_of(5);
        let requests = AtomicU32::new(0);
        Self { flaw, inner, requests }
    }

    fn key(&self, key: &str) -> String {
        let fold = self.flaw == Flaw::FoldsTheCaseOfKeys;
        if fold { key.to_lowercase() } else { key.to_owned() }
    }

    fn answered(&self) -> Result<u32, StoreError> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let silent = self.flaw == Flaw::IsUnsure && number % 3 == 2;
        if silent {
            Err(StoreError::Unavailable("busy".to_owned()))
        } else {
            Ok(number)
        }
    }

    async fn write(&self, key: &str, before: Option<&Token>, body: Vec<u8>) -> Result<Write, StoreError> {
        let number = self.answered()?;
        let there = self.inner.get(key).await?.map(|stored| stored.token);
        let holds = there.as_ref() == before;
        let wrongly = match self.flaw {
            Flaw::CreatesOverWhatIsThere => before.is_none(),
            Flaw::ReplacesAnyVersion => before.is_some() && there.is_some(),
            Flaw::LooksAndThenWrites => {
                tokio::task::yield_now().await;
                holds
            }
            Flaw::WritesAlsoWhatItRefuses => !holds,
            _ => false,
        };
        let before = if wrongly {
            self.inner.get(key).await?.map(|stored| stored.token)
        } else {
            before.cloned()
        };
        let written = match &before {
            None => self.inner.create(key, body).await?,
            Some(token) => self.inner.replace(key, token, body).await?,
        };
        Ok(match self.flaw {
            Flaw::WritesAlsoWhatItRefuses if wrongly => Write::Refused,
            Flaw::IsUnsure if number % 2 == 1 => Write::Unknown("no answer".to_owned()),
            _ => written,
        })
    }
}

#[async_trait]
impl Store for Flawed {
    async fn get(&self, key: &str) -> Result<Option<Stored>, StoreError> {
        self.answered()?;
        self.inner.get(&self.key(key)).await
    }

    async fn create(&self, key: &str, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(&self.key(key), None, body).await
    }

    async fn replace(&self, key: &str, token: &Token, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(&self.key(key), Some(token), body).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Page, StoreError> {
        self.answered()?;
        let mut page = self.inner.list(prefix, after).await?;
        if self.flaw == Flaw::ListsOnePageOnly {
            page.next = None;
        }
        Ok(page)
    }
}

/// The sentence with which the suite finds the flaw out.
async fn verdict(flaw: Flaw) -> String {
    let store = Arc::new(Flawed::new(flaw));
    let suite = tokio::spawn(async move { check(store, 3, "contract").await });
    let panic = suite
        .await
        .expect_err("the suite must not pass this store")
        .into_panic();
    let sentence = panic.downcast::<String>().expect("the suite speaks in sentences");
    *sentence
}

#[tokio::test]
async fn a_store_that_creates_over_what_is_there_is_found_out() {
    let sentence = verdict(Flaw::CreatesOverWhatIsThere).await;
    assert!(
        sentence.contains("creating a key that exists must be refused"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_store_that_replaces_any_version_is_found_out() {
    let sentence = verdict(Flaw::ReplacesAnyVersion).await;
    assert!(
        sentence.contains("token that is not the present one must be refused"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_store_that_looks_first_and_then_writes_is_found_out() {
    let sentence = verdict(Flaw::LooksAndThenWrites).await;
    assert!(sentence.contains("writers creating"), "{sentence}");
    assert!(sentence.contains("one must win"), "{sentence}");
}

#[tokio::test]
async fn a_store_that_takes_one_key_for_another_is_found_out() {
    let sentence = verdict(Flaw::FoldsTheCaseOfKeys).await;
    assert!(sentence.contains("a key unlike all others"), "{sentence}");
}

#[tokio::test]
async fn a_store_that_lists_one_page_only_is_found_out() {
    let sentence = verdict(Flaw::ListsOnePageOnly).await;
    assert!(
        sentence.contains("a listing must hold the keys under its prefix"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_store_that_writes_what_it_refuses_is_found_out() {
    let sentence = verdict(Flaw::WritesAlsoWhatItRefuses).await;
    assert!(sentence.contains("a refused write must have no effect"), "{sentence}");
}

#[tokio::test]
async fn a_store_that_is_only_unsure_passes() {
    check(Arc::new(Flawed::new(Flaw::IsUnsure)), 1, "contract").await;
}
