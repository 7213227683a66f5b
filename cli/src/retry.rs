//! `matsu retry`: a wait that has ended begins again.

use std::process::ExitCode;

use matsu_lock::{OsRandom, Random};
use matsu_starter::{Answer, Served};
use matsu_wait::engine::Run;
use matsu_wait::retry::{Retried, retry};
use matsu_wait::start::Started;
use matsu_wait::work::LEASE;

use crate::args::Common;
use crate::failure::Failure;
use crate::find::Which;
use crate::session::Session;
use crate::start;

/// Runs the command.
pub(crate) async fn run(common: &Common, which: Which) -> Result<ExitCode, Failure> {
    let session = Session::open_silent(common).await?;
    session.check_store()?;
    let engine = session.engine().await?;
    let record = which.find(&session, &engine).await?;
    let target = record.wait.target;
    let served = |wait, why| Served {
        wait,
        target: target.clone(),
        job: record.wait.job.as_ref().map(matsu_wait::job::Job::kind),
        why,
    };
    let mut answer = Answer::default();
    match retry(&Run::new(engine, LEASE), &target, OsRandom.id()).await? {
        Retried::Started(Started::Created { wait }) => answer.started.push(served(Some(wait), None)),
        Retried::Started(Started::Already { wait, why }) => answer.already.push(served(wait, Some(why))),
        Retried::Running { wait } => answer.already.push(served(Some(wait), Some("it has not ended yet"))),
        Retried::Absent => {
            return Err(Failure::Absent(format!(
                "{target} is not waited for, and was not lately"
            )));
        }
    }
    start::tell(&session, &answer)?;
    Ok(ExitCode::SUCCESS)
}
