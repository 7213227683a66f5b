//! An S3 object, there or gone.
//!
//! Looked at with `HEAD`, whose answers have no body: the status and a few headers are all there is. An answer that is
//! neither *there* nor *surely absent* never completes a wait.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use serde::{Deserialize, Serialize};

use super::{BadTarget, Kind, Seen, Targets, Until};
use crate::aws::{ANY_REGION, Aws, Fault, FaultKind};
use crate::wait::Extra;

/// An object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct S3Object {
    /// The bucket.
    pub bucket: String,
    /// The key, literal, byte for byte.
    pub key: String,
    /// Whether it is to be there or gone.
    #[serde(default)]
    pub until: Until,
    /// Fields of a later release; the key passes over them.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The longest key, in bytes of UTF-8 (S3 user guide, "Naming Amazon S3 objects").
const LONGEST_KEY: usize = 1_024;

impl S3Object {
    pub(super) fn parse(text: &str, until: Option<Until>) -> Result<Self, BadTarget> {
        let rest = text.strip_prefix("s3://").unwrap_or(text);
        let (bucket, key) = rest
            .split_once('/')
            .ok_or_else(|| BadTarget::new(format!("{text} names no key: it takes s3://BUCKET/KEY")))?;
        Self::new(bucket, key, until.unwrap_or_default())
    }

    pub(super) fn new(bucket: &str, key: &str, until: Until) -> Result<Self, BadTarget> {
        if let Err(why) = check_bucket(bucket) {
            return Err(BadTarget::new(format!("{bucket:?} cannot be a bucket: {why}")));
        }
        if key.is_empty() {
            return Err(BadTarget::new(format!(
                "s3://{bucket}/ names no key: it takes s3://BUCKET/KEY"
            )));
        }
        if key.len() > LONGEST_KEY {
            return Err(BadTarget::new(format!(
                "the key in s3://{bucket} has {} bytes: it takes at most {LONGEST_KEY}",
                key.len()
            )));
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            until,
            extra: Extra::new(),
        })
    }

    async fn head(&self, aws: &Aws, region: &str) -> Head {
        let request = aws.s3(Some(region)).head_object().bucket(&self.bucket).key(&self.key);
        request
            .send()
            .await
            .map_or_else(|e| Head::of(&e, region), |_| Head::There)
    }

    async fn head_bucket(&self, aws: &Aws, region: &str) -> Head {
        let request = aws.s3(Some(region)).head_bucket().bucket(&self.bucket);
        request
            .send()
            .await
            .map_or_else(|e| Head::of(&e, region), |_| Head::There)
    }
}

#[async_trait]
impl Kind for S3Object {
    fn word(&self) -> &'static str {
        "s3-object"
    }

    fn key(&self) -> String {
        format!("s3-object={}={}/{}", self.until.word(), self.bucket, self.key)
    }

    fn until(&self) -> Option<Until> {
        Some(self.until)
    }

    /// Looks at the object, in the bucket's own region. An absent object is *deleted* only in a bucket that exists.
    async fn look(&self, from: &Targets) -> Seen {
        let Some(aws) = from.aws.as_deref() else {
            return Targets::without_aws(self);
        };
        let home = aws.region().unwrap_or(ANY_REGION);
        let known = from.regions.of(&self.bucket);
        let mut region = known.unwrap_or_else(|| home.to_owned());
        let mut object = self.head(aws, &region).await;
        if let Head::Elsewhere(other) = object {
            region = other;
            object = self.head(aws, &region).await;
            if !matches!(object, Head::Elsewhere(_)) {
                from.regions.learn(&self.bucket, &region);
            }
        }
        let bucket = match (self.until, &object) {
            (Until::Deleted, Head::Absent { in_bucket: false }) => Some(self.head_bucket(aws, &region).await),
            _ => None,
        };
        classify(self, object, bucket)
    }
}

/// The regions of buckets that turned out to be elsewhere.
#[derive(Debug, Default)]
pub(super) struct Regions(Mutex<HashMap<String, String>>);

impl Regions {
    fn of(&self, bucket: &str) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(bucket).cloned()
    }

    fn learn(&self, bucket: &str, region: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(bucket.to_owned(), region.to_owned());
    }
}

/// What the answer to a `HEAD` means.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Head {
    There,
    /// Not there, and whether the answer itself proves that the bucket is.
    Absent {
        in_bucket: bool,
    },
    /// The bucket is in this region.
    Elsewhere(String),
    /// 403: S3 says so of absent objects, too, to whoever may not list the bucket.
    Denied,
    NoAnswer(String),
}

impl Head {
    fn of<E>(error: &SdkError<E, HttpResponse>, asked: &str) -> Self
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        let header = |name: &str| error.raw_response().and_then(|raw| raw.headers().get(name));
        Self::read(
            &Fault::of(error),
            header("x-amz-delete-marker") == Some("true"),
            header("x-amz-bucket-region"),
            asked,
        )
    }

    fn read(fault: &Fault, marker: bool, region: Option<&str>, asked: &str) -> Self {
        if matches!(fault.kind, FaultKind::Passing) {
            return Self::NoAnswer(fault.message.clone());
        }
        match (fault.status, region) {
            // An answer that could not be read as a whole is still an answer.
            (Some(200), _) => Self::There,
            (Some(404), _) => Self::Absent { in_bucket: marker },
            // The latest version, or the very version asked for, is a delete marker.
            (Some(405), _) if marker => Self::Absent { in_bucket: true },
            (Some(301 | 302 | 307 | 400), Some(region)) if region != asked => Self::Elsewhere(region.to_owned()),
            (Some(403), _) => Self::Denied,
            (Some(400), _) => Self::NoAnswer("HTTP 400 (expired credentials are answered so, too)".to_owned()),
            _ => Self::NoAnswer(fault.message.clone()),
        }
    }
}

fn classify(target: &S3Object, object: Head, bucket: Option<Head>) -> Seen {
    let name = &target.bucket;
    match (object, bucket) {
        (Head::There, _) => target.until.seen(true),
        (Head::Absent { .. }, None | Some(Head::There)) => target.until.seen(false),
        (Head::Absent { .. }, Some(Head::Absent { .. })) => {
            Seen::Denied(format!("the bucket {name} does not exist: nothing was deleted from it"))
        }
        (Head::Absent { .. }, Some(Head::Denied)) => Seen::Denied(format!(
            "HTTP 403 for the bucket {name}: allow s3:ListBucket on it, so that an absent bucket can be told from an absent object"
        )),
        (Head::Denied, _) => Seen::Denied(format!(
            "HTTP 403 for {target}: allow s3:GetObject on the object and s3:ListBucket on the bucket (without the second, S3 says 403 of absent objects, too)"
        )),
        (Head::Elsewhere(region), _) | (_, Some(Head::Elsewhere(region))) => {
            Seen::Unknown(format!("S3 points from region to region for {name}, now to {region}"))
        }
        (Head::NoAnswer(why), _) | (_, Some(Head::NoAnswer(why))) => Seen::Unknown(why),
    }
}

/// The rules for names of general purpose buckets (S3 user guide, "General purpose bucket naming rules").
fn check_bucket(name: &str) -> Result<(), &'static str> {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if name.starts_with("arn:") {
        return Err("ARNs, of access points too, are not supported by this version, only names");
    }
    if !(3..=63).contains(&name.len()) {
        return Err("it takes 3 to 63 characters");
    }
    if !name.chars().all(|c| edge(Some(c)) || matches!(c, '.' | '-')) {
        return Err("it takes lower-case letters, digits, dots and hyphens");
    }
    if !edge(name.chars().next()) || !edge(name.chars().last()) {
        return Err("it begins and ends with a letter or digit");
    }
    if name.contains("..") {
        return Err("it has no two dots in a row");
    }
    if name.parse::<std::net::Ipv4Addr>().is_ok() {
        return Err("it is not an IP address");
    }
    Ok(())
}

impl std::fmt::Display for S3Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_everything_after_the_first_slash_byte_for_byte() {
        for key in [
            "a",
            "a/",
            "/a",
            "a//b",
            "a#b",
            "a?versionId=1",
            "a%2Fb",
            "a+b c",
            "日本/é",
            "..",
            "a\n",
            "None",
        ] {
            let object = S3Object::parse(&format!("s3://my-bucket/{key}"), None).unwrap();
            assert_eq!((object.bucket.as_str(), object.key.as_str()), ("my-bucket", key));
            assert_eq!(object.to_string(), format!("s3://my-bucket/{key}"));
        }
    }

    #[test]
    fn a_bucket_that_cannot_be_is_refused_and_one_that_can_is_not() {
        let long = "a".repeat(63);
        for name in ["abc", "1.2.3", "a-b.c-d", "123", "access-point-s3alias", long.as_str()] {
            assert!(S3Object::new(name, "k", Until::Exists).is_ok(), "{name}");
        }
        let longer = "a".repeat(64);
        for name in [
            "",
            "ab",
            longer.as_str(),
            "My-Bucket",
            "a_b_c",
            "-abc",
            "abc-",
            ".abc",
            "abc.",
            "a..b",
            "192.168.0.1",
            "bücket",
            "a b",
            "arn:aws:s3:eu-west-1:123456789012:accesspoint",
        ] {
            let error = S3Object::new(name, "k", Until::Exists).unwrap_err().to_string();
            assert!(error.contains("cannot be a bucket"), "{error}");
        }
    }

    #[test]
    fn a_key_has_one_to_1024_bytes() {
        assert!(S3Object::new("abc", &"é".repeat(512), Until::Exists).is_ok());
        for text in ["s3://abc", "s3://abc/"] {
            assert!(S3Object::parse(text, None).unwrap_err().to_string().contains("no key"));
        }
        let error = S3Object::new("abc", &"é".repeat(513), Until::Exists).unwrap_err();
        assert!(error.to_string().contains("1026 bytes"), "{error}");
    }

    fn fault(status: Option<u16>, kind: FaultKind) -> Fault {
        Fault {
            kind,
            code: None,
            status,
            message: "words".to_owned(),
        }
    }

    #[test]
    fn an_answer_is_read_by_its_status_and_headers() {
        use FaultKind::{Denied, Other, Passing};
        let there = Head::There;
        let no_answer = Head::NoAnswer("words".to_owned());
        let elsewhere = Head::Elsewhere("eu-west-1".to_owned());
        let eu = Some("eu-west-1");
        let table = [
            (Some(200), Other, false, None, there),
            (Some(404), Other, false, None, Head::Absent { in_bucket: false }),
            (Some(404), Other, true, None, Head::Absent { in_bucket: true }),
            (Some(405), Other, true, None, Head::Absent { in_bucket: true }),
            (Some(405), Other, false, None, no_answer.clone()),
            (Some(403), Denied, false, eu, Head::Denied),
            (Some(301), Other, false, eu, elsewhere.clone()),
            (Some(307), Other, false, eu, elsewhere.clone()),
            (Some(400), Other, false, eu, elsewhere),
            (Some(301), Other, false, None, no_answer.clone()),
            (Some(301), Other, false, Some("us-east-1"), no_answer.clone()),
            (Some(503), Passing, false, None, no_answer.clone()),
            (Some(500), Passing, true, eu, no_answer.clone()),
            (None, Passing, false, None, no_answer.clone()),
            (None, FaultKind::Credentials, false, None, no_answer),
        ];
        for (status, kind, marker, region, means) in table {
            let read = Head::read(&fault(status, kind), marker, region, "us-east-1");
            assert_eq!(read, means, "{status:?} {kind:?} {marker} {region:?}");
        }
        for region in [None, Some("us-east-1")] {
            let read = Head::read(&fault(Some(400), Other), false, region, "us-east-1");
            assert!(matches!(read, Head::NoAnswer(why) if why.contains("expired")));
        }
    }

    #[test]
    fn only_a_sure_answer_completes_and_only_in_a_bucket_that_exists() {
        let at = |until| S3Object::new("abc", "k", until).unwrap();
        let absent = Head::Absent { in_bucket: false };
        let doubtful = [
            Head::Denied,
            Head::NoAnswer("slow".to_owned()),
            Head::Elsewhere("eu-west-1".to_owned()),
        ];
        for until in [Until::Exists, Until::Deleted] {
            for object in doubtful.clone() {
                let seen = classify(&at(until), object, None);
                assert!(matches!(seen, Seen::Denied(_) | Seen::Unknown(_)), "{seen:?}");
            }
        }
        for bucket in doubtful.into_iter().chain([absent.clone()]) {
            let seen = classify(&at(Until::Deleted), absent.clone(), Some(bucket));
            assert!(matches!(seen, Seen::Denied(_) | Seen::Unknown(_)), "{seen:?}");
        }
        assert_eq!(
            classify(&at(Until::Deleted), absent.clone(), Some(Head::There)),
            Until::Deleted.seen(false)
        );
        assert_eq!(classify(&at(Until::Exists), absent, None), Until::Exists.seen(false));
    }
}
