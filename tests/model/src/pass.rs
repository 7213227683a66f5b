//! Pass: claim, look, send on or finish, tell.

use crate::run::{Turn, acknowledge, will_send, write};
use crate::words::{Aim, GONE, MAX_COUNT, Next, Note, Outcome, Record, Run, State, TAKEOVERS};
use crate::{Protocol, Rule};

/// Whether the run's pass is the last one that looks.
pub(crate) fn is_last(run: &Run) -> bool {
    run.record.is_some_and(|record| record.pass >= MAX_COUNT)
}

/// The record that the message of the run at `place` claims.
fn claiming(note: Note) -> Option<(u8, Record)> {
    let Note::Timer {
        wait,
        count,
        token,
        msg,
        ..
    } = note
    else {
        return None;
    };
    let record = Record {
        put: GONE,
        wait,
        pass: count,
        parent: Some(token),
        msg,
        takeovers: 0,
        outcome: None,
        notified: false,
    };
    Some((token, record))
}

/// The timer for the pass that `record`, which stands at its token, has claimed already.
pub(crate) fn again(record: &Record) -> Note {
    Note::Timer {
        wait: record.wait,
        count: record.pass,
        token: record.parent.unwrap_or(GONE),
        msg: record.msg,
        seen: Some(record.put),
    }
}

/// Claims the pass of the message that the run at `place` was given.
pub(crate) fn claim(state: &mut State, place: usize) {
    if let Some((token, record)) = state.runs[place].held.and_then(claiming) {
        write(state, place, Aim::Claim, Some(token), record);
    }
}

/// Step 3, up to the look.
pub(crate) fn check(state: &mut State, place: usize) {
    let Some(record) = state.runs[place].record else { return };
    if record.takeovers >= TAKEOVERS {
        finish_with(state, place, Outcome::CannotCheck);
    } else if record.pass > MAX_COUNT {
        finish_with(state, place, Outcome::GaveUp);
    } else if record.wait.started {
        look(state, place);
    } else {
        let run = &mut state.runs[place];
        (run.next, run.aim) = (Next::Job, Aim::Claim);
    }
}

/// The run at `place` begins to look.
pub(crate) fn look(state: &mut State, place: usize) {
    let run = &mut state.runs[place];
    (run.next, run.aim) = (Next::Look, Aim::Claim);
    if let Some(record) = run.record {
        state.note_look(record.wait.origin);
    }
}

/// Records the outcome over what the run wrote last.
fn finish_with(state: &mut State, place: usize, outcome: Outcome) {
    let Some(mut record) = state.runs[place].record else {
        return;
    };
    record.outcome = Some(outcome);
    write(state, place, Aim::Finish, Some(record.put), record);
}

impl Protocol {
    /// Step 1 where the claim was refused: the first rule that fits.
    pub(crate) fn claim_refused(&self, state: &mut State, place: usize, stands: Record) {
        let Some(
            note @ Note::Timer {
                wait,
                count,
                token,
                msg,
                seen,
            },
        ) = state.runs[place].held
        else {
            return;
        };
        let over = stands.wait.origin != wait.origin || stands.is_over();
        let claimed_before = stands.pass == count && stands.parent == Some(token);
        let copy = stands.outcome.is_none() && stands.msg != msg && self.keeps(Rule::CopyIsAcknowledged);
        if over || !claimed_before || copy {
            acknowledge(state, place);
        } else if seen == Some(stands.put) || !self.keeps(Rule::TakeOverOnlyWhatWasSeen) {
            let record = self.taken_over(note, &stands);
            write(state, place, Aim::Claim, Some(stands.put), record);
        } else {
            let note = Note::Timer {
                wait,
                count,
                token,
                msg,
                seen: Some(stands.put),
            };
            will_send(state, place, note, self.keeps(Rule::TakeOverAfterALease));
        }
    }

    fn taken_over(&self, note: Note, stands: &Record) -> Record {
        let mut record = *stands;
        if let Some((_, claiming)) = claiming(note) {
            if !self.keeps(Rule::TakeOverCopiesTheRecord) {
                record = claiming;
            }
            record.msg = claiming.msg;
        }
        record.takeovers += u8::from(record.outcome.is_none());
        record
    }

    /// Step 2: the run at `place` has the pass.
    pub(crate) fn claimed(&self, state: &mut State, place: usize) {
        match state.runs[place].record {
            Some(record) if record.outcome.is_some() => self.announce(state, place),
            Some(record) if record.wait.owed != 0 => {
                let run = &mut state.runs[place];
                (run.next, run.aim, run.base) = (Next::Tell, Aim::Owed, Some(record.put));
            }
            _ => check(state, place),
        }
    }

    /// What the look came to.
    pub(crate) fn look(&self, state: &mut State, place: usize, turn: Turn) {
        if turn == Turn::Completed {
            self.finish(state, place, Outcome::Completed);
        } else if is_last(&state.runs[place]) {
            self.finish(state, place, Outcome::GaveUp);
        } else {
            self.pending(state, place);
        }
    }

    /// Step 4.
    pub(crate) fn pending(&self, state: &mut State, place: usize) {
        if is_last(&state.runs[place]) {
            return self.finish(state, place, Outcome::GaveUp);
        }
        let Some(record) = state.runs[place].record else { return };
        let next = Note::Timer {
            wait: record.wait,
            count: record.pass + 1,
            token: record.put,
            msg: state.fresh(),
            seen: None,
        };
        if !self.keeps(Rule::SendBeforeAcknowledging) {
            state.runs[place].comes_again = false;
        }
        will_send(state, place, next, false);
    }

    /// Step 5, the outcome.
    pub(crate) fn finish(&self, state: &mut State, place: usize, outcome: Outcome) {
        if !self.keeps(Rule::RecordBeforeTelling)
            && let Some(record) = &mut state.runs[place].record
        {
            record.notified = true;
            let origin = record.wait.origin;
            state.note_told(origin, Some(outcome));
            state.runs[place].told |= 1 << origin;
        }
        finish_with(state, place, outcome);
    }

    /// Step 5, the announcement of the record that the run wrote last.
    pub(crate) fn announce(&self, state: &mut State, place: usize) {
        let run = &mut state.runs[place];
        match run.record {
            Some(record) if !record.is_over() => {
                (run.next, run.aim, run.base) = (Next::Tell, Aim::Notified, Some(record.put));
            }
            _ => acknowledge(state, place),
        }
    }

    /// Tells the first outcome that is to be told, the owed ones first.
    pub(crate) fn tell(&self, state: &mut State, place: usize, turn: Turn) {
        let Some(mut record) = state.runs[place].record else {
            return;
        };
        let owed = record.wait.owed.trailing_zeros();
        let origin = if record.wait.owed == 0 {
            record.wait.origin
        } else {
            owed as u8
        };
        match turn {
            Turn::Later => {
                state.left.laters -= 1;
                return self.told_enough(state, place);
            }
            Turn::Never => {
                state.left.nevers -= 1;
                state.tally[usize::from(origin)].undeliverable = true;
            }
            _ => {
                let outcome = state.tally[usize::from(origin)].outcome;
                state.note_told(origin, outcome);
                state.runs[place].told |= 1 << origin;
            }
        }
        if record.wait.owed == 0 {
            record.notified = true;
        } else {
            record.wait.owed &= !(1 << owed);
        }
        let run = &mut state.runs[place];
        (run.record, run.settled) = (Some(record), true);
        if record.notified || run.aim == Aim::Owed && record.wait.owed == 0 {
            self.told_enough(state, place);
        }
    }

    /// Records what was told; where nothing was, goes on without.
    fn told_enough(&self, state: &mut State, place: usize) {
        let run = state.runs[place];
        let Some(record) = run.record else { return };
        if run.settled {
            write(state, place, run.aim, run.base, record);
        } else if run.aim == Aim::Owed {
            check(state, place);
        } else {
            self.announced(state, place);
        }
    }

    /// What could be told is told and recorded; the rest comes later.
    pub(crate) fn announced(&self, state: &mut State, place: usize) {
        match state.runs[place].record {
            Some(record) if !record.notified && self.keeps(Rule::LaterIsSentAgain) => {
                will_send(state, place, again(&record), false);
            }
            _ => acknowledge(state, place),
        }
    }
}
