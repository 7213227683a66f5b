//! A file of this machine: local only, the path literal.

use serde::{Deserialize, Serialize};

use super::{BadTarget, Until};

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct File {
    /// Its path, absolute; nothing in it is decoded.
    pub path: String,
    /// Whether it is to be there or gone.
    #[serde(default)]
    pub until: Until,
}

impl File {
    pub(super) fn parse(text: &str, until: Option<Until>) -> Result<Self, BadTarget> {
        Self::new(text.strip_prefix("file:").unwrap_or(text), until.unwrap_or_default())
    }

    pub(super) fn new(path: &str, until: Until) -> Result<Self, BadTarget> {
        if path.is_empty() {
            return Err(BadTarget::new("file: names no file: it takes file:PATH"));
        }
        Ok(Self {
            path: path.to_owned(),
            until,
        })
    }

    pub(super) fn key(&self) -> String {
        format!("file={}={}", self.until.word(), self.path)
    }
}

impl std::fmt::Display for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "file:{}", self.path)
    }
}
