//! What a body says: pure.

use jmespath::Variable;
use serde_json::Value;

use super::expect::{Expect, Rule, compile, first_line};

/// How much of somebody else's words is passed on, in characters.
const LONGEST_WORDS: usize = 200;

/// What a body says about the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Says {
    /// It is done.
    Done,
    /// It goes on; how that is known.
    Not(String),
    /// It has failed; why.
    Failed(String),
}

/// Words, without their separators, for work that goes on.
const GOING: [&str; 10] = [
    "pending",
    "queued",
    "waiting",
    "scheduled",
    "submitted",
    "starting",
    "running",
    "processing",
    "executing",
    "inprogress",
];

/// Words for work that has failed.
const FAILED: [&str; 10] = [
    "fail",
    "failed",
    "failure",
    "error",
    "errored",
    "aborted",
    "cancelled",
    "canceled",
    "rejected",
    "timedout",
];

/// The customary reading: the words of an object's `status` or `state`.
pub(super) fn customary(body: &Value) -> Says {
    for name in ["status", "state"] {
        let Some(text) = body.get(name).and_then(Value::as_str) else {
            continue;
        };
        let word: String = text
            .chars()
            .filter(|c| !matches!(c, '_' | '-' | ' '))
            .flat_map(char::to_lowercase)
            .collect();
        if GOING.contains(&word.as_str()) {
            return Says::Not(format!("its {name} is {}", fit(text)));
        }
        if FAILED.contains(&word.as_str()) {
            return Says::Failed(format!("its {name} is {}", fit(text)));
        }
    }
    Says::Done
}

/// What the rules make of a body. A rule that cannot be evaluated on it does not hold.
pub(super) fn by_rules(expect: &Expect, body: &Variable) -> Says {
    if let Some(expression) = &expect.failed
        && let Ok(found) = search(expression, body)
        && found.is_truthy()
    {
        return Says::Failed(match found.as_string() {
            Some(words) => format!("it says: {}", fit(words)),
            None => format!("{expression} holds"),
        });
    }
    let Some(rule) = &expect.json else {
        return Says::Done;
    };
    let holds = search(rule.expression(), body).map(|found| match rule {
        Rule::Truthy(_) => found.is_truthy(),
        Rule::Equals { equals, .. } => Variable::try_from(equals).is_ok_and(|equals| *found == equals),
    });
    match holds {
        Ok(true) => Says::Done,
        Ok(false) => Says::Not(format!("{} does not hold", rule.expression())),
        Err(why) => Says::Not(format!("{} cannot be told: {why}", rule.expression())),
    }
}

/// How many percent are done, where a body tells a number from 0 to 100.
pub(super) fn progress(expect: &Expect, body: &Variable) -> Option<u8> {
    let found = search(expect.progress.as_ref()?, body).ok()?;
    let percent = found.as_number().filter(|percent| (0.0..=100.0).contains(percent))?;
    // What is not whole is not there yet.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within 0 and 100"
    )]
    Some(percent as u8)
}

fn search(expression: &str, body: &Variable) -> Result<jmespath::Rcvar, String> {
    compile(expression)?.search(body).map_err(|error| first_line(&error))
}

/// Somebody else's words: on one line, and cut.
fn fit(text: &str) -> String {
    let visible = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut words: String = visible.take(LONGEST_WORDS + 1).collect();
    if words.chars().count() > LONGEST_WORDS {
        words.pop();
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(expect: Value) -> Expect {
        Expect::read(&expect).unwrap()
    }

    fn body(value: &Value) -> Variable {
        Variable::try_from(value).unwrap()
    }

    #[test]
    fn a_customary_word_counts_however_it_is_spelt() {
        for word in [
            "running",
            "RUNNING",
            "In-Progress",
            "IN_PROGRESS",
            "in progress",
            "queued",
        ] {
            for name in ["status", "state"] {
                let says = customary(&json!({name: word}));
                assert_eq!(says, Says::Not(format!("its {name} is {word}")));
            }
        }
        for word in ["FAILED", "error", "timed_out", "Canceled"] {
            let says = customary(&json!({"status": word, "error": "boom"}));
            assert_eq!(says, Says::Failed(format!("its status is {word}")));
        }
        for done in [
            json!({"status": "done"}),
            json!({"status": "available", "state": 1}),
            json!({"status": true}),
            json!({}),
            json!([{"status": "failed"}]),
            json!("failed"),
            json!(null),
        ] {
            assert_eq!(customary(&done), Says::Done, "{done}");
        }
        let says = customary(&json!({"status": "done", "state": "failed"}));
        assert_eq!(says, Says::Failed("its state is failed".to_owned()));
    }

    #[test]
    fn rules_are_held_against_the_body_and_failure_comes_first() {
        let done = Says::Done;
        let not = |why: &str| Says::Not(why.to_owned());
        let failed = |why: &str| Says::Failed(why.to_owned());
        for (expect, value, says) in [
            (
                json!({"json": "status == 'done'"}),
                json!({"status": "done"}),
                done.clone(),
            ),
            (
                json!({"json": "status == 'done'"}),
                json!({"status": "FAILED"}),
                not("status == 'done' does not hold"),
            ),
            (json!({"json": "done"}), json!({}), not("done does not hold")),
            (json!({"json": "done"}), json!({"done": 0}), done.clone()),
            (
                json!({"json": "items"}),
                json!({"items": []}),
                not("items does not hold"),
            ),
            (
                json!({"json": {"path": "n", "equals": 2}}),
                json!({"n": 2.0}),
                done.clone(),
            ),
            (
                json!({"json": {"path": "n", "equals": 2}}),
                json!({"n": "2"}),
                not("n does not hold"),
            ),
            (
                json!({"json": {"path": "error", "equals": null}}),
                json!({}),
                done.clone(),
            ),
            (
                json!({"json": {"path": "@", "equals": {"a": [1, {"b": null}]}}}),
                json!({"a": [1, {"b": null}]}),
                done.clone(),
            ),
            (
                json!({"failed": "error"}),
                json!({"error": "boom\nat x"}),
                failed("it says: boom at x"),
            ),
            (json!({"failed": "error"}), json!({"error": ""}), done.clone()),
            (
                json!({"failed": "state == 'bad'", "json": "x"}),
                json!({"state": "bad", "x": 1}),
                failed("state == 'bad' holds"),
            ),
            (json!({"failed": "length(a) > `1`"}), json!({"a": 1}), done),
        ] {
            assert_eq!(
                by_rules(&rules(expect.clone()), &body(&value)),
                says,
                "{expect} on {value}"
            );
        }
        let says = by_rules(&rules(json!({"json": "length(a) > `1`"})), &body(&json!({"a": 1})));
        assert!(
            matches!(&says, Says::Not(why) if why.contains("cannot be told")),
            "{says:?}"
        );
    }

    #[test]
    fn progress_is_a_number_from_0_to_100_and_anything_else_says_nothing() {
        let expect = rules(json!({"progress": "p"}));
        for (value, percent) in [
            (json!(0), Some(0)),
            (json!(99.9), Some(99)),
            (json!(100), Some(100)),
            (json!(101), None),
            (json!(-1), None),
            (json!("50"), None),
            (json!(null), None),
        ] {
            assert_eq!(progress(&expect, &body(&json!({"p": value}))), percent, "{value}");
        }
    }

    #[test]
    fn words_of_others_are_one_line_and_cut() {
        assert_eq!(fit(" a\u{1b}[31m\nb "), "a [31m b");
        assert_eq!(fit(&"x".repeat(300)).chars().count(), LONGEST_WORDS + 1);
    }
}
