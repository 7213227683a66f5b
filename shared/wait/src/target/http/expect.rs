//! What an answer has to be: the rules as people write them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::status::Statuses;
use crate::event::kind_of;
use crate::target::BadTarget;
use crate::wait::Extra;

/// The longest expression, in bytes.
const LONGEST_EXPRESSION: usize = 512;

/// How many signs an expression may have that open something or bind: compiling and evaluating go as deep as these, and
/// ten times more than in any expression in use would exhaust the stack.
const MOST_SIGNS: usize = 64;

/// What an answer has to be. Expressions are JMESPath, over the body as JSON.
///
/// Without `status`, `json` and `failed` the customary reading holds: 200, no HTML, a body that comes whole (as JSON where
/// it says so), and if that is an object whose `status` or `state` is one of the words for work that goes on or has
/// failed, that counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expect {
    /// The statuses of an answer that counts; 200 unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Statuses>,
    /// What must hold of its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Rule>,
    /// An expression: where it is truthy the work has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// An expression: how many percent are done, a number from 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What must hold of a body.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Rule {
    /// The expression is truthy: no null, false, or empty text, list or object.
    Truthy(String),
    /// The expression yields this value.
    Equals {
        /// The expression.
        path: String,
        /// The value.
        equals: Value,
        /// Fields of a later release.
        #[serde(flatten)]
        extra: Extra,
    },
}

impl Rule {
    /// Its expression.
    #[must_use]
    pub fn expression(&self) -> &str {
        match self {
            Self::Truthy(expression) | Self::Equals { path: expression, .. } => expression,
        }
    }
}

impl Expect {
    /// Reads what a request says; every field is known, because a rule that is passed over would let a wait complete.
    pub(super) fn read(value: &Value) -> Result<Self, BadTarget> {
        let fields = object(value, "target.expect", &["status", "json", "failed", "progress"])?;
        let status = set(fields, "status")
            .map(|value| Statuses::try_from(value.clone()))
            .transpose()
            .map_err(|takes| BadTarget::new(format!("target.expect.status is wrong: {takes}")))?;
        let json = set(fields, "json").map(rule).transpose()?;
        let expression = |name: &str| {
            let value = set(fields, name);
            value
                .map(|value| expression(value, &format!("target.expect.{name}")))
                .transpose()
        };
        let expect = Self {
            status,
            json,
            failed: expression("failed")?,
            progress: expression("progress")?,
            extra: Extra::new(),
        };
        Ok(expect.in_one_form())
    }

    /// The one form of rules that mean the same.
    fn in_one_form(mut self) -> Self {
        let beside = self.json.is_some() || self.failed.is_some();
        if beside && self.status == Some(Statuses::ok()) {
            self.status = None;
        }
        self
    }

    /// Whether the customary reading of a body holds.
    #[must_use]
    pub fn is_customary(&self) -> bool {
        self.status.is_none() && self.json.is_none() && self.failed.is_none()
    }

    /// Whether a body is needed to judge by these rules.
    #[must_use]
    pub fn asks_body(&self) -> bool {
        self.json.is_some() || self.failed.is_some() || self.progress.is_some()
    }

    /// Whether an answer of this status counts.
    #[must_use]
    pub fn takes(&self, status: u16) -> bool {
        match &self.status {
            Some(set) => set.contains(status),
            None => status == 200,
        }
    }

    /// The rules as part of a target's key: the same text exactly for the same rules.
    pub(super) fn key(&self) -> Value {
        sorted(serde_json::to_value(self).expect("rules have only string keys"))
    }
}

fn rule(value: &Value) -> Result<Rule, BadTarget> {
    const NAME: &str = "target.expect.json";
    if !value.is_object() {
        return expression(value, NAME).map(Rule::Truthy);
    }
    let fields = object(value, NAME, &["path", "equals"])?;
    let missing = |name: &str| {
        BadTarget::new(format!(
            "{NAME}.{name} is missing: it takes an expression, or {{\"path\": EXPRESSION, \"equals\": VALUE}}"
        ))
    };
    let path = set(fields, "path").ok_or_else(|| missing("path"))?;
    // Null is a value here.
    let equals = fields.get("equals").ok_or_else(|| missing("equals"))?;
    // It is part of the target's key, which must be the same each time that the target was written and read.
    if serde_json::from_str::<Value>(&equals.to_string()).ok().as_ref() != Some(equals) {
        return Err(BadTarget::new(format!(
            "{NAME}.equals has a number that is not kept to its last digit: it takes one with fewer digits"
        )));
    }
    Ok(Rule::Equals {
        path: expression(path, &format!("{NAME}.path"))?,
        equals: equals.clone(),
        extra: Extra::new(),
    })
}

/// An expression that compiles.
fn expression(value: &Value, name: &str) -> Result<String, BadTarget> {
    let takes = "it takes a JMESPath expression";
    let Value::String(text) = value else {
        return Err(BadTarget::new(format!("{name} is {}: {takes}", kind_of(value))));
    };
    let text = text.trim();
    match compile(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(why) => Err(BadTarget::new(format!("{name} is not an expression ({why}): {takes}"))),
    }
}

/// Compiles an expression that is within the bounds.
///
/// # Errors
/// What is wrong with it, on one line.
pub(super) fn compile(text: &str) -> Result<jmespath::Expression<'static>, String> {
    if text.is_empty() || text.len() > LONGEST_EXPRESSION {
        return Err(format!("{} bytes, not 1 to {LONGEST_EXPRESSION}", text.len()));
    }
    let is_sign = |c: &char| "([{!&|*.?<>=:,".contains(*c);
    if text.chars().filter(is_sign).count() > MOST_SIGNS {
        return Err(format!("more than {MOST_SIGNS} brackets and operators"));
    }
    jmespath::compile(text).map_err(|error| first_line(&error))
}

/// An error of the expressions without the drawing below it.
pub(super) fn first_line(error: &jmespath::JmespathError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// The fields of an object that has no others than `known`.
pub(super) fn object<'a>(value: &'a Value, name: &str, known: &[&str]) -> Result<&'a Map<String, Value>, BadTarget> {
    let takes = || format!("it takes an object of {}", known.join(", "));
    let Value::Object(fields) = value else {
        return Err(BadTarget::new(format!("{name} is {}: {}", kind_of(value), takes())));
    };
    match fields.keys().find(|field| !known.contains(&field.as_str())) {
        Some(field) => {
            let short: String = field.chars().take(40).collect();
            Err(BadTarget::new(format!("{name} has no field {short:?}: {}", takes())))
        }
        None => Ok(fields),
    }
}

/// A field that is set: null counts as unset.
pub(super) fn set<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

/// A value with the fields of its objects in the order of their names.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(list) => Value::Array(list.into_iter().map(sorted).collect()),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(fields.into_iter().collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Expect {
        Expect::read(&value).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back_from_what_is_kept() {
        for value in [
            json!({}),
            json!({"status": ["200-204", 404]}),
            json!({"json": "status == 'done'", "progress": "percent"}),
            json!({"json": {"path": "state", "equals": {"b": [1, null], "a": "x"}}, "failed": "error"}),
            json!({"json": {"path": "error", "equals": null}}),
        ] {
            let expect = read(value.clone());
            let kept = serde_json::to_value(&expect).unwrap();
            assert_eq!(kept, value);
            assert_eq!(serde_json::from_value::<Expect>(kept).unwrap(), expect);
        }
    }

    #[test]
    fn rules_that_mean_the_same_have_one_key_and_others_differ() {
        let key = |value| read(value).key().to_string();
        for (one, other) in [
            (json!({}), json!({"status": null, "json": null})),
            (json!({"status": 200}), json!({"status": ["200"]})),
            (json!({"json": "a"}), json!({"json": " a ", "status": 200})),
            (
                json!({"json": {"path": "a", "equals": {"x": 1, "y": 2}}}),
                json!({"json": {"equals": {"y": 2, "x": 1}, "path": "a"}}),
            ),
        ] {
            assert_eq!(key(one), key(other));
        }
        let different = [
            json!({}),
            json!({"status": 200}),
            json!({"status": "200-299"}),
            json!({"json": "a"}),
            json!({"failed": "a"}),
            json!({"progress": "a"}),
            json!({"json": {"path": "a", "equals": true}}),
            json!({"json": {"path": "a", "equals": "true"}}),
            json!({"json": {"path": "a", "equals": null}}),
        ];
        let keys: std::collections::HashSet<_> = different.iter().cloned().map(key).collect();
        assert_eq!(keys.len(), different.len());
    }

    #[test]
    fn a_rule_that_would_be_passed_over_is_refused_by_name() {
        let long = "a".repeat(513);
        for (value, names) in [
            (json!("200"), "target.expect is"),
            (json!({"statuses": 200}), "\"statuses\""),
            (json!({"status": "ok"}), "target.expect.status"),
            (json!({"json": "a =="}), "target.expect.json is not an expression"),
            (json!({"json": ""}), "target.expect.json is not an expression (0 bytes"),
            (
                json!({"json": long}),
                "target.expect.json is not an expression (513 bytes",
            ),
            (json!({"json": 1}), "target.expect.json is"),
            (json!({"json": {"path": "a"}}), "target.expect.json.equals is missing"),
            (json!({"json": {"equals": 1}}), "target.expect.json.path is missing"),
            (
                json!({"json": {"path": "a[", "equals": 1}}),
                "target.expect.json.path is not",
            ),
            (json!({"json": {"path": "a", "equal": 1}}), "\"equal\""),
            (
                json!({"json": {"path": "a", "equals": [-8.264377936764751e-249]}}),
                "target.expect.json.equals has a number",
            ),
            (json!({"failed": "!"}), "target.expect.failed"),
            (json!({"failed": "nothing(@)("}), "target.expect.failed"),
            (json!({"progress": ["a"]}), "target.expect.progress is"),
        ] {
            let error = Expect::read(&value).unwrap_err().to_string();
            assert!(error.contains(names) && error.contains("it takes"), "{value}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn no_expression_of_the_longest_length_exhausts_the_stack() {
        for text in ["(", "[", "{a:", "!", "a.", "a[?", "&", "`[", "a||", "length("] {
            let text = text.repeat(LONGEST_EXPRESSION / text.len());
            let _ = Expect::read(&json!({"json": text}));
        }
        for (times, taken) in [(MOST_SIGNS, true), (MOST_SIGNS + 1, false)] {
            let nested = format!("{}a{}", "(".repeat(times), ")".repeat(times));
            assert_eq!(Expect::read(&json!({"json": nested})).is_ok(), taken);
        }
    }
}
