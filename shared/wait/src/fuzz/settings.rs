//! Values of the configuration.

use std::ffi::OsString;

use proptest::prelude::*;
use proptest::sample::select;

use super::{cases, long_text, quickly, text};
use crate::config::{Config, Role, Values};

/// Names whose values are not mangled: a path to read a file from.
const READ_FROM: &str = "MATSU_CA_BUNDLE";

/// Values that are taken somewhere, to be mixed with such that are taken nowhere.
const GOOD: [&str; 24] = [
    "s3://bucket/prefix",
    "sqlite:/tmp/matsu.db",
    "https://sqs.eu-central-1.amazonaws.com/123456789012/timers",
    "https://sqs.eu-central-1.amazonaws.com/123456789012/timers.fifo",
    "1000",
    "4294967295",
    "15s",
    "2m",
    "33h36m",
    "36500d",
    "https://hooks.example.test/services/T0/B0/X",
    "ssm:/matsu/webhook#url",
    "secretsmanager:matsu#url",
    "kms:AQICAHh",
    "eu-west-1",
    "{id}-{date}-{region}",
    "copy",
    "a=b,c=d",
    "ignore",
    "10.0.0.0/8, build.internal,[::1]",
    "json",
    "debug",
    "null",
    "",
];

fn name() -> impl Strategy<Value = &'static str> {
    let names: Vec<_> = Values::names()
        .map(|(name, _)| name)
        .filter(|n| *n != READ_FROM)
        .collect();
    select(names)
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![3 => select(&GOOD[..]).prop_map(str::to_owned), 2 => text()]
}

fn values(set: &[(&'static str, String)]) -> Result<Values, crate::config::BadConfig> {
    let home = [("HOME".into(), "/home/me".into())];
    let set = set
        .iter()
        .map(|(name, text)| (OsString::from(name), OsString::from(text)));
    Values::from_vars(home.into_iter().chain(set))
}

fn shows_secret(config: &Config) -> bool {
    format!("{config:?}").contains("SECRET")
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn any_values_make_a_configuration_or_one_line_that_names_what_is_wrong(
        set in prop::collection::vec((name(), value()), 0..6), role in select(&[Role::Function, Role::Command][..]),
    ) {
        let values = values(&set).unwrap();
        match quickly(|| Config::new(&values, role)) {
            Ok(config) => prop_assert!(config.policy.clone().check().is_ok()),
            Err(bad) => {
                prop_assert!(bad.0.contains("MATSU_"), "{}", bad);
                prop_assert_eq!(bad.0.lines().count(), 1, "{}", bad);
            }
        }
    }

    #[test]
    fn a_webhook_that_is_not_taken_is_not_shown(around in text(), behind in text()) {
        let text = format!("{around}T0/SECRET/{behind}");
        let values = values(&[("MATSU_SLACK_WEBHOOK", text)]).unwrap();
        match Config::new(&values, Role::Command) {
            Ok(config) => prop_assert!(!shows_secret(&config)),
            Err(bad) => prop_assert!(!bad.0.contains("SECRET"), "{}", bad),
        }
    }

    #[test]
    fn a_name_that_does_not_exist_is_refused_with_the_nearest_that_does(rest in "[A-Z_]{0,24}") {
        let name = format!("MATSU_X{rest}");
        let Err(bad) = Values::from_vars([(OsString::from(&name), OsString::from("x"))].into_iter()) else {
            return Err(TestCaseError::fail(format!("{name} was taken")));
        };
        prop_assert!(bad.0.starts_with(&name) && bad.0.contains("did you mean MATSU_"), "{}", bad);
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_longest_value_is_read_within_the_bound(name in name(), long in long_text()) {
        let values = values(&[(name, long)]).unwrap();
        let _ = quickly(|| Config::new(&values, Role::Command));
    }
}
