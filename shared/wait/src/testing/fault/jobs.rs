//! Jobs that fail to start as told.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Faults, Plan, never};
use crate::job::{Begun, CopyRequest, Job, Jobs, PrepareError};
use crate::target::Target;

/// A fault of one attempt to prepare or start a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobFault {
    /// Nothing is started, and there is no answer this time.
    Lost,
    /// The job is started, and there is no answer this time.
    Unanswered,
    /// Nothing is started, and there is never an answer.
    Hangs,
    /// The job is started, and there is never an answer.
    HangsAfter,
    /// Nothing is started: too many requests, or too many jobs at a time.
    Throttled,
    /// Nothing is started, and nothing ever will be.
    Denied,
}

/// Jobs whose coming starts fail as told, one after the other; then they are the ones behind.
#[derive(Debug)]
pub struct FaultyJobs {
    inner: Arc<dyn Jobs>,
    preparations: Plan<JobFault>,
    starts: Plan<JobFault>,
}

impl FaultyJobs {
    /// Jobs in front of `inner` without faults yet.
    #[must_use]
    pub fn in_front_of(inner: Arc<dyn Jobs>) -> Self {
        Self {
            inner,
            preparations: Plan::default(),
            starts: Plan::default(),
        }
    }

    /// What happens to the coming preparations, which start nothing.
    pub fn preparations(&self, faults: impl Faults<JobFault>) {
        self.preparations.set(faults);
    }

    /// What happens to the coming starts.
    pub fn starts(&self, faults: impl Faults<JobFault>) {
        self.starts.set(faults);
    }
}

#[async_trait]
impl Jobs for FaultyJobs {
    async fn prepare(&self, request: &CopyRequest) -> Result<(Target, Job), PrepareError> {
        match self.preparations.next() {
            None => self.inner.prepare(request).await,
            Some(JobFault::Lost | JobFault::Unanswered) => Err(PrepareError::Later("no answer".to_owned())),
            Some(JobFault::Throttled) => Err(PrepareError::Later("throttled".to_owned())),
            Some(JobFault::Hangs | JobFault::HangsAfter) => never().await,
            Some(JobFault::Denied) => Err(PrepareError::Bad("the source cannot be copied".to_owned())),
        }
    }

    async fn start(&self, job: &Job, target: &Target) -> Begun {
        match self.starts.next() {
            None => self.inner.start(job, target).await,
            Some(JobFault::Lost) => Begun::Later("no answer".to_owned()),
            Some(JobFault::Unanswered) => {
                self.inner.start(job, target).await;
                Begun::Later("no answer".to_owned())
            }
            Some(JobFault::Hangs) => never().await,
            Some(JobFault::HangsAfter) => {
                self.inner.start(job, target).await;
                never().await
            }
            Some(JobFault::Throttled) => Begun::Later("throttled".to_owned()),
            Some(JobFault::Denied) => Begun::Refused("starting it is denied".to_owned()),
        }
    }
}
