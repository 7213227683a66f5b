//! What a starter can start: a closed set, one file a kind.

pub mod rds_copy;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use rds_copy::{CopyRequest, CopySettings, RdsCopy, RdsJobs, Tags};

use crate::target::Target;

/// Long work, complete: with the wait's target it says everything that is needed to start it, again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Job {
    /// The copy of an RDS snapshot; the target is the copy.
    RdsCopy(Box<RdsCopy>),
}

impl Job {
    /// The word for its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RdsCopy(_) => "rds-copy",
        }
    }
}

/// What an attempt to start a job came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It runs, or ran before: the target is this job's.
    Started,
    /// Not now: throttled, too many copies in progress, the source not yet available, no answer. The next pass tries
    /// again.
    Later(String),
    /// Never: the service refuses it for good, and the target is not there or is something else.
    Refused(String),
}

/// Why a request could not be made into a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// The request is wrong; the sentence names the field and what it takes.
    #[error("{0}")]
    Bad(String),
    /// Nobody wants such a copy: its source is a copy itself.
    #[error("{0}")]
    Unwanted(String),
    /// Its source could not be looked at this time; the same request may be tried again.
    #[error("{0}")]
    Later(String),
}

/// The port to whatever does the work.
#[async_trait]
pub trait Jobs: Send + Sync + std::fmt::Debug {
    /// Makes a request for a copy complete: the target that the copy will be, and the job. The target depends on the
    /// request and its source alone, never on today.
    ///
    /// # Errors
    /// [`PrepareError`].
    async fn prepare(&self, request: &CopyRequest) -> Result<(Target, Job), PrepareError>;

    /// Starts the job, idempotent by the target's own name. It never fails: what went wrong is part of the answer.
    async fn start(&self, job: &Job, target: &Target) -> Begun;
}
