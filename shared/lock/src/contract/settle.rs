//! Reading and writing until it is known what came of it.

use std::time::Duration;

use crate::store::{Page, Store, StoreError, Stored, Token, Write};
use crate::{Clock, OsRandom, Random, SystemClock};

use super::Put;

/// How often a request that came to nothing is made before the suite gives up.
const TRIES: u32 = 20;

/// What is under `key`, also where the store first gives no answer.
pub(super) async fn read(store: &dyn Store, key: &str) -> Option<Stored> {
    for _ in 0..TRIES {
        match store.get(key).await {
            Ok(stored) => return stored,
            Err(StoreError::Unavailable(_)) => pause().await,
            Err(error) => panic!("reading {key}: {error}"),
        }
    }
    panic!("reading {key} had no answer {TRIES} times");
}

/// A page of a listing, also where the store first gives no answer.
pub(super) async fn page(store: &dyn Store, prefix: &str, after: Option<&str>) -> Page {
    for _ in 0..TRIES {
        match store.list(prefix, after).await {
            Ok(page) => return page,
            Err(StoreError::Unavailable(_)) => pause().await,
            Err(error) => panic!("listing {prefix}: {error}"),
        }
    }
    panic!("listing {prefix} had no answer {TRIES} times");
}

/// Writes over `before` (none: creates) until it is known whether it took effect; the token if it did.
///
/// Others may write at the same time, but only over the same version, or keeping the id of `put` in the body.
pub(super) async fn settled(store: &dyn Store, key: &str, before: Option<&Token>, put: &Put) -> Option<Token> {
    let mut doubt = false;
    for _ in 0..TRIES {
        let answer = match before {
            None => store.create(key, put.body.clone()).await,
            Some(token) => store.replace(key, token, put.body.clone()).await,
        };
        match answer {
            Ok(Write::Written { token, .. }) => return Some(token),
            Ok(Write::Refused) if !doubt => return None,
            Ok(Write::Refused) => {}
            Ok(Write::Unknown(_)) => doubt = true,
            Err(StoreError::Unavailable(_)) => {
                pause().await;
                continue;
            }
            Err(error) => panic!("writing {key}: {error}"),
        }
        let there = read(store, key).await;
        match there {
            Some(stored) if put.is_in(&stored.body) => return Some(stored.token),
            there if there.as_ref().map(|stored| &stored.token) == before => pause().await,
            _ => return None,
        }
    }
    panic!("writing {key} came to nothing known {TRIES} times");
}

async fn pause() {
    let pause = OsRandom.between(Duration::from_millis(10), Duration::from_millis(100));
    SystemClock.sleep(pause).await;
}
