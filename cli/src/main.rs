//! The command `matsu`: reads the command line, runs one command, answers its exit code.

mod args;
mod cancel;
mod completions;
mod config;
mod demo;
mod extend;
mod failure;
mod find;
mod list;
mod man;
mod notify;
mod overhear;
mod progress;
mod report;
mod retry;
mod say;
mod schema;
mod screen;
mod session;
mod settings;
mod show;
mod signals;
mod start;
mod sweep;
mod wait;
mod worker;

use std::process::ExitCode;
use std::time::Duration;

use args::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    let cli = match args::read() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(fault) => return say::failure(&Failure::Service(format!("the program cannot run: {fault}"))),
    };
    let profile = cli.common.profile.clone();
    let ended = runtime.block_on(run(cli));
    // What still blocks a thread (a read of standard input, a busy file) must not keep the program alive.
    runtime.shutdown_timeout(Duration::from_millis(100));
    ended.unwrap_or_else(|failure| say::failure(&failure.advised(profile.as_deref())))
}

async fn run(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Demo => demo::run().await,
        Command::Wait(args) => wait::run(&cli.common, args).await,
        Command::Start(args) => start::run(&cli.common, args).await,
        Command::Worker(args) => worker::run(&cli.common, args).await,
        Command::List(args) => list::run(&cli.common, args).await,
        Command::Show(which) => show::run(&cli.common, which).await,
        Command::Cancel(which) => cancel::run(&cli.common, which).await,
        Command::Extend(args) => extend::run(&cli.common, args).await,
        Command::Retry(which) => retry::run(&cli.common, which).await,
        Command::Sweep(args) => sweep::run(&cli.common, args).await,
        Command::Notify(args) => notify::run(&cli.common, args).await,
        Command::Config => config::run(&cli.common),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
