//! `matsu start`: the starter's own code.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Rig, ended};

#[test]
fn a_started_wait_is_worked_and_followed_by_a_later_command() {
    let rig = Rig::new();
    let target = rig.file("late");
    let started = rig.run(&["start", "wait", &target, "--output", "json"]).json();
    assert_eq!(started["started"][0]["target"]["kind"], "file");
    assert_eq!(started["started"][0]["job"], Value::Null);
    assert_eq!(
        (&started["already"], &started["woken"], &started["ignored"]),
        (&json!([]), &json!([]), &json!([]))
    );
    rig.touch("late");
    let ended = rig.run(&["wait", &target, "--output", "json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json()["wait"], started["started"][0]["wait"]);
}

#[test]
fn a_second_start_is_already_served() {
    let rig = Rig::new();
    let target = rig.file("late");
    let first = rig.run(&["start", "wait", &target]);
    assert!(first.stdout.starts_with("started: "), "{first:?}");
    let second = rig.run(&["start", "wait", &target]);
    assert_eq!(second.code, Some(0));
    assert!(second.stdout.starts_with("already: "), "{second:?}");
}

#[test]
fn the_condition_belongs_to_the_target() {
    let rig = Rig::new();
    let started = rig
        .run(&[
            "start",
            "wait",
            &rig.file("x"),
            "--until",
            "deleted",
            "--output",
            "json",
        ])
        .json();
    assert_eq!(started["started"][0]["target"]["until"], "deleted");
}

fn created() -> Value {
    json!({"Records": [{
        "eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "awsRegion": "eu-west-1",
        "s3": {"bucket": {"name": "my-bucket"}, "object": {"key": "a+b%2Fc", "sequencer": "0055AED6DCD90281E5"}},
    }]})
}

#[test]
fn an_event_is_read_from_a_file_and_the_same_event_again_starts_nothing() {
    let rig = Rig::new();
    std::fs::write(rig.path("event.json"), created().to_string()).unwrap();
    let arguments = ["start", "--event", "event.json", "--output", "json"];
    let first = rig.run(&arguments).json();
    assert_eq!(first["started"][0]["target"]["key"], "a b/c");
    let again = rig.run(&arguments).json();
    assert_eq!(
        (&again["started"], again["already"].as_array().unwrap().len()),
        (&json!([]), 1),
        "{again}"
    );
}

#[test]
fn an_event_is_read_from_standard_input() {
    let rig = Rig::new();
    let mut command = rig.command(&["start", "--event", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(created().to_string().as_bytes())
        .unwrap();
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("started: s3://my-bucket/a b/c"), "{ran:?}");
}

#[test]
fn what_is_no_event_is_a_usage_error_that_says_why() {
    let rig = Rig::new();
    for (text, named) in [
        ("", "JSON"),
        ("{", "JSON"),
        ("{}", "target"),
        ("[1]", "event"),
        (r#"{"target": 5}"#, "target"),
    ] {
        std::fs::write(rig.path("event.json"), text).unwrap();
        let ran = rig.run(&["start", "--event", "event.json"]);
        assert_eq!(ran.code, Some(252), "{text}: {ran:?}");
        assert!(ran.stderr.contains(named), "{text}: {ran:?}");
    }
}
