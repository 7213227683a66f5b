//! `matsu extend`: a wait gets more time.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use matsu_wait::delay;
use matsu_wait::engine::Run;
use matsu_wait::extend::{Extended, extend};
use matsu_wait::work::LEASE;

use crate::args::{self, Common, Output};
use crate::failure::Failure;
use crate::find::Which;
use crate::progress::short;
use crate::say;
use crate::session::Session;
use crate::show::Shown;

/// `matsu extend`
#[derive(Debug, Clone, Args)]
pub(crate) struct ExtendArgs {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How much later it gives up, such as 2h; it may look as much more often, too
    #[arg(value_name = "DURATION", allow_hyphen_values = true, value_parser = args::span)]
    pub(crate) by: Duration,
}

/// Runs the command.
pub(crate) async fn run(common: &Common, args: ExtendArgs) -> Result<ExitCode, Failure> {
    let session = Session::open_silent(common).await?;
    session.check_store()?;
    let engine = session.engine().await?;
    let target = args.which.find(&session, &engine).await?.wait.target;
    let record = match extend(&Run::new(engine.clone(), LEASE), &target, args.by).await? {
        Extended::Extended(record) => record,
        Extended::Over(record) => {
            let outcome = record.outcome.map_or("done", |outcome| outcome.kind.word());
            return Err(Failure::Absent(format!(
                "the wait for {target} has ended ({outcome}): matsu retry begins it again"
            )));
        }
        Extended::Absent => return Err(Failure::Absent(format!("{target} is not waited for"))),
        Extended::Elsewhere { home } => return Err(Session::elsewhere(&target, &home)),
    };
    let now = engine.clock.now();
    match session.output {
        Output::Json => say::json(&Shown::of(&record, now))?,
        Output::Text => {
            let deadline = record.wait.deadline();
            say::result(format!(
                "extended: {target} gives up in {} ({deadline:.0}) or after {} passes",
                short(delay::until(deadline, now)),
                record.wait.policy.max_count
            ))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
