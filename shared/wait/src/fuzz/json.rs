//! Changes to a JSON value that know its structure, also where a text in it is JSON again.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::text;

/// One change, somewhere.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// Which field or item to go into, from the outside in.
    way: Vec<u16>,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Remove,
    Rename(String),
    /// Twice in a list, or under another name, too.
    Double(String),
    Replace(Value),
    /// What stands elsewhere stands here, too.
    Fetch(Vec<u16>),
    /// Only the part between these two places.
    Cut(u16, u16),
    Insert(u16, String),
    /// A list of it.
    Enlist,
    /// Its JSON as a text.
    Quote,
    /// So many objects around it.
    Bury(u8),
}

/// Up to `most` changes.
pub(crate) fn changes(most: usize) -> impl Strategy<Value = Vec<Change>> {
    let change = (way(), what()).prop_map(|(way, what)| Change { way, what });
    prop::collection::vec(change, 0..=most)
}

/// Any JSON value.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..5).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("not kept to its last digit", kept),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A number that is the same when it was written and read: of those with the most digits, not all are.
fn kept(number: f64) -> Option<Value> {
    let value = Value::from(number);
    let again: Value = serde_json::from_str(&value.to_string()).ok()?;
    (again == value).then_some(value)
}

fn way() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..10)
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        2 => Just(What::Remove),
        1 => text().prop_map(What::Rename),
        1 => text().prop_map(What::Double),
        4 => any_json().prop_map(What::Replace),
        2 => text().prop_map(|text| What::Replace(json!(text))),
        4 => way().prop_map(What::Fetch),
        3 => any::<(u16, u16)>().prop_map(|(from, to)| What::Cut(from, to)),
        3 => (any::<u16>(), text()).prop_map(|(at, text)| What::Insert(at, text)),
        1 => Just(What::Enlist),
        1 => Just(What::Quote),
        1 => (0_u8..120).prop_map(What::Bury),
    ]
}

impl Change {
    /// Makes the change.
    pub(crate) fn apply(&self, value: &mut Value) {
        let what = match &self.what {
            What::Fetch(way) => What::Replace(at(value, way)),
            other => other.clone(),
        };
        change(value, &self.way, &what);
    }
}

/// What stands at the end of a way, or where it ends early.
fn at(value: &Value, way: &[u16]) -> Value {
    let Some((step, rest)) = way.split_first() else {
        return value.clone();
    };
    let step = usize::from(*step);
    match value {
        Value::Object(fields) if !fields.is_empty() => fields
            .values()
            .nth(step % fields.len())
            .map_or(Value::Null, |v| at(v, rest)),
        Value::Array(items) if !items.is_empty() => at(&items[step % items.len()], rest),
        Value::String(text) => inner(text).map_or_else(|| value.clone(), |inner| at(&inner, way)),
        _ => value.clone(),
    }
}

/// The list or object that a text is.
fn inner(text: &str) -> Option<Value> {
    serde_json::from_str(text)
        .ok()
        .filter(|v: &Value| v.is_object() || v.is_array())
}

/// Makes the change at the end of the way, or where it ends early; answers whether it is one to the field or item there.
fn change(value: &mut Value, way: &[u16], what: &What) -> bool {
    let Some((step, rest)) = way.split_first() else {
        return here(value, what);
    };
    let step = usize::from(*step);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let name = fields.keys().nth(step % fields.len()).cloned().unwrap_or_default();
            if change(&mut fields[&name], rest, what) {
                of_field(fields, name, what);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let index = step % items.len();
            if change(&mut items[index], rest, what) {
                match what {
                    What::Double(_) => items.push(items[index].clone()),
                    _ => drop(items.remove(index)),
                }
            }
        }
        Value::String(text) => match inner(text) {
            Some(mut inner) => {
                change(&mut inner, way, what);
                *text = inner.to_string();
            }
            None => return here(value, what),
        },
        _ => return here(value, what),
    }
    false
}

fn of_field(fields: &mut Map<String, Value>, name: String, what: &What) {
    let value = fields[&name].clone();
    if !matches!(what, What::Double(_)) {
        fields.remove(&name);
    }
    if let What::Rename(new) | What::Double(new) = what {
        fields.insert(new.clone(), value);
    }
}

/// Changes the value itself, or answers that what is around it is to be changed.
fn here(value: &mut Value, what: &What) -> bool {
    match (what, value) {
        (What::Remove | What::Rename(_) | What::Double(_), _) => return true,
        (What::Replace(new), value) => *value = new.clone(),
        (What::Cut(from, to), Value::String(text)) => {
            let (from, to) = (place(text, *from), place(text, *to));
            *text = text[from.min(to)..from.max(to)].to_owned();
        }
        (What::Insert(at, new), Value::String(text)) => text.insert_str(place(text, *at), new),
        (What::Bury(depth), value) => {
            *value = (0..*depth).fold(value.take(), |inner, _| json!({ "a": inner }));
        }
        (What::Quote, value) => *value = json!(value.to_string()),
        (What::Enlist | What::Cut(..) | What::Insert(..) | What::Fetch(_), value) => *value = json!([value.take()]),
    }
    false
}

/// A place between two characters of a text.
fn place(text: &str, at: u16) -> usize {
    text.floor_char_boundary(usize::from(at) % (text.len() + 1))
}
