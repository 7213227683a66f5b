//! Targets as strings and as JSON objects.

use serde_json::{Map, Value};

use super::{File, Here, RdsSnapshot, S3Object, Target, Until};

/// A target that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    /// The text or object is wrong; the sentence names it and what it takes.
    #[error("{0}")]
    Bad(String),
    /// A short form that needs the region of whoever reads it, and nobody knows it.
    #[error("{0} names no region: write the whole ARN, or set AWS_REGION or --region")]
    NeedsRegion(String),
    /// A short form that needs the account of whoever reads it, and nobody knows it.
    #[error("{0} names no account: write the whole ARN, or log in so that the account can be asked")]
    NeedsAccount(String),
}

impl BadTarget {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self::Bad(text.into())
    }
}

impl Target {
    /// Reads the string that people type. `until` is the condition asked for beside it, if any.
    ///
    /// # Errors
    /// [`BadTarget`].
    pub fn parse(text: &str, until: Option<Until>, here: &Here) -> Result<Self, BadTarget> {
        let target = if text.starts_with("arn:") || text.starts_with("rds:") {
            Self::RdsSnapshot(RdsSnapshot::parse(text, here)?)
        } else if text.starts_with("s3://") {
            Self::S3Object(S3Object::parse(text, until)?)
        } else if text.starts_with("file:") {
            Self::File(File::parse(text, until)?)
        } else {
            let short: String = text.chars().take(80).collect();
            return Err(BadTarget::new(format!(
                "{short:?} is not a target: it takes an RDS snapshot ARN, rds:snapshot/ID, s3://BUCKET/KEY or file:PATH"
            )));
        };
        if until.is_some() && target.until().is_none() {
            return Err(BadTarget::new(format!(
                "until does not go with {text}: it is only for s3:// and file: targets"
            )));
        }
        Ok(target)
    }

    /// Reads a target in JSON: the string, or an object with `kind`. `until` is the condition asked for beside it.
    ///
    /// # Errors
    /// [`BadTarget`], naming the field.
    pub fn from_value(value: &Value, until: Option<Until>, here: &Here) -> Result<Self, BadTarget> {
        match value {
            Value::String(text) => Self::parse(text, until, here),
            Value::Object(fields) => Self::from_object(fields, until, here),
            other => Err(BadTarget::new(format!(
                "target is {}: it takes a string or an object with kind",
                crate::event::kind_of(other)
            ))),
        }
    }

    fn from_object(fields: &Map<String, Value>, until: Option<Until>, here: &Here) -> Result<Self, BadTarget> {
        let kind = word(fields, "kind")?
            .ok_or_else(|| BadTarget::new("target has no kind: it takes rds-snapshot, s3-object or file"))?;
        let until = match word(fields, "until")? {
            None => until,
            Some("exists") => Some(Until::Exists),
            Some("deleted") => Some(Until::Deleted),
            Some(other) => {
                return Err(BadTarget::new(format!(
                    "target.until is {other:?}: it takes exists or deleted"
                )));
            }
        };
        let need = |name: &str| {
            word(fields, name)?
                .ok_or_else(|| BadTarget::new(format!("target.{name} is missing: a target of kind {kind} takes it")))
        };
        match kind {
            "rds-snapshot" => {
                if until.is_some() {
                    return Err(BadTarget::new("target.until does not go with kind rds-snapshot"));
                }
                let here = Here {
                    region: word(fields, "region")?
                        .map(str::to_owned)
                        .or_else(|| here.region.clone()),
                    account: word(fields, "account")?
                        .map(str::to_owned)
                        .or_else(|| here.account.clone()),
                };
                Ok(Self::RdsSnapshot(RdsSnapshot::short(need("id")?, &here)?))
            }
            "s3-object" => Ok(Self::S3Object(S3Object::new(
                need("bucket")?,
                need("key")?,
                until.unwrap_or_default(),
            )?)),
            "file" => Ok(Self::File(File::new(need("path")?, until.unwrap_or_default())?)),
            other => Err(BadTarget::new(format!(
                "target.kind is {other:?}: it takes rds-snapshot, s3-object or file"
            ))),
        }
    }
}

/// A text field; empty, `None` and `null` values count as unset.
fn word<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, BadTarget> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if matches!(text.as_str(), "" | "None" | "null") && name != "key" => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(BadTarget::new(format!(
            "target.{name} is {}: it takes a text",
            crate::event::kind_of(other)
        ))),
    }
}
