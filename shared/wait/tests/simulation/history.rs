//! One history: who comes next is thrown with dice, step by step, until everything is over.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use matsu_lock::SeededRandom;
use matsu_wait::testing::SECOND;

use crate::book::World;
use crate::figures::Figures;
use crate::plan::{Deed, MINUTE};
use crate::task::Task;

/// How many runs are under way at a time at most.
pub(crate) const SIDE_BY_SIDE: usize = 8;

/// Once nothing goes wrong any more, everything is over after this.
const LONGEST: Duration = Duration::from_secs(10 * 86_400);

/// A promise that was broken, and what led there.
pub(crate) struct Broken {
    pub(crate) what: String,
    pub(crate) story: Vec<String>,
}

/// A history under way.
pub(crate) struct History {
    pub(crate) world: Arc<World>,
    pub(crate) random: Arc<SeededRandom>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) deeds: Vec<(Duration, Deed)>,
    pub(crate) next_sweep: Duration,
    /// Messages that are delivered once more than they should be.
    pub(crate) echoes: Vec<(Duration, String)>,
    /// Whether each request is still to be served by its own delivery.
    pub(crate) unserved: Vec<bool>,
    pub(crate) purged: bool,
}

/// Plays the history of a seed; `told`: what happens is written down for reading.
pub(crate) fn play(seed: u64, told: bool) -> Result<Figures, Broken> {
    // The effects' own limits want timers; none of them ever fires, because time is made here.
    let timers = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let _within = timers.enter();
    let world = World::new(seed, told);
    let mut history = History {
        random: Arc::new(SeededRandom::new(!seed)),
        tasks: Vec::new(),
        echoes: Vec::new(),
        deeds: world.plan.deeds.clone(),
        next_sweep: world.plan.sweep_every,
        unserved: vec![true; world.plan.requests.len()],
        purged: false,
        world: world.clone(),
    };
    while !history.is_over() {
        history.step();
        if world.now() > world.plan.calm + LONGEST {
            world.book().break_promise("it never comes to rest");
        }
        if world.book().broken.is_some() {
            break;
        }
    }
    history.tasks.clear();
    if world.book().broken.is_none() {
        world.check_end();
        history.check_requests();
    }
    let mut book = world.book();
    match book.broken.take() {
        Some(what) => Err(Broken {
            what,
            story: book.story.take().unwrap_or_default(),
        }),
        None => Ok(Figures {
            steps: book.steps,
            runs: book.runs.len() as u64,
            waits: book.waits.len() as u64,
            looks: book.looks.into(),
            faults: book.faults.into(),
            deaths: book.deaths.into(),
            duplicates: book.duplicates.into(),
        }),
    }
}

impl History {
    fn step(&mut self) {
        let now = self.world.now();
        self.world.land_what_is_due();
        self.end_leases(now);
        self.do_what_is_due(now);
        self.send_echoes(now);
        self.deliver(now);
        self.world.check_messages();
        match self.choose(now) {
            Some(chosen) => self.go_on(chosen, now),
            None => self.pass_time(now),
        }
    }

    /// Whether nothing will happen any more.
    fn is_over(&self) -> bool {
        let world = &self.world;
        let quiet = self.tasks.is_empty()
            && self.deeds.is_empty()
            && self.echoes.is_empty()
            && world.queue.waiting().is_empty();
        let book = world.book();
        quiet && world.now() >= world.plan.calm && book.flying.is_empty() && book.standing.values().all(|r| r.is_over())
    }

    /// Who goes on, of those who do not rest.
    fn choose(&self, now: Duration) -> Option<usize> {
        let book = self.world.book();
        let places = 0..self.tasks.len();
        let awake: Vec<usize> = places
            .filter(|place| book.runs[self.tasks[*place].run].rests_until <= now)
            .collect();
        (!awake.is_empty()).then(|| self.world.dice.one_of(&awake))
    }

    /// The run goes on to its next stop, or dies, or stalls.
    fn go_on(&mut self, place: usize, now: Duration) {
        let (world, rates) = (self.world.clone(), self.world.plan.rates);
        if world.goes_wrong(rates.death) && !world.is_spared(self.tasks[place].run) {
            return self.die(place);
        }
        let task = &mut self.tasks[place];
        if world.goes_wrong(rates.stall) && !world.is_spared(task.run) {
            world.note(|| format!("run {} stalls", task.run));
            world.book().runs[task.run].rests_until = now + world.dice.between(Duration::ZERO, 3 * MINUTE);
            return;
        }
        world.book().steps += 1;
        if let Poll::Ready(done) = task.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            self.tasks_end(place, done);
        }
        if world.dice.per_mille(300) {
            world.clock.advance(world.dice.between(Duration::ZERO, SECOND / 2));
        }
    }

    /// Nobody can go on: time passes until somebody can.
    fn pass_time(&mut self, now: Duration) {
        let world = &self.world;
        let book = world.book();
        let rests = self.tasks.iter().flat_map(|task| {
            let entry = &book.runs[task.run];
            [Some(entry.rests_until), (!entry.outlived).then_some(entry.ends)]
        });
        let flying = book.flying.iter().map(|flying| flying.at);
        let flying = flying.chain(self.echoes.iter().map(|(at, _)| *at)).map(Some);
        let due = world.queue.next_due().map(|due| {
            let backlog = world.plan.backlog;
            if backlog.covers(due.max(now)) {
                backlog.ends()
            } else {
                due
            }
        });
        let others = [due, self.deeds.last().map(|(at, _)| *at), Some(self.next_sweep)];
        let next = rests.chain(flying).chain(others).flatten().filter(|at| *at > now).min();
        drop(book);
        // What is due already has only been overlooked by the dice.
        let overlooked = due.is_some_and(|due| due <= now);
        let next = if overlooked {
            now + SECOND / 10
        } else {
            next.unwrap_or(now + MINUTE)
        };
        world.clock.advance(next - now);
    }
}
