//! What answers mean, over a real connection.

use super::server::{answer, head, json as json_answer};
use super::*;
use crate::decide::{Next as Then, decide};
use crate::engine::limit;
use crate::testing::{BEGINNING, wait_for};
use crate::wait::{OutcomeKind, Policy};

const SHORT: Duration = Duration::from_millis(700);

#[tokio::test]
async fn a_bare_url_is_satisfied_by_200_and_nothing_less() {
    for (next, expected) in [
        (answer("200 OK", &[], ""), satisfied("200 OK")),
        (answer("200 OK", &[], "done"), satisfied("200 OK")),
        (json_answer("200 OK", "{\"status\":\"done\"}"), satisfied("200 OK")),
        (json_answer("200 OK", "[]"), satisfied("200 OK")),
        (
            answer("202 Accepted", &[], ""),
            Seen::Pending(Status::new("202 Accepted")),
        ),
        (
            answer("204 No Content", &[], ""),
            Seen::Pending(Status::new("204 No Content")),
        ),
        (
            answer("201 Created", &[], ""),
            Seen::Pending(Status::new("201 Created")),
        ),
        (
            answer("400 Bad Request", &[], ""),
            Seen::Pending(Status::new("400 Bad Request")),
        ),
        (answer("404 Not Found", &[], ""), Seen::Missing),
        (answer("410 Gone", &[], ""), Seen::Missing),
    ] {
        assert_eq!(seen(json!({}), next).await, expected);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_its_host_is_told() {
    for (location, host) in [
        ("/login?next=%2Fjob%2F1", "status.example.test"),
        ("https://sso.example.test/login?token=SECRET", "sso.example.test"),
        ("//169.254.169.254/", "169.254.169.254"),
        ("http://[", "nowhere"),
    ] {
        for status in [
            "301 Moved Permanently",
            "302 Found",
            "303 See Other",
            "307 Temporary Redirect",
            "308 x",
        ] {
            let login = answer("200 OK", &[("content-type", "text/html")], "<form>login</form>");
            let server = Server::start([answer(status, &[("location", location)], ""), login]).await;
            let target = at(&server, json!({}));
            let first = target.look(&reach()).await;
            assert!(matches!(first, Seen::Pending(_)), "{first:?}");
            says(&first, &status[..3]);
            says(&first, &format!("a redirect to {host} "));
            assert!(!format!("{first:?}").contains("SECRET"));
            assert_eq!(server.got().len(), 1);
            let second = target.look(&reach()).await;
            assert!(
                matches!(second, Seen::Pending(_)),
                "a page to log in completes nothing: {second:?}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_no_answer_yet_ends_no_wait_and_the_fifth_look_completes_it() {
    let server = Server::start([
        answer(
            "502 Bad Gateway",
            &[("content-type", "text/html")],
            "<html>Bad Gateway</html>",
        ),
        json_answer("200 OK", ""),
        json_answer("200 OK", "{\"status\":\"runn"),
        answer("429 Too Many Requests", &[("retry-after", "30")], "{}"),
        json_answer("200 OK", "{\"status\":\"done\"}"),
    ])
    .await;
    let target = at(&server, json!({}));
    let mut wait = wait_for("file:/x", Policy::default());
    let now = jiff::Timestamp::from_second(BEGINNING).unwrap();
    for pass in 1..=4 {
        let seen = target.look(&reach()).await;
        assert!(matches!(seen, Seen::Unknown(_)), "{seen:?}");
        let next;
        (wait, next) = decide(wait, &seen, pass, now);
        assert!(matches!(next, Then::Again(_)), "{next:?}");
    }
    let (_, next) = decide(wait, &target.look(&reach()).await, 5, now);
    assert!(matches!(next, Then::Finish(outcome) if outcome.kind == OutcomeKind::Completed));
}

#[tokio::test]
async fn passing_faults_of_the_server_are_no_answer() {
    for status in [
        "408 Request Timeout",
        "423 Locked",
        "425 Too Early",
        "429 Too Many Requests",
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
        "599 x",
    ] {
        let seen = seen(json!({}), answer(status, &[], "{\"status\":\"done\"}")).await;
        assert!(
            matches!(&seen, Seen::Unknown(why) if why.starts_with(&status[..3])),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn a_refusal_is_denied_and_names_what_lets_in() {
    for status in ["401 Unauthorized", "403 Forbidden", "407 Proxy Authentication Required"] {
        let seen = seen(json!({}), answer(status, &[], "")).await;
        assert!(matches!(seen, Seen::Denied(_)), "{seen:?}");
        says(&seen, status);
        says(&seen, "Authorization");
    }
}

#[tokio::test]
async fn a_body_that_tells_of_failure_fails_the_wait() {
    let boom = "{\"status\":\"FAILED\",\"error\":\"boom\"}";
    for (expect, why) in [
        (json!({}), "its status is FAILED"),
        (json!({"failed": "status == 'FAILED'"}), "status == 'FAILED' holds"),
        (json!({"failed": "error", "json": "status"}), "it says: boom"),
    ] {
        for status in ["200 OK", "202 Accepted"] {
            if status != "200 OK" && expect.get("failed").is_none() {
                continue;
            }
            let seen = seen(expect.clone(), json_answer(status, boom)).await;
            assert_eq!(
                seen,
                Seen::Failed(Status::new(format!("failed ({status})")), why.to_owned())
            );
        }
    }
    let pending = seen(json!({"json": "status == 'done'"}), json_answer("200 OK", boom)).await;
    assert_eq!(
        pending,
        Seen::Pending(Status::new("200 OK, status == 'done' does not hold"))
    );
}

#[tokio::test]
async fn a_body_that_tells_of_work_in_progress_is_pending_with_its_percentage() {
    let body = "{\"state\":\"IN_PROGRESS\",\"done\":{\"percent\":41.7}}";
    let customary = seen(json!({"progress": "done.percent"}), json_answer("200 OK", body)).await;
    assert_eq!(
        customary,
        Seen::Pending(Status::new("200 OK, its state is IN_PROGRESS").at(Some(41)))
    );
    let accepted = seen(json!({"progress": "done.percent"}), json_answer("202 Accepted", body)).await;
    assert_eq!(accepted, Seen::Pending(Status::new("202 Accepted").at(Some(41))));
}

#[tokio::test]
async fn the_expected_statuses_decide_before_anything_else() {
    for (expect, next, expected) in [
        (
            json!({"status": 404}),
            answer("404 Not Found", &[], ""),
            satisfied("404 Not Found"),
        ),
        (
            json!({"status": [301, 302]}),
            answer("302 Found", &[("location", "/x")], ""),
            satisfied("302 Found"),
        ),
        (
            json!({"status": "200-299"}),
            answer("204 No Content", &[], ""),
            satisfied("204 No Content"),
        ),
        (
            json!({"status": 401}),
            answer("401 Unauthorized", &[], ""),
            satisfied("401 Unauthorized"),
        ),
        (
            json!({"status": 200}),
            answer("200 OK", &[("content-type", "text/html")], "<html>up</html>"),
            satisfied("200 OK"),
        ),
        (
            json!({"status": 404}),
            answer("200 OK", &[], ""),
            Seen::Pending(Status::new("200 OK")),
        ),
    ] {
        assert_eq!(seen(expect, next).await, expected);
    }
}

#[tokio::test]
async fn where_a_rule_needs_json_anything_else_is_no_answer() {
    for body in ["", "{\"a\":", "<html>", "a", "\u{feff}{}"] {
        for expect in [
            json!({"json": "a"}),
            json!({"failed": "a"}),
            json!({"status": 200, "json": "!a"}),
        ] {
            let next = answer("200 OK", &[("content-type", "text/html")], body);
            let seen = seen(expect, next).await;
            assert!(matches!(seen, Seen::Unknown(_)), "{body}: {seen:?}");
        }
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_no_answer() {
    let torn = [head("200 OK", &[("content-length", "100")]), b"{}".to_vec()].concat();
    let garbled = [head("200 OK", &[("content-encoding", "gzip")]), b"not gzip".to_vec()].concat();
    let half = [head("200 OK", &[("transfer-encoding", "chunked")]), b"5\r\nab".to_vec()].concat();
    for bytes in [torn, garbled, half] {
        let seen = seen(json!({}), Next::Bytes(bytes)).await;
        assert!(matches!(seen, Seen::Unknown(_)), "{seen:?}");
        says(&seen, "its body broke off");
    }
}

/// A gzip stream of zeros without end, as its beginning and what comes again and again: a block of fixed codes in which
/// one zero is followed by copies of the 258 bytes before. Such a copy has 13 bits, so eight of them are whole bytes.
fn zeros() -> (Vec<u8>, Vec<u8>) {
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    // Not the last block, fixed codes (least bit first); the codes are sent most bit first.
    let mut bits: Vec<u8> = vec![0, 1, 0];
    bits.extend([0, 0, 1, 1, 0, 0, 0, 0]);
    let copy = [1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0];
    // Five bits more make whole bytes of the beginning, so what is repeated begins within a copy.
    bits.extend(&copy[..5]);
    let again: Vec<u8> = copy.iter().cycle().skip(5).take(13 * 8).copied().collect();
    let pack = |bits: &[u8]| -> Vec<u8> {
        bits.chunks(8)
            .map(|byte| byte.iter().rev().fold(0, |packed, bit| packed << 1 | bit))
            .collect()
    };
    (
        [
            head(
                "200 OK",
                &[("content-encoding", "gzip"), ("content-type", "application/json")],
            ),
            gzip.into(),
            pack(&bits),
        ]
        .concat(),
        pack(&again).repeat(5_000),
    )
}

/// How much memory this process holds, in bytes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

#[tokio::test]
async fn a_body_without_end_is_left_at_one_mebibyte_as_unpacked_and_memory_stays_flat() {
    let (first, again) = zeros();
    let plain = head("200 OK", &[("content-length", "5368709120")]);
    for (first, again) in [(first, again), (plain, vec![b'a'; 65_536])] {
        let server = Server::start([Next::Endless(first, again)]).await;
        #[cfg(target_os = "linux")]
        let before = resident();
        let seen = at(&server, json!({"expect": {}})).look(&reach()).await;
        assert!(matches!(seen, Seen::Pending(_)), "{seen:?}");
        says(&seen, "a body of more than 1 MiB, which is not read");
        assert!(server.sent() < 32 << 20, "{} bytes were taken", server.sent());
        #[cfg(target_os = "linux")]
        assert!(resident() - before < 64 << 20, "{} bytes more", resident() - before);
    }
}

#[tokio::test]
async fn a_body_of_just_one_mebibyte_is_read_and_one_byte_more_is_not() {
    for (bytes, whole) in [(1 << 20, true), ((1 << 20) + 1, false)] {
        let done = "{\"status\":\"done\"}";
        let body = format!("{done}{}", " ".repeat(bytes - done.len()));
        let seen = seen(json!({}), json_answer("200 OK", &body)).await;
        assert_eq!(matches!(seen, Seen::Satisfied(_)), whole, "{bytes}: {seen:?}");
    }
}

#[tokio::test]
async fn the_limit_is_for_the_whole_look_however_the_bytes_drip() {
    let slow = head("200 OK", &[("content-length", "100")]);
    let begun = b"HTTP/1.1 200 OK\r\nx: ".to_vec();
    for next in [
        Next::Drip(slow, Duration::from_millis(50)),
        Next::Drip(begun, Duration::from_millis(50)),
        Next::Hang,
    ] {
        let server = Server::start([next]).await;
        let reach = reach_within(SHORT);
        let looking = at(&server, json!({})).look(&reach).await;
        assert!(matches!(looking, Seen::Unknown(_)), "{looking:?}");
        says(&looking, "no whole answer within 0.7 s");
    }
    assert!(
        reach().limit < limit::LOOK && Reach::new(Allow::default(), Roots::default(), no_secrets()).limit < limit::LOOK
    );
}

#[tokio::test]
async fn no_connection_and_a_reset_are_no_answer() {
    let reset = seen(json!({}), Next::Reset).await;
    assert!(matches!(reset, Seen::Unknown(_)), "{reset:?}");
    let server = Server::start([]).await;
    let target = at(&server, json!({}));
    drop(server);
    let deserted = target.look(&reach()).await;
    assert!(matches!(deserted, Seen::Unknown(_)), "{deserted:?}");
    says(&deserted, "no answer: ");
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_no_answer() {
    let names = Arc::new(Scripted::default());
    names.next.lock().unwrap().push_back("");
    let reach = Reach::with(Allow::default(), Roots::default(), no_secrets(), names, SHORT);
    let seen = target(json!("https://no-such-host.example.test/")).look(&reach).await;
    assert!(matches!(seen, Seen::Unknown(_)), "{seen:?}");
    says(&seen, "nobody knows it");
}
