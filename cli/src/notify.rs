//! `matsu notify`: trying out how outcomes are told.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use matsu_lock::{OsRandom, Random};
use matsu_wait::notify::{Announcement, Told};
use matsu_wait::target::{Here, Target};
use matsu_wait::wait::{Extra, Outcome, OutcomeKind};
use serde_json::json;

use crate::args::{Common, Output};
use crate::failure::Failure;
use crate::progress::short;
use crate::say;
use crate::session::Session;

/// `matsu notify`
#[derive(Debug, Clone, Args)]
pub(crate) struct NotifyArgs {
    #[command(subcommand)]
    pub(crate) what: NotifyWhat,
}

/// What to try.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum NotifyWhat {
    /// Send one test message to the webhook, and say what it answered
    Test,
}

/// What the message is about: nothing of the kind is there.
const TARGET: &str = "s3://matsu-notify-test/nothing-was-waited-for";

/// Runs the command.
pub(crate) async fn run(common: &Common, args: NotifyArgs) -> Result<ExitCode, Failure> {
    let NotifyWhat::Test = args.what;
    let session = Session::open_store(common).await?;
    if session.config.webhook.is_none() {
        let why = "no webhook is set, so outcomes go to the log only: MATSU_SLACK_WEBHOOK, or slack_webhook in the \
                   configuration file, takes the https URL of one";
        return Err(Failure::Configuration(why.to_owned()));
    }
    let engine = session.engine().await?;
    let now = engine.clock.now();
    let target =
        Target::parse(TARGET, None, &Here::default()).map_err(|bad| Failure::Service(format!("no message: {bad}")))?;
    let announcement = Announcement {
        wait: OsRandom.id(),
        target,
        outcome: Outcome {
            kind: OutcomeKind::Completed,
            limit: None,
            reason: "this is a test by matsu notify test: the channel works".to_owned(),
            at: now,
            extra: Extra::new(),
        },
        passes: 1,
        started_at: now,
        status: None,
    };
    match engine.notify.tell(&announcement).await {
        Told::Sent => {}
        Told::Never(why) => return Err(Failure::Service(format!("the webhook does not take messages: {why}"))),
        Told::Later { after, why } => {
            let after = after.map(|after| format!("; it asks to come again in {}", short(after)));
            return Err(Failure::Service(format!(
                "the webhook did not take the message now: {why}{}",
                after.unwrap_or_default()
            )));
        }
    }
    match session.output {
        Output::Json => say::json(&json!({ "told": "sent" }))?,
        Output::Text => say::result("the webhook took the test message")?,
    }
    Ok(ExitCode::SUCCESS)
}
