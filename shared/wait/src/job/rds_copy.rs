//! The copy of an RDS snapshot, into the same region or another one.

mod name;
mod prepare;
mod presign;
mod start;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::name::Words;
use super::{Begun, Job, Jobs, PrepareError};
use crate::aws::{Aws, Family};
use crate::target::rds_snapshot::is_region;
use crate::target::{Here, RdsSnapshot, Target};
use crate::wait::Extra;

/// What somebody asks for. Blank, `None` and `null` count as unset wherever a value may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyRequest {
    /// The source: an id, or an ARN.
    pub source: String,
    /// The source's region, where the id does not say it.
    pub source_region: Option<String>,
    /// The name of the copy; none: by the template.
    pub to: Option<String>,
    /// The region of the copy; none: the settings', else the source's.
    pub to_region: Option<String>,
    /// A KMS key of the destination; none: the settings'.
    pub kms_key: Option<String>,
    /// The tags; none: the settings'.
    pub tags: Option<Tags>,
    /// Nobody asked for this very copy: an event did, so a source that is a copy itself is left alone.
    pub by_event: bool,
}

/// The defaults of all requests (`MATSU_COPY_*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopySettings {
    /// The region of the copy; none: the source's.
    pub to_region: Option<String>,
    /// The name of the copy, with `{id}`, `{date}`, `{region}`.
    pub name: String,
    /// A KMS key of the destination.
    pub kms_key: Option<String>,
    /// The tags.
    pub tags: Tags,
}

impl Default for CopySettings {
    fn default() -> Self {
        Self {
            to_region: None,
            name: "{id}-copy".to_owned(),
            kms_key: None,
            tags: Tags::default(),
        }
    }
}

impl CopySettings {
    /// Whether copies can be made by them, as far as can be told without a source.
    ///
    /// # Errors
    /// One sentence that names the value and what it takes.
    pub fn check(&self) -> Result<(), String> {
        let sample = Words {
            id: "a",
            date: Some("2000-01-01"),
            region: "us-east-1",
        };
        // Names of cluster snapshots are shorter: whether one fits, its copy tells.
        name::expand(&self.name, sample, Family::Instance)?;
        if let Some(region) = set(self.to_region.as_deref()) {
            region_named("the region of copies", region)?;
        }
        self.tags.check()
    }
}

/// The tags of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tags {
    /// None.
    #[default]
    None,
    /// Those of the source, without the reserved ones (`aws:…`).
    Copy,
    /// These.
    These(BTreeMap<String, String>),
}

impl Tags {
    /// Reads `copy` or `k=v,…`; blanks around and between them are passed over, and nothing is no tags.
    ///
    /// # Errors
    /// What it takes.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "copy" {
            return Ok(Self::Copy);
        }
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let tags: Option<BTreeMap<_, _>> = pairs
            .map(|pair| {
                let (key, value) = pair.split_once('=')?;
                (!key.trim().is_empty()).then(|| (key.trim().to_owned(), value.trim().to_owned()))
            })
            .collect();
        match tags {
            None => Err(format!("is {text:?}: it takes copy or k=v,…")),
            Some(tags) if tags.is_empty() => Ok(Self::None),
            Some(tags) => {
                let tags = Self::These(tags);
                tags.check().map(|()| tags).map_err(|why| format!("is wrong: {why}"))
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        match self {
            Self::These(tags) => match tags.keys().find(|key| is_reserved(key)) {
                Some(key) => Err(format!(
                    "the tag {key:?} cannot be set: it takes keys that do not begin with aws:"
                )),
                None => Ok(()),
            },
            Self::None | Self::Copy => Ok(()),
        }
    }
}

/// Tags that only AWS itself may set.
fn is_reserved(key: &str) -> bool {
    key.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("aws:"))
}

/// The job, complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RdsCopy {
    /// The ARN of the source.
    pub source: String,
    /// When the source was first made; with the ARN this tells a copy of it from anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_created: Option<Timestamp>,
    /// The instance that the source is a snapshot of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_instance: Option<String>,
    /// The cluster that the source is a snapshot of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_cluster: Option<String>,
    /// A KMS key of the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kms_key: Option<String>,
    /// The tags.
    #[serde(default)]
    pub tags: Tags,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Starts copies where RDS really is.
#[derive(Debug)]
pub struct RdsJobs {
    aws: Option<Arc<Aws>>,
    settings: CopySettings,
    here: Here,
}

const NO_AWS: &str = "a snapshot copy is made in AWS, and nothing here is set up for AWS: set a region and credentials";

impl RdsJobs {
    /// Without `aws` no copy can be made. `here` tells the region of bare ids and our own account, where it is known;
    /// otherwise STS is asked for the account.
    #[must_use]
    pub fn new(aws: Option<Arc<Aws>>, settings: CopySettings, here: Here) -> Self {
        Self { aws, settings, here }
    }
}

#[async_trait]
impl Jobs for RdsJobs {
    async fn prepare(&self, request: &CopyRequest) -> Result<(Target, Job), PrepareError> {
        let aws = self
            .aws
            .as_deref()
            .ok_or_else(|| PrepareError::Bad(NO_AWS.to_owned()))?;
        self.complete(aws, request).await
    }

    async fn start(&self, job: &Job, target: &Target) -> Begun {
        let Job::RdsCopy(copy) = job;
        let source = match RdsSnapshot::from_arn(&copy.source) {
            Ok(source) => source,
            Err(bad) => return Begun::Refused(format!("source: {bad}")),
        };
        let Some(target) = target.rds_snapshot().filter(|target| target.family == source.family) else {
            return Begun::Refused(format!("{source} cannot be copied to {target}"));
        };
        let Some(aws) = self.aws.as_deref() else {
            return Begun::Later(NO_AWS.to_owned());
        };
        start::Copying {
            aws,
            copy,
            source,
            target,
        }
        .begin()
        .await
    }
}

/// A value that was really given.
fn set(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !matches!(value.trim(), "" | "None" | "null"))
}

fn region_named(what: &str, region: &str) -> Result<(), String> {
    if is_region(region) {
        return Ok(());
    }
    Err(format!("{what} is {region:?}: it takes one such as eu-central-1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_and_null_like_values_count_as_unset_and_real_ones_stay_as_they_are() {
        for unset in [None, Some(""), Some(" "), Some("None"), Some("null"), Some(" None ")] {
            assert_eq!(set(unset), None, "{unset:?}");
        }
        for real in ["alias/aws/rds", "alias/my key", "none-such", " x"] {
            assert_eq!(set(Some(real)), Some(real));
        }
    }

    #[test]
    fn fields_of_a_later_release_stay_with_the_job() {
        let stored = serde_json::json!({
            "kind": "rds-copy",
            "source": "arn:aws:rds:us-east-1:123456789012:cluster-snapshot:a",
            "source_cluster": "main",
            "tags": {"these": {"a": "b"}},
            "later": {"deep": [1, null]},
        });
        let job: Job = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(job).unwrap(), stored);
    }

    #[test]
    fn settings_that_cannot_make_a_copy_are_told_at_once() {
        assert_eq!(CopySettings::default().check(), Ok(()));
        let bad = |settings: CopySettings, names: &str| {
            let error = settings.check().unwrap_err();
            assert!(error.contains(names), "{error}");
        };
        let good = CopySettings::default;
        bad(
            CopySettings {
                name: "{id}-{year}".to_owned(),
                ..good()
            },
            "{year}",
        );
        bad(
            CopySettings {
                name: "--{id}".to_owned(),
                ..good()
            },
            "--{id}",
        );
        bad(
            CopySettings {
                to_region: Some("EU".to_owned()),
                ..good()
            },
            "EU",
        );
        let reserved = BTreeMap::from([("AWS:x".to_owned(), "1".to_owned())]);
        bad(
            CopySettings {
                tags: Tags::These(reserved),
                ..good()
            },
            "AWS:x",
        );
    }
}
