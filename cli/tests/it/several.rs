//! `matsu wait` with several targets.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Rig, ended, pause, signal};

fn outcomes(documents: &Value) -> Vec<&str> {
    let documents = documents.as_array().unwrap();
    documents
        .iter()
        .map(|document| document["outcome"].as_str().unwrap_or("-"))
        .collect()
}

#[test]
fn all_of_several_targets_are_waited_for_and_told_in_the_order_given() {
    let rig = Rig::new();
    rig.touch("a");
    let (a, b) = (rig.file("a"), rig.file("b"));
    let child = rig.start(&["wait", &b, &a, "--interval", "200ms", "--output", "json"]);
    pause(Duration::from_millis(600));
    rig.touch("b");
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let documents = ran.json();
    assert_eq!(outcomes(&documents), ["completed", "completed"]);
    assert!(
        documents[0]["target"]["path"].as_str().unwrap().ends_with("/b"),
        "{documents}"
    );
    assert!(ran.stderr.contains(&format!("{a}: completed after 1 pass")), "{ran:?}");
}

#[test]
fn the_worst_end_is_the_exit_code() {
    let rig = Rig::new();
    rig.touch("there");
    let (there, never) = (rig.file("there"), rig.file("never"));
    let ran = rig.run(&[
        "wait",
        &there,
        &never,
        "--interval",
        "100ms",
        "--max-count",
        "2",
        "--all",
    ]);
    assert_eq!(ran.code, Some(124), "{ran:?}");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(
        lines[0].starts_with("completed: ") && lines[1].starts_with("gave-up: "),
        "{ran:?}"
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn of_any_the_first_completed_one_decides_and_the_others_of_this_command_are_cancelled() {
    let rig = Rig::new();
    let (other, never, late) = (rig.file("other"), rig.file("never"), rig.file("late"));
    assert_eq!(rig.run(&["start", "wait", &other]).code, Some(0));
    let child = rig.start(&[
        "wait",
        &never,
        &late,
        &other,
        "--any",
        "--interval",
        "200ms",
        "--output",
        "json",
    ]);
    pause(Duration::from_millis(600));
    rig.touch("late");
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(outcomes(&ran.json()), ["cancelled", "completed", "-"]);
    assert!(
        ran.stderr.contains(&format!("{other} is waited for as before")),
        "{ran:?}"
    );
    let shown = rig.run(&["show", &other, "--output", "json"]).json();
    assert_eq!(ran.json()[2]["wait"], shown["wait"]);
    assert_eq!(shown["state"], "waiting", "somebody else began that one");
    let shown = rig.run(&["show", &never, "--output", "json"]).json();
    assert_eq!(shown["outcome"], "cancelled");
}

#[test]
fn of_any_that_all_end_without_a_completed_one_the_worst_is_the_exit_code() {
    let rig = Rig::new();
    let targets = [rig.file("x"), rig.file("y")];
    let ran = rig.run(&[
        "wait",
        &targets[0],
        &targets[1],
        "--any",
        "--interval",
        "100ms",
        "--max-count",
        "1",
    ]);
    assert_eq!(ran.code, Some(124), "{ran:?}");
    assert_eq!(ran.stdout.matches("gave-up: ").count(), 2, "{ran:?}");
}

#[test]
fn a_target_that_is_named_twice_is_one_wait() {
    let rig = Rig::new();
    rig.touch("there");
    let target = rig.file("there");
    let ran = rig.run(&["wait", &target, "file:there", &target, "--output", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(outcomes(&ran.json()), ["completed"]);
    assert_eq!(
        rig.run(&["list", "--output", "json"]).json().as_array().unwrap().len(),
        1
    );
}

#[test]
fn one_wrong_target_of_several_starts_nothing() {
    let rig = Rig::new();
    let ran = rig.run(&["wait", &rig.file("x"), "s3://My_Bucket/key"]);
    assert_eq!(ran.code, Some(252), "{ran:?}");
    assert_eq!(rig.run(&["list", "--output", "json"]).json(), json!([]));
}

#[test]
fn interrupted_several_waits_stay_and_the_same_command_goes_on_with_them() {
    let rig = Rig::new();
    let (a, b) = (rig.file("a"), rig.file("b"));
    let line = ["wait", &a, &b, "--interval", "200ms"];
    let child = rig.start(&line);
    pause(Duration::from_millis(600));
    signal(&child, "INT");
    let ran = ended(child);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!(
            "the waits stay in the queue; the same command goes on with them: matsu wait {a} {b}"
        )),
        "{ran:?}"
    );
    rig.touch("a");
    rig.touch("b");
    let ran = rig.run(&line);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 2), "{ran:?}");
}
