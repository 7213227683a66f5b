use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::job::Tags;

/// A PEM file with a certificate, and one without.
const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/authority.pem");
const SERVER_KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/server.key");

const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/123456789012/waits";

fn values(vars: &[(&str, &str)]) -> Result<Values, BadConfig> {
    Values::from_vars(
        vars.iter()
            .map(|(name, text)| (OsString::from(name), OsString::from(text))),
    )
}

fn function(vars: &[(&str, &str)]) -> Result<Config, BadConfig> {
    let mut all = vec![("MATSU_STORE", "s3://bucket/stack"), ("MATSU_QUEUE", QUEUE)];
    all.extend(vars);
    Config::new(&values(&all)?, Role::Function)
}

#[test]
fn a_function_needs_a_store_and_a_queue_and_defaults_the_rest() {
    let config = function(&[]).unwrap();
    assert_eq!(
        config.store,
        StoreUrl::S3 {
            bucket: "bucket".to_owned(),
            prefix: "stack".to_owned()
        }
    );
    assert_eq!(config.queue, QueueUrl::Sqs(QUEUE.to_owned()));
    assert_eq!(config.policy, Policy::default());
    assert_eq!(
        (config.policy.max_count, config.policy.timeout),
        (1_000, Duration::from_secs(86_400))
    );
    assert_eq!(config.copy, CopySettings::default());
    assert_eq!(config.log, LogFormat::Json);
    assert!(config.webhook.is_none() && config.dlq.is_none());
    for (present, missing) in [
        (("MATSU_STORE", "s3://b/p"), "MATSU_QUEUE"),
        (("MATSU_QUEUE", QUEUE), "MATSU_STORE"),
    ] {
        let error = Config::new(&values(&[present]).unwrap(), Role::Function).unwrap_err();
        assert!(error.0.starts_with(missing), "{error}");
    }
}

#[test]
fn the_command_defaults_to_one_file_in_the_users_state_folder() {
    let expected = PathBuf::from("/home/me/.local/state/matsu/matsu.db");
    let config = Config::new(&values(&[("HOME", "/home/me")]).unwrap(), Role::Command).unwrap();
    assert_eq!(
        (config.store, config.queue),
        (StoreUrl::Sqlite(expected.clone()), QueueUrl::Sqlite(expected))
    );
    assert_eq!(config.log, LogFormat::Text);
    let vars = [("HOME", "/home/me"), ("XDG_STATE_HOME", "/state")];
    let config = Config::new(&values(&vars).unwrap(), Role::Command).unwrap();
    assert_eq!(config.store, StoreUrl::Sqlite(PathBuf::from("/state/matsu/matsu.db")));
}

#[test]
fn every_listed_value_is_taken() {
    let config = function(&[
        ("MATSU_STORE_KMS_KEY", "alias/matsu"),
        ("MATSU_DLQ", "https://sqs.eu-central-1.amazonaws.com/123456789012/dead"),
        ("MATSU_MAX_COUNT", "30"),
        ("MATSU_TIMEOUT", "1h30m"),
        ("MATSU_MIN_DELAY", "1s"),
        ("MATSU_MAX_DELAY", "15m1s"),
        ("MATSU_SLACK_WEBHOOK", "https://hooks.slack.test/services/T/B/x"),
        ("MATSU_COPY_TO", "eu-west-1"),
        ("MATSU_COPY_NAME", "dr-{id}-{date}"),
        ("MATSU_COPY_KMS_KEY", "alias/dr"),
        ("MATSU_COPY_TAGS", "team=db, tier = gold"),
        ("MATSU_ON_OBJECT_CREATED", "ignore"),
        ("MATSU_HTTP_ALLOW", "build.internal, 10.0.0.0/8"),
        ("MATSU_CA_BUNDLE", AUTHORITY),
        ("MATSU_LOG", "text"),
        ("MATSU_LOG_LEVEL", "debug"),
    ])
    .unwrap();
    assert_eq!(config.policy.max_count, 30);
    assert_eq!(config.policy.max_delay, Duration::from_secs(901));
    assert_eq!(config.copy.to_region.as_deref(), Some("eu-west-1"));
    let tags = [("team", "db"), ("tier", "gold")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    assert_eq!(config.copy.tags, Tags::These(tags.into()));
    assert_eq!(config.on_object_created, OnObjectCreated::Ignore);
    assert_eq!((config.log, config.log_level), (LogFormat::Text, "debug"));
    assert!(config.webhook.is_some() && config.function.is_none() && config.not_yet.is_empty());
    assert_eq!(Ok(config.http_allow), Allow::parse("build.internal,10.0.0.0/8"));
}

#[test]
fn a_webhook_may_be_kept_elsewhere_and_the_functions_name_is_known() {
    for text in ["kms:AQIDBA==", "ssm:/prod/hook", "secretsmanager:hook#url"] {
        let vars = [("MATSU_SLACK_WEBHOOK", text), ("AWS_LAMBDA_FUNCTION_NAME", "waiter")];
        let config = function(&vars).unwrap();
        assert!(config.webhook.is_some(), "{text}");
        assert_eq!(config.function.as_deref(), Some("waiter"));
    }
}

#[test]
fn a_bad_value_is_refused_by_name_with_what_it_takes() {
    let long = format!("s3://bucket/{}", "p".repeat(201));
    let table: &[(&str, &[&str])] = &[
        ("MATSU_MIN_DELAY", &["-1", "-5s", "NaN", "", "30", "0s", "1.5", " 30s "]),
        ("MATSU_MAX_DELAY", &["901", "99999999999999999999", "8d", "1s"]),
        ("MATSU_TIMEOUT", &["forever", "1w"]),
        ("MATSU_MAX_COUNT", &["0", "-1", "+1", "1.5", "", "many", "4294967296"]),
        (
            "MATSU_STORE",
            &[
                "bucket",
                "s3://",
                "s3:///prefix",
                "s3://b//p",
                "dynamodb://table",
                "sqlite:/tmp/x",
                &long,
            ],
        ),
        (
            "MATSU_QUEUE",
            &[
                "queue",
                "sqlite:/tmp/x",
                "https://host/queue",
                "https://host/1/q.fifo",
                "arn:aws:sqs:r:1:q",
            ],
        ),
        ("MATSU_DLQ", &["dead", "sqlite:/tmp/x"]),
        (
            "MATSU_SLACK_WEBHOOK",
            &["hooks.slack.test/x", "http://hooks.slack.test/x", "not base64!!"],
        ),
        ("MATSU_COPY_TO", &["eu-west-1,eu-west-3"]),
        ("MATSU_COPY_TAGS", &["team", "=x", "aws:x=y", "a=b,c"]),
        ("MATSU_ON_OBJECT_CREATED", &["delete", "WAIT-DELETED"]),
        ("MATSU_HTTP_ALLOW", &["http://build.internal", "10.0.0.0/33", "*"]),
        ("MATSU_CA_BUNDLE", &["/no/such/file.pem", "/", SERVER_KEY]),
        ("MATSU_LOG", &["xml"]),
        ("MATSU_LOG_LEVEL", &["loud"]),
    ];
    for (name, texts) in table {
        for text in *texts {
            let error = function(&[(name, text)]).expect_err(&format!("{name}={text}"));
            assert!(error.0.contains(name), "{name}={text}: {error}");
            assert!(error.0.contains("take"), "{name}={text}: {error}");
            assert_eq!(error.0.lines().count(), 1);
        }
    }
}

#[test]
fn empty_none_and_null_count_as_unset_where_a_value_is_optional() {
    for text in ["", " ", "None", "null"] {
        let config = function(&[
            ("MATSU_COPY_KMS_KEY", text),
            ("MATSU_COPY_TO", text),
            ("MATSU_COPY_TAGS", text),
            ("MATSU_DLQ", text),
            ("MATSU_SLACK_WEBHOOK", text),
            ("MATSU_STORE_KMS_KEY", text),
        ])
        .unwrap();
        assert_eq!(config.copy, CopySettings::default(), "{text:?}");
        assert!(config.webhook.is_none() && config.dlq.is_none() && config.store_kms_key.is_none());
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest_one() {
    for (name, near) in [
        ("MATSU_SLACK_WEBHOK", "MATSU_SLACK_WEBHOOK"),
        ("MATSU_MINDELAY", "MATSU_MIN_DELAY"),
        ("MATSU_COUNT", "MATSU_MAX_COUNT"),
    ] {
        let error = values(&[(name, "x")]).unwrap_err();
        assert!(error.0.contains(name) && error.0.contains(near), "{error}");
    }
}

#[test]
fn what_shells_and_kubernetes_inject_is_left_alone() {
    let injected = [
        ("MATSU_PORT", "tcp://10.0.0.1:80"),
        ("MATSU_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("MATSU_SERVICE_HOST", "10.0.0.1"),
        ("MATSU_LOCK_EPOCH", "3"),
        ("PATH", "/bin"),
    ];
    assert!(function(&injected).is_ok());
}

#[test]
fn a_flag_wins_over_the_environment_and_is_named_in_errors() {
    let mut values = values(&[("MATSU_STORE", "sqlite:/tmp/a"), ("HOME", "/home/me")]).unwrap();
    values
        .insert("MATSU_STORE", "sqlite:/tmp/b".to_owned(), Source::Flag("--store"))
        .unwrap();
    assert_eq!(
        Config::new(&values, Role::Command).unwrap().store,
        StoreUrl::Sqlite("/tmp/b".into())
    );
    values
        .insert("MATSU_STORE", "nowhere".to_owned(), Source::Flag("--store"))
        .unwrap();
    assert!(
        Config::new(&values, Role::Command)
            .unwrap_err()
            .0
            .starts_with("--store ")
    );
}

#[test]
fn a_file_says_what_nothing_else_does_and_is_named_in_errors() {
    let file = Path::new("/etc/matsu.toml");
    let mut values = values(&[("MATSU_TIMEOUT", "2h"), ("MATSU_COPY_TO", " "), ("HOME", "/home/me")]).unwrap();
    assert_eq!(values.config(), Some(&PathBuf::from("/home/me/.config")));
    for (key, text) in [("timeout", "3h"), ("copy_to", "eu-west-1"), ("min_delay", "1h")] {
        values.insert_from_file(key, text.to_owned(), file).unwrap();
    }
    assert_eq!(values.text("MATSU_TIMEOUT"), Some("2h"));
    assert_eq!(values.source("MATSU_TIMEOUT"), Some(&Source::Environment));
    assert_eq!(values.source("MATSU_COPY_TO"), Some(&Source::File(file.to_owned())));
    let error = Config::new(&values, Role::Command).unwrap_err();
    assert!(
        error.0.starts_with("min_delay in /etc/matsu.toml, MATSU_MAX_DELAY"),
        "{error}"
    );
    let error = values.insert_from_file("timeuot", String::new(), file).unwrap_err();
    assert!(
        error.0.contains("timeuot in /etc/matsu.toml") && error.0.ends_with("timeout?"),
        "{error}"
    );
}

#[test]
fn a_filter_that_this_version_does_not_act_on_stops_it_because_more_would_be_copied_than_wanted() {
    for name in ["MATSU_COPY_INCLUDE", "MATSU_COPY_EXCLUDE", "MATSU_COPY_IF_TAG"] {
        let error = function(&[(name, "test-*")]).unwrap_err();
        assert!(
            error.0.contains(name) && error.0.contains("does not act on it"),
            "{error}"
        );
        assert!(function(&[(name, "")]).is_ok());
    }
    for (name, text) in [("MATSU_COPY_LIMIT", "20"), ("MATSU_COPY_KEEP", "30d")] {
        assert_eq!(function(&[(name, text)]).unwrap().not_yet, [name]);
    }
}

#[test]
fn no_error_prints_a_secret() {
    for text in [
        "hooks.slack.test/services/T/B/SECRETTOKEN",
        "http://hooks.slack.test/SECRETTOKEN",
        "kms:SECRETTOKEN!",
        "kms:https://hooks.slack.test/SECRETTOKEN",
    ] {
        let error = function(&[("MATSU_SLACK_WEBHOOK", text)]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("SECRETTOKEN"), "{error}");
    }
    let config = function(&[("MATSU_SLACK_WEBHOOK", "https://hooks.slack.test/services/SECRETTOKEN")]).unwrap();
    assert!(!format!("{config:?}").contains("SECRETTOKEN"));
}
