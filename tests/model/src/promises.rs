//! What must hold in every state, whatever happened before.

use stateright::Property;

use crate::Protocol;
use crate::tally::{Broken, Tally};
use crate::words::{Aim, Next, Note, Run, State};

/// Every promise.
#[must_use]
pub fn all() -> Vec<Property<Protocol>> {
    vec![
        Property::always("one run looks at a time", |_, state: &State| one_looks(state)),
        Property::always("a running wait is never replaced", |_, s: &State| {
            s.broken != Some(Broken::Overwritten)
        }),
        Property::always("an ended wait stays ended", |_, s: &State| {
            s.broken != Some(Broken::Reopened)
        }),
        Property::always("an outcome never changes", |_, s: &State| {
            s.broken != Some(Broken::Changed)
        }),
        Property::always("an extension is never lost", |_, s: &State| {
            s.broken != Some(Broken::Shortened)
        }),
        Property::always("one wait for each request", |_, s: &State| {
            s.tally.iter().all(|t| t.accepted <= 1)
        }),
        Property::always("the outcome that is told is the recorded one", |_, s: &State| {
            s.tally
                .iter()
                .all(|t| t.told_as.is_none() || t.outcome.is_none() || t.told_as == t.outcome)
        }),
        Property::always(
            "told again only after a death before the record of it",
            |_, s: &State| told_rarely(s),
        ),
        Property::always(
            "one more look for each duplicate, death, unknown answer",
            |p: &Protocol, s: &State| s.tally.iter().all(|t| t.looks <= t.passes + p.more_looks(s)),
        ),
        Property::always("few messages", few_messages),
        Property::always("one message for each threshold passed", |_, s: &State| {
            s.swept.1 <= s.swept.0
        }),
        Property::always("nothing can follow the end", |_, state: &State| nothing_follows(state)),
        Property::always("every wait ends and is announced", |p: &Protocol, s: &State| {
            !p.is_settled(s) || s.tally.iter().all(|t| t.accepted == 0 || is_announced(t))
        }),
        Property::always("every request is served", |p: &Protocol, s: &State| {
            !p.is_settled(s) || p.serves_all(s)
        }),
        Property::always("every job that is shared is started", |p: &Protocol, s: &State| {
            !p.is_settled(s) || !p.mix.jobs || s.tally.iter().all(|t| !t.served || t.accepted > 0 || t.job)
        }),
    ]
}

fn one_looks(state: &State) -> bool {
    let looking = |run: &&Run| run.next == Next::Look && !run.outlived;
    state.runs.iter().filter(looking).count() <= 1
}

/// A run that has told something and lives longer than its lease counts as dead.
fn told_rarely(state: &State) -> bool {
    let late = |origin: usize| {
        let told = state
            .runs
            .iter()
            .filter(|run| run.outlived && run.told & (1 << origin) != 0);
        told.count()
    };
    let mut tallies = state.tally.iter().enumerate();
    tallies.all(|(origin, t)| usize::from(t.told) <= 1 + usize::from(t.unrecorded) + late(origin))
}

fn is_announced(tally: &Tally) -> bool {
    tally.outcome.is_some() && (tally.told > 0 || tally.undeliverable)
}

/// Messages that wait or are in hand: those of the requests, one timer, and what each fault may add.
fn few_messages(protocol: &Protocol, state: &State) -> bool {
    let (had, left) = (protocol.mix.faults, state.left);
    let added = protocol.more_looks(state) + (had.early_looks - left.early_looks) + (had.cancels - left.cancels);
    let allowed = protocol.mix.requests.len() + 1 + usize::from(added + state.swept.1);
    let in_hand = state
        .runs
        .iter()
        .filter(|run| run.comes_again && run.next != Next::Acknowledge);
    state.messages.len() + in_hand.count() <= allowed
}

/// Once the record is over, no timer can claim it, and nothing but a new request writes it.
fn nothing_follows(state: &State) -> bool {
    let Some(over) = state.store.filter(|record| record.is_over()) else {
        return true;
    };
    let claims = |note: &Note| matches!(note, Note::Timer { token, .. } if *token == over.put);
    let writes =
        |run: &Run| run.next == Next::Put && run.aim != Aim::Create && run.base == Some(over.put) && !run.outlived;
    let by_timer = state.messages.iter().any(|message| claims(&message.note));
    !by_timer && !state.runs.iter().any(writes)
}

impl Protocol {
    /// What may cost a look beside the passes: faults, and an extension, which can overtake a run that has just looked.
    fn more_looks(&self, state: &State) -> u8 {
        let (had, left) = (self.mix.faults, state.left);
        (had.duplicates - left.duplicates)
            + (had.crashes - left.crashes)
            + (had.unknowns - left.unknowns)
            + (had.outlives - left.outlives)
            + (had.extends - left.extends)
    }

    /// Whether nothing happens any more, unless a fault does.
    fn is_settled(&self, state: &State) -> bool {
        let open = state.store.is_some_and(|record| !record.is_over());
        state.is_quiet() && !(self.mix.last_sweep && open)
    }

    /// Every request came to a wait; one that lay in a purged queue may be gone.
    fn serves_all(&self, state: &State) -> bool {
        let mut requests = self.mix.requests.iter();
        let purged = state.left.purges < self.mix.faults.purges;
        purged || requests.all(|(origin, _)| state.tally[usize::from(*origin)].served)
    }
}
