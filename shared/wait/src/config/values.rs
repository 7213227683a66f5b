//! The configuration's values as they come: by name, with where each is from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::BadConfig;

/// Every name that is listed, with what it takes and its default, in the order in which they are shown.
const NAMES: [(&str, &str); 23] = [
    ("MATSU_STORE", "s3://BUCKET/PREFIX or sqlite:PATH"),
    ("MATSU_STORE_KMS_KEY", "the id or ARN of a KMS key"),
    ("MATSU_QUEUE", "the URL of an SQS queue or sqlite:PATH"),
    ("MATSU_DLQ", "the URL of an SQS queue"),
    ("MATSU_MAX_COUNT", "a whole number from 1"),
    ("MATSU_TIMEOUT", "a duration such as 24h"),
    ("MATSU_MIN_DELAY", "a duration such as 15s"),
    ("MATSU_MAX_DELAY", "a duration such as 2m"),
    (
        "MATSU_SLACK_WEBHOOK",
        "an https URL, or kms:BASE64, ssm:NAME, secretsmanager:ID",
    ),
    ("MATSU_COPY_TO", "a region"),
    ("MATSU_COPY_NAME", "a name with {id}, {date}, {region}"),
    ("MATSU_COPY_KMS_KEY", "the id or ARN of a KMS key"),
    ("MATSU_COPY_TAGS", "copy or k=v,…"),
    ("MATSU_COPY_INCLUDE", "globs, comma separated"),
    ("MATSU_COPY_EXCLUDE", "globs, comma separated"),
    ("MATSU_COPY_IF_TAG", "k=glob, comma separated"),
    ("MATSU_COPY_LIMIT", "a whole number from 1"),
    ("MATSU_COPY_KEEP", "a number or a duration such as 30d"),
    ("MATSU_ON_OBJECT_CREATED", "wait-deleted or ignore"),
    ("MATSU_HTTP_ALLOW", "hosts or networks, comma separated"),
    ("MATSU_CA_BUNDLE", "the path of a PEM file"),
    ("MATSU_LOG", "text or json"),
    ("MATSU_LOG_LEVEL", "error, warn, info or debug"),
];

/// Names that begin so are other people's: shells and Kubernetes inject them, and `matsu lock` sets them for its child.
const FOREIGN: [&str; 3] = ["MATSU_LOCK_", "MATSU_PORT", "MATSU_SERVICE_"];

/// Where a value is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A flag of the command, such as `--store`.
    Flag(&'static str),
    /// The environment.
    Environment,
    /// A configuration file of the command.
    File(PathBuf),
}

/// The values that are set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    set: BTreeMap<&'static str, (String, Source)>,
    /// The user's folder for state, where the default store lies.
    state: Option<PathBuf>,
    /// The name of the Lambda function that this is.
    function: Option<String>,
    /// The user's folder for configuration, where the command looks for its file.
    config: Option<PathBuf>,
}

impl Values {
    /// What the process's environment says.
    ///
    /// # Errors
    /// [`BadConfig`]: a `MATSU_*` name that does not exist, or a value that is no text.
    #[expect(clippy::disallowed_methods, reason = "this is the only reader of the environment")]
    pub fn from_environment() -> Result<Self, BadConfig> {
        Self::from_vars(std::env::vars_os())
    }

    /// What such an environment says.
    ///
    /// # Errors
    /// As [`Values::from_environment`].
    pub fn from_vars(vars: impl Iterator<Item = (OsString, OsString)>) -> Result<Self, BadConfig> {
        let mut values = Self::default();
        let mut home = None;
        for (name, text) in vars {
            let Some(name) = name.to_str() else { continue };
            match name {
                "XDG_STATE_HOME" if !text.is_empty() => values.state = Some(PathBuf::from(text)),
                "AWS_LAMBDA_FUNCTION_NAME" => values.function = text.into_string().ok().filter(|name| !name.is_empty()),
                "XDG_CONFIG_HOME" if !text.is_empty() => values.config = Some(PathBuf::from(text)),
                "HOME" if !text.is_empty() => home = Some(PathBuf::from(text)),
                _ if name.starts_with("MATSU_") && !FOREIGN.iter().any(|f| name.starts_with(f)) => {
                    let text = text
                        .into_string()
                        .map_err(|_| BadConfig(format!("{name} is not UTF-8 text")))?;
                    values.insert(name, text, Source::Environment)?;
                }
                _ => {}
            }
        }
        values.config = values.config.or_else(|| Some(home.as_ref()?.join(".config")));
        values.state = values.state.or_else(|| Some(home?.join(".local/state")));
        Ok(values)
    }

    /// Sets a value; it wins over what was set before.
    ///
    /// # Errors
    /// [`BadConfig`]: there is no such name.
    pub fn insert(&mut self, name: &str, text: String, source: Source) -> Result<(), BadConfig> {
        let Some((name, _)) = NAMES.iter().find(|(known, _)| *known == name) else {
            let near = nearest(name);
            return Err(BadConfig(format!(
                "{name} is not a setting of matsu; did you mean {near}?"
            )));
        };
        self.set.insert(name, (text, source));
        Ok(())
    }

    /// Sets a value that a file holds under `key`, the name in lower case without `MATSU_`; what is set already stays.
    ///
    /// # Errors
    /// [`BadConfig`]: there is no such key.
    pub fn insert_from_file(&mut self, key: &str, text: String, file: &Path) -> Result<(), BadConfig> {
        let Some(name) = Self::name(key) else {
            let near = key_of(nearest(&format!("MATSU_{}", key.to_uppercase())));
            return Err(BadConfig(format!(
                "{key} in {} is not a setting of matsu; did you mean {near}?",
                file.display()
            )));
        };
        if self.optional(name).is_none() {
            self.set.insert(name, (text, Source::File(file.to_owned())));
        }
        Ok(())
    }

    /// The name of the setting that a file holds under `key`.
    #[must_use]
    pub fn name(key: &str) -> Option<&'static str> {
        NAMES.into_iter().map(|(name, _)| name).find(|name| key_of(name) == key)
    }

    /// The text under a name, as it came.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.set.get(name).map(|(text, _)| text.as_str())
    }

    /// The text of an optional value; empty, blank, `None` and `null` count as unset.
    #[must_use]
    pub fn optional(&self, name: &str) -> Option<String> {
        self.text(name)
            .map(str::trim)
            .filter(|text| !matches!(*text, "" | "None" | "null"))
            .map(str::to_owned)
    }

    /// Where the value under a name is from, if it is set.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.set.get(name).map(|(_, source)| source)
    }

    /// Every name, with what it takes.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        NAMES.into_iter()
    }

    /// The default folder for state.
    #[must_use]
    pub fn state(&self) -> Option<&PathBuf> {
        self.state.as_ref()
    }

    /// The name of the Lambda function that this is, if it is one.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// The user's folder for configuration.
    #[must_use]
    pub fn config(&self) -> Option<&PathBuf> {
        self.config.as_ref()
    }

    /// An error about a value, naming it as its source does, and what it takes.
    #[must_use]
    pub fn bad(&self, name: &'static str, why: &str) -> BadConfig {
        BadConfig(format!("{} {why}", self.shown(name)))
    }

    /// A name as the source of its value writes it.
    fn shown(&self, name: &str) -> String {
        match self.source(name) {
            Some(Source::Flag(flag)) => (*flag).to_owned(),
            Some(Source::File(path)) => format!("{} in {}", key_of(name), path.display()),
            Some(Source::Environment) | None => name.to_owned(),
        }
    }

    /// An error in which settings stand by their names, with each as the source of its value writes it.
    pub(super) fn as_written(&self, bad: BadConfig) -> BadConfig {
        let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
        let mut text = String::new();
        let mut rest = bad.0.as_str();
        while let Some(at) = rest.find("MATSU_") {
            let end = rest[at..].find(|c| !is_name(c)).map_or(rest.len(), |end| at + end);
            text.push_str(&rest[..at]);
            text.push_str(&self.shown(&rest[at..end]));
            rest = &rest[end..];
        }
        BadConfig(text + rest)
    }

    /// What a name takes.
    #[must_use]
    pub fn takes(name: &str) -> &'static str {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map_or("", |(_, takes)| takes)
    }
}

/// A name as a key in a file: in lower case, without `MATSU_`.
fn key_of(name: &str) -> String {
    name.trim_start_matches("MATSU_").to_lowercase()
}

/// The listed name with the most letters in common at both ends.
fn nearest(name: &str) -> &'static str {
    let common = |known: &str| {
        let front = known.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        let back = known
            .bytes()
            .rev()
            .zip(name.bytes().rev())
            .take_while(|(a, b)| a == b)
            .count();
        front + back
    };
    NAMES
        .iter()
        .map(|(known, _)| *known)
        .max_by_key(|known| common(known))
        .unwrap_or("MATSU_STORE")
}
