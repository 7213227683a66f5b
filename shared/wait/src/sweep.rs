//! Sweep: finds the waits whose timer was lost (a purged queue, a dead letter, a sender that died) and sends it again.
//!
//! 1. Note this sweep in the sweeps' own record; whoever is refused there leaves it to the other one.
//! 2. List the records. What is closed is skipped unread, so that the cost follows the open waits.
//! 3. An open record that is older than every timer for it can be has lost its timer: send it, with the token that
//!    stands there. Whatever else is on its way then finds itself stale, so nothing is forked.
//!
//! A backlog looks like lost timers. So a record gets one when its age has passed the threshold, twice that, four times
//! that … since the sweep before: never again and again.
//!
//! No wait is written, save that [`adopt`](sweep) moves the waits of other queues to this one.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use matsu_lock::store::Listed;
use matsu_lock::{StoreError, Token, Write};
use serde::{Deserialize, Serialize};

use crate::delay;
use crate::engine::{Run, limit};
use crate::ledger::{self, Put, Standing, Stop};
use crate::message::Message;
use crate::queue::{self, Outgoing};
use crate::record::{self, PREFIX, Record, State, VERSION};
use crate::work;

/// How many records are read side by side.
const SIDE_BY_SIDE: usize = 16;

/// What a sweep came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Swept {
    /// The open waits of this queue that were read.
    pub swept: u64,
    /// The timers that were sent.
    pub sent: u64,
    /// The waits that were moved to this queue.
    #[serde(skip_serializing_if = "crate::wait::is_default")]
    pub adopted: u64,
}

/// The sweeps' own record: `<prefix>/sweeps/<encoded home>.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Note {
    v: u32,
    /// When the last sweep began, by the store's clock where it tells that.
    at: Timestamp,
    /// A fresh id of this very write.
    put: String,
}

/// Sweeps the store for this queue; none: another sweep is at work. `adopt` also moves the open waits of all other
/// queues here, old or not: for a queue that was deleted.
///
/// # Errors
/// [`Stop`]: what was not reached gets its timer when its age has doubled.
pub async fn sweep(run: &Run, adopt: bool) -> Result<Option<Swept>, Stop> {
    let Some(window) = begin(run).await? else {
        return Ok(None);
    };
    let hidden = run.engine().queue.visibility().await?.max(work::VISIBILITY);
    let mut swept = Swept::default();
    let mut after: Option<String> = None;
    loop {
        let listed = run.engine().store.list(PREFIX, after.as_deref());
        let page = run.effect(limit::STORE, listed).await?.ok_or_else(no_answer)??;
        let candidates = page
            .entries
            .into_iter()
            .filter(|listed| listed.open && (adopt || window.age(listed.written) >= hidden));
        let read = stream::iter(candidates.map(|listed| open(run, listed))).buffer_unordered(SIDE_BY_SIDE);
        let mut read = std::pin::pin!(read.ready_chunks(queue::BATCH));
        while let Some(chunk) = read.next().await {
            sweep_chunk(run, chunk, &window, hidden, adopt, &mut swept).await?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(Some(swept));
        }
    }
}

/// Sends the timers for some records, together.
async fn sweep_chunk(
    run: &Run,
    chunk: Vec<Result<Option<Open>, Stop>>,
    window: &Window,
    hidden: Duration,
    adopt: bool,
    swept: &mut Swept,
) -> Result<(), Stop> {
    let mut timers = Vec::new();
    for open in chunk {
        let Some(Open { stands, written }) = open? else {
            continue;
        };
        if stands.record.wait.home == run.engine().queue.home() {
            swept.swept += 1;
            if window.is_due(written, threshold(&stands.record, hidden)) {
                timers.extend(timer(run, stands.record, stands.token).map(|timer| (timer, Duration::ZERO)));
            }
        } else if adopt && let Some(timer) = adopted(run, stands).await? {
            swept.adopted += 1;
            timers.push(timer);
        }
    }
    if timers.is_empty() {
        return Ok(());
    }
    let messages = timers.into_iter().map(|(timer, delay)| Outgoing {
        body: timer.to_body(),
        delay,
    });
    let messages: Vec<_> = messages.collect();
    let count = messages.len() as u64;
    ledger::send_all(run, messages).await?;
    swept.sent += count;
    Ok(())
}

/// The time between the sweep before and this one.
#[derive(Debug, Clone, Copy)]
struct Window {
    before: Option<Timestamp>,
    now: Timestamp,
}

impl Window {
    fn age(&self, written: Timestamp) -> Duration {
        delay::until(self.now, written)
    }

    /// Whether the age of a record has passed the threshold, or a doubling of it, since the sweep before.
    fn is_due(&self, written: Timestamp, threshold: Duration) -> bool {
        let doublings = |age: Duration| {
            let times = age.as_millis() / threshold.as_millis().max(1);
            times.checked_ilog2()
        };
        let before = self.before.and_then(|before| doublings(delay::until(before, written)));
        let now = doublings(self.age(written));
        now > before
    }
}

/// Step 1. None: another sweep is at work.
async fn begin(run: &Run) -> Result<Option<Window>, Stop> {
    let store = &run.engine().store;
    let key = format!("sweeps/{}.json", record::encode(run.engine().queue.home()));
    let stored = run
        .effect(limit::STORE, store.get(&key))
        .await?
        .ok_or_else(no_answer)??;
    let our_time = run.engine().clock.now();
    let now = stored.as_ref().and_then(|stored| stored.date).unwrap_or(our_time);
    // The sweep before began when its note was written, by the store's clock where that tells it: ours may be wrong.
    let before = stored.as_ref().and_then(|stored| {
        let note = || serde_json::from_slice::<Note>(&stored.body).ok();
        stored.written.and_then(whole_seconds).or_else(|| Some(note()?.at))
    });
    // A time to come is that of a clock that was wrong: it hides nothing.
    let before = before.filter(|at| *at <= now);
    let mine = Note {
        v: VERSION,
        at: now,
        put: run.engine().random.id(),
    };
    let body = serde_json::to_vec(&mine).expect("a note has only string keys");
    let write = match &stored {
        Some(stored) => store.replace(&key, &stored.token, body),
        None => store.create(&key, body),
    };
    let written = match run.effect(limit::STORE, write).await?.ok_or_else(no_answer)?? {
        Write::Written { date, .. } => date,
        Write::Refused => return Ok(None),
        Write::Unknown(why) => {
            let stands = run
                .effect(limit::STORE, store.get(&key))
                .await?
                .ok_or_else(no_answer)??;
            match stands {
                Some(stands) if is_note(&stands.body, &mine.put) => stands.written.and_then(whole_seconds),
                _ => return Err(StoreError::Unavailable(why).into()),
            }
        }
    };
    Ok(Some(Window {
        before,
        now: written.unwrap_or(now),
    }))
}

/// Whether a body is the note of that very write.
fn is_note(body: &[u8], put: &str) -> bool {
    serde_json::from_slice::<Note>(body).is_ok_and(|note| note.put == put)
}

/// As stores tell the time of day.
fn whole_seconds(time: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(time.as_second()).ok()
}

fn no_answer() -> Stop {
    StoreError::Unavailable("no answer in time".to_owned()).into()
}

/// An open record, and when it was written.
struct Open {
    stands: Standing,
    written: Timestamp,
}

/// Reads a listed record. None: it is gone, has moved on since it was listed, or is none that this release reads, which
/// must not keep the others from being swept.
async fn open(run: &Run, listed: Listed) -> Result<Option<Open>, Stop> {
    let read = match ledger::read(run, &listed.key).await {
        Err(Stop::Record(bad)) => {
            tracing::error!(%bad, "a record is passed over");
            None
        }
        read => read?,
    };
    Ok(read.filter(|stands| stands.token == listed.token).map(|stands| Open {
        stands,
        written: listed.written,
    }))
}

/// A record that was written longer ago has no timer on its way: its run is dead, the longest delay is over, and what
/// was given back is visible again.
fn threshold(record: &Record, hidden: Duration) -> Duration {
    let longest = match record.state {
        State::Waiting => record.wait.policy.longest_delay(),
        // An announcement is put off by as much as a queue can delay.
        State::Done => record.wait.policy.longest_delay().max(queue::LONGEST_DELAY),
    };
    record.lease.duration() + longest + hidden
}

/// The timer that an open record lacks.
fn timer(run: &Run, record: Record, token: Token) -> Option<Message> {
    match record.state {
        State::Waiting => {
            let count = record.pass.saturating_add(1);
            Some(ledger::timer(record.wait, count, token, run.engine().random.id()))
        }
        State::Done => ledger::again(&record, token),
    }
}

/// Moves a wait of another queue to this one; its timer is delayed by a lease. None: it has moved on by itself.
async fn adopted(run: &Run, stands: Standing) -> Result<Option<(Message, Duration)>, Stop> {
    let mut record = ledger::rewritten(run, &stands.record);
    run.engine().queue.home().clone_into(&mut record.wait.home);
    match ledger::put(run, Some(&stands.token), &record).await? {
        Put::Written { token, .. } => {
            tracing::info!(wait = record.wait.id, from = stands.record.wait.home, "adopted a wait");
            let a_lease = ledger::a_lease(run, &stands.record);
            Ok(timer(run, record, token).map(|timer| (timer, a_lease)))
        }
        Put::Other(_) => Ok(None),
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
