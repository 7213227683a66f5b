//! Queue messages and records.

use std::sync::LazyLock;

use jiff::Timestamp;
use matsu_lock::store::is_open;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

use super::{Change, any_json, cases, changes, long_text, moment, quickly, samples, text};
use crate::decide::{self, Next};
use crate::delay;
use crate::message::{BadBody, Body};
use crate::record::{self, Record};
use crate::target::Seen;
use crate::testing::Bench;
use crate::wait::{Status, Wait};

/// What earlier releases stored and sent.
static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| samples("tests/formats/v1"));

/// One of the samples, changed.
fn changed(which: Index, changes: &[Change]) -> Value {
    let mut value = which.get(&SAMPLES).clone();
    changes.iter().for_each(|change| change.apply(&mut value));
    value
}

/// A timer that was understood is sent and read again as the same.
fn reads_back(body: &str) -> Result<(), TestCaseError> {
    let message = match quickly(|| Body::parse(body)) {
        Ok(Body::Timer(message)) => message,
        Ok(Body::Raw(_) | Body::Newer(_)) => return Ok(()),
        Err(BadBody(why)) => {
            prop_assert!(!why.is_empty() && why.chars().count() < 2_000, "{}", why);
            return Ok(());
        }
    };
    let sent = message.to_body();
    prop_assert!(sent.bytes().all(|b| matches!(b, b' '..=b'~')), "{}", sent);
    prop_assert_eq!(Body::parse(&sent), Ok(Body::Timer(message)));
    Ok(())
}

/// A record that was understood is written and read again as the same, and its length tells whether it is open.
fn record_reads_back(body: &[u8]) -> Result<(), TestCaseError> {
    let Ok(record) = quickly(|| Record::from_body("key", body)) else {
        return Ok(());
    };
    let written = record.to_body();
    prop_assert_eq!(is_open(written.len() as u64), !record.is_over());
    let again = Record::from_body("key", &written).map_err(|e| TestCaseError::fail(e.to_string()))?;
    prop_assert_eq!(record::key(&again.wait.target), record::key(&record.wait.target));
    prop_assert_eq!(again, record);
    Ok(())
}

/// Whatever a wait says, there is a verdict on every look.
fn has_a_verdict(wait: &Wait, seen: &Seen, pass: u32, now: Timestamp) -> Result<(), TestCaseError> {
    let _ = decide::before_look(wait, pass, pass, now);
    let (after, next) = decide::decide(wait.clone(), seen, pass, now);
    prop_assert_eq!(&after.id, &wait.id);
    match next {
        Next::Again(delay) => prop_assert!(delay <= wait.policy.max_delay.max(wait.policy.min_delay)),
        Next::Finish(outcome) => prop_assert!(outcome.reason.len() <= 2_000),
    }
    let _ = (wait.policy.longest_wait(), delay::until(wait.deadline(), now));
    Ok(())
}

fn seen() -> impl Strategy<Value = Seen> {
    let status = (text(), any::<Option<u8>>())
        .prop_map(|(text, percent)| Status::new(text).at(percent))
        .boxed();
    prop_oneof![
        status.clone().prop_map(Seen::Satisfied),
        status.clone().prop_map(Seen::Pending),
        (status, long_text()).prop_map(|(status, why)| Seen::Failed(status, why)),
        Just(Seen::Missing),
        long_text().prop_map(Seen::Denied),
        text().prop_map(Seen::Unknown),
    ]
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn a_mangled_message_breaks_nothing_and_what_is_understood_of_it_reads_back(
        which in any::<Index>(), changes in changes(5),
    ) {
        let body = changed(which, &changes).to_string();
        reads_back(&body)?;
        record_reads_back(body.as_bytes())?;
    }

    #[test]
    fn a_message_with_foreign_bytes_in_it_breaks_nothing(
        which in any::<Index>(), at in any::<Index>(), gone in 0_usize..9, bytes in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let mut body = which.get(&SAMPLES).to_string().into_bytes();
        let at = at.index(body.len());
        body.splice(at..(at + gone).min(body.len()), bytes);
        record_reads_back(&body)?;
        reads_back(&String::from_utf8_lossy(&body))?;
    }

    #[test]
    fn a_text_takes_as_many_bytes_in_a_body_as_its_characters_are_said_to(text in text()) {
        let sent = crate::message::ascii(&Value::from(text.as_str()).to_string());
        prop_assert_eq!(sent.len() - 2, text.chars().map(crate::message::bytes_in_body).sum::<usize>());
    }

    #[test]
    fn any_text_at_all_is_told_apart(body in text(), value in any_json()) {
        for body in [body, value.to_string()] {
            reads_back(&body)?;
            record_reads_back(body.as_bytes())?;
        }
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn every_wait_that_can_be_read_has_a_verdict_on_every_look(
        which in any::<Index>(), changes in changes(4), seen in seen(),
        pass in prop_oneof![1_u32..5, Just(u32::MAX), any::<u32>()], now in moment(),
    ) {
        let value = changed(which, &changes);
        if let Ok(wait) = serde_json::from_value::<Wait>(value["wait"].clone()) {
            has_a_verdict(&wait, &seen, pass, now)?;
        }
    }

    #[test]
    fn a_mangled_timer_moves_no_wait_whose_token_it_does_not_carry(
        which in any::<Index>(), changes in changes(4), carries in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let mut value = changed(which, &changes);
        let bench = Bench::new();
        if let Some(home) = value.pointer_mut("/wait/home") {
            *home = crate::queue::Queue::home(&*bench.queue).into();
        }
        let Ok(wait) = serde_json::from_value::<Wait>(value["wait"].clone()) else {
            return Ok(());
        };
        runtime.block_on(async {
            let asked = crate::start::Request {
                target: wait.target.clone(),
                job: None,
                policy: wait.policy.clone(),
                origin: wait.origin.clone(),
                count: 1,
                seen: None,
            };
            bench.start(&asked).await;
            let (before, token) = bench.record(&wait.target).await.unwrap();
            if carries {
                value["token"] = token.as_str().into();
            }
            let carried = value["token"] == token.as_str();
            let handled = crate::handle::handle(&bench.run(), &bench.rules("message-1"), &value.to_string()).await;
            let (after, _) = bench.record(&wait.target).await.unwrap();
            prop_assert!(carried || before == after, "{:?}: {:?}", handled, after);
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn the_longest_texts_are_told_apart_within_the_bound(long in long_text(), piece in select(&["", "{\"v\":1,\"wait\":", "[", "\""][..])) {
        let body = format!("{piece}{long}");
        reads_back(&body)?;
        record_reads_back(body.as_bytes())?;
    }

    #[test]
    fn a_message_with_the_longest_text_anywhere_in_it_is_read_within_the_bound(
        which in any::<Index>(), at in any::<Index>(), long in long_text(),
    ) {
        let mut value = which.get(&SAMPLES).clone();
        let fields = value["wait"].as_object_mut().unwrap();
        let name = at.get(&fields.keys().cloned().collect::<Vec<_>>()).clone();
        fields[&name] = long.into();
        reads_back(&value.to_string())?;
        record_reads_back(value.to_string().as_bytes())?;
    }
}
