//! Start: create the record, start the job, send the first message.

use crate::pass::again;
use crate::run::{acknowledge, will_send, write};
use crate::words::{Aim, GONE, Next, Note, Outcome, Record, State, Wait};
use crate::{Protocol, Rule};

/// The record of a new wait.
fn fresh(origin: u8, started: bool, msg: u8) -> Record {
    Record {
        put: GONE,
        wait: Wait {
            origin,
            started,
            owed: 0,
            history: 0,
            extended: false,
        },
        pass: 0,
        parent: None,
        msg,
        takeovers: 0,
        outcome: None,
        notified: false,
    }
}

/// A job that is refused at the start ends the wait.
pub(crate) fn fail_start(state: &mut State, place: usize) {
    let Some(mut record) = state.runs[place].record else {
        return;
    };
    let base = Some(record.put);
    record.outcome = Some(Outcome::FailedToStart);
    record.pass += 1;
    record.parent = base;
    record.msg = state.fresh();
    write(state, place, Aim::FailStart, base, record);
}

/// Step 3.
pub(crate) fn first_message(state: &mut State, place: usize) {
    if let Some(record) = state.runs[place].record {
        let note = Note::Timer {
            wait: record.wait,
            count: record.pass + 1,
            token: record.put,
            msg: state.fresh(),
            seen: None,
        };
        will_send(state, place, note, false);
    }
}

impl Protocol {
    /// Step 1 for the request that the run at `place` was given.
    pub(crate) fn create(&self, state: &mut State, place: usize) {
        if let Some(Note::Ask { origin, .. }) = state.runs[place].held {
            let msg = state.fresh();
            let record = fresh(origin, !self.mix.jobs, msg);
            write(state, place, Aim::Create, None, record);
        }
    }

    /// Step 1 where something stands there: the first rule that fits.
    pub(crate) fn accept(&self, state: &mut State, place: usize, stands: Record) {
        let Some(Note::Ask { origin, seen, .. }) = state.runs[place].held else {
            return;
        };
        let done = stands.outcome.is_some();
        let same = stands.wait.origin == origin && self.keeps(Rule::OriginIsKnown);
        let known = stands.wait.history & (1 << origin) != 0 && self.keeps(Rule::HistoryIsKnown);
        if same && !done && stands.parent.is_none() {
            state.runs[place].record = Some(stands);
            self.begin(state, place);
        } else if same && done && !stands.notified {
            will_send(state, place, again(&stands), true);
        } else if same || known {
            acknowledge(state, place);
        } else if !done {
            self.share(state, place, origin);
        } else if stands.notified || seen == Some(stands.put) {
            self.follow(state, place, origin, &stands);
        } else {
            let seen = Some(stands.put);
            will_send(
                state,
                place,
                Note::Ask {
                    origin,
                    event: false,
                    seen,
                },
                true,
            );
        }
    }

    /// A new wait in the place of an ended one.
    fn follow(&self, state: &mut State, place: usize, origin: u8, stands: &Record) {
        let msg = state.fresh();
        let mut record = fresh(origin, !self.mix.jobs, msg);
        record.wait.history = stands.wait.history | (1 << stands.wait.origin);
        if !stands.notified && self.keeps(Rule::OwedIsCarried) {
            record.wait.owed = stands.wait.owed | (1 << stands.wait.origin);
        }
        write(state, place, Aim::Create, Some(stands.put), record);
    }

    fn share(&self, state: &mut State, place: usize, origin: u8) {
        state.tally[usize::from(origin)].served = true;
        if self.mix.jobs && self.keeps(Rule::SharedJobIsStarted) {
            let run = &mut state.runs[place];
            (run.next, run.aim, run.record) = (Next::Job, Aim::Share, None);
        } else {
            acknowledge(state, place);
        }
    }

    /// Steps 2 and 3 for the record that this request created.
    pub(crate) fn begin(&self, state: &mut State, place: usize) {
        let run = &mut state.runs[place];
        (run.aim, run.base) = (Aim::Create, None);
        if run.record.is_some_and(|record| record.wait.started) {
            first_message(state, place);
        } else {
            run.next = Next::Job;
        }
    }
}
