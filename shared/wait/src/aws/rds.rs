//! Snapshots in RDS. Those of instances and those of clusters have two APIs of one shape: what they have in common is
//! here, and each has a file for its own words.

mod cluster;
mod instance;

use aws_sdk_rds::primitives::DateTime;
use aws_sdk_rds::types::{Filter, Tag};
use jiff::Timestamp;

use super::{Aws, Fault};

/// The most ids that one request asks for: an answer holds no more snapshots (`MaxRecords`).
pub(crate) const MOST_IDS: usize = 100;

const MOST_RECORDS: i32 = 100;

/// What a snapshot is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Family {
    /// An instance.
    #[default]
    Instance,
    /// A cluster.
    Cluster,
}

impl Family {
    /// The word in ARNs.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::Instance => "snapshot",
            Self::Cluster => "cluster-snapshot",
        }
    }

    /// What the API calls such a snapshot, in its actions and parameters.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Instance => "DBSnapshot",
            Self::Cluster => "DBClusterSnapshot",
        }
    }

    /// The longest name of a copy, in characters (`CopyDBSnapshot`, `CopyDBClusterSnapshot`).
    pub(crate) fn longest_name(self) -> usize {
        match self {
            Self::Instance => 255,
            Self::Cluster => 63,
        }
    }
}

/// Which snapshots are asked for, in one region.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sought<'a> {
    /// One of our own; one that a service made needs its type beside it.
    One { id: &'a str, made_by: Option<&'static str> },
    /// Up to [`MOST_IDS`] of our own, all made by the same; ids in lower case, as RDS keeps them, because values of
    /// filters are compared by letter.
    Several {
        ids: &'a [String],
        made_by: Option<&'static str>,
    },
    /// One that another account shares with us.
    Shared { arn: &'a str },
}

/// What RDS tells of a snapshot.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    /// Its id; the ARN where it is shared with us.
    pub(crate) id: String,
    pub(crate) status: Option<String>,
    pub(crate) percent: Option<i32>,
    /// The instance or cluster that it is of.
    pub(crate) of: Option<String>,
    /// What it was copied from, where RDS tells: of instances for copies from other regions and accounts only, of
    /// clusters for every copy.
    pub(crate) source: Option<String>,
    /// When it was taken.
    pub(crate) created: Option<Timestamp>,
    /// When the first one was taken: a copy keeps it. Not told of clusters.
    pub(crate) original: Option<Timestamp>,
    pub(crate) tags: Vec<Tag>,
}

impl Described {
    /// When the snapshot was first made.
    pub(crate) fn first_made(&self) -> Option<Timestamp> {
        self.original.or(self.created)
    }
}

/// A copy to be ordered, in the region that it will be in.
#[derive(Debug, Clone)]
pub(crate) struct Order<'a> {
    /// The id, or the ARN where it is elsewhere.
    pub(crate) source: &'a str,
    pub(crate) target: &'a str,
    pub(crate) kms_key: Option<String>,
    pub(crate) tags: Option<Vec<Tag>>,
    pub(crate) pre_signed_url: Option<String>,
}

impl Aws {
    /// Describes the snapshots that are sought, all pages; in no order.
    pub(crate) async fn describe_snapshots(
        &self,
        family: Family,
        region: &str,
        sought: Sought<'_>,
    ) -> Result<Vec<Described>, Fault> {
        let client = self.rds(region);
        match family {
            Family::Instance => instance::describe(&client, sought).await,
            Family::Cluster => cluster::describe(&client, sought).await,
        }
    }

    /// Orders a copy in `region`.
    pub(crate) async fn copy_snapshot(&self, family: Family, region: &str, order: Order<'_>) -> Result<(), Fault> {
        let client = self.rds(region);
        match family {
            Family::Instance => instance::copy(&client, order).await,
            Family::Cluster => cluster::copy(&client, order).await,
        }
    }
}

fn filter(name: &str, ids: &[String]) -> Filter {
    Filter::builder().name(name).set_values(Some(ids.to_vec())).build()
}

fn time(at: DateTime) -> Option<Timestamp> {
    Timestamp::new(at.secs(), i32::try_from(at.subsec_nanos()).ok()?).ok()
}
