//! Start: a request in, a record created, its job started, its first message sent.
//!
//! 1. Create the record, or find out what stands there already.
//! 2. Start the job, idempotent by the target's own name.
//! 3. Send the first message.
//!
//! A start that dies anywhere is repeated by its next delivery, which finds its record by the origin.

use std::time::Duration;

use matsu_lock::Token;

use crate::announce::announce;
use crate::decide;
use crate::engine::{Run, limit};
use crate::event;
use crate::job::{Begun, CopyRequest, Job, PrepareError};
use crate::ledger::{self, Put, Stop};
use crate::pass;
use crate::record::{Record, State};
use crate::target::Target;
use crate::wait::{Extra, HISTORY, OutcomeKind, Owed, Past, Policy, Wait};

/// A request for a wait, complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What to wait for: a function of the request alone.
    pub target: Target,
    /// The work to start first, if any.
    pub job: Option<Job>,
    /// How often and how long to look.
    pub policy: Policy,
    /// The identity of the request: the same at each of its deliveries.
    pub origin: String,
    /// The number of the first pass, from 1.
    pub count: u32,
    /// The token of a finished, not yet announced record that this request was put off for.
    pub seen: Option<Token>,
}

/// What a request for a copy turns out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Prepared {
    /// A request for a wait, complete.
    Ready(Box<Request>),
    /// Something that nobody wants copied; the text says why.
    Unwanted(String),
    /// A request that can never be served; the sentence names the field and what it takes.
    Bad(String),
}

/// Makes a request for a copy complete.
///
/// # Errors
/// [`Stop`]: the source could not be looked at this time.
pub async fn prepare(run: &Run, request: &CopyRequest, policy: Policy, origin: String) -> Result<Prepared, Stop> {
    let prepared = run.effect(limit::JOB, run.engine().jobs.prepare(request)).await?;
    match prepared {
        Some(Ok((target, job))) => Ok(Prepared::Ready(Box::new(Request {
            target,
            job: Some(job),
            policy,
            origin,
            count: 1,
            seen: None,
        }))),
        Some(Err(PrepareError::Unwanted(why))) => Ok(Prepared::Unwanted(why)),
        Some(Err(PrepareError::Bad(why))) => Ok(Prepared::Bad(why)),
        Some(Err(PrepareError::Later(why))) => Err(Stop::JobLater(why)),
        None => Err(Stop::JobLater("no answer in time".to_owned())),
    }
}

/// What a start came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// This call created the wait.
    Created {
        /// The wait's id.
        wait: String,
    },
    /// The wait is there already, or will be; the text says how.
    Already {
        /// The id of the wait that serves the request; none: it is put off.
        wait: Option<String>,
        /// Why nothing new was created.
        why: &'static str,
    },
}

/// Outcomes that one wait may carry for its predecessors before a new request has to wait for the channel.
pub(crate) const MOST_OWED: usize = 32;

/// Starts the wait that `request` asks for.
///
/// # Errors
/// [`Stop`]: nothing is lost if the same request is delivered again.
pub async fn start(run: &Run, request: &Request) -> Result<Started, Stop> {
    match accept(run, request).await? {
        Accepted::New(record, token) => {
            let wait = record.wait.id.clone();
            begin(run, record, token).await?;
            Ok(Started::Created { wait })
        }
        Accepted::Mine(record, token) => {
            let wait = Some(record.wait.id.clone());
            begin(run, record, token).await?;
            Ok(Started::Already {
                wait,
                why: "an earlier delivery of the same request created it",
            })
        }
        Accepted::Shared(record) => {
            share(run, request).await?;
            Ok(Started::Already {
                wait: Some(record.wait.id),
                why: "the target is already waited for",
            })
        }
        Accepted::Unannounced(record, token) => {
            let wait = Some(record.wait.id.clone());
            // Its announcement may have been lost with its message. Another queue's waits are another's.
            if record.wait.home == run.engine().queue.home() {
                ledger::remind(run, &record, token, ledger::a_lease(run, &record)).await?;
            }
            Ok(Started::Already {
                wait,
                why: "the same request has ended, its announcement is under way",
            })
        }
        Accepted::Known(wait) => Ok(Started::Already {
            wait: Some(wait),
            why: "the same request was served before",
        }),
        Accepted::PutOff(record, token) => {
            put_off(run, request, &record, token).await?;
            Ok(Started::Already {
                wait: None,
                why: "it follows when the wait before it is announced",
            })
        }
    }
}

/// What stands in the store for a request.
enum Accepted {
    /// A record that this call created.
    New(Record, Token),
    /// A record that an earlier delivery of this request created, never claimed.
    Mine(Record, Token),
    /// A running wait for the same target.
    Shared(Record),
    /// A wait of this request that has ended and is not announced.
    Unannounced(Record, Token),
    /// A wait of this request, running or over.
    Known(String),
    /// An ended wait for the same target that is not announced: the request follows later.
    PutOff(Record, Token),
}

/// Step 1.
async fn accept(run: &Run, request: &Request) -> Result<Accepted, Stop> {
    let mut record = fresh(run, request, Vec::new(), Vec::new());
    let mut replacing: Option<Token> = None;
    loop {
        let (stands, token) = match ledger::put(run, replacing.as_ref(), &record).await? {
            Put::Written { token, date } => {
                // The store's clock decides about deadlines later, so they count from it.
                record.wait.started_at = date.unwrap_or(record.wait.started_at);
                return Ok(Accepted::New(record, token));
            }
            Put::Other(None) => {
                // It was removed in between.
                record = fresh(run, request, Vec::new(), Vec::new());
                replacing = None;
                continue;
            }
            Put::Other(Some(other)) => (other.record, other.token),
        };
        let done = stands.state == State::Done;
        if stands.wait.origin == request.origin {
            return Ok(match (done, stands.is_over()) {
                (false, _) if stands.parent.is_none() => Accepted::Mine(stands, token),
                (true, false) => Accepted::Unannounced(stands, token),
                _ => Accepted::Known(stands.wait.id),
            });
        }
        if let Some(past) = stands.wait.history.iter().find(|past| past.origin == request.origin) {
            return Ok(Accepted::Known(past.wait.clone()));
        }
        if !done {
            return Ok(Accepted::Shared(stands));
        }
        let owed = if stands.is_over() {
            Vec::new()
        } else if request.seen.as_ref() == Some(&token) && stands.wait.owed.len() < MOST_OWED {
            owed_after(&stands)
        } else {
            return Ok(Accepted::PutOff(stands, token));
        };
        record = fresh(run, request, history_after(&stands), owed);
        replacing = Some(token);
    }
}

/// Steps 2 and 3.
async fn begin(run: &Run, record: Record, token: Token) -> Result<(), Stop> {
    let now = run.engine().clock.now();
    let mut wait = record.wait.clone();
    if let Begun::Refused(why) = pass::start_job(run, &mut wait, now).await? {
        return refuse(run, record, token, why).await;
    }
    let count = record.pass.saturating_add(1);
    let first = ledger::timer(wait, count, token, run.engine().random.id());
    ledger::send(run, first, Duration::ZERO, now).await
}

/// A job that never starts ends the wait here; nobody else has claimed it.
async fn refuse(run: &Run, record: Record, token: Token, why: String) -> Result<(), Stop> {
    let now = run.engine().clock.now();
    let outcome = decide::outcome(OutcomeKind::FailedToStart, None, why, now);
    let done = ledger::closed(run, &record, token.clone(), outcome);
    match ledger::put(run, Some(&token), &done).await? {
        Put::Written { token, .. } => announce(run, done, token, now, 0).await.map(|_| ()),
        Put::Other(_) => Ok(()),
    }
}

/// A running wait is shared; the job of the request is started all the same.
async fn share(run: &Run, request: &Request) -> Result<(), Stop> {
    let mut wait = fresh(run, request, Vec::new(), Vec::new()).wait;
    match pass::start_job(run, &mut wait, run.engine().clock.now()).await? {
        Begun::Started => Ok(()),
        Begun::Later(why) => Err(Stop::JobLater(why)),
        Begun::Refused(why) => {
            tracing::warn!(target = %request.target, why, "the job was refused; the running wait will tell what its target comes to");
            Ok(())
        }
    }
}

/// The request itself goes to the queue, to come again when whoever announces the wait before it has surely ended.
async fn put_off(run: &Run, request: &Request, record: &Record, token: Token) -> Result<(), Stop> {
    let mut later = request.clone();
    later.seen = Some(token);
    ledger::send_body(run, event::raw_body(&later), ledger::a_lease(run, record)).await
}

/// A record for a new wait, never claimed.
fn fresh(run: &Run, request: &Request, history: Vec<Past>, owed: Vec<Owed>) -> Record {
    let engine = run.engine();
    let wait = Wait {
        id: engine.random.id(),
        target: request.target.clone(),
        policy: request.policy.clone(),
        origin: request.origin.clone(),
        home: engine.queue.home().to_owned(),
        job: request.job.clone(),
        job_started: None,
        started_at: engine.clock.now(),
        status: None,
        ever_seen: false,
        denied: 0,
        missing: 0,
        history,
        owed,
        extra: Extra::new(),
    };
    ledger::waiting(run, wait, request.count.saturating_sub(1), None, engine.random.id())
}

/// The history of a wait that follows the one of `record`.
fn history_after(record: &Record) -> Vec<Past> {
    let mut history = record.wait.history.clone();
    if let Some(outcome) = &record.outcome {
        history.push(Past {
            wait: record.wait.id.clone(),
            origin: record.wait.origin.clone(),
            outcome: outcome.kind,
            extra: Extra::new(),
        });
    }
    history.drain(..history.len().saturating_sub(HISTORY));
    history
}

/// What a wait owes that follows the one of `record`, which was not announced.
fn owed_after(record: &Record) -> Vec<Owed> {
    let mut owed = record.wait.owed.clone();
    owed.extend(record.outcome.clone().map(|outcome| Owed {
        wait: record.wait.id.clone(),
        outcome,
        passes: record.passes(),
        started_at: record.wait.started_at,
        status: record.wait.status.clone(),
        extra: Extra::new(),
    }));
    owed
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
