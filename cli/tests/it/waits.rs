//! `matsu wait` with the embedded queue.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Rig, ended, is_there, pause, ran, signal, webhook};

#[expect(clippy::disallowed_methods, reason = "the binary runs in real time")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn a_file_that_is_there_is_completed_at_once() {
    let rig = Rig::new();
    rig.touch("there");
    let ran = rig.run(&["wait", &rig.file("there")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .starts_with(&format!("completed: {} after 1 pass in ", rig.file("there"))),
        "{ran:?}"
    );
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(is_there(&rig.path(".local/state/matsu/matsu.db")));
}

#[test]
fn json_is_one_document_with_every_field() {
    let rig = Rig::new();
    rig.touch("there");
    let document = rig.run(&["wait", "file:there", "--output", "json"]).json();
    let fields: Vec<_> = document.as_object().unwrap().keys().map(String::as_str).collect();
    let mut all = [
        "wait",
        "target",
        "outcome",
        "limit",
        "status",
        "progress",
        "count",
        "elapsed_seconds",
        "reason",
    ]
    .to_vec();
    all.sort_unstable();
    assert_eq!(
        {
            let mut f = fields;
            f.sort_unstable();
            f
        },
        all
    );
    let path = rig.path("there").display().to_string();
    assert_eq!(
        document["target"],
        json!({"kind": "file", "path": path, "until": "exists"})
    );
    assert_eq!(document["outcome"], "completed");
    assert_eq!(
        (&document["limit"], &document["progress"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(document["count"], 1);
    assert!(document["elapsed_seconds"].as_f64().unwrap() < 5.0);
    assert_eq!(document["wait"].as_str().unwrap().len(), 32);
    assert!(document["status"].is_string() && document["reason"].is_string());
}

#[test]
fn the_end_is_noticed_within_one_interval() {
    let rig = Rig::new();
    let child = rig.start(&["wait", &rig.file("late"), "--interval", "400ms", "--output", "json"]);
    rig.until_pass(2);
    rig.touch("late");
    let appeared = now();
    let ran = ended(child);
    let lag = appeared.elapsed();
    println!(
        "an interval of 400 ms: the end was noticed and told after {} ms",
        lag.as_millis()
    );
    assert!(lag < Duration::from_millis(400 + 250 + 400), "{lag:?}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.json()["count"].as_u64() >= Some(3), "{ran:?}");
}

#[test]
fn passes_follow_one_another_at_the_interval() {
    let rig = Rig::new();
    let begun = now();
    let ran = rig.run(&[
        "wait",
        &rig.file("never"),
        "--interval",
        "300ms",
        "--max-count",
        "6",
        "--output",
        "json",
    ]);
    let took = begun.elapsed();
    assert_eq!((ran.code, &ran.json()["count"]), (Some(124), &json!(6)), "{ran:?}");
    assert!(took >= Duration::from_millis(1_500), "{took:?}");
    assert!(took < Duration::from_millis(4_000), "{took:?}");
}

#[test]
fn a_file_can_be_waited_away() {
    let rig = Rig::new();
    rig.touch("there");
    let child = rig.start(&["wait", &rig.file("there"), "--until", "deleted", "--interval", "1s"]);
    rig.until_pass(1);
    std::fs::remove_file(rig.path("there")).unwrap();
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("exists (pass 1, next look in"), "{ran:?}");
}

#[test]
fn giving_up_tells_which_limit_it_was() {
    let rig = Rig::new();
    for (flags, limit) in [(["--max-count", "2"], "count"), (["--timeout", "700ms"], "deadline")] {
        let target = rig.file(limit);
        let ran = rig.run(&[
            "wait",
            &target,
            "--interval",
            "200ms",
            "--output",
            "json",
            flags[0],
            flags[1],
        ]);
        let document = ran.json();
        assert_eq!(ran.code, Some(124), "{ran:?}");
        assert_eq!(
            (&document["outcome"], &document["limit"]),
            (&json!("gave-up"), &json!(limit)),
            "{ran:?}"
        );
        assert_eq!(document["status"], "absent");
    }
}

#[test]
fn two_processes_that_wait_for_the_same_share_one_wait() {
    let rig = Rig::new();
    let arguments = ["wait", &rig.file("late"), "--interval", "200ms", "--output", "json"];
    let first = rig.start(&arguments);
    rig.until_pass(1);
    let second = rig.start(&arguments);
    pause(Duration::from_millis(500));
    assert_eq!(
        rig.run(&["list", "--output", "json"]).json().as_array().unwrap().len(),
        1
    );
    rig.touch("late");
    let (first, second) = (ended(first), ended(second));
    assert_eq!((first.code, second.code), (Some(0), Some(0)), "{first:?} {second:?}");
    assert_eq!(first.json(), second.json());
    assert!(second.stderr.contains("already waited for"), "{second:?}");
}

#[test]
fn of_two_processes_the_one_that_is_left_works_for_both() {
    let rig = Rig::new();
    let mut first = rig.start(&["wait", &rig.file("one"), "--interval", "200ms"]);
    rig.until_pass(1);
    let second = rig.start(&["wait", &rig.file("two"), "--interval", "200ms"]);
    pause(Duration::from_millis(300));
    signal(&first, "INT");
    assert_eq!(first.wait().unwrap().code(), Some(130));
    rig.touch("one");
    for _ in 0..100 {
        if rig.run(&["list", "--state", "done"]).stdout.contains("completed") {
            break;
        }
        pause(Duration::from_millis(50));
    }
    assert!(rig.run(&["list", "--state", "done"]).stdout.contains(&rig.file("one")));
    rig.touch("two");
    assert_eq!(ended(second).code, Some(0));
}

#[test]
fn an_interrupted_wait_stays_and_the_same_command_goes_on_with_it() {
    let rig = Rig::new();
    let target = rig.file("late");
    let arguments = ["wait", &target, "--interval", "300ms", "--output", "json"];
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let child = rig.start(&arguments);
        let passes = rig.until_pass(1)["count"].as_u64().unwrap();
        rig.until_pass(passes + 1);
        signal(&child, name);
        let begun = now();
        let ran = ended(child);
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
        assert!(
            ran.stderr.contains(&format!("matsu wait {target} --interval 300ms")),
            "{ran:?}"
        );
    }
    let before = rig.only_wait();
    rig.touch("late");
    let begun = now();
    let ran = rig.run(&arguments);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["wait"], before["wait"]);
    assert!(ran.json()["count"].as_u64() > before["count"].as_u64());
}

#[test]
fn a_killed_wait_is_resumed_where_it_was() {
    let rig = Rig::new();
    let arguments = ["wait", &rig.file("late"), "--interval", "1s", "--output", "json"];
    let mut child = rig.start(&arguments);
    let before = rig.until_pass(2);
    // Between two passes: the timer is in the queue and in nobody's hand.
    pause(Duration::from_millis(200));
    child.kill().unwrap();
    child.wait().unwrap();
    rig.touch("late");
    let begun = now();
    let ran = rig.run(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(ran.json()["wait"], before["wait"]);
    assert!(ran.json()["count"].as_u64() > before["count"].as_u64(), "{ran:?}");
}

#[test]
fn the_same_target_can_be_waited_for_again_after_its_end() {
    let rig = Rig::new();
    rig.touch("there");
    let arguments = ["wait", &rig.file("there"), "--output", "json"];
    let (first, second) = (rig.run(&arguments), rig.run(&arguments));
    assert_eq!((first.code, second.code), (Some(0), Some(0)));
    assert_ne!(first.json()["wait"], second.json()["wait"]);
}

#[test]
fn the_outcome_is_told_to_the_webhook_once_and_the_secret_is_not_shown() {
    let rig = Rig::new();
    rig.touch("there");
    let (url, messages) = webhook("200 OK");
    let mut command = rig.command(&["wait", &rig.file("there")]);
    let ran = ran(command
        .env("MATSU_SLACK_WEBHOOK", &url)
        .env("MATSU_LOG_LEVEL", "debug")
        .output()
        .unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let message = messages.recv_timeout(Duration::from_secs(5)).unwrap().to_string();
    assert!(
        message.contains("completed") && message.contains(&rig.file("there")),
        "{message}"
    );
    assert!(
        messages.recv_timeout(Duration::from_millis(300)).is_err(),
        "a second message came"
    );
    assert!(!ran.stderr.contains("secret"), "{ran:?}");
}

#[test]
fn an_outcome_that_cannot_be_announced_now_is_mentioned_and_counts_all_the_same() {
    let rig = Rig::new();
    rig.touch("there");
    for (status, words) in [
        ("503 Busy", "not announced yet"),
        ("404 Gone", "could not be announced"),
    ] {
        let (url, _messages) = webhook(status);
        rig.touch(status);
        let target = rig.file(status);
        let ran = ran(rig
            .command(&["wait", &target])
            .env("MATSU_SLACK_WEBHOOK", &url)
            .output()
            .unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn a_reader_who_goes_away_is_no_reason_to_panic() {
    let rig = Rig::new();
    rig.touch("there");
    let mut child = rig.start(&["wait", &rig.file("there")]);
    drop(child.stdout.take());
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("panic"), "{ran:?}");
}

#[test]
fn a_target_may_be_an_object_in_json() {
    let rig = Rig::new();
    rig.touch("there");
    let target = format!("{{\"kind\":\"file\",\"path\":\"{}\"}}", rig.path("there").display());
    let ran = rig.run(&["wait", &target, "--output", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["target"]["kind"], "file");
    for bad in [
        "{",
        "{\"kind\":\"flie\"}",
        "{\"kind\":\"http\",\"url\":\"https://h\",\"expect\":{\"json\":\"a[\"}}",
    ] {
        assert_eq!(rig.run(&["wait", bad]).code, Some(252), "{bad}");
    }
}
