//! Secrets by reference, as the channel and the `http` target use them: read once, and again where they were refused.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use matsu_wait::aws::Aws;
use matsu_wait::notify::{Announcement, Notify, Slack, Told, Webhook};
use matsu_wait::secret::Secrets;
use matsu_wait::target::http::{Allow, Reach};
use matsu_wait::target::{Here, Look, Seen, Target, Targets};
use matsu_wait::wait::{Extra, Outcome, OutcomeKind};
use matsu_wait::web::Roots;
use serde_json::{Value, json};

use super::scripted::{Answer, Server, answer, clients, keys};

const DECRYPT: &str = "TrentService.Decrypt";
const PARAMETER: &str = "AmazonSSM.GetParameter";
const SECRET: &str = "secretsmanager.GetSecretValue";

/// A host that answers by a script, 200 when that is over, and keeps what it was asked.
struct Host {
    script: Arc<Mutex<VecDeque<(u16, &'static str)>>>,
    got: Arc<Mutex<Vec<String>>>,
    url: String,
}

type Shared = (Arc<Mutex<VecDeque<(u16, &'static str)>>>, Arc<Mutex<Vec<String>>>);

impl Host {
    async fn new(script: impl IntoIterator<Item = (u16, &'static str)>) -> Self {
        let script = Arc::new(Mutex::new(script.into_iter().collect()));
        let got = Arc::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new()
            .fallback(serve)
            .with_state((Arc::clone(&script), Arc::clone(&got)));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { script, got, url }
    }

    /// Paths of the requests so far, with the value of Authorization where there is one.
    fn got(&self) -> Vec<String> {
        self.got.lock().unwrap().clone()
    }

    fn then(&self, status: u16, body: &'static str) {
        self.script.lock().unwrap().push_back((status, body));
    }
}

async fn serve(State((script, got)): State<Shared>, request: Request) -> (StatusCode, &'static str) {
    let header = request
        .headers()
        .get("authorization")
        .map_or("", |value| value.to_str().unwrap());
    got.lock()
        .unwrap()
        .push(format!("{} {header}", request.uri().path()).trim().to_owned());
    let (status, body) = script.lock().unwrap().pop_front().unwrap_or((200, "ok"));
    (StatusCode::from_u16(status).unwrap(), body)
}

fn done() -> Announcement {
    Announcement {
        wait: "w1".to_owned(),
        target: Target::parse("s3://bucket/key", None, &Here::default()).unwrap(),
        outcome: Outcome {
            kind: OutcomeKind::Completed,
            limit: None,
            reason: "it exists".to_owned(),
            at: "2026-01-15T03:04:05Z".parse().unwrap(),
            extra: Extra::new(),
        },
        passes: 3,
        started_at: "2026-01-15T03:00:00Z".parse().unwrap(),
        status: None,
    }
}

fn slack(webhook: &str, aws: Option<Arc<Aws>>, function: Option<&str>) -> Slack {
    let webhook = Webhook::parse(webhook).unwrap().unwrap();
    let secrets = Arc::new(Secrets::new(aws, function.map(str::to_owned)));
    Slack::new(webhook, Here::default(), secrets, &Roots::default()).unwrap()
}

fn decrypted(text: &str) -> Answer {
    answer(
        DECRYPT,
        200,
        json!({"KeyId": "key-1", "Plaintext": STANDARD.encode(text)}).to_string(),
    )
}

fn parameter(value: &str) -> Answer {
    answer(
        PARAMETER,
        200,
        json!({"Parameter": {"Name": "/hook", "Type": "SecureString", "Value": value}}).to_string(),
    )
}

fn secret(text: &str) -> Answer {
    answer(SECRET, 200, json!({"Name": "hook", "SecretString": text}).to_string())
}

fn refused(to: &'static str, status: u16, code: &str, message: &str) -> Answer {
    answer(to, status, json!({"__type": code, "message": message}).to_string())
}

fn never(told: Told) -> String {
    match told {
        Told::Never(why) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_ciphertext_of_the_lambda_console_is_decrypted_with_the_functions_name() {
    let host = Host::new([]).await;
    let with = format!("{}/with\n", host.url);
    for (function, answers, decrypts) in [
        (
            Some("waiter"),
            vec![
                decrypted(&with).having("\"EncryptionContext\":{\"LambdaFunctionName\":\"waiter\"}"),
                refused(DECRYPT, 400, "InvalidCiphertextException", ""),
            ],
            1,
        ),
        (
            Some("waiter"),
            vec![
                refused(DECRYPT, 400, "InvalidCiphertextException", "").having("EncryptionContext"),
                decrypted(&with),
            ],
            2,
        ),
        (None, vec![decrypted(&with)], 1),
    ] {
        let kms = Server::new(answers).await;
        let slack = slack("kms:AQICAHhexamplebase64==", Some(kms.aws("eu-west-1")), function);
        assert_eq!(slack.tell(&done()).await, Told::Sent);
        assert_eq!(slack.tell(&done()).await, Told::Sent);
        assert_eq!(kms.asked(DECRYPT).len(), decrypts, "read once for both");
    }
    assert_eq!(host.got(), ["/with"; 6]);
}

#[tokio::test]
async fn parameters_and_secrets_are_read_in_their_own_region_and_decrypted() {
    let host = Host::new([]).await;
    let url = format!("{}/x", host.url);
    let in_json = json!({"url": url, "other": 1}).to_string();
    for (webhook, aws_answer, to, region, has) in [
        (
            "ssm:/hook",
            parameter(&url),
            PARAMETER,
            "eu-west-1",
            "\"WithDecryption\":true",
        ),
        (
            "ssm:arn:aws:ssm:us-east-2:123456789012:parameter/hook",
            parameter(&url),
            PARAMETER,
            "us-east-2",
            "parameter/hook",
        ),
        (
            "secretsmanager:hook",
            secret(&format!(" {url}\r\n")),
            SECRET,
            "eu-west-1",
            "\"SecretId\":\"hook\"",
        ),
        (
            "secretsmanager:hook#url",
            secret(&in_json),
            SECRET,
            "eu-west-1",
            "\"SecretId\":\"hook\"",
        ),
        (
            "secretsmanager:arn:aws:secretsmanager:us-east-2:123456789012:secret:hook-AbCdEf#url",
            secret(&in_json),
            SECRET,
            "us-east-2",
            "hook-AbCdEf\"",
        ),
    ] {
        let server = Server::new([aws_answer]).await;
        let slack = slack(webhook, Some(server.aws("eu-west-1")), None);
        assert_eq!(slack.tell(&done()).await, Told::Sent, "{webhook}");
        let asked = server.asked(to);
        assert_eq!((asked.len(), asked[0].region.as_str()), (1, region), "{webhook}");
        assert!(asked[0].body.contains(has), "{:?}", asked[0]);
    }
}

#[tokio::test]
async fn many_that_need_a_secret_at_once_read_it_once() {
    let host = Host::new([]).await;
    let server = Server::new([parameter(&host.url)]).await;
    let slack = slack("ssm:/hook", Some(server.aws("eu-west-1")), None);
    let outcome = done();
    let told = futures::future::join_all((0..20).map(|_| slack.tell(&outcome))).await;
    assert_eq!(told, vec![Told::Sent; 20]);
    assert_eq!((server.asked(PARAMETER).len(), host.got().len()), (1, 20));
}

#[tokio::test]
async fn a_secret_that_must_not_be_read_is_never_with_the_action_named_and_tried_again_at_the_next_need() {
    for (webhook, to, status, code, says) in [
        ("kms:AQID", DECRYPT, 400, "AccessDeniedException", "allow kms:Decrypt"),
        (
            "kms:AQID",
            DECRYPT,
            400,
            "DisabledException",
            "enable its key, and allow kms:Decrypt",
        ),
        ("kms:AQID", DECRYPT, 400, "KMSInvalidStateException", "enable its key"),
        ("kms:AQID", DECRYPT, 400, "NotFoundException", "a key of another region"),
        (
            "kms:AQID",
            DECRYPT,
            400,
            "InvalidCiphertextException",
            "for another context",
        ),
        (
            "ssm:/hook",
            PARAMETER,
            400,
            "AccessDeniedException",
            "allow ssm:GetParameter",
        ),
        ("ssm:/hook", PARAMETER, 400, "ParameterNotFound", "ssm:GetParameter"),
        (
            "secretsmanager:hook",
            SECRET,
            400,
            "AccessDeniedException",
            "allow secretsmanager:GetSecretValue",
        ),
        (
            "secretsmanager:hook",
            SECRET,
            400,
            "ResourceNotFoundException",
            "secretsmanager:GetSecretValue",
        ),
        (
            "secretsmanager:hook",
            SECRET,
            400,
            "InvalidRequestException",
            "secretsmanager:GetSecretValue",
        ),
    ] {
        let host = Host::new([]).await;
        let healed = match to {
            DECRYPT => decrypted(&host.url),
            PARAMETER => parameter(&host.url),
            _ => secret(&host.url),
        };
        let server = Server::new([refused(to, status, code, "no").once(), healed]).await;
        let slack = slack(webhook, Some(server.aws("eu-west-1")), None);
        let why = never(slack.tell(&done()).await);
        assert!(why.contains(says) && why.contains(code), "{why}");
        assert!(!why.contains("AQID"), "{why}");
        assert!(host.got().is_empty());
        assert_eq!(slack.tell(&done()).await, Told::Sent, "{webhook} after {code}");
    }
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_just_now_is_for_later() {
    for (webhook, to) in [
        ("kms:AQID", DECRYPT),
        ("ssm:/hook", PARAMETER),
        ("secretsmanager:hook", SECRET),
    ] {
        for silence in [
            refused(to, 400, "ThrottlingException", "Rate exceeded"),
            refused(to, 500, "InternalFailure", ""),
            refused(to, 400, "ExpiredTokenException", "expired"),
            answer(to, 503, "<html>"),
            answer(to, 403, "<html>Forbidden by the proxy</html>"),
            answer(to, 200, "").stalled(),
        ] {
            let server = Server::new([silence]).await;
            let told = slack(webhook, Some(server.aws("eu-west-1")), None).tell(&done()).await;
            assert!(matches!(&told, Told::Later { after: None, .. }), "{webhook}: {told:?}");
        }
    }
    let deserted = clients("eu-west-1", "http://127.0.0.1:9", keys());
    let told = slack("ssm:/hook", Some(deserted), None).tell(&done()).await;
    assert!(matches!(told, Told::Later { .. }), "{told:?}");
    let why = never(slack("ssm:/hook", None, None).tell(&done()).await);
    assert!(why.contains("nothing here is set up for AWS"), "{why}");
}

#[tokio::test]
async fn what_is_no_webhook_behind_a_reference_is_told_apart_never_posted_to_and_never_shown() {
    for (aws_answer, webhook, says) in [
        (
            decrypted("AQICAHhexamplebase64AAAAAAAAAAAAAA=="),
            "kms:AQID",
            "perhaps encrypted twice",
        ),
        (
            decrypted("aHR0cDovLzEyNy4wLjAuMS9TRUNSRVRUT0tFTg=="),
            "kms:AQID",
            "base64 of one",
        ),
        (
            decrypted("hooks.slack.test/SECRETTOKEN"),
            "kms:AQID",
            "does not hold an https URL",
        ),
        (
            decrypted("http://hooks.slack.test/SECRETTOKEN"),
            "kms:AQID",
            "does not hold an https URL",
        ),
        (decrypted(" \n"), "kms:AQID", "is empty"),
        (
            answer(
                DECRYPT,
                200,
                json!({"Plaintext": STANDARD.encode([0xff, 0xfe])}).to_string(),
            ),
            "kms:AQID",
            "decrypts to no text",
        ),
        (
            parameter("SECRETTOKEN"),
            "ssm:/hook",
            "ssm:/hook does not hold an https URL",
        ),
        (
            secret("{\"url\":\"SECRETTOKEN\"}"),
            "secretsmanager:hook",
            "does not hold an https URL",
        ),
        (
            secret("{\"url\":\"SECRETTOKEN\"}"),
            "secretsmanager:hook#uri",
            "it takes ID#FIELD",
        ),
        (secret("SECRETTOKEN"), "secretsmanager:hook#url", "it takes ID#FIELD"),
        (
            secret("{\"url\":{\"a\":\"SECRETTOKEN\"}}"),
            "secretsmanager:hook#url",
            "it takes ID#FIELD",
        ),
        (
            answer(SECRET, 200, "{\"SecretBinary\":\"AQID\"}"),
            "secretsmanager:hook",
            "it takes a text",
        ),
    ] {
        let server = Server::new([aws_answer]).await;
        let slack = slack(webhook, Some(server.aws("eu-west-1")), None);
        let why = never(slack.tell(&done()).await);
        assert!(why.contains(says), "{why}");
        for secret in ["SECRET", "slack.test", "AQID", "AQICAH", "aHR0c"] {
            assert!(!why.contains(secret), "{why}");
        }
        assert!(!format!("{slack:?}").contains("SECRET"));
    }
}

#[tokio::test]
async fn a_webhook_that_was_rotated_is_read_again_and_posted_to() {
    for (status, words) in [
        (404, "no_service"),
        (403, "invalid_token"),
        (410, "channel_is_archived"),
        (401, ""),
    ] {
        let host = Host::new([]).await;
        let (old, new) = (format!("{}/old", host.url), format!("{}/new", host.url));
        let server = Server::new([parameter(&old).once(), parameter(&new)]).await;
        let slack = slack("ssm:/hook", Some(server.aws("eu-west-1")), None);
        host.then(status, words);
        assert_eq!(slack.tell(&done()).await, Told::Sent, "{status} {words}");
        assert_eq!(slack.tell(&done()).await, Told::Sent);
        assert_eq!(host.got(), ["/old", "/new", "/new"]);
        assert_eq!(server.asked(PARAMETER).len(), 2);
    }
}

#[tokio::test]
async fn a_refusal_that_no_rotation_explains_stays_one() {
    let host = Host::new([]).await;
    // The same as before, another key's ciphertext cannot be, and a form that is refused is no matter of the address.
    for (webhook, answers, status, words, reads) in [
        ("ssm:/hook", vec![parameter(&host.url)], 404, "no_service", 2),
        ("kms:AQID", vec![decrypted(&host.url)], 404, "no_service", 1),
        ("ssm:/hook", vec![parameter(&host.url)], 400, "invalid_token", 1),
        (
            "ssm:/hook",
            vec![
                parameter(&host.url).once(),
                refused(PARAMETER, 400, "AccessDeniedException", "no"),
            ],
            404,
            "no_service",
            2,
        ),
    ] {
        let server = Server::new(answers).await;
        let slack = slack(webhook, Some(server.aws("eu-west-1")), None);
        host.then(status, words);
        let why = never(slack.tell(&done()).await);
        assert!(
            why.starts_with(&format!("the webhook answered {status} {words}")),
            "{why}"
        );
        assert_eq!(server.asked("POST").len(), reads, "{webhook} after {status}");
    }
    let server = Server::new([
        parameter(&host.url).once(),
        refused(PARAMETER, 400, "ThrottlingException", "Rate exceeded"),
    ])
    .await;
    host.then(404, "no_service");
    let told = slack("ssm:/hook", Some(server.aws("eu-west-1")), None)
        .tell(&done())
        .await;
    assert!(
        matches!(told, Told::Later { .. }),
        "nobody knows whether it was rotated: {told:?}"
    );
}

fn http(host: &Host, headers: &Value) -> Target {
    let whole = json!({"kind": "http", "url": format!("{}/job", host.url), "headers": headers});
    Target::from_value(&whole, None, &Here::default()).unwrap()
}

fn targets(server: &Server) -> Targets {
    let secrets = Arc::new(Secrets::new(Some(server.aws("eu-west-1")), None));
    let reach = Reach::new(Allow::parse("127.0.0.1").unwrap(), Roots::default(), secrets);
    Targets::new(None, Here::default()).reaching(reach)
}

#[tokio::test]
async fn a_header_by_reference_is_read_once_and_again_where_the_host_refuses_it() {
    let host = Host::new([(200, "ok"), (200, "ok"), (401, ""), (200, "ok")]).await;
    let server = Server::new([secret("Bearer old").once(), secret("Bearer new")]).await;
    let targets = targets(&server);
    let target = http(&host, &json!({"Authorization": "secretsmanager:token"}));
    for reads in [1, 1, 2] {
        assert!(matches!(targets.look(&target).await, Seen::Satisfied(_)));
        assert_eq!(server.asked(SECRET).len(), reads);
    }
    assert_eq!(
        host.got(),
        [
            "/job Bearer old",
            "/job Bearer old",
            "/job Bearer old",
            "/job Bearer new"
        ]
    );
}

#[tokio::test]
async fn a_header_that_is_refused_and_has_not_changed_is_denied_after_one_request() {
    let host = Host::new([(403, ""), (403, "")]).await;
    let server = Server::new([secret("Bearer SECRETTOKEN")]).await;
    let target = http(&host, &json!({"Authorization": "secretsmanager:token"}));
    let seen = targets(&server).look(&target).await;
    assert!(
        matches!(seen, Seen::Denied(_)) && !format!("{seen:?}").contains("SECRETTOKEN"),
        "{seen:?}"
    );
    assert_eq!(host.got().len(), 1);
}

#[tokio::test]
async fn a_header_whose_secret_cannot_be_read_sends_nothing() {
    let host = Host::new([]).await;
    for (aws_answer, denied) in [
        (refused(SECRET, 400, "AccessDeniedException", "no"), true),
        (refused(SECRET, 400, "ThrottlingException", "Rate exceeded"), false),
        (secret("two\nlines of SECRETTOKEN"), true),
    ] {
        let server = Server::new([aws_answer]).await;
        let seen = targets(&server)
            .look(&http(&host, &json!({"X-Key": "secretsmanager:token"})))
            .await;
        let (Seen::Denied(why) | Seen::Unknown(why)) = &seen else {
            panic!("{seen:?}");
        };
        assert_eq!(matches!(seen, Seen::Denied(_)), denied, "{seen:?}");
        assert!(why.contains("header x-key") && !why.contains("SECRETTOKEN"), "{why}");
    }
    assert!(host.got().is_empty());
}
