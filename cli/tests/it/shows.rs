//! `matsu demo` and `matsu config`.

use std::time::{Duration, Instant};

use crate::harness::{Rig, ran};

#[test]
#[expect(clippy::disallowed_methods, reason = "the binary runs in real time")]
fn the_demo_shows_the_whole_flow_and_touches_nothing_of_the_user() {
    let rig = Rig::new();
    let begun = Instant::now();
    let mut command = rig.command(&["demo"]);
    // None of this is looked at, or the demo would fail.
    let settings = [
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1"),
        ("AWS_PROFILE", "no-such-profile"),
        ("AWS_USE_FIPS_ENDPOINT", "true"),
        ("HTTP_PROXY", "http://127.0.0.1:1"),
    ];
    let ran = ran(command.envs(settings).output().unwrap());
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in [
        "pass 1",
        "pass 2",
        "pass 3",
        "pass 4",
        "completed",
        "s3://demo-bucket/report.csv",
        "Slack",
    ] {
        assert!(ran.stdout.contains(words), "{words} is missing: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
    assert_eq!(ran.stderr, "");
    assert!(
        std::fs::read_dir(rig.path(".")).unwrap().next().is_none(),
        "it left something behind"
    );
}

#[test]
fn the_settings_are_shown_with_their_origin_and_without_secrets() {
    let rig = Rig::new();
    let mut command = rig.command(&["config", "--store", "sqlite:/x.db"]);
    let ran = ran(command
        .env("MATSU_SLACK_WEBHOOK", "https://hooks.slack.com/services/T0/B0/secret")
        .output()
        .unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("sqlite:/x.db") && ran.stdout.contains("--store"),
        "{ran:?}"
    );
    assert!(
        !ran.stdout.contains("secret") && ran.stdout.contains("hooks.slack.com"),
        "{ran:?}"
    );
}
