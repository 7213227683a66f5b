//! What happens to runs: delivery, death, answers that never come, a purged queue.

use stateright::{Model, Property};

use crate::beside::{cancel, extend, sweeping};
use crate::pass::claim;
use crate::run::{Turn, give_back};
use crate::words::{Aim, Message, Next, Note, Run, State};
use crate::{Protocol, promises};

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A message is delivered.
    Deliver(usize),
    /// A run takes its next step.
    Step(usize, Turn),
    /// A run dies.
    Die(usize),
    /// A run dies, and its write is still on its way.
    DieWriting(usize),
    /// A run lives longer than its lease, and its message comes again.
    Outlive(usize),
    /// A write that was still on its way takes effect.
    Land(usize),
    /// A message will be delivered once more.
    Duplicate(usize),
    /// The queue forgets everything.
    Purge,
    /// The record passes a sweep's threshold.
    Age,
    /// A sweep begins.
    Sweep,
    /// A sweep when everything else has long been over.
    LastSweep,
    /// An event hurries the next look.
    EarlyLook,
    /// Somebody cancels.
    Cancel,
    /// Somebody extends.
    Extend,
}

impl Protocol {
    fn steps(&self, state: &State, actions: &mut Vec<Action>) {
        let ready = state.messages.iter().enumerate().filter(|(_, m)| m.after == 0);
        // Of messages that are the same the first will do.
        actions.extend(
            ready
                .filter(|(at, m)| *at == 0 || state.messages[at - 1] != **m)
                .map(|(at, _)| Action::Deliver(at)),
        );
        for place in 0..state.runs.len() {
            let turns = self.turns(state, place).into_iter();
            actions.extend(turns.map(|turn| Action::Step(place, turn)));
        }
        actions.extend((0..state.flying.len()).map(Action::Land));
        if self.mix.last_sweep && state.is_quiet() && state.store.is_some_and(|record| !record.is_over()) {
            actions.push(Action::LastSweep);
        }
    }

    fn faults(&self, state: &State, actions: &mut Vec<Action>) {
        let left = &state.left;
        let may = |allowed: bool, action| allowed.then_some(action);
        for (place, run) in state.runs.iter().enumerate() {
            actions.extend(may(left.crashes > 0, Action::Die(place)));
            let writing = run.next == Next::Put && run.base == state.store.map(|record| record.put);
            actions.extend(may(left.crashes > 0 && writing, Action::DieWriting(place)));
            actions.extend(may(left.outlives > 0 && !run.outlived, Action::Outlive(place)));
        }
        for (at, message) in state.messages.iter().enumerate() {
            actions.extend(may(left.duplicates > 0 && message.is_queued(), Action::Duplicate(at)));
        }
        let waiting = state.store.is_some_and(|record| record.outcome.is_none());
        actions.extend(may(left.purges > 0, Action::Purge));
        actions.extend(may(self.can_age(state), Action::Age));
        actions.extend(may(left.sweeps > 0, Action::Sweep));
        actions.extend(may(left.early_looks > 0 && waiting, Action::EarlyLook));
        actions.extend(may(left.cancels > 0 && waiting, Action::Cancel));
        actions.extend(may(left.extends > 0 && waiting, Action::Extend));
    }

    fn deliver(&self, state: &mut State, at: usize) {
        let Message { note, .. } = state.messages.remove(at);
        state.runs.push(Run::new(Next::Put, Aim::None, Some(note)));
        let place = state.runs.len() - 1;
        match note {
            Note::Timer { .. } => claim(state, place),
            Note::Ask { .. } => self.create(state, place),
        }
    }

    fn happen(&self, state: &mut State, action: Action) {
        match action {
            Action::Deliver(at) => self.deliver(state, at),
            Action::Step(place, turn) => self.step(state, place, turn),
            Action::Die(place) => {
                state.left.crashes -= 1;
                give_back(state, place);
            }
            Action::DieWriting(place) => {
                state.left.crashes -= 1;
                let run = state.runs[place];
                state.flying.extend(run.record.map(|record| (run.base, record)));
                give_back(state, place);
            }
            Action::Outlive(place) => outlive(state, place),
            Action::Land(at) => {
                let (_, record) = state.flying.remove(at);
                state.land(record);
            }
            Action::Duplicate(at) => {
                state.left.duplicates -= 1;
                state.messages.push(state.messages[at]);
            }
            Action::Purge => purge(state),
            Action::Age => {
                state.left.ages -= 1;
                state.crossed = true;
                state.swept.0 += 1;
            }
            Action::Sweep => {
                state.left.sweeps -= 1;
                let mut run = Run::new(Next::TakeTurn, Aim::None, None);
                run.turn = state.turn;
                state.runs.push(run);
            }
            Action::LastSweep => {
                if let Some(record) = state.store {
                    let note = sweeping(state, &record);
                    state.messages.push(Message { note, after: 0 });
                }
            }
            Action::EarlyLook => {
                state.left.early_looks -= 1;
                self.early_look(state);
            }
            Action::Cancel => {
                state.left.cancels -= 1;
                state.runs.push(Run::new(Next::Put, Aim::Cancel, None));
                cancel(state, state.runs.len() - 1);
            }
            Action::Extend => {
                state.left.extends -= 1;
                state.runs.push(Run::new(Next::Put, Aim::Extend, None));
                extend(state, state.runs.len() - 1);
            }
        }
    }
}

fn outlive(state: &mut State, place: usize) {
    state.left.outlives -= 1;
    state.forget(place);
    let run = &mut state.runs[place];
    run.outlived = true;
    if let Some(note) = run.held.filter(|_| run.comes_again) {
        run.comes_again = false;
        state.messages.push(Message { note, after: 0 });
    }
}

/// Everything in the queue is gone, what runs have in hand as well.
fn purge(state: &mut State) {
    state.left.purges -= 1;
    state.messages.retain(|message| !message.is_queued());
    for run in &mut state.runs {
        run.comes_again &= !run.held.is_some_and(Note::is_queued);
    }
}

impl Note {
    /// Whether it lies in the queue.
    fn is_queued(self) -> bool {
        !matches!(self, Self::Ask { event: true, .. })
    }
}

impl Message {
    fn is_queued(&self) -> bool {
        self.note.is_queued()
    }
}

impl State {
    /// Whether nobody is at work and nothing will be delivered.
    pub(crate) fn is_quiet(&self) -> bool {
        self.messages.is_empty() && self.runs.is_empty()
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.mix.beginning()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.steps(state, actions);
        self.faults(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.happen(&mut state, action);
        state.rename();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises::all()
    }
}
