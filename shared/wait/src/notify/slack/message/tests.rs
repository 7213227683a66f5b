use super::*;
use crate::aws::Family;
use crate::notify::slack::text::length;
use crate::target::{File, RdsSnapshot, S3Object, Until};
use crate::wait::{Extra, Limit, Status};

fn snapshot() -> Target {
    Target::RdsSnapshot(RdsSnapshot {
        family: Family::Instance,
        id: "app-db-copy".to_owned(),
        region: "ap-northeast-1".to_owned(),
        account: "123456789012".to_owned(),
        partition: None,
        extra: Extra::new(),
    })
}

fn object(key: &str, until: Until) -> Target {
    Target::S3Object(S3Object {
        bucket: "data-bucket".to_owned(),
        key: key.to_owned(),
        until,
        extra: Extra::new(),
    })
}

fn announcement(target: Target, kind: OutcomeKind, limit: Option<Limit>, reason: &str) -> Announcement {
    Announcement {
        wait: "0123456789abcdef0123456789abcdef".to_owned(),
        target,
        outcome: Outcome {
            kind,
            limit,
            reason: reason.to_owned(),
            at: "2026-01-15T03:04:05Z".parse().unwrap(),
            extra: Extra::new(),
        },
        passes: 97,
        started_at: "2026-01-14T23:52:01Z".parse().unwrap(),
        status: Some(Status::new("copying").at(Some(35))),
    }
}

fn completed(target: Target) -> Value {
    render(
        &announcement(target, OutcomeKind::Completed, None, "it is available"),
        &Here::default(),
    )
}

fn text(message: &Value, path: &str) -> String {
    message.pointer(path).unwrap().as_str().unwrap().to_owned()
}

const HEADER_TEXT: &str = "/blocks/0/text/text";
const TARGET_TEXT: &str = "/blocks/1/text/text";
const WHY_TEXT: &str = "/blocks/2/text/text";

fn field_texts(message: &Value) -> Vec<String> {
    let fields = message["blocks"][3]["fields"].as_array().unwrap();
    fields.iter().map(|f| f["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_message_tells_the_outcome_the_target_and_why() {
    let given_up = announcement(
        snapshot(),
        OutcomeKind::GaveUp,
        Some(Limit::Deadline),
        "still copying 35 % after 97 passes in 3h12m4s; the limit is 3h",
    );
    assert_eq!(
        render(&given_up, &Here::default()),
        json!({
            "text": "⏰ gave-up (deadline): arn:aws:rds:ap-northeast-1:123456789012:snapshot:app-db-copy - \
                     still copying 35 % after 97 passes in 3h12m4s; the limit is 3h",
            "mrkdwn": false,
            "unfurl_links": false,
            "unfurl_media": false,
            "blocks": [
                { "type": "header", "text": {
                    "type": "plain_text", "emoji": false, "text": "⏰ gave-up (deadline): RDS snapshot app-db-copy",
                } },
                { "type": "section", "text": {
                    "type": "plain_text", "emoji": false,
                    "text": "arn:aws:rds:ap-northeast-1:123456789012:snapshot:app-db-copy",
                } },
                { "type": "section", "text": {
                    "type": "plain_text", "emoji": false,
                    "text": "Why: still copying 35 % after 97 passes in 3h12m4s; the limit is 3h\n\
                             Nobody looks any more. The work may still be running.",
                } },
                { "type": "section", "fields": [
                    { "type": "mrkdwn", "verbatim": true, "text": "*Outcome*\ngave-up (deadline)" },
                    { "type": "mrkdwn", "verbatim": true, "text": "*Last status*\n`copying 35 %`" },
                    { "type": "mrkdwn", "verbatim": true, "text": "*Passes*\n97" },
                    { "type": "mrkdwn", "verbatim": true, "text": "*Duration*\n3h12m4s" },
                    { "type": "mrkdwn", "verbatim": true, "text": "*Account*\n`123456789012`" },
                    { "type": "mrkdwn", "verbatim": true, "text": "*Region*\n`ap-northeast-1`" },
                    { "type": "mrkdwn", "verbatim": true, "text": "*Wait*\n`0123456789abcdef0123456789abcdef`" },
                ] },
                { "type": "context", "elements": [{
                    "type": "plain_text", "emoji": false,
                    "text": "matsu | started 2026-01-14 23:52:01 UTC | ended 2026-01-15 03:04:05 UTC",
                }] },
            ],
        })
    );
}

#[test]
fn every_outcome_has_its_word_and_marker_in_the_line_and_the_header() {
    for (kind, limit, expected) in [
        (OutcomeKind::Completed, None, "✅ completed"),
        (OutcomeKind::Failed, None, "❌ failed"),
        (OutcomeKind::FailedToStart, None, "❌ failed to start"),
        (OutcomeKind::Vanished, None, "👻 vanished"),
        (OutcomeKind::Cancelled, None, "🚫 cancelled"),
        (OutcomeKind::GaveUp, Some(Limit::Count), "⏰ gave-up (count)"),
        (OutcomeKind::GaveUp, Some(Limit::Deadline), "⏰ gave-up (deadline)"),
        (OutcomeKind::CannotCheck, None, "🔒 cannot-check"),
    ] {
        let message = render(&announcement(snapshot(), kind, limit, ""), &Here::default());
        let line = text(&message, "/text");
        assert_eq!(
            line,
            format!("{expected}: arn:aws:rds:ap-northeast-1:123456789012:snapshot:app-db-copy")
        );
        assert!(line.contains(kind.word()));
        assert_eq!(
            text(&message, HEADER_TEXT),
            format!("{expected}: RDS snapshot app-db-copy")
        );
    }
}

#[test]
fn the_headline_says_what_a_snapshot_is_of() {
    let cluster = "arn:aws:rds:eu-central-1:123456789012:cluster-snapshot:main-copy";
    let message = completed(Target::parse(cluster, None, &Here::default()).unwrap());
    assert_eq!(text(&message, TARGET_TEXT), cluster);
    assert_eq!(
        text(&message, HEADER_TEXT),
        "✅ completed: RDS cluster snapshot main-copy"
    );
}

#[test]
fn a_target_with_a_condition_shows_it() {
    let file = |until| {
        Target::File(File {
            path: "/var/data/done.flag".to_owned(),
            until,
            extra: Extra::new(),
        })
    };
    for (target, expected) in [
        (
            object("in/file.csv", Until::Deleted),
            "s3://data-bucket/in/file.csv (until deleted)",
        ),
        (
            object("in/file.csv", Until::Exists),
            "s3://data-bucket/in/file.csv (until exists)",
        ),
        (file(Until::Exists), "file:/var/data/done.flag (until exists)"),
        (file(Until::Deleted), "file:/var/data/done.flag (until deleted)"),
    ] {
        let message = completed(target);
        assert_eq!(text(&message, TARGET_TEXT), expected);
        assert_eq!(text(&message, HEADER_TEXT), format!("✅ completed: {expected}"));
        assert_eq!(
            text(&message, "/text"),
            format!("✅ completed: {expected} - it is available")
        );
    }
}

#[test]
fn account_and_region_are_the_targets_own_else_those_of_the_place() {
    let here = Here {
        region: Some("eu-central-1".to_owned()),
        account: Some("210987654321".to_owned()),
    };
    let shown = |target, here: &Here| field_texts(&render(&announcement(target, OutcomeKind::Failed, None, ""), here));
    let own = shown(snapshot(), &here);
    assert!(own.contains(&"*Account*\n`123456789012`".to_owned()), "{own:?}");
    assert!(own.contains(&"*Region*\n`ap-northeast-1`".to_owned()), "{own:?}");
    let place = shown(object("k", Until::Exists), &here);
    assert!(place.contains(&"*Account*\n`210987654321`".to_owned()), "{place:?}");
    assert!(place.contains(&"*Region*\n`eu-central-1`".to_owned()), "{place:?}");
    let nowhere = shown(object("k", Until::Exists), &Here::default()).join("\n");
    assert!(!nowhere.contains("Account") && !nowhere.contains("Region"), "{nowhere}");
}

#[test]
fn what_is_not_known_leaves_no_empty_text() {
    let mut bare = announcement(object("k", Until::Exists), OutcomeKind::Vanished, None, " \n");
    bare.status = Some(Status::new(" "));
    bare.wait = String::new();
    let message = render(&bare, &Here::default());
    assert_eq!(
        field_texts(&message),
        ["*Outcome*\nvanished", "*Passes*\n97", "*Duration*\n3h12m4s"]
    );
    assert_eq!(text(&message, WHY_TEXT), "It was deleted, or never came to be.");
    assert_eq!(
        text(&message, "/text"),
        "👻 vanished: s3://data-bucket/k (until exists)"
    );
}

#[test]
fn a_wait_that_ends_before_it_starts_lasted_nothing() {
    let mut early = announcement(snapshot(), OutcomeKind::Cancelled, None, "by the command");
    early.started_at = "2026-01-15T03:04:06Z".parse().unwrap();
    assert!(field_texts(&render(&early, &Here::default())).contains(&"*Duration*\n0s".to_owned()));
}

#[test]
fn a_key_is_shown_literally_whatever_is_in_it() {
    for (key, shown) in [
        (
            "<!channel> a&b <https://evil.example.test|click>.csv",
            "&lt;!channel&gt; a&amp;b &lt;https://evil.example.test|click&gt;.csv",
        ),
        (
            "<@U012AB3CD> <#C012AB3CD> @here @channel @everyone",
            "&lt;@U012AB3CD&gt; &lt;#C012AB3CD&gt; @here @channel @everyone",
        ),
        (
            "`*bold*` _it_ ~no~ ```pre``` > quote :fire:",
            "`*bold*` _it_ ~no~ ```pre``` &gt; quote :fire:",
        ),
        ("already &amp; escaped", "already &amp;amp; escaped"),
        ("line\nbreak\ttab\u{7f}", "line␊break␉tab␡"),
        ("invoice_\u{202e}fdp.exe", "invoice_\\u{202e}fdp.exe"),
        ("דוח/2026/سجل.csv", "דוח/2026/سجل.csv"),
        (
            "👨\u{200d}👩\u{200d}👧 e\u{301} 🇯🇵",
            "👨\u{200d}👩\u{200d}👧 e\u{301} 🇯🇵",
        ),
        ("a+b%20c", "a+b%20c"),
        (" spaces at the ends ", " spaces at the ends "),
    ] {
        let message = completed(object(key, Until::Deleted));
        let expected = format!("s3://data-bucket/{shown} (until deleted)");
        assert_eq!(text(&message, TARGET_TEXT), expected);
        assert_eq!(
            text(&message, "/text"),
            format!("✅ completed: {expected} - it is available")
        );
    }
}

#[test]
fn words_of_others_stand_only_in_plain_text_or_in_code_that_they_cannot_end() {
    let hostile = "x` *y* <!here> <https://evil.test|z> @channel";
    let mut all_hostile = announcement(object(hostile, Until::Exists), OutcomeKind::Failed, None, hostile);
    all_hostile.status = Some(Status::new(hostile));
    all_hostile.wait = hostile.to_owned();
    let here = Here {
        region: Some(hostile.to_owned()),
        account: Some(hostile.to_owned()),
    };
    let message = render(&all_hostile, &here);
    let code = "`x' *y* &lt;!here&gt; &lt;https://evil.test|z&gt; @channel`";
    let fields = field_texts(&message);
    for name in ["Last status", "Account", "Region", "Wait"] {
        assert!(fields.contains(&format!("*{name}*\n{code}")), "{fields:?}");
    }
    for field in message["blocks"][3]["fields"].as_array().unwrap() {
        assert_eq!((&field["type"], &field["verbatim"]), (&json!("mrkdwn"), &json!(true)));
    }
    for plain in [
        "/blocks/0/text",
        "/blocks/1/text",
        "/blocks/2/text",
        "/blocks/4/elements/0",
    ] {
        let plain = message.pointer(plain).unwrap();
        assert_eq!((&plain["type"], &plain["emoji"]), (&json!("plain_text"), &json!(false)));
    }
    assert_eq!(message["mrkdwn"], json!(false));
    assert!(message.get("link_names").is_none() && message.get("parse").is_none());
    assert!(!message.to_string().contains(['<', '>']));
}

#[test]
fn a_reason_of_any_length_is_cut_to_fit() {
    for reason in [
        "E".repeat(100_000),
        "&".repeat(100_000),
        "👨\u{200d}👩\u{200d}👧".repeat(20_000),
    ] {
        let failed = announcement(snapshot(), OutcomeKind::Failed, None, &reason);
        let message = render(&failed, &Here::default());
        let why = text(&message, WHY_TEXT);
        assert!(length(&why) <= 2_000, "{}", length(&why));
        assert!(why.ends_with("…\nIt will not get there by itself."), "{why}");
        let line = text(&message, "/text");
        assert!(length(&line) <= 3_000 && line.ends_with('…'));
        assert!(line.contains("arn:aws:rds:ap-northeast-1:123456789012:snapshot:app-db-copy"));
    }
}

#[test]
fn the_longest_key_of_a_service_is_shown_whole() {
    let key = "k".repeat(1_024);
    let message = completed(object(&key, Until::Deleted));
    let expected = format!("s3://data-bucket/{key} (until deleted)");
    assert_eq!(text(&message, TARGET_TEXT), expected);
    assert!(text(&message, "/text").contains(&expected));
    let header = text(&message, HEADER_TEXT);
    assert_eq!(length(&header), 150);
    assert!(header.starts_with("✅ completed: s3://data-bucket/kkk") && header.ends_with("k… (until deleted)"));
}

#[test]
fn the_plainest_form_is_the_line_alone() {
    let failed = announcement(snapshot(), OutcomeKind::Failed, None, "it is <failed>");
    assert_eq!(
        plain(&failed),
        json!({ "text": "❌ failed: arn:aws:rds:ap-northeast-1:123456789012:snapshot:app-db-copy - it is &lt;failed&gt;" })
    );
}
