//! Sets of HTTP statuses, as people write them: `200`, `"200-299"`, `[200, "204-206"]`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A set of HTTP statuses: ranges in order, none of which touch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct Statuses(Vec<(u16, u16)>);

/// What a set takes.
const TAKES: &str = "a status such as 200, a range such as \"200-299\", or a list of them, within 100 to 599";

impl Statuses {
    /// Only 200.
    #[must_use]
    pub fn ok() -> Self {
        Self(vec![(200, 200)])
    }

    /// Whether `status` is one of them.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|(from, to)| (*from..=*to).contains(&status))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Statuses {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Statuses".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let status = serde_json::json!([
            { "type": "integer", "minimum": 100, "maximum": 599 },
            { "type": "string", "pattern": "^ *[1-5][0-9]{2} *(- *[1-5][0-9]{2} *)?$" },
        ]);
        schemars::json_schema!({
            "description": TAKES,
            "anyOf": [status[0], status[1], { "type": "array", "minItems": 1, "items": { "anyOf": status } }],
        })
    }
}

fn range(value: &Value) -> Option<(u16, u16)> {
    let status = |text: &str| {
        let three_digits = text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit());
        three_digits.then(|| text.parse().ok()).flatten()
    };
    let (from, to) = match value {
        Value::Number(number) => {
            let one = u16::try_from(number.as_u64()?).ok()?;
            (one, one)
        }
        Value::String(text) => match text.trim().split_once('-') {
            Some((from, to)) => (status(from.trim())?, status(to.trim())?),
            None => (status(text.trim())?, status(text.trim())?),
        },
        _ => return None,
    };
    (100 <= from && from <= to && to <= 599).then_some((from, to))
}

impl TryFrom<Value> for Statuses {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let one = std::slice::from_ref(&value);
        let list = value.as_array().map_or(one, Vec::as_slice);
        let ranges: Option<Vec<_>> = list.iter().map(range).collect();
        let mut ranges = ranges
            .filter(|ranges| !ranges.is_empty())
            .ok_or_else(|| format!("it takes {TAKES}"))?;
        ranges.sort_unstable();
        let mut set: Vec<(u16, u16)> = Vec::new();
        for (from, to) in ranges {
            match set.last_mut() {
                Some((_, end)) if from <= *end + 1 => *end = to.max(*end),
                _ => set.push((from, to)),
            }
        }
        Ok(Self(set))
    }
}

impl From<Statuses> for Value {
    fn from(set: Statuses) -> Self {
        let mut list: Vec<Self> = set
            .0
            .iter()
            .map(|(from, to)| {
                if from == to {
                    Self::from(*from)
                } else {
                    Self::from(format!("{from}-{to}"))
                }
            })
            .collect();
        if list.len() == 1 {
            list.remove(0)
        } else {
            Self::Array(list)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_set_is_written_in_many_ways_and_kept_in_one() {
        for (written, kept) in [
            (json!(200), json!(200)),
            (json!("200"), json!(200)),
            (json!(" 200 - 299 "), json!("200-299")),
            (json!([204, 200]), json!([200, 204])),
            (json!(["200-204", 205, "203-210"]), json!("200-210")),
            (json!([200, 201, "404"]), json!(["200-201", 404])),
            (json!([200, 200]), json!(200)),
        ] {
            let set = Statuses::try_from(written.clone()).unwrap();
            assert_eq!(Value::from(set.clone()), kept, "{written}");
            assert_eq!(Statuses::try_from(kept), Ok(set), "{written}");
        }
    }

    #[test]
    fn a_set_holds_its_ends_and_what_is_between() {
        let set = Statuses::try_from(json!(["200-204", 410])).unwrap();
        let held: Vec<u16> = (100..600).filter(|status| set.contains(*status)).collect();
        assert_eq!(held, [200, 201, 202, 203, 204, 410]);
    }

    #[test]
    fn what_is_no_set_is_refused_with_what_it_takes() {
        for value in [
            json!(null),
            json!([]),
            json!(99),
            json!(600),
            json!(200.5),
            json!(-200),
            json!(65_736),
            json!("2xx"),
            json!("299-200"),
            json!("+200"),
            json!("200-"),
            json!("0200"),
            json!([[200]]),
            json!({"from": 200}),
            json!(true),
        ] {
            let error = Statuses::try_from(value.clone()).unwrap_err();
            assert!(error.contains("it takes a status such as 200"), "{value}: {error}");
        }
    }
}
