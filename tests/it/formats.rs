//! Records and messages that an earlier release stored: `tests/formats/v1`. They are never changed, only added to.

use std::path::Path;

use matsu_wait::message::Body;
use matsu_wait::record::Record;
use serde_json::{Value, json};

/// The samples whose names begin so, with their names.
fn samples(beginning: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("formats/v1");
    let mut samples = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of samples is there") {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(beginning) {
            let text = std::fs::read_to_string(&path).expect("a sample can be read");
            samples.push((name, serde_json::from_str(&text).expect("a sample is JSON")));
        }
    }
    assert!(samples.len() > 1, "samples {beginning}* are missing");
    samples
}

fn record(sample: &Value) -> Value {
    let record = Record::from_body("key", sample.to_string().as_bytes()).expect("a record");
    serde_json::from_slice(&record.to_body()).expect("JSON")
}

fn timer(sample: &Value) -> Value {
    let Ok(Body::Timer(timer)) = Body::parse(&sample.to_string()) else {
        panic!("no timer: {sample}");
    };
    serde_json::from_str(&timer.to_body()).expect("JSON")
}

/// Every object of a sample in turn with a field of a later release in it. What a person wrote as a map (tags, headers) takes any
/// name already, and the reason of an undeliverable announcement is a value and not a set of fields.
fn each_with_a_later_field(sample: &Value) -> Vec<Value> {
    let mut paths = Vec::new();
    collect(sample, String::new(), &mut paths);
    let later = |path: &String| {
        let mut sample = sample.clone();
        sample.pointer_mut(path).expect("a path of this sample")["later"] = json!({"of": [null, 1.5, "x"]});
        sample
    };
    paths.iter().map(later).collect()
}

fn collect(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !["/tags", "/notified", "/headers"].iter().any(|map| path.ends_with(map)) => {
            paths.push(path.clone());
            for (name, field) in fields {
                collect(field, format!("{path}/{name}"), paths);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                collect(item, format!("{path}/{number}"), paths);
            }
        }
        _ => {}
    }
}

#[test]
fn what_version_1_stored_is_read_and_written_back_the_same() {
    for (name, sample) in samples("record") {
        assert_eq!(record(&sample), sample, "{name}");
    }
    for (name, sample) in samples("timer") {
        assert_eq!(timer(&sample), sample, "{name}");
    }
}

#[test]
fn a_field_of_a_later_release_is_kept_wherever_it_stands() {
    let mut places = 0;
    for (name, sample) in samples("record") {
        for later in each_with_a_later_field(&sample) {
            assert_eq!(record(&later), later, "{name}");
            places += 1;
        }
    }
    for (name, sample) in samples("timer") {
        for later in each_with_a_later_field(&sample) {
            assert_eq!(timer(&later), later, "{name}");
            places += 1;
        }
    }
    assert!(places > 25, "{places}");
}

#[test]
fn a_newer_version_is_never_taken_for_this_one_and_never_for_nonsense() {
    for (name, mut sample) in samples("record") {
        sample["v"] = json!(2);
        let refused = Record::from_body("key", sample.to_string().as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("version 2"), "{name}: {refused}");
    }
    for (name, mut sample) in samples("timer") {
        sample["v"] = json!(2);
        assert_eq!(Body::parse(&sample.to_string()), Ok(Body::Newer(2)), "{name}");
    }
}
