mod script;

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::future;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{BehaviorVersion, Builder, Config, Credentials, ProvideCredentials, Region};
use jiff::Timestamp;

use super::*;
use crate::{HandClock, Listed, SeededRandom};
use script::{Asked, Script, Step};

const ETAG: &str = "\"0123456789abcdef0123456789abcdef\"";

fn config(script: &Script) -> Builder {
    Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("AKIDEXAMPLE", "secret", None, None, "test"))
        .endpoint_url(format!("http://{}", script.address))
        .force_path_style(true)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
}

fn attempts(most: u32) -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(most)
        .with_initial_backoff(Duration::from_millis(1))
}

fn store_with(config: Builder, prefix: &str, encryption: Option<Encryption>) -> S3Store {
    let clock = Arc::new(HandClock::new(Timestamp::UNIX_EPOCH));
    let random = Arc::new(SeededRandom::new(1));
    S3Store::new(
        Client::from_conf(config.build()),
        "bucket",
        prefix,
        encryption,
        clock,
        random,
    )
}

/// A store over a server that takes these steps, whose client makes one attempt.
async fn scripted(steps: impl IntoIterator<Item = Step>) -> (Script, S3Store) {
    let script = Script::new(steps).await;
    let store = store_with(config(&script), "matsu", None);
    (script, store)
}

/// The same, but the client makes up to three attempts.
async fn persistent(steps: impl IntoIterator<Item = Step>) -> (Script, S3Store) {
    let script = Script::new(steps).await;
    let store = store_with(config(&script).retry_config(attempts(3)), "matsu", None);
    (script, store)
}

fn body() -> Vec<u8> {
    br#"{"put":"5f2c"}"#.to_vec()
}

fn conflict() -> Step {
    Step::error(
        409,
        "ConditionalRequestConflict",
        "A conflicting conditional operation is currently in progress",
    )
}

fn precondition_failed() -> Step {
    Step::error(
        412,
        "PreconditionFailed",
        "At least one of the pre-conditions you specified did not hold",
    )
}

fn no_such_key() -> Step {
    Step::error(404, "NoSuchKey", "The specified key does not exist.")
}

fn written() -> Write {
    Write::Written {
        token: Token::new(ETAG),
        date: None,
    }
}

/// What is said of an unknown write.
fn unknown(answer: Result<Write, StoreError>) -> String {
    match answer {
        Ok(Write::Unknown(text)) => text,
        other => panic!("nobody can know what came of it, but the answer is {other:?}"),
    }
}

fn unusable<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Err(StoreError::Unusable(text)) => text,
        other => panic!("something is set up wrongly, but the answer is {other:?}"),
    }
}

fn unavailable<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Err(StoreError::Unavailable(text)) => text,
        other => panic!("there is no answer now, but maybe later; yet the answer is {other:?}"),
    }
}

fn denied<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> (&'static str, String) {
    match answer {
        Err(StoreError::Denied { action, message }) => (action, message),
        other => panic!("it was denied, but the answer is {other:?}"),
    }
}

mod writes {
    use super::*;

    #[tokio::test]
    async fn every_put_carries_its_condition_and_a_checksum() {
        let (script, store) = scripted([Step::written(ETAG)]).await;
        assert_eq!(store.create("waits/a.json", body()).await.unwrap(), written());
        assert_eq!(
            store.replace("waits/a.json", &Token::new(ETAG), body()).await.unwrap(),
            written()
        );
        let asked = script.asked();
        let [create, replace] = asked.as_slice() else {
            panic!("two PUTs: {asked:?}")
        };
        assert_eq!(
            (create.header("if-none-match"), create.header("if-match")),
            (Some("*"), None)
        );
        assert_eq!(
            (replace.header("if-none-match"), replace.header("if-match")),
            (None, Some(ETAG))
        );
        for put in [create, replace] {
            assert!(put.line.starts_with("PUT /bucket/matsu/waits/a.json"), "{}", put.line);
            assert!(put.header("x-amz-checksum-crc32").is_some(), "{put:?}");
            assert_eq!(put.header("x-amz-server-side-encryption"), None);
            assert_eq!(put.body, body());
        }
    }

    #[tokio::test]
    async fn every_put_carries_the_configured_encryption() {
        let script = Script::new([conflict(), Step::written(ETAG)]).await;
        let key = "arn:aws:kms:eu-central-1:123456789012:key/k1";
        for encryption in [Encryption::S3, Encryption::Kms(key.to_owned())] {
            let store = store_with(config(&script), "matsu", Some(encryption));
            store.create("a", body()).await.unwrap();
            store.replace("a", &Token::new(ETAG), body()).await.unwrap();
        }
        let asked = script.asked();
        let told = |put: &Asked| {
            let header = |name| put.header(name).map(str::to_owned);
            (
                header("x-amz-server-side-encryption"),
                header("x-amz-server-side-encryption-aws-kms-key-id"),
            )
        };
        let (s3, kms) = asked.split_at(3);
        assert!(
            s3.iter().all(|put| told(put) == (Some("AES256".to_owned()), None)),
            "{s3:?}"
        );
        assert_eq!(kms.len(), 2);
        assert!(
            kms.iter()
                .all(|put| told(put) == (Some("aws:kms".to_owned()), Some(key.to_owned()))),
            "{kms:?}"
        );
    }

    #[tokio::test]
    async fn the_stores_date_is_told_with_what_it_wrote() {
        let (_script, store) = scripted([Step::written(ETAG).with("date", "Thu, 15 Jan 2026 03:04:05 GMT")]).await;
        let date: Timestamp = "2026-01-15T03:04:05Z".parse().unwrap();
        let expected = Write::Written {
            token: Token::new(ETAG),
            date: Some(date),
        };
        assert_eq!(store.create("a", body()).await.unwrap(), expected);
    }

    #[tokio::test]
    async fn a_condition_that_does_not_hold_is_refused() {
        let (script, store) = persistent([precondition_failed()]).await;
        assert_eq!(store.create("a", body()).await.unwrap(), Write::Refused);
        assert_eq!(
            store.replace("a", &Token::new("\"old\""), body()).await.unwrap(),
            Write::Refused
        );
        assert_eq!(script.asked().len(), 2, "a refusal is not tried again");
    }

    #[tokio::test]
    async fn replacing_what_is_absent_is_refused() {
        let (_script, store) = persistent([no_such_key()]).await;
        assert_eq!(
            store.replace("a", &Token::new(ETAG), body()).await.unwrap(),
            Write::Refused
        );
    }

    #[tokio::test]
    async fn a_404_that_is_not_about_the_key_is_no_refusal() {
        let (_script, store) = persistent([Step::xml(404, "<html/>")]).await;
        unusable(store.replace("a", &Token::new(ETAG), body()).await);
        let (_script, store) =
            persistent([Step::error(404, "NoSuchBucket", "The specified bucket does not exist")]).await;
        let text = unusable(store.replace("a", &Token::new(ETAG), body()).await);
        assert!(text.contains("there is no such bucket: s3://bucket/matsu/a"), "{text}");
    }

    #[tokio::test]
    async fn a_conflict_is_tried_again() {
        let (script, store) = persistent([conflict(), Step::written(ETAG)]).await;
        assert_eq!(store.create("a", body()).await.unwrap(), written());
        let asked = script.asked();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].body, asked[1].body, "the same PUT");
        assert!(asked.iter().all(|put| put.header("if-none-match") == Some("*")));
    }

    #[tokio::test]
    async fn a_conflict_that_another_won_is_refused() {
        let aborted = Step::error(
            409,
            "OperationAborted",
            "A conflicting conditional operation is in progress",
        );
        let (script, store) = persistent([aborted, precondition_failed()]).await;
        assert_eq!(store.create("a", body()).await.unwrap(), Write::Refused);
        assert_eq!(script.asked().len(), 2);
    }

    #[tokio::test]
    async fn a_conflict_that_goes_on_is_unknown_after_a_few_tries() {
        let script = Script::new([conflict()]).await;
        let clock = Arc::new(HandClock::new(Timestamp::UNIX_EPOCH));
        let random = Arc::new(SeededRandom::new(1));
        let client = Client::from_conf(config(&script).build());
        let store = S3Store::new(client, "bucket", "matsu", None, clock.clone(), random);
        let text = unknown(store.replace("a", &Token::new(ETAG), body()).await);
        assert!(text.contains("ConditionalRequestConflict"), "{text}");
        assert_eq!(script.asked().len(), CONFLICT_TRIES as usize);
        let waited = clock.elapsed();
        assert!((CONFLICT_WAIT * 7..=CONFLICT_WAIT * 14).contains(&waited), "{waited:?}");
    }

    #[tokio::test]
    async fn a_refusal_after_an_attempt_that_may_have_been_written_is_unknown() {
        for first in [
            Step::error(503, "SlowDown", "Reduce your request rate"),
            Step::error(500, "InternalError", ""),
            Step::Cut,
        ] {
            for second in [precondition_failed(), no_such_key(), conflict()] {
                let (script, store) = persistent([first.clone(), second]).await;
                let text = unknown(store.replace("a", &Token::new(ETAG), body()).await);
                assert!(text.contains("the last of 2 attempts"), "{text}");
                assert_eq!(script.asked().len(), 2);
            }
        }
    }

    #[tokio::test]
    async fn an_error_after_an_attempt_that_may_have_been_written_is_unknown() {
        let ends = [
            (403, "AccessDenied"),
            (400, "InvalidRequest"),
            (404, "NoSuchBucket"),
            (501, "NotImplemented"),
        ];
        for (status, code) in ends {
            let (_script, store) = persistent([Step::Cut, Step::error(status, code, "example")]).await;
            let text = unknown(store.create("a", body()).await);
            assert!(text.contains(code), "{text}");
        }
    }

    #[tokio::test]
    async fn a_success_after_attempts_without_answer_is_written() {
        let (script, store) = persistent([Step::Cut, Step::error(503, "SlowDown", ""), Step::written(ETAG)]).await;
        assert_eq!(store.create("a", body()).await.unwrap(), written());
        assert_eq!(script.asked().len(), 3);
    }

    #[tokio::test]
    async fn a_cut_connection_is_unknown() {
        let (_script, store) = scripted([Step::Cut]).await;
        unknown(store.create("a", body()).await);
    }

    #[tokio::test]
    async fn no_answer_in_time_is_unknown() {
        let script = Script::new([Step::Hang]).await;
        let limit = TimeoutConfig::builder()
            .operation_timeout(Duration::from_millis(200))
            .build();
        let store = store_with(config(&script).timeout_config(limit), "matsu", None);
        let text = unknown(store.create("a", body()).await);
        assert!(text.contains("timed out") || text.contains("timeout"), "{text}");
        assert_eq!(script.asked().len(), 1);
    }

    #[tokio::test]
    async fn answers_that_say_nothing_of_the_write_are_unknown() {
        let answers = [
            Step::error(500, "InternalError", "We encountered an internal error"),
            Step::error(502, "BadGateway", ""),
            Step::xml(503, "<html/>"),
            Step::error(504, "GatewayTimeout", ""),
            Step::error(429, "TooManyRequests", ""),
            Step::error(
                400,
                "RequestTimeout",
                "Your socket connection to the server was not read from in time",
            ),
            Step::Answer {
                status: 200,
                headers: Vec::new(),
                body: Vec::new(),
            },
        ];
        for answer in answers {
            let (_script, store) = scripted([answer]).await;
            unknown(store.create("a", body()).await);
        }
    }

    #[tokio::test]
    async fn a_store_without_conditional_writes_is_unusable() {
        let answers = [
            Step::error(
                501,
                "NotImplemented",
                "A header you provided implies functionality that is not implemented",
            ),
            Step::error(400, "InvalidArgument", "If-None-Match is not accepted here"),
            Step::error(400, "NotImplemented", "Conditional PUT"),
        ];
        for answer in answers {
            let (_script, store) = persistent([answer]).await;
            let text = unusable(store.create("a", body()).await);
            assert!(
                text.contains("conditional writes are not supported by this store"),
                "{text}"
            );
        }
    }

    #[tokio::test]
    async fn a_denied_write_names_the_permission_that_it_needs() {
        let deny = "User is not authorized to perform: s3:PutObject with an explicit deny in a resource-based policy";
        let (_script, store) = persistent([Step::error(403, "AccessDenied", deny)]).await;
        let (action, message) = denied(store.create("a", body()).await);
        assert_eq!(action, "s3:PutObject");
        assert!(
            message.contains(deny) && message.contains("s3://bucket/matsu/a"),
            "{message}"
        );

        let deny = "User: u is not authorized to perform: kms:GenerateDataKey on resource: k";
        let (_script, store) = persistent([Step::error(403, "AccessDenied", deny)]).await;
        assert_eq!(denied(store.create("a", body()).await).0, "kms:GenerateDataKey");
    }

    #[tokio::test]
    async fn a_bucket_that_wants_more_than_it_was_given_is_unusable_in_its_own_words() {
        let message = "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock";
        let (_script, store) = persistent([Step::error(400, "InvalidRequest", message)]).await;
        let text = unusable(store.create("a", body()).await);
        assert!(text.contains(message), "{text}");
    }

    #[tokio::test]
    async fn another_region_is_named() {
        let moved = Step::error(
            301,
            "PermanentRedirect",
            "The bucket must be addressed using the specified endpoint",
        );
        let malformed = Step::error(
            400,
            "AuthorizationHeaderMalformed",
            "the region 'eu-central-1' is wrong",
        );
        for answer in [moved, malformed] {
            let (_script, store) = persistent([answer.with("x-amz-bucket-region", "ap-northeast-1")]).await;
            let text = unusable(store.create("a", body()).await);
            assert!(text.contains("the bucket is in the region ap-northeast-1"), "{text}");
        }
        let (_script, store) = scripted([Step::error(301, "PermanentRedirect", "")]).await;
        let text = unusable(store.create("a", body()).await);
        assert!(text.contains("the bucket is in another region"), "{text}");
    }

    #[tokio::test]
    async fn a_bucket_that_is_not_known_everywhere_yet_may_be_asked_again() {
        let (_script, store) = scripted([Step::error(307, "TemporaryRedirect", "")]).await;
        unavailable(store.create("a", body()).await);
        unavailable(store.get("a").await);
    }

    #[tokio::test]
    async fn an_absence_that_creating_is_answered_with_is_neither_written_nor_refused() {
        let (_script, store) = scripted([no_such_key()]).await;
        unusable(store.create("a", body()).await);
    }

    #[tokio::test]
    async fn a_clock_too_far_off_is_a_passing_fault() {
        let skewed = Step::error(
            403,
            "RequestTimeTooSkewed",
            "The difference between the request time and the current time",
        );
        let (script, store) = scripted([skewed.clone()]).await;
        let text = unavailable(store.create("a", body()).await);
        assert!(text.contains("clock is too far off"), "{text}");
        assert_eq!(script.asked().len(), 1);

        let skewed = skewed.with("date", "Thu, 15 Jan 2026 03:20:05 GMT");
        let (_script, store) = persistent([skewed, Step::written(ETAG)]).await;
        assert_eq!(
            store.create("a", body()).await.unwrap(),
            written(),
            "the client corrects its clock"
        );
    }

    #[tokio::test]
    async fn expired_credentials_are_a_passing_fault_and_wrong_ones_are_not() {
        let (_script, store) = scripted([Step::error(400, "ExpiredToken", "The provided token has expired.")]).await;
        let text = unavailable(store.create("a", body()).await);
        assert!(text.contains("log in again"), "{text}");
        let (_script, store) = scripted([Step::error(403, "InvalidAccessKeyId", "The key does not exist")]).await;
        let text = unusable(store.create("a", body()).await);
        assert!(text.contains("the credentials were not accepted"), "{text}");
    }

    #[tokio::test]
    async fn without_credentials_nothing_is_sent_and_it_is_told_whether_to_set_them_or_to_wait() {
        let script = Script::new([Step::written(ETAG)]).await;
        let missing = NoCredentials(|| CredentialsError::not_loaded("no profile"));
        let store = store_with(config(&script).credentials_provider(missing), "matsu", None);
        let text = unusable(store.create("a", body()).await);
        assert!(text.contains("no profile"), "{text}");
        unusable(store.get("a").await);

        let down = NoCredentials(|| CredentialsError::provider_error("metadata service is down"));
        let store = store_with(config(&script).credentials_provider(down), "matsu", None);
        let text = unavailable(store.create("a", body()).await);
        assert!(text.contains("metadata service is down"), "{text}");
        assert!(script.asked().is_empty());
    }

    #[tokio::test]
    async fn a_key_of_any_characters_arrives_whole() {
        let (script, store) = scripted([Step::written(ETAG)]).await;
        for key in ["../../x", "a//b/", "a b+c%20d", "待つ?q=1#f"] {
            store.create(key, body()).await.unwrap();
        }
        let lines: Vec<String> = script.asked().into_iter().map(|put| put.line).collect();
        let expected = [
            "PUT /bucket/matsu/../../x?x-id=PutObject",
            "PUT /bucket/matsu/a//b/?x-id=PutObject",
            "PUT /bucket/matsu/a%20b%2Bc%2520d?x-id=PutObject",
            "PUT /bucket/matsu/%E5%BE%85%E3%81%A4%3Fq%3D1%23f?x-id=PutObject",
        ];
        assert_eq!(lines, expected);
    }

    #[tokio::test]
    async fn a_key_that_is_too_long_with_its_prefix_is_refused_before_any_request() {
        let (script, store) = scripted([Step::written(ETAG)]).await;
        let longest = "つ".repeat(339) + "x";
        assert_eq!("matsu/".len() + longest.len(), LONGEST_KEY);
        store.create(&longest, body()).await.unwrap();
        let text = unusable(store.create(&(longest + "x"), body()).await);
        assert!(text.contains("at most 1024 bytes, this one has 1025"), "{text}");
        assert_eq!(script.asked().len(), 1);
    }

    #[tokio::test]
    async fn a_body_that_could_not_be_read_again_is_not_written() {
        let (script, store) = scripted([Step::written(ETAG)]).await;
        unusable(store.create("a", vec![b' '; LONGEST_BODY + 1]).await);
        assert!(script.asked().is_empty());
        assert_eq!(store.create("a", vec![b' '; LONGEST_BODY]).await.unwrap(), written());
    }
}

mod reads {
    use super::*;

    #[tokio::test]
    async fn a_body_comes_with_its_etag_and_the_stores_date() {
        let (script, store) = scripted([Step::body(ETAG, &body()).with("date", "Thu, 15 Jan 2026 03:04:05 GMT")]).await;
        let stored = store.get("waits/a.json").await.unwrap().unwrap();
        assert_eq!((stored.body, stored.token), (body(), Token::new(ETAG)));
        assert_eq!(stored.date, Some("2026-01-15T03:04:05Z".parse().unwrap()));
        assert!(script.asked()[0].line.starts_with("GET /bucket/matsu/waits/a.json"));
    }

    #[tokio::test]
    async fn only_a_key_that_does_not_exist_is_absent() {
        let (_script, store) = scripted([no_such_key()]).await;
        assert_eq!(store.get("a").await.unwrap(), None);
        let (_script, store) =
            scripted([Step::error(404, "NoSuchBucket", "The specified bucket does not exist")]).await;
        unusable(store.get("a").await);
        let (_script, store) = scripted([Step::xml(404, "<html/>")]).await;
        unusable(store.get("a").await);
    }

    #[tokio::test]
    async fn a_denied_read_proves_nothing() {
        let (_script, store) = scripted([Step::error(403, "AccessDenied", "Access Denied")]).await;
        assert_eq!(denied(store.get("a").await).0, "s3:GetObject");
        assert_eq!(denied(store.list("", None).await).0, "s3:ListBucket");
        let deny = "User: u is not authorized to perform: kms:Decrypt on resource: k";
        let (_script, store) = scripted([Step::error(403, "AccessDenied", deny)]).await;
        assert_eq!(denied(store.get("a").await).0, "kms:Decrypt");
    }

    #[tokio::test]
    async fn a_read_without_answer_is_no_absence() {
        let answers = [
            Step::Cut,
            Step::BreakOff,
            Step::xml(503, "<html/>"),
            Step::error(429, "SlowDown", ""),
        ];
        for answer in answers {
            let (_script, store) = scripted([answer]).await;
            unavailable(store.get("a").await);
        }
    }

    #[tokio::test]
    async fn a_body_that_is_too_long_is_not_read_into_memory() {
        let (_script, store) = scripted([Step::body(ETAG, &vec![b' '; LONGEST_BODY])]).await;
        assert_eq!(store.get("a").await.unwrap().unwrap().body.len(), LONGEST_BODY);
        let (_script, store) = scripted([Step::body(ETAG, &vec![b' '; LONGEST_BODY + 1])]).await;
        let text = unusable(store.get("a").await);
        assert!(text.contains("s3://bucket/matsu/a has more than"), "{text}");
    }

    #[tokio::test]
    async fn a_body_of_no_announced_length_is_read_up_to_the_same_bound() {
        let (_script, store) = scripted([Step::Unmeasured(LONGEST_BODY)]).await;
        assert_eq!(store.get("a").await.unwrap().unwrap().body.len(), LONGEST_BODY);
        let (_script, store) = scripted([Step::Unmeasured(LONGEST_BODY + 1)]).await;
        let text = unusable(store.get("a").await);
        assert!(text.contains("s3://bucket/matsu/a has more than"), "{text}");
    }

    #[tokio::test]
    async fn a_body_without_a_version_cannot_be_used() {
        let bare = Step::Answer {
            status: 200,
            headers: Vec::new(),
            body: body(),
        };
        let (_script, store) = scripted([bare]).await;
        let text = unusable(store.get("a").await);
        assert!(text.contains("has no ETag"), "{text}");
    }

    #[tokio::test]
    async fn a_request_that_cannot_even_be_made_is_set_up_wrongly() {
        let script = Script::new([no_such_key()]).await;
        let store = store_with(config(&script), "", None);
        unusable(store.get("").await);
        unusable(store.create("", body()).await);
        assert!(script.asked().is_empty());
    }
}

mod listings {
    use super::*;

    fn object(key: &str, size: u64) -> String {
        format!(
            "<Contents><Key>{key}</Key><LastModified>2026-01-15T03:04:05.678Z</LastModified>\
             <ETag>&quot;e-{size}&quot;</ETag><Size>{size}</Size></Contents>"
        )
    }

    fn page(objects: &[String], next: Option<&str>) -> Step {
        let next = next.map_or("<IsTruncated>false</IsTruncated>".to_owned(), |token| {
            format!("<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>")
        });
        Step::xml(
            200,
            &format!("<ListBucketResult>{next}{}</ListBucketResult>", objects.concat()),
        )
    }

    #[tokio::test]
    async fn a_listing_goes_on_where_the_page_before_ended_and_hides_the_stores_prefix() {
        let first = page(
            &[object("matsu/waits/a", 41), object("matsu/waits/a &amp; b%20", 42)],
            Some("t+1/="),
        );
        let (script, store) = scripted([first, page(&[object("matsu/waits/c", 43)], None)]).await;
        let first = store.list("waits/", None).await.unwrap();
        let second = store.list("waits/", first.next.as_deref()).await.unwrap();
        assert_eq!(second.next, None);

        let lines: Vec<Listed> = [first.entries, second.entries].concat();
        let seen: Vec<(&str, &str, bool)> = lines
            .iter()
            .map(|line| (line.key.as_str(), line.token.as_str(), line.open))
            .collect();
        let expected = [
            ("waits/a", "\"e-41\"", true),
            ("waits/a & b%20", "\"e-42\"", false),
            ("waits/c", "\"e-43\"", true),
        ];
        assert_eq!(seen, expected);
        assert_eq!(lines[0].written, "2026-01-15T03:04:05.678Z".parse().unwrap());

        let asked = script.asked();
        for query in ["list-type=2", "max-keys=1000", "prefix=matsu%2Fwaits%2F"] {
            assert!(asked.iter().all(|list| list.line.contains(query)), "{asked:?}");
        }
        assert!(!asked[0].line.contains("continuation-token"), "{}", asked[0].line);
        assert!(
            asked[1].line.contains("continuation-token=t%2B1%2F%3D"),
            "{}",
            asked[1].line
        );
    }

    #[tokio::test]
    async fn a_store_without_prefix_lists_whole_keys() {
        let script = Script::new([page(&[object("waits/a", 1)], None)]).await;
        let store = store_with(config(&script), "", None);
        assert_eq!(store.list("waits/", None).await.unwrap().entries[0].key, "waits/a");
    }

    #[tokio::test]
    async fn a_listing_that_makes_no_sense_is_refused_and_not_cut_short() {
        let endless = "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>".to_owned();
        let bare = "<ListBucketResult><Contents><Key>matsu/a</Key></Contents></ListBucketResult>".to_owned();
        let foreign = format!("<ListBucketResult>{}</ListBucketResult>", object("other/a", 1));
        for (answer, names) in [
            (endless, "does not say where"),
            (bare, "lacks keys, ETags, times or sizes"),
            (foreign, "a listing of matsu/ holds other/a"),
        ] {
            let (_script, store) = scripted([Step::xml(200, &answer)]).await;
            let text = unusable(store.list("", None).await);
            assert!(text.contains(names), "{text}");
        }
    }

    #[tokio::test]
    async fn a_listing_without_answer_is_not_an_empty_one() {
        for answer in [Step::Cut, Step::error(503, "SlowDown", "")] {
            let (_script, store) = scripted([answer]).await;
            unavailable(store.list("", None).await);
        }
        let (_script, store) = scripted([Step::error(404, "NoSuchBucket", "")]).await;
        unusable(store.list("", None).await);
    }
}

/// A provider that has nothing to give, for `0`.
#[derive(Debug)]
struct NoCredentials(fn() -> CredentialsError);

impl ProvideCredentials for NoCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::ready(Err((self.0)()))
    }
}
