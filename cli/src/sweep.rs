//! `matsu sweep`: waits whose timer was lost get another one.

use std::process::ExitCode;

use clap::Args;
use matsu_wait::engine::Run;
use matsu_wait::sweep::{Swept, sweep};
use matsu_wait::work::LEASE;

use crate::args::{Common, Output};
use crate::failure::Failure;
use crate::say;
use crate::session::Session;

/// `matsu sweep`
#[derive(Debug, Clone, Args)]
pub(crate) struct SweepArgs {
    /// Move the open waits of all other queues to this one, too: for a queue that is gone
    #[arg(long)]
    pub(crate) adopt: bool,
}

/// Runs the command.
pub(crate) async fn run(common: &Common, args: SweepArgs) -> Result<ExitCode, Failure> {
    let session = Session::open_silent(common).await?;
    session.check_store()?;
    let engine = session.engine().await?;
    let swept = sweep(&Run::new(engine, LEASE), args.adopt).await?;
    if swept.is_none() {
        say::note("another sweep of this queue is at work: it is left to that one");
    }
    let swept = swept.unwrap_or_default();
    match session.output {
        Output::Json => say::json(&swept)?,
        Output::Text => say::result(line(&swept))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn line(swept: &Swept) -> String {
    let number = |number: u64, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let mut line = format!(
        "{} swept, {} sent",
        number(swept.swept, "open wait"),
        number(swept.sent, "timer")
    );
    if swept.adopted > 0 {
        line.push_str(&format!(", {} adopted", number(swept.adopted, "wait")));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_tells_what_it_did_in_one_line() {
        let mut swept = Swept {
            swept: 12,
            sent: 1,
            adopted: 0,
        };
        assert_eq!(line(&swept), "12 open waits swept, 1 timer sent");
        swept.adopted = 2;
        assert_eq!(line(&swept), "12 open waits swept, 1 timer sent, 2 waits adopted");
    }
}
