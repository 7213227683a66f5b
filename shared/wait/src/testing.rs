//! In-memory ports that say what they are told or fail as told, and a bench that puts them together with a hand clock:
//! for tests of this crate and of yours.

mod fault;
mod script;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use matsu_lock::{HandClock, MemoryStore, SeededRandom, Store, Token};

pub use fault::{
    Faults, FaultyJobs, FaultyLook, FaultyNotify, FaultyQueue, FaultyStore, JobFault, LookFault, QueueFault, ReadFault,
    TellFault, WriteFault, nth,
};
pub use script::{ScriptedJobs, ScriptedLook, ScriptedNotify};

use crate::engine::{Engine, Run};
use crate::event::{OnObjectCreated, Rules};
use crate::handle::{Handled, handle};
use crate::queue::{MemoryQueue, Queue};
use crate::record::{self, Record};
use crate::start::{Request, Started, start};
use crate::target::http::Allow;
use crate::target::{Here, Target};
use crate::wait::{Extra, Policy, Wait};

/// One second.
pub const SECOND: Duration = Duration::from_secs(1);

/// When the bench's clock begins.
pub const BEGINNING: i64 = 1_800_000_000;

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every port in memory, and a clock that is moved by hand.
#[derive(Debug)]
pub struct Bench {
    /// The store.
    pub store: Arc<MemoryStore>,
    /// The queue.
    pub queue: Arc<MemoryQueue>,
    /// The looks.
    pub look: Arc<ScriptedLook>,
    /// The jobs.
    pub jobs: Arc<ScriptedJobs>,
    /// The channel.
    pub notify: Arc<ScriptedNotify>,
    /// The time.
    pub clock: Arc<HandClock>,
    random: Arc<SeededRandom>,
    lease: Duration,
}

impl Bench {
    /// A bench whose runs live for a minute.
    ///
    /// # Panics
    /// Never: the beginning is a time.
    #[must_use]
    pub fn new() -> Self {
        let start = Timestamp::from_second(BEGINNING).expect("the beginning is a time");
        let clock = Arc::new(HandClock::new(start));
        Self {
            store: Arc::new(MemoryStore::new(clock.clone())),
            queue: Arc::new(MemoryQueue::new("000000000000/bench", clock.clone())),
            look: Arc::default(),
            jobs: Arc::default(),
            notify: Arc::default(),
            clock,
            random: Arc::new(SeededRandom::new(1)),
            lease: Duration::from_secs(60),
        }
    }

    /// The same ports as an engine; tests put their own store or queue around one of them.
    #[must_use]
    pub fn engine(&self) -> Engine {
        Engine {
            store: self.store.clone(),
            queue: self.queue.clone(),
            look: self.look.clone(),
            jobs: self.jobs.clone(),
            notify: self.notify.clone(),
            clock: self.clock.clone(),
            random: self.random.clone(),
        }
    }

    /// A run that begins now.
    #[must_use]
    pub fn run(&self) -> Run {
        Run::new(self.engine(), self.lease)
    }

    /// The same behind a store that fails as it is told, and that store.
    #[must_use]
    pub fn run_with_faults(&self) -> (Arc<FaultyStore>, Run) {
        let store = Arc::new(FaultyStore::new(self.store.clone()));
        let engine = Engine {
            store: store.clone(),
            ..self.engine()
        };
        (store, Run::new(engine, self.lease))
    }

    /// The lease of its runs.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// Starts the wait for `request`.
    ///
    /// # Panics
    /// If the request is given back.
    pub async fn start(&self, request: &Request) -> Started {
        start(&self.run(), request).await.expect("the request is served")
    }

    /// Receives what is due and works it, one message after the other; answers what became of each. What is given back
    /// stays with the queue.
    ///
    /// # Panics
    /// If the queue does not answer.
    pub async fn turn(&self) -> Vec<Handled> {
        let deliveries = self.queue.receive(10, self.lease * 6).await.expect("the queue answers");
        let mut became = Vec::new();
        for delivery in deliveries {
            let handled = handle(&self.run(), &self.rules(&delivery.id), &delivery.body).await;
            if !matches!(handled, Handled::GiveBack(_)) {
                self.queue.acknowledge(&[delivery]).await.expect("the queue answers");
            }
            became.push(handled);
        }
        became
    }

    /// Turns, moving the clock on a second at a time, until nothing is in the queue or `longest` has passed; answers
    /// what became of each message.
    pub async fn until_quiet(&self, longest: Duration) -> Vec<Handled> {
        let mut became = Vec::new();
        for _ in 0..longest.as_secs() {
            became.extend(self.turn().await);
            if self.queue.waiting().is_empty() {
                break;
            }
            self.clock.advance(SECOND);
        }
        became
    }

    /// How this bench reads raw messages.
    #[must_use]
    pub fn rules(&self, origin: &str) -> Rules {
        Rules {
            here: here(),
            policy: Policy::default(),
            on_object_created: OnObjectCreated::WaitDeleted,
            files: true,
            http_allow: Allow::default(),
            own_store: None,
            origin: origin.to_owned(),
        }
    }

    /// The record of a target, and its version.
    ///
    /// # Panics
    /// If what stands there is no record.
    pub async fn record(&self, target: &Target) -> Option<(Record, Token)> {
        let key = record::key(target);
        let stored = self.store.get(&key).await.expect("the store answers")?;
        Some((Record::from_body(&key, &stored.body).expect("a record"), stored.token))
    }
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

/// Where the bench is.
#[must_use]
pub fn here() -> Here {
    Here {
        region: Some("eu-central-1".to_owned()),
        account: Some("123456789012".to_owned()),
    }
}

/// The target that people would write so.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn target(text: &str) -> Target {
    Target::parse(text, None, &here()).expect("a target")
}

/// A request from `origin` for a wait, without a job.
#[must_use]
pub fn request(text: &str, origin: &str) -> Request {
    Request {
        target: target(text),
        job: None,
        policy: Policy::default(),
        origin: origin.to_owned(),
        count: 1,
        seen: None,
    }
}

/// A wait that has just begun.
///
/// # Panics
/// Never: the beginning is a time.
#[must_use]
pub fn wait_for(text: &str, policy: Policy) -> Wait {
    Wait {
        id: "wait-1".to_owned(),
        target: target(text),
        policy,
        origin: "origin-1".to_owned(),
        home: "000000000000/bench".to_owned(),
        job: None,
        job_started: None,
        started_at: Timestamp::from_second(BEGINNING).expect("the beginning is a time"),
        status: None,
        ever_seen: false,
        denied: 0,
        missing: 0,
        history: Vec::new(),
        owed: Vec::new(),
        extra: Extra::new(),
    }
}
