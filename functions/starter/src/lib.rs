//! The starter: an event in, long work started and its wait enqueued, the answer out. No Lambda in here: the command
//! runs the same code.
#![warn(missing_docs)]

use matsu_wait::event::{self, BadEvent, Item, Rules, Wanted};
use matsu_wait::job::Job;
use matsu_wait::ledger::Stop;
use matsu_wait::start::{self, Prepared, Request, Started};
use matsu_wait::target::Target;
use matsu_wait::{Run, wake};
use serde::Serialize;
use serde_json::Value;

/// What became of an event.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Answer {
    /// Waits that this call created.
    pub started: Vec<Served>,
    /// Requests that a wait serves already, or that follow later.
    pub already: Vec<Served>,
    /// Waits that get an early look.
    pub woken: Vec<Served>,
    /// What was recognised and is not wanted.
    pub ignored: Vec<Ignored>,
}

/// A wait that serves a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Served {
    /// The wait's id; none: it is put off.
    pub wait: Option<String>,
    /// What it waits for.
    pub target: Target,
    /// The kind of work that the request starts, if any.
    pub job: Option<&'static str>,
    /// Why nothing new was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
}

/// Something that starts nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// Why.
    pub why: String,
}

/// An event that was not served whole. What could be served was; the same event again does no harm.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It, or a part of it, is not understood.
    #[error(transparent)]
    Bad(#[from] BadEvent),
    /// A part of it could not be served this time.
    #[error("the event is to be sent again: {0}")]
    Stop(#[from] Stop),
}

/// Serves one event. A part that fails takes nothing from the others; the first fault is the answer.
///
/// # Errors
/// [`StartError`].
pub async fn serve(run: &Run, rules: &Rules, payload: &Value) -> Result<Answer, StartError> {
    let mut answer = Answer::default();
    let mut fault = None;
    for Item { wanted, .. } in event::read(payload, rules) {
        let served = match wanted {
            Ok(wanted) => serve_one(run, wanted, &mut answer).await,
            Err(bad) => Err(bad.into()),
        };
        if let Err(error) = served {
            tracing::error!(%error, "a part of the event was not served");
            fault.get_or_insert(error);
        }
    }
    tracing::info!(
        started = answer.started.len(),
        already = answer.already.len(),
        woken = answer.woken.len(),
        ignored = answer.ignored.len(),
        "the event was served"
    );
    fault.map_or(Ok(answer), Err)
}

async fn serve_one(run: &Run, wanted: Wanted, answer: &mut Answer) -> Result<(), StartError> {
    match wanted {
        Wanted::Start(request) => begin(run, request, answer).await,
        Wanted::Copy {
            request,
            policy,
            origin,
        } => match start::prepare(run, &request, policy, origin).await? {
            Prepared::Ready(request) => begin(run, *request, answer).await,
            Prepared::Unwanted(why) => {
                ignore(why, answer);
                Ok(())
            }
            Prepared::Bad(why) => Err(BadEvent(why).into()),
        },
        // Its first look is on its way.
        Wanted::Wake(target) if answer.started.iter().any(|served| served.target == target) => {
            ignore(format!("{target} is looked at already"), answer);
            Ok(())
        }
        Wanted::Wake(target) => {
            match wake::wake(run, &target).await? {
                Some(wait) => answer.woken.push(Served {
                    wait: Some(wait),
                    target,
                    job: None,
                    why: None,
                }),
                None => answer.ignored.push(Ignored {
                    why: format!("{target} is not waited for"),
                }),
            }
            Ok(())
        }
        Wanted::Ignored(why) => {
            ignore(why, answer);
            Ok(())
        }
    }
}

fn ignore(why: String, answer: &mut Answer) {
    tracing::info!(why, "ignored");
    answer.ignored.push(Ignored { why });
}

async fn begin(run: &Run, request: Request, answer: &mut Answer) -> Result<(), StartError> {
    let job = request.job.as_ref().map(Job::kind);
    let target = request.target.shown();
    match start::start(run, &request).await? {
        Started::Created { wait } => answer.started.push(Served {
            wait: Some(wait),
            target,
            job,
            why: None,
        }),
        Started::Already { wait, why } => answer.already.push(Served {
            wait,
            target,
            job,
            why: Some(why),
        }),
    }
    Ok(())
}
