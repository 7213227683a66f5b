//! The record's conditional writes, settled, and the timers that carry its token.
//!
//! Every write of a record goes through [`put`]: a write that was refused, or of which nobody knows, is settled by
//! reading back whose write stands there.

use std::time::Duration;

use jiff::Timestamp;
use matsu_lock::{StoreError, Token, Write};

use crate::engine::{OutOfTime, Run, limit};
use crate::message::Message;
use crate::queue::{LONGEST_DELAY, Outgoing, QueueError};
use crate::record::{self, BadRecord, Lease, Record, State, VERSION};
use crate::wait::{Extra, Outcome, Wait};

/// Why a run stopped without having done its part: the message is given back to the queue, which delivers it again.
/// For real faults only.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Stop {
    /// What is left of the lease is too short for the next effect.
    #[error(transparent)]
    OutOfTime(#[from] OutOfTime),
    /// The store cannot be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What stands under the record's key is no record that this release reads.
    #[error(transparent)]
    Record(#[from] BadRecord),
    /// The queue did not take a message.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Another run wrote in between; what is right now, the next delivery will see.
    #[error("another run wrote the record before {0}")]
    Overtaken(&'static str),
    /// The job of a request that shares a running wait could not be started this time.
    #[error("the job cannot be started yet: {0}")]
    JobLater(String),
    /// The program has a fault that this message brings to light.
    #[error("the program broke: {0}")]
    Broken(String),
    /// The message was written by a later release.
    #[error("the message has version {0}, this release reads up to {VERSION}")]
    Newer(u32),
}

/// What a settled write came to.
#[derive(Debug, Clone)]
pub enum Put {
    /// The record stands there.
    Written {
        /// Its version.
        token: Token,
        /// The store's time of day at the answer, where it told one.
        date: Option<Timestamp>,
    },
    /// Something else does, or nothing.
    Other(Option<Box<Standing>>),
}

/// A record as it stands in the store.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The record.
    pub record: Record,
    /// Its version.
    pub token: Token,
    /// The store's time of day when it was read, where it told one.
    pub date: Option<Timestamp>,
    /// When it was written, by the same clock.
    pub written: Option<Timestamp>,
}

impl Standing {
    /// When it was read, by the store's clock where that told it, else by ours.
    #[must_use]
    pub fn now(&self, run: &Run) -> Timestamp {
        self.date.unwrap_or_else(|| run.engine().clock.now())
    }
}

/// Writes `record` over the version `replacing` (none: where there is nothing), and settles it:
///
/// * the record read back has this write's `put` → it is written;
/// * what is read back is still what the write replaces, or there is no answer → nothing is known yet: the same write,
///   or the read, again, with jitter, until the lease nears its end;
/// * anything else → that.
///
/// # Errors
/// [`Stop`]; a denied read while settling proves nothing and stops, too.
pub async fn put(run: &Run, replacing: Option<&Token>, record: &Record) -> Result<Put, Stop> {
    let store = &run.engine().store;
    let key = record::key(&record.wait.target);
    let body = record.to_body();
    let mut pause = Pause::default();
    loop {
        let write = async {
            match replacing {
                Some(token) => store.replace(&key, token, body.clone()).await,
                None => store.create(&key, body.clone()).await,
            }
        };
        match run.effect(limit::STORE, write).await? {
            Some(Ok(Write::Written { token, date })) => return Ok(Put::Written { token, date }),
            Some(Err(StoreError::Unavailable(why))) | Some(Ok(Write::Unknown(why))) => {
                tracing::debug!(key, why, "a write is not settled yet");
            }
            Some(Ok(Write::Refused)) | None => {}
            Some(Err(fault)) => return Err(fault.into()),
        }
        match read_back(run, &key, &mut pause).await? {
            Some(stands) if stands.record.put == record.put => {
                let Standing { token, date, .. } = stands;
                return Ok(Put::Written { token, date });
            }
            Some(stands) if Some(&stands.token) == replacing => {}
            None if replacing.is_none() => {}
            stands => return Ok(Put::Other(stands.map(Box::new))),
        }
        pause.take(run).await;
    }
}

/// The record that stands under a key; asked again until there is an answer.
async fn read_back(run: &Run, key: &str, pause: &mut Pause) -> Result<Option<Standing>, Stop> {
    loop {
        match run.effect(limit::STORE, run.engine().store.get(key)).await? {
            Some(Ok(None)) => return Ok(None),
            Some(Ok(Some(stored))) => {
                return Ok(Some(Standing {
                    record: Record::from_body(key, &stored.body)?,
                    token: stored.token,
                    date: stored.date,
                    written: stored.written,
                }));
            }
            Some(Err(StoreError::Unavailable(_))) | None => pause.take(run).await,
            Some(Err(fault)) => return Err(fault.into()),
        }
    }
}

/// Reads the record under a key as it stands.
///
/// # Errors
/// [`Stop`].
pub async fn read(run: &Run, key: &str) -> Result<Option<Standing>, Stop> {
    read_back(run, key, &mut Pause::default()).await
}

/// Growing, random pauses between tries.
#[derive(Debug, Default)]
struct Pause {
    taken: u32,
}

impl Pause {
    async fn take(&mut self, run: &Run) {
        let longest = Duration::from_millis(100).saturating_mul(1 << self.taken.min(5));
        self.taken += 1;
        let engine = run.engine();
        let pause = engine.random.between(longest / 4, longest);
        engine.clock.sleep(pause).await;
    }
}

/// A waiting record that nobody has claimed yet, or that claims pass `pass` from `parent`.
#[must_use]
pub fn waiting(run: &Run, wait: Wait, pass: u32, parent: Option<Token>, msg: String) -> Record {
    Record {
        v: VERSION,
        wait,
        state: State::Waiting,
        pass,
        parent,
        msg,
        put: run.engine().random.id(),
        lease: Lease::new(run.lease()),
        takeovers: 0,
        outcome: None,
        notified: None,
        extra: Extra::new(),
    }
}

/// The same record for another write of it by this run: a fresh `put`, and a lease that covers both this run and the one
/// that wrote the record, which may still look when somebody with a shorter lease writes in between.
#[must_use]
pub fn rewritten(run: &Run, record: &Record) -> Record {
    Record {
        put: run.engine().random.id(),
        lease: Lease::new(run.lease()).max(record.lease),
        ..record.clone()
    }
}

/// The timer for pass `count`, which claims from `token`.
#[must_use]
pub fn timer(wait: Wait, count: u32, token: Token, msg: String) -> Message {
    Message {
        v: VERSION,
        wait,
        count,
        token,
        msg,
        seen: None,
        not_before: None,
        tries: 0,
        extra: Extra::new(),
    }
}

/// The record that ends the wait of `record`, which stands at `token`, from outside the chain of passes: as the next
/// pass, which nobody claims.
#[must_use]
pub fn closed(run: &Run, record: &Record, token: Token, outcome: Outcome) -> Record {
    Record {
        state: State::Done,
        pass: record.pass.saturating_add(1),
        parent: Some(token),
        msg: run.engine().random.id(),
        outcome: Some(outcome),
        ..rewritten(run, record)
    }
}

/// The timer for the pass that `record`, which stands at `seen`, has claimed already: whoever receives it finishes what
/// that pass left.
#[must_use]
pub fn again(record: &Record, seen: Token) -> Option<Message> {
    let parent = record.parent.clone()?;
    let mut message = timer(record.wait.clone(), record.pass, parent, record.msg.clone());
    message.seen = Some(seen);
    Some(message)
}

/// The delay after which every run is dead that was alive when `record` was seen: at least this run's lease and the
/// record's.
#[must_use]
pub fn a_lease(run: &Run, record: &Record) -> Duration {
    run.lease().max(record.lease.duration())
}

/// Sends the timer that has the outcome of `record`, done and standing at `token`, announced, if nobody else does:
/// delayed by a lease.
///
/// # Errors
/// [`Stop`].
pub async fn remind(run: &Run, record: &Record, token: Token, a_lease: Duration) -> Result<(), Stop> {
    match again(record, token) {
        Some(again) => send(run, again, a_lease, run.engine().clock.now()).await,
        None => Ok(()),
    }
}

/// Sends a timer to arrive after `delay`. What is longer than a queue can delay goes by hops.
///
/// # Errors
/// [`Stop`].
pub async fn send(run: &Run, mut message: Message, delay: Duration, now: Timestamp) -> Result<(), Stop> {
    message.not_before = (delay > LONGEST_DELAY).then(|| now.checked_add(delay).unwrap_or(Timestamp::MAX));
    send_body(run, message.to_body(), delay.min(LONGEST_DELAY)).await
}

/// Sends a body to arrive after `delay`.
///
/// # Errors
/// [`Stop`].
pub async fn send_body(run: &Run, body: String, delay: Duration) -> Result<(), Stop> {
    send_all(run, vec![Outgoing { body, delay }]).await
}

/// Sends messages, at most a queue's batch of them.
///
/// # Errors
/// [`Stop`]: at least one was not taken.
pub(crate) async fn send_all(run: &Run, messages: Vec<Outgoing>) -> Result<(), Stop> {
    match run.effect(limit::SEND, run.engine().queue.send(messages)).await? {
        Some(answers) => Ok(answers.into_iter().collect::<Result<(), _>>()?),
        None => Err(QueueError::Unavailable("no answer in time".to_owned()).into()),
    }
}
