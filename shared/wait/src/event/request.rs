//! Requests in JSON: what people and schedulers write, what stands in raw queue messages, and requests that were put off.

use std::collections::BTreeMap;

use matsu_lock::Token;
use serde_json::{Map, Value, json};

use super::fields::{Fields, quoted};
use super::{BadEvent, Rules, Wanted, brief};
use crate::duration;
use crate::job::{CopyRequest, Job, Tags};
use crate::message::{ascii, bytes_in_body};
use crate::start::Request;
use crate::target::{BadTarget, Here, Target, Until};
use crate::wait::Policy;

/// The fields that name what is waited for; one of them, or `job`, makes a request.
const NAMING: [&str; 3] = ["target", "snapshot", "bucket"];

/// The other fields that mean something.
const BESIDE: [&str; 13] = [
    "job",
    "key",
    "until",
    "region",
    "policy",
    "count",
    "origin",
    "seen",
    "source",
    "source_region",
    "to",
    "kms_key",
    "tags",
];

/// The longest request, in bytes as messages carry it: beside what earlier waits for its target left, it has to go into
/// every message of its wait.
const LONGEST: usize = 32 * 1_024;

/// The same for a copy, of which its preparation makes a little more. All tags that a snapshot can have fit.
const LONGEST_COPY: usize = 24 * 1_024;

/// The longest identity: those of earlier waits are remembered. The longest that S3 gives fits.
const LONGEST_ORIGIN: usize = 6_400;

/// Reads a request in JSON, also a raw queue message:
///
/// * `{"target": …, "until"?, "region"?, "policy"?, "count"?, "origin"?}` — a wait;
/// * `{"snapshot": NAME, …}` and `{"bucket": B, "key": K, …}` — the same in short, the second until it is gone;
/// * `{"job": "rds-copy", "source": …, "to"?, "source_region"?, "region"?, "kms_key"?, "tags"?, "policy"?}` — a copy,
///   `region` being where it goes;
/// * `{"target": …, "job": {…}, "origin": …, "seen": …, …}` — a request that was put off, as [`raw`] wrote it.
///
/// Unset are also null and the texts that are blank, `None` or `null`. What `policy` leaves out is as in the rules.
/// Unknown fields are passed over.
///
/// # Errors
/// [`BadEvent`], naming the field and what it takes.
pub fn direct(value: &Value, rules: &Rules) -> Result<Wanted, BadEvent> {
    request(&Fields::of(value, "")?, rules, &rules.origin)
}

/// A request as a raw queue message, to be read back by [`direct`].
#[must_use]
pub fn raw(request: &Request) -> Value {
    let mut fields = Map::new();
    fields.insert("target".to_owned(), json!(request.target));
    if let Some(job) = &request.job {
        fields.insert("job".to_owned(), json!(job));
    }
    fields.insert("policy".to_owned(), json!(request.policy));
    fields.insert("count".to_owned(), json!(request.count));
    fields.insert("origin".to_owned(), json!(request.origin));
    if let Some(seen) = &request.seen {
        fields.insert("seen".to_owned(), json!(seen.as_str()));
    }
    Value::Object(fields)
}

/// The body to send for a raw queue message: JSON in printable ASCII.
#[must_use]
pub fn raw_body(request: &Request) -> String {
    ascii(&raw(request).to_string())
}

/// Reads a request whose identity is `origin` unless it says one itself.
pub(super) fn request(fields: &Fields<'_>, rules: &Rules, origin: &str) -> Result<Wanted, BadEvent> {
    let is_known = |name: &str| NAMING.contains(&name) || BESIDE.contains(&name);
    for (name, _) in fields.all().iter().filter(|(name, _)| !is_known(name)) {
        tracing::debug!(field = fields.path(name), "an unknown field is passed over");
    }
    let origin = fields.text("origin")?.unwrap_or(origin).to_owned();
    if origin.chars().map(bytes_in_body).sum::<usize>() > LONGEST_ORIGIN {
        return Err(fields.wrong("origin", &format!("at most {LONGEST_ORIGIN} bytes")));
    }
    let named: Vec<&str> = NAMING.into_iter().filter(|n| fields.get(n).is_some()).collect();
    match (fields.get("job"), named.as_slice()) {
        (Some(Value::String(word)), []) => {
            if word.trim() != "rds-copy" {
                return Err(fields.wrong("job", "rds-copy"));
            }
            within(LONGEST_COPY, &Value::Object(fields.all().clone()))?;
            Ok(Wanted::Copy {
                request: copy(fields)?,
                policy: policy(fields, &rules.policy)?,
                origin,
            })
        }
        (Some(Value::String(_)), [name, ..]) => Err(BadEvent(format!(
            "{} and {name} do not go together: what is waited for after a copy is the copy",
            fields.path("job")
        ))),
        (job, [name]) => {
            // Its identity has a bound of its own, and what it was put off for comes and goes.
            let bare = Request {
                target: target(name, fields, rules)?,
                job: job.map(|job| read_job(job, fields)).transpose()?,
                policy: policy(fields, &rules.policy)?,
                origin: String::new(),
                count: count(fields)?,
                seen: None,
            };
            within(LONGEST, &raw(&bare))?;
            Ok(Wanted::Start(Request {
                origin,
                seen: fields.text("seen")?.map(Token::new),
                ..bare
            }))
        }
        (_, [one, other, ..]) => Err(BadEvent(format!(
            "{} and {other} do not go together: both name what is waited for",
            fields.path(one)
        ))),
        (Some(_), []) => Err(fields.wrong("job", "rds-copy, or beside a target an object with kind")),
        (None, []) => Err(nothing(fields)),
    }
}

/// Whether a request is short enough.
fn within(longest: usize, request: &Value) -> Result<(), BadEvent> {
    match ascii(&request.to_string()).len() {
        length if length > longest => Err(BadEvent(format!(
            "the request has {length} bytes: it takes at most {longest}"
        ))),
        _ => Ok(()),
    }
}

/// Why an object is no request, and no event either.
fn nothing(fields: &Fields<'_>) -> BadEvent {
    if let Some(name) = NAMING.into_iter().chain(["job"]).find(|name| fields.has(name)) {
        return fields.wrong(name, "what is to be waited for or done");
    }
    let names: Vec<String> = fields.all().keys().take(8).map(|name| quoted(name)).collect();
    let names = if names.is_empty() {
        "no field".to_owned()
    } else {
        format!("the fields {}", names.join(", "))
    };
    BadEvent(format!(
        "it has {names}: it takes target, job, snapshot, or bucket and key; or Records, or detail-type"
    ))
}

fn target(name: &str, fields: &Fields<'_>, rules: &Rules) -> Result<Target, BadEvent> {
    let here = &rules.here;
    let until = match fields.text("until")?.map(str::trim) {
        None => None,
        Some("exists") => Some(Until::Exists),
        Some("deleted") => Some(Until::Deleted),
        Some(_) => return Err(fields.wrong("until", "exists or deleted")),
    };
    let region = fields.text("region")?.map(str::trim);
    let here = Here {
        region: region.map(str::to_owned).or_else(|| here.region.clone()),
        account: here.account.clone(),
    };
    let target = match name {
        "bucket" => {
            let until = until.unwrap_or(Until::Deleted).word();
            let whole = json!({
                "kind": "s3-object", "bucket": fields.need("bucket")?, "key": fields.literal("key")?, "until": until,
            });
            Target::from_value(&whole, None, &here)
        }
        "snapshot" => {
            let id = fields.need("snapshot")?;
            let whole = if id.starts_with("arn:") {
                id.to_owned()
            } else {
                format!("rds:snapshot/{id}")
            };
            Target::parse(&whole, until, &here)
        }
        _ => Target::from_value(fields.get(name).unwrap_or(&Value::Null), until, &here),
    };
    let target = target.map_err(|e| bad_target(name, fields, &e))?;
    if matches!(target, Target::File(_)) && !rules.files {
        return Err(BadEvent(format!(
            "{} is a file, which only a queue of the same machine can wait for",
            fields.path(name)
        )));
    }
    if let Target::Http(http) = &target {
        http.check(&rules.http_allow)
            .map_err(|e| bad_target(name, fields, &e))?;
    }
    match (region, target.region()) {
        (Some(region), Some(own)) if region != own => Err(BadEvent(format!(
            "{} is {}, but the target says {own}",
            fields.path("region"),
            quoted(region)
        ))),
        _ => Ok(target),
    }
}

/// Names the field, unless the sentence does already.
fn bad_target(name: &str, fields: &Fields<'_>, bad: &BadTarget) -> BadEvent {
    match fields.get(name) {
        Some(Value::String(_)) => BadEvent(format!("{}: {bad}", fields.path(name))),
        _ => BadEvent(bad.to_string()),
    }
}

fn read_job(job: &Value, fields: &Fields<'_>) -> Result<Job, BadEvent> {
    if !job.is_object() {
        return Err(fields.wrong("job", "rds-copy, or beside a target an object with kind"));
    }
    serde_json::from_value(job.clone()).map_err(|e| BadEvent(brief(format!("{}: {e}", fields.path("job")))))
}

fn copy(fields: &Fields<'_>) -> Result<CopyRequest, BadEvent> {
    let trimmed = |name: &str| Ok(fields.text(name)?.map(|text| text.trim().to_owned()));
    Ok(CopyRequest {
        by_event: false,
        source: trimmed("source")?.ok_or_else(|| fields.wrong("source", "the id or ARN of a snapshot"))?,
        source_region: trimmed("source_region")?,
        to: trimmed("to")?,
        to_region: trimmed("region")?,
        kms_key: trimmed("kms_key")?,
        tags: tags(fields)?,
    })
}

fn tags(fields: &Fields<'_>) -> Result<Option<Tags>, BadEvent> {
    const TAKES: &str = "copy, k=v,… or an object of texts";
    let these: Option<BTreeMap<String, String>> = match fields.get("tags") {
        None => return Ok(None),
        Some(Value::String(text)) => {
            return match Tags::parse(text) {
                Ok(Tags::None) => Ok(None),
                Ok(tags) => Ok(Some(tags)),
                Err(_) => Err(fields.wrong("tags", TAKES)),
            };
        }
        Some(Value::Object(map)) => map
            .iter()
            .map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())))
            .collect(),
        Some(_) => None,
    };
    let these = these
        .filter(|tags| tags.keys().all(|k| !k.is_empty()))
        .ok_or_else(|| fields.wrong("tags", TAKES))?;
    Ok((!these.is_empty()).then_some(Tags::These(these)))
}

/// The number of the first pass: absent or 0 is 1.
fn count(fields: &Fields<'_>) -> Result<u32, BadEvent> {
    match fields.get("count") {
        None => Ok(1),
        Some(value) => whole(value)
            .map(|count| count.max(1))
            .ok_or_else(|| fields.wrong("count", "a whole number from 1 (0 counts as 1)")),
    }
}

fn whole(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

/// The policy: what the request says, over what holds anyway.
fn policy(fields: &Fields<'_>, anyway: &Policy) -> Result<Policy, BadEvent> {
    let Some(value) = fields.get("policy") else {
        return Ok(anyway.clone());
    };
    let given = Fields::of(value, &fields.path("policy"))?;
    let mut policy = anyway.clone();
    for (name, value) in given.all() {
        let is_set = given.get(name).is_some();
        match name.as_str() {
            "min_delay" if is_set => policy.min_delay = delay(&given, name)?,
            "max_delay" if is_set => policy.max_delay = delay(&given, name)?,
            "timeout" if is_set => policy.timeout = delay(&given, name)?,
            "max_count" if is_set => {
                policy.max_count = whole(value).ok_or_else(|| given.wrong(name, "a whole number from 1"))?;
            }
            "min_delay" | "max_delay" | "timeout" | "max_count" => {}
            // Perhaps of a later release: it goes with the wait.
            _ => {
                policy.extra.insert(name.clone(), value.clone());
            }
        }
    }
    policy
        .check()
        .map_err(|e| BadEvent(format!("{}: {e}", fields.path("policy"))))
}

fn delay(given: &Fields<'_>, name: &str) -> Result<std::time::Duration, BadEvent> {
    let takes = "a duration such as 30s, 5m or 1h30m";
    let text = given
        .text(name)
        .map_err(|_| given.wrong(name, takes))?
        .unwrap_or_default();
    duration::parse(text).map_err(|_| given.wrong(name, takes))
}
