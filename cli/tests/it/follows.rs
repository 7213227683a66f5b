//! `matsu wait` with a queue in SQS: the wait is submitted and its record followed.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::cloud;
use crate::harness::{Rig, ended, ran, signal};

#[test]
fn a_wait_whose_queue_nobody_works_is_said_to_be_so_and_can_be_left_and_cancelled() {
    let rig = Rig::new();
    let endpoint = cloud::serve();
    let queue = format!("{endpoint}/000000000000/timers");
    let command = |line: &[&str]| {
        let mut command = rig.command(line);
        command
            .env("AWS_ACCESS_KEY_ID", "x")
            .env("AWS_SECRET_ACCESS_KEY", "x")
            .env("AWS_REGION", "eu-west-1")
            .env("AWS_ENDPOINT_URL", &endpoint)
            .env("MATSU_STORE", "s3://waits/here")
            .env("MATSU_QUEUE", &queue);
        command
    };
    let target = "s3://my-bucket/a key";
    let mut child = command(&["wait", target, "--until", "deleted", "--interval", "1s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let notice = said.next().unwrap().unwrap();
    assert!(
        notice.contains("no pass for 1") && notice.contains("expected every 1s"),
        "{notice}"
    );
    assert!(
        notice.contains("000000000000/timers") && notice.contains("matsu doctor"),
        "{notice}"
    );
    signal(&child, "INT");
    let farewell = said.next().unwrap().unwrap();
    assert!(
        farewell.contains("detached")
            && farewell.contains(&format!("matsu wait '{target}' --until deleted --interval 1s"))
            && farewell.ends_with(&format!("matsu cancel '{target}'")),
        "{farewell}"
    );
    assert_eq!(ended(child).code, Some(130));

    let shown = ran(command(&["show", target, "--output", "json"]).output().unwrap()).json();
    assert_eq!(
        (&shown["state"], &shown["target"]["until"]),
        (&json!("waiting"), &json!("deleted"))
    );
    let cancelled = ran(command(&["cancel", target]).output().unwrap());
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert!(cancelled.stdout.starts_with("cancelled: "), "{cancelled:?}");
}
