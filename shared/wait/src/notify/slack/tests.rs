//! Against a scripted webhook on loopback.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures::StreamExt as _;
use futures::stream;
use matsu_lock::{Clock as _, SystemClock};
use tokio::net::TcpListener;

use super::*;
use crate::aws::Family;
use crate::target::{RdsSnapshot, Target};
use crate::wait::{Extra, Outcome, OutcomeKind, Status};

const SECRET: &str = "SECRETTOKEN";

/// What the webhook does next.
enum Next {
    Answer(u16, &'static [(&'static str, &'static str)], &'static str),
    /// Never answers.
    Hang,
    /// Answers, sends this much of the body and never ends it.
    Stall(u16, &'static str),
    /// Answers with a body without end.
    Flood(u16),
}

#[derive(Default)]
struct Script {
    next: Mutex<VecDeque<Next>>,
    got: Mutex<Vec<Value>>,
}

/// A webhook that plays a script; when that is over it answers 418.
struct Scripted {
    script: Arc<Script>,
    url: String,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Scripted {
    async fn start(next: impl IntoIterator<Item = Next>) -> Self {
        let script = Arc::new(Script {
            next: Mutex::new(next.into_iter().collect()),
            ..Script::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/services/T000/B000/{SECRET}", listener.local_addr().unwrap());
        let app = axum::Router::new().fallback(play).with_state(script.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { script, url, serving }
    }

    fn slack(&self, limit: Duration) -> Slack {
        slack(&self.url, limit)
    }

    fn got(&self) -> Vec<Value> {
        self.script.got.lock().unwrap().clone()
    }
}

async fn play(State(script): State<Arc<Script>>, request: Request) -> Response {
    assert_eq!(request.method(), "POST");
    let kind = request.headers()["content-type"].to_str().unwrap();
    assert!(kind.starts_with("application/json"), "{kind}");
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    script.got.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
    let next = script.next.lock().unwrap().pop_front();
    let answer = |status: u16| Response::builder().status(status);
    let chunk = |text: &'static str| Ok::<_, std::convert::Infallible>(Bytes::from_static(text.as_bytes()));
    match next {
        None => answer(418).body(Body::from("the script is over")),
        Some(Next::Hang) => std::future::pending().await,
        Some(Next::Answer(status, headers, body)) => headers
            .iter()
            .fold(answer(status), |answer, (name, value)| answer.header(*name, *value))
            .body(Body::from(body)),
        Some(Next::Stall(status, text)) => {
            let stalled = stream::iter([chunk(text)]).chain(stream::pending());
            answer(status).body(Body::from_stream(stalled))
        }
        Some(Next::Flood(status)) => answer(status).body(Body::from_stream(stream::repeat_with(move || chunk("x")))),
    }
    .unwrap()
}

fn slack(url: &str, limit: Duration) -> Slack {
    let webhook = Webhook::parse(url).unwrap().unwrap();
    let secrets = Arc::new(Secrets::new(None, None));
    Slack::within(limit, webhook, Here::default(), secrets, &Roots::default()).unwrap()
}

fn done() -> Announcement {
    Announcement {
        wait: "w1".to_owned(),
        target: Target::RdsSnapshot(RdsSnapshot {
            family: Family::Instance,
            id: "app-db-copy".to_owned(),
            region: "ap-northeast-1".to_owned(),
            account: "123456789012".to_owned(),
            partition: None,
            extra: Extra::new(),
        }),
        outcome: Outcome {
            kind: OutcomeKind::Completed,
            limit: None,
            reason: "it is available".to_owned(),
            at: "2026-01-15T03:04:05Z".parse().unwrap(),
            extra: Extra::new(),
        },
        passes: 3,
        started_at: "2026-01-15T03:00:00Z".parse().unwrap(),
        status: Some(Status::new("available").at(Some(100))),
    }
}

/// Tells one outcome to a webhook that plays `next`: what became of it, and what the webhook got.
async fn told(next: impl IntoIterator<Item = Next>) -> (Told, Vec<Value>) {
    let webhook = Scripted::start(next).await;
    let told = webhook.slack(TELL).tell(&done()).await;
    (told, webhook.got())
}

fn later(after: Option<u64>, why: &str) -> Told {
    Told::Later {
        after: after.map(Duration::from_secs),
        why: why.to_owned(),
    }
}

/// Time enough for a loaded machine, and far below what the tests wait for.
const SHORT: Duration = Duration::from_millis(700);

#[test]
fn telling_ends_within_the_ten_seconds_of_the_port() {
    assert!(CONNECT < TELL && TELL < Duration::from_secs(10));
}

#[tokio::test]
async fn a_message_that_the_webhook_takes_is_sent_in_one_request() {
    let (told, got) = told([Next::Answer(200, &[], "ok")]).await;
    assert_eq!(told, Told::Sent);
    assert_eq!(got, [render(&done(), &Here::default())]);
}

#[tokio::test]
async fn success_needs_no_body() {
    for next in [
        Next::Answer(204, &[], ""),
        Next::Stall(200, "o"),
        Next::Answer(200, &[], "<html>"),
    ] {
        assert_eq!(told([next]).await.0, Told::Sent);
    }
}

#[tokio::test]
async fn too_many_requests_are_not_repeated_here_but_passed_on_with_the_time_to_stay_away() {
    const DATE: (&str, &str) = ("date", "Thu, 15 Jan 2026 03:04:05 GMT");
    for (headers, after) in [
        (&[("retry-after", "2")][..], Some(2)),
        (&[("retry-after", "86400")], Some(86_400)),
        (&[("retry-after", "Thu, 15 Jan 2026 03:05:00 GMT"), DATE], Some(55)),
        (&[("retry-after", "Thu, 15 Jan 2026 03:00:00 GMT"), DATE], Some(0)),
        (
            &[("retry-after", "Thu, 15 Jan 2026 03:05:00 GMT"), ("date", "never")],
            None,
        ),
        (&[("retry-after", "abc")], None),
        (&[("retry-after", "-5")], None),
        (&[], None),
    ] {
        let (told, got) = told([Next::Answer(429, headers, "rate_limited"), Next::Answer(200, &[], "ok")]).await;
        assert_eq!(
            told,
            later(after, "the webhook answered 429 rate_limited"),
            "{headers:?}"
        );
        assert_eq!(got.len(), 1);
    }
}

#[tokio::test]
async fn a_fault_of_the_service_is_for_later_and_the_next_telling_gets_through() {
    let webhook = Scripted::start([
        Next::Answer(500, &[], "rollup_error"),
        Next::Answer(503, &[("retry-after", "30")], ""),
        Next::Answer(200, &[], "ok"),
    ])
    .await;
    let slack = webhook.slack(TELL);
    assert_eq!(
        slack.tell(&done()).await,
        later(None, "the webhook answered 500 rollup_error")
    );
    assert_eq!(slack.tell(&done()).await, later(Some(30), "the webhook answered 503"));
    assert_eq!(slack.tell(&done()).await, Told::Sent);
    assert_eq!(webhook.got().len(), 3);
}

#[tokio::test]
async fn a_refusal_is_for_good_and_passes_on_the_webhooks_word() {
    for (status, word) in [
        (404, "no_service"),
        (410, "channel_is_archived"),
        (403, "action_prohibited"),
        (404, "channel_not_found"),
        (403, "invalid_token"),
        (400, "no_text"),
    ] {
        let (told, got) = told([Next::Answer(status, &[], word), Next::Answer(200, &[], "ok")]).await;
        let Told::Never(why) = told else {
            panic!("{told:?} for {status} {word}");
        };
        assert!(why.contains(&format!("{status} {word}")), "{why}");
        assert_eq!(got.len(), 1, "{word}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for status in [301, 302, 307, 308] {
        let (told, got) = told([Next::Answer(status, &[("location", "/elsewhere")], "")]).await;
        let why = format!("the webhook answered {status}: a webhook does not redirect");
        assert_eq!(told, Told::Never(why));
        assert_eq!(got.len(), 1);
    }
}

#[tokio::test]
async fn a_message_refused_for_its_form_is_sent_once_more_as_plain_text() {
    for word in ["invalid_blocks", "invalid_blocks_format", "invalid_payload"] {
        let (told, got) = told([Next::Answer(400, &[], word), Next::Answer(200, &[], "ok")]).await;
        assert_eq!(told, Told::Sent, "{word}");
        assert_eq!(got, [render(&done(), &Here::default()), plain(&done())]);
    }
}

#[tokio::test]
async fn the_plain_text_is_the_last_word() {
    let refused = || Next::Answer(400, &[], "invalid_payload");
    let (refused_twice, got) = told([refused(), refused(), refused()]).await;
    assert_eq!(
        refused_twice,
        Told::Never("the webhook answered 400 invalid_payload".to_owned())
    );
    assert_eq!(got.len(), 2);
    let (then_busy, _) = told([refused(), Next::Answer(429, &[("retry-after", "7")], "")]).await;
    assert_eq!(then_busy, later(Some(7), "the webhook answered 429"));
}

#[tokio::test]
async fn a_webhook_that_does_not_answer_costs_no_more_than_the_limit() {
    for next in [
        vec![Next::Hang],
        vec![Next::Answer(400, &[], "invalid_blocks"), Next::Hang],
    ] {
        let webhook = Scripted::start(next).await;
        let before = SystemClock.elapsed();
        let told = webhook.slack(SHORT).tell(&done()).await;
        assert_eq!(told, later(None, "the webhook did not answer in time"));
        assert!(SystemClock.elapsed() - before < SHORT * 4);
    }
}

#[tokio::test]
async fn the_status_counts_also_where_the_body_never_ends() {
    for (next, expected) in [
        (
            Next::Stall(404, "no such\npla"),
            Told::Never("the webhook answered 404 no such".to_owned()),
        ),
        (Next::Stall(429, ""), later(None, "the webhook answered 429")),
        (Next::Flood(500), later(None, "the webhook answered 500")),
    ] {
        assert_eq!(told([next]).await.0, expected);
    }
}

/// A webhook that takes the request and resets the connection.
async fn resetting() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/{SECRET}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.readable().await.unwrap();
            stream.set_zero_linger().unwrap();
        }
    });
    (url, serving)
}

/// An address where nothing listens.
async fn deserted(scheme: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("{scheme}://{}/{SECRET}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn no_connection_a_reset_and_a_failed_handshake_are_for_later() {
    let (reset, serving) = resetting().await;
    let plain = Scripted::start([]).await;
    for url in [
        reset,
        deserted("http").await,
        deserted("https").await,
        plain.url.replace("http:", "https:"),
    ] {
        let told = slack(&url, TELL).tell(&done()).await;
        let Told::Later { after: None, why } = told else {
            panic!("{told:?}");
        };
        assert!(why.starts_with("no answer from the webhook: "), "{why}");
        assert!(!why.contains(SECRET) && !why.contains("http"), "{why}");
    }
    serving.abort();
}
