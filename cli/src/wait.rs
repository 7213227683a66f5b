//! `matsu wait`: starts a wait and sees it through. With an embedded queue this process works the queue itself; with
//! SQS it follows what the waiter function does.

mod follow;
mod sight;

use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use matsu_lock::{OsRandom, Random};
use matsu_wait::engine::{Engine, Run};
use matsu_wait::record::{self, Notified, Record};
use matsu_wait::start::{Request, Started, start};
use matsu_wait::target::{Seen, Target};
use matsu_wait::wait::Policy;
use matsu_wait::wake;
use matsu_wait::work::{LEASE, Worker};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use self::follow::{Follower, Noted};
use self::sight::Followed;
use crate::args::{Common, Output, WaitArgs};
use crate::failure::Failure;
use crate::overhear::Overheard;
use crate::report::Ending;
use crate::say;
use crate::screen::Screen;
use crate::session::Session;

/// Passes that are in hand when the wait is over may take this long: telling people is among it.
const LAST_PASSES: Duration = Duration::from_secs(16);

/// How the command's part ended.
enum Way {
    /// With the wait.
    Ended(Box<Ending>),
    /// With a signal, before it; the exit code.
    Interrupted(u8),
}

/// Runs the command.
pub(crate) async fn run(common: &Common, args: WaitArgs) -> Result<ExitCode, Failure> {
    let ([text], false) = (args.targets.as_slice(), args.all || args.any) else {
        let why = "several targets, --all and --any come with a later release: this one takes one TARGET";
        return Err(Failure::Usage(why.to_owned()));
    };
    let mut signals = Signals::listen()?;
    let session = Session::open(common).await?;
    session.check_store()?;
    let policy = policy(&session.config.policy, &args)?;
    let mut screen = Screen::new();
    let way = tokio::select! {
        target = session.target(text, args.until) => {
            let target = target?;
            let way = wait(&session, &target, policy, &mut signals, &mut screen).await;
            screen.close();
            (way?, target)
        }
        code = signals.next() => return Ok(ExitCode::from(code)),
    };
    match way {
        (Way::Ended(ending), _) => {
            match session.output {
                Output::Text => say::result(ending.line())?,
                Output::Json => say::json(&ending.document)?,
            }
            Ok(ExitCode::from(ending.kind.exit_code()))
        }
        (Way::Interrupted(code), target) => {
            say::note(farewell(session.embedded(), &target, std::env::args()));
            Ok(ExitCode::from(code))
        }
    }
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

/// Starts the wait, or finds the one that is there, and stays with it.
async fn wait(
    session: &Session,
    target: &Target,
    policy: Policy,
    signals: &mut Signals,
    screen: &mut Screen,
) -> Result<Way, Failure> {
    let mut engine = session.engine().await?;
    let noted = Arc::new(Noted::default());
    let (notes, clock, ours) = (noted.clone(), engine.clock.clone(), target.key());
    let hear = move |target: &Target, seen: &Seen| {
        if target.key() == ours {
            notes.note(seen.clone(), clock.elapsed());
        }
    };
    engine.look = Arc::new(Overheard {
        inner: engine.look.clone(),
        hear,
    });
    let followed = tokio::select! {
        followed = begin(session, &engine, target, policy, screen) => followed?,
        code = signals.next() => return Ok(Way::Interrupted(code)),
    };
    let works = session.embedded();
    let follower = Follower {
        engine: &engine,
        target,
        followed,
        noted: noted.clone(),
        local_store: session.local_store(),
        works,
    };
    if works {
        work(session, follower, &noted, signals, screen).await
    } else {
        follow(follower, signals, screen).await
    }
}

/// Follows the wait; the queue is worked elsewhere.
async fn follow(mut follower: Follower<'_>, signals: &mut Signals, screen: &mut Screen) -> Result<Way, Failure> {
    tokio::select! {
        ending = follower.run(screen) => Ok(Way::Ended(Box::new(ending?))),
        code = signals.next() => Ok(Way::Interrupted(code)),
    }
}

/// Works the queue until the wait has ended.
async fn work(
    session: &Session,
    mut follower: Follower<'_>,
    noted: &Noted,
    signals: &mut Signals,
    screen: &mut Screen,
) -> Result<Way, Failure> {
    let (engine, target) = (follower.engine, follower.target);
    let worker = Worker::new(engine.clone(), session.rules());
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        let _ = stopped.await;
    };
    let mut working = pin!(worker.run(stopped, |_| noted.news.notify_one()));
    let way = tokio::select! {
        ending = follower.run(screen) => Way::Ended(Box::new(ending?)),
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
    if session.config.webhook.is_some()
        && let Way::Ended(ending) = &way
        && let Some(note) = announcement(
            announced(engine, target).await.as_ref(),
            ending.document.wait.as_deref(),
        )
    {
        screen.note(&note);
    }
    Ok(way)
}

/// Starts the wait; says so where there was one already.
async fn begin(
    session: &Session,
    engine: &Engine,
    target: &Target,
    policy: Policy,
    screen: &Screen,
) -> Result<Followed, Failure> {
    if session.embedded() && !matches!(target, Target::File(_) | Target::Http(_)) {
        session.aws.credentials().await?;
    }
    // One plain read tells what is wrong with a store; the start would try again for a while.
    engine.store.get(&record::key(target)).await?;
    let run = Run::new(engine.clone(), LEASE);
    let request = Request {
        target: target.clone(),
        job: None,
        policy,
        origin: OsRandom.id(),
        count: 1,
        seen: None,
    };
    match start(&run, &request).await? {
        Started::Created { wait } => Ok(Followed::Wait(wait)),
        Started::Already { wait: Some(wait), .. } => {
            screen.note(&format!(
                "{target} is already waited for: following that wait, whose own limits hold"
            ));
            if session.embedded() && engine.queue.next_due().await?.is_none() {
                // Nothing is on its way at all: whoever began this wait died before its timer was sent.
                wake::wake(&run, target).await?;
            }
            Ok(Followed::Wait(wait))
        }
        Started::Already { wait: None, .. } => {
            screen.note("the outcome of the wait before is still to be announced: this one begins after that");
            Ok(Followed::Next(
                stands(engine, target).await.map(|record| record.wait.id),
            ))
        }
    }
}

/// The record of the target, if it can be read right now.
async fn stands(engine: &Engine, target: &Target) -> Option<Record> {
    let key = record::key(target);
    let stored = engine.store.get(&key).await.ok()??;
    Record::from_body(&key, &stored.body).ok()
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

/// What is to be said about an outcome that did not reach its channel.
fn announcement(record: Option<&Record>, wait: Option<&str>) -> Option<String> {
    let record = record.filter(|record| Some(record.wait.id.as_str()) == wait)?;
    match &record.notified {
        Some(Notified::Sent) => None,
        Some(Notified::Undeliverable(why)) => Some(format!("the outcome could not be announced: {why}")),
        None => Some("the outcome is not announced yet: the next matsu wait with this queue tries again".to_owned()),
    }
}

/// How to go on after an interruption.
fn farewell(embedded: bool, target: &Target, typed: impl Iterator<Item = String>) -> String {
    let again = typed.skip(1).fold("matsu".to_owned(), |line, word| {
        format!("{line} {}", say::quoted(&word))
    });
    if embedded {
        return format!("interrupted: the wait stays in the queue; the same command goes on with it: {again}");
    }
    let target = say::quoted(&target.to_string());
    format!(
        "detached: the wait goes on; to follow it again: {again}; to cancel it (from the next release on): matsu cancel {target}"
    )
}

/// The signals that end the command.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|e| Failure::Service(format!("signals cannot be heard: {e}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// The exit code of the next one.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use matsu_wait::testing::target;
    use matsu_wait::wait::OutcomeKind;

    use super::*;
    use crate::args::{Cli, Command};
    use crate::report::tests::ended;

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

    #[test]
    fn an_interruption_says_how_to_go_on() {
        let typed = || ["/usr/bin/matsu", "wait", "file:/a b"].map(str::to_owned).into_iter();
        let target = target("s3://my-bucket/a key");
        assert!(farewell(true, &target, typed()).ends_with("matsu wait 'file:/a b'"));
        let detached = farewell(false, &target, typed());
        assert!(detached.contains("matsu wait 'file:/a b'"), "{detached}");
        assert!(detached.ends_with("matsu cancel 's3://my-bucket/a key'"), "{detached}");
    }

    #[test]
    fn an_outcome_that_was_not_announced_is_mentioned() {
        let mut record = ended("file:/x", OutcomeKind::Completed, 3);
        assert!(
            announcement(Some(&record), Some("wait-1"))
                .unwrap()
                .contains("not announced yet")
        );
        assert_eq!(announcement(Some(&record), Some("another")), None);
        record.notified = Some(Notified::Undeliverable("HTTP 404".to_owned()));
        assert!(
            announcement(Some(&record), Some("wait-1"))
                .unwrap()
                .contains("HTTP 404")
        );
        record.notified = Some(Notified::Sent);
        assert_eq!(announcement(Some(&record), Some("wait-1")), None);
    }
}
