//! `matsu wait`: starts waits and sees them through. With an embedded queue this process works the queue itself; with
//! SQS it follows what the waiter function does.

mod begin;
mod follow;
mod sight;
mod verdict;
mod words;

use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use matsu_wait::engine::Engine;
use matsu_wait::record::{self, Record};
use matsu_wait::target::{Seen, Target};
use matsu_wait::wait::{OutcomeKind, Policy};
use matsu_wait::work::Worker;
use tokio::sync::oneshot;

use self::begin::Begun;
use self::follow::{Follower, Noted};
use self::verdict::End;
use crate::args::{Common, Output, WaitArgs};
use crate::failure::Failure;
use crate::overhear::Overheard;
use crate::progress::length;
use crate::report::{Document, Ending};
use crate::say;
use crate::screen::Screen;
use crate::session::Session;
use crate::signals::Signals;

/// Passes that are in hand when the wait is over may take this long: telling people is among it.
const LAST_PASSES: Duration = Duration::from_secs(16);

/// How the command's part ended.
enum Way {
    /// With the waits: an end for each target.
    Ended(Vec<End>),
    /// With a signal, before them; the exit code.
    Interrupted(u8),
}

/// Runs the command.
pub(crate) async fn run(common: &Common, args: WaitArgs) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen()?;
    let session = Session::open(common).await?;
    session.check_store()?;
    let policy = policy(&session.config.policy, &args)?;
    let targets = tokio::select! {
        targets = targets(&session, &args) => targets?,
        code = signals.next() => return Ok(ExitCode::from(code)),
    };
    match wait(&session, &targets, &policy, args.any, &mut signals).await? {
        Way::Ended(ends) => tell(session.output, &targets, ends, args.targets.len() > 1, args.any),
        Way::Interrupted(code) => {
            let words = words::farewell(session.embedded(), common, &targets, std::env::args());
            say::note(words);
            Ok(ExitCode::from(code))
        }
    }
}

/// The targets in the order given; one that is named twice is one wait.
async fn targets(session: &Session, args: &WaitArgs) -> Result<Vec<Target>, Failure> {
    let mut targets: Vec<Target> = Vec::new();
    for text in &args.targets {
        let target = session.target(text, args.until).await?;
        if !targets.iter().any(|known| known.key() == target.key()) {
            targets.push(target);
        }
    }
    Ok(targets)
}

/// The policy of the configuration, and over it what was typed.
fn policy(configured: &Policy, args: &WaitArgs) -> Result<Policy, Failure> {
    let mut policy = configured.clone();
    if let Some(interval) = args.interval {
        (policy.min_delay, policy.max_delay) = (interval, interval);
    }
    policy.max_count = args.max_count.unwrap_or(policy.max_count);
    policy.timeout = args.timeout.unwrap_or(policy.timeout);
    // The configured part is checked already, so what is wrong was typed.
    policy
        .check()
        .map_err(|why| Failure::Usage(format!("--interval: {why}")))
}

/// Starts the waits, or finds those that are there, and stays with them.
async fn wait(
    session: &Session,
    targets: &[Target],
    policy: &Policy,
    any: bool,
    signals: &mut Signals,
) -> Result<Way, Failure> {
    let mut engine = session.engine().await?;
    let noted: Vec<_> = targets.iter().map(|_| Arc::new(Noted::default())).collect();
    let ours: Vec<_> = targets.iter().cloned().zip(noted.iter().cloned()).collect();
    let clock = engine.clock.clone();
    let hear = move |target: &Target, seen: &Seen| {
        if let Some((_, noted)) = ours.iter().find(|(ours, _)| ours.key() == target.key()) {
            noted.note(seen.clone(), clock.elapsed());
        }
    };
    engine.look = Arc::new(Overheard {
        inner: engine.look.clone(),
        hear,
    });
    let screen = Screen::new();
    let begin = async {
        if session.embedded()
            && targets
                .iter()
                .any(|target| !matches!(target, Target::File(_) | Target::Http(_)))
        {
            session.aws.credentials().await?;
        }
        begin::all(&engine, session.embedded(), targets, policy, &screen).await
    };
    let begun = tokio::select! {
        begun = begin => begun?,
        code = signals.next() => return Ok(Way::Interrupted(code)),
    };
    let column = targets.iter().map(|target| length(&target.to_string())).max();
    let follower = |((target, begun), noted): ((_, &Begun), &Arc<Noted>)| Follower {
        engine: &engine,
        target,
        followed: begun.followed.clone(),
        noted: noted.clone(),
        local_store: session.local_store(),
        works: session.embedded(),
        line: screen.line(column.filter(|_| targets.len() > 1).unwrap_or_default()),
    };
    let mut followers: Vec<_> = targets.iter().zip(&begun).zip(&noted).map(follower).collect();
    let way = if session.embedded() {
        work(session, &engine, &mut followers, &noted, any, signals).await
    } else {
        tokio::select! {
            ends = see(&mut followers, any) => Ok(Way::Ended(ends)),
            code = signals.next() => Ok(Way::Interrupted(code)),
        }
    };
    followers.iter().for_each(|follower| follower.line.close());
    let mut ends = match way? {
        Way::Ended(ends) => ends,
        interrupted => return Ok(interrupted),
    };
    if any {
        tokio::select! {
            () = leave(&engine, targets, &begun, &mut ends) => {}
            code = signals.next() => return Ok(Way::Interrupted(code)),
        }
    }
    if session.embedded() && session.config.webhook.is_some() {
        let notes = targets
            .iter()
            .zip(&ends)
            .map(|(target, end)| unannounced(&engine, target, end));
        let notes = futures::future::join_all(notes).await;
        notes.into_iter().flatten().for_each(say::note);
    }
    Ok(Way::Ended(ends))
}

/// Follows the waits to their ends, with `any` to the first that is completed.
async fn see(followers: &mut [Follower<'_>], any: bool) -> Vec<End> {
    let mut ends = vec![End::Open(None); followers.len()];
    let several = followers.len() > 1;
    let mut following: FuturesUnordered<_> = followers
        .iter_mut()
        .enumerate()
        .map(|(at, follower)| async move {
            let end = match follower.run().await {
                Ok(ending) => End::Ended(Box::new(ending)),
                Err(failure) => End::Broken(failure),
            };
            if several {
                follower.line.ended(&follower.target.to_string(), &end.how());
            }
            (at, end)
        })
        .collect();
    while let Some((at, end)) = following.next().await {
        let completed = matches!(&end, End::Ended(ending) if ending.kind == OutcomeKind::Completed);
        ends[at] = end;
        if any && completed {
            break;
        }
    }
    drop(following);
    ends
}

/// Works the queue until the waits have ended.
async fn work(
    session: &Session,
    engine: &Engine,
    followers: &mut [Follower<'_>],
    noted: &[Arc<Noted>],
    any: bool,
    signals: &mut Signals,
) -> Result<Way, Failure> {
    let worker = Worker::new(engine.clone(), session.rules());
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        let _ = stopped.await;
    };
    let ring = |_: &_| noted.iter().for_each(|noted| noted.news.notify_one());
    let mut working = pin!(worker.run(stopped, ring));
    let way = tokio::select! {
        ends = see(followers, any) => Way::Ended(ends),
        code = signals.next() => Way::Interrupted(code),
        ended = &mut working => return Err(ended.err().map_or_else(
            || Failure::Service("the queue is not worked any more".to_owned()),
            Failure::from,
        )),
    };
    drop(stop);
    // What is in hand goes on to its end, so that nobody has to find out that this process is gone.
    tokio::select! {
        _ = tokio::time::timeout(LAST_PASSES, working) => {}
        code = signals.next() => {
            if let Way::Interrupted(_) = way {
                return Ok(Way::Interrupted(code));
            }
        }
    }
    Ok(way)
}

/// One wait is completed, and the others are wanted no longer: those of this command are cancelled.
async fn leave(engine: &Engine, targets: &[Target], begun: &[Begun], ends: &mut [End]) {
    let left: Vec<_> = (0..ends.len()).filter(|at| matches!(ends[*at], End::Open(_))).collect();
    let waits: Vec<_> = left.iter().map(|at| (&targets[*at], &begun[*at])).collect();
    begin::withdraw(engine, &waits).await;
    for at in left {
        let record = stands(engine, &targets[at]).await;
        match record.as_ref().filter(|_| begun[at].ours).and_then(Ending::of) {
            Some(ending) => ends[at] = End::Ended(Box::new(ending)),
            None => {
                say::note(format!(
                    "{} is waited for as before: this command did not create that wait, so it is not cancelled",
                    targets[at]
                ));
                ends[at] = End::Open(record.map(|record| Box::new(Document::of(&record, engine.clock.now()))));
            }
        }
    }
}

/// Prints the ends; the exit code.
fn tell(output: Output, targets: &[Target], mut ends: Vec<End>, several: bool, any: bool) -> Result<ExitCode, Failure> {
    let code = verdict::exit_code(&ends, any);
    if let (false, [End::Broken(_)]) = (several, ends.as_slice())
        && let Some(End::Broken(failure)) = ends.pop()
    {
        return Err(failure);
    }
    let documents = || targets.iter().zip(&ends).map(|(target, end)| end.document(target));
    match output {
        Output::Json if several => say::json(&documents().collect::<Vec<_>>())?,
        Output::Json => documents().try_for_each(|document| say::json(&document))?,
        Output::Text => {
            for (target, end) in targets.iter().zip(&ends) {
                match end {
                    End::Ended(ending) => say::result(ending.line())?,
                    End::Broken(failure) => say::note(format!("{target}: {failure}")),
                    End::Open(_) => {}
                }
            }
        }
    }
    Ok(ExitCode::from(code))
}

/// The record of the target, if it can be read right now.
async fn stands(engine: &Engine, target: &Target) -> Option<Record> {
    let key = record::key(target);
    let stored = engine.store.get(&key).await.ok()??;
    Record::from_body(&key, &stored.body).ok()
}

/// What is to be said about an end that did not reach its channel.
async fn unannounced(engine: &Engine, target: &Target, end: &End) -> Option<String> {
    let End::Ended(ending) = end else { return None };
    let record = announced(engine, target).await;
    words::announcement(record.as_ref(), ending.document.wait.as_deref())
}

/// The record of the target, once its outcome is announced or that seems to take longer: another process may be at it.
async fn announced(engine: &Engine, target: &Target) -> Option<Record> {
    let mut record = stands(engine, target).await;
    for _ in 0..10 {
        if record.as_ref().is_none_or(|record| record.notified.is_some()) {
            break;
        }
        engine.clock.sleep(Duration::from_millis(200)).await;
        record = stands(engine, target).await;
    }
    record
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(line: &[&str]) -> WaitArgs {
        let line = ["matsu", "wait", "file:/x"].iter().chain(line);
        let Command::Wait(args) = Cli::try_parse_from(line).unwrap().command else {
            panic!("it is a wait");
        };
        args
    }

    #[test]
    fn an_interval_sets_both_delays() {
        let policy = policy(
            &Policy::default(),
            &args(&["--interval", "7s", "--timeout", "1h", "--max-count", "9"]),
        )
        .unwrap();
        assert_eq!(
            (policy.min_delay, policy.max_delay),
            (Duration::from_secs(7), Duration::from_secs(7))
        );
        assert_eq!((policy.timeout, policy.max_count), (Duration::from_secs(3_600), 9));
    }

    #[test]
    fn an_interval_longer_than_records_allow_is_a_usage_error() {
        let failure = policy(&Policy::default(), &args(&["--interval", "3d"])).unwrap_err();
        assert_eq!(failure.code(), 252);
        assert!(failure.to_string().starts_with("--interval: "), "{failure}");
    }
}
