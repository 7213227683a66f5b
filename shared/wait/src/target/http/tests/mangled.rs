//! Rules and answers with anything in them: pure.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::answer::{Answer, Body, classify, needs_body};
use super::*;
use crate::fuzz::{any_json, cases, long_text, quickly, text};

/// Pieces of expressions.
const PIECES: [&str; 48] = [
    "a",
    "b",
    "\"a b\"",
    "status",
    "@",
    ".",
    "*",
    "[",
    "]",
    "[0]",
    "[-1]",
    "[*]",
    "[]",
    "[?",
    "[::2]",
    "[::-1]",
    "[-9223372036854775808:]",
    "[::2147483647]",
    "[0:99999999]",
    "{",
    "}",
    ":",
    ",",
    "|",
    "||",
    "&&",
    "!",
    "==",
    "!=",
    "<",
    ">=",
    "(",
    ")",
    "&",
    "`1`",
    "`\"x\"`",
    "`[",
    "'x'",
    "'",
    "length(",
    "sort_by(",
    "max_by(@,",
    "to_number(",
    "join(', ',",
    "contains(",
    "reverse(",
    "keys(",
    " ",
];

fn expression() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(select(&PIECES[..]), 0..14).prop_map(|pieces| pieces.concat());
    let whole = [
        "a == 'x'",
        "a.b[?c > `1`].d | [0]",
        "length(a)",
        "sort_by(@, &a)[::-1]",
        "to_number(b)",
        "[a, b][]",
        "a[:-1]",
    ];
    prop_oneof![4 => pieces, 2 => select(whole.to_vec()).prop_map(str::to_owned), 1 => text()]
}

fn rules() -> impl Strategy<Value = Value> {
    let status = select(vec![
        json!(null),
        json!(200),
        json!("200-299"),
        json!([404, "500-599"]),
        json!("ok"),
    ]);
    let rule = (expression(), any::<bool>(), any_json());
    let rule = prop::option::of(rule.prop_map(|(path, bare, equals)| {
        if bare {
            json!(path)
        } else {
            json!({"path": path, "equals": equals})
        }
    }));
    let expressions = (prop::option::of(expression()), prop::option::of(expression()));
    (status, rule, expressions).prop_map(
        |(status, json, (failed, progress))| json!({"status": status, "json": json, "failed": failed, "progress": progress}),
    )
}

fn answer() -> impl Strategy<Value = Answer> {
    let bytes = prop_oneof![
        4 => any_json().prop_map(|value| value.to_string().into_bytes()),
        2 => any_json().prop_map(|value| json!({"a": value, "b": [value], "status": value}).to_string().into_bytes()),
        1 => long_text().prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..50),
    ];
    let body = prop_oneof![
        6 => bytes.prop_map(Body::Whole),
        1 => Just(Body::Unread),
        1 => text().prop_map(Body::Torn),
        1 => Just(Body::TooLong(1 << 20)),
    ];
    let status = prop_oneof![Just(200_u16), 100_u16..600, any::<u16>()];
    let kind = select(vec![
        None,
        Some("application/json"),
        Some("text/html"),
        Some("a/b+json"),
    ]);
    (status, kind, prop::option::of(text()), body).prop_map(|(status, kind, leads_to, body)| Answer {
        status,
        kind: kind.map(str::to_owned),
        leads_to,
        body,
    })
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn any_rules_are_refused_or_kept_as_they_are_and_judge_any_answer(rules in rules(), answers in prop::collection::vec(answer(), 3)) {
        let Ok(expect) = quickly(|| Expect::read(&rules)) else {
            return Ok(());
        };
        let kept = serde_json::to_string(&expect).unwrap();
        let again: Expect = serde_json::from_str(&kept).unwrap();
        prop_assert_eq!(again.key(), expect.key());
        prop_assert_eq!(&again, &expect);
        let written = serde_json::from_str::<Value>(&kept).unwrap();
        prop_assert_eq!(Expect::read(&written), Ok(expect.clone()));
        for answer in answers {
            let _ = needs_body(&expect, answer.status);
            let seen = quickly(|| classify(&expect, &answer));
            let is_expected = expect.takes(answer.status);
            prop_assert!(is_expected || !matches!(seen, Seen::Satisfied(_)), "{:?}", seen);
        }
    }
}
