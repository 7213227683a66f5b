//! States that differ only in the names of tokens, messages and runs are one.

use std::cmp::Reverse;

use crate::words::{GONE, Id, Message, Note, Record, Run, Set, State};

impl State {
    /// The runs within their leases.
    pub(crate) fn alive(&self) -> Set {
        let within = self.runs.iter().enumerate().filter(|(_, run)| !run.outlived);
        within.fold(0, |set, (place, _)| set | (1 << place))
    }

    /// A name that nothing has.
    pub(crate) fn fresh(&mut self) -> Id {
        let mut highest = GONE;
        self.each_token(|token| highest = highest.max(*token));
        self.each_msg(|msg| highest = highest.max(*msg));
        highest + 1
    }

    /// Takes a run out of the world; those behind it move up.
    pub(crate) fn remove(&mut self, place: usize) -> Run {
        let low = (1 << place) - 1;
        self.each_set(|set| *set = (*set & low) | ((*set >> 1) & !low));
        self.runs.remove(place)
    }

    /// The run at this place does not count as alive any more.
    pub(crate) fn forget(&mut self, place: usize) {
        self.each_set(|set| *set &= !(1 << place));
    }

    /// Gives the same names to whatever is the same.
    pub(crate) fn rename(&mut self) {
        let stands = self.store.map(|record| record.put);
        self.flying.retain(|(base, _)| *base == stands);
        self.sort_runs();
        let meets = self.tokens_that_can_meet();
        self.each_token(|token| {
            if meets & (1 << *token) == 0 {
                *token = GONE;
            }
        });
        let mut names = Names::default();
        self.each_token(|token| *token = names.of(*token));
        names = Names::default();
        self.each_msg(|msg| *msg = names.of(*msg));
        self.flying.sort_unstable();
        self.messages.sort_unstable();
    }

    /// Tokens that are, or can still become, the record's own or its parent.
    fn tokens_that_can_meet(&self) -> u64 {
        let mut meets = 0_u64;
        let mut add = |id: Option<Id>| meets |= id.map_or(0, |id| 1 << id);
        let flying = self.flying.iter().map(|(_, record)| record);
        let written = self.runs.iter().filter_map(|run| run.record.as_ref());
        for record in self.store.iter().chain(flying).chain(written) {
            add(Some(record.put));
            add(record.parent);
        }
        meets & !1
    }

    fn sort_runs(&mut self) {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|place| Reverse(self.runs[*place]));
        let runs = order.iter().map(|place| self.runs[*place]).collect();
        self.runs = runs;
        self.each_set(|set| {
            let moved = order.iter().enumerate();
            *set = moved.fold(0, |new, (to, from)| new | (((*set >> from) & 1) << to));
        });
    }

    fn each_set(&mut self, mut change: impl FnMut(&mut Set)) {
        change(&mut self.young);
        for message in &mut self.messages {
            change(&mut message.after);
        }
    }

    fn each_record(&mut self, mut change: impl FnMut(&mut Record)) {
        self.store.iter_mut().for_each(&mut change);
        for run in &mut self.runs {
            run.record.iter_mut().for_each(&mut change);
        }
        self.flying.iter_mut().for_each(|(_, record)| change(record));
    }

    fn each_note(&mut self, mut change: impl FnMut(&mut Note)) {
        for run in &mut self.runs {
            run.held.iter_mut().for_each(&mut change);
            run.out.iter_mut().for_each(|(note, _)| change(note));
        }
        for Message { note, .. } in &mut self.messages {
            change(note);
        }
    }

    fn each_token(&mut self, mut change: impl FnMut(&mut Id)) {
        self.each_record(|record| {
            change(&mut record.put);
            record.parent.iter_mut().for_each(&mut change);
        });
        self.runs.iter_mut().flat_map(|run| &mut run.base).for_each(&mut change);
        self.flying.iter_mut().flat_map(|(base, _)| base).for_each(&mut change);
        self.each_note(|note| match note {
            Note::Timer { token, seen, .. } => {
                change(token);
                seen.iter_mut().for_each(&mut change);
            }
            Note::Ask { seen, .. } => seen.iter_mut().for_each(&mut change),
        });
    }

    fn each_msg(&mut self, mut change: impl FnMut(&mut Id)) {
        self.each_record(|record| change(&mut record.msg));
        self.each_note(|note| {
            if let Note::Timer { msg, .. } = note {
                change(msg);
            }
        });
    }
}

/// New names in the order of the first meeting.
struct Names {
    given: [Id; 64],
    last: Id,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            given: [GONE; 64],
            last: GONE,
        }
    }
}

impl Names {
    fn of(&mut self, old: Id) -> Id {
        if old == GONE {
            return GONE;
        }
        let given = &mut self.given[usize::from(old)];
        if *given == GONE {
            self.last += 1;
            *given = self.last;
        }
        *given
    }
}
