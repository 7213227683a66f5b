//! The request for a copy, and what its refusals mean.
//!
//! The copy's own name makes the start idempotent: *already exists* is success for a copy of the same snapshot, and
//! only for that. A refusal for good counts only if a look does not find the copy, because the request before this one
//! may have succeeded without anybody hearing of it.

use aws_sdk_rds::types::Tag;
use jiff::Timestamp;

use super::{RdsCopy, Tags, is_reserved, name, presign};
use crate::aws::rds::{Described, Order};
use crate::aws::{Aws, Family, Fault, FaultKind};
use crate::job::Begun;
use crate::target::RdsSnapshot;

/// One copy to be started.
pub(super) struct Copying<'a> {
    pub(super) aws: &'a Aws,
    pub(super) copy: &'a RdsCopy,
    pub(super) source: RdsSnapshot,
    pub(super) target: &'a RdsSnapshot,
}

/// What a refusal of the copy means.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Refusal {
    /// Something has the copy's name already.
    Exists(String),
    /// It may be different in a while.
    Later(String),
    /// It will be the same tomorrow.
    Never(String),
}

impl Copying<'_> {
    /// Asks RDS in the copy's region.
    pub(super) async fn begin(&self) -> Begun {
        let arn = self.source.arn();
        let order = match self.order(&arn).await {
            Ok(order) => order,
            Err(fault) => return Begun::Later(fault.to_string()),
        };
        let target = self.target;
        let Err(fault) = self.aws.copy_snapshot(target.family, &target.region, order).await else {
            return Begun::Started;
        };
        match refusal(&fault, self.copy, &self.source, self.target) {
            Refusal::Later(why) => Begun::Later(why),
            Refusal::Never(why) => self.settle(why, Begun::Refused).await,
            Refusal::Exists(why) => self.settle(why, Begun::Later).await,
        }
    }

    async fn order<'a>(&'a self, arn: &'a str) -> Result<Order<'a>, Fault> {
        let abroad = self.source.region != self.target.region;
        let source = if abroad || self.source.account != self.target.account {
            arn
        } else {
            &self.source.id
        };
        Ok(Order {
            source,
            target: &self.target.id,
            kms_key: self.copy.kms_key.clone(),
            tags: self.tags().await?,
            pre_signed_url: if abroad { Some(self.signed(arn).await?) } else { None },
        })
    }

    /// The signed request by which the source's region lets the snapshot go.
    async fn signed(&self, arn: &str) -> Result<String, Fault> {
        let noun = self.source.family.noun();
        let (action, source, target) = (
            format!("Copy{noun}"),
            format!("Source{noun}Identifier"),
            format!("Target{noun}Identifier"),
        );
        let mut parameters = vec![
            ("Action", action.as_str()),
            ("Version", "2014-10-31"),
            (&source, arn),
            (&target, &self.target.id),
            ("DestinationRegion", &self.target.region),
        ];
        if let Some(key) = &self.copy.kms_key {
            parameters.push(("KmsKeyId", key));
        }
        presign::url(self.aws, &self.source.region, &parameters).await
    }

    /// The tags to set, none where there are none.
    async fn tags(&self) -> Result<Option<Vec<Tag>>, Fault> {
        let tags: Vec<Tag> = match &self.copy.tags {
            Tags::None => return Ok(None),
            Tags::These(tags) => tags
                .iter()
                .map(|(key, value)| Tag::builder().key(key).value(value).build())
                .collect(),
            // Not by `CopyTags`: that fails as a whole where the source has a reserved tag.
            Tags::Copy => match self.source.describe(self.aws, Some(&self.target.account)).await {
                Ok(found) => found.map(|found| found.tags).unwrap_or_default(),
                Err(fault) if fault.may_pass() => return Err(fault),
                Err(fault) => {
                    tracing::warn!(source = %self.source, %fault, "the source's tags cannot be read: copying without");
                    Vec::new()
                }
            },
        };
        let tags: Vec<Tag> = tags
            .into_iter()
            .filter(|tag| !tag.key().is_some_and(is_reserved))
            .collect();
        Ok((!tags.is_empty()).then_some(tags))
    }

    /// Looks whether the copy is there after all; `absent` says what `why` comes to where it is not.
    async fn settle(&self, why: String, absent: fn(String) -> Begun) -> Begun {
        let found = match self.target.describe(self.aws, Some(&self.target.account)).await {
            Ok(Some(found)) => found,
            Ok(None) => return absent(why),
            Err(fault) => {
                return Begun::Later(format!(
                    "{why} (whether {} is there is not known: {fault})",
                    self.target
                ));
            }
        };
        match self.evidence().await {
            Ok(evidence) if evidence.is_copied_by(&found) => Begun::Started,
            Ok(_) => Begun::Refused(format!(
                "{} exists and is not a copy of {} ({why})",
                self.target, self.source
            )),
            Err(fault) => Begun::Later(format!("{why} ({} could not be looked at: {fault})", self.source)),
        }
    }

    /// What is known of the source, and asked for now where the job does not know it yet.
    async fn evidence(&self) -> Result<Evidence<'_>, Fault> {
        let mut evidence = Evidence {
            source: &self.source,
            nearby: self.source.region == self.target.region,
            created: self.copy.source_created,
            of: self
                .copy
                .source_instance
                .clone()
                .or_else(|| self.copy.source_cluster.clone()),
        };
        if evidence.created.is_none() || evidence.of.is_none() {
            match self.source.describe(self.aws, Some(&self.target.account)).await {
                Ok(Some(found)) => {
                    evidence.created = evidence.created.or_else(|| found.first_made());
                    evidence.of = evidence.of.or(found.of);
                }
                Err(fault) if fault.may_pass() => return Err(fault),
                Ok(None) | Err(_) => {}
            }
        }
        Ok(evidence)
    }
}

/// What tells a copy of one source from anything else.
struct Evidence<'a> {
    source: &'a RdsSnapshot,
    nearby: bool,
    created: Option<Timestamp>,
    /// The instance or cluster that the source is of.
    of: Option<String>,
}

impl Evidence<'_> {
    /// Whether nothing contradicts and something confirms that `found` is a copy of the source. Of instances RDS names
    /// the source of copies from other regions and accounts only, but the time of the first snapshot; of clusters it
    /// tells no such time, and a copy is at least not older than its source.
    fn is_copied_by(&self, found: &Described) -> bool {
        let named = found.source.as_deref().map(|name| {
            let bare = !name.starts_with("arn:");
            self.source.is(name) && (self.nearby || !bare)
        });
        let timed = match (found.original, self.created) {
            (Some(copied), Some(made)) => Some(copied == made),
            _ => None,
        };
        let older = match (self.source.family, found.created, self.created) {
            (Family::Cluster, Some(copied), Some(made)) => copied < made,
            _ => false,
        };
        let of_the_same = found.of.as_deref().is_some_and(|of| {
            let automated = || self.source.id.split_once(':').and_then(|(_, own)| name::origin_of(own));
            let source = self.of.as_deref().or_else(automated);
            source.is_some_and(|source| source.eq_ignore_ascii_case(of))
        });
        let contradicted = named == Some(false) || timed == Some(false) || older;
        !contradicted && (named == Some(true) || timed == Some(true) || of_the_same)
    }
}

/// Tells what a refusal means, in words that name what a person can set.
fn refusal(fault: &Fault, copy: &RdsCopy, source: &RdsSnapshot, target: &RdsSnapshot) -> Refusal {
    if fault.may_pass() {
        return Refusal::Later(fault.to_string());
    }
    if fault.kind == FaultKind::Denied {
        let action = source.family.noun();
        return Refusal::Never(format!("{fault} (allow rds:Copy{action} on {source} and {target})"));
    }
    let words = fault.message.to_ascii_lowercase();
    match fault.stem() {
        Some("DBSnapshotAlreadyExists" | "DBClusterSnapshotAlreadyExists") => Refusal::Exists(fault.to_string()),
        // The source is not yet available: its event can come before that.
        Some("InvalidDBSnapshotState" | "InvalidDBClusterSnapshotState" | "InvalidDBClusterState") => {
            Refusal::Later(fault.to_string())
        }
        Some("SnapshotQuotaExceeded") if is_about_copies_in_progress(&words) => Refusal::Later(fault.to_string()),
        Some("SnapshotQuotaExceeded") => Refusal::Never(format!(
            "{fault} (delete manual snapshots in {}, or have the quota raised)",
            target.region
        )),
        _ if words.contains("kms") || words.contains("encrypt") => Refusal::Never(about_the_key(fault, copy, target)),
        _ => Refusal::Never(fault.to_string()),
    }
}

/// One code has two meanings: `Cannot copy more than 20 snapshots across regions` ends by itself,
/// `Cannot create more than 100 manual snapshots` does not.
fn is_about_copies_in_progress(words: &str) -> bool {
    ["progress", "across regions", "cannot copy more than"]
        .iter()
        .any(|known| words.contains(known))
}

fn about_the_key(fault: &Fault, copy: &RdsCopy, target: &RdsSnapshot) -> String {
    let region = &target.region;
    match &copy.kms_key {
        Some(key) => format!(
            "{fault} (the KMS key for the copy is {key:?}: it takes an enabled key of {region} that this role may use, and the source's key must allow the copy, too)"
        ),
        None => format!(
            "{fault} (no KMS key is set for the copy: set MATSU_COPY_KMS_KEY, kms_key or --kms-key to a key of {region}; the source's key must allow the copy, too)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::Extra;

    fn described(named: Option<&str>, original: Option<Timestamp>, of: Option<&str>) -> Described {
        Described {
            id: "a-copy".to_owned(),
            status: None,
            percent: None,
            of: of.map(str::to_owned),
            source: named.map(str::to_owned),
            created: Timestamp::from_second(1_768_450_000).ok(),
            original,
            tags: Vec::new(),
        }
    }

    fn snapshot(region: &str, id: &str) -> RdsSnapshot {
        RdsSnapshot::from_arn(&format!("arn:aws:rds:{region}:123456789012:snapshot:{id}")).unwrap()
    }

    fn means(code: Option<&str>, kind: FaultKind, message: &str, key: Option<&str>) -> Refusal {
        let fault = Fault {
            kind,
            code: code.map(str::to_owned),
            status: Some(400),
            message: message.to_owned(),
        };
        let copy = RdsCopy {
            source: snapshot("us-east-1", "a").arn(),
            source_created: None,
            source_instance: None,
            source_cluster: None,
            kms_key: key.map(str::to_owned),
            tags: Tags::None,
            extra: Extra::new(),
        };
        refusal(
            &fault,
            &copy,
            &snapshot("us-east-1", "a"),
            &snapshot("us-west-2", "a-copy"),
        )
    }

    #[test]
    fn a_refusal_is_for_later_or_for_good_in_both_spellings() {
        use FaultKind::{Credentials, Denied, Other, Passing};
        for ending in ["", "Fault"] {
            let spelled = |code: &str| format!("{code}{ending}");
            let means = |code: &str, message: &str| means(Some(&spelled(code)), Other, message, None);
            assert!(matches!(means("DBSnapshotAlreadyExists", "there"), Refusal::Exists(_)));
            assert!(matches!(
                means("InvalidDBSnapshotState", "in state creating"),
                Refusal::Later(_)
            ));
            for words in [
                "Cannot copy more than 20 snapshots across regions",
                "Too many snapshot copies in progress. The limit is 5 for this destination region.",
            ] {
                assert!(
                    matches!(means("SnapshotQuotaExceeded", words), Refusal::Later(_)),
                    "{words}"
                );
            }
            for words in [
                "Cannot create more than 100 manual snapshots",
                "it would exceed the maximum number of snapshots",
            ] {
                assert!(
                    matches!(means("SnapshotQuotaExceeded", words), Refusal::Never(why) if why.contains("us-west-2"))
                );
            }
            for code in ["DBSnapshotNotFound", "KMSKeyNotAccessible", "SomethingNew"] {
                assert!(matches!(means(code, "no"), Refusal::Never(_)), "{code}");
            }
        }
        assert!(matches!(
            means(Some("Throttling"), Passing, "rate", None),
            Refusal::Later(_)
        ));
        assert!(matches!(
            means(Some("ExpiredToken"), Credentials, "old", None),
            Refusal::Later(_)
        ));
        assert!(matches!(
            means(None, Other, "HTTP 200 without a readable answer", None),
            Refusal::Later(_)
        ));
        assert!(matches!(
            means(None, Denied, "HTTP 403 without a readable answer", None),
            Refusal::Later(_)
        ));
        let denied = means(Some("AccessDenied"), Denied, "no", None);
        assert!(matches!(denied, Refusal::Never(why) if why.contains("rds:CopyDBSnapshot")));
    }

    #[test]
    fn a_refusal_about_keys_names_the_key_or_the_missing_setting() {
        let about = |key| match means(
            Some("KMSKeyNotAccessibleFault"),
            FaultKind::Other,
            "The source snapshot KMS key does not exist <b>",
            key,
        ) {
            Refusal::Never(why) => why,
            other => panic!("{other:?}"),
        };
        let with = about(Some("alias/my key"));
        assert!(
            with.contains("alias/my key") && with.contains("does not exist <b>"),
            "{with}"
        );
        assert!(about(None).contains("MATSU_COPY_KMS_KEY"));
        let words = "Must specify new KMS key for cross region encrypted snapshot copy.";
        let missing = means(Some("InvalidParameterValue"), FaultKind::Other, words, None);
        assert!(
            matches!(missing, Refusal::Never(why) if why.contains("MATSU_COPY_KMS_KEY") && why.contains("us-west-2"))
        );
    }

    #[test]
    fn a_copy_is_told_from_anything_else_by_source_time_and_instance() {
        let made = Timestamp::from_second(1_768_446_245).unwrap();
        let at = |second| Timestamp::from_second(second).ok();
        let source = snapshot("us-east-1", "manual-1");
        let evidence = Evidence {
            source: &source,
            nearby: true,
            created: Some(made),
            of: Some("app-db".to_owned()),
        };
        let arn = source.arn();
        let table = [
            // named, original time, instance: ours?
            (Some(arn.as_str()), None, None, true),
            (Some(arn.as_str()), at(1_768_446_245), Some("app-db"), true),
            (Some("manual-1"), None, None, true),
            (
                Some("ARN:AWS:RDS:us-east-1:123456789012:snapshot:MANUAL-1"),
                None,
                None,
                true,
            ),
            (None, at(1_768_446_245), None, true),
            (None, None, Some("App-DB"), true),
            (
                Some("arn:aws:rds:us-east-1:123456789012:snapshot:other"),
                at(1_768_446_245),
                Some("app-db"),
                false,
            ),
            (Some(arn.as_str()), at(1), Some("app-db"), false),
            (None, at(1), Some("app-db"), false),
            (None, None, Some("other-db"), false),
            (None, None, None, false),
        ];
        for (named, original, instance, ours) in table {
            let found = Described {
                created: at(9),
                ..described(named, original, instance)
            };
            assert_eq!(
                evidence.is_copied_by(&found),
                ours,
                "{named:?} {original:?} {instance:?}"
            );
        }
        let abroad = Evidence {
            nearby: false,
            ..evidence
        };
        let bare = described(Some("manual-1"), None, None);
        assert!(
            !abroad.is_copied_by(&bare),
            "a bare id names a snapshot of the copy's own region"
        );
    }

    #[test]
    fn an_automated_id_tells_its_instance_where_nobody_else_does() {
        let source = snapshot("us-east-1", "rds:app-db-2026-01-15-03-04");
        let evidence = Evidence {
            source: &source,
            nearby: true,
            created: None,
            of: None,
        };
        let of = |instance: &str| described(None, None, Some(instance));
        assert!(evidence.is_copied_by(&of("app-db")));
        assert!(!evidence.is_copied_by(&of("app")));
    }

    #[test]
    fn a_copy_of_a_cluster_snapshot_is_told_by_the_source_that_rds_names_and_is_not_older_than_it() {
        let arn = "arn:aws:rds:us-east-1:123456789012:cluster-snapshot:cs-1";
        let source = RdsSnapshot::from_arn(arn).unwrap();
        let evidence = Evidence {
            source: &source,
            nearby: true,
            created: Timestamp::from_second(1_768_446_245).ok(),
            of: Some("main".to_owned()),
        };
        for (named, created, cluster, ours) in [
            (Some(arn), 1_768_450_000, None, true),
            (Some(arn), 1_768_446_245, Some("main"), true),
            (None, 1_768_450_000, Some("Main"), true),
            (None, 1_768_446_244, Some("main"), false),
            (None, 1_768_450_000, Some("other"), false),
            (None, 1_768_450_000, None, false),
            // An instance's snapshot of the same name.
            (
                Some("arn:aws:rds:us-east-1:123456789012:snapshot:cs-1"),
                1_768_450_000,
                Some("main"),
                false,
            ),
        ] {
            let found = Described {
                created: Timestamp::from_second(created).ok(),
                ..described(named, None, cluster)
            };
            assert_eq!(evidence.is_copied_by(&found), ours, "{named:?} {created} {cluster:?}");
        }
    }

    #[test]
    fn the_refusals_of_cluster_copies_mean_the_same_in_both_spellings() {
        for ending in ["", "Fault"] {
            let means =
                |code: &str, words: &str| means(Some(&format!("{code}{ending}")), FaultKind::Other, words, None);
            let exists = means("DBClusterSnapshotAlreadyExists", "there");
            assert!(matches!(exists, Refusal::Exists(_)), "{exists:?}");
            for code in ["InvalidDBClusterSnapshotState", "InvalidDBClusterState"] {
                assert!(matches!(means(code, "in state creating"), Refusal::Later(_)), "{code}");
            }
            let quota = means(
                "SnapshotQuotaExceeded",
                "Cannot create more than 100 manual cluster snapshots",
            );
            assert!(matches!(quota, Refusal::Never(_)), "{quota:?}");
            assert!(matches!(means("DBClusterSnapshotNotFound", "no"), Refusal::Never(_)));
        }
    }
}
