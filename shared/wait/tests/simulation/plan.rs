//! What a seed makes up before a history begins.

use std::time::Duration;

use jiff::SignedDuration;
use matsu_lock::{Random, SeededRandom};
use matsu_wait::Target;
use matsu_wait::job::Job;
use matsu_wait::start::Request;
use matsu_wait::testing::{SECOND, target};
use matsu_wait::wait::{Extra, Policy};
use serde_json::json;

/// One minute.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Chance, in the forms that histories need.
#[derive(Debug)]
pub(crate) struct Dice(SeededRandom);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SeededRandom::new(seed))
    }

    /// A number below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        u64::try_from(self.0.bits() % u128::from(end.max(1))).unwrap_or_default()
    }

    /// True in so many of a thousand cases.
    pub(crate) fn per_mille(&self, cases: u64) -> bool {
        self.below(1000) < cases
    }

    /// A duration within the two.
    pub(crate) fn between(&self, low: Duration, high: Duration) -> Duration {
        self.0.between(low, high)
    }

    /// One of these.
    pub(crate) fn one_of<T: Clone>(&self, things: &[T]) -> T {
        let index = self.below(things.len() as u64);
        things[usize::try_from(index).unwrap_or_default()].clone()
    }
}

/// From and until when something lasts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spell {
    from: Duration,
    until: Duration,
}

impl Spell {
    fn some(dice: &Dice, within: Duration, longest: Duration) -> Self {
        let from = dice.between(Duration::ZERO, within);
        Self {
            from,
            until: from + dice.between(Duration::ZERO, longest),
        }
    }

    pub(crate) fn covers(&self, now: Duration) -> bool {
        (self.from..self.until).contains(&now)
    }

    pub(crate) fn ends(&self) -> Duration {
        self.until
    }
}

/// What somebody outside does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// The request of this number is delivered.
    Ask(usize),
    /// An event hurries the next look at the target of this number.
    Wake(usize),
    /// Somebody cancels the wait for it.
    Cancel(usize),
    /// Somebody extends it.
    Extend(usize),
    /// A sweep.
    Sweep,
    /// The queue is purged.
    Purge,
    /// A message that waits will be delivered once more.
    Duplicate,
    /// Somebody puts a bare request for this target into the queue.
    Raw(usize),
}

/// What becomes of a target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fate {
    /// When it is what is waited for.
    pub(crate) ready: Option<Duration>,
    /// When it has failed.
    pub(crate) fails: Option<Duration>,
    /// When it is there no more.
    pub(crate) gone: Option<Duration>,
    /// Whether its job is refused.
    pub(crate) refused: bool,
}

/// How often calls go wrong, in a thousand cases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) store: u64,
    pub(crate) queue: u64,
    pub(crate) death: u64,
    pub(crate) stall: u64,
    pub(crate) frozen: u64,
}

/// Everything that a seed makes up before the first step.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) targets: Vec<(Target, Fate)>,
    pub(crate) requests: Vec<Request>,
    pub(crate) deeds: Vec<(Duration, Deed)>,
    /// The lease of a run that works a message, and how long that is hidden meanwhile.
    pub(crate) lease: Duration,
    pub(crate) visibility: Duration,
    pub(crate) max_receives: Option<u32>,
    /// Whether the store tells its time; only then may the callers' clocks be wrong.
    pub(crate) tells_date: bool,
    pub(crate) rates: Rates,
    /// Every call of the store fails.
    pub(crate) storm: Spell,
    /// Nothing is delivered.
    pub(crate) backlog: Spell,
    /// The channel takes nothing.
    pub(crate) silent: Spell,
    /// The channel will never take anything.
    pub(crate) revoked: Spell,
    /// Jobs and looks are throttled.
    pub(crate) throttled: Spell,
    /// Whether anybody sweeps. If not, the chain carries itself: nothing is purged, nothing becomes a dead letter, and
    /// commands do not die half-way.
    pub(crate) sweeps: bool,
    pub(crate) sweep_every: Duration,
    /// Nothing goes wrong after this; only the channel may be silent longer.
    pub(crate) calm: Duration,
}

impl Plan {
    pub(crate) fn of(dice: &Dice) -> Self {
        let calm = dice.between(5 * MINUTE, 90 * MINUTE);
        let lease = dice.one_of(&[60, 60, 60, 300]) * SECOND;
        let count = dice.one_of(&[1, 1, 1, 2]);
        let targets: Vec<_> = (0..count).map(|n| fated(dice, n, calm)).collect();
        let requests = requests(dice, &targets);
        let rate = |most: u64| if dice.per_mille(400) { 0 } else { dice.below(most) };
        let never = Spell {
            from: Duration::ZERO,
            until: Duration::ZERO,
        };
        let spell = |cases, longest| {
            if dice.per_mille(cases) {
                Spell::some(dice, calm, longest)
            } else {
                never
            }
        };
        // Rarely for longer than anybody tries to tell an outcome.
        let silence = if dice.per_mille(10) {
            5_000
        } else {
            dice.one_of(&[1, 10, 60, 240])
        };
        let sweeps = dice.per_mille(700);
        let mut plan = Self {
            lease,
            visibility: dice.one_of(&[lease + 5 * SECOND, lease * 6]),
            max_receives: dice.one_of(&[Some(5), Some(5), None]).filter(|_| sweeps),
            tells_date: dice.per_mille(700),
            rates: Rates {
                store: rate(80),
                queue: rate(60),
                death: rate(20),
                stall: rate(40),
                frozen: rate(400),
            },
            storm: spell(150, 5 * MINUTE),
            backlog: spell(150, dice.one_of(&[10, 60, 60, 300]) * MINUTE),
            silent: spell(200, silence * MINUTE),
            revoked: spell(50, 30 * MINUTE),
            throttled: spell(300, 15 * MINUTE),
            sweeps,
            sweep_every: dice.one_of(&[1, 5, 15]) * MINUTE,
            deeds: Vec::new(),
            targets,
            requests,
            calm,
        };
        plan.deeds = plan.deeds(dice);
        plan
    }

    fn deeds(&self, dice: &Dice) -> Vec<(Duration, Deed)> {
        let mut deeds = Vec::new();
        // Half of all comes in a crowd.
        let moment = || dice.between(Duration::ZERO, self.calm);
        let busy = [Duration::ZERO, moment(), moment()];
        let mut at = |deed| {
            let at = match dice.per_mille(500) {
                true => dice.one_of(&busy) + dice.between(Duration::ZERO, 3 * MINUTE),
                false => moment(),
            };
            deeds.push((at, deed));
        };
        for request in 0..self.requests.len() {
            // The same event may come again.
            (0..dice.one_of(&[1, 1, 1, 2, 3])).for_each(|_| at(Deed::Ask(request)));
        }
        for target in 0..self.targets.len() {
            (0..dice.below(3)).for_each(|_| at(Deed::Wake(target)));
            (0..dice.one_of(&[0, 0, 0, 1, 2])).for_each(|_| at(Deed::Cancel(target)));
            (0..dice.one_of(&[0, 0, 0, 1])).for_each(|_| at(Deed::Raw(target)));
            (0..dice.one_of(&[0, 0, 0, 1, 2])).for_each(|_| at(Deed::Extend(target)));
        }
        if self.sweeps {
            (0..dice.one_of(&[0, 0, 0, 1])).for_each(|_| at(Deed::Purge));
            (0..dice.below(3)).for_each(|_| at(Deed::Sweep));
        }
        (0..dice.one_of(&[0, 0, 2, 5])).for_each(|_| at(Deed::Duplicate));
        // The first event begins the history.
        deeds.push((Duration::ZERO, Deed::Ask(0)));
        deeds.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        deeds
    }

    /// How far off the clock of a new run is.
    pub(crate) fn skew(&self, dice: &Dice, now: Duration) -> SignedDuration {
        if self.tells_date && now < self.calm && dice.per_mille(50) {
            SignedDuration::from_hours(dice.one_of(&[-24, 24]))
        } else {
            SignedDuration::ZERO
        }
    }
}

fn fated(dice: &Dice, number: usize, calm: Duration) -> (Target, Fate) {
    let maybe = |cases: u64| dice.per_mille(cases).then(|| dice.between(Duration::ZERO, calm));
    let fate = Fate {
        ready: maybe(700),
        fails: maybe(100),
        gone: maybe(100),
        refused: dice.per_mille(200),
    };
    (target(&format!("rds:snapshot/copy-{number}")), fate)
}

fn requests(dice: &Dice, targets: &[(Target, Fate)]) -> Vec<Request> {
    let seconds = |choice: &[u64]| Duration::from_secs(dice.one_of(choice));
    let request = |number: usize| {
        let (target, _) = &targets[number % targets.len()];
        let min_delay = seconds(&[5, 15, 60]);
        Request {
            target: target.clone(),
            job: dice.per_mille(500).then(job),
            policy: Policy {
                min_delay,
                max_delay: min_delay * dice.one_of(&[1, 4, 20]),
                max_count: dice.one_of(&[1, 2, 4, 8]),
                timeout: seconds(&[120, 1_200, 7_200]),
                extra: Extra::new(),
            },
            origin: format!("event-{number}"),
            count: 1,
            seen: None,
        }
    };
    let more = usize::try_from(dice.below(4)).unwrap_or_default();
    (0..targets.len() + more).map(request).collect()
}

fn job() -> Job {
    let source = "arn:aws:rds:eu-central-1:123456789012:snapshot:source";
    serde_json::from_value(json!({ "kind": "rds-copy", "source": source })).expect("a job")
}
