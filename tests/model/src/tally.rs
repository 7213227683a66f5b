//! What was done to each wait: no rule reads it, only the promises do.

use crate::words::{Outcome, Record, State};

/// What was done to the wait of one origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    /// Whether the request was served: by a wait of its own, or by one that it shares.
    pub served: bool,
    /// How often a wait of it was accepted.
    pub accepted: u8,
    /// Whether its job was started, or refused for good.
    pub job: bool,
    /// The last pass that was claimed.
    pub passes: u8,
    /// How often the target was looked at.
    pub looks: u8,
    /// How the wait ended.
    pub outcome: Option<Outcome>,
    /// How often its outcome was told.
    pub told: u8,
    /// The first outcome that was told.
    pub told_as: Option<Outcome>,
    /// Runs that died or were overtaken between telling it and the record of that.
    pub unrecorded: u8,
    /// Whether the channel never takes it.
    pub undeliverable: bool,
}

/// A promise that a single write can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Broken {
    /// A running wait was replaced by another.
    Overwritten,
    /// An ended wait goes on.
    Reopened,
    /// An outcome was changed.
    Changed,
    /// An extension was taken back.
    Shortened,
}

impl State {
    /// Puts `record` into the store, whoever wrote it.
    pub(crate) fn land(&mut self, record: Record) {
        self.note_write(&record);
        self.store = Some(record);
        self.young = self.alive();
        self.crossed = false;
        for run in &mut self.runs {
            if run.record.is_some_and(|its| its.put == record.put) {
                run.told = 0;
            }
        }
    }

    fn note_write(&mut self, record: &Record) {
        let before = self.store.filter(|before| before.wait.origin == record.wait.origin);
        let tally = &mut self.tally[usize::from(record.wait.origin)];
        let broken = match (before, self.store) {
            (None, Some(other)) if other.outcome.is_none() => Some(Broken::Overwritten),
            (Some(before), _) if before.outcome.is_some() && record.outcome.is_none() && record.parent.is_some() => {
                Some(Broken::Reopened)
            }
            (Some(before), _)
                if before.outcome.is_some() && record.outcome.is_some() && before.outcome != record.outcome =>
            {
                Some(Broken::Changed)
            }
            (Some(before), _) if before.wait.extended && !record.wait.extended => Some(Broken::Shortened),
            _ => None,
        };
        let ended = |before: Record| before.outcome.is_some() && record.outcome.is_none();
        if before.is_none_or(ended) {
            tally.accepted += 1;
            tally.served = true;
        }
        if record.outcome.is_some() {
            tally.outcome = record.outcome;
        } else {
            tally.passes = tally.passes.max(record.pass);
        }
        self.broken = self.broken.or(broken);
    }

    pub(crate) fn note_look(&mut self, origin: u8) {
        self.tally[usize::from(origin)].looks += 1;
    }

    pub(crate) fn note_told(&mut self, origin: u8, outcome: Option<Outcome>) {
        let tally = &mut self.tally[usize::from(origin)];
        tally.told += 1;
        tally.told_as = tally.told_as.or(outcome);
    }

    /// What a run has told and will not record any more.
    pub(crate) fn note_unrecorded(&mut self, told: u8) {
        for (origin, tally) in self.tally.iter_mut().enumerate() {
            tally.unrecorded += (told >> origin) & 1;
        }
    }
}
