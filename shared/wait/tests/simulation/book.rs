//! What a history writes down: who runs, what is on its way, what the promises need to know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;
use matsu_lock::{Clock, HandClock, MemoryStore, Token};
use matsu_wait::Record;
use matsu_wait::queue::MemoryQueue;
use matsu_wait::testing::BEGINNING;

use crate::plan::{Dice, Plan};
use crate::promises::Tally;

/// The world of one history: what all runs share.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) clock: Arc<HandClock>,
    pub(crate) store: MemoryStore,
    pub(crate) queue: MemoryQueue,
    pub(crate) plan: Plan,
    pub(crate) dice: Dice,
    book: Mutex<Book>,
}

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It serves a request.
    Starter,
    /// It works a message.
    Waiter,
    /// It sweeps.
    Sweeper,
    /// It cancels, extends or wakes.
    Command,
}

/// One run.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) role: Role,
    pub(crate) lease: Duration,
    /// When its lease ends.
    pub(crate) ends: Duration,
    /// It has ended, or died.
    pub(crate) over: bool,
    /// It is beyond its lease.
    pub(crate) outlived: bool,
    /// It does nothing before this.
    pub(crate) rests_until: Duration,
    /// The waits whose outcome it has told and not recorded.
    pub(crate) told: Vec<String>,
    /// Calls of the store: reads, and writes.
    pub(crate) gets: u32,
    pub(crate) puts: u32,
    /// Whether any call went wrong, or found something else than it hoped for.
    pub(crate) troubled: bool,
}

/// A write that may still land.
#[derive(Debug)]
pub(crate) struct Flying {
    pub(crate) run: usize,
    pub(crate) at: Duration,
    pub(crate) key: String,
    pub(crate) replacing: Option<Token>,
    pub(crate) body: Vec<u8>,
}

/// A version of a record.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) at: Duration,
    /// The age at which a sweep may take it for forgotten.
    pub(crate) threshold: Duration,
    /// The timers that sweeps have sent for it.
    pub(crate) swept: u32,
}

/// What is written down.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) runs: Vec<Entry>,
    pub(crate) flying: Vec<Flying>,
    /// Who looks at the target of a key.
    pub(crate) looking: Vec<(String, usize)>,
    /// What was done to each wait.
    pub(crate) waits: BTreeMap<String, Tally>,
    /// The origins of the waits that were accepted.
    pub(crate) accepted: BTreeSet<String>,
    /// The origins of put-off requests that were served.
    pub(crate) served: BTreeSet<String>,
    /// The records as they stand, by key.
    pub(crate) standing: BTreeMap<String, Record>,
    /// Every version of a record that ever stood there, by token.
    pub(crate) written: BTreeMap<String, Written>,
    pub(crate) faults: u32,
    pub(crate) deaths: u32,
    pub(crate) duplicates: u32,
    pub(crate) looks: u32,
    pub(crate) steps: u64,
    /// The first promise that was broken.
    pub(crate) broken: Option<String>,
    /// What happened, if anybody wants to read it.
    pub(crate) story: Option<Vec<String>>,
}

impl World {
    pub(crate) fn new(seed: u64, told: bool) -> Arc<Self> {
        let dice = Dice::new(seed);
        let plan = Plan::of(&dice);
        let start = Timestamp::from_second(BEGINNING).expect("the beginning is a time");
        let clock = Arc::new(HandClock::new(start));
        let mut store = MemoryStore::new(clock.clone());
        if plan.tells_date {
            store = store.telling_date();
        }
        let queue = MemoryQueue::new("000000000000/simulation", clock.clone());
        let queue = match plan.max_receives {
            Some(most) => queue.with_max_receives(most),
            None => queue.without_dead_letters(),
        };
        let story = told.then(|| vec![format!("{plan:#?}")]);
        Arc::new(Self {
            clock,
            store,
            queue,
            plan,
            dice,
            book: Mutex::new(Book {
                story,
                ..Book::default()
            }),
        })
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("nothing panics with the book in hand")
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Whether a fault that happens in so many of a thousand cases happens now.
    pub(crate) fn goes_wrong(&self, cases: u64) -> bool {
        cases > 0 && self.now() < self.plan.calm && self.dice.per_mille(cases)
    }

    /// Without sweeps nothing makes good what a command that dies half-way leaves undone, so none does there.
    pub(crate) fn is_spared(&self, run: usize) -> bool {
        !self.plan.sweeps && self.book().runs[run].role == Role::Command
    }

    /// Writes down what happened, if anybody wants to read it.
    pub(crate) fn note(&self, what: impl FnOnce() -> String) {
        let now = self.now();
        if let Some(story) = &mut self.book().story {
            story.push(format!("{:>9.3} {}", now.as_secs_f64(), what()));
        }
    }
}

impl Book {
    pub(crate) fn break_promise(&mut self, what: impl Into<String>) {
        self.broken.get_or_insert(what.into());
    }

    /// A fault of a call of this run.
    pub(crate) fn fault(&mut self, run: usize) {
        self.faults += 1;
        self.runs[run].troubled = true;
    }

    /// The run is beyond its lease: what it told and has not recorded, the next one may tell again.
    pub(crate) fn beyond(&mut self, run: usize) {
        let told = std::mem::take(&mut self.runs[run].told);
        for wait in told {
            self.waits.entry(wait).or_default().unrecorded += 1;
        }
    }

    /// The run has ended or died.
    pub(crate) fn over(&mut self, run: usize) {
        self.beyond(run);
        self.runs[run].over = true;
        self.looking.retain(|(_, looker)| *looker != run);
    }
}
