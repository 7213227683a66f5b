//! The wait protocol as a model: one target, two passes, and every order in which runs, messages and faults can meet.
//!
//! In reading order:
//!
//! * [`words`]: what the protocol speaks of, and the state of its world.
//! * `run`: what one run does, step by step; `start`, `pass`, `beside` are its verbs.
//! * `world`: what happens to runs: delivery, death, answers that never come, a purged queue.
//! * `tally`: what was done to each wait, and `promises`: what must hold in every state.
//! * `mixes`: the faults of each search. [`Rule`]: the rules that can be taken away to see that they are needed.
//!
//! Time is abstract. A message *delayed by a lease* can be delivered only when every run is dead that was alive at its
//! sending; everything else can happen at any time.
#![warn(missing_docs)]

mod beside;
pub mod mixes;
mod names;
mod pass;
pub mod promises;
mod run;
mod start;
mod tally;
pub mod words;
mod world;

pub use mixes::Mix;
pub use words::State;
pub use world::Action;

/// A rule of the protocol that can be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The next message is sent before this one is acknowledged.
    SendBeforeAcknowledging,
    /// A claim replaces only the token that it knows.
    ClaimOnCondition,
    /// A pass is taken over only by a message that has seen the very record before.
    TakeOverOnlyWhatWasSeen,
    /// A message that finds its pass claimed comes back only when every run is dead that was alive.
    TakeOverAfterALease,
    /// A take-over copies the whole record.
    TakeOverCopiesTheRecord,
    /// A refused write is settled by reading back.
    ReadBack,
    /// Reading back tells whose write landed.
    PutId,
    /// A message with another id than the one that claimed its pass is a copy: acknowledge.
    CopyIsAcknowledged,
    /// The outcome is recorded before it is told.
    RecordBeforeTelling,
    /// What the channel does not take now is sent again.
    LaterIsSentAgain,
    /// A wait that follows an unannounced one carries its outcome.
    OwedIsCarried,
    /// A cancel sends a message for the record that it wrote.
    CancelSends,
    /// An extension sends a message for the record that it wrote.
    ExtendSends,
    /// A sweep takes only records whose writers are surely dead.
    SweepThreshold,
    /// A sweep takes its turn in a record of its own.
    SweepTakesTurns,
    /// A request knows the wait of its earlier delivery by its origin.
    OriginIsKnown,
    /// A request knows the earlier waits of a target by their history.
    HistoryIsKnown,
    /// Nothing there after an unanswered create proves nothing.
    AbsentIsNoAnswer,
    /// An early look comes only when every run is dead that was alive at its sending.
    EarlyLookAfterALease,
    /// A request that shares a running wait starts its job all the same.
    SharedJobIsStarted,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::SendBeforeAcknowledging,
        Self::ClaimOnCondition,
        Self::TakeOverOnlyWhatWasSeen,
        Self::TakeOverAfterALease,
        Self::TakeOverCopiesTheRecord,
        Self::ReadBack,
        Self::PutId,
        Self::CopyIsAcknowledged,
        Self::RecordBeforeTelling,
        Self::LaterIsSentAgain,
        Self::OwedIsCarried,
        Self::CancelSends,
        Self::ExtendSends,
        Self::SweepThreshold,
        Self::SweepTakesTurns,
        Self::OriginIsKnown,
        Self::HistoryIsKnown,
        Self::AbsentIsNoAnswer,
        Self::EarlyLookAfterALease,
        Self::SharedJobIsStarted,
    ];
}

/// The protocol under the faults of a mix, perhaps without one of its rules.
#[derive(Debug, Clone)]
pub struct Protocol {
    /// The faults.
    pub mix: Mix,
    /// The rule that is taken away.
    pub without: Option<Rule>,
}

impl Protocol {
    /// Whether this rule is kept.
    fn keeps(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}
