//! One look at a snapshot: the request, and what its answer means.

use async_trait::async_trait;
use aws_sdk_rds::types::DbSnapshot;

use super::RdsSnapshot;
use crate::aws::{Aws, Fault, FaultKind};
use crate::target::{Kind, Seen, Targets};
use crate::wait::Status;

#[async_trait]
impl Kind for RdsSnapshot {
    fn word(&self) -> &'static str {
        "rds-snapshot"
    }

    fn key(&self) -> String {
        format!("rds-snapshot={}", self.arn().to_ascii_lowercase())
    }

    fn region(&self) -> Option<&str> {
        Some(&self.region)
    }

    fn account(&self) -> Option<&str> {
        Some(&self.account)
    }

    /// Looks at it in its own region.
    async fn look(&self, from: &Targets) -> Seen {
        let aws = match from.aws(self) {
            Ok(aws) => aws,
            Err(denied) => return denied,
        };
        let own = from.here.own_account(aws).await.ok();
        match self.describe(aws, own.as_deref()).await {
            Ok(Some(found)) => classify(found.status(), found.percent_progress()),
            Ok(None) => Seen::Missing,
            Err(fault) => unseen(&self.arn(), &fault),
        }
    }
}

impl RdsSnapshot {
    /// What RDS tells of it, in its own region; none: it is surely not there.
    ///
    /// One of another account is shared with us and goes by its ARN; one of our own goes by its bare id, and one that
    /// a service made needs its type beside it (`DescribeDBSnapshots`, `DBSnapshotIdentifier`).
    pub(crate) async fn describe(&self, aws: &Aws, own: Option<&str>) -> Result<Option<DbSnapshot>, Fault> {
        let request = aws.rds(&self.region).describe_db_snapshots();
        let request = if own == Some(self.account.as_str()) {
            request
                .db_snapshot_identifier(&self.id)
                .set_snapshot_type(self.made_by().map(str::to_owned))
        } else {
            request.db_snapshot_identifier(self.arn()).include_shared(true)
        };
        match request.send().await {
            Ok(answer) => {
                let mut found = answer.db_snapshots.unwrap_or_default();
                found.retain(|s| s.db_snapshot_identifier().is_some_and(|id| self.is(id)));
                Ok(found.pop())
            }
            Err(error) => match Fault::of(&error) {
                fault if fault.stem() == Some("DBSnapshotNotFound") => Ok(None),
                fault => Err(fault),
            },
        }
    }

    fn made_by(&self) -> Option<&'static str> {
        let (maker, _) = self.id.split_once(':')?;
        match maker.to_ascii_lowercase().as_str() {
            "rds" => Some("automated"),
            "awsbackup" => Some("awsbackup"),
            _ => None,
        }
    }
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

fn unseen(arn: &str, fault: &Fault) -> Seen {
    match fault.kind {
        // RDS gives a reason with every refusal; one without comes from something on the way.
        FaultKind::Denied if fault.code.is_some() => {
            Seen::Denied(format!("{fault} (allow rds:DescribeDBSnapshots on {arn})"))
        }
        _ => Seen::Unknown(fault.to_string()),
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
        let denied = unseen("arn:a", &fault(FaultKind::Denied, Some("AccessDenied")));
        assert!(matches!(denied, Seen::Denied(why) if why.contains("rds:DescribeDBSnapshots")));
        for fault in [
            fault(FaultKind::Denied, None),
            fault(FaultKind::Passing, Some("Throttling")),
            fault(FaultKind::Credentials, Some("ExpiredToken")),
            fault(FaultKind::Other, Some("InvalidParameterValue")),
        ] {
            assert!(matches!(unseen("arn:a", &fault), Seen::Unknown(_)), "{fault:?}");
        }
    }
}
