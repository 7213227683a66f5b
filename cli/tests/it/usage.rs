//! What is typed or set wrongly gets one clear line that names it, and an exit code of its own.

use crate::harness::Rig;

#[test]
fn help_and_version_are_no_errors() {
    let rig = Rig::new();
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["wait", "--help"],
        &["start", "rds-copy", "--help"],
    ] {
        let ran = rig.run(arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(ran.stdout.contains("matsu"), "{ran:?}");
    }
}

#[test]
fn what_is_typed_wrongly_gets_one_line_that_names_it_and_code_252() {
    let rig = Rig::new();
    let long_key = format!("s3://my-bucket/{}", "k".repeat(1_025));
    let table: &[(&[&str], &str)] = &[
        (&[], "command"),
        (&["frobnicate"], "frobnicate"),
        (&["worker", "--sweep-every", "5"], "--sweep-every"),
        (&["worker", "extra"], "extra"),
        (&["wait"], "TARGET"),
        (&["wait", "file:/x", "--frobnicate"], "--frobnicate"),
        (&["wait", "file:/x", "--interval"], "--interval"),
        (&["wait", "file:/x", "--interval", ""], "--interval"),
        (&["wait", "file:/x", "--interval", "5"], "--interval"),
        (&["wait", "file:/x", "--interval", "0s"], "--interval"),
        (&["wait", "file:/x", "--interval", "-5s"], "-5s"),
        (&["wait", "file:/x", "--interval=-5s"], "--interval"),
        (&["wait", "file:/x", "--interval", "1.5s"], "--interval"),
        (&["wait", "file:/x", "--interval", "NaN"], "--interval"),
        (&["wait", "file:/x", "--interval", "5 s"], "--interval"),
        (
            &["wait", "file:/x", "--interval", "99999999999999999999s"],
            "--interval",
        ),
        (&["wait", "file:/x", "--interval", "40d"], "--interval"),
        (&["wait", "file:/x", "--timeout", "soon"], "--timeout"),
        (&["wait", "file:/x", "--timeout", "3h\n"], "--timeout"),
        (&["wait", "file:/x", "--timeout", "1h", "--timeout", "2h"], "--timeout"),
        (&["wait", "file:/x", "--max-count", "0"], "--max-count"),
        (&["wait", "file:/x", "--max-count", "-1"], "-1"),
        (&["wait", "file:/x", "--max-count", "+1"], "--max-count"),
        (&["wait", "file:/x", "--max-count", "many"], "--max-count"),
        (&["wait", "file:/x", "--max-count", "4294967296"], "--max-count"),
        (&["wait", "file:/x", "--until", "gone"], "--until"),
        (&["wait", "file:/x", "--until", ""], "--until"),
        (&["wait", "file:/x", "--output", "yaml"], "--output"),
        (&["wait", "file:/x", "--store", ""], "--store"),
        (&["wait", "file:/x", "--store", "null"], "--store"),
        (&["wait", "file:/x", "--store", "nonsense"], "--store"),
        (&["wait", "file:/x", "--store", "sqlite:"], "--store"),
        (&["wait", "file:/x", "--store", "s3:///prefix"], "--store"),
        (&["wait", "file:/x", "--store", "dynamodb://table"], "--store"),
        (&["wait", "file:/x", "--queue", "nonsense"], "--queue"),
        (
            &[
                "wait",
                "file:/x",
                "--queue",
                "https://sqs.eu-west-1.amazonaws.com/123456789012/q.fifo",
            ],
            "--queue",
        ),
        (&["wait", "file:/x", "--region", "Europe"], "--region"),
        (&["wait", "file:/x", "--region", ""], "--region"),
        (&["wait", "file:/x", "--profile", ""], "--profile"),
        (
            &["wait", "file:/x", "--endpoint-url", "localhost:4566"],
            "--endpoint-url",
        ),
        (&["wait", "file:/x", "--endpoint-url", "http://"], "--endpoint-url"),
        (
            &["wait", "file:/x", "--endpoint-url", "ftp://localhost"],
            "--endpoint-url",
        ),
        (&["wait", "file:/x", "file:/y", "--all", "--any"], "--any"),
        (&["wait", "file:/x", "nonsense"], "nonsense"),
        (&["wait", ""], "not a target"),
        (&["wait", "nonsense"], "nonsense"),
        (&["wait", "file:"], "file:"),
        (&["wait", "s3://my-bucket"], "s3://my-bucket"),
        (&["wait", "s3://my-bucket/"], "s3://my-bucket/"),
        (&["wait", "s3://My_Bucket/key"], "My_Bucket"),
        (&["wait", &long_key], "1025 bytes"),
        (
            &["wait", "arn:aws:rds:eu-west-1:12:snapshot:x"],
            "arn:aws:rds:eu-west-1:12:snapshot:x",
        ),
        (&["wait", "arn:aws:s3:::bucket"], "arn:aws:s3:::bucket"),
        (
            &[
                "wait",
                "arn:aws:rds:eu-west-1:123456789012:snapshot:x",
                "--until",
                "deleted",
            ],
            "until",
        ),
        (&["list", "--state", "open"], "--state"),
        (&["list", "extra"], "extra"),
        (&["show"], "TARGET"),
        (&["show", "nonsense"], "nonsense"),
        (&["show", "file:/x", "--until", "gone"], "--until"),
        (&["cancel"], "TARGET"),
        (&["cancel", "file:/x", "file:/y"], "file:/y"),
        (&["extend", "file:/x"], "DURATION"),
        (&["extend", "file:/x", "5"], "DURATION"),
        (&["extend", "file:/x", "-5m"], "DURATION"),
        (&["extend", "file:/x", "0s"], "DURATION"),
        (&["retry", "nonsense"], "nonsense"),
        (&["sweep", "--adpot"], "--adopt"),
        (&["notify"], "command"),
        (&["notify", "tset"], "test"),
        (&["schema", "record"], "record"),
        (&["completions"], "SHELL"),
        (&["completions", "tcsh"], "tcsh"),
        (&["config", "--config", "no-such-file"], "no-such-file"),
        (&["config", "--config", ""], "--config"),
        (&["start"], "start takes"),
        (&["start", "wait"], "TARGET"),
        (&["start", "wait", "nonsense"], "nonsense"),
        (&["start", "rds-copy"], "SOURCE"),
        (&["start", "rds-copy", "x", "--dry-run"], "--dry-run"),
        (&["start", "--event", "no-such-file"], "no-such-file"),
        (&["start", "--event", ""], "--event"),
        (&["start", "--event", "x", "wait", "file:/x"], "--event"),
    ];
    for (arguments, named) in table {
        let ran = rig.run(arguments);
        assert_eq!(ran.code, Some(252), "{arguments:?}: {ran:?}");
        assert!(ran.only_line().contains(named), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn what_is_set_wrongly_gets_one_line_that_names_it_and_code_253() {
    let rig = Rig::new();
    let table = [
        ("MATSU_FROBNICATE", "x"),
        ("MATSU_TIMEOUT", "1"),
        ("MATSU_TIMEOUT", ""),
        ("MATSU_MIN_DELAY", "0s"),
        ("MATSU_MIN_DELAY", "1h"),
        ("MATSU_MAX_DELAY", "NaN"),
        ("MATSU_MAX_DELAY", "40d"),
        ("MATSU_MAX_COUNT", "0"),
        ("MATSU_MAX_COUNT", "-3"),
        ("MATSU_STORE", "nonsense"),
        ("MATSU_STORE", "dynamodb://table"),
        ("MATSU_QUEUE", "nonsense"),
        ("MATSU_SLACK_WEBHOOK", "hooks.slack.com"),
        ("MATSU_SLACK_WEBHOOK", "http://example.com/services/x"),
        ("MATSU_ON_OBJECT_CREATED", "maybe"),
        ("MATSU_LOG", "loud"),
        ("MATSU_LOG_LEVEL", "loud"),
    ];
    for command in [
        &["wait", "file:/x"][..],
        &["list"],
        &["start", "wait", "file:/x"],
        &["config"],
    ] {
        for (name, value) in table {
            let ran = crate::harness::ran(rig.command(command).env(name, value).output().unwrap());
            assert_eq!(ran.code, Some(253), "{command:?} {name}={value}: {ran:?}");
            assert!(ran.only_line().contains(name), "{ran:?}");
        }
    }
}

#[test]
fn names_that_others_inject_are_left_alone() {
    let rig = Rig::new();
    rig.touch("there");
    let mut command = rig.command(&["wait", &rig.file("there")]);
    let ran = command
        .env("MATSU_PORT_80_TCP", "x")
        .env("MATSU_SERVICE_HOST", "x")
        .env("MATSU_LOCK_URL", "x")
        .output();
    assert_eq!(crate::harness::ran(ran.unwrap()).code, Some(0));
}

#[test]
fn a_flag_wins_over_a_wrong_environment() {
    let rig = Rig::new();
    let ran = rig
        .command(&["list", "--store", "sqlite:x.db"])
        .env("MATSU_STORE", "nonsense")
        .output()
        .unwrap();
    assert_eq!(crate::harness::ran(ran).code, Some(0));
}

#[test]
fn without_credentials_an_aws_target_names_the_command_to_run() {
    let rig = Rig::new();
    for target in [
        "s3://my-bucket/key",
        "rds:snapshot/nightly",
        "rds:cluster-snapshot/nightly",
        "arn:aws:rds:eu-west-1:123456789012:snapshot:x",
    ] {
        let ran = rig.run(&["wait", target, "--region", "eu-west-1"]);
        assert_eq!(ran.code, Some(253), "{ran:?}");
        assert!(ran.only_line().contains("aws sso login"), "{ran:?}");
    }
}

#[test]
fn a_short_form_without_a_region_says_where_to_name_one() {
    let rig = Rig::new();
    let ran = rig.run(&["wait", "rds:snapshot/nightly"]);
    assert_eq!(ran.code, Some(253), "{ran:?}");
    assert!(ran.only_line().contains("--region"), "{ran:?}");
}

#[test]
fn a_queue_in_sqs_needs_a_store_and_a_target_that_the_function_can_reach() {
    let rig = Rig::new();
    let queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/q";
    let ran = rig.run(&["wait", "s3://my-bucket/k", "--queue", queue]);
    assert_eq!(ran.code, Some(253), "{ran:?}");
    assert!(ran.only_line().contains("--store"), "{ran:?}");
    let ran = rig.run(&["wait", "file:/x", "--queue", queue, "--store", "s3://my-bucket/waits"]);
    assert_eq!(ran.code, Some(252), "{ran:?}");
    assert!(ran.only_line().contains("file:/x"), "{ran:?}");
}

#[test]
fn a_store_that_is_no_database_is_a_configuration_error() {
    let rig = Rig::new();
    std::fs::write(rig.path("x.db"), "certainly not a database ".repeat(100)).unwrap();
    let ran = rig.run(&["list", "--store", "sqlite:x.db"]);
    assert_eq!(ran.code, Some(253), "{ran:?}");
    assert!(ran.only_line().contains("x.db"), "{ran:?}");
}
