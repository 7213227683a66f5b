//! The command line: what can be typed, and one clear line for what cannot.

use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use matsu_wait::duration;
use matsu_wait::target::Until;

use crate::completions::CompletionsArgs;
use crate::extend::ExtendArgs;
use crate::failure::Failure;
use crate::find::{self, Which};
use crate::man::ManArgs;
use crate::notify::NotifyArgs;
use crate::schema::SchemaArgs;
use crate::sweep::SweepArgs;
use crate::worker::{self, WorkerArgs};
use crate::{cancel, say};

/// Wait for anything on AWS that takes long.
#[derive(Debug, Parser)]
#[command(name = "matsu", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common flags")]
pub(crate) struct Common {
    /// Profile of the shared AWS configuration files
    #[arg(long, global = true, value_name = "NAME", value_parser = given)]
    pub(crate) profile: Option<String>,
    /// AWS region
    #[arg(long, global = true, value_name = "REGION", value_parser = region)]
    pub(crate) region: Option<String>,
    /// Endpoint of every AWS service
    #[arg(long, global = true, value_name = "URL", value_parser = endpoint)]
    pub(crate) endpoint_url: Option<String>,
    /// How results are printed
    #[arg(long, global = true, value_enum, default_value_t = Output::Text, value_name = "text|json", hide_possible_values = true)]
    pub(crate) output: Output,
    /// Where waits are kept: s3://BUCKET/PREFIX or sqlite:PATH [MATSU_STORE; default: a file in your state folder]
    #[arg(long, global = true, value_name = "URL", value_parser = given)]
    pub(crate) store: Option<String>,
    /// Where their timers are kept: the URL of an SQS queue or sqlite:PATH [MATSU_QUEUE; default: the store's file]
    #[arg(long, global = true, value_name = "URL", value_parser = given)]
    pub(crate) queue: Option<String>,
    /// File with settings [default: ./matsu.toml, else matsu/matsu.toml in your configuration folder]
    #[arg(long, global = true, value_name = "FILE", value_parser = given)]
    pub(crate) config: Option<String>,
}

impl Common {
    /// Those that were typed and say where things are, as they stand behind another command; each after a space.
    pub(crate) fn typed(&self) -> String {
        let flags = [
            ("--profile", &self.profile),
            ("--region", &self.region),
            ("--endpoint-url", &self.endpoint_url),
            ("--store", &self.store),
            ("--queue", &self.queue),
            ("--config", &self.config),
        ];
        flags
            .into_iter()
            .filter_map(|(flag, value)| Some(format!(" {flag} {}", say::quoted(value.as_ref()?))))
            .collect()
    }
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See the whole flow on this machine: no account, nothing to set up
    Demo,
    /// Wait for a target, or for several; the exit code tells how it ended
    #[command(after_help = WAIT_HELP)]
    Wait(WaitArgs),
    /// Start a wait, or work and the wait for it, and return at once
    #[command(args_conflicts_with_subcommands = true)]
    Start(StartArgs),
    /// Work the queue until a signal comes: what the waiter function is on AWS
    #[command(after_help = worker::HELP)]
    Worker(WorkerArgs),
    /// List the waits of the store
    List(ListArgs),
    /// Show everything about one wait
    #[command(after_help = find::HELP)]
    Show(Which),
    /// End a wait as cancelled
    #[command(after_help = cancel::HELP)]
    Cancel(Which),
    /// Give a wait more time
    #[command(after_help = find::HELP)]
    Extend(ExtendArgs),
    /// Start a wait that has ended again: the same target, policy and work
    #[command(after_help = find::HELP)]
    Retry(Which),
    /// Send the timers that were lost
    Sweep(SweepArgs),
    /// Try out how outcomes are told
    Notify(NotifyArgs),
    /// Show every setting, and where it is from
    Config,
    /// Print the JSON Schemas of what matsu reads and prints
    Schema(SchemaArgs),
    /// Print what a shell reads to complete command lines
    Completions(CompletionsArgs),
    /// Print the manual, to be read with man
    Man(ManArgs),
}

const WAIT_HELP: &str = "\
Targets:
  s3://BUCKET/KEY                                 an object
  rds:snapshot/ID                                 a snapshot of an RDS instance
  rds:cluster-snapshot/ID                         a snapshot of an RDS cluster
  arn:aws:rds:REGION:ACCOUNT:snapshot:ID          the same, in another region or account
  https://HOST/PATH                               an answer over HTTP
  file:PATH                                       a file of this machine
  '{\"kind\":\"http\",\"url\":…,\"expect\":…}'        any of them as an object in JSON

Exit codes:
  0 completed   1 failed or vanished   3 cancelled   4 cannot be checked   124 gave up
  130 interrupted   252 usage   253 configuration or credentials   254 service error
  Of several targets the worst end counts: 253 and 254, then 1, 4, 124, 3, 0; with --any one
  completed target makes it 0.";

/// `matsu wait`
#[derive(Debug, Clone, Args)]
pub(crate) struct WaitArgs {
    /// What to wait for; several targets are several waits
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Wait until the object or file is there, or is gone [default: exists]
    #[arg(long, value_parser = until, value_name = "exists|deleted")]
    pub(crate) until: Option<Until>,
    /// Give up after this time [MATSU_TIMEOUT; default: 24h]
    #[arg(long, allow_hyphen_values = true, value_parser = span, value_name = "DURATION")]
    pub(crate) timeout: Option<Duration>,
    /// Look at this fixed interval [default: from 15s growing to 2m, see MATSU_MIN_DELAY, MATSU_MAX_DELAY]
    #[arg(long, allow_hyphen_values = true, value_parser = span, value_name = "DURATION")]
    pub(crate) interval: Option<Duration>,
    /// Give up after this many looks [MATSU_MAX_COUNT; default: 1000]
    #[arg(long, allow_hyphen_values = true, value_parser = count, value_name = "N")]
    pub(crate) max_count: Option<u32>,
    /// Wait for all of several targets: the worst end is the exit code (unless --any)
    #[arg(long, conflicts_with = "any")]
    pub(crate) all: bool,
    /// Wait for the first of several targets that is completed: the waits that this command created for the others are
    /// cancelled then
    #[arg(long)]
    pub(crate) any: bool,
}

/// `matsu list`
#[derive(Debug, Clone, Args)]
pub(crate) struct ListArgs {
    /// Only these
    #[arg(long, value_enum, value_name = "waiting|done", hide_possible_values = true)]
    pub(crate) state: Option<ListState>,
}

/// Which waits are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListState {
    /// Those that go on
    Waiting,
    /// Those that have ended
    Done,
}

/// `matsu start`
#[derive(Debug, Clone, Args)]
pub(crate) struct StartArgs {
    /// Start what an event asks for, as the starter function does: a file with its JSON, or - for standard input
    #[arg(long, value_name = "FILE", value_parser = given)]
    pub(crate) event: Option<String>,
    #[command(subcommand)]
    pub(crate) what: Option<StartWhat>,
}

/// What to start.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum StartWhat {
    /// Start the wait for something that somebody else started
    Wait {
        /// What to wait for
        #[arg(value_name = "TARGET")]
        target: String,
        /// Wait until the object or file is there, or is gone [default: exists]
        #[arg(long, value_parser = until, value_name = "exists|deleted")]
        until: Option<Until>,
    },
    /// Copy an RDS snapshot, and wait for the copy
    RdsCopy(RdsCopyArgs),
}

/// `matsu start rds-copy`
#[derive(Debug, Clone, Args)]
pub(crate) struct RdsCopyArgs {
    /// The snapshot: its id or ARN
    #[arg(value_name = "SOURCE", value_parser = given)]
    pub(crate) source: String,
    /// Name of the copy [default: by MATSU_COPY_NAME]
    #[arg(long, value_name = "NAME", value_parser = given)]
    pub(crate) to: Option<String>,
    /// Region of the source, if SOURCE does not say it
    #[arg(long, value_name = "REGION", value_parser = region)]
    pub(crate) source_region: Option<String>,
    /// KMS key for the copy, of the region that it goes to [MATSU_COPY_KMS_KEY; default: none]
    #[arg(long, value_name = "KEY", value_parser = given)]
    pub(crate) kms_key: Option<String>,
    /// Copy the tags of the source
    #[arg(long)]
    pub(crate) copy_tags: bool,
}

/// Reads the command line; what it says instead of a command is printed, and its exit code answered.
pub(crate) fn read() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nobody is left to tell when this cannot be written.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => say::failure(&Failure::Usage(one_line(&error))),
    })
}

/// A usage error in one line that names what is wrong.
fn one_line(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "a command is missing: matsu --help lists them".to_owned()
        }
        ErrorKind::ValueValidation => {
            let flag = text(ContextKind::InvalidArg).unwrap_or_default();
            let flag = flag.split(' ').next().unwrap_or_default();
            let why = std::error::Error::source(error).map_or_else(String::new, ToString::to_string);
            format!("{flag}: {why}")
        }
        _ => {
            let rendered = error.render().to_string();
            let lines = rendered.lines().map(str::trim).take_while(|line| !is_trailer(line));
            let mut text = String::new();
            for line in lines.filter(|line| !line.is_empty()) {
                match line.strip_prefix("tip: ") {
                    None if text.is_empty() => text.push_str(line.strip_prefix("error: ").unwrap_or(line)),
                    None => text.push_str(&format!(" {line}")),
                    // How to pass a flag as a value: nobody means that.
                    Some(tip) if tip.starts_with("to pass") => continue,
                    Some(tip) => text.push_str(&format!("; {tip}")),
                }
            }
            text
        }
    }
}

fn is_trailer(line: &str) -> bool {
    line.starts_with("Usage:") || line.starts_with("For more information")
}

/// A text that says something.
fn given(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it is empty".to_owned()),
        "None" | "null" => Err(format!("{text:?} says nothing")),
        _ => Ok(text.to_owned()),
    }
}

fn region(text: &str) -> Result<String, String> {
    let legal = !text.is_empty()
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if legal {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is not a region: it takes one such as eu-central-1"))
    }
}

fn endpoint(text: &str) -> Result<String, String> {
    let takes = || format!("{text:?} is not an endpoint: it takes http://HOST or https://HOST");
    let uri: axum::http::Uri = text.parse().map_err(|_| takes())?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(text.to_owned()),
        _ => Err(takes()),
    }
}

pub(crate) fn until(text: &str) -> Result<Until, String> {
    match text {
        "exists" => Ok(Until::Exists),
        "deleted" => Ok(Until::Deleted),
        _ => Err(format!("{text:?} is not a condition: it takes exists or deleted")),
    }
}

pub(crate) fn span(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|bad| bad.to_string())
}

fn count(text: &str) -> Result<u32, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(count) if digits && count > 0 => Ok(count),
        _ => Err(format!(
            "{text:?} is not a count: it takes a whole number from 1 to {}",
            u32::MAX
        )),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn common_flags_may_stand_before_and_after_the_command() {
        for line in [
            ["matsu", "--region", "eu-west-1", "list"],
            ["matsu", "list", "--region", "eu-west-1"],
        ] {
            assert_eq!(
                Cli::try_parse_from(line).unwrap().common.region.as_deref(),
                Some("eu-west-1")
            );
        }
    }

    #[test]
    fn a_usage_error_is_one_line_that_names_what_is_wrong() {
        let table: [(&[&str], &str); 12] = [
            (&[], "a command is missing"),
            (&["wait"], "<TARGET>"),
            (
                &["wait", "file:/x", "--interval", "5"],
                "--interval: \"5\" is not a duration",
            ),
            (&["wait", "file:/x", "--until", "gone"], "--until: \"gone\""),
            (&["wait", "file:/x", "--max-count", "0"], "--max-count: \"0\""),
            (&["wait", "file:/x", "--intervall", "5s"], "--interval"),
            (&["wait", "file:/x", "--all", "--any"], "--any"),
            (&["list", "--state", "open"], "--state"),
            (&["list", "--output", "yaml"], "--output"),
            (&["list", "--endpoint-url", "localhost:1"], "--endpoint-url"),
            (&["list", "--region", "EU"], "--region"),
            (&["lisst"], "lisst"),
        ];
        for (line, named) in table {
            let line = ["matsu"].iter().chain(line);
            let error = one_line(&Cli::try_parse_from(line).unwrap_err());
            assert!(error.contains(named), "{error}");
            assert!(!error.contains('\n'), "{error}");
            assert!(!error.contains("Usage"), "{error}");
        }
    }
}
