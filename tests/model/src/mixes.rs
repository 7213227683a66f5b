//! The faults of each search.

use crate::tally::Tally;
use crate::words::{Faults, Message, Note, State};

/// Something that can go wrong, or come from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A message is delivered again.
    Duplicate,
    /// A run dies at any step.
    Crash,
    /// A write is not answered, and lands now, later, or never.
    Unknown,
    /// The queue is purged.
    Purge,
    /// Sweeps while runs are at work.
    Sweep,
    /// An event hurries the next look.
    EarlyLook,
    /// Somebody cancels.
    Cancel,
    /// Somebody extends.
    Extend,
    /// The job is refused.
    Refused,
    /// The job is throttled.
    Throttled,
    /// The channel takes nothing now.
    Later,
    /// The channel never takes this.
    Never,
    /// The same event comes again.
    Repeat,
    /// Another event asks for the same target.
    Compete,
    /// The request is a raw message in the queue.
    Raw,
    /// A run lives longer than its lease.
    Outlive,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Duplicate,
        Self::Crash,
        Self::Unknown,
        Self::Purge,
        Self::Sweep,
        Self::EarlyLook,
        Self::Cancel,
        Self::Extend,
        Self::Refused,
        Self::Throttled,
        Self::Later,
        Self::Never,
        Self::Repeat,
        Self::Compete,
        Self::Raw,
        Self::Outlive,
    ];
}

/// Which faults can happen in one search, and which requests come.
#[derive(Debug, Clone)]
pub struct Mix {
    /// What it is called.
    pub name: String,
    /// How often each fault can happen.
    pub faults: Faults,
    /// The origins of the requests, and whether each is an event.
    pub requests: Vec<(u8, bool)>,
    /// Whether requests bring a job.
    pub jobs: bool,
    /// Whether a sweep finds what a fault has left alone for ever: where the queue forgets, and where somebody who
    /// cancels or extends dies half-way.
    pub last_sweep: bool,
}

impl Mix {
    /// The mix of these faults, each as often as it is named.
    #[must_use]
    pub fn of(faults: &[Fault]) -> Self {
        let names: Vec<String> = faults.iter().map(|fault| format!("{fault:?}")).collect();
        let has = |fault| faults.contains(&fault);
        let half_way = (has(Fault::Cancel) || has(Fault::Extend)) && (has(Fault::Crash) || has(Fault::Unknown));
        let mut mix = Self {
            name: names.join(" + "),
            faults: Faults::default(),
            requests: vec![(0, !has(Fault::Raw))],
            jobs: has(Fault::Refused) || has(Fault::Throttled),
            last_sweep: has(Fault::Purge) || half_way,
        };
        faults.iter().for_each(|fault| mix.add(*fault));
        mix
    }

    fn add(&mut self, fault: Fault) {
        let faults = &mut self.faults;
        match fault {
            Fault::Duplicate => faults.duplicates += 1,
            Fault::Crash => faults.crashes += 1,
            Fault::Unknown => faults.unknowns += 1,
            Fault::Purge => faults.purges += 1,
            Fault::Sweep => {
                faults.sweeps += 2;
                faults.ages += 1;
            }
            Fault::EarlyLook => faults.early_looks += 1,
            Fault::Cancel => faults.cancels += 1,
            Fault::Extend => faults.extends += 1,
            Fault::Refused => faults.refusals += 1,
            Fault::Throttled => faults.throttles += 1,
            Fault::Later => faults.laters += 1,
            Fault::Never => faults.nevers += 1,
            Fault::Repeat => self.requests.push((0, true)),
            Fault::Compete => self.requests.push((1, true)),
            Fault::Raw => {}
            Fault::Outlive => faults.outlives += 1,
        }
    }

    /// Every mix: no fault, each alone, each twice, and each pair.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut mixes = vec![Self::of(&[])];
        mixes[0].name = "none".to_owned();
        for (at, one) in Fault::ALL.into_iter().enumerate() {
            mixes.push(Self::of(&[one]));
            mixes.extend(Fault::ALL[at..].iter().map(|other| Self::of(&[one, *other])));
        }
        mixes
    }

    /// The world before anything happened.
    pub(crate) fn beginning(&self) -> State {
        let ask = |(origin, event): &(u8, bool)| Message {
            note: Note::Ask {
                origin: *origin,
                event: *event,
                seen: None,
            },
            after: 0,
        };
        let mut messages: Vec<Message> = self.requests.iter().map(ask).collect();
        messages.sort_unstable();
        State {
            store: None,
            young: 0,
            crossed: false,
            turn: 0,
            messages,
            runs: Vec::new(),
            flying: Vec::new(),
            left: self.faults,
            tally: [Tally::default(); 3],
            swept: (0, 0),
            broken: None,
        }
    }
}
