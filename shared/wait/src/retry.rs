//! Retry: a wait that has ended is begun again, with the same target, policy and job.

use crate::engine::Run;
use crate::ledger::{self, Stop};
use crate::record::{self, State};
use crate::start::{Request, Started, start};
use crate::target::Target;

/// What a retry came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retried {
    /// It was started again.
    Started(Started),
    /// It has not ended: nothing was done.
    Running {
        /// The wait's id.
        wait: String,
    },
    /// Nothing was waited for there.
    Absent,
}

/// Starts the wait for `target` again, as a new request of the identity `origin`.
///
/// # Errors
/// [`Stop`].
pub async fn retry(run: &Run, target: &Target, origin: String) -> Result<Retried, Stop> {
    let Some(stands) = ledger::read(run, &record::key(target)).await? else {
        return Ok(Retried::Absent);
    };
    let wait = stands.record.wait;
    if stands.record.state == State::Waiting {
        return Ok(Retried::Running { wait: wait.id });
    }
    let request = Request {
        target: wait.target,
        job: wait.job,
        policy: wait.policy,
        origin,
        count: 1,
        seen: None,
    };
    Ok(Retried::Started(start(run, &request).await?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Seen;
    use crate::testing::{Bench, SECOND, request, target};
    use crate::wait::{OutcomeKind, Status};

    #[tokio::test]
    async fn a_failed_wait_is_begun_again_as_a_new_one_and_remembers_the_old_one() {
        let bench = Bench::new();
        let asked = request("s3://my-bucket/key", "first");
        bench.look.will_see([
            Seen::Failed(Status::new("broken"), "it broke".to_owned()),
            Seen::Satisfied(Status::new("exists")),
        ]);
        bench.start(&asked).await;
        bench.until_quiet(60 * SECOND).await;
        let (failed, _) = bench.record(&asked.target).await.unwrap();
        let retried = retry(&bench.run(), &asked.target, "second".to_owned()).await.unwrap();
        assert!(
            matches!(retried, Retried::Started(Started::Created { .. })),
            "{retried:?}"
        );
        bench.until_quiet(60 * SECOND).await;
        let (again, _) = bench.record(&asked.target).await.unwrap();
        assert_eq!(again.outcome.unwrap().kind, OutcomeKind::Completed);
        assert_ne!(again.wait.id, failed.wait.id);
        assert_eq!(again.wait.history[0].wait, failed.wait.id);
        assert_eq!(again.wait.policy, failed.wait.policy);
        assert_eq!(bench.notify.taken().len(), 2);
    }

    #[tokio::test]
    async fn a_running_wait_and_an_unknown_target_are_not_retried() {
        let bench = Bench::new();
        let asked = request("s3://my-bucket/key", "first");
        bench.start(&asked).await;
        let (record, _) = bench.record(&asked.target).await.unwrap();
        let retried = retry(&bench.run(), &asked.target, "second".to_owned()).await.unwrap();
        assert_eq!(retried, Retried::Running { wait: record.wait.id });
        let other = target("s3://my-bucket/other");
        assert_eq!(
            retry(&bench.run(), &other, "third".to_owned()).await.unwrap(),
            Retried::Absent
        );
    }

    #[tokio::test]
    async fn a_retry_before_the_announcement_follows_it() {
        let bench = Bench::new();
        let asked = request("s3://my-bucket/key", "first");
        bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
        bench.notify.will_answer([
            crate::notify::Told::Later {
                after: None,
                why: "down".to_owned(),
            },
            crate::notify::Told::Sent,
        ]);
        bench.start(&asked).await;
        bench.turn().await;
        let retried = retry(&bench.run(), &asked.target, "second".to_owned()).await.unwrap();
        assert!(
            matches!(retried, Retried::Started(Started::Already { wait: None, .. })),
            "{retried:?}"
        );
        bench.until_quiet(3_600 * SECOND).await;
        let (record, _) = bench.record(&asked.target).await.unwrap();
        assert_eq!(record.wait.origin, "second");
        assert!(record.is_over());
        assert_eq!(bench.notify.taken().len(), 2);
    }
}
