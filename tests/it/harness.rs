//! The stand-ins are only worth something if they behave: these tests look at them without the product.

use hyper::body::Bytes;
use serde_json::json;

use crate::http::{Answer, Asker, Method, Server, StatusCode, answer, call, text};
use crate::proxy::{Proxy, Trouble};
use crate::rds::{Kind, Rds};
use crate::servers::{ACCOUNT, Ministack};
use crate::slack::Slack;

#[tokio::test(flavor = "multi_thread")]
async fn the_emulator_comes_up_with_conditional_writes_and_queues() {
    let cloud = Ministack::start().await;
    cloud.s3(Method::PUT, "/bucket", Bytes::new()).await;
    let once = [("if-none-match", "*")];
    let first = cloud.ask("s3", Method::PUT, "/bucket/key", &once, "1").await;
    let second = cloud.ask("s3", Method::PUT, "/bucket/key", &once, "2").await;
    assert_eq!(
        (first.status(), second.status()),
        (StatusCode::OK, StatusCode::PRECONDITION_FAILED)
    );

    let queue = cloud.queue("q", &json!({})).await;
    let message = json!({"QueueUrl": queue, "MessageBody": "hello"});
    cloud.json("sqs", "AmazonSQS.SendMessage", &message).await;
    let received = cloud
        .json("sqs", "AmazonSQS.ReceiveMessage", &json!({"QueueUrl": queue}))
        .await;
    assert_eq!(received["Messages"][0]["Body"], "hello");
}

/// Sends a form to the stub, signed for `region` as far as the stub looks.
async fn ask_rds(rds: &Rds, region: &str, form: &str) -> (StatusCode, String) {
    let signed = format!("AWS4-HMAC-SHA256 Credential=k/20260101/{region}/rds/aws4_request");
    let call = call(Method::POST, &rds.url(), &[("authorization", &signed)], form.to_owned());
    let answer = Asker::new().ask(call).await.expect("the stub answers");
    (answer.status(), text(answer.body()))
}

#[tokio::test]
async fn a_copy_in_the_rds_stub_takes_the_looks_of_its_script() {
    let rds = Rds::start().await;
    let source = rds.holds(Kind::Instance, "eu-west-1", "rds:app-1");
    rds.script("app-1-copy", &[("copying", 10), ("available", 100)]);
    let copy =
        format!("Action=CopyDBSnapshot&SourceDBSnapshotIdentifier={source}&TargetDBSnapshotIdentifier=app-1-copy");

    let (status, body) = ask_rds(&rds, "us-west-2", &copy).await;
    assert!(
        status.is_success() && body.contains("<Status>pending</Status>"),
        "{body}"
    );
    let (status, body) = ask_rds(&rds, "us-west-2", &copy).await;
    assert!(
        status.is_client_error() && body.contains("<Code>DBSnapshotAlreadyExists</Code>"),
        "{body}"
    );

    let look = "Action=DescribeDBSnapshots&DBSnapshotIdentifier=app-1-copy";
    let many = "Action=DescribeDBSnapshots&Filters.Filter.1.Name=db-snapshot-id\
                &Filters.Filter.1.Values.Value.1=nothing&Filters.Filter.1.Values.Value.2=app-1-copy";
    let (_, first) = ask_rds(&rds, "us-west-2", look).await;
    let (_, second) = ask_rds(&rds, "us-west-2", many).await;
    let (_, third) = ask_rds(&rds, "us-west-2", look).await;
    assert!(first.contains("<PercentProgress>10<"), "{first}");
    assert!(second.contains("<Status>available<"), "{second}");
    assert!(third.contains("<Status>available<"), "{third}");
    let arn = format!("<DBSnapshotArn>arn:aws:rds:us-west-2:{ACCOUNT}:snapshot:app-1-copy</DBSnapshotArn>");
    assert!(
        third.contains(&arn) && third.contains(&format!("<SourceDBSnapshotIdentifier>{source}<")),
        "{third}"
    );

    let (status, body) = ask_rds(&rds, "eu-west-1", look).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{body}");
    let (status, body) = ask_rds(&rds, "eu-west-1", many).await;
    assert!(
        status.is_success() && body.contains("<DBSnapshots></DBSnapshots>"),
        "{body}"
    );
    rds.refuse("DescribeDBSnapshots", "Throttling", 1);
    assert!(
        ask_rds(&rds, "us-west-2", look)
            .await
            .1
            .contains("<Code>Throttling</Code>")
    );
    assert_eq!(rds.asked("CopyDBSnapshot").len(), 2);
}

#[tokio::test]
async fn clusters_have_names_of_their_own_in_the_rds_stub() {
    let rds = Rds::start().await;
    let source = rds.holds(Kind::Cluster, "eu-west-1", "rds:aurora-1");
    let copy = format!(
        "Action=CopyDBClusterSnapshot&SourceDBClusterSnapshotIdentifier={source}&TargetDBClusterSnapshotIdentifier=copy"
    );
    let (_, body) = ask_rds(&rds, "eu-west-1", &copy).await;
    assert!(
        body.contains(&format!("<SourceDBClusterSnapshotArn>{source}<")),
        "{body}"
    );
    let (_, body) = ask_rds(
        &rds,
        "eu-west-1",
        "Action=DescribeDBClusterSnapshots&DBClusterSnapshotIdentifier=no",
    )
    .await;
    assert!(body.contains("<Code>DBClusterSnapshotNotFoundFault</Code>"), "{body}");
}

#[tokio::test]
async fn the_proxy_loses_answers_only_after_the_server_has_acted() {
    let slack = Slack::start().await;
    let proxy = Proxy::start(&slack.url()).await;
    let post = |n: usize| {
        let call = call(
            Method::POST,
            &format!("{}/hook?n={n}", proxy.url()),
            &[],
            format!("{{\"n\":{n}}}"),
        );
        async move { Asker::new().ask(call).await.map(|a: Answer| a.status()) }
    };
    for trouble in [
        Trouble::LoseAnswer,
        Trouble::AnswerInstead(StatusCode::SERVICE_UNAVAILABLE),
        Trouble::Refuse(StatusCode::CONFLICT),
        Trouble::Twice,
    ] {
        proxy.trouble(1, trouble, |call| call.method() == Method::POST);
    }

    assert!(post(1).await.is_err(), "it was hung up on");
    assert_eq!(post(2).await, Ok(StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!(post(3).await, Ok(StatusCode::CONFLICT));
    assert_eq!(post(4).await, Ok(StatusCode::OK));
    assert_eq!(post(5).await, Ok(StatusCode::OK));
    let taken: Vec<_> = slack.posts().iter().map(|p| p["n"].clone()).collect();
    assert_eq!(taken, [1, 2, 4, 4, 5]);
    let told: Vec<_> = proxy.seen().iter().map(|s| s.told.map(|t| t.as_u16())).collect();
    assert_eq!(told, [None, Some(503), Some(409), Some(200), Some(200)]);
}

#[tokio::test]
async fn a_server_passes_on_length_and_status_of_a_head_request() {
    let behind =
        Server::start(|_| std::future::ready(Some(answer(StatusCode::OK, "text/plain", "twelve bytes")))).await;
    let proxy = Proxy::start(&behind.url()).await;
    let call = call(Method::HEAD, &proxy.url(), &[], Bytes::new());
    let answer = Asker::new().ask(call).await.expect("the proxy answers");
    assert_eq!(answer.headers()["content-length"], "12");
}

#[tokio::test]
async fn a_storm_in_the_proxy_draws_its_shares_and_ends() {
    let behind = Server::start(|_| std::future::ready(Some(answer(StatusCode::OK, "text/plain", "")))).await;
    let proxy = Proxy::start(&behind.url()).await;
    let busy = StatusCode::SERVICE_UNAVAILABLE;
    let shares = [(100, Trouble::AnswerInstead(busy)), (200, Trouble::Refuse(busy))];
    proxy.storm(7, &shares, |_| true);
    let ask = async || {
        let call = call(Method::GET, &proxy.url(), &[], Bytes::new());
        Asker::new().ask(call).await.expect("the proxy answers")
    };
    for _ in 0..400 {
        ask().await;
    }
    let seen = proxy.seen();
    let lost = seen.iter().filter(|s| s.answer_was_lost()).count();
    let refused = seen.iter().filter(|s| !s.arrived()).count();
    assert!(
        (20..=60).contains(&lost) && (50..=110).contains(&refused),
        "{lost}, {refused}"
    );
    proxy.calm();
    for _ in 0..50 {
        assert_eq!(ask().await.status(), StatusCode::OK);
    }
}
