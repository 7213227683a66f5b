//! The suite that every [`Store`] passes. Run it on your own implementation, or on the bucket you mean to use:
//!
//! ```
//! # use std::sync::Arc;
//! # use matsu_lock::{contract, MemoryStore, SystemClock};
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
//! contract::check(store, 3, "contract").await;
//! # }
//! ```
//!
//! Every function panics with a sentence where the store breaks its word. Each call works in a folder of its own under
//! the prefix that it is given, so that it can be repeated, and leaves its bodies behind: the port cannot delete.
//! Answers that are unknown are settled by reading back, and reads and writes without effect are tried again, so a busy
//! store passes, only later.

mod listing;
mod race;
mod settle;

use std::sync::Arc;

pub use listing::listing;
pub use race::{append, claim, race};

use crate::store::{Store, Token};
use crate::{OsRandom, Random};
use settle::{read, settled};

/// How many bodies [`check`] lists.
const LISTED: usize = 12;

/// Checks everything: [`values`], [`listing`] of a few bodies, and [`race`] over `rounds` rounds (100 is a fair number).
///
/// # Panics
/// Where the store breaks its contract, or does not answer after many tries.
pub async fn check(store: Arc<dyn Store>, rounds: u32, prefix: &str) {
    values(store.as_ref(), prefix).await;
    listing(store.as_ref(), prefix, LISTED).await;
    race(store, rounds, prefix).await;
}

/// Checks one writer's view: what is absent, created, replaced and refused; bodies and keys of all kinds.
///
/// # Panics
/// Where the store breaks its contract, or does not answer after many tries.
pub async fn values(store: &dyn Store, prefix: &str) {
    let folder = folder(prefix);
    absent_until_created(store, &format!("{folder}/absent")).await;
    created_only_when_absent(store, &format!("{folder}/create")).await;
    replaced_only_over_the_same_version(store, &format!("{folder}/replace")).await;
    tokens_never_repeat(store, &format!("{folder}/tokens")).await;
    bodies_come_back_byte_for_byte(store, &folder).await;
    keys_are_told_apart(store, &folder).await;
}

async fn absent_until_created(store: &dyn Store, key: &str) {
    assert!(
        read(store, key).await.is_none(),
        "a key that was never written must be absent: {key}"
    );
    for token in ["\"00000000000000000000000000000000\"", "no-such-token"] {
        let put = Put::fresh();
        let written = settled(store, key, Some(&Token::new(token)), &put).await;
        assert!(written.is_none(), "replacing an absent key must be refused: {key}");
        assert!(
            read(store, key).await.is_none(),
            "a refused write must have no effect: {key}"
        );
    }
}

async fn created_only_when_absent(store: &dyn Store, key: &str) {
    let first = Put::fresh();
    let token = settled(store, key, None, &first).await;
    let token = token.unwrap_or_else(|| panic!("an absent key can be created: {key}"));
    let second = settled(store, key, None, &Put::fresh()).await;
    assert!(second.is_none(), "creating a key that exists must be refused: {key}");
    assert_holds(store, key, &first.body, &token).await;
}

async fn replaced_only_over_the_same_version(store: &dyn Store, key: &str) {
    let created = settled(store, key, None, &Put::fresh()).await;
    let old = created.unwrap_or_else(|| panic!("an absent key can be created: {key}"));
    let put = Put::fresh();
    let new = settled(store, key, Some(&old), &put).await;
    let new = new.unwrap_or_else(|| panic!("a body can be replaced over its own token: {key}"));
    assert_ne!(old, new, "a new version must have a new token: {key}");
    assert_holds(store, key, &put.body, &new).await;
    for stale in [old, Token::new("no-such-token")] {
        let written = settled(store, key, Some(&stale), &Put::fresh()).await;
        assert!(
            written.is_none(),
            "replacing over a token that is not the present one must be refused: {key}"
        );
        assert_holds(store, key, &put.body, &new).await;
    }
}

async fn tokens_never_repeat(store: &dyn Store, key: &str) {
    let mut seen: Vec<Token> = Vec::new();
    for _ in 0..4 {
        let token = settled(store, key, seen.last(), &Put::fresh()).await;
        let token = token.unwrap_or_else(|| panic!("the only writer of a key must be able to write it: {key}"));
        assert!(
            !seen.contains(&token),
            "bodies that differ in their put id alone must have different tokens: {key}"
        );
        seen.push(token);
    }
}

async fn bodies_come_back_byte_for_byte(store: &dyn Store, folder: &str) {
    let every_byte: Vec<u8> = (0..=255).collect();
    let large = b"a\r\nb\0c ".repeat(16 * 1024);
    for (name, content) in [("small", &b"\n"[..]), ("bytes", &every_byte), ("large", &large)] {
        let key = format!("{folder}/bodies/{name}");
        let put = Put::fresh().with(content);
        let token = settled(store, &key, None, &put).await;
        let token = token.unwrap_or_else(|| panic!("an absent key can be created: {key}"));
        assert_holds(store, &key, &put.body, &token).await;
    }
}

async fn keys_are_told_apart(store: &dyn Store, folder: &str) {
    let keys = odd_keys(folder);
    let mut written = Vec::new();
    for key in &keys {
        let put = Put::fresh();
        let token = settled(store, key, None, &put).await;
        let token =
            token.unwrap_or_else(|| panic!("a key unlike all others must be absent before it is created: {key}"));
        written.push((key, put, token));
    }
    for (key, put, token) in &written {
        assert_holds(store, key, &put.body, token).await;
    }
}

/// Keys that something on the way may decode, fold, cut or take for another.
fn odd_keys(folder: &str) -> Vec<String> {
    let folder = format!("{folder}/keys");
    let names = [
        "plain",
        "PLAIN",
        "plain%20",
        "plain%2520",
        "plain 20",
        "plain+20",
        "plain/20",
        "plain%2F20",
        "plain%2f20",
        "a=b&c=d?e#f;g:h,i",
        "it's \"<quoted>\" $(here) `there` | \\ ^ ~ * [x] {y} @ !",
        "待つ",
        "カ\u{3099}",
        "ガ",
        "🕰",
    ];
    let mut keys: Vec<String> = names.iter().map(|name| format!("{folder}/{name}")).collect();
    for filler in ["x", "つ"] {
        let room = 900_usize.saturating_sub(folder.len() + 1);
        keys.push(format!("{folder}/{}", filler.repeat((room / filler.len()).max(1))));
    }
    keys
}

/// A body that no other write has: it contains a fresh id.
#[derive(Debug, Clone)]
struct Put {
    id: String,
    body: Vec<u8>,
}

impl Put {
    fn fresh() -> Self {
        let id = OsRandom.id();
        let body = format!(r#"{{"put":"{id}"}}"#).into_bytes();
        Self { id, body }
    }

    fn with(mut self, content: &[u8]) -> Self {
        self.body.extend_from_slice(content);
        self
    }

    fn is_in(&self, body: &[u8]) -> bool {
        body.windows(self.id.len()).any(|window| window == self.id.as_bytes())
    }
}

/// A folder that nobody else uses.
fn folder(prefix: &str) -> String {
    format!("{prefix}/{}", OsRandom.id())
}

async fn assert_holds(store: &dyn Store, key: &str, body: &[u8], token: &Token) {
    let stored = read(store, key).await;
    let stored = stored.unwrap_or_else(|| panic!("a body that was written must be there: {key}"));
    assert!(stored.body == body, "a body must be read as it was last written: {key}");
    assert_eq!(
        &stored.token, token,
        "a body must be read with the token that its write was answered: {key}"
    );
}

#[cfg(test)]
mod tests;
