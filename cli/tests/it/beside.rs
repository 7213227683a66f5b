//! What people do about a wait beside its passes: show, cancel, extend, retry, sweep.

use serde_json::{Value, json};

use crate::harness::{Rig, ended};

/// A store with a wait for `late` that nobody works.
fn open() -> (Rig, String) {
    let rig = Rig::new();
    let target = rig.file("late");
    assert_eq!(rig.run(&["start", "wait", &target]).code, Some(0));
    (rig, target)
}

#[test]
fn show_tells_everything_by_target_and_by_id() {
    let (rig, target) = open();
    let shown = rig.run(&["show", &target, "--output", "json"]).json();
    for name in [
        "wait",
        "target",
        "outcome",
        "limit",
        "status",
        "progress",
        "count",
        "elapsed_seconds",
        "reason",
    ] {
        assert!(shown.get(name).is_some(), "{name} is missing: {shown}");
    }
    assert_eq!((&shown["state"], &shown["outcome"]), (&json!("waiting"), &Value::Null));
    assert_eq!(shown["policy"]["timeout"], "1d");
    let listed = rig.run(&["list"]).stdout;
    let short = listed
        .lines()
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .to_owned();
    let id = shown["wait"].as_str().unwrap();
    assert!(id.starts_with(&short), "{listed}");
    assert_eq!(rig.run(&["show", id, "--output", "json"]).json()["wait"], shown["wait"]);
    let by_id = rig.run(&["show", &short]);
    assert_eq!(by_id.code, Some(0), "{by_id:?}");
    for words in [
        "waiting",
        target.as_str(),
        "0 of at most 1000",
        "deadline",
        "15s growing to 2m",
    ] {
        assert!(by_id.stdout.contains(words), "{words} is missing: {}", by_id.stdout);
    }
}

#[test]
fn the_condition_need_not_be_typed_again_unless_both_are_waited_for() {
    let rig = Rig::new();
    let target = rig.file("x");
    assert_eq!(rig.run(&["start", "wait", &target, "--until", "deleted"]).code, Some(0));
    let shown = rig.run(&["show", &target, "--output", "json"]).json();
    assert_eq!(shown["target"]["until"], "deleted");
    assert_eq!(rig.run(&["start", "wait", &target]).code, Some(0));
    let unclear = rig.run(&["cancel", &target]);
    assert_eq!(unclear.code, Some(252), "{unclear:?}");
    assert!(unclear.only_line().contains("--until"), "{unclear:?}");
    assert_eq!(rig.run(&["cancel", &target, "--until", "exists"]).code, Some(0));
    // One is over, so the other is meant.
    let cancelled = rig.run(&["cancel", &target, "--output", "json"]);
    assert_eq!(cancelled.json()["target"]["until"], "deleted", "{cancelled:?}");
}

#[test]
fn what_is_not_waited_for_is_said_in_one_line_with_code_1() {
    let rig = Rig::new();
    let id = "0123456789abcdef0123456789abcdef";
    for line in [
        &["show", "file:/x"][..],
        &["cancel", "file:/x"],
        &["extend", "file:/x", "1h"],
        &["retry", "file:/x"],
    ] {
        let ran = rig.run(line);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.only_line().contains("file:/x"), "{ran:?}");
    }
    let ran = rig.run(&["show", id]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.only_line().contains(id), "{ran:?}");
}

#[test]
fn a_cancelled_wait_ends_whoever_waits_for_it_with_3_and_cannot_be_cancelled_twice() {
    let rig = Rig::new();
    let target = rig.file("late");
    let waiting = rig.start(&["wait", &target, "--interval", "300ms", "--output", "json"]);
    rig.until_pass(1);
    let cancelled = rig.run(&["cancel", &target]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert!(
        cancelled.stdout.starts_with(&format!("cancelled: {target} after ")),
        "{cancelled:?}"
    );
    let waited = ended(waiting);
    assert_eq!(
        (waited.code, &waited.json()["outcome"]),
        (Some(3), &json!("cancelled")),
        "{waited:?}"
    );
    let again = rig.run(&["cancel", &target]);
    assert_eq!(again.code, Some(0), "it is cancelled, as was asked: {again:?}");
}

#[test]
fn a_wait_that_ended_otherwise_is_not_cancelled() {
    let rig = Rig::new();
    rig.touch("there");
    let target = rig.file("there");
    assert_eq!(rig.run(&["wait", &target]).code, Some(0));
    let ran = rig.run(&["cancel", &target]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.starts_with("completed: ") && ran.stderr.contains("nothing to cancel"),
        "{ran:?}"
    );
}

#[test]
fn an_extension_moves_the_deadline_and_raises_the_count() {
    let (rig, target) = open();
    let before = rig.run(&["show", &target, "--output", "json"]).json();
    let extended = rig.run(&["extend", &target, "6h"]);
    assert_eq!(extended.code, Some(0), "{extended:?}");
    assert!(
        extended
            .stdout
            .starts_with(&format!("extended: {target} gives up in 1d")),
        "{extended:?}"
    );
    let after = rig.run(&["show", &target, "--output", "json"]).json();
    assert_eq!(after["policy"]["timeout"], "1d6h");
    assert!(after["policy"]["max_count"].as_u64() > before["policy"]["max_count"].as_u64());
    assert_eq!(after["wait"], before["wait"]);
    rig.run(&["cancel", &target]);
    let over = rig.run(&["extend", &target, "6h"]);
    assert_eq!(over.code, Some(1), "{over:?}");
    assert!(over.only_line().contains("matsu retry"), "{over:?}");
}

#[test]
fn a_retry_begins_an_ended_wait_again_and_leaves_a_running_one_alone() {
    let rig = Rig::new();
    rig.touch("there");
    let target = rig.file("there");
    let first = rig
        .run(&["wait", &target, "--timeout", "3h", "--output", "json"])
        .json();
    let retried = rig.run(&["retry", &target, "--output", "json"]).json();
    assert_eq!(retried["started"].as_array().unwrap().len(), 1, "{retried}");
    assert_ne!(retried["started"][0]["wait"], first["wait"]);
    let shown = rig.run(&["show", &target, "--output", "json"]).json();
    assert_eq!(
        (&shown["state"], &shown["policy"]["timeout"]),
        (&json!("waiting"), &json!("3h"))
    );
    assert_eq!(shown["history"][0]["wait"], first["wait"]);
    let again = rig.run(&["retry", &target]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.starts_with("already: "), "{again:?}");
}

#[test]
fn a_sweep_tells_how_many_waits_are_open_and_that_none_lacks_its_timer() {
    let (rig, _) = open();
    let swept = rig.run(&["sweep", "--output", "json"]);
    assert_eq!(swept.code, Some(0), "{swept:?}");
    assert_eq!(swept.json()["sent"], 0, "the timer is on its way");
    assert!(rig.run(&["sweep"]).stdout.contains("0 timers sent"));
}

#[test]
fn waits_of_a_queue_that_is_gone_are_adopted() {
    let rig = Rig::new();
    let target = rig.file("late");
    let elsewhere = ["--queue", "sqlite:old.db"];
    let start = [&["start", "wait", &target], &elsewhere[..]].concat();
    assert_eq!(rig.run(&start).code, Some(0));
    let refused = rig.run(&["cancel", &target]);
    assert_eq!(refused.code, Some(253), "{refused:?}");
    assert!(
        refused.only_line().contains("old.db") && refused.only_line().contains("--queue"),
        "{refused:?}"
    );
    let swept = rig.run(&["sweep", "--adopt", "--output", "json"]).json();
    assert_eq!((&swept["adopted"], &swept["sent"]), (&json!(1), &json!(1)), "{swept}");
    assert_eq!(rig.run(&["cancel", &target]).code, Some(0));
}
