//! `matsu list`.

use serde_json::{Value, json};

use crate::harness::Rig;

fn rig() -> Rig {
    let rig = Rig::new();
    rig.touch("there");
    assert_eq!(rig.run(&["wait", &rig.file("there")]).code, Some(0));
    assert_eq!(rig.run(&["start", "wait", &rig.file("late")]).code, Some(0));
    rig
}

#[test]
fn an_empty_store_is_an_empty_list() {
    let rig = Rig::new();
    let ran = rig.run(&["list", "--output", "json"]);
    assert_eq!((ran.code, ran.json()), (Some(0), json!([])));
    let ran = rig.run(&["list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
}

#[test]
fn open_waits_have_no_outcome_yet() {
    let listed = rig().run(&["list", "--output", "json"]).json();
    let outcomes: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|document| document["outcome"].clone())
        .collect();
    assert!(
        outcomes.contains(&Value::Null) && outcomes.contains(&json!("completed")),
        "{listed}"
    );
}

#[test]
fn one_state_can_be_asked_for() {
    let rig = rig();
    for (state, shown, hidden) in [("waiting", "late", "there"), ("done", "there", "late")] {
        let ran = rig.run(&["list", "--state", state]);
        assert_eq!(ran.code, Some(0));
        assert!(
            ran.stdout.contains(&rig.file(shown)) && !ran.stdout.contains(&rig.file(hidden)),
            "{ran:?}"
        );
        let documents = rig.run(&["list", "--state", state, "--output", "json"]).json();
        assert_eq!(documents.as_array().unwrap().len(), 1, "{documents}");
    }
}

#[test]
fn the_table_has_a_line_for_each_wait_and_no_colours_in_a_pipe() {
    let ran = rig().run(&["list"]);
    assert_eq!(ran.stdout.lines().count(), 3, "{ran:?}");
    assert!(ran.stdout.contains("TARGET") && ran.stdout.contains("ago"), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
}
