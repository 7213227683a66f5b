//! Beside the chain: early look, cancel, extend, sweep.

use crate::pass::again;
use crate::run::{acknowledge, will_send, write};
use crate::words::{Aim, Next, Note, Outcome, Record, Run, State};
use crate::{Protocol, Rule};

/// The timer for the pass after the one of `record`.
fn following(record: &Record, msg: u8) -> Note {
    Note::Timer {
        wait: record.wait,
        count: record.pass + 1,
        token: record.put,
        msg,
        seen: None,
    }
}

/// Cancels what stands there; read again whenever it was refused.
pub(crate) fn cancel(state: &mut State, place: usize) {
    let Some(mut record) = state.store.filter(|record| record.outcome.is_none()) else {
        return acknowledge(state, place);
    };
    let base = Some(record.put);
    record.outcome = Some(Outcome::Cancelled);
    record.pass += 1;
    record.parent = base;
    record.msg = state.fresh();
    write(state, place, Aim::Cancel, base, record);
}

/// Extends what stands there; read again whenever it was refused.
pub(crate) fn extend(state: &mut State, place: usize) {
    let Some(mut record) = state.store.filter(|record| record.outcome.is_none()) else {
        return acknowledge(state, place);
    };
    record.wait.extended = true;
    write(state, place, Aim::Extend, Some(record.put), record);
}

/// A sweep that has had its turn sends for a record that is still the one that it found old.
pub(crate) fn read_old(state: &mut State, place: usize) {
    let old = state.runs[place].base;
    match state.store {
        Some(record) if old == Some(record.put) && !record.is_over() => {
            let note = sweeping(state, &record);
            will_send(state, place, note, false);
            state.swept.1 += 1;
        }
        _ => acknowledge(state, place),
    }
}

/// What a sweep sends for `record`.
pub(crate) fn sweeping(state: &mut State, record: &Record) -> Note {
    if record.outcome.is_some() {
        again(record)
    } else {
        following(record, state.fresh())
    }
}

impl Protocol {
    /// An event hurries the next look.
    pub(crate) fn early_look(&self, state: &mut State) {
        let Some(record) = state.store.filter(|record| record.outcome.is_none()) else {
            return;
        };
        let note = following(&record, state.fresh());
        state.runs.push(Run::new(Next::Send, Aim::None, None));
        let place = state.runs.len() - 1;
        will_send(state, place, note, self.keeps(Rule::EarlyLookAfterALease));
    }

    pub(crate) fn send_for_cancelled(&self, state: &mut State, place: usize) {
        match state.runs[place].record {
            Some(record) if self.keeps(Rule::CancelSends) => will_send(state, place, again(&record), true),
            _ => acknowledge(state, place),
        }
    }

    pub(crate) fn send_for_extended(&self, state: &mut State, place: usize) {
        match state.runs[place].record {
            Some(record) if self.keeps(Rule::ExtendSends) => {
                let note = following(&record, state.fresh());
                will_send(state, place, note, true);
            }
            _ => acknowledge(state, place),
        }
    }

    /// A record has grown older than the next threshold; its writers are surely dead.
    pub(crate) fn can_age(&self, state: &State) -> bool {
        let dead = state.young == 0 || !self.keeps(Rule::SweepThreshold);
        let open = state.store.is_some_and(|record| !record.is_over());
        dead && open && !state.crossed && state.left.ages > 0
    }

    /// A sweep replaces its own record: refused, another is at work.
    pub(crate) fn take_turn(&self, state: &mut State, place: usize) {
        let old = state.store.filter(|_| state.crossed).map(|record| record.put);
        if self.keeps(Rule::SweepTakesTurns) {
            if state.runs[place].turn != state.turn || old.is_none() {
                state.turn += u8::from(state.runs[place].turn == state.turn);
                return acknowledge(state, place);
            }
            state.turn += 1;
            state.crossed = false;
        }
        let run = &mut state.runs[place];
        (run.next, run.base, run.turn) = (Next::ReadOld, old, 0);
    }
}
