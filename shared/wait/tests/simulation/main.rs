//! The real code of every verb, in histories that a seed makes up: runs interleave call by call, die, are not answered,
//! meet a purged queue, a silent channel, wrong clocks; and the promises are watched at every step.
//!
//! `MATSU_SIM_SEED=N` repeats one history and prints it. `MATSU_SIM_HISTORIES=N` plays more of them than usual.

mod book;
mod figures;
mod happenings;
mod history;
mod outside;
mod plan;
mod ports;
mod promises;
mod records;
mod task;

use std::sync::atomic::{AtomicU64, Ordering};

use figures::Figures;
use history::play;

/// How many histories are played unless told otherwise.
const HISTORIES: u64 = 20_000;

#[expect(
    clippy::disallowed_methods,
    reason = "for whoever runs this test by hand: the product never reads these"
)]
fn told(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Plays the histories of `seeds` on every core; answers the sum of their figures, or the first that broke a promise.
fn play_all(seeds: std::ops::Range<u64>) -> Result<Figures, String> {
    let next = AtomicU64::new(seeds.start);
    let worker = || {
        let mut sum = Figures::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return Ok(sum);
            }
            match play(seed, false) {
                Ok(figures) => sum += figures,
                Err(broken) => {
                    next.store(seeds.end, Ordering::Relaxed);
                    return Err(format!(
                        "seed {seed}: {}\n(MATSU_SIM_SEED={seed} prints its history)",
                        broken.what
                    ));
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        let mut sum = Figures::default();
        for worker in workers {
            sum += worker.join().expect("a history ends without a panic")?;
        }
        Ok(sum)
    })
}

#[test]
fn every_promise_holds_in_every_history_figure() {
    if let Some(seed) = told("MATSU_SIM_SEED") {
        let played = play(seed, true);
        let story = match &played {
            Ok(figures) => format!("{figures}"),
            Err(broken) => format!("{}\nbroken: {}", broken.story.join("\n"), broken.what),
        };
        println!("{story}");
        assert!(played.is_ok(), "seed {seed} breaks a promise");
        return;
    }
    let histories = told("MATSU_SIM_HISTORIES").unwrap_or(HISTORIES);
    match play_all(0..histories) {
        Ok(figures) => println!("{histories} histories: {figures}"),
        Err(broken) => panic!("{broken}"),
    }
}

#[test]
fn a_seed_tells_the_same_history_again() {
    for seed in [3, 14, 159] {
        let (one, other) = (play(seed, true), play(seed, true));
        let story = |played: Result<Figures, history::Broken>| match played {
            Ok(figures) => format!("{figures:?}"),
            Err(broken) => broken.story.join("\n"),
        };
        assert_eq!(story(one), story(other));
    }
}
