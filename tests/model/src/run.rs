//! What one run does, step by step. A run can die before each step, so each step has one effect at most.

use crate::beside::{cancel, extend, read_old};
use crate::pass::{check, is_last, look};
use crate::start::{fail_start, first_message};
use crate::words::{Aim, Message, Next, Note, Outcome, Record, Run, State};
use crate::{Protocol, Rule};

/// How a step turns out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Turn {
    /// As it should, or as it must.
    Plain,
    /// The write took effect, and nobody hears of it.
    Unanswered,
    /// The write is on its way, and nobody hears of it.
    Flying,
    /// The run has no time for another try, or may not read.
    GiveBack,
    /// The target is what was waited for.
    Completed,
    /// The job is throttled.
    Throttled,
    /// The job is refused for good.
    Refused,
    /// The channel takes nothing now.
    Later,
    /// The channel never takes this.
    Never,
}

impl Protocol {
    /// How the next step of the run at `place` can turn out.
    pub(crate) fn turns(&self, state: &State, place: usize) -> Vec<Turn> {
        let run = &state.runs[place];
        let left = &state.left;
        let mut turns = vec![Turn::Plain];
        let mut may = |turn, allowed: bool| turns.extend(allowed.then_some(turn));
        match run.next {
            Next::Put => {
                let unknown = left.unknowns > 0 && self.holds(state, run);
                may(Turn::Unanswered, unknown);
                may(Turn::Flying, unknown);
            }
            Next::Get => may(Turn::GiveBack, left.unknowns > 0),
            Next::Job => {
                may(Turn::Throttled, left.throttles > 0);
                may(Turn::Refused, left.refusals > 0);
            }
            Next::Look => may(Turn::Completed, !is_last(run)),
            Next::Tell => {
                may(Turn::Later, left.laters > 0);
                may(Turn::Never, left.nevers > 0);
            }
            Next::Send | Next::Acknowledge | Next::TakeTurn | Next::ReadOld => {}
        }
        turns
    }

    /// The next step of the run at `place`.
    pub(crate) fn step(&self, state: &mut State, place: usize, turn: Turn) {
        match state.runs[place].next {
            Next::Put => self.put(state, place, turn),
            Next::Get if turn == Turn::GiveBack => {
                state.left.unknowns -= 1;
                give_back(state, place);
            }
            Next::Get => self.get(state, place),
            Next::Job => self.job(state, place, turn),
            Next::Look => self.look(state, place, turn),
            Next::Tell => self.tell(state, place, turn),
            Next::Send => send(state, place),
            Next::Acknowledge => end(state, place),
            Next::TakeTurn => self.take_turn(state, place),
            Next::ReadOld => read_old(state, place),
        }
    }

    /// Whether the condition of the run's write holds.
    fn holds(&self, state: &State, run: &Run) -> bool {
        let forced = run.aim == Aim::Claim && !self.keeps(Rule::ClaimOnCondition) && state.store.is_some();
        forced || run.base == state.store.map(|record| record.put)
    }

    fn put(&self, state: &mut State, place: usize, turn: Turn) {
        let run = state.runs[place];
        let Some(record) = run.record else { return };
        let holds = self.holds(state, &run);
        match turn {
            Turn::Flying => state.flying.push((run.base, record)),
            _ if holds => state.land(record),
            _ => {}
        }
        if turn != Turn::Plain {
            state.left.unknowns -= 1;
        } else if holds {
            return self.written(state, place);
        }
        if run.aim == Aim::Claim && !self.keeps(Rule::ReadBack) {
            acknowledge(state, place);
        } else {
            state.runs[place].next = Next::Get;
        }
    }

    /// Reads back whose write stands there: the first rule that fits.
    fn get(&self, state: &mut State, place: usize) {
        let run = state.runs[place];
        let mine = |stands: Record| run.record.is_some_and(|its| its.put == stands.put);
        let unchanged = run.base == state.store.map(|record| record.put);
        match state.store {
            Some(stands) if mine(stands) && self.keeps(Rule::PutId) => self.written(state, place),
            None if run.aim == Aim::Create && !self.keeps(Rule::AbsentIsNoAnswer) => acknowledge(state, place),
            _ if unchanged => state.runs[place].next = Next::Put,
            Some(stands) => self.refused(state, place, stands),
            None => acknowledge(state, place),
        }
    }

    /// The run's write stands there.
    fn written(&self, state: &mut State, place: usize) {
        let run = &mut state.runs[place];
        (run.told, run.settled) = (0, false);
        match run.aim {
            Aim::Create => self.begin(state, place),
            Aim::Claim => self.claimed(state, place),
            Aim::Owed => check(state, place),
            Aim::Finish | Aim::FailStart => self.announce(state, place),
            Aim::Notified => self.announced(state, place),
            Aim::Cancel => self.send_for_cancelled(state, place),
            Aim::Extend => self.send_for_extended(state, place),
            Aim::Share | Aim::None => acknowledge(state, place),
        }
    }

    /// Something else stands there.
    fn refused(&self, state: &mut State, place: usize, stands: Record) {
        match state.runs[place].aim {
            Aim::Create => self.accept(state, place, stands),
            Aim::Claim => self.claim_refused(state, place, stands),
            Aim::Owed | Aim::Finish => give_back(state, place),
            Aim::Notified => {
                let told = std::mem::take(&mut state.runs[place].told);
                state.note_unrecorded(told);
                acknowledge(state, place);
            }
            Aim::FailStart | Aim::Share | Aim::None => acknowledge(state, place),
            Aim::Cancel => cancel(state, place),
            Aim::Extend => extend(state, place),
        }
    }

    fn job(&self, state: &mut State, place: usize, turn: Turn) {
        let run = &state.runs[place];
        let Some(origin) = run.origin() else { return };
        match turn {
            Turn::Throttled => state.left.throttles -= 1,
            Turn::Refused => state.left.refusals -= 1,
            _ => {}
        }
        if turn != Turn::Throttled {
            state.tally[usize::from(origin)].job = true;
        }
        let run = &mut state.runs[place];
        if let Some(record) = run.record.as_mut().filter(|_| turn == Turn::Plain) {
            record.wait.started = true;
        }
        match (run.aim, turn) {
            (Aim::Share, Turn::Throttled) => give_back(state, place),
            (Aim::Share, _) => acknowledge(state, place),
            (Aim::Create, Turn::Refused) => fail_start(state, place),
            (Aim::Create, _) => first_message(state, place),
            (_, Turn::Throttled) => self.pending(state, place),
            (_, Turn::Refused) => self.finish(state, place, Outcome::FailedToStart),
            (_, _) => look(state, place),
        }
    }
}

impl Run {
    /// The origin of the request or the wait that it is about.
    fn origin(&self) -> Option<u8> {
        match (self.held, self.record) {
            (Some(Note::Ask { origin, .. }), _) => Some(origin),
            (_, record) => record.map(|record| record.wait.origin),
        }
    }
}

/// The run at `place` writes `record` over the version `base`, under a fresh id.
pub(crate) fn write(state: &mut State, place: usize, aim: Aim, base: Option<u8>, mut record: Record) {
    record.put = state.fresh();
    let run = &mut state.runs[place];
    (run.next, run.aim, run.base, run.record) = (Next::Put, aim, base, Some(record));
}

/// The run at `place` will send `note`, then acknowledge.
pub(crate) fn will_send(state: &mut State, place: usize, note: Note, by_a_lease: bool) {
    let run = &mut state.runs[place];
    forget_the_rest(run);
    (run.next, run.out) = (Next::Send, Some((note, by_a_lease)));
}

/// The run at `place` will acknowledge.
pub(crate) fn acknowledge(state: &mut State, place: usize) {
    let run = &mut state.runs[place];
    forget_the_rest(run);
    (run.next, run.out) = (Next::Acknowledge, None);
}

/// What a run does not need any more makes no difference.
fn forget_the_rest(run: &mut Run) {
    (run.aim, run.base, run.record, run.settled) = (Aim::None, None, None, false);
}

fn send(state: &mut State, place: usize) {
    if let Some((note, by_a_lease)) = state.runs[place].out {
        let after = if by_a_lease { state.alive() } else { 0 };
        state.messages.push(Message { note, after });
    }
    acknowledge(state, place);
}

/// The run is over, and so is its message.
fn end(state: &mut State, place: usize) {
    let run = state.remove(place);
    state.note_unrecorded(run.told);
}

/// The run is over, and its message comes again: it died, or could not go on.
pub(crate) fn give_back(state: &mut State, place: usize) {
    let run = state.remove(place);
    state.note_unrecorded(run.told);
    if let Some(note) = run.held.filter(|_| run.comes_again) {
        state.messages.push(Message { note, after: 0 });
    }
}
