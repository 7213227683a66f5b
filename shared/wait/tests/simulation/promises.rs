//! What must hold at every step, and when everything is over.

use std::time::Duration;

use matsu_wait::record::Notified;
use matsu_wait::testing::SECOND;
use matsu_wait::wait::OutcomeKind;
use matsu_wait::{Record, State};

use crate::book::{Book, Role, World};

/// What was done to one wait.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Its record has stood in the store.
    pub(crate) accepted: bool,
    /// The last pass that was claimed.
    pub(crate) passes: u32,
    pub(crate) looks: u32,
    pub(crate) outcome: Option<OutcomeKind>,
    pub(crate) told: u32,
    /// Runs that died or were overtaken between telling it and the record of that, and answers that were not heard.
    pub(crate) unrecorded: u32,
    pub(crate) undeliverable: bool,
    pub(crate) extended: u32,
}

impl Book {
    /// A run begins to look for this wait.
    pub(crate) fn looks_for(&mut self, key: &str, wait: &str, run: usize) {
        let within = |looker: &usize| !self.runs[*looker].outlived;
        let other = self.looking.iter().find(|(k, looker)| k == key && within(looker));
        if let Some((_, other)) = other.filter(|_| !self.runs[run].outlived) {
            let what = format!("runs {other} and {run} look at one target at a time");
            self.break_promise(what);
        }
        self.looking.push((key.to_owned(), run));
        self.looks += 1;
        let faults = self.faults + self.deaths + self.duplicates;
        let tally = self.waits.entry(wait.to_owned()).or_default();
        tally.looks += 1;
        let most = tally.passes + faults + tally.extended;
        if tally.looks > most {
            let what = format!("{} looks in {} passes with {faults} faults", tally.looks, tally.passes);
            self.break_promise(what);
        }
    }

    /// The channel takes the outcome of this wait.
    pub(crate) fn tells(&mut self, wait: &str, outcome: OutcomeKind, run: usize) {
        let tally = self.waits.entry(wait.to_owned()).or_default();
        tally.told += 1;
        // A run beyond its lease counts as dead.
        tally.unrecorded += u32::from(self.runs[run].outlived);
        // Telling costs a write of its own.
        self.runs[run].troubled = true;
        let (told, unrecorded, recorded) = (tally.told, tally.unrecorded, tally.outcome);
        if told > 1 + unrecorded {
            self.break_promise(format!(
                "wait {wait} is told {told} times after {unrecorded} deaths in between"
            ));
        }
        if recorded != Some(outcome) {
            self.break_promise(format!(
                "wait {wait} is told as {outcome:?} and recorded as {recorded:?}"
            ));
        }
        if !self.runs[run].outlived {
            self.runs[run].told.push(wait.to_owned());
        }
    }

    /// A record takes the place of another.
    pub(crate) fn lands(&mut self, before: Option<&Record>, record: &Record, run: usize) {
        let same = before.filter(|before| before.wait.id == record.wait.id);
        match (before, same) {
            (Some(before), None) if before.state == State::Waiting => {
                self.break_promise(format!("the running wait {} is replaced", before.wait.id));
            }
            (_, Some(same)) if same.state == State::Done && record.state == State::Waiting => {
                self.break_promise(format!("the ended wait {} goes on", record.wait.id));
            }
            (_, Some(same)) if same.outcome.is_some() && same.outcome != record.outcome => {
                self.break_promise(format!("the outcome of wait {} changes", record.wait.id));
            }
            (_, Some(same)) if same.wait.policy.timeout > record.wait.policy.timeout => {
                self.break_promise(format!("the extension of wait {} is lost", record.wait.id));
            }
            _ => {}
        }
        if same.is_none() && !self.accepted.insert(record.wait.origin.clone()) {
            self.break_promise(format!("a second wait for the request of {}", record.wait.origin));
        }
        // What the run has told is recorded.
        let owed = |wait: &String| record.wait.owed.iter().any(|owed| owed.wait == *wait);
        let open = |wait: &String| owed(wait) || *wait == record.wait.id && record.notified.is_none();
        self.runs[run].told.retain(open);
        let extended = same.is_some_and(|same| same.wait.policy != record.wait.policy);
        let tally = self.waits.entry(record.wait.id.clone()).or_default();
        tally.accepted = true;
        tally.extended += u32::from(extended);
        tally.outcome = record.outcome.as_ref().map(|outcome| outcome.kind);
        if record.state == State::Waiting {
            tally.passes = tally.passes.max(record.pass);
        }
        tally.undeliverable |= matches!(record.notified, Some(Notified::Undeliverable(_)));
    }

    /// A sweep sends a timer for the record of this token.
    pub(crate) fn sweeps(&mut self, token: &str, now: Duration) {
        let Some(written) = self.written.get_mut(token) else {
            return;
        };
        written.swept += 1;
        // The store tells its times in whole seconds.
        let age = now.saturating_sub(written.at) + SECOND;
        let thresholds = age.as_millis() / written.threshold.as_millis();
        let (sent, most) = (written.swept, thresholds.checked_ilog2().map_or(0, |k| k + 1));
        if sent > most {
            self.break_promise(format!(
                "sweeps send {sent} timers for a record of {age:?}, {most} are due"
            ));
        }
    }
}

impl World {
    /// The messages in the queue are few: what each deed and each fault may add, and one for each wait.
    pub(crate) fn check_messages(&self) {
        let waiting = self.queue.waiting().len();
        let mut book = self.book();
        let swept: u32 = book.written.values().map(|written| written.swept).sum();
        let added = book.faults + book.deaths + book.duplicates + swept;
        // Whoever works a message sends what follows before it acknowledges that.
        let in_hand = book
            .runs
            .iter()
            .filter(|run| run.role == Role::Waiter && !run.over)
            .count();
        let most =
            self.plan.targets.len() + self.plan.requests.len() + self.plan.deeds.len() + added as usize + in_hand;
        if waiting > most {
            book.break_promise(format!("{waiting} messages are in the queue, {most} could be"));
        }
    }

    /// Everything is over.
    pub(crate) fn check_end(&self) {
        let mut book = self.book();
        let waits = std::mem::take(&mut book.waits);
        for (wait, tally) in waits.iter().filter(|(_, tally)| tally.accepted) {
            if tally.outcome.is_none() {
                book.break_promise(format!("wait {wait} has not ended"));
            } else if tally.told == 0 && !tally.undeliverable {
                book.break_promise(format!("wait {wait} has ended and nobody heard of it"));
            }
        }
        book.waits = waits;
    }
}
