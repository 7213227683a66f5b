//! A small S3 and SQS on loopback: S3 keeps records by conditional writes, SQS takes timers that nobody ever works.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// The objects by path, each with the number of its write.
type Objects = Arc<Mutex<HashMap<String, (Bytes, u64)>>>;

/// Serves both under one endpoint, for as long as the test runs; answers its URL.
pub(crate) fn serve() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let app = Router::new().fallback(answer).with_state(Objects::default());
            axum::serve(listener, app).await.unwrap();
        });
    });
    endpoint
}

async fn answer(State(objects): State<Objects>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    match headers.get("x-amz-target") {
        Some(action) => sqs(action, &body),
        None => s3(&objects, &method, uri.path(), &headers, body),
    }
}

fn s3(objects: &Objects, method: &Method, path: &str, headers: &HeaderMap, body: Bytes) -> Response {
    let mut objects = objects.lock().unwrap();
    let stands = objects.get(path).cloned();
    let etag = |write: u64| [("etag", format!("\"{write}\""))];
    if method != Method::PUT {
        let absent = "<Error><Code>NoSuchKey</Code><Message>there is none</Message></Error>";
        return match stands {
            Some((body, write)) => (etag(write), body).into_response(),
            None => (StatusCode::NOT_FOUND, absent).into_response(),
        };
    }
    let holds = match (headers.get("if-match"), &stands) {
        (Some(tag), Some((_, write))) => *tag == format!("\"{write}\""),
        (Some(_), None) => false,
        (None, stands) => stands.is_none(),
    };
    if !holds {
        let refused = "<Error><Code>PreconditionFailed</Code><Message>it has changed</Message></Error>";
        return (StatusCode::PRECONDITION_FAILED, refused).into_response();
    }
    let write = stands.map_or(1, |(_, write)| write + 1);
    objects.insert(path.to_owned(), (body, write));
    etag(write).into_response()
}

fn sqs(action: &HeaderValue, body: &[u8]) -> Response {
    let request: Value = serde_json::from_slice(body).unwrap();
    let answer = match action.to_str().unwrap() {
        "AmazonSQS.SendMessageBatch" => {
            let entries = request["Entries"].as_array().unwrap();
            let taken = |entry: &Value| json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "0"});
            json!({"Successful": entries.iter().map(taken).collect::<Vec<_>>(), "Failed": []})
        }
        "AmazonSQS.SendMessage" => json!({"MessageId": "m", "MD5OfMessageBody": "0"}),
        other => panic!("{other} is not expected here"),
    };
    answer.to_string().into_response()
}
