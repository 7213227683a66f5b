//! Worker processes that are killed while answers are lost: every wait ends, and what is told again has its reason.
//!
//! `FAULTS_FULL=1 cargo nextest run --workspace --test it -j 1 -E 'test(workers_killed)'` tries ten times as much, in a
//! storm that never ends; `FAULTS_SEED=N` draws other faults.

use std::time::Duration;

use matsu_lock::{Clock as _, SeededRandom, SystemClock};
use matsu_wait::record::Notified;
use matsu_wait::wait::OutcomeKind;

use crate::counts::{self, Deaths, Told};
use crate::crew::Crew;
use crate::ground::Ground;
use crate::proxy::Seen;
use crate::waits::{ask_for_all, moments, over};

/// How much is tried.
struct Extent {
    waits: usize,
    kills: usize,
    /// Within this time, from the start, the kills are and the targets end.
    window: Duration,
    /// Between two passes, from and to.
    delays: (&'static str, &'static str),
    /// Whether it goes on storming until the last wait is over.
    storms_on: bool,
    limit: Duration,
    seed: u64,
}

impl Extent {
    /// As whoever runs the tests asks for it.
    #[expect(clippy::disallowed_methods, reason = "whoever runs it by hand says so there")]
    fn read() -> Self {
        let seed = std::env::var("FAULTS_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or(20_260_115);
        if std::env::var_os("FAULTS_FULL").is_some() {
            return Self {
                waits: 1_000,
                kills: 20,
                window: Duration::from_secs(180),
                delays: ("2s", "10s"),
                storms_on: true,
                limit: Duration::from_secs(1_500),
                seed,
            };
        }
        Self {
            waits: 100,
            kills: 4,
            window: Duration::from_secs(12),
            delays: ("1s", "2s"),
            storms_on: false,
            limit: Duration::from_secs(400),
            seed,
        }
    }
}

const WORKERS: usize = 3;

/// A scenario on its way.
struct Ordeal {
    ground: Ground,
    crew: Crew,
    deaths: Deaths,
    kills: usize,
    /// The logs of workers that ended by themselves.
    ended: Vec<String>,
    /// What passed the proxies while it stormed.
    stormed: Vec<Seen>,
}

impl Ordeal {
    /// Kills a worker.
    async fn kill(&mut self, which: usize) {
        let dead = self.crew.kill(which);
        self.kills += 1;
        self.note(dead).await;
    }

    /// Puts others in the place of those that ended by themselves.
    async fn tend(&mut self) {
        for (dead, log) in self.crew.ended() {
            self.note(dead).await;
            self.ended.push(log);
        }
    }

    /// What this worker told and did not record may be told again.
    async fn note(&mut self, dead: usize) {
        // What it had asked for is still on its way through the proxies.
        SystemClock.sleep(Duration::from_millis(100)).await;
        let ground = &self.ground;
        let recorded = async |number| ground.record(number).await.is_some_and(|record| record.is_over());
        let its_own = format!("/B{dead}/");
        self.deaths
            .note(
                &counts::posts(&ground.hook),
                |post| post.path.contains(&its_own),
                recorded,
            )
            .await;
    }

    /// The kills and the ends of the targets, at random times.
    async fn trials(&mut self, extent: &Extent) {
        let chance = SeededRandom::new(extent.seed);
        let (mut ends, mut kills) = (
            moments(&chance, extent.waits, extent.window),
            moments(&chance, extent.kills, extent.window),
        );
        let begun = SystemClock.elapsed();
        while !(ends.is_empty() && kills.is_empty()) {
            let now = SystemClock.elapsed() - begun;
            while let Some((_, number)) = ends.pop_if(|(moment, _)| *moment <= now) {
                self.ground.end(number).await;
            }
            if let Some((_, number)) = kills.pop_if(|(moment, _)| *moment <= now) {
                self.kill(number).await;
            }
            self.tend().await;
            SystemClock.sleep(Duration::from_millis(50)).await;
        }
    }

    /// Returns once every wait is over.
    async fn until_over(&mut self, extent: &Extent) -> Duration {
        let begun = SystemClock.elapsed();
        loop {
            let waited = SystemClock.elapsed() - begun;
            let over = over(&*self.ground.store).await;
            if over == extent.waits {
                return waited;
            }
            assert!(
                waited < extent.limit,
                "after {waited:?} only {over} of {} waits are over",
                extent.waits
            );
            self.tend().await;
            SystemClock.sleep(Duration::from_millis(500)).await;
        }
    }

    /// Ends the storm.
    fn calm(&mut self) {
        if self.stormed.is_empty() {
            self.stormed = self.ground.proxies().flat_map(|proxy| proxy.seen()).collect();
        }
        self.ground.calm();
    }

    /// How many looks each target had beside one for each of its passes, where looks can be counted.
    fn extra_looks(&self, passes: &[usize]) -> Vec<usize> {
        let looks = counts::looks(&self.ground.in_front);
        let extra = looks
            .into_iter()
            .map(|(number, looks)| looks.saturating_sub(passes[number]));
        extra.collect()
    }

    /// The passes of all waits; each must have ended as its target did.
    async fn passes(&self) -> Vec<usize> {
        let mut passes = Vec::new();
        for number in 0..self.ground.targets.len() {
            let record = self.ground.record(number).await.expect("a wait keeps its record");
            let kind = record.outcome.as_ref().map(|outcome| outcome.kind);
            assert_eq!(kind, Some(OutcomeKind::Completed), "{record:#?}");
            assert_eq!(record.notified, Some(Notified::Sent), "{record:#?}");
            passes.push(record.pass as usize);
        }
        passes
    }
}

/// Every wait that was asked for ends, however many workers die; answers how many looks each had beside one for each
/// pass.
async fn all_waits_survive(ground: Ground, extent: &Extent) -> (Ordeal, Vec<usize>) {
    ground.storm(extent.seed);
    ask_for_all(&*ground.queue, &ground.targets).await;
    let crew = Crew::start(WORKERS, ground.equip(extent.delays.0, extent.delays.1));
    let mut ordeal = Ordeal {
        ground,
        crew,
        deaths: Deaths::default(),
        kills: 0,
        ended: Vec::new(),
        stormed: Vec::new(),
    };
    ordeal.trials(extent).await;
    if !extent.storms_on {
        ordeal.calm();
    }
    let last = ordeal.until_over(extent).await;
    ordeal.calm();
    let passes = ordeal.passes().await;
    let told = Told::of(&counts::posts(&ordeal.ground.hook), &ordeal.deaths);
    let extra = ordeal.extra_looks(&passes);
    report(&ordeal, extent, &passes, &told, last);
    assert_eq!(told.waits, extent.waits, "each is told");
    assert!(
        told.unexplained.is_empty(),
        "told again without a reason: {:?}",
        told.unexplained
    );
    (ordeal, extra)
}

/// Prints what happened.
#[expect(clippy::print_stdout, reason = "the figures are what is measured here")]
fn report(ordeal: &Ordeal, extent: &Extent, passes: &[usize], told: &Told, last: Duration) {
    let count = |is: fn(&Seen) -> bool| ordeal.stormed.iter().filter(|seen| is(seen)).count();
    println!(
        "seed {}: {} kills in the middle of {} waits, {} answers lost and {} times 503 in {} requests: none lost; {} \
         passes; {told}; the last ended {last:.0?} after the last kill and end of a target; {} workers ended by themselves",
        extent.seed,
        ordeal.kills,
        passes.len(),
        count(|seen| seen.told.is_none()),
        count(|seen| seen.told.is_some_and(|status| status.as_u16() == 503)),
        ordeal.stormed.len(),
        passes.iter().sum::<usize>(),
        ordeal.ended.len(),
    );
    for log in &ordeal.ended {
        println!("one ended with: {log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figure_workers_killed_in_a_storm_lose_no_wait_of_the_embedded_store() {
    let extent = Extent::read();
    let (ordeal, extra) = all_waits_survive(Ground::embedded(extent.waits).await, &extent).await;
    let deaths = ordeal.kills + ordeal.ended.len();
    println!(
        "of the looks that are asked over HTTP {} were extra, of {} targets; {deaths} workers died",
        extra.iter().sum::<usize>(),
        extra.len()
    );
    assert!(
        extra.iter().all(|extra| *extra <= deaths),
        "a death costs a wait one look: {extra:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figure_workers_killed_in_a_storm_lose_no_wait_of_s3_and_sqs() {
    let extent = Extent::read();
    let (ordeal, extra) = all_waits_survive(Ground::cloud(extent.waits).await, &extent).await;
    let extra: usize = extra.iter().sum();
    let takeovers = counts::takeovers(&ordeal.ground.in_front);
    println!("{extra} looks were extra, {takeovers} passes were taken over from runs that had ended early");
    assert!(
        extra <= takeovers,
        "{extra} extra looks, {takeovers} runs were followed"
    );
}
