//! Whatever comes from outside, mangled in every way: nothing panics, nothing takes long, what is written reads back the
//! same, and nothing is started that was not named.
//!
//! By proptest rather than cargo-fuzz: it runs with all other tests on the stable toolchain, shrinks what fails to the
//! least that still fails, and keeps the seed of each failure beside the tests (`proptest-regressions`), to be tried
//! first ever after. What the feedback of coverage would find out, the changes here know: they follow the structure of
//! real events, records and messages, into JSON within texts, too.
//!
//! The usual run is a few thousand cases, the same each time. `PROPTEST_CASES=1000000` in the environment makes it a million others of each.

mod json;
mod settings;
mod slack;
mod targets;
mod wire;

use std::path::Path;
use std::time::Duration;

use matsu_lock::{Clock, SystemClock};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::Value;

pub(crate) use json::{Change, any_json, changes};

/// How long one input may take: 50 ms for 256 KiB. Without optimisation everything takes several times as long.
const BOUND: Duration = Duration::from_millis(if cfg!(debug_assertions) { 400 } else { 50 });

/// How many cases to try: `usual`, unless whoever runs the tests says otherwise.
#[expect(
    clippy::disallowed_methods,
    reason = "asked of whoever runs the tests, no setting of the product"
)]
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig {
            cases: usual,
            rng_seed: RngSeed::Fixed(u64::from(usual)),
            ..config
        },
    }
}

/// Does it within the bound. A busy machine is given several tries.
pub(crate) fn quickly<T>(work: impl Fn() -> T) -> T {
    for _ in 0..8 {
        let began = SystemClock.elapsed();
        let done = work();
        if SystemClock.elapsed().saturating_sub(began) <= BOUND {
            return done;
        }
    }
    panic!("it takes more than {BOUND:?} every time");
}

/// The samples in a folder of the repository, by name.
pub(crate) fn samples(folder: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    paths
        .iter()
        .map(|path| serde_json::from_str(&read(path)).unwrap())
        .collect()
}

/// Pieces that mean something to one reader or another.
const PIECES: [&str; 72] = [
    "s3://",
    "example-data",
    "/",
    "a",
    "file:",
    "file:/tmp/",
    "arn:aws:rds:",
    "arn:",
    "eu-central-1",
    "123456789012",
    ":",
    "snapshot:",
    "cluster-snapshot:",
    "rds:snapshot/",
    "rds:cluster-snapshot/",
    "rds:",
    "https://",
    "HTTP://",
    "status.example.test",
    "[::1]",
    "169.254.169.254",
    ":8443",
    "?x=%2F",
    "#",
    "@",
    "%",
    "%2",
    "%zz",
    "+",
    "\\",
    " ",
    "\t",
    "\n",
    "\0",
    "\u{7f}",
    "\u{feff}",
    "\u{ffff}",
    "\u{202e}",
    "\u{200d}",
    "\u{301}",
    "待",
    "é",
    "🐟",
    "👩\u{200d}👧",
    "<",
    ">",
    "&",
    "&amp;",
    "`",
    "*",
    "null",
    "None",
    "exists",
    "deleted",
    "30",
    "0",
    "-1",
    "s",
    "m",
    "ms",
    "d",
    "99999999999999999999",
    "1.5",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ".",
    "-",
    "=",
];

/// A text: of pieces, of any characters, or of any bytes.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::collection::vec(select(&PIECES[..]), 0..12).prop_map(|pieces| pieces.concat()),
        1 => any::<String>(),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ]
}

/// A text of up to 256 KiB: something short again and again, which is where readers that go back and forth are slow.
pub(crate) fn long_text() -> impl Strategy<Value = String> {
    (text(), 1..=crate::message::LONGEST_BODY, text()).prop_map(|(short, length, end)| {
        let times = length / short.len().max(1);
        let mut long = if short.is_empty() { short } else { short.repeat(times) };
        long.push_str(&end);
        long
    })
}

/// Somewhere in all of time, its two ends included.
pub(crate) fn moment() -> impl Strategy<Value = jiff::Timestamp> {
    let seconds = jiff::Timestamp::MIN.as_second()..=jiff::Timestamp::MAX.as_second();
    prop_oneof![
        2 => seconds.prop_map(|second| jiff::Timestamp::from_second(second).unwrap()),
        1 => Just(jiff::Timestamp::MIN),
        1 => Just(jiff::Timestamp::MAX),
    ]
}
