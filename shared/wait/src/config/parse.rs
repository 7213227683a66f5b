//! Each value, checked.

use std::path::{Path, PathBuf};

use super::values::Values;
use super::{BadConfig, LogFormat, QueueUrl, Role, StoreUrl};
use crate::duration;
use crate::event::OnObjectCreated;
use crate::job::{CopySettings, Tags};
use crate::notify::Webhook;
use crate::target::http::Allow;
use crate::wait::Policy;
use crate::web::Roots;

/// A store prefix longer than this leaves too little of S3's 1,024 bytes for the targets.
const LONGEST_PREFIX: usize = 200;

pub(super) fn store(values: &Values, role: Role) -> Result<StoreUrl, BadConfig> {
    let Some(text) = values.optional("MATSU_STORE") else {
        return match (role, values.state()) {
            (Role::Function, _) => Err(BadConfig(
                "MATSU_STORE is not set: a function takes s3://BUCKET/PREFIX".to_owned(),
            )),
            (Role::Command, Some(state)) => Ok(StoreUrl::Sqlite(state.join("matsu/matsu.db"))),
            (Role::Command, None) => Err(BadConfig(
                "MATSU_STORE is not set and there is no HOME: it takes s3://BUCKET/PREFIX or sqlite:PATH".to_owned(),
            )),
        };
    };
    match store_url(&text) {
        Ok(StoreUrl::Sqlite(_)) if role == Role::Function => Err(values.bad(
            "MATSU_STORE",
            "is a file: a function keeps none, it takes s3://BUCKET/PREFIX",
        )),
        Ok(store) => Ok(store),
        Err(why) => Err(values.bad("MATSU_STORE", &why)),
    }
}

/// Reads the URL of a store.
///
/// # Errors
/// What is wrong, to be put behind the name of the value.
pub fn store_url(text: &str) -> Result<StoreUrl, String> {
    let takes = "it takes s3://BUCKET/PREFIX or sqlite:PATH";
    if let Some(path) = text.strip_prefix("sqlite:") {
        return Ok(StoreUrl::Sqlite(
            absolute(path).ok_or_else(|| format!("{text:?} names no file: {takes}"))?,
        ));
    }
    if text.starts_with("dynamodb:") {
        return Err(format!(
            "{text:?} is a DynamoDB table, which this version does not support: {takes}"
        ));
    }
    let Some(rest) = text.strip_prefix("s3://") else {
        return Err(format!("{text:?} is not a store: {takes}"));
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = prefix.trim_end_matches('/');
    if bucket.is_empty() {
        return Err(format!("{text:?} names no bucket: {takes}"));
    }
    if prefix.len() > LONGEST_PREFIX || prefix.starts_with('/') || prefix.contains("//") {
        return Err(format!(
            "{text:?} has a prefix that is too long or has an empty part: it takes at most {LONGEST_PREFIX} bytes"
        ));
    }
    Ok(StoreUrl::S3 {
        bucket: bucket.to_owned(),
        prefix: prefix.to_owned(),
    })
}

pub(super) fn queue(values: &Values, role: Role, store: &StoreUrl) -> Result<QueueUrl, BadConfig> {
    let Some(text) = values.optional("MATSU_QUEUE") else {
        return match (role, store) {
            (Role::Command, StoreUrl::Sqlite(path)) => Ok(QueueUrl::Sqlite(path.clone())),
            _ => Err(BadConfig(
                "MATSU_QUEUE is not set: it takes the URL of an SQS queue".to_owned(),
            )),
        };
    };
    match queue_url(&text) {
        Ok(QueueUrl::Sqlite(_)) if role == Role::Function => Err(values.bad(
            "MATSU_QUEUE",
            "is a file: a function keeps none, it takes the URL of an SQS queue",
        )),
        Ok(queue) => Ok(queue),
        Err(why) => Err(values.bad("MATSU_QUEUE", &why)),
    }
}

/// Reads the URL of a queue.
///
/// # Errors
/// What is wrong, to be put behind the name of the value.
pub fn queue_url(text: &str) -> Result<QueueUrl, String> {
    let takes = "it takes the URL of an SQS queue or sqlite:PATH";
    if let Some(path) = text.strip_prefix("sqlite:") {
        return Ok(QueueUrl::Sqlite(
            absolute(path).ok_or_else(|| format!("{text:?} names no file: {takes}"))?,
        ));
    }
    let path = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some(path) = path.filter(|rest| rest.matches('/').count() >= 2 && !rest.ends_with('/')) else {
        return Err(format!("{text:?} is not a queue: {takes}"));
    };
    if path.ends_with(".fifo") {
        return Err(format!(
            "{text:?} is a FIFO queue, which has no delay for each message: it takes a standard queue"
        ));
    }
    Ok(QueueUrl::Sqs(text.to_owned()))
}

pub(super) fn dlq(values: &Values) -> Result<Option<String>, BadConfig> {
    match values.optional("MATSU_DLQ").map(|text| queue_url(&text)) {
        None => Ok(None),
        Some(Ok(QueueUrl::Sqs(url))) => Ok(Some(url)),
        Some(Ok(QueueUrl::Sqlite(_))) => Err(values.bad("MATSU_DLQ", "is a file: it takes the URL of an SQS queue")),
        Some(Err(why)) => Err(values.bad("MATSU_DLQ", &why)),
    }
}

/// A path made absolute; none where there is none.
fn absolute(path: &str) -> Option<PathBuf> {
    (!path.is_empty() && !path.contains('\0')).then_some(())?;
    std::path::absolute(Path::new(path)).ok()
}

pub(super) fn policy(values: &Values) -> Result<Policy, BadConfig> {
    let default = Policy::default();
    let duration = |name, default| match values.text(name) {
        None => Ok(default),
        Some(text) => duration::parse(text).map_err(|bad| values.bad(name, &format!("is wrong: {bad}"))),
    };
    let policy = Policy {
        min_delay: duration("MATSU_MIN_DELAY", default.min_delay)?,
        max_delay: duration("MATSU_MAX_DELAY", default.max_delay)?,
        max_count: match values.text("MATSU_MAX_COUNT") {
            None => default.max_count,
            Some(text) => count(text).map_err(|why| values.bad("MATSU_MAX_COUNT", &why))?,
        },
        timeout: duration("MATSU_TIMEOUT", default.timeout)?,
        ..default
    };
    policy.check().map_err(|why| {
        BadConfig(format!(
            "MATSU_MIN_DELAY, MATSU_MAX_DELAY and MATSU_MAX_COUNT do not go together: {why}"
        ))
    })
}

/// A whole number from 1 that fits 32 bits, in plain digits.
fn count(text: &str) -> Result<u32, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits && number > 0 => Ok(number),
        _ => Err(format!("is {text:?}: it takes a whole number from 1 to {}", u32::MAX)),
    }
}

pub(super) fn webhook(values: &Values) -> Result<Option<Webhook>, BadConfig> {
    match values.text("MATSU_SLACK_WEBHOOK") {
        None => Ok(None),
        Some(text) => Webhook::parse(text).map_err(BadConfig),
    }
}

pub(super) fn http_allow(values: &Values) -> Result<Allow, BadConfig> {
    match values.optional("MATSU_HTTP_ALLOW") {
        None => Ok(Allow::default()),
        Some(text) => Allow::parse(&text).map_err(|why| values.bad("MATSU_HTTP_ALLOW", &why)),
    }
}

pub(super) fn roots(values: &Values) -> Result<Roots, BadConfig> {
    const TAKES: &str = "it takes the path of a PEM file with certificates";
    let Some(path) = values.optional("MATSU_CA_BUNDLE") else {
        return Ok(Roots::default());
    };
    let pem = std::fs::read(&path).map_err(|fault| fault.to_string());
    let roots = pem
        .map_err(|fault| format!("cannot be read ({fault})"))
        .and_then(|pem| Roots::of_pem(&pem));
    roots.map_err(|why| values.bad("MATSU_CA_BUNDLE", &format!("is {path:?}, which {why}: {TAKES}")))
}

pub(super) fn copy(values: &Values) -> Result<CopySettings, BadConfig> {
    let default = CopySettings::default();
    let to_region = values.optional("MATSU_COPY_TO");
    if to_region.as_ref().is_some_and(|text| text.contains(',')) {
        return Err(values.bad("MATSU_COPY_TO", "names several regions: this version takes one"));
    }
    let settings = CopySettings {
        to_region,
        name: values.optional("MATSU_COPY_NAME").unwrap_or(default.name),
        kms_key: values.optional("MATSU_COPY_KMS_KEY"),
        tags: match values.optional("MATSU_COPY_TAGS") {
            None => Tags::None,
            Some(text) => Tags::parse(&text).map_err(|why| values.bad("MATSU_COPY_TAGS", &why))?,
        },
    };
    settings.check().map_err(|why| {
        BadConfig(format!(
            "MATSU_COPY_NAME, MATSU_COPY_TO or MATSU_COPY_TAGS is wrong: {why}"
        ))
    })?;
    Ok(settings)
}

pub(super) fn on_object_created(values: &Values) -> Result<OnObjectCreated, BadConfig> {
    match values.optional("MATSU_ON_OBJECT_CREATED").as_deref() {
        None | Some("wait-deleted") => Ok(OnObjectCreated::WaitDeleted),
        Some("ignore") => Ok(OnObjectCreated::Ignore),
        Some(other) => Err(values.bad(
            "MATSU_ON_OBJECT_CREATED",
            &format!("is {other:?}: it takes wait-deleted or ignore"),
        )),
    }
}

pub(super) fn log(values: &Values, role: Role) -> Result<LogFormat, BadConfig> {
    match values.optional("MATSU_LOG").as_deref() {
        None if role == Role::Function => Ok(LogFormat::Json),
        None | Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(other) => Err(values.bad("MATSU_LOG", &format!("is {other:?}: it takes text or json"))),
    }
}

pub(super) fn log_level(values: &Values, role: Role) -> Result<&'static str, BadConfig> {
    let default = if role == Role::Function { "info" } else { "warn" };
    let Some(text) = values.optional("MATSU_LOG_LEVEL") else {
        return Ok(default);
    };
    ["error", "warn", "info", "debug"]
        .into_iter()
        .find(|level| *level == text)
        .ok_or_else(|| {
            values.bad(
                "MATSU_LOG_LEVEL",
                &format!("is {text:?}: it takes error, warn, info or debug"),
            )
        })
}

/// Settings that this version does not act on. It must not start as if it did where more would be copied than people
/// want; where less is done, the names are answered, to be told.
pub(super) fn not_yet(values: &Values) -> Result<Vec<&'static str>, BadConfig> {
    const FILTERS: [&str; 3] = ["MATSU_COPY_INCLUDE", "MATSU_COPY_EXCLUDE", "MATSU_COPY_IF_TAG"];
    const OTHERS: [&str; 2] = ["MATSU_COPY_LIMIT", "MATSU_COPY_KEEP"];
    if let Some(name) = FILTERS.into_iter().find(|name| values.optional(name).is_some()) {
        return Err(values.bad(name, "is set, but this version does not act on it yet: unset it"));
    }
    Ok(OTHERS
        .into_iter()
        .filter(|name| values.optional(name).is_some())
        .collect())
}
