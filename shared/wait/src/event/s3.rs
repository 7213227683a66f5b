//! Changes of S3 objects: notification records (keys encoded as in forms) and EventBridge events (keys as they are).

use serde_json::json;

use super::fields::{Fields, quoted};
use super::wrapped::Place;
use super::{BadEvent, OnObjectCreated, Rules, Wanted};
use crate::start::Request;
use crate::target::Target;

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Created,
    Removed,
}

/// An object that changed.
struct Object<'a> {
    bucket: &'a str,
    key: String,
    /// Empty: none that can be compared.
    sequencer: String,
    /// What tells this change from any other, where the event says anything of the kind.
    identity: Option<String>,
}

/// Reads a record of a notification. With a change comes its sequencer, for the order among others.
pub(super) fn record(record: &Fields<'_>, place: &Place<'_>) -> Result<(Wanted, Option<String>), BadEvent> {
    let name = record.need("eventName")?.trim();
    let name = name.strip_prefix("s3:").unwrap_or(name);
    let change = match name.split(':').next() {
        Some("ObjectCreated") => Change::Created,
        Some("ObjectRemoved" | "LifecycleExpiration") => Change::Removed,
        _ => return Ok((Wanted::Ignored(format!("{} is not acted on", quoted(name))), None)),
    };
    let s3 = record.object("s3")?;
    let bucket = s3.object("bucket")?;
    let object = s3.object("object")?;
    let key = decode(object.literal("key")?)
        .map_err(|e| BadEvent(format!("{} {e}: it takes a form-encoded key", object.path("key"))))?;
    let sequencer = object.hint("sequencer");
    let identity = sequencer.map(str::to_owned).or_else(|| {
        let rest = [object.hint("eTag"), object.hint("versionId"), record.hint("eventTime")];
        let rest: Vec<&str> = rest.into_iter().flatten().collect();
        (!rest.is_empty()).then(|| rest.join(","))
    });
    let object = Object {
        bucket: bucket.need("name")?,
        identity: identity.map(|id| format!("s3:{}/{key}#{id}", bucket.hint("name").unwrap_or_default())),
        key,
        sequencer: comparable(sequencer),
    };
    wanted(change, &object, place)
}

/// Reads an EventBridge event of S3.
pub(super) fn event_bridge(
    kind: &str,
    event: &Fields<'_>,
    place: &Place<'_>,
) -> Result<(Wanted, Option<String>), BadEvent> {
    let change = match kind {
        "Object Created" => Change::Created,
        "Object Deleted" => Change::Removed,
        _ => return Ok((Wanted::Ignored(format!("{} is not acted on", quoted(kind))), None)),
    };
    let detail = event.object("detail")?;
    let object = detail.object("object")?;
    let object = Object {
        bucket: detail.object("bucket")?.need("name")?,
        key: object.literal("key")?.to_owned(),
        sequencer: comparable(object.hint("sequencer")),
        identity: event.hint("id").map(str::to_owned),
    };
    wanted(change, &object, place)
}

fn wanted(change: Change, object: &Object<'_>, place: &Place<'_>) -> Result<(Wanted, Option<String>), BadEvent> {
    let rules = place.rules;
    let target = json!({"kind": "s3-object", "bucket": object.bucket, "key": object.key, "until": "deleted"});
    let target = Target::from_value(&target, None, &rules.here).map_err(|e| BadEvent(e.to_string()))?;
    let ignored = |why: &str| Ok((Wanted::Ignored(format!("{target} {why}")), None));
    if is_our_own(object, rules) {
        return ignored("belongs to our own store");
    }
    let wanted = match change {
        Change::Removed => Wanted::Wake(target),
        Change::Created if object.key.ends_with('/') => return ignored("was created, but only marks a folder"),
        Change::Created => match rules.on_object_created {
            OnObjectCreated::Ignore => return ignored("was created: MATSU_ON_OBJECT_CREATED is ignore"),
            OnObjectCreated::WaitDeleted => Wanted::Start(Request {
                target,
                job: None,
                policy: rules.policy.clone(),
                origin: object.identity.clone().unwrap_or_else(|| place.origin.clone()),
                count: 1,
                seen: None,
            }),
        },
    };
    Ok((wanted, Some(object.sequencer.clone())))
}

/// Whether the object lies under our own store's prefix. The prefix ends where a part of the path does.
fn is_our_own(object: &Object<'_>, rules: &Rules) -> bool {
    let Some((bucket, prefix)) = &rules.own_store else {
        return false;
    };
    let prefix = prefix.trim_end_matches('/');
    bucket == object.bucket
        && (prefix.is_empty()
            || object
                .key
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with('/')))
}

/// A sequencer such that the order of texts is the order of changes: sequencers are hexadecimal numbers of different
/// lengths, compared as if the shorter ones ended in zeros.
fn comparable(sequencer: Option<&str>) -> String {
    match sequencer {
        Some(text) if text.bytes().all(|b| b.is_ascii_hexdigit()) => text.trim_end_matches('0').to_ascii_lowercase(),
        _ => String::new(),
    }
}

/// Decodes a form-encoded key, once: `+` is a space, then `%XX` are bytes of UTF-8.
fn decode(encoded: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => hex(rest.next())
                .zip(hex(rest.next()))
                .map(|(high, low)| high << 4 | low)
                .ok_or_else(|| format!("{} has a % without two hexadecimal digits", quoted(encoded)))?,
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8 once decoded", quoted(encoded)))
}

fn hex(digit: Option<u8>) -> Option<u8> {
    let value = char::from(digit?).to_digit(16)?;
    u8::try_from(value).ok()
}
