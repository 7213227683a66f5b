//! One look at a snapshot: the request, and what its answer means.

use async_trait::async_trait;

use super::RdsSnapshot;
use crate::aws::rds::{Described, Sought};
use crate::aws::{Aws, Family, Fault, FaultKind};
use crate::target::{Kind, Seen, Targets};
use crate::wait::Status;

#[async_trait]
impl Kind for RdsSnapshot {
    fn word(&self) -> &'static str {
        match self.family {
            Family::Instance => "rds-snapshot",
            Family::Cluster => "rds-cluster-snapshot",
        }
    }

    fn key(&self) -> String {
        format!("{}={}", self.word(), self.arn().to_ascii_lowercase())
    }

    fn region(&self) -> Option<&str> {
        Some(&self.region)
    }

    fn account(&self) -> Option<&str> {
        Some(&self.account)
    }

    /// Looks at it in its own region.
    async fn look(&self, from: &Targets) -> Seen {
        let Some(aws) = from.aws.as_deref() else {
            return Targets::without_aws(self);
        };
        let own = from.here.own_account(aws).await.ok();
        match self.describe(aws, own.as_deref()).await {
            Ok(found) => seen(found.as_ref()),
            Err(fault) => self.unseen(&fault),
        }
    }
}

impl RdsSnapshot {
    /// What RDS tells of it, in its own region; none: it is surely not there.
    ///
    /// One of another account is shared with us and goes by its ARN; one of our own goes by its bare id, and one that
    /// a service made needs its type beside it (`DescribeDBSnapshots`, `DBSnapshotIdentifier`; of clusters likewise).
    pub(crate) async fn describe(&self, aws: &Aws, own: Option<&str>) -> Result<Option<Described>, Fault> {
        let arn = self.arn();
        let sought = if own == Some(self.account.as_str()) {
            Sought::One {
                id: &self.id,
                made_by: self.made_by(),
            }
        } else {
            Sought::Shared { arn: &arn }
        };
        match aws.describe_snapshots(self.family, &self.region, sought).await {
            Ok(found) => Ok(found.into_iter().find(|found| self.is(&found.id))),
            Err(fault) if matches!(fault.stem(), Some("DBSnapshotNotFound" | "DBClusterSnapshotNotFound")) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// What a look that failed has seen.
    pub(super) fn unseen(&self, fault: &Fault) -> Seen {
        match fault.kind {
            // RDS gives a reason with every refusal; one without comes from something on the way.
            FaultKind::Denied if fault.code.is_some() => Seen::Denied(format!("{fault} ({})", self.allow_describing())),
            _ => Seen::Unknown(fault.to_string()),
        }
    }

    /// What whoever may not describe it is to allow.
    pub(crate) fn allow_describing(&self) -> String {
        format!("allow rds:Describe{}s on {self}", self.family.noun())
    }

    /// The type of those that a service made, as the API calls it.
    pub(super) fn made_by(&self) -> Option<&'static str> {
        let (maker, _) = self.id.split_once(':')?;
        match maker.to_ascii_lowercase().as_str() {
            "rds" => Some("automated"),
            "awsbackup" => Some("awsbackup"),
            _ => None,
        }
    }
}

/// What it means that RDS tells this, or nothing.
pub(super) fn seen(found: Option<&Described>) -> Seen {
    found.map_or(Seen::Missing, |found| classify(found.status.as_deref(), found.percent))
}

/// What a status means: only `available` is the end, whatever the percentage says, and an unknown word is not.
fn classify(status: Option<&str>, percent: Option<i32>) -> Seen {
    let Some(word) = status.map(str::trim).filter(|word| !word.is_empty()) else {
        return Seen::Unknown("RDS told no status".to_owned());
    };
    let percent = percent.map(|p| u8::try_from(p.clamp(0, 100)).unwrap_or_default());
    let status = Status::new(word);
    match word.to_ascii_lowercase().as_str() {
        "available" => Seen::Satisfied(status.at(Some(100))),
        "pending" | "creating" | "copying" | "modifying" | "backing-up" => Seen::Pending(status.at(percent)),
        "failed" | "error" | "deleting" | "deleted" | "cancelled" | "canceled" => {
            Seen::Failed(status.at(percent), format!("the snapshot is {word}"))
        }
        other if other.starts_with("incompatible") => {
            Seen::Failed(status.at(percent), format!("the snapshot is {word}"))
        }
        _ => {
            tracing::warn!(
                status = word,
                "a snapshot status that this release does not know: waiting on"
            );
            Seen::Pending(status.at(percent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_available_completes_whatever_the_percentage_says() {
        for word in [
            "pending",
            "creating",
            "copying",
            "modifying",
            "backing-up",
            "Copying",
            "some-new-state",
        ] {
            for percent in [None, Some(0), Some(55), Some(100)] {
                let seen = classify(Some(word), percent);
                let shown = percent.map(|p| u8::try_from(p).unwrap());
                assert_eq!(seen, Seen::Pending(Status::new(word).at(shown)));
            }
        }
        for word in ["available", "Available", " AVAILABLE "] {
            assert!(matches!(classify(Some(word), Some(0)), Seen::Satisfied(s) if s.progress == Some(100)));
        }
    }

    #[test]
    fn a_status_without_return_fails_in_any_case_of_letters() {
        for word in [
            "failed",
            "FAILED",
            "error",
            "deleting",
            "deleted",
            "incompatible-restore",
            "Incompatible-Network",
            "CANCELED",
            "cancelled",
        ] {
            let seen = classify(Some(word), Some(-3));
            assert!(
                matches!(&seen, Seen::Failed(s, why) if why.contains(word) && s.progress == Some(0)),
                "{seen:?}"
            );
        }
    }

    #[test]
    fn no_status_is_no_answer() {
        for none in [None, Some(""), Some(" ")] {
            assert!(matches!(classify(none, Some(100)), Seen::Unknown(_)));
        }
    }

    #[test]
    fn a_fault_never_says_anything_about_the_snapshot() {
        let fault = |kind, code: Option<&str>| Fault {
            kind,
            code: code.map(str::to_owned),
            status: Some(403),
            message: "words".to_owned(),
        };
        let snapshot = RdsSnapshot::from_arn("arn:aws:rds:us-east-1:123456789012:snapshot:a").unwrap();
        let denied = snapshot.unseen(&fault(FaultKind::Denied, Some("AccessDenied")));
        assert!(matches!(denied, Seen::Denied(why) if why.contains("rds:DescribeDBSnapshots")));
        for fault in [
            fault(FaultKind::Denied, None),
            fault(FaultKind::Passing, Some("Throttling")),
            fault(FaultKind::Credentials, Some("ExpiredToken")),
            fault(FaultKind::Other, Some("InvalidParameterValue")),
        ] {
            assert!(matches!(snapshot.unseen(&fault), Seen::Unknown(_)), "{fault:?}");
        }
    }
}
