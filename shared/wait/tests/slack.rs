//! The Slack channel from outside: every message within Slack's limits, and no secret anywhere.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use jiff::Timestamp;
use matsu_lock::{Random, SeededRandom};
use matsu_wait::aws::Family;
use matsu_wait::notify::slack::{plain, render};
use matsu_wait::notify::{Announcement, Notify, Slack, Told, Webhook};
use matsu_wait::secret::Secrets;
use matsu_wait::target::{File, Here, RdsSnapshot, S3Object, Target, Until};
use matsu_wait::wait::{Extra, Limit, Outcome, OutcomeKind, Status};
use matsu_wait::web::Roots;
use serde_json::Value;

/// What texts of others are made of here.
const PIECES: [&str; 24] = [
    "a",
    "snapshot",
    "Zażółć",
    " ",
    "/",
    "&",
    "&amp;",
    "<",
    ">",
    "`",
    "```",
    "*b*",
    "<!channel>",
    "<https://evil.example.test|x>",
    "@here",
    ":fire:",
    "\n",
    "\0",
    "\u{202e}",
    "\u{ffff}",
    "e\u{301}\u{302}",
    "👨\u{200d}👩\u{200d}👧",
    "🇯🇵",
    "שלום مرحبا",
];

/// Announcements of every sort; the same from the same seed.
struct Announcements(SeededRandom);

impl Announcements {
    fn below(&self, n: usize) -> usize {
        usize::try_from(self.0.bits() % n as u128).unwrap()
    }

    fn maybe<T>(&self, value: T) -> Option<T> {
        (self.below(2) == 0).then_some(value)
    }

    /// Mostly short, sometimes very long, sometimes nothing.
    fn text(&self) -> String {
        let longest = [0, 3, 12, 60, 400, 3_000][self.below(6)];
        let one = self.below(2 * PIECES.len());
        (0..self.below(longest + 1))
            // Half of the long texts repeat one piece: the worst case of every kind.
            .map(|_| {
                PIECES
                    .get(one)
                    .copied()
                    .unwrap_or_else(|| PIECES[self.below(PIECES.len())])
            })
            .collect()
    }

    fn time(&self) -> Timestamp {
        let span = u128::from(Timestamp::MAX.as_second().unsigned_abs());
        Timestamp::from_second(i64::try_from(self.0.bits() % span).unwrap()).unwrap()
    }

    fn target(&self) -> Target {
        let until = if self.below(2) == 0 {
            Until::Exists
        } else {
            Until::Deleted
        };
        match self.below(3) {
            0 => Target::RdsSnapshot(RdsSnapshot {
                family: Family::Instance,
                id: self.text(),
                region: self.text(),
                account: self.text(),
                partition: None,
                extra: Extra::new(),
            }),
            1 => Target::S3Object(S3Object {
                bucket: self.text(),
                key: self.text(),
                until,
                extra: Extra::new(),
            }),
            _ => Target::File(File {
                path: self.text(),
                until,
                extra: Extra::new(),
            }),
        }
    }

    fn next(&self) -> (Announcement, Here) {
        let limit = [None, Some(Limit::Count), Some(Limit::Deadline)][self.below(3)];
        let announcement = Announcement {
            wait: self.text(),
            target: self.target(),
            outcome: Outcome {
                kind: OutcomeKind::ALL[self.below(OutcomeKind::ALL.len())],
                limit,
                reason: self.text(),
                at: self.time(),
                extra: Extra::new(),
            },
            passes: u32::try_from(self.0.bits() % (1 << 32)).unwrap(),
            started_at: self.time(),
            status: self.maybe(Status::new(self.text()).at(self.maybe(255))),
        };
        let here = Here {
            region: self.maybe(self.text()),
            account: self.maybe(self.text()),
        };
        (announcement, here)
    }
}

/// Characters as the longest of the usual counts has them.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The text of a text object, after everything that holds for all of them.
fn text_of(object: &Value, longest: usize) -> &str {
    let text = object["text"].as_str().unwrap();
    assert!((1..=longest).contains(&length(text)), "{} of {longest}", length(text));
    match object["type"].as_str().unwrap() {
        "plain_text" => assert_eq!(object["emoji"], false),
        "mrkdwn" => assert_eq!(object["verbatim"], true),
        other => panic!("{other} is no text"),
    }
    assert_harmless(text);
    text
}

/// No markup of Slack's, nothing invisible, entities whole.
fn assert_harmless(text: &str) {
    assert!(!text.contains(['<', '>', '\0', '\u{202e}', '\u{ffff}']), "{text}");
    for (at, _) in text.match_indices('&') {
        let entity = ["&amp;", "&lt;", "&gt;"].iter().any(|e| text[at..].starts_with(e));
        assert!(entity, "a broken entity in {text}");
    }
}

fn assert_a_message(message: &Value, kind: OutcomeKind) {
    assert_eq!(serde_json::from_str::<Value>(&message.to_string()).unwrap(), *message);
    let line = message["text"].as_str().unwrap();
    assert!(line.contains(kind.word()), "{line}");
    assert!(length(line) <= 3_000);
    assert_harmless(line);
    let mut sum = length(line);
    let blocks = message["blocks"].as_array().unwrap();
    assert!((1..=50).contains(&blocks.len()));
    for block in blocks {
        let texts: Vec<&str> = match block["type"].as_str().unwrap() {
            "header" => vec![text_of(&block["text"], 150)],
            "section" if block.get("fields").is_none() => vec![text_of(&block["text"], 3_000)],
            "section" => block["fields"]
                .as_array()
                .unwrap()
                .iter()
                .map(|f| text_of(f, 2_000))
                .collect(),
            "context" => block["elements"]
                .as_array()
                .unwrap()
                .iter()
                .map(|e| text_of(e, 3_000))
                .collect(),
            other => panic!("{other} is no block of ours"),
        };
        assert!((1..=10).contains(&texts.len()));
        sum += texts.iter().map(|text| length(text)).sum::<usize>();
    }
    assert!(sum < 10_000, "{sum} in all");
}

/// Also leaves the messages, a line each, in `slack_messages.jsonl` in the target folder's `tmp`, where
/// `tests/slack_check.py` reads them.
#[test]
fn any_announcement_renders_within_every_limit() {
    let announcements = Announcements(SeededRandom::new(20_260_115));
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("slack_messages.jsonl");
    let mut samples = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    for number in 0..500 {
        let (announcement, here) = announcements.next();
        let kind = announcement.outcome.kind;
        let message = render(&announcement, &here);
        assert_a_message(&message, kind);
        let plain = plain(&announcement);
        assert_eq!(plain.as_object().unwrap().len(), 1);
        assert_eq!(plain["text"], message["text"]);
        if number < 200 {
            writeln!(samples, "{message}").unwrap();
        }
    }
    for (announcement, here) in at_night() {
        let message = render(&announcement, &here);
        assert_a_message(&message, announcement.outcome.kind);
        writeln!(samples, "{message}").unwrap();
    }
    samples.flush().unwrap();
}

/// One of each outcome, as they come in practice.
fn at_night() -> impl Iterator<Item = (Announcement, Here)> {
    let snapshot = |id: &str| {
        Target::RdsSnapshot(RdsSnapshot {
            family: Family::Instance,
            id: id.to_owned(),
            region: "eu-central-1".to_owned(),
            account: "123456789012".to_owned(),
            partition: None,
            extra: Extra::new(),
        })
    };
    let object = |key: &str, until| {
        Target::S3Object(S3Object {
            bucket: "data-bucket".to_owned(),
            key: key.to_owned(),
            until,
            extra: Extra::new(),
        })
    };
    [
        (
            snapshot("app-db-copy"),
            None,
            "it is available 100 %",
            Some(Status::new("available").at(Some(100))),
        ),
        (
            snapshot("app-db-copy"),
            None,
            "it is failed",
            Some(Status::new("failed").at(Some(35))),
        ),
        (
            snapshot("app-db-copy"),
            None,
            "the copy was refused: KMSKeyNotAccessibleFault: the key is disabled",
            None,
        ),
        (
            object("in/2026 Q1 <final> a&b.csv", Until::Exists),
            None,
            "it was there and was not found at 2 looks in a row",
            Some(Status::new("absent")),
        ),
        (
            object("in/file.csv", Until::Deleted),
            None,
            "somebody cancelled it with matsu cancel",
            Some(Status::new("exists")),
        ),
        (
            snapshot("app-db-copy"),
            Some(Limit::Deadline),
            "still copying 35 % after 97 passes in 3h; the limit is 3h",
            Some(Status::new("copying").at(Some(35))),
        ),
        (
            snapshot("app-db-copy"),
            None,
            "looking was denied 3 times in a row: rds:DescribeDBSnapshots is not allowed",
            Some(Status::new("unknown: denied")),
        ),
    ]
    .into_iter()
    .zip(OutcomeKind::ALL)
    .map(|((target, limit, reason, status), kind)| {
        let announcement = Announcement {
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
            started_at: "2026-01-15T00:04:05Z".parse().unwrap(),
            status,
        };
        let here = Here {
            region: Some("eu-central-1".to_owned()),
            account: Some("123456789012".to_owned()),
        };
        (announcement, here)
    })
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Everything that this thread logs from now on, to the finest level.
    fn capture(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(move || log.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

const PATH: &str = "/services/T000/B000/SECRETTOKEN";

/// The answers of [`talkative`], in their order; a body that is not here is the address that was asked for.
const ANSWERS: [(u16, Option<&str>); 6] = [
    (200, Some("ok")),
    (404, None),
    (500, None),
    (302, None),
    (400, Some("invalid_blocks")),
    (400, None),
];

/// A webhook that says what it was asked for.
async fn talkative(State(asked): State<Arc<AtomicUsize>>, uri: Uri) -> (StatusCode, String) {
    let (status, body) = ANSWERS[asked.fetch_add(1, Ordering::Relaxed)];
    let body = body.map_or_else(|| format!("cannot POST {uri}"), str::to_owned);
    (StatusCode::from_u16(status).unwrap(), body)
}

// The only test in this file that logs: a second one on another thread would switch off what this one captures.
#[tokio::test]
async fn the_address_is_in_no_log_line_no_answer_and_no_debug_output() {
    let log = Log::default();
    let _capturing = log.capture();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let app = axum::Router::new().fallback(talkative).with_state(asked.clone());
    let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });

    let (announcement, here) = at_night().next().unwrap();
    let mut said = String::new();
    let mut tell = async |url: String| {
        let webhook = Webhook::parse(&url).unwrap().unwrap();
        let secrets = Arc::new(Secrets::new(None, None));
        let slack = Slack::new(webhook.clone(), here.clone(), secrets, &Roots::default()).unwrap();
        let told = slack.tell(&announcement).await;
        said.push_str(&format!("{webhook} {webhook:?} {slack:?} {slack:#?} {told:?}\n"));
        told
    };
    let mut told = Vec::new();
    for _ in 0..5 {
        told.push(tell(format!("http://{address}{PATH}")).await);
    }
    // A handshake with what speaks no TLS, and with nobody.
    told.push(tell(format!("https://{address}{PATH}")).await);
    serving.abort();
    let _ = serving.await;
    told.push(tell(format!("https://{address}{PATH}")).await);
    told.push(tell(format!("http://{address}{PATH}")).await);

    assert_eq!(asked.load(Ordering::Relaxed), ANSWERS.len());
    let short: Vec<_> = told
        .iter()
        .map(|told| match told {
            Told::Sent => "sent",
            Told::Later { .. } => "later",
            Told::Never(_) => "never",
        })
        .collect();
    assert_eq!(
        short,
        ["sent", "never", "later", "never", "never", "later", "later", "later"]
    );
    let log = log.text();
    assert!(
        log.contains("told Slack") && log.contains("sending it as plain text"),
        "{log}"
    );
    for text in [said, log] {
        for part in ["SECRET", "/services", "http://", "https://"] {
            assert!(!text.contains(part), "{part} in {text}");
        }
    }
}
