//! Ports that say what they are told.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;

use super::held;
use crate::job::{Begun, CopyRequest, Job, Jobs, PrepareError};
use crate::notify::{Announcement, Notify, Told};
use crate::target::{Look, Seen, Target};
use crate::wait::Status;

/// The next line of a script; its last one stays.
fn next<T: Clone>(script: &Mutex<VecDeque<T>>) -> Option<T> {
    let mut script = held(script);
    if script.len() > 1 {
        script.pop_front()
    } else {
        script.front().cloned()
    }
}

/// A look that says what it is told, the last thing again and again; at first that everything is pending.
#[derive(Debug, Default)]
pub struct ScriptedLook {
    hangs: AtomicBool,
    script: Mutex<VecDeque<Seen>>,
    looked: Mutex<Vec<Target>>,
}

impl ScriptedLook {
    /// Whether the coming looks get no answer at all.
    pub fn hangs(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::Relaxed);
    }

    /// What the coming looks see, one after the other; the last one stays.
    pub fn will_see(&self, seen: impl IntoIterator<Item = Seen>) {
        *held(&self.script) = seen.into_iter().collect();
    }

    /// The targets that were looked at, in order.
    #[must_use]
    pub fn looked(&self) -> Vec<Target> {
        held(&self.looked).clone()
    }
}

#[async_trait]
impl Look for ScriptedLook {
    async fn look(&self, target: &Target) -> Seen {
        held(&self.looked).push(target.clone());
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        next(&self.script).unwrap_or_else(|| Seen::Pending(Status::new("copying")))
    }
}

/// A service for jobs that says what it is told, the last thing again and again; at first it starts everything.
#[derive(Debug, Default)]
pub struct ScriptedJobs {
    prepared: Mutex<VecDeque<Result<(Target, Job), PrepareError>>>,
    script: Mutex<VecDeque<Begun>>,
    started: Mutex<Vec<Target>>,
}

impl ScriptedJobs {
    /// What the coming requests for copies turn out to be, one after the other; the last one stays. At first none can be
    /// made.
    pub fn will_prepare(&self, prepared: impl IntoIterator<Item = Result<(Target, Job), PrepareError>>) {
        *held(&self.prepared) = prepared.into_iter().collect();
    }

    /// What the coming starts come to, one after the other; the last one stays.
    pub fn will_answer(&self, begun: impl IntoIterator<Item = Begun>) {
        *held(&self.script) = begun.into_iter().collect();
    }

    /// The targets of the attempts, in order.
    #[must_use]
    pub fn attempts(&self) -> Vec<Target> {
        held(&self.started).clone()
    }
}

#[async_trait]
impl Jobs for ScriptedJobs {
    async fn prepare(&self, request: &CopyRequest) -> Result<(Target, Job), PrepareError> {
        next(&self.prepared).unwrap_or_else(|| {
            Err(PrepareError::Bad(format!(
                "nothing is copied here, not even {}",
                request.source
            )))
        })
    }

    async fn start(&self, _job: &Job, target: &Target) -> Begun {
        held(&self.started).push(target.clone());
        next(&self.script).unwrap_or(Begun::Started)
    }
}

/// A channel that says what it is told, the last thing again and again; at first it takes everything.
#[derive(Debug, Default)]
pub struct ScriptedNotify {
    hangs: AtomicBool,
    script: Mutex<VecDeque<Told>>,
    asked: Mutex<Vec<Announcement>>,
    taken: Mutex<Vec<Announcement>>,
}

impl ScriptedNotify {
    /// Whether the coming announcements are taken and never answered.
    pub fn hangs(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::Relaxed);
    }

    /// What the coming announcements come to, one after the other; the last one stays.
    pub fn will_answer(&self, told: impl IntoIterator<Item = Told>) {
        *held(&self.script) = told.into_iter().collect();
    }

    /// What it was asked to tell.
    #[must_use]
    pub fn asked(&self) -> Vec<Announcement> {
        held(&self.asked).clone()
    }

    /// What it took.
    #[must_use]
    pub fn taken(&self) -> Vec<Announcement> {
        held(&self.taken).clone()
    }
}

#[async_trait]
impl Notify for ScriptedNotify {
    async fn tell(&self, announcement: &Announcement) -> Told {
        held(&self.asked).push(announcement.clone());
        let told = next(&self.script).unwrap_or(Told::Sent);
        if told == Told::Sent {
            held(&self.taken).push(announcement.clone());
        }
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        told
    }
}
