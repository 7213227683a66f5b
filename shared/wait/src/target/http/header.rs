//! Request headers: literal values, which are never shown, and references to secrets.

use std::collections::BTreeMap;

use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::event::kind_of;
use crate::secret::Reference;
use crate::target::BadTarget;

/// Headers that belong to the connection or to the client: a request with them would mean something else.
const OURS: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What stands in place of a literal value where a target is shown.
const MASK: &str = "***";

/// The headers of a request, by name in lower case. [`Debug`](std::fmt::Debug) shows no value.
#[derive(Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Headers(BTreeMap<String, String>);

/// One value.
#[derive(Debug)]
pub(super) enum Given<'a> {
    /// As it stands.
    Literal(&'a str),
    /// To be read.
    Secret(Reference),
}

impl Headers {
    /// Reads what a request says.
    pub(super) fn read(value: &Value) -> Result<Self, BadTarget> {
        let takes = "it takes an object of texts, such as {\"Authorization\": \"ssm:NAME\"}";
        let Value::Object(fields) = value else {
            return Err(BadTarget::new(format!("target.headers is {}: {takes}", kind_of(value))));
        };
        let mut headers = Self::default();
        for (name, value) in fields {
            let short: String = name.chars().take(40).collect();
            let bad = |why: String| BadTarget::new(format!("target.headers has {short:?}, which {why}: {takes}"));
            let known =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("is not a header's name".to_owned()))?;
            if OURS.contains(&known.as_str()) {
                return Err(bad("the client sets by itself".to_owned()));
            }
            let text = value.as_str().ok_or_else(|| bad(format!("is {}", kind_of(value))))?;
            match Reference::parse(text) {
                Some(Err(why)) => return Err(bad(why)),
                None if HeaderValue::from_str(text).is_err() => {
                    return Err(bad("has a value with characters that no header has".to_owned()));
                }
                _ => {}
            }
            if headers.0.insert(known.as_str().to_owned(), text.to_owned()).is_some() {
                return Err(bad("is there twice".to_owned()));
            }
        }
        Ok(headers)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each name with what is given for it.
    pub(super) fn given(&self) -> impl Iterator<Item = (&str, Given<'_>)> {
        self.0.iter().map(|(name, text)| match Reference::parse(text) {
            Some(Ok(reference)) => (name.as_str(), Given::Secret(reference)),
            _ => (name.as_str(), Given::Literal(text)),
        })
    }

    /// The same with no literal value in it, to be shown.
    pub(super) fn shown(&self) -> Self {
        let shown = self.0.iter().map(|(name, text)| match Reference::parse(text) {
            Some(Ok(_)) => (name.clone(), text.clone()),
            _ => (name.clone(), MASK.to_owned()),
        });
        Self(shown.collect())
    }

    /// The headers as part of a target's key: references as they stand, literal values by their hash.
    pub(super) fn key(&self) -> Value {
        let key = self.0.iter().map(|(name, text)| match Reference::parse(text) {
            Some(Ok(_)) => (name.clone(), Value::from(text.trim())),
            _ => {
                let hash = Sha256::digest(text.as_bytes());
                let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                (name.clone(), Value::from(format!("sha256:{hash}")))
            }
        });
        Value::Object(key.collect::<Map<_, _>>())
    }
}

impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, MASK))).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Headers {
        Headers::read(&value).unwrap()
    }

    #[test]
    fn names_are_kept_in_lower_case_and_values_as_they_stand() {
        let headers = read(json!({"X-Token": "a b", "Authorization": "ssm:/token"}));
        let given: Vec<_> = headers
            .given()
            .map(|(name, given)| format!("{name} {given:?}"))
            .collect();
        assert_eq!(given, ["authorization Secret(ssm:/token)", "x-token Literal(\"a b\")"]);
    }

    #[test]
    fn no_literal_value_is_shown() {
        let headers = read(json!({"X-Token": "SECRET", "Authorization": "ssm:/token"}));
        assert!(!format!("{headers:?}").contains("SECRET"));
        assert!(!headers.key().to_string().contains("SECRET"));
        let shown = serde_json::to_value(headers.shown()).unwrap();
        assert_eq!(shown, json!({"authorization": "ssm:/token", "x-token": "***"}));
    }

    #[test]
    fn the_key_differs_where_a_name_a_reference_or_a_value_does() {
        let different = [
            json!({}),
            json!({"a": "1"}),
            json!({"a": "2"}),
            json!({"b": "1"}),
            json!({"a": "ssm:1"}),
            json!({"a": "1", "b": "1"}),
        ];
        let keys: std::collections::HashSet<_> = different.iter().map(|v| read(v.clone()).key().to_string()).collect();
        assert_eq!(keys.len(), different.len());
        assert_eq!(read(json!({"A": "1"})).key(), read(json!({"a": "1"})).key());
    }

    #[test]
    fn what_cannot_be_a_header_is_refused_by_name_and_without_its_value() {
        for (value, says) in [
            (json!("SECRET"), "target.headers is"),
            (json!({"a b": "SECRET"}), "is not a header's name"),
            (json!({"": "SECRET"}), "is not a header's name"),
            (json!({"Host": "SECRET"}), "the client sets by itself"),
            (json!({"content-length": "SECRET"}), "the client sets by itself"),
            (json!({"a": "SECRET\r\nb: c"}), "characters that no header has"),
            (json!({"a": 1}), "which is"),
            (json!({"a": null}), "which is"),
            (json!({"a": "kms:SECRET!"}), "is not base64"),
            (json!({"a": "ssm:"}), "names no parameter"),
            (json!({"a": "SECRET", "A": "SECRET"}), "is there twice"),
        ] {
            let error = Headers::read(&value).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("it takes"), "{value}: {error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
    }
}
