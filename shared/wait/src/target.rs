//! What can be waited for: a closed set, one file a kind. Each kind has a probe (I/O) and a pure classification.
//!
//! A new kind is one file here, a variant of [`Target`] with its arm, a line in each table of `text`, and its cases.

pub mod file;
pub mod http;
pub mod rds_snapshot;
pub mod s3_object;
mod text;

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;
use serde::{Deserialize, Serialize};

pub use file::File;
pub use http::Http;
pub use rds_snapshot::RdsSnapshot;
pub use s3_object::S3Object;
pub use text::BadTarget;

use self::s3_object::Regions;
use crate::aws::{Aws, Fault};
use crate::wait::Status;

/// Something to wait for, complete: nothing in it depends on where it is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// A snapshot of an RDS instance, satisfied when available.
    RdsSnapshot(RdsSnapshot),
    /// A snapshot of an RDS cluster, satisfied when available.
    #[serde(deserialize_with = "rds_snapshot::of_cluster")]
    RdsClusterSnapshot(RdsSnapshot),
    /// An S3 object, satisfied when it exists, or is gone.
    S3Object(S3Object),
    /// An answer over HTTP, satisfied when it is the expected one.
    Http(Box<Http>),
    /// A file of this machine, satisfied when it exists, or is gone.
    File(File),
}

/// The condition on something that can be there or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// It is there.
    #[default]
    Exists,
    /// It is gone.
    Deleted,
}

impl Until {
    /// The word of the interface.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::Deleted => "deleted",
        }
    }

    /// What it means that a thing is there, or is surely not.
    fn seen(self, there: bool) -> Seen {
        match (self, there) {
            (Self::Exists, true) => Seen::Satisfied(Status::new("exists")),
            (Self::Exists, false) => Seen::Pending(Status::new("absent")),
            (Self::Deleted, true) => Seen::Pending(Status::new("exists")),
            (Self::Deleted, false) => Seen::Satisfied(Status::new("deleted")),
        }
    }
}

/// Where a short form is read: it takes the region and account of whoever reads it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Here {
    /// Region, such as `eu-central-1`.
    pub region: Option<String>,
    /// Account, twelve digits.
    pub account: Option<String>,
}

impl Here {
    /// The account of whoever reads; STS is asked where nobody said it.
    pub(crate) async fn own_account(&self, aws: &Aws) -> Result<String, Fault> {
        match &self.account {
            Some(account) => Ok(account.clone()),
            None => aws.account().await,
        }
    }
}

/// What one look at a target saw, already in our terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It is what was waited for.
    Satisfied(Status),
    /// It is there, or may still come; not yet what was waited for.
    Pending(Status),
    /// It will never be what was waited for; the text says why.
    Failed(Status, String),
    /// The service is sure that it is not there, and it should be.
    Missing,
    /// Looking is not allowed, or not possible as things are set up; the text names the missing permission or setting.
    Denied(String),
    /// No answer this time: throttled, time-out, 5xx, expired credentials. A pass like any other.
    Unknown(String),
}

/// The port to whatever is waited for.
#[async_trait]
pub trait Look: Send + Sync + std::fmt::Debug {
    /// Looks once. It never fails: what went wrong is part of what was seen.
    async fn look(&self, target: &Target) -> Seen;

    /// Looks once at each; the answers stand in the order of the targets.
    async fn look_all(&self, targets: &[Target]) -> Vec<Seen> {
        join_all(targets.iter().map(|target| self.look(target))).await
    }

    /// What targets have in common that one request can look at together; none: it is looked at by itself.
    fn together(&self, _target: &Target) -> Option<String> {
        None
    }
}

/// Looks at targets where they really are.
#[derive(Debug)]
pub struct Targets {
    aws: Option<Arc<Aws>>,
    here: Here,
    regions: Regions,
    reach: Option<http::Reach>,
}

impl Targets {
    /// Without `aws` only files can be looked at. `here` tells our own account, where it is known; otherwise STS is
    /// asked on first need.
    #[must_use]
    pub fn new(aws: Option<Arc<Aws>>, here: Here) -> Self {
        Self {
            aws,
            here,
            regions: Regions::default(),
            reach: None,
        }
    }

    /// The same, and what `http` targets are looked at with.
    #[must_use]
    pub fn reaching(self, reach: http::Reach) -> Self {
        Self {
            reach: Some(reach),
            ..self
        }
    }

    /// What is seen of `target`, which is in AWS, without clients for it.
    fn without_aws(target: &impl std::fmt::Display) -> Seen {
        Seen::Denied(format!(
            "{target} is in AWS, and nothing here is set up for AWS: set a region and credentials"
        ))
    }
}

#[async_trait]
impl Look for Targets {
    async fn look(&self, target: &Target) -> Seen {
        target.as_kind().look(self).await
    }

    /// Snapshots are looked at with as few requests as RDS takes, everything else by itself. What goes wrong with one
    /// does not touch the others.
    async fn look_all(&self, targets: &[Target]) -> Vec<Seen> {
        let mut snapshots = Vec::new();
        let mut others = Vec::new();
        for (place, target) in targets.iter().enumerate() {
            match target.rds_snapshot() {
                Some(snapshot) => snapshots.push((place, snapshot)),
                None => others.push(async move { (place, self.look(target).await) }),
            }
        }
        let (mut seen, others) = futures::join!(rds_snapshot::look_all(snapshots, self), join_all(others));
        seen.extend(others);
        seen.sort_by_key(|(place, _)| *place);
        seen.into_iter().map(|(_, seen)| seen).collect()
    }

    fn together(&self, target: &Target) -> Option<String> {
        self.aws.as_ref()?;
        target.rds_snapshot()?.together(&self.here)
    }
}

/// What every kind of target tells of itself; `Display` is the string that people type for it.
#[async_trait]
trait Kind: std::fmt::Display + Send + Sync {
    /// The word for the kind.
    fn word(&self) -> &'static str;

    /// Everything that changes the meaning, in one text that begins with the word.
    fn key(&self) -> String;

    /// The condition, for the kinds that have one.
    fn until(&self) -> Option<Until> {
        None
    }

    /// The region that holds it, where it has one.
    fn region(&self) -> Option<&str> {
        None
    }

    /// The account that holds it, where it is known.
    fn account(&self) -> Option<&str> {
        None
    }

    /// Looks at it once, from where `from` is.
    async fn look(&self, from: &Targets) -> Seen;
}

impl Target {
    fn as_kind(&self) -> &dyn Kind {
        match self {
            Self::RdsSnapshot(t) | Self::RdsClusterSnapshot(t) => t,
            Self::S3Object(t) => t,
            Self::Http(t) => &**t,
            Self::File(t) => t,
        }
    }

    /// The snapshot that it is, if it is one, of an instance or a cluster.
    #[must_use]
    pub fn rds_snapshot(&self) -> Option<&RdsSnapshot> {
        match self {
            Self::RdsSnapshot(snapshot) | Self::RdsClusterSnapshot(snapshot) => Some(snapshot),
            _ => None,
        }
    }

    /// The word for its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.as_kind().word()
    }

    /// Everything that changes the meaning, in one text: two targets are the same exactly if their keys are.
    #[must_use]
    pub fn key(&self) -> String {
        self.as_kind().key()
    }

    /// The same without anything in it that must not be shown.
    #[must_use]
    pub fn shown(&self) -> Self {
        match self {
            Self::Http(t) => Self::Http(Box::new(t.shown())),
            other => other.clone(),
        }
    }

    /// The condition, for the kinds that have one.
    #[must_use]
    pub fn until(&self) -> Option<Until> {
        self.as_kind().until()
    }

    /// The region that holds it, where it has one.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.as_kind().region()
    }

    /// The account that holds it, where it is known.
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        self.as_kind().account()
    }
}

/// The string that people type for it.
impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_kind().fmt(f)
    }
}
