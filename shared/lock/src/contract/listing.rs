//! Listings: what lies under a prefix, in order, page by page.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::store::{Listed, Store, Token, is_open};
use crate::{Clock, SystemClock};

use super::settle::{page, settled};
use super::{Put, folder, odd_keys};

/// How far the store's clock may be from this machine's (S3 refuses requests beyond it).
const SKEW: SignedDuration = SignedDuration::from_mins(15);

/// What one key was last written with.
struct Written {
    token: Token,
    open: bool,
}

/// Writes `count` bodies (give more than a page has, 1000 on S3, to see several) and some with odd keys, and checks
/// what is listed: all of them and nothing else, in the order of the keys' bytes, open by their length, with their
/// tokens and a time of writing that is not far from this machine's.
///
/// # Panics
/// Where the store breaks its contract, or does not answer after many tries.
pub async fn listing(store: &dyn Store, prefix: &str, count: usize) {
    let folder = folder(prefix);
    let mut expected = BTreeMap::new();
    for number in (0..count).rev() {
        let key = format!("{folder}/keys/{number:06}");
        let written = write(store, &key, None, &b"  "[..number % 2]).await;
        expected.insert(key, written);
    }
    for key in odd_keys(&folder) {
        let written = write(store, &key, None, b"").await;
        expected.insert(key, written);
    }
    // Neighbours that share the beginning, but not the prefix.
    write(store, &format!("{folder}/key"), None, b"").await;
    write(store, &format!("{folder}/keys"), None, b"").await;
    write(store, &format!("{folder}/keyt"), None, b"").await;

    let under = format!("{folder}/keys/");
    assert_listed(&under, &all(store, &under).await, &expected);

    if let Some((key, written)) = expected.iter_mut().next() {
        *written = write(store, key, Some(&written.token), if written.open { b"" } else { b" " }).await;
    }
    assert_listed(&under, &all(store, &under).await, &expected);

    let part = format!("{folder}/keys/00000");
    expected.retain(|key, _| key.starts_with(&part));
    assert_listed(&part, &all(store, &part).await, &expected);

    let nothing = all(store, &format!("{folder}/nothing/")).await;
    assert!(
        nothing.is_empty(),
        "nothing must be listed where nothing was written: {nothing:?}"
    );
}

async fn write(store: &dyn Store, key: &str, before: Option<&Token>, padding: &[u8]) -> Written {
    let put = Put::fresh().with(padding);
    let token = settled(store, key, before, &put).await;
    Written {
        token: token.unwrap_or_else(|| panic!("the only writer of a key must be able to write it: {key}")),
        open: is_open(put.body.len() as u64),
    }
}

/// All pages.
async fn all(store: &dyn Store, prefix: &str) -> Vec<Listed> {
    let mut lines = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = page(store, prefix, after.as_deref()).await;
        lines.extend(page.entries);
        if page.next.is_none() {
            return lines;
        }
        assert_ne!(page.next, after, "a listing must go on from page to page: {prefix}");
        after = page.next;
    }
}

fn assert_listed(prefix: &str, lines: &[Listed], expected: &BTreeMap<String, Written>) {
    let keys: Vec<&str> = lines.iter().map(|line| line.key.as_str()).collect();
    let wanted: Vec<&str> = expected.keys().map(String::as_str).collect();
    assert_eq!(
        keys, wanted,
        "a listing must hold the keys under its prefix in the order of their bytes: {prefix}"
    );
    let now = SystemClock.now();
    for line in lines {
        let key = &line.key;
        assert_eq!(
            line.token, expected[key].token,
            "a listing must show the present token: {key}"
        );
        assert_eq!(
            line.open, expected[key].open,
            "a body is open if its length is odd: {key}"
        );
        assert!(
            is_recent(line.written, now),
            "{key} was written just now, not at {}",
            line.written
        );
    }
}

fn is_recent(written: Timestamp, now: Timestamp) -> bool {
    written.duration_since(now).abs() <= SKEW
}
