//! The copy of an RDS snapshot, into the same region or another one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What somebody asks for.
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

/// The job, complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RdsCopy {
    /// The ARN of the source.
    pub source: String,
    /// When the source was first made; with the ARN this tells a copy of it from anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_created: Option<Timestamp>,
    /// A KMS key of the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kms_key: Option<String>,
    /// The tags.
    #[serde(default)]
    pub tags: Tags,
}
