//! Many writers at once: of those that write over one version, one wins.

use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::store::{Store, Token};

use super::settle::{read, settled};
use super::{Put, assert_holds, folder};

/// How many write at once.
const WRITERS: usize = 32;

/// Races 32 creators for one key and then 32 replacers for its first version, `rounds` times.
///
/// # Panics
/// Where not one, but none or several of them are told that they wrote, or another's body is there.
pub async fn race(store: Arc<dyn Store>, rounds: u32, prefix: &str) {
    let folder = folder(prefix);
    for round in 0..rounds {
        let key = format!("{folder}/race/{round}");
        let created = one_winner(&store, &key, None).await;
        one_winner(&store, &key, Some(created)).await;
    }
}

/// The token of the one that won.
async fn one_winner(store: &Arc<dyn Store>, key: &str, before: Option<Token>) -> Token {
    let start = Arc::new(Barrier::new(WRITERS));
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (store, start, before, key) = (Arc::clone(store), Arc::clone(&start), before.clone(), key.to_owned());
        writers.spawn(async move {
            let put = Put::fresh();
            start.wait().await;
            let token = settled(store.as_ref(), &key, before.as_ref(), &put).await;
            token.map(|token| (put, token))
        });
    }
    let mut winners: Vec<(Put, Token)> = writers.join_all().await.into_iter().flatten().collect();
    let verb = if before.is_some() { "replacing" } else { "creating" };
    assert_eq!(
        winners.len(),
        1,
        "of {WRITERS} writers {verb} {key} at once, one must win"
    );
    let (put, token) = winners.remove(0);
    assert_holds(store.as_ref(), key, &put.body, &token).await;
    token
}

/// Tries to create `rounds` keys under `prefix`, the same for all who call this, and answers how many it created.
/// However many tasks, processes or machines run it at once: their answers add up to `rounds`.
///
/// # Panics
/// Where the store does not answer after many tries.
pub async fn claim(store: &dyn Store, rounds: u32, prefix: &str) -> u32 {
    let mut won = 0;
    for round in 0..rounds {
        let token = settled(store, &format!("{prefix}/claim/{round}"), None, &Put::fresh()).await;
        won += u32::from(token.is_some());
    }
    won
}

/// Adds `lines` lines to the body under `key`, each by a read and a conditional write, and answers how many lines it
/// has at the end. However many tasks, processes or machines run it at once: no line is lost, so the last of them
/// counts all.
///
/// # Panics
/// Where a line is missing, or the store does not answer after many tries.
pub async fn append(store: &dyn Store, lines: u32, key: &str) -> usize {
    let mut added: Vec<Put> = Vec::new();
    while added.len() < lines as usize {
        let there = read(store, key).await;
        let (before, mut body) = there.map_or((None, Vec::new()), |stored| (Some(stored.token), stored.body));
        let mut put = Put::fresh();
        body.append(&mut put.body);
        body.push(b'\n');
        put.body = body;
        if settled(store, key, before.as_ref(), &put).await.is_some() {
            added.push(put);
        }
    }
    let body = read(store, key).await.map_or(Vec::new(), |stored| stored.body);
    for put in &added {
        assert!(put.is_in(&body), "a line that was written must not be lost: {}", put.id);
    }
    body.iter().filter(|byte| **byte == b'\n').count()
}
