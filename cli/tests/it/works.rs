//! `matsu worker` and `matsu notify test`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Rig, ended, pause, ran, signal, webhook};

/// Returns once `matsu list` shows this outcome.
fn until_done(rig: &Rig, outcome: &str) {
    for _ in 0..200 {
        if rig.run(&["list", "--state", "done"]).stdout.contains(outcome) {
            return;
        }
        pause(Duration::from_millis(50));
    }
    panic!("nothing was {outcome} in ten seconds");
}

#[test]
fn a_worker_works_what_others_start_until_it_is_told_to_stop() {
    let rig = Rig::new();
    rig.touch("there");
    let target = rig.file("there");
    for name in ["INT", "TERM"] {
        let worker = rig.start(&["worker"]);
        let begin = if name == "INT" { "start" } else { "retry" };
        let line = [begin, "wait", &target];
        let line: Vec<_> = line
            .into_iter()
            .filter(|word| begin == "start" || *word != "wait")
            .collect();
        pause(Duration::from_millis(300));
        assert_eq!(rig.run(&line).code, Some(0));
        until_done(&rig, "completed");
        // The outcome is printed when it is told, a moment after it is recorded.
        pause(Duration::from_millis(200));
        signal(&worker, name);
        let ran = ended(worker);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.starts_with(&format!("completed: {target} after 1 pass")),
            "{ran:?}"
        );
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
        for words in [
            "working the queue sqlite:",
            "matsu.db",
            "at most 1d",
            "sweeping every 5m",
            "ending what is in hand",
        ] {
            assert!(ran.stderr.contains(words), "{words} is missing: {ran:?}");
        }
    }
}

#[test]
fn with_a_json_log_every_line_of_a_worker_is_json() {
    let rig = Rig::new();
    rig.touch("there");
    assert_eq!(rig.run(&["start", "wait", &rig.file("there")]).code, Some(0));
    let mut command = rig.command(&["worker"]);
    let child = command
        .env("MATSU_LOG", "json")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    until_done(&rig, "completed");
    pause(Duration::from_millis(200));
    signal(&child, "TERM");
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["outcome"], "completed");
    let lines: Vec<Value> = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines[0].to_string().contains("working the queue"), "{ran:?}");
}

#[test]
fn a_cancel_says_who_will_tell_the_outcome() {
    let rig = Rig::new();
    let target = rig.file("late");
    assert_eq!(rig.run(&["start", "wait", &target]).code, Some(0));
    let (url, messages) = webhook("200 OK");
    let cancelled = ran(rig
        .command(&["cancel", &target])
        .env("MATSU_SLACK_WEBHOOK", &url)
        .output()
        .unwrap());
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert!(cancelled.stderr.contains("matsu worker"), "{cancelled:?}");
    assert!(messages.try_recv().is_err(), "nobody has worked the queue yet");
}

#[test]
fn a_worker_with_a_store_that_it_cannot_use_says_so_and_ends() {
    let rig = Rig::new();
    std::fs::write(rig.path("x.db"), "certainly not a database ".repeat(100)).unwrap();
    let ran = rig.run(&["worker", "--store", "sqlite:x.db"]);
    assert_eq!(ran.code, Some(253), "{ran:?}");
    assert!(ran.only_line().contains("x.db"), "{ran:?}");
}

#[test]
fn a_test_message_says_what_the_channel_answered() {
    let rig = Rig::new();
    for (status, code, words) in [
        ("200 OK", 0, "took the test message"),
        ("404 Gone", 254, "does not take messages"),
        ("503 Busy", 254, "not take the message now"),
    ] {
        let (url, messages) = webhook(status);
        let ran = ran(rig
            .command(&["notify", "test"])
            .env("MATSU_SLACK_WEBHOOK", &url)
            .output()
            .unwrap());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(words), "{ran:?}");
        assert!(!ran.stderr.contains("secret"), "{ran:?}");
        let message = messages.recv_timeout(Duration::from_secs(5)).unwrap().to_string();
        assert!(message.contains("this is a test"), "{message}");
    }
    assert_eq!(
        rig.run(&["list", "--output", "json"]).json(),
        json!([]),
        "it is no wait"
    );
}

#[test]
fn without_a_webhook_a_test_message_is_a_configuration_error() {
    let ran = Rig::new().run(&["notify", "test"]);
    assert_eq!(ran.code, Some(253), "{ran:?}");
    assert!(ran.only_line().contains("MATSU_SLACK_WEBHOOK"), "{ran:?}");
}

#[test]
fn a_second_signal_ends_a_worker_at_once() {
    let rig = Rig::new();
    rig.touch("there");
    assert_eq!(rig.run(&["start", "wait", &rig.file("there")]).code, Some(0));
    // A webhook that takes the connection and never answers keeps the pass in hand.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = rig.command(&["worker"]);
    let worker = command
        .env(
            "MATSU_SLACK_WEBHOOK",
            format!("http://{}/services/secret", silent.local_addr().unwrap()),
        )
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let (_held, _) = silent.accept().unwrap();
    signal(&worker, "INT");
    pause(Duration::from_millis(300));
    signal(&worker, "INT");
    let ran = ended(worker);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stderr.contains("a second signal ends it at once"), "{ran:?}");
}
