//! One queue body: what it is, and the verb for it. What the waiter function does for each message of a batch, and a
//! worker for each that it receives.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use crate::engine::{OutOfTime, Run, limit};
use crate::event::{self, Rules, Wanted};
use crate::ledger::Stop;
use crate::message::Body;
use crate::pass::{Passed, pass};
use crate::start::{self, Prepared, Started, start};

/// What becomes of the message. Faults of one message are never those of its neighbours.
#[derive(Debug)]
pub enum Handled {
    /// A timer was worked: acknowledge.
    Passed(Passed),
    /// A raw message was performed: acknowledge.
    Started(Started),
    /// Nobody will ever understand it, and it was put aside with this reason: acknowledge.
    Buried(String),
    /// A real fault: leave the message to the queue's visibility timeout.
    GiveBack(Stop),
}

/// Works one message, dropped when the run's time is over: its effects have limits of their own that end before.
/// `rules.origin` is the queue's id of it: the identity of a raw message without one of its own.
pub async fn handle(run: &Run, rules: &Rules, body: &str) -> Handled {
    // A panic is a fault of this message alone, which becomes a dead letter in the end.
    let understood = AssertUnwindSafe(understood(run, rules, body)).catch_unwind();
    let understood = match tokio::time::timeout(run.left(), understood).await {
        Ok(Ok(understood)) => understood,
        Ok(Err(panic)) => Err(Stop::Broken(words(&*panic)).into()),
        Err(_) => Err(Stop::from(OutOfTime).into()),
    };
    match understood {
        Ok(handled) => handled,
        Err(Trouble::Stop(stop)) => {
            tracing::warn!(message = rules.origin, why = %stop, "the message is given back");
            Handled::GiveBack(stop)
        }
        Err(Trouble::Bad(reason)) => bury(run, rules, body, reason).await,
    }
}

/// Why a message could not be worked.
enum Trouble {
    Stop(Stop),
    Bad(String),
}

impl From<Stop> for Trouble {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

async fn understood(run: &Run, rules: &Rules, body: &str) -> Result<Handled, Trouble> {
    match Body::parse(body).map_err(|bad| Trouble::Bad(bad.to_string()))? {
        Body::Newer(version) => Err(Stop::Newer(version).into()),
        Body::Timer(message) => Ok(Handled::Passed(pass(run, *message).await?)),
        Body::Raw(value) => {
            let wanted = event::direct(&value, rules).map_err(|bad| Trouble::Bad(bad.to_string()))?;
            match wanted {
                Wanted::Start(request) => Ok(Handled::Started(start(run, &request).await?)),
                Wanted::Copy {
                    request,
                    policy,
                    origin,
                } => {
                    let request = match start::prepare(run, &request, policy, origin).await? {
                        Prepared::Ready(request) => request,
                        Prepared::Unwanted(why) | Prepared::Bad(why) => return Err(Trouble::Bad(why)),
                    };
                    Ok(Handled::Started(start(run, &request).await?))
                }
                Wanted::Wake(_) | Wanted::Ignored(_) => {
                    Err(Trouble::Bad("it asks for neither a wait nor a job".to_owned()))
                }
            }
        }
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}

/// A permanently bad message is put aside by ourselves, unchanged and with its reason.
async fn bury(run: &Run, rules: &Rules, body: &str, reason: String) -> Handled {
    match run.effect(limit::SEND, run.engine().queue.bury(body, &reason)).await {
        Ok(Some(Ok(true))) => tracing::error!(message = rules.origin, reason, "a bad message was put aside"),
        Ok(Some(Ok(false))) => {
            tracing::error!(
                message = rules.origin,
                reason,
                body,
                "a bad message was dropped: there is no dead-letter queue"
            );
        }
        Ok(Some(Err(fault))) => return Handled::GiveBack(fault.into()),
        Ok(None) => {
            let fault = crate::queue::QueueError::Unavailable("no answer in time".to_owned());
            return Handled::GiveBack(fault.into());
        }
        Err(out_of_time) => return Handled::GiveBack(out_of_time.into()),
    }
    Handled::Buried(reason)
}
