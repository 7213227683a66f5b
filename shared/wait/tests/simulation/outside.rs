//! The ports of one run: queue, looks, jobs, channel.

use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use matsu_lock::Clock;
use matsu_wait::engine::limit;
use matsu_wait::job::{Begun, CopyRequest, Job, Jobs, PrepareError};
use matsu_wait::message::Body;
use matsu_wait::notify::{Announcement, Notify, Told};
use matsu_wait::queue::{Delivery, Outgoing, Queue, QueueError};
use matsu_wait::record;
use matsu_wait::target::{Look, Seen, Target};
use matsu_wait::wait::Status;

use crate::book::{Role, World};
use crate::plan::{Fate, MINUTE};
use crate::ports::{Ports, stop};

/// An outcome that could not be told for this long never will be.
const THREE_DAYS: SignedDuration = SignedDuration::from_hours(72);

impl Ports {
    fn queue_fails(&self) -> bool {
        self.world.goes_wrong(self.world.plan.rates.queue) && !self.world.is_spared(self.run)
    }

    fn note_sent(&self, message: &Outgoing) {
        let Ok(Body::Timer(timer)) = Body::parse(&message.body) else {
            return self.world.note(|| format!("run {} sends a request", self.run));
        };
        let now = self.world.now();
        let mut book = self.world.book();
        if book.runs[self.run].role == Role::Sweeper {
            book.sweeps(timer.seen.as_ref().unwrap_or(&timer.token).as_str(), now);
        }
        drop(book);
        self.world.note(|| {
            let (run, count, token, seen, delay) = (self.run, timer.count, &timer.token, &timer.seen, message.delay);
            format!("run {run} sends pass {count} from {token}, seen {seen:?}, after {delay:?}")
        });
    }
}

#[async_trait]
impl Queue for Ports {
    fn home(&self) -> &str {
        self.world.queue.home()
    }

    async fn send(&self, messages: Vec<Outgoing>) -> Vec<Result<(), QueueError>> {
        let too_late = self.too_late(limit::SEND);
        stop().await;
        let no_answer = || Err(QueueError::Unavailable("no answer".to_owned()));
        let mut answers = Vec::new();
        for message in messages {
            let fails = self.queue_fails();
            if fails {
                self.fault("a send is not answered");
            }
            // What is not answered may have been taken all the same.
            if !fails || self.world.dice.per_mille(500) {
                self.note_sent(&message);
                answers.extend(self.world.queue.send(vec![message]).await);
            }
            if fails {
                answers.pop();
                answers.push(no_answer());
            }
        }
        if self.heard(too_late).await {
            return answers;
        }
        answers.iter().map(|_| no_answer()).collect()
    }

    async fn receive(&self, most: usize, visibility: Duration) -> Result<Vec<Delivery>, QueueError> {
        self.world.queue.receive(most, visibility).await
    }

    async fn acknowledge(&self, deliveries: &[Delivery]) -> Result<(), QueueError> {
        stop().await;
        if self.queue_fails() {
            self.fault("an acknowledgement is lost");
            return Err(QueueError::Unavailable("no answer".to_owned()));
        }
        let acknowledged = self.world.queue.acknowledge(deliveries).await;
        stop().await;
        acknowledged
    }

    async fn bury(&self, body: &str, reason: &str) -> Result<bool, QueueError> {
        self.world
            .book()
            .break_promise(format!("a message of ours is buried: {reason}: {body}"));
        Ok(true)
    }

    async fn visibility(&self) -> Result<Duration, QueueError> {
        Ok(self.world.plan.visibility)
    }
}

#[async_trait]
impl Look for Ports {
    async fn look(&self, target: &Target) -> Seen {
        let key = record::key(target);
        let too_late = self.too_late(limit::LOOK);
        {
            let mut book = self.world.book();
            let wait = book
                .standing
                .get(&key)
                .map(|record| record.wait.id.clone())
                .unwrap_or_default();
            book.looks_for(&key, &wait, self.run);
        }
        self.world.note(|| format!("run {} looks", self.run));
        stop().await;
        let seen = self.world.seen(target);
        let heard = self.heard(too_late).await;
        self.world.book().looking.retain(|(_, looker)| *looker != self.run);
        if heard {
            seen
        } else {
            Seen::Unknown("no answer in time".to_owned())
        }
    }
}

impl World {
    fn fate(&self, target: &Target) -> Fate {
        let mut targets = self.plan.targets.iter();
        let found = targets.find(|(its, _)| its == target);
        found.expect("only targets of the plan are waited for").1
    }

    fn seen(&self, target: &Target) -> Seen {
        let now = self.now();
        let past = |moment: Option<Duration>| moment.is_some_and(|moment| moment <= now);
        let fate = self.fate(target);
        if self.plan.throttled.covers(now) && self.dice.per_mille(700) {
            return Seen::Unknown("throttled".to_owned());
        }
        if self.goes_wrong(self.plan.rates.store / 2) {
            return Seen::Denied("rds:DescribeDBSnapshots".to_owned());
        }
        if past(fate.gone) {
            Seen::Missing
        } else if past(fate.fails) {
            Seen::Failed(Status::new("failed"), "it failed".to_owned())
        } else if past(fate.ready) {
            Seen::Satisfied(Status::new("available"))
        } else {
            Seen::Pending(Status::new("creating").at(Some(10)))
        }
    }
}

#[async_trait]
impl Jobs for Ports {
    async fn prepare(&self, _request: &CopyRequest) -> Result<(Target, Job), PrepareError> {
        Err(PrepareError::Bad("no history asks for this".to_owned()))
    }

    async fn start(&self, _job: &Job, target: &Target) -> Begun {
        let too_late = self.too_late(limit::JOB);
        stop().await;
        let throttled = self.world.plan.throttled.covers(self.world.now()) && self.world.dice.per_mille(700);
        let begun = if throttled {
            Begun::Later("throttled".to_owned())
        } else if self.world.fate(target).refused {
            Begun::Refused("never".to_owned())
        } else {
            Begun::Started
        };
        if self.heard(too_late).await {
            begun
        } else {
            Begun::Later("no answer in time".to_owned())
        }
    }
}

#[async_trait]
impl Notify for Ports {
    async fn tell(&self, announcement: &Announcement) -> Told {
        let too_late = self.too_late(limit::TELL);
        stop().await;
        let (now, world) = (self.world.now(), &self.world);
        let wait = &announcement.wait;
        if world.plan.revoked.covers(now) {
            let mut book = world.book();
            book.waits.entry(wait.clone()).or_default().undeliverable = true;
            book.runs[self.run].troubled = true;
            return Told::Never("no such channel".to_owned());
        }
        let later = |why: &str| Told::Later {
            after: world.dice.per_mille(200).then_some(15 * MINUTE),
            why: why.to_owned(),
        };
        if world.plan.silent.covers(now) {
            if world.clock.now().duration_since(announcement.outcome.at) >= THREE_DAYS {
                world.book().waits.entry(wait.clone()).or_default().undeliverable = true;
            }
            return later("it does not answer");
        }
        world.note(|| {
            format!(
                "run {} tells {} of wait {}",
                self.run,
                announcement.outcome.kind.word(),
                &wait[..6]
            )
        });
        world.book().tells(wait, announcement.outcome.kind, self.run);
        if self.heard(too_late).await && !world.goes_wrong(world.plan.rates.queue) {
            return Told::Sent;
        }
        // It was taken, and nobody heard: it will be told again.
        let mut book = world.book();
        book.runs[self.run].told.retain(|told| told != wait);
        book.waits.entry(wait.clone()).or_default().unrecorded += 1;
        book.fault(self.run);
        drop(book);
        later("no answer")
    }
}
