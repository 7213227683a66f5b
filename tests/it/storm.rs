//! The functions in a storm: many waits at once while answers are lost, messages come twice, S3 and SQS are busy, and
//! the processes are killed.

use std::time::Duration;

use matsu_lock::{Clock as _, SeededRandom, SystemClock};
use matsu_wait::target::Target;

use crate::clients;
use crate::counts::{self, Deaths, Told, name};
use crate::http::{Method, StatusCode};
use crate::lambda::{BUCKET, Stage};
use crate::proxy::{Seen, Trouble};
use crate::slack::SECRET;
use crate::waits::{ask_for_all, moments, over, record, until_deleted};
use crate::weather::{WEATHER, WEATHER_OF_POSTS, WEATHER_OF_WRITES};

const WAITS: usize = 40;
const KILLS: usize = 4;
/// Within this time the kills are and the targets end; then it is calm.
const WINDOW: Duration = Duration::from_secs(15);
/// How long the last wait may take after that: what a dead run leaves is taken up after two time-outs of the function.
const LATER: Duration = Duration::from_secs(180);
const SEED: u64 = 20_260_115;

/// Trouble everywhere; each tenth message that is sent comes twice, and twice both services are busy for a while.
fn storm(stage: &Stage) {
    stage
        .s3
        .storm(SEED, &WEATHER_OF_WRITES, |call| call.method() == Method::PUT);
    stage.s3.storm(SEED + 1, &WEATHER, |_| true);
    stage.hook.storm(SEED + 2, &WEATHER_OF_POSTS, |_| true);
    let mut weather = WEATHER.to_vec();
    weather.push((100, Trouble::Twice));
    stage.sqs.storm(SEED + 3, &weather, |_| true);
}

/// Both services refuse for a while.
fn busy(stage: &Stage) {
    for proxy in [&stage.s3, &stage.sqs] {
        proxy.trouble(20, Trouble::Refuse(StatusCode::SERVICE_UNAVAILABLE), |_| true);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figure_functions_killed_in_a_storm_lose_no_wait() {
    let stage = Stage::set(&[]).await;
    let store = clients::store(stage.cloud.url(), BUCKET);
    let targets: Vec<Target> = (0..WAITS).map(until_deleted).collect();
    for number in 0..WAITS {
        stage.put_object(&name(number)).await;
    }
    storm(&stage);
    ask_for_all(&*clients::queue(stage.cloud.url(), &stage.queue), &targets).await;

    let chance = SeededRandom::new(SEED);
    let (mut ends, mut kills) = (moments(&chance, WAITS, WINDOW), moments(&chance, KILLS, WINDOW));
    let (mut deaths, mut killed) = (Deaths::default(), 0);
    let is_recorded = async |number: usize| record(&*store, &targets[number]).await.is_some_and(|r| r.is_over());
    let begun = SystemClock.elapsed();
    while !(ends.is_empty() && kills.is_empty()) {
        let now = SystemClock.elapsed() - begun;
        while let Some((_, number)) = ends.pop_if(|(moment, _)| *moment <= now) {
            stage.delete_object(&name(number)).await;
        }
        if let Some((_, number)) = kills.pop_if(|(moment, _)| *moment <= now) {
            if number % 2 == 0 {
                busy(&stage);
            }
            killed += stage.cloud.kill_functions();
            // What they had asked for is still on its way through the proxies.
            SystemClock.sleep(Duration::from_millis(100)).await;
            deaths.note(&counts::posts(&stage.hook), |_| true, is_recorded).await;
        }
        SystemClock.sleep(Duration::from_millis(50)).await;
    }
    let stormed: Vec<Seen> = [&stage.s3, &stage.sqs, &stage.hook]
        .iter()
        .flat_map(|p| p.seen())
        .collect();
    [&stage.s3, &stage.sqs, &stage.hook]
        .iter()
        .for_each(|proxy| proxy.calm());
    let calm = SystemClock.elapsed();
    stage
        .until("the end of every wait", LATER, async || over(&*store).await == WAITS)
        .await;

    let last = SystemClock.elapsed() - calm;
    let told = Told::of(&counts::posts(&stage.hook), &deaths);
    let count = |is: fn(&Seen) -> bool| stormed.iter().filter(|seen| is(seen)).count();
    let looks = counts::looks(&stage.s3);
    let (mut passes, mut extra) = (0, 0);
    for (number, target) in targets.iter().enumerate() {
        let record = record(&*store, target).await.expect("a wait keeps its record");
        passes += record.pass as usize;
        extra += looks[&number].saturating_sub(record.pass as usize);
    }
    let takeovers = counts::takeovers(&stage.s3);
    println!(
        "{killed} processes killed in the middle of {WAITS} waits, {} answers lost, {} times 503 and {} requests twice \
         of {}: none lost; {passes} passes, {extra} extra looks, {takeovers} passes taken over; {told}; the last ended \
         {last:.0?} after the storm",
        count(|seen| seen.told.is_none()),
        count(|seen| seen.told == Some(StatusCode::SERVICE_UNAVAILABLE)),
        count(|seen| seen.trouble == Some(Trouble::Twice)),
        stormed.len(),
    );
    assert!(killed > 0, "nothing was killed: this checked less than it says");
    assert_eq!(told.waits, WAITS, "each is told");
    assert!(
        told.unexplained.is_empty(),
        "told again without a reason: {:?}",
        told.unexplained
    );
    assert!(
        extra <= takeovers,
        "{extra} extra looks, {takeovers} runs were followed"
    );
    assert_eq!(stage.queued(&stage.dead_letters).await, 0, "{}", stage.evidence().await);
    assert!(
        !stage.cloud.log_tail().contains(SECRET),
        "the webhook's secret is in a log"
    );
}
