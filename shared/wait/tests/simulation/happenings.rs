//! What comes from outside into a history, and how its runs end.

use std::time::Duration;

use futures::FutureExt;
use matsu_wait::handle::Handled;
use matsu_wait::pass::Passed;
use matsu_wait::queue::{Outgoing, Queue};
use matsu_wait::start::Started;
use matsu_wait::testing::SECOND;

use crate::history::{History, SIDE_BY_SIDE};
use crate::plan::{Deed, MINUTE};
use crate::task::{Done, begin, deliver};

impl History {
    pub(crate) fn do_what_is_due(&mut self, now: Duration) {
        while self.deeds.last().is_some_and(|(at, _)| *at <= now) {
            let Some((_, deed)) = self.deeds.pop() else { break };
            self.do_it(deed);
        }
        if self.world.plan.sweeps && self.next_sweep <= now {
            // Once nothing goes wrong, sweeps need not be frequent.
            let calm = now > self.world.plan.calm;
            self.next_sweep = now + if calm { 15 * MINUTE } else { self.world.plan.sweep_every };
            self.do_it(Deed::Sweep);
        }
    }

    pub(crate) fn do_it(&mut self, deed: Deed) {
        match deed {
            Deed::Purge => {
                self.world.note(|| "the queue is purged".to_owned());
                self.world.queue.purge();
                self.purged = true;
            }
            Deed::Duplicate => {
                let waiting = self.world.queue.waiting();
                if !waiting.is_empty() {
                    let message = self.world.dice.one_of(&waiting);
                    self.echo(&message.id, message.due, message.body);
                }
            }
            Deed::Raw(number) => {
                let target = self.world.plan.targets[number].0.to_string();
                let count = self.world.dice.one_of(&[1, 1, 3]);
                self.world
                    .note(|| format!("somebody asks for {target} by a bare message"));
                self.send(format!(r#"{{"target":{target:?},"count":{count}}}"#));
            }
            _ => self.tasks.push(begin(&self.world, &self.random, deed)),
        }
    }

    /// A message will be delivered once more than it should, at once or hours later, but not before its time.
    pub(crate) fn echo(&mut self, id: &str, due: Duration, body: String) {
        let later = MINUTE * self.world.dice.one_of(&[0, 0, 1, 60, 300]);
        let at = due.max(self.world.now()) + later;
        self.world
            .note(|| format!("message {id} will come once more at {at:?}"));
        self.world.book().duplicates += 1;
        if body.contains(r#""origin""#) {
            self.echoes.push((at, body));
        } else {
            // The queue's id of it is its identity, and only the queue can give that again.
            self.world.queue.duplicate(id);
        }
    }

    pub(crate) fn send_echoes(&mut self, now: Duration) {
        let due: Vec<_> = self.echoes.extract_if(.., |(at, _)| *at <= now).collect();
        due.into_iter().for_each(|(_, body)| self.send(body));
    }

    fn send(&self, body: String) {
        let message = Outgoing {
            body,
            delay: Duration::ZERO,
        };
        let sent = self.world.queue.send(vec![message]).now_or_never();
        assert!(sent.is_some(), "a queue in memory answers at once");
    }

    pub(crate) fn deliver(&mut self, now: Duration) {
        let plan = &self.world.plan;
        let due = self.world.queue.next_due().is_some_and(|due| due <= now);
        let busy = self.tasks.len() >= SIDE_BY_SIDE || plan.backlog.covers(now);
        if !due || busy || self.world.dice.per_mille(300) {
            return;
        }
        let received = self.world.queue.receive(1 + self.tasks.len() % 3, plan.visibility);
        let received = received.now_or_never().expect("a queue in memory answers at once");
        for delivery in received.expect("a queue in memory answers") {
            self.tasks.push(deliver(&self.world, &self.random, delivery));
        }
    }

    /// A run whose lease ends is dead, or frozen: then it goes on later, and nobody counts on it.
    pub(crate) fn end_leases(&mut self, now: Duration) {
        let world = self.world.clone();
        for place in (0..self.tasks.len()).rev() {
            let task = &self.tasks[place];
            if world.book().runs[task.run].ends > now {
                continue;
            }
            if !task.frozen {
                self.die(place);
            } else if !std::mem::replace(&mut world.book().runs[task.run].outlived, true) {
                world.book().deaths += 1;
                world.book().beyond(task.run);
                world.note(|| format!("run {} lives longer than its lease", task.run));
            }
        }
    }

    pub(crate) fn die(&mut self, place: usize) {
        let task = self.tasks.swap_remove(place);
        let mut book = self.world.book();
        book.deaths += 1;
        book.over(task.run);
        drop(book);
        self.world.note(|| format!("run {} dies", task.run));
        self.ask_again(task.request);
    }

    /// A request that was not served is delivered again.
    pub(crate) fn ask_again(&mut self, request: Option<usize>) {
        if let Some(request) = request {
            let at = self.world.now() + self.world.dice.between(SECOND, 3 * MINUTE);
            self.deeds.push((at, Deed::Ask(request)));
            self.deeds.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        }
    }

    pub(crate) fn tasks_end(&mut self, place: usize, done: Done) {
        let task = self.tasks.swap_remove(place);
        self.world.note(|| {
            let what = match &done {
                Done::Asked(_, served) => format!("{served:?}"),
                Done::Worked(handled) => format!("{handled:?}"),
                Done::Whatever => String::new(),
            };
            format!("run {} ends: {what}", task.run)
        });
        self.check_costs(task.run, &done);
        self.world.book().over(task.run);
        match done {
            Done::Asked(request, None) => self.ask_again(Some(request)),
            Done::Asked(request, Some(Started::Created { .. } | Started::Already { wait: Some(_), .. })) => {
                self.unserved[request] = false;
            }
            _ => {}
        }
    }

    /// In the normal course a pass costs one write and no read.
    pub(crate) fn check_costs(&self, run: usize, done: &Done) {
        let mut book = self.world.book();
        let entry = &book.runs[run];
        let normal = matches!(done, Done::Worked(Handled::Passed(Passed::Again))) && !entry.troubled;
        let (puts, gets) = (entry.puts, entry.gets);
        if normal && (puts, gets) != (1, 0) {
            book.break_promise(format!(
                "a pass in the normal course costs {puts} writes and {gets} reads"
            ));
        }
    }

    /// Every request was served: by a wait of its own, or by one that it shares. One that the queue held may have been
    /// purged, or become a dead letter.
    pub(crate) fn check_requests(&self) {
        let lost = self.purged || !self.world.queue.dead().is_empty();
        let mut book = self.world.book();
        let served = |origin: &String| book.accepted.contains(origin) || book.served.contains(origin);
        let requests = self.world.plan.requests.iter().zip(&self.unserved);
        let forgotten = requests
            .filter(|(request, unserved)| **unserved && !served(&request.origin))
            .map(|(request, _)| request.origin.clone())
            .next();
        if let Some(origin) = forgotten.filter(|_| !lost) {
            book.break_promise(format!("the request of {origin} is forgotten"));
        }
    }
}
