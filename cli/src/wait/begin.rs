//! The beginning of the command's waits: each is started, or found to be there; all of them, or none.

use futures::StreamExt;
use futures::stream;
use matsu_wait::cancel::{Cancelled, cancel};
use matsu_wait::engine::{Engine, Run};
use matsu_wait::record;
use matsu_wait::start::{Request, Started, start};
use matsu_wait::target::Target;
use matsu_wait::wait::Policy;
use matsu_wait::wake;
use matsu_wait::work::LEASE;

use super::sight::Followed;
use super::stands;
use crate::failure::Failure;
use crate::screen::Screen;

/// How many are started side by side.
const SIDE_BY_SIDE: usize = 8;

/// A wait of this command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) followed: Followed,
    /// Whether this command created it.
    pub(crate) ours: bool,
}

/// Starts the waits, in the order of the targets; says so where there was one already. Where one cannot be started,
/// those that were are cancelled again.
pub(crate) async fn all(
    engine: &Engine,
    embedded: bool,
    targets: &[Target],
    policy: &Policy,
    screen: &Screen,
) -> Result<Vec<Begun>, Failure> {
    // One plain read tells what is wrong with a store; the start would try again for a while.
    for target in targets.iter().take(1) {
        engine.store.get(&record::key(target)).await?;
    }
    let begins = targets
        .iter()
        .map(|target| begin(engine, embedded, target, policy, screen));
    let begun: Vec<_> = stream::iter(begins).buffered(SIDE_BY_SIDE).collect().await;
    let Some(at) = begun.iter().position(Result::is_err) else {
        return begun.into_iter().collect();
    };
    let started = targets.iter().zip(&begun);
    let started: Vec<_> = started
        .filter_map(|(target, begun)| Some((target, begun.as_ref().ok()?)))
        .collect();
    for target in withdraw(engine, &started).await {
        screen.note(&format!(
            "cancelled: {target}, because {} cannot be waited for",
            targets[at]
        ));
    }
    begun.into_iter().collect()
}

/// Cancels those waits that this command created and that have not ended; answers their targets. One that cannot be
/// cancelled goes on, which a line says.
pub(crate) async fn withdraw<'a>(engine: &Engine, waits: &[(&'a Target, &Begun)]) -> Vec<&'a Target> {
    let mut cancelled = Vec::new();
    for (target, begun) in waits {
        let (true, Followed::Wait(id)) = (begun.ours, &begun.followed) else {
            continue;
        };
        if stands(engine, target).await.is_none_or(|record| record.wait.id != *id) {
            continue;
        }
        match cancel(&Run::new(engine.clone(), LEASE), target).await {
            Ok(Cancelled::Cancelled(_)) => cancelled.push(*target),
            Ok(Cancelled::Over(_) | Cancelled::Absent | Cancelled::Elsewhere { .. }) => {}
            Err(why) => tracing::warn!(%target, %why, "the wait could not be cancelled: it goes on"),
        }
    }
    cancelled
}

async fn begin(
    engine: &Engine,
    embedded: bool,
    target: &Target,
    policy: &Policy,
    screen: &Screen,
) -> Result<Begun, Failure> {
    let run = Run::new(engine.clone(), LEASE);
    let request = Request {
        target: target.clone(),
        job: None,
        policy: policy.clone(),
        origin: engine.random.id(),
        count: 1,
        seen: None,
    };
    let (followed, ours) = match start(&run, &request).await? {
        Started::Created { wait } => (Followed::Wait(wait), true),
        Started::Already { wait: Some(wait), .. } => {
            screen.note(&format!(
                "{target} is already waited for: following that wait, whose own limits hold"
            ));
            if embedded && engine.queue.next_due().await?.is_none() {
                // Nothing is on its way at all: whoever began this wait died before its timer was sent.
                wake::wake(&run, target).await?;
            }
            (Followed::Wait(wait), false)
        }
        Started::Already { wait: None, .. } => {
            screen.note(&format!(
                "{target}: the outcome of the wait before is still to be announced, this one begins after that"
            ));
            let before = stands(engine, target).await.map(|record| record.wait.id);
            (Followed::Next(before), false)
        }
    };
    Ok(Begun { followed, ours })
}

#[cfg(test)]
mod tests {
    use matsu_lock::Store;
    use matsu_wait::testing::{Bench, request, target};
    use matsu_wait::wait::OutcomeKind;

    use super::*;

    fn targets() -> [Target; 3] {
        ["a", "b", "c"].map(|key| target(&format!("s3://my-bucket/{key}")))
    }

    async fn begun(bench: &Bench) -> Result<Vec<Begun>, Failure> {
        all(&bench.engine(), true, &targets(), &Policy::default(), &Screen::Log).await
    }

    async fn outcome(bench: &Bench, target: &Target) -> Option<OutcomeKind> {
        Some(bench.record(target).await?.0.outcome?.kind)
    }

    #[tokio::test]
    async fn a_wait_that_is_there_already_is_followed_and_is_not_ours() {
        let bench = Bench::new();
        bench.start(&request("s3://my-bucket/b", "somebody")).await;
        let begun = begun(&bench).await.unwrap();
        assert_eq!(
            begun.iter().map(|begun| begun.ours).collect::<Vec<_>>(),
            [true, false, true]
        );
    }

    #[tokio::test]
    async fn where_one_wait_cannot_be_started_those_that_were_are_cancelled_and_others_stay() {
        let bench = Bench::new();
        let [a, b, c] = targets();
        bench.start(&request("s3://my-bucket/c", "somebody")).await;
        bench
            .store
            .create(&record::key(&b), b"nonsense".to_vec())
            .await
            .unwrap();
        assert_eq!(begun(&bench).await.unwrap_err().code(), 254);
        assert_eq!(outcome(&bench, &a).await, Some(OutcomeKind::Cancelled));
        assert_eq!(outcome(&bench, &c).await, None, "somebody else waits for it");
    }

    #[tokio::test]
    async fn only_open_waits_of_this_command_are_withdrawn() {
        let bench = Bench::new();
        let targets = targets();
        bench.start(&request("s3://my-bucket/b", "somebody")).await;
        let begun = begun(&bench).await.unwrap();
        let waits: Vec<_> = targets.iter().zip(&begun).collect();
        assert_eq!(withdraw(&bench.engine(), &waits).await, [&targets[0], &targets[2]]);
        assert_eq!(withdraw(&bench.engine(), &waits).await, Vec::<&Target>::new());
        assert_eq!(outcome(&bench, &targets[1]).await, None);
    }
}
