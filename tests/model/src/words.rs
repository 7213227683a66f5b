//! What the protocol speaks of, and the state of its world.

use crate::tally::{Broken, Tally};

/// The last pass that looks.
pub const MAX_COUNT: u8 = 2;

/// Take-overs of one pass, until it ends without a look. The protocol says four; two are reached with two deaths.
pub const TAKEOVERS: u8 = 2;

/// A token (which is at once the id of the PUT that wrote it: a PUT lands at most once) or the id of a message.
pub type Id = u8;

/// A token or message id that nothing in the world can ever meet again.
pub const GONE: Id = 0;

/// A set of small numbers: of runs by their place, or of origins.
pub type Set = u8;

/// A wait is known by its origin: a second one of the same origin is itself a broken promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wait {
    /// The request that it came from.
    pub origin: u8,
    /// Whether its job was started.
    pub started: bool,
    /// Origins of earlier waits that are still to be announced.
    pub owed: Set,
    /// Origins of earlier waits.
    pub history: Set,
    /// Whether its policy was extended.
    pub extended: bool,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The target is what was waited for.
    Completed,
    /// The last look was in vain.
    GaveUp,
    /// Somebody cancelled it.
    Cancelled,
    /// The job was refused.
    FailedToStart,
    /// Every run that looked died.
    CannotCheck,
}

/// The record: waiting where it has no outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Record {
    /// Its token, and the id of the PUT that wrote it.
    pub put: Id,
    /// The wait.
    pub wait: Wait,
    /// The pass that was claimed last.
    pub pass: u8,
    /// The token that the claim replaced.
    pub parent: Option<Id>,
    /// The message that claimed.
    pub msg: Id,
    /// How often this pass was taken over.
    pub takeovers: u8,
    /// How the wait ended.
    pub outcome: Option<Outcome>,
    /// Whether that was announced, or never can be.
    pub notified: bool,
}

impl Record {
    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.outcome.is_some() && self.notified
    }
}

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Note {
    /// The timer of a pass.
    Timer {
        /// The wait, whole.
        wait: Wait,
        /// The pass that it asks for.
        count: u8,
        /// The token to claim from.
        token: Id,
        /// Its id.
        msg: Id,
        /// The token of a record that had claimed this pass.
        seen: Option<Id>,
    },
    /// A request for a wait: an event, which no purge reaches, or a raw message in the queue.
    Ask {
        /// Its identity.
        origin: u8,
        /// Whether it is an event.
        event: bool,
        /// The token of the unannounced record that it was put off for.
        seen: Option<Id>,
    },
}

/// A message that waits for its delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    /// What it says.
    pub note: Note,
    /// The runs that must be dead before it can be delivered.
    pub after: Set,
}

/// What a write of a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Aim {
    /// A new wait.
    Create,
    /// A pass, claimed or taken over.
    Claim,
    /// What was owed is told.
    Owed,
    /// The outcome.
    Finish,
    /// The outcome is told.
    Notified,
    /// The outcome of a job that was refused at the start.
    FailStart,
    /// The outcome of a wait that somebody cancels.
    Cancel,
    /// A new policy.
    Extend,
    /// No write of a wait: the job of a request that shares a running one.
    Share,
    /// No write of a wait: a sweep, an early look.
    None,
}

/// What a run does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Next {
    /// It writes the record.
    Put,
    /// It reads back.
    Get,
    /// It starts the job.
    Job,
    /// It is looking at the target.
    Look,
    /// It tells the first outcome that is to be told.
    Tell,
    /// It sends a message.
    Send,
    /// It acknowledges its own.
    Acknowledge,
    /// It takes its turn among sweeps.
    TakeTurn,
    /// It reads the record that it found old.
    ReadOld,
}

/// A run within its lease, or (`outlived`) beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// What it does next.
    pub next: Next,
    /// What it is about.
    pub aim: Aim,
    /// What it was given, if anything.
    pub held: Option<Note>,
    /// Whether that comes again if the run dies.
    pub comes_again: bool,
    /// The token that its write replaces.
    pub base: Option<Id>,
    /// The record as it wrote it last, or is about to.
    pub record: Option<Record>,
    /// Outcomes that it has told and not recorded.
    pub told: Set,
    /// Whether any outcome to tell was settled since its last write.
    pub settled: bool,
    /// The message that it is about to send, and whether that is delayed by a lease.
    pub out: Option<(Note, bool)>,
    /// The sweeps' own record as it found it.
    pub turn: u8,
    /// Whether it lives longer than its lease.
    pub outlived: bool,
}

impl Run {
    /// A run that was given `held`.
    pub fn new(next: Next, aim: Aim, held: Option<Note>) -> Self {
        Self {
            next,
            aim,
            held,
            comes_again: held.is_some(),
            base: None,
            record: None,
            told: 0,
            settled: false,
            out: None,
            turn: 0,
            outlived: false,
        }
    }
}

/// How often each fault may still happen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// A message is delivered once more.
    pub duplicates: u8,
    /// A run dies.
    pub crashes: u8,
    /// A write is not answered; it took effect, or does so later, or never.
    pub unknowns: u8,
    /// The queue is purged.
    pub purges: u8,
    /// A sweep begins.
    pub sweeps: u8,
    /// A record passes a sweep's threshold.
    pub ages: u8,
    /// An event hurries the next look.
    pub early_looks: u8,
    /// Somebody cancels.
    pub cancels: u8,
    /// Somebody extends.
    pub extends: u8,
    /// A job is refused.
    pub refusals: u8,
    /// A job is throttled.
    pub throttles: u8,
    /// The channel takes nothing now.
    pub laters: u8,
    /// The channel never takes this.
    pub nevers: u8,
    /// A run lives longer than its lease.
    pub outlives: u8,
}

/// The world.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// The record under the target's key.
    pub store: Option<Record>,
    /// Runs alive that were so when it was written.
    pub young: Set,
    /// Whether it has passed a threshold since the last sweep took its turn.
    pub crossed: bool,
    /// The version of the sweeps' own record.
    pub turn: u8,
    /// What waits for its delivery.
    pub messages: Vec<Message>,
    /// Who is at work.
    pub runs: Vec<Run>,
    /// Writes that may still land: the token that each replaces, and the record.
    pub flying: Vec<(Option<Id>, Record)>,
    /// What may still go wrong.
    pub left: Faults,
    /// What was done to the wait of each origin.
    pub tally: [Tally; 3],
    /// Thresholds passed, and messages sent by sweeps.
    pub swept: (u8, u8),
    /// A promise that a single step broke.
    pub broken: Option<Broken>,
}
