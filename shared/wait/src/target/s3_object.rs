//! An S3 object, there or gone.

use serde::{Deserialize, Serialize};

use super::{BadTarget, Until};

/// An object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct S3Object {
    /// The bucket.
    pub bucket: String,
    /// The key, literal, byte for byte.
    pub key: String,
    /// Whether it is to be there or gone.
    #[serde(default)]
    pub until: Until,
}

impl S3Object {
    pub(super) fn parse(text: &str, until: Option<Until>) -> Result<Self, BadTarget> {
        let rest = text.strip_prefix("s3://").unwrap_or(text);
        let (bucket, key) = rest
            .split_once('/')
            .ok_or_else(|| BadTarget::new(format!("{text} names no key: it takes s3://BUCKET/KEY")))?;
        Self::new(bucket, key, until.unwrap_or_default())
    }

    pub(super) fn new(bucket: &str, key: &str, until: Until) -> Result<Self, BadTarget> {
        Ok(Self {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            until,
        })
    }

    pub(super) fn key(&self) -> String {
        format!("s3-object={}={}/{}", self.until.word(), self.bucket, self.key)
    }
}

impl std::fmt::Display for S3Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.key)
    }
}
