//! A snapshot of an RDS instance or of an RDS cluster, satisfied when available.

mod probe;
mod together;

use serde::{Deserialize, Deserializer, Serialize};

pub(super) use self::together::look_all;
use super::text::Object;
use super::{BadTarget, Here, Target};
use crate::aws::Family;
use crate::event::brief;
use crate::wait::Extra;

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RdsSnapshot {
    /// What it is of; in JSON the kind of the target says it.
    #[serde(skip)]
    pub family: Family,
    /// Its id; automated ones contain a colon. RDS tells no upper case from lower case and shows lower case; here it
    /// stays as it was written, and [`RdsSnapshot::is`] and the target's key pass over the difference.
    pub id: String,
    /// The region that holds it.
    pub region: String,
    /// The account that holds it.
    pub account: String,
    /// The partition of its ARN, where it is not the one that the region tells: see [`RdsSnapshot::partition`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Fields of a later release; the key passes over them.
    #[serde(flatten)]
    pub extra: Extra,
}

const ARN_FORM: &str =
    "arn:PARTITION:rds:REGION:ACCOUNT:snapshot:ID, or the same with cluster-snapshot in place of snapshot";

/// The longest id: that of a snapshot which a person makes of an instance. Those of clusters are shorter, except
/// for automated and final ones, so nothing shorter is impossible.
const LONGEST_ID: usize = 255;

impl From<RdsSnapshot> for Target {
    fn from(snapshot: RdsSnapshot) -> Self {
        match snapshot.family {
            Family::Instance => Self::RdsSnapshot(snapshot),
            Family::Cluster => Self::RdsClusterSnapshot(snapshot),
        }
    }
}

/// Reads the snapshot of a cluster.
pub(super) fn of_cluster<'de, D: Deserializer<'de>>(from: D) -> Result<RdsSnapshot, D::Error> {
    let snapshot = RdsSnapshot::deserialize(from)?;
    Ok(RdsSnapshot {
        family: Family::Cluster,
        ..snapshot
    })
}

impl RdsSnapshot {
    pub(super) fn parse(text: &str, here: &Here) -> Result<Self, BadTarget> {
        Self::written(text, here)?.possible(text)
    }

    /// From an object; the id may be an ARN, which the other fields must not contradict.
    pub(super) fn from_object(family: Family, object: &Object<'_>, here: &Here) -> Result<Self, BadTarget> {
        let id = object.need("id")?;
        let region = object.word("region")?;
        let account = object.word("account")?;
        let partition = object.word("partition")?;
        let extra = object.beside(&["id", "region", "account", "partition"]);
        if !id.starts_with("arn:") {
            let or = |given: Option<&str>, else_: &Option<String>| given.map(str::to_owned).or_else(|| else_.clone());
            let here = Here {
                region: or(region, &here.region),
                account: or(account, &here.account),
            };
            let short = Self::short(family, id, &here)?.possible(id)?;
            let short = match partition {
                Some(partition) => short.within(partition)?,
                None => short,
            };
            return Ok(Self { extra, ..short });
        }
        let whole = Self::from_arn(id)?.possible(id)?;
        if whole.family != family {
            return Err(BadTarget::new(format!(
                "target.id is {id}: this kind of target takes the ARN of a {}",
                family.resource()
            )));
        }
        for (field, given, holds) in [
            ("region", region, whole.region.as_str()),
            ("account", account, whole.account.as_str()),
            ("partition", partition, whole.partition()),
        ] {
            if let Some(given) = given.filter(|given| *given != holds) {
                return Err(BadTarget::new(format!(
                    "target.{field} is {given:?}, but target.id is {id}"
                )));
            }
        }
        Ok(Self { extra, ..whole })
    }

    /// An ARN, `rds:snapshot/ID`, `rds:cluster-snapshot/ID`, or nothing that RDS could hold. The id is not checked
    /// beyond what an ARN needs.
    pub(crate) fn written(text: &str, here: &Here) -> Result<Self, BadTarget> {
        if let Some(id) = text.strip_prefix("rds:snapshot/") {
            return Self::short(Family::Instance, id, here);
        }
        if let Some(id) = text.strip_prefix("rds:cluster-snapshot/") {
            return Self::short(Family::Cluster, id, here);
        }
        if text.starts_with("arn:") {
            return Self::from_arn(text);
        }
        Err(BadTarget::new(format!(
            "{text:?} is not a target: it takes {ARN_FORM}, rds:snapshot/ID or rds:cluster-snapshot/ID (the id may itself begin with rds:)"
        )))
    }

    /// The id in the region and account of whoever reads it.
    pub(crate) fn short(family: Family, id: &str, here: &Here) -> Result<Self, BadTarget> {
        let region = here
            .region
            .as_ref()
            .ok_or_else(|| BadTarget::NeedsRegion(brief(id.to_owned())))?;
        let account = here
            .account
            .as_ref()
            .ok_or_else(|| BadTarget::NeedsAccount(brief(id.to_owned())))?;
        Self::new(family, id, region, account, id)
    }

    /// From a whole ARN; the id is everything after `:snapshot:` or `:cluster-snapshot:`.
    pub(crate) fn from_arn(text: &str) -> Result<Self, BadTarget> {
        let malformed = || BadTarget::new(format!("{text:?} is not the ARN of a snapshot: it takes {ARN_FORM}"));
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let ["arn", partition, "rds", region, account, resource] = parts[..] else {
            return Err(malformed());
        };
        let (family, id) = match resource.split_once(':') {
            Some(("snapshot", id)) => (Family::Instance, id),
            Some(("cluster-snapshot", id)) => (Family::Cluster, id),
            _ => return Err(malformed()),
        };
        Self::new(family, id, region, account, text)?.within(partition)
    }

    fn new(family: Family, id: &str, region: &str, account: &str, whole: &str) -> Result<Self, BadTarget> {
        if !is_region(region) {
            return Err(BadTarget::new(format!(
                "{region:?} in {whole:?} is not a region: it takes one such as eu-central-1"
            )));
        }
        if account.len() != 12 || !account.bytes().all(|b| b.is_ascii_digit()) {
            return Err(BadTarget::new(format!(
                "{account:?} in {whole:?} is not an account: it takes 12 digits"
            )));
        }
        let odd = |c: char| c.is_whitespace() || c.is_control() || c == '/';
        // What begins as an ARN is one, wherever an id may stand.
        if id.is_empty() || id.starts_with("arn:") || id.chars().any(odd) || id.chars().count() > LONGEST_ID {
            return Err(BadTarget::new(format!(
                "{whole:?} names no snapshot: an id takes 1 to {LONGEST_ID} letters, digits, hyphens and colons"
            )));
        }
        Ok(Self {
            family,
            id: id.to_owned(),
            region: region.to_owned(),
            account: account.to_owned(),
            partition: None,
            extra: Extra::new(),
        })
    }

    /// The same in `partition`, which is kept only where the region tells another one.
    fn within(self, partition: &str) -> Result<Self, BadTarget> {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !partition.starts_with("aws") || !partition.chars().all(legal) {
            return Err(BadTarget::new(format!(
                "{partition:?} is not a partition: it takes aws, aws-cn, aws-us-gov or the like"
            )));
        }
        let told = partition_of(&self.region) == partition;
        Ok(Self {
            partition: (!told).then(|| partition.to_owned()),
            ..self
        })
    }

    /// Itself, if RDS could hold a snapshot of that id.
    fn possible(self, whole: &str) -> Result<Self, BadTarget> {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':');
        if self.id.chars().all(legal) {
            return Ok(self);
        }
        Err(BadTarget::new(format!(
            "{whole:?} cannot be a snapshot: an id takes letters, digits, hyphens and colons"
        )))
    }

    /// The partition of its ARN.
    #[must_use]
    pub fn partition(&self) -> &str {
        self.partition.as_deref().unwrap_or_else(|| partition_of(&self.region))
    }

    /// The ARN.
    #[must_use]
    pub fn arn(&self) -> String {
        format!(
            "arn:{}:rds:{}:{}:{}:{}",
            self.partition(),
            self.region,
            self.account,
            self.family.resource(),
            self.id
        )
    }

    /// Whether `name`, an id or an ARN as RDS writes it beside this region and account, is this snapshot.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case(&self.id) || name.eq_ignore_ascii_case(&self.arn())
    }
}

impl std::fmt::Display for RdsSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.arn())
    }
}

/// Whether this can be a region: it becomes part of a host name.
pub(crate) fn is_region(text: &str) -> bool {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.len() <= 32 && text.chars().all(legal)
}

/// The partition that a region belongs to, by its first letters.
fn partition_of(region: &str) -> &'static str {
    const OTHERS: [(&str, &str); 7] = [
        ("cn-", "aws-cn"),
        ("us-gov-", "aws-us-gov"),
        ("us-iso-", "aws-iso"),
        ("us-isob-", "aws-iso-b"),
        ("eu-isoe-", "aws-iso-e"),
        ("us-isof-", "aws-iso-f"),
        ("eusc-", "aws-eusc"),
    ];
    let other = OTHERS.iter().find(|(start, _)| region.starts_with(start));
    other.map_or("aws", |(_, partition)| partition)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RdsSnapshot, BadTarget> {
        RdsSnapshot::parse(text, &Here::default())
    }

    #[test]
    fn the_id_is_everything_after_the_word_snapshot() {
        for id in [
            "manual-1",
            "rds:app-db-2026-01-15-03-04",
            "awsbackup:job-1b2c3d4e-0000-4000-8000-000000000001",
            "a:snapshot:b",
        ] {
            let snapshot = parse(&format!("arn:aws:rds:ap-northeast-1:123456789012:snapshot:{id}")).unwrap();
            assert_eq!(snapshot.id, id);
            assert_eq!(
                (snapshot.region.as_str(), snapshot.account.as_str()),
                ("ap-northeast-1", "123456789012")
            );
        }
    }

    #[test]
    fn a_partition_is_kept_and_a_short_form_takes_that_of_its_region() {
        for (partition, region) in [
            ("aws", "eu-central-1"),
            ("aws-cn", "cn-north-1"),
            ("aws-us-gov", "us-gov-west-1"),
            ("aws-iso", "us-iso-east-1"),
            ("aws-iso-b", "us-isob-east-1"),
        ] {
            let arn = format!("arn:{partition}:rds:{region}:123456789012:snapshot:a");
            let whole = parse(&arn).unwrap();
            assert_eq!(whole.arn(), arn);
            let here = Here {
                region: Some(region.to_owned()),
                account: Some("123456789012".to_owned()),
            };
            assert_eq!(RdsSnapshot::parse("rds:snapshot/a", &here).unwrap(), whole);
        }
        let odd = parse("arn:aws-x:rds:us-east-1:123456789012:snapshot:a").unwrap();
        assert_eq!((odd.partition.as_deref(), odd.partition()), (Some("aws-x"), "aws-x"));
    }

    #[test]
    fn a_malformed_arn_is_refused_with_a_sentence() {
        let long = format!("arn:aws:rds:us-east-1:123456789012:snapshot:{}", "a".repeat(256));
        for (text, says) in [
            ("arn:aws:rds:us-east-1:123456789012", "arn:PARTITION"),
            ("arn:aws:rds:us-east-1:123456789012:db:app", "arn:PARTITION"),
            ("arn:aws:ec2:us-east-1:123456789012:snapshot:a", "arn:PARTITION"),
            ("arn:aws:rds:us-east-1:123456789012:cluster:a", "arn:PARTITION"),
            ("arn:aws:rds:us-east-1:123456789012:cluster-snapshot", "arn:PARTITION"),
            (
                "arn:aws:rds:us-east-1:123456789012:cluster-snapshot:",
                "names no snapshot",
            ),
            ("rds:cluster-snapshot/", "names no"),
            ("rds:app-db-2026-01-15-03-04", "rds:snapshot/ID"),
            ("arn:aws:rds::123456789012:snapshot:a", "region"),
            ("arn:aws:rds:EU_1:123456789012:snapshot:a", "region"),
            ("arn:aws:rds:evil.example/:123456789012:snapshot:a", "region"),
            ("arn:aws:rds:us-east-1:12345:snapshot:a", "12 digits"),
            ("arn:aws:rds:us-east-1:12345678901x:snapshot:a", "12 digits"),
            ("arn:gcp:rds:us-east-1:123456789012:snapshot:a", "partition"),
            ("arn:aws:rds:us-east-1:123456789012:snapshot:", "names no snapshot"),
            ("arn:aws:rds:us-east-1:123456789012:snapshot:arn:a", "names no snapshot"),
            ("arn:aws:rds:us-east-1:123456789012:snapshot:a b", "names no snapshot"),
            ("arn:aws:rds:us-east-1:123456789012:snapshot:a/b", "names no snapshot"),
            (
                "arn:aws:rds:us-east-1:123456789012:snapshot:a_b",
                "letters, digits, hyphens",
            ),
            (long.as_str(), "1 to 255"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
