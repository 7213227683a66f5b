//! Targets as texts and as objects, and durations.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::{any_json, cases, changes, long_text, quickly, text};
use crate::duration;
use crate::record;
use crate::target::{Here, Target, Until};
use crate::testing::here;

fn until() -> impl Strategy<Value = Option<Until>> {
    select(&[None, Some(Until::Exists), Some(Until::Deleted)][..])
}

/// A target that was read is the same wherever it is read again, and its record has a key of its own that fits S3.
fn reads_back(target: &Target) -> Result<(), TestCaseError> {
    let written = serde_json::to_value(target).unwrap();
    let nowhere = Here::default();
    prop_assert_eq!(Target::from_value(&written, None, &nowhere), Ok(target.clone()));
    let text = written.to_string();
    let stored: Target = serde_json::from_str(&text).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
    prop_assert_eq!(stored.key(), target.key());
    prop_assert_eq!(&stored, target);
    let key = record::key(target);
    prop_assert!(
        key.len() + 201 <= 1_024,
        "{} bytes beside the longest prefix",
        key.len()
    );
    prop_assert!(key.bytes().all(|b| b.is_ascii_graphic()), "{}", key);
    prop_assert_eq!(target.shown().key().is_empty(), false);
    Ok(())
}

fn samples() -> Vec<Value> {
    vec![
        json!({"kind": "s3-object", "bucket": "example-data", "key": "in/a b+c%.csv", "until": "deleted"}),
        json!({"kind": "rds-snapshot", "id": "rds:app-2026-01-15-03-04", "region": "eu-central-1", "account": "123456789012"}),
        json!({"kind": "rds-cluster-snapshot", "id": "arn:aws:rds:us-east-1:123456789012:cluster-snapshot:main"}),
        json!({"kind": "rds-snapshot", "id": "a", "partition": "aws-x"}),
        json!({"kind": "file", "path": "/tmp/待つ", "until": "exists"}),
        json!({"kind": "http", "url": "https://status.example.test/job/1?x=%2F", "method": "POST",
               "headers": {"Authorization": "ssm:/jobs/token", "X-A": "b"},
               "expect": {"status": ["200-299", 404], "json": {"path": "a.b[0]", "equals": {"c": [1, null, 0.5]}},
                          "failed": "state == 'failed'", "progress": "percent"}}),
        json!({"kind": "http", "url": "https://status.example.test/", "expect": {"json": "a && b"}}),
    ]
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn what_is_shown_of_any_target_is_read_back_as_the_same(text in text(), until in until()) {
        match quickly(|| Target::parse(&text, until, &here())) {
            Ok(target) => {
                prop_assert_eq!(Target::parse(&target.to_string(), target.until(), &Here::default()), Ok(target.clone()));
                reads_back(&target)?;
            }
            Err(bad) => prop_assert!(!bad.to_string().is_empty()),
        }
    }

    #[test]
    fn a_mangled_object_is_refused_or_is_read_back_as_the_same_target(
        which in any::<Index>(), changes in changes(4), until in until(),
    ) {
        let mut value = which.get(&samples()).clone();
        changes.iter().for_each(|change| change.apply(&mut value));
        match quickly(|| Target::from_value(&value, until, &here())) {
            Ok(target) => reads_back(&target)?,
            Err(bad) => prop_assert!(!bad.to_string().is_empty()),
        }
    }

    #[test]
    fn any_json_at_all_is_refused_or_is_a_target(value in any_json()) {
        if let Ok(target) = quickly(|| Target::from_value(&value, None, &here())) {
            reads_back(&target)?;
        }
        // As it is read from records: what is not checked there breaks nothing either.
        let _ = quickly(|| serde_json::from_value::<Target>(value.clone()).map(|target| target.key()));
    }

    #[test]
    fn every_duration_reads_back_and_every_text_that_is_one_means_what_is_written_for_it(
        millis in 1..=duration::LONGEST.as_millis() as u64, text in "[0-9]{0,12}(d|h|m|s|ms)?[0-9]{0,5}(h|m|s|ms)?[0-9]{0,4}(s|ms)?",
    ) {
        let whole = Duration::from_millis(millis);
        prop_assert_eq!(duration::parse(&duration::format(whole)), Ok(whole));
        if let Ok(read) = duration::parse(&text) {
            prop_assert!(!read.is_zero() && read <= duration::LONGEST);
            prop_assert_eq!(duration::parse(&duration::format(read)), Ok(read));
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_in_one_short_line(text in text()) {
        if let Err(bad) = quickly(|| duration::parse(&text)) {
            let said = bad.to_string();
            prop_assert_eq!(said.lines().count(), 1);
            prop_assert!(said.len() < 700, "{}", said);
        }
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_longest_texts_are_read_within_the_bound(
        scheme in select(&["", "s3://bucket/", "s3://", "file:/", "arn:", "arn:aws:rds:a:1:snapshot:", "rds:snapshot/", "https://", "https://h/"][..]),
        long in long_text(),
    ) {
        let text = format!("{scheme}{long}");
        if let Ok(target) = quickly(|| Target::parse(&text, None, &here())) {
            quickly(|| record::key(&target));
        }
        let _ = quickly(|| duration::parse(&long));
    }
}
