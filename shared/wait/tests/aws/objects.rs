//! S3 objects.

use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_sdk_s3::config::SharedCredentialsProvider;
use matsu_wait::aws::FaultKind;
use matsu_wait::target::{Look, Seen, Targets, Until};
use matsu_wait::{Here, Target};

use crate::scripted::{Answer, Server, answer, clients, keys, silences};

fn object(text: &str, until: Until) -> Target {
    Target::parse(text, Some(until), &Here::default()).unwrap()
}

fn targets(server: &Server) -> Targets {
    Targets::new(Some(server.aws("us-east-1")), Here::default())
}

async fn look(until: Until, answers: impl IntoIterator<Item = Answer>) -> Seen {
    let server = Server::new(answers).await;
    targets(&server)
        .look(&object("s3://data-bucket/in/file.csv", until))
        .await
}

fn head(status: u16) -> Answer {
    answer("HEAD", status, "")
}

fn satisfied(seen: &Seen, word: &str) -> bool {
    matches!(seen, Seen::Satisfied(status) if status.text == word)
}

fn pending(seen: &Seen, word: &str) -> bool {
    matches!(seen, Seen::Pending(status) if status.text == word)
}

#[tokio::test]
async fn an_object_is_there_or_absent() {
    assert!(satisfied(&look(Until::Exists, [head(200)]).await, "exists"));
    assert!(pending(&look(Until::Exists, [head(404)]).await, "absent"));
    assert!(pending(&look(Until::Deleted, [head(200)]).await, "exists"));
}

#[tokio::test]
async fn an_absent_object_is_deleted_only_in_a_bucket_that_exists() {
    let gone = || head(404).once();
    assert!(satisfied(&look(Until::Deleted, [gone(), head(200)]).await, "deleted"));
    let no_bucket = look(Until::Deleted, [head(404)]).await;
    assert!(
        matches!(&no_bucket, Seen::Denied(why) if why.contains("data-bucket does not exist")),
        "{no_bucket:?}"
    );
    let hidden = look(Until::Deleted, [gone(), head(403)]).await;
    assert!(
        matches!(&hidden, Seen::Denied(why) if why.contains("s3:ListBucket")),
        "{hidden:?}"
    );
    let unknown = look(Until::Deleted, [gone(), head(503)]).await;
    assert!(matches!(unknown, Seen::Unknown(_)), "{unknown:?}");
}

#[tokio::test]
async fn a_delete_marker_proves_that_the_object_is_gone() {
    for status in [404, 405] {
        let marker = || head(status).header("x-amz-delete-marker", "true");
        assert!(
            satisfied(&look(Until::Deleted, [marker().once()]).await, "deleted"),
            "{status}"
        );
        assert!(pending(&look(Until::Exists, [marker()]).await, "absent"), "{status}");
    }
}

#[tokio::test]
async fn a_denied_look_is_neither_there_nor_gone_and_names_what_to_allow() {
    for until in [Until::Exists, Until::Deleted] {
        let seen = look(until, [head(403)]).await;
        let Seen::Denied(why) = &seen else { panic!("{seen:?}") };
        assert!(why.contains("s3:ListBucket") && why.contains("s3:GetObject"), "{why}");
    }
}

#[tokio::test]
async fn no_answer_never_completes_either_condition() {
    for until in [Until::Exists, Until::Deleted] {
        for silence in silences("HEAD") {
            let seen = look(until, [silence.clone()]).await;
            assert!(matches!(seen, Seen::Unknown(_)), "{silence:?}: {seen:?}");
        }
        // Nor does a request that expired credentials made: a HEAD has no body to say so.
        let seen = look(until, [head(400)]).await;
        assert!(
            matches!(&seen, Seen::Unknown(why) if why.contains("expired")),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn no_credentials_and_nobody_listening_are_no_answer() {
    let server = Server::new([]).await;
    let http = aws_smithy_http_client::Builder::new().build_http();
    let nobody = ProfileFileCredentialsProvider::builder()
        .profile_name("nobody has this profile")
        .configure(&ProviderConfig::without_region().with_http_client(http))
        .build();
    let nobody = clients("us-east-1", server.url(), SharedCredentialsProvider::new(nobody));
    let unheard = clients("us-east-1", "http://127.0.0.1:1", keys());
    for (aws, kind, says) in [
        (nobody, FaultKind::Credentials, "redential"),
        (unheard, FaultKind::Passing, "onnect"),
    ] {
        assert_eq!(aws.account().await.unwrap_err().kind, kind);
        let targets = Targets::new(Some(aws), Here::default());
        for target in [
            object("s3://data-bucket/k", Until::Deleted),
            Target::parse("arn:aws:rds:us-east-1:123456789012:snapshot:a", None, &Here::default()).unwrap(),
        ] {
            let seen = targets.look(&target).await;
            let Seen::Unknown(why) = &seen else { panic!("{seen:?}") };
            assert!(why.contains(says) && why.len() < 300, "{why}");
        }
    }
    assert!(server.asked("HEAD").is_empty());
}

#[tokio::test]
async fn a_bucket_elsewhere_is_followed_there_and_remembered() {
    for status in [301, 307, 400] {
        let server = Server::new([
            head(status)
                .header("x-amz-bucket-region", "eu-west-1")
                .within("us-east-1"),
            head(404).within("eu-west-1").once(),
            head(200).within("eu-west-1"),
        ])
        .await;
        let targets = targets(&server);
        let object = object("s3://other-region-bucket/in/file.csv", Until::Exists);
        assert!(pending(&targets.look(&object).await, "absent"), "{status}");
        assert!(satisfied(&targets.look(&object).await, "exists"), "{status}");
        let regions: Vec<String> = server.asked("HEAD").into_iter().map(|asked| asked.region).collect();
        assert_eq!(regions, ["us-east-1", "eu-west-1", "eu-west-1"], "{status}");
    }
}

#[tokio::test]
async fn a_redirect_that_leads_on_is_followed_once_and_never_completes() {
    let server = Server::new([
        head(301).header("x-amz-bucket-region", "eu-west-1").within("us-east-1"),
        head(301).header("x-amz-bucket-region", "us-east-1").within("eu-west-1"),
    ])
    .await;
    for until in [Until::Exists, Until::Deleted] {
        let seen = targets(&server).look(&object("s3://data-bucket/k", until)).await;
        assert!(matches!(seen, Seen::Unknown(_)), "{seen:?}");
    }
    assert_eq!(server.asked("HEAD").len(), 4);
}

#[tokio::test]
async fn a_key_reaches_s3_byte_for_byte() {
    let server = Server::new([head(200)]).await;
    let targets = targets(&server);
    for (key, path) in [
        ("in/file.csv", "/in/file.csv"),
        ("folder/", "/folder/"),
        ("/a//b", "//a//b"),
        ("a#b?versionId=mk1", "/a%23b%3FversionId%3Dmk1"),
        ("50%25", "/50%2525"),
        ("a+b c", "/a%2Bb%20c"),
        ("日本", "/%E6%97%A5%E6%9C%AC"),
    ] {
        let seen = targets
            .look(&object(&format!("s3://data-bucket/{key}"), Until::Exists))
            .await;
        assert!(satisfied(&seen, "exists"), "{key}: {seen:?}");
        let asked = server.asked("HEAD").pop().unwrap().path;
        assert_eq!(asked, format!("/data-bucket{path}"), "{key}");
    }
}

#[tokio::test]
async fn without_aws_only_files_can_be_looked_at() {
    let targets = Targets::new(None, Here::default());
    for text in ["s3://data-bucket/k", "arn:aws:rds:us-east-1:123456789012:snapshot:a"] {
        let target = Target::parse(text, None, &Here::default()).unwrap();
        let seen = targets.look(&target).await;
        assert!(
            matches!(&seen, Seen::Denied(why) if why.contains("credentials")),
            "{seen:?}"
        );
    }
    let file = object("file:/", Until::Exists);
    assert!(satisfied(&targets.look(&file).await, "exists"));
}
