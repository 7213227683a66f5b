//! `matsu schema`: JSON Schemas of what people and programs write to matsu, or read from it.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use matsu_wait::target::{Target, Until};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::report::Document;
use crate::say;

/// `matsu schema`
#[derive(Debug, Clone, Args)]
pub(crate) struct SchemaArgs {
    /// target, request or result [default: all of them, by name]
    #[arg(value_enum, value_name = "NAME", hide_possible_values = true)]
    pub(crate) name: Option<Name>,
}

/// What there is a schema of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// A target as an object.
    Target,
    /// A request for a wait or a copy: an event for the starter, or a raw queue message.
    Request,
    /// The document of a wait that `--output json` prints.
    Result,
}

/// Runs the command.
pub(crate) fn run(args: &SchemaArgs) -> Result<ExitCode, Failure> {
    let document = match args.name {
        Some(name) => schema(name).to_value(),
        None => {
            let named = |name: &Name| {
                Some((
                    name.to_possible_value()?.get_name().to_owned(),
                    schema(*name).to_value(),
                ))
            };
            Value::Object(Name::value_variants().iter().filter_map(named).collect())
        }
    };
    say::result(format!("{document:#}"))?;
    Ok(ExitCode::SUCCESS)
}

fn schema(name: Name) -> Schema {
    let settings = SchemaSettings::draft2020_12();
    match name {
        Name::Target => settings.into_generator().into_root_schema_for::<Target>(),
        Name::Request => request(settings.into_generator()),
        Name::Result => settings
            .for_serialize()
            .into_generator()
            .into_root_schema_for::<Document>(),
    }
}

/// What the starter and the queue take: a request has one of several forms, and fields that all of them share.
fn request(mut generator: SchemaGenerator) -> Schema {
    let (target, until) = (generator.subschema_for::<Target>(), generator.subschema_for::<Until>());
    let text = |means: &str| json!({ "type": "string", "minLength": 1, "description": means });
    let count =
        json!({ "type": "integer", "minimum": 0, "description": "the number of the first pass; 0 counts as 1" });
    let shared = json!({
        "policy": policy(),
        "origin": text("the identity of the request: the same request again starts nothing"),
    });
    let form = |title: &str, required: &[&str], fields: Value| {
        let mut properties = Map::new();
        for fields in [fields, shared.clone()] {
            properties.extend(fields.as_object().cloned().unwrap_or_default());
        }
        json!({ "title": title, "type": "object", "required": required, "properties": properties })
    };
    let mut schema = json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Request",
        "description": "a request for a wait or a copy: an event for the starter, or a raw queue message",
        "oneOf": [
            form("a wait", &["target"], json!({
                "target": { "anyOf": [text("the target as people type it"), target] },
                "until": until,
                "region": text("the region of a target that names none"),
                "count": count,
            })),
            form("a wait for a snapshot", &["snapshot"], json!({
                "snapshot": text("the id or ARN of the snapshot"),
                "region": text("its region, if the id does not say it"),
                "count": count,
            })),
            form("a wait for an object to be gone", &["bucket", "key"], json!({
                "bucket": text("the bucket"),
                "key": text("the key, byte for byte"),
                "until": until,
                "count": count,
            })),
            form("a copy of a snapshot, and the wait for it", &["job", "source"], json!({
                "job": { "const": "rds-copy" },
                "source": text("the id or ARN of the snapshot"),
                "source_region": text("its region, if the source does not say it"),
                "to": text("the name of the copy"),
                "region": text("where the copy goes"),
                "kms_key": text("the KMS key of the copy, in the region where it goes"),
                "tags": {
                    "description": "copy, k=v,… or an object",
                    "anyOf": [{ "type": "string" }, { "type": "object", "additionalProperties": { "type": "string" } }],
                },
            })),
        ],
    });
    let definitions = generator.take_definitions(true);
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    if let Some(value) = schema.as_object_mut() {
        value.values_mut().for_each(leave_out_where_it_is);
    }
    schema
}

/// Every part of a policy may be left out: what is configured holds then.
fn policy() -> Value {
    let duration = |means: &str| {
        json!({
            "type": "string", "pattern": "^(\\d+d)?(\\d+h)?(\\d+m)?(\\d+s)?(\\d+ms)?$", "minLength": 2,
            "description": means, "examples": ["30s", "5m", "1h30m"],
        })
    };
    json!({
        "type": "object",
        "properties": {
            "min_delay": duration("the shortest time between two passes"),
            "max_delay": duration("the longest time between two passes"),
            "timeout": duration("the wait gives up after this time"),
            "max_count": { "type": "integer", "minimum": 1, "description": "the wait gives up after so many passes" },
        },
    })
}

/// A request may leave out the region and the account of a target: those of whoever reads it hold then.
fn leave_out_where_it_is(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Array(required)) = fields.get_mut("required") {
                required.retain(|name| name != "region" && name != "account");
            }
            fields.values_mut().for_each(leave_out_where_it_is);
        }
        Value::Array(values) => values.iter_mut().for_each(leave_out_where_it_is),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: Name) -> String {
        schema(name).to_value().to_string()
    }

    #[test]
    fn the_target_schema_has_every_kind_with_its_fields() {
        let schema = text(Name::Target);
        for word in [
            "rds-snapshot",
            "rds-cluster-snapshot",
            "s3-object",
            "http",
            "expect",
            "file",
            "until",
            "account",
        ] {
            assert!(schema.contains(&format!("\"{word}\"")), "{word}: {schema}");
        }
    }

    #[test]
    fn the_result_schema_requires_every_field_and_allows_null() {
        let schema = schema(Name::Result).to_value();
        let required = schema["required"].as_array().unwrap();
        assert_eq!(required.len(), 9, "{schema:#}");
        assert_eq!(schema["properties"]["count"]["type"], json!(["integer", "null"]));
        let outcomes = schema["properties"]["outcome"]["enum"].as_array().unwrap();
        assert!(outcomes.contains(&json!("gave-up")) && outcomes.contains(&Value::Null));
    }

    #[test]
    fn in_a_request_a_target_may_leave_out_where_it_is_and_every_reference_leads_somewhere() {
        let schema = schema(Name::Request).to_value();
        let forms = schema["oneOf"].as_array().unwrap();
        assert_eq!(forms.len(), 4);
        assert!(forms.iter().all(|form| form["properties"]["policy"].is_object()));
        let all = schema.to_string();
        assert!(!all.contains("\"required\":[\"id\",\"region\""), "{schema:#}");
        for reference in all.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().unwrap();
            assert!(schema.pointer(pointer).is_some(), "{pointer} leads nowhere");
        }
    }
}
