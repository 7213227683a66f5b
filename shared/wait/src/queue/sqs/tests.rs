mod server;

use jiff::Timestamp;
use matsu_lock::{HandClock, SeededRandom};
use serde_json::{Value, json};

use super::*;
use crate::message::LONGEST_BODY;
use crate::queue::contract;
use server::Server;

const URL: &str = "http://queue.elsewhere:4566/123456789012/waits";
const DEAD: &str = "http://queue.elsewhere:4566/123456789012/waits-dead";
const MINUTE: Duration = Duration::from_secs(60);

fn open(server: &Server, dlq: Option<&str>) -> SqsQueue {
    let dlq = dlq.map(str::to_owned);
    SqsQueue::new(
        server.client(),
        URL,
        dlq,
        server.clock.clone(),
        Arc::new(SeededRandom::new(1)),
    )
    .unwrap()
}

fn message(body: &str) -> Outgoing {
    Outgoing {
        body: body.to_owned(),
        delay: Duration::ZERO,
    }
}

fn delivery_of(receipt: &str) -> Delivery {
    Delivery {
        id: "id".to_owned(),
        body: "body".to_owned(),
        receipt: receipt.to_owned(),
        receives: 1,
    }
}

fn done(id: &str) -> Value {
    json!({"Id": id, "MessageId": "m", "MD5OfMessageBody": "0"})
}

fn failed(id: &str, sender_fault: bool, code: &str) -> Value {
    json!({"Id": id, "SenderFault": sender_fault, "Code": code, "Message": "in words"})
}

/// The ids of the entries of a batch call.
fn ids(request: &Value) -> Vec<&str> {
    request["Entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["Id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn it_keeps_the_contract() {
    let server = Server::start().await;
    let queue = open(&server, Some(DEAD));
    let dead = async || server.model.dead();
    contract::all(&queue, async |d| server.clock.advance(d), dead).await;
    assert_eq!(queue.home(), "123456789012/waits");
}

#[tokio::test]
async fn requests_go_to_the_endpoint_and_carry_the_url_as_it_was_given() {
    let server = Server::start().await;
    open(&server, None).send(vec![message("m")]).await[0].clone().unwrap();
    assert_eq!(server.requests("SendMessageBatch")[0]["QueueUrl"], URL);
}

#[tokio::test]
async fn delays_are_rounded_up_to_seconds_and_never_above_the_longest() {
    let server = Server::start().await;
    let delays = [
        (Duration::ZERO, 0),
        (Duration::from_nanos(1), 1),
        (Duration::from_millis(1_000), 1),
        (Duration::from_millis(1_001), 2),
        (Duration::from_millis(899_500), 900),
        (Duration::from_secs(54_524), 900),
        (Duration::MAX, 900),
    ];
    let outgoing = delays.map(|(delay, _)| Outgoing { delay, ..message("m") });
    assert!(
        open(&server, None)
            .send(outgoing.to_vec())
            .await
            .iter()
            .all(Result::is_ok)
    );
    let requests = server.requests("SendMessageBatch");
    let sent: Vec<_> = requests[0]["Entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["DelaySeconds"].as_i64().unwrap())
        .collect();
    assert_eq!(sent, delays.map(|(_, seconds)| seconds));
}

#[tokio::test]
async fn a_batch_holds_at_most_ten_messages_and_the_bytes_of_one() {
    let server = Server::start().await;
    let queue = open(&server, None);
    assert!(queue.send(vec![message("m"); 23]).await.iter().all(Result::is_ok));
    let sizes: Vec<_> = server
        .requests("SendMessageBatch")
        .iter()
        .map(|r| ids(r).len())
        .collect();
    assert_eq!(sizes, [10, 10, 3]);

    let server = Server::start().await;
    let queue = open(&server, None);
    let long = "待".repeat(LONGEST_BODY / 3);
    assert!(
        queue
            .send(vec![message(&long), message("m"), message("m")])
            .await
            .iter()
            .all(Result::is_ok)
    );
    let sizes: Vec<_> = server
        .requests("SendMessageBatch")
        .iter()
        .map(|r| ids(r).len())
        .collect();
    assert_eq!(sizes, [2, 1]);
}

#[tokio::test]
async fn a_message_that_no_queue_takes_is_refused_without_a_request() {
    let server = Server::start().await;
    let queue = open(&server, None);
    let long = "待".repeat(LONGEST_BODY / 3 + 1);
    let answers = queue
        .send(vec![message(&long), message("\u{7}"), message("\u{ffff}"), message("")])
        .await;
    assert!(
        answers.iter().all(|a| matches!(a, Err(QueueError::Refused(_)))),
        "{answers:?}"
    );
    assert!(server.requests("SendMessageBatch").is_empty());
}

#[tokio::test]
async fn only_the_failed_entry_of_a_batch_is_sent_again() {
    let server = Server::start().await;
    server.say(
        200,
        json!({"Successful": [done("0"), done("2")], "Failed": [failed("1", false, "InternalError")]}),
    );
    let answers = open(&server, None)
        .send(vec![message("a"), message("b"), message("c")])
        .await;
    assert_eq!(answers, [Ok(()), Ok(()), Ok(())]);
    let requests = server.requests("SendMessageBatch");
    assert_eq!(
        requests.iter().map(ids).collect::<Vec<_>>(),
        [vec!["0", "1", "2"], vec!["1"]]
    );
    assert_eq!(requests[1]["Entries"][0]["MessageBody"], "b");
    assert!(
        server.clock.elapsed() > Duration::ZERO,
        "there is a pause before the second try"
    );
}

#[tokio::test]
async fn an_entry_that_keeps_failing_is_unavailable_and_its_neighbours_are_sent() {
    let server = Server::start().await;
    server.say(
        200,
        json!({"Successful": [done("0")], "Failed": [failed("1", false, "InternalError")]}),
    );
    for _ in 0..3 {
        server.say(200, json!({"Failed": [failed("1", false, "InternalError")]}));
    }
    let answers = open(&server, None).send(vec![message("a"), message("b")]).await;
    assert_eq!(
        answers,
        [
            Ok(()),
            Err(QueueError::Unavailable("InternalError: in words".to_owned()))
        ]
    );
    assert_eq!(server.requests("SendMessageBatch").len(), 4);
}

#[tokio::test]
async fn a_fault_of_the_sender_is_refused_at_once_with_its_code_and_words() {
    let server = Server::start().await;
    server.say(
        200,
        json!({"Successful": [done("1")], "Failed": [failed("0", true, "InvalidParameterValue")]}),
    );
    let answers = open(&server, None).send(vec![message("a"), message("b")]).await;
    assert_eq!(
        answers,
        [
            Err(QueueError::Refused("InvalidParameterValue: in words".to_owned())),
            Ok(())
        ]
    );
    assert_eq!(server.requests("SendMessageBatch").len(), 1);
}

#[tokio::test]
async fn a_throttled_entry_is_tried_again_whosever_fault_it_is_called() {
    let server = Server::start().await;
    server.say(200, json!({"Failed": [failed("0", true, "RequestThrottled")]}));
    assert_eq!(open(&server, None).send(vec![message("a")]).await, [Ok(())]);
}

#[tokio::test]
async fn an_entry_that_the_answer_does_not_mention_counts_as_not_answered() {
    let server = Server::start().await;
    server.say(
        200,
        json!({"Successful": [done("0"), done("7"), done("x")], "Failed": []}),
    );
    assert_eq!(
        open(&server, None).send(vec![message("a"), message("b")]).await,
        [Ok(()), Ok(())]
    );
    assert_eq!(
        server.requests("SendMessageBatch").iter().map(ids).collect::<Vec<_>>(),
        [vec!["0", "1"], vec!["1"]]
    );

    for _ in 0..4 {
        server.say(200, json!({}));
    }
    let answers = open(&server, None).send(vec![message("a")]).await;
    assert!(matches!(&answers[..], [Err(QueueError::Unavailable(_))]), "{answers:?}");
}

#[tokio::test]
async fn a_call_that_fails_in_passing_is_tried_again_whole() {
    for (status, body) in [
        (500, json!({"__type": "InternalError"})),
        (503, json!("no JSON object")),
        (
            400,
            json!({"__type": "com.amazonaws.sqs#RequestThrottled", "message": "slow down"}),
        ),
        (400, json!({"__type": "ExpiredToken", "message": "log in"})),
        (200, json!("a page of somebody else")),
    ] {
        let server = Server::start().await;
        server.say(status, body.clone());
        assert_eq!(
            open(&server, None).send(vec![message("a")]).await,
            [Ok(())],
            "{status} {body}"
        );
        assert_eq!(server.requests("SendMessageBatch").len(), 2, "{status} {body}");
    }
}

#[tokio::test]
async fn a_call_that_keeps_failing_is_unavailable_and_the_next_batch_is_tried_all_the_same() {
    let server = Server::start().await;
    for _ in 0..4 {
        server.say(500, json!({"__type": "InternalError"}));
    }
    let answers = open(&server, None).send(vec![message("a"); 12]).await;
    assert!(
        answers[..10]
            .iter()
            .all(|a| matches!(a, Err(QueueError::Unavailable(_)))),
        "{answers:?}"
    );
    assert_eq!(answers[10..], [Ok(()), Ok(())]);
}

#[tokio::test]
async fn a_call_that_is_set_up_wrongly_is_refused_at_once() {
    for code in [
        "com.amazonaws.sqs#QueueDoesNotExist",
        "AccessDeniedException",
        "InvalidAddress",
    ] {
        let server = Server::start().await;
        server.say(400, json!({"__type": code, "message": "in words"}));
        let answers = open(&server, None).send(vec![message("a"), message("b")]).await;
        for answer in answers {
            let Err(QueueError::Refused(why)) = answer else {
                panic!("{code}: {answer:?}");
            };
            assert!(why.contains("in words"), "{why}");
        }
        assert_eq!(server.requests("SendMessageBatch").len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let server = Server::start().await;
    let queue = open(&server, None);
    server.stop().await;
    let answers = queue.send(vec![message("a")]).await;
    assert!(matches!(&answers[..], [Err(QueueError::Unavailable(_))]), "{answers:?}");
    let received = queue.receive(1, MINUTE).await;
    assert!(matches!(received, Err(QueueError::Unavailable(_))), "{received:?}");
}

#[tokio::test]
async fn a_receive_asks_for_what_it_needs_and_waits_for_messages() {
    let server = Server::start().await;
    let queue = open(&server, None);
    queue.receive(3, Duration::from_millis(30_001)).await.unwrap();
    queue.receive(99, Duration::MAX).await.unwrap();
    let requests = server.requests("ReceiveMessage");
    assert_eq!(requests[0]["MaxNumberOfMessages"], 3);
    assert_eq!(requests[0]["VisibilityTimeout"], 31);
    assert_eq!(requests[0]["WaitTimeSeconds"], 10);
    assert_eq!(
        requests[0]["MessageSystemAttributeNames"],
        json!(["ApproximateReceiveCount"])
    );
    assert_eq!(requests[1]["MaxNumberOfMessages"], 10);
    assert_eq!(requests[1]["VisibilityTimeout"], 43_200);
}

#[tokio::test]
async fn a_long_poll_outlives_the_short_limits_of_the_client() {
    const LIMIT: Duration = Duration::from_millis(500);
    let server = Server::start().await;
    let client = server.impatient_client(LIMIT);
    let queue = SqsQueue::new(client, URL, None, server.clock.clone(), Arc::new(SeededRandom::new(1))).unwrap();
    server.pause(2 * LIMIT);
    queue.receive(1, MINUTE).await.unwrap();
    server.pause(2 * LIMIT);
    assert_eq!(queue.send(vec![message("a")]).await, [Ok(())]);
    assert!(
        server.requests("SendMessageBatch").len() > 1,
        "the first try met the client's limit"
    );
}

#[tokio::test]
async fn acknowledgements_go_in_tens_and_failed_ones_go_again() {
    let server = Server::start().await;
    server.say(
        200,
        json!({"Successful": (1..10).map(|n| done(&n.to_string())).collect::<Vec<_>>(),
        "Failed": [failed("0", false, "InternalError")]}),
    );
    let deliveries: Vec<_> = (0..12).map(|n| delivery_of(&format!("receipt {n}"))).collect();
    open(&server, None).acknowledge(&deliveries).await.unwrap();
    let requests = server.requests("DeleteMessageBatch");
    assert_eq!(requests.iter().map(|r| ids(r).len()).collect::<Vec<_>>(), [10, 1, 2]);
    assert_eq!(requests[1]["Entries"][0]["ReceiptHandle"], "receipt 0");
    assert_eq!(requests[2]["Entries"][1]["ReceiptHandle"], "receipt 11");
}

#[tokio::test]
async fn an_old_receipt_removes_nothing_and_is_no_error() {
    let server = Server::start().await;
    server.say(
        200,
        json!({"Successful": [done("0")], "Failed": [failed("1", true, "ReceiptHandleIsInvalid")]}),
    );
    let answer = open(&server, None)
        .acknowledge(&[delivery_of("new"), delivery_of("old")])
        .await;
    assert_eq!(answer, Ok(()));
    assert_eq!(server.requests("DeleteMessageBatch").len(), 1);
}

#[tokio::test]
async fn an_acknowledgement_that_fails_for_good_is_told_and_the_others_are_made() {
    let server = Server::start().await;
    server.say(
        200,
        json!({"Successful": (1..10).map(|n| done(&n.to_string())).collect::<Vec<_>>(),
        "Failed": [failed("0", true, "AccessDenied")]}),
    );
    let deliveries: Vec<_> = (0..11).map(|n| delivery_of(&n.to_string())).collect();
    let answer = open(&server, None).acknowledge(&deliveries).await;
    assert_eq!(answer, Err(QueueError::Refused("AccessDenied: in words".to_owned())));
    assert_eq!(server.requests("DeleteMessageBatch").len(), 2);
}

#[tokio::test]
async fn a_body_is_buried_unchanged_in_the_queue_given_with_the_reason() {
    let server = Server::start().await;
    let queue = open(&server, Some(DEAD));
    assert_eq!(queue.bury(" {\"not\": JSON\u{3000}", "it is not\nJSON").await, Ok(true));
    let request = &server.requests("SendMessage")[0];
    assert_eq!(request["QueueUrl"], DEAD);
    assert_eq!(request["MessageBody"], " {\"not\": JSON\u{3000}");
    assert_eq!(
        request["MessageAttributes"]["reason"],
        json!({"DataType": "String", "StringValue": "it is not JSON"})
    );
    assert!(server.requests("GetQueueAttributes").is_empty());
}

#[tokio::test]
async fn the_dead_letter_queue_is_found_by_the_redrive_policy_and_remembered() {
    let server = Server::start().await;
    let policy =
        json!({"deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:waits-dead", "maxReceiveCount": "5"});
    server.say(200, json!({"Attributes": {"RedrivePolicy": policy.to_string()}}));
    server.say(200, json!({"QueueUrl": DEAD}));
    let queue = open(&server, None);
    assert_eq!(queue.bury("a", "why").await, Ok(true));
    assert_eq!(queue.bury("b", "why").await, Ok(true));
    assert_eq!(server.requests("GetQueueAttributes")[0]["QueueUrl"], URL);
    let asked = server.requests("GetQueueUrl");
    assert_eq!(asked[0]["QueueName"], "waits-dead");
    assert_eq!(asked[0]["QueueOwnerAWSAccountId"], "123456789012");
    assert_eq!(asked.len(), 1);
    let urls: Vec<_> = server
        .requests("SendMessage")
        .iter()
        .map(|r| r["QueueUrl"].clone())
        .collect();
    assert_eq!(urls, [DEAD, DEAD]);
}

#[tokio::test]
async fn without_a_redrive_policy_there_is_no_place_for_dead_letters() {
    let server = Server::start().await;
    server.say(200, json!({}));
    server.say(200, json!({"Attributes": {}}));
    let queue = open(&server, None);
    assert_eq!(queue.bury("a", "why").await, Ok(false));
    assert_eq!(queue.bury("a", "why").await, Ok(false));
    assert!(server.requests("SendMessage").is_empty());
}

#[tokio::test]
async fn a_redrive_policy_that_cannot_be_read_is_an_error_and_not_the_absence_of_one() {
    let server = Server::start().await;
    let queue = open(&server, None);
    server.say(
        400,
        json!({"__type": "AccessDeniedException", "message": "sqs:GetQueueAttributes"}),
    );
    assert!(matches!(queue.bury("a", "why").await, Err(QueueError::Refused(_))));
    server.say(500, json!({"__type": "InternalError"}));
    assert!(matches!(queue.bury("a", "why").await, Err(QueueError::Unavailable(_))));
    for policy in ["{}", "not JSON", "{\"deadLetterTargetArn\": \"nonsense\"}"] {
        server.say(200, json!({"Attributes": {"RedrivePolicy": policy}}));
        assert!(
            matches!(queue.bury("a", "why").await, Err(QueueError::Refused(_))),
            "{policy}"
        );
    }
}

#[tokio::test]
async fn unusable_urls_are_refused_before_any_request() {
    let server = Server::start().await;
    let new = |url: &str, dlq: Option<&str>| {
        let clock = Arc::new(HandClock::new(Timestamp::UNIX_EPOCH));
        let dlq = dlq.map(str::to_owned);
        SqsQueue::new(server.client(), url, dlq, clock, Arc::new(SeededRandom::new(1))).map(|_| ())
    };
    let fifo = format!("{URL}.fifo");
    assert_eq!(new(&fifo, None), Err(BadQueueUrl::Fifo(fifo.clone())));
    assert_eq!(new(URL, Some(&fifo)), Err(BadQueueUrl::Fifo(fifo)));
    assert_eq!(new("waits", None), Err(BadQueueUrl::Malformed("waits".to_owned())));
    let other_host = "https://sqs.eu-west-1.amazonaws.com/123456789012/waits";
    assert_eq!(
        new(URL, Some(other_host)),
        Err(BadQueueUrl::OwnDeadLetters(other_host.to_owned()))
    );
}
