//! Targets as strings and as JSON objects.

use serde_json::{Map, Value};

use super::{File, Here, Http, RdsSnapshot, S3Object, Target, Until};
use crate::aws::Family;
use crate::event::brief;
use crate::wait::Extra;

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
        Self::Bad(brief(text.into()))
    }
}

/// How people write the targets of one kind.
struct Form {
    fits: fn(&str) -> bool,
    /// For messages.
    shown: &'static str,
    read: fn(&str, Option<Until>, &Here) -> Result<Target, BadTarget>,
}

const FORMS: [Form; 5] = [
    Form {
        fits: |text| text.starts_with("arn:"),
        shown: "the ARN of an RDS snapshot",
        read: |text, _, here| RdsSnapshot::parse(text, here).map(Target::from),
    },
    Form {
        fits: |text| text.starts_with("rds:"),
        shown: "rds:snapshot/ID, rds:cluster-snapshot/ID",
        read: |text, _, here| RdsSnapshot::parse(text, here).map(Target::from),
    },
    Form {
        fits: |text| text.starts_with("s3://"),
        shown: "s3://BUCKET/KEY",
        read: |text, until, _| S3Object::parse(text, until).map(Target::S3Object),
    },
    Form {
        fits: is_http,
        shown: "https://HOST/PATH",
        read: |text, _, _| Ok(Target::Http(Box::new(Http::parse(text)?))),
    },
    Form {
        fits: |text| text.starts_with("file:"),
        shown: "file:PATH",
        read: |text, until, _| File::parse(text, until).map(Target::File),
    },
];

/// Reads the object of one kind.
type ReadObject = fn(&Object<'_>, Option<Until>, &Here) -> Result<Target, BadTarget>;

const OBJECTS: [(&str, ReadObject); 5] = [
    ("rds-snapshot", |object, _, here| {
        RdsSnapshot::from_object(Family::Instance, object, here).map(Target::from)
    }),
    ("rds-cluster-snapshot", |object, _, here| {
        RdsSnapshot::from_object(Family::Cluster, object, here).map(Target::from)
    }),
    ("s3-object", |object, until, _| {
        let found = S3Object::new(object.need("bucket")?, object.need("key")?, until.unwrap_or_default())?;
        let extra = object.beside(&["bucket", "key", "until"]);
        Ok(Target::S3Object(S3Object { extra, ..found }))
    }),
    ("http", |object, until, _| {
        if until.is_some() {
            return Err(BadTarget::new(
                "target.until does not go with kind http: it takes expect",
            ));
        }
        Ok(Target::Http(Box::new(Http::from_fields(object.0)?)))
    }),
    ("file", |object, until, _| {
        let found = File::new(object.need("path")?, until.unwrap_or_default())?;
        let extra = object.beside(&["path", "until"]);
        Ok(Target::File(File { extra, ..found }))
    }),
];

impl Target {
    /// Reads the string that people type. `until` is the condition asked for beside it, if any.
    ///
    /// # Errors
    /// [`BadTarget`].
    pub fn parse(text: &str, until: Option<Until>, here: &Here) -> Result<Self, BadTarget> {
        let Some(form) = FORMS.iter().find(|form| (form.fits)(text)) else {
            let short: String = text.chars().take(80).collect();
            return Err(BadTarget::new(format!(
                "{short:?} is not a target: it takes {}",
                one_of(FORMS.map(|form| form.shown))
            )));
        };
        let target = (form.read)(text, until, here)?;
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
            Value::Object(fields) => Self::from_object(&Object(fields), until, here),
            other => Err(BadTarget::new(format!(
                "target is {}: it takes a string or an object with kind",
                crate::event::kind_of(other)
            ))),
        }
    }

    fn from_object(object: &Object<'_>, until: Option<Until>, here: &Here) -> Result<Self, BadTarget> {
        let kinds = || one_of(OBJECTS.map(|(kind, _)| kind));
        let kind = object
            .word("kind")?
            .ok_or_else(|| BadTarget::new(format!("target has no kind: it takes {}", kinds())))?;
        let until = match object.word("until")? {
            None => until,
            Some("exists") => Some(Until::Exists),
            Some("deleted") => Some(Until::Deleted),
            Some(other) => {
                return Err(BadTarget::new(format!(
                    "target.until is {other:?}: it takes exists or deleted"
                )));
            }
        };
        let Some((_, read)) = OBJECTS.iter().find(|(word, _)| *word == kind) else {
            return Err(BadTarget::new(format!("target.kind is {kind:?}: it takes {}", kinds())));
        };
        let target = read(object, until, here)?;
        if until.is_some() && target.until().is_none() {
            return Err(BadTarget::new(format!("target.until does not go with kind {kind}")));
        }
        Ok(target)
    }
}

/// Whether a text is meant as a URL to be asked.
fn is_http(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http"))
}

/// The words in a row: `a, b or c`.
fn one_of<const N: usize>(words: [&str; N]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}

/// A target as an object, as somebody wrote it.
pub(super) struct Object<'a>(&'a Map<String, Value>);

impl<'a> Object<'a> {
    /// An optional text; blank, `None` and `null` count as unset.
    pub(super) fn word(&self, name: &str) -> Result<Option<&'a str>, BadTarget> {
        Ok(self
            .text(name)?
            .filter(|text| !matches!(text.trim(), "" | "None" | "null")))
    }

    /// A text as it stands: a bucket, a key or a file may well be called `null`.
    pub(super) fn need(&self, name: &str) -> Result<&'a str, BadTarget> {
        self.text(name)?.ok_or_else(|| {
            let kind = self.0.get("kind").and_then(Value::as_str).unwrap_or_default();
            BadTarget::new(format!("target.{name} is missing: a target of kind {kind} takes it"))
        })
    }

    /// What is there beside its kind and the fields that this release knows.
    pub(super) fn beside(&self, known: &[&str]) -> Extra {
        let is_known = |name: &str| name == "kind" || known.contains(&name);
        let others = self.0.iter().filter(|(name, _)| !is_known(name));
        others.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>, BadTarget> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(BadTarget::new(format!(
                "target.{name} is {}: it takes a text",
                crate::event::kind_of(other)
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn here() -> Here {
        Here {
            region: Some("eu-central-1".to_owned()),
            account: Some("123456789012".to_owned()),
        }
    }

    fn parse(text: &str) -> Result<Target, BadTarget> {
        Target::parse(text, None, &here())
    }

    fn read(value: Value) -> Result<Target, BadTarget> {
        Target::from_value(&value, None, &here())
    }

    #[test]
    fn what_is_shown_of_a_target_is_read_back_as_the_same_target() {
        for text in [
            "arn:aws:rds:us-east-1:123456789012:snapshot:rds:app-db-2026-01-15-03-04",
            "arn:aws-cn:rds:cn-north-1:123456789012:snapshot:manual-1",
            "arn:aws-x:rds:us-east-1:123456789012:snapshot:odd-partition",
            "rds:snapshot/Mixed-Case",
            "arn:aws-us-gov:rds:us-gov-west-1:123456789012:cluster-snapshot:rds:main-2026-01-15-03-04",
            "rds:cluster-snapshot/Mixed-Case",
            "s3://bucket/a?b#c%20//日本/",
            "https://status.example.test/job/1?x=%2F",
            "file:/tmp/a b",
        ] {
            let target = parse(text).unwrap();
            assert_eq!(parse(&target.to_string()).unwrap(), target, "{text}");
            assert_eq!(read(serde_json::to_value(&target).unwrap()).unwrap(), target, "{text}");
        }
    }

    #[test]
    fn keys_differ_exactly_where_the_meaning_differs() {
        let deleted = |text: &str| Target::parse(text, Some(Until::Deleted), &here()).unwrap().key();
        let exists = |text: &str| parse(text).unwrap().key();
        let keys = [
            exists("s3://bucket/a"),
            deleted("s3://bucket/a"),
            exists("s3://bucket/a/"),
            exists("s3://bucket/A"),
            exists("s3://bucket/a%2F"),
            exists("s3://bucket//a"),
            exists("s3://other/a"),
            exists("file:/bucket/a"),
            deleted("file:/bucket/a"),
            exists("file:/bucket//a"),
            exists("rds:snapshot/a"),
            exists("rds:snapshot/rds:a"),
            exists("rds:cluster-snapshot/a"),
            exists("rds:snapshot/cluster-snapshot:a"),
            exists("arn:aws:rds:us-east-1:123456789012:snapshot:a"),
            exists("arn:aws:rds:eu-central-1:999999999999:snapshot:a"),
            exists("arn:aws-x:rds:eu-central-1:123456789012:snapshot:a"),
        ];
        let different: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len());
        for (one, same) in [
            ("rds:snapshot/a", "arn:aws:rds:eu-central-1:123456789012:snapshot:a"),
            ("rds:snapshot/My-Snap", "rds:snapshot/my-snap"),
            ("rds:cluster-snapshot/My-Snap", "rds:cluster-snapshot/my-snap"),
            (
                "rds:cluster-snapshot/a",
                "arn:aws:rds:eu-central-1:123456789012:cluster-snapshot:a",
            ),
        ] {
            assert_eq!(exists(one), exists(same));
        }
    }

    #[test]
    fn s3_and_files_need_neither_region_nor_account_and_a_short_snapshot_needs_both() {
        let nowhere = Here::default();
        assert!(Target::parse("s3://bucket/a", None, &nowhere).is_ok());
        assert!(Target::parse("file:/a", None, &nowhere).is_ok());
        assert!(Target::parse("arn:aws:rds:us-east-1:123456789012:snapshot:a", None, &nowhere).is_ok());
        let short = |here: &Here| Target::parse("rds:snapshot/a", None, here).unwrap_err();
        assert!(matches!(short(&nowhere), BadTarget::NeedsRegion(_)));
        let region_only = Here {
            account: None,
            ..here()
        };
        assert!(matches!(short(&region_only), BadTarget::NeedsAccount(_)));
    }

    #[test]
    fn the_object_form_is_read_with_its_condition_and_unset_values() {
        let deleted = read(json!({"kind": "s3-object", "bucket": "null", "key": "None", "until": "deleted"})).unwrap();
        assert_eq!(
            deleted,
            Target::parse("s3://null/None", Some(Until::Deleted), &here()).unwrap()
        );
        let plain = parse("rds:snapshot/a").unwrap();
        for unset in [json!(null), json!(""), json!("None"), json!("null"), json!(" ")] {
            let object = json!({"kind": "rds-snapshot", "id": "a", "region": unset, "account": unset});
            assert_eq!(read(object).unwrap(), plain, "{unset}");
        }
        let arn = "arn:aws:rds:us-east-1:999999999999:snapshot:a";
        assert_eq!(
            read(json!({"kind": "rds-snapshot", "id": arn})).unwrap(),
            parse(arn).unwrap()
        );
    }

    #[test]
    fn the_kind_says_what_a_snapshot_is_of() {
        let cluster = json!({"kind": "rds-cluster-snapshot", "id": "rds:main-2026-01-15-03-04", "region": "us-east-1"});
        let target = read(cluster).unwrap();
        let arn = "arn:aws:rds:us-east-1:123456789012:cluster-snapshot:rds:main-2026-01-15-03-04";
        assert_eq!(
            (target.to_string().as_str(), target.kind()),
            (arn, "rds-cluster-snapshot")
        );
        assert_eq!(
            read(json!({"kind": "rds-cluster-snapshot", "id": arn})).unwrap(),
            target
        );
        let stored = json!({
            "kind": "rds-cluster-snapshot", "id": "rds:main-2026-01-15-03-04",
            "region": "us-east-1", "account": "123456789012",
        });
        assert_eq!(serde_json::to_value(&target).unwrap(), stored);
        assert_eq!(serde_json::from_value::<Target>(stored).unwrap(), target);
        assert_eq!(
            (target.region(), target.account()),
            (Some("us-east-1"), Some("123456789012"))
        );
    }

    #[test]
    fn fields_of_a_later_release_come_back_as_they_came_and_change_no_key() {
        for text in ["rds:snapshot/a", "rds:cluster-snapshot/a", "s3://bucket/a", "file:/a"] {
            let plain = parse(text).unwrap();
            let mut object = serde_json::to_value(&plain).unwrap();
            object["later"] = json!({"deep": [1, "two", null]});
            let stored: Target = serde_json::from_value(object.clone()).unwrap();
            assert_eq!(serde_json::to_value(&stored).unwrap(), object, "{text}");
            assert_eq!(stored.key(), plain.key());
            let asked_for = read(object.clone()).unwrap();
            assert_eq!(serde_json::to_value(&asked_for).unwrap(), object, "{text}");
        }
    }

    #[test]
    fn whatever_is_no_target_is_refused_with_a_sentence_that_names_it() {
        let arn = "arn:aws:rds:us-east-1:999999999999:snapshot:a";
        for (value, names) in [
            (json!("nonsense"), "nonsense"),
            (json!(7), "a number"),
            (json!({"bucket": "abc"}), "kind"),
            (json!({"kind": "volcano"}), "volcano"),
            (json!({"kind": "rds-cluster-snapshot", "id": arn}), "cluster-snapshot"),
            (
                json!({"kind": "rds-snapshot", "id": "arn:aws:rds:us-east-1:999999999999:cluster-snapshot:a"}),
                "target.id",
            ),
            (
                json!({"kind": "rds-cluster-snapshot", "id": "a", "until": "exists"}),
                "target.until",
            ),
            (json!({"kind": "s3-object", "bucket": "abc"}), "target.key"),
            (json!({"kind": "s3-object", "bucket": 3, "key": "k"}), "target.bucket"),
            (
                json!({"kind": "s3-object", "bucket": "abc", "key": "k", "until": "gone"}),
                "target.until",
            ),
            (
                json!({"kind": "rds-snapshot", "id": "a", "until": "exists"}),
                "target.until",
            ),
            (
                json!({"kind": "rds-snapshot", "id": arn, "region": "eu-west-1"}),
                "eu-west-1",
            ),
            (json!({"kind": "rds-snapshot", "id": "a", "account": "12"}), "12"),
            (json!({"kind": "file"}), "target.path"),
        ] {
            let error = read(value.clone()).unwrap_err().to_string();
            assert!(error.contains(names), "{value}: {error}");
        }
        let error = Target::parse(arn, Some(Until::Deleted), &here())
            .unwrap_err()
            .to_string();
        assert!(error.contains("until"), "{error}");
    }
}
