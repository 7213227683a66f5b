//! A snapshot of an RDS instance, satisfied when available.

use serde::{Deserialize, Serialize};

use super::{BadTarget, Here};

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RdsSnapshot {
    /// Its id; automated ones contain a colon.
    pub id: String,
    /// The region that holds it.
    pub region: String,
    /// The account that holds it.
    pub account: String,
    /// The partition of its ARN, where the region does not tell it: see [`RdsSnapshot::partition`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
}

impl RdsSnapshot {
    pub(super) fn parse(text: &str, here: &Here) -> Result<Self, BadTarget> {
        Self::short(text.strip_prefix("rds:snapshot/").unwrap_or(text), here)
    }

    pub(super) fn short(id: &str, here: &Here) -> Result<Self, BadTarget> {
        let region = here
            .region
            .clone()
            .ok_or_else(|| BadTarget::NeedsRegion(id.to_owned()))?;
        let account = here
            .account
            .clone()
            .ok_or_else(|| BadTarget::NeedsAccount(id.to_owned()))?;
        Ok(Self {
            id: id.to_owned(),
            region,
            account,
            partition: None,
        })
    }

    /// The ARN.
    #[must_use]
    pub fn arn(&self) -> String {
        format!("arn:aws:rds:{}:{}:snapshot:{}", self.region, self.account, self.id)
    }

    pub(super) fn key(&self) -> String {
        format!("rds-snapshot={}", self.arn())
    }
}

impl std::fmt::Display for RdsSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.arn())
    }
}
