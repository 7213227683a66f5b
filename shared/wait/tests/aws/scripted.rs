//! A server on loopback that answers by a script and keeps what it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_s3::config::{Credentials, SharedCredentialsProvider};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use matsu_wait::aws::Aws;

/// One request, as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// The path and query, not decoded.
    pub(crate) path: String,
    /// The region that it was signed for.
    pub(crate) region: String,
    /// The parameters of the Query protocol.
    pub(crate) fields: BTreeMap<String, String>,
    /// The operation of the JSON protocol, such as `TrentService.Decrypt`.
    pub(crate) operation: String,
    /// The body as it came.
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    fn is(&self, what: &str) -> bool {
        self.method == what || self.operation == what || self.field("Action") == Some(what)
    }
}

/// One answer, given to the requests that it is for.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    to: &'static str,
    region: Option<&'static str>,
    having: Option<&'static str>,
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: String,
    once: bool,
    stall: bool,
}

/// An answer to every request for `to`, a method, an action or an operation.
pub(crate) fn answer(to: &'static str, status: u16, body: impl Into<String>) -> Answer {
    Answer {
        to,
        region: None,
        having: None,
        status,
        headers: Vec::new(),
        body: body.into(),
        once: false,
        stall: false,
    }
}

impl Answer {
    /// Only where it was signed for this region.
    pub(crate) fn within(self, region: &'static str) -> Self {
        Self {
            region: Some(region),
            ..self
        }
    }

    /// Only where the request's body has this in it.
    pub(crate) fn having(self, text: &'static str) -> Self {
        Self {
            having: Some(text),
            ..self
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Only the first time.
    pub(crate) fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// Longer than the client waits.
    pub(crate) fn stalled(self) -> Self {
        Self { stall: true, ..self }
    }
}

#[derive(Debug, Default)]
struct Script {
    answers: Vec<Answer>,
    asked: Vec<Asked>,
}

#[derive(Debug, Clone)]
pub(crate) struct Server {
    script: Arc<Mutex<Script>>,
    url: String,
}

impl Server {
    pub(crate) async fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let script = Arc::new(Mutex::new(Script {
            answers: answers.into_iter().collect(),
            asked: Vec::new(),
        }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(serve).with_state(script.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { script, url }
    }

    /// Clients of it, in `region`.
    pub(crate) fn aws(&self, region: &str) -> Arc<Aws> {
        clients(region, &self.url, keys())
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What was asked so far of `what`, a method, an action or an operation.
    pub(crate) fn asked(&self, what: &str) -> Vec<Asked> {
        let script = self.script.lock().unwrap();
        script.asked.iter().filter(|asked| asked.is(what)).cloned().collect()
    }
}

/// Clients of whatever listens at `url`, that do not wait long for anything.
pub(crate) fn clients(region: &str, url: &str, keys: SharedCredentialsProvider) -> Arc<Aws> {
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(Duration::from_millis(500))
        .build();
    let retries = RetryConfig::standard()
        .with_max_attempts(3)
        .with_initial_backoff(Duration::from_millis(1));
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region.to_owned()))
        .credentials_provider(keys)
        .endpoint_url(url)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .timeout_config(timeouts)
        .retry_config(retries)
        .build();
    Arc::new(Aws::new(config))
}

/// Credentials that sign.
pub(crate) fn keys() -> SharedCredentialsProvider {
    SharedCredentialsProvider::new(Credentials::new("AKID", "secret", None, None, "the test"))
}

async fn serve(State(script): State<Arc<Mutex<Script>>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let signature = parts
        .headers
        .get("authorization")
        .map_or("", |value| value.to_str().unwrap());
    let asked = Asked {
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().unwrap().to_string(),
        region: signature.split('/').nth(2).unwrap_or_default().to_owned(),
        fields: fields(&body),
        operation: parts
            .headers
            .get("x-amz-target")
            .map_or_else(String::new, |value| value.to_str().unwrap().to_owned()),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let answer = {
        let mut script = script.lock().unwrap();
        script.asked.push(asked.clone());
        let fits = |a: &Answer| {
            asked.is(a.to)
                && a.region.is_none_or(|region| region == asked.region)
                && a.having.is_none_or(|text| asked.body.contains(text))
        };
        match script.answers.iter().position(fits) {
            Some(n) if script.answers[n].once => script.answers.remove(n),
            Some(n) => script.answers[n].clone(),
            None => answer("", 418, format!("the script has no answer to {asked:?}")),
        }
    };
    if answer.stall {
        std::future::pending::<()>().await;
    }
    let mut response = Response::builder().status(StatusCode::from_u16(answer.status).unwrap());
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(answer.body)).unwrap()
}

fn fields(body: &Bytes) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(body);
    let decode = |text: &str| {
        let spaced = text.replace('+', " ");
        percent_encoding::percent_decode_str(&spaced)
            .decode_utf8()
            .unwrap()
            .into_owned()
    };
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

/// The answer of RDS to `action` in XML, `inner` being what stands in its result.
pub(crate) fn xml(action: &str, inner: &str) -> String {
    format!(
        "<{action}Response xmlns=\"http://rds.amazonaws.com/doc/2014-10-31/\"><{action}Result>{inner}</{action}Result></{action}Response>"
    )
}

/// `DescribeDBSnapshots` answered with snapshots, each given by its elements.
pub(crate) fn described(snapshots: &[&[(&str, &str)]]) -> Answer {
    answer(
        "DescribeDBSnapshots",
        200,
        xml("DescribeDBSnapshots", &listed("DBSnapshot", snapshots)),
    )
}

/// `DescribeDBClusterSnapshots` answered with snapshots, each given by its elements.
pub(crate) fn clusters_described(snapshots: &[&[(&str, &str)]]) -> Answer {
    answer(
        "DescribeDBClusterSnapshots",
        200,
        xml("DescribeDBClusterSnapshots", &listed("DBClusterSnapshot", snapshots)),
    )
}

fn listed(noun: &str, snapshots: &[&[(&str, &str)]]) -> String {
    let mut list = String::new();
    for snapshot in snapshots {
        list.push_str(&format!("<{noun}>"));
        for (name, value) in *snapshot {
            list.push_str(&format!("<{name}>{value}</{name}>"));
        }
        list.push_str(&format!("</{noun}>"));
    }
    format!("<{noun}s>{list}</{noun}s>")
}

/// `action` refused with a code.
pub(crate) fn refused(action: &'static str, status: u16, code: &str, message: &str) -> Answer {
    let body = format!(
        "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error><RequestId>r-1</RequestId></ErrorResponse>"
    );
    answer(action, status, body)
}

/// The ways in which a service does not answer: each says nothing about what was asked.
pub(crate) fn silences(to: &'static str) -> Vec<Answer> {
    let mut silences = vec![
        answer(to, 503, "<html>Service Unavailable</html>"),
        answer(to, 500, ""),
        answer(to, 502, "{}"),
        answer(to, 200, "").stalled(),
    ];
    if to != "HEAD" {
        silences.extend([
            answer(to, 200, "<html>Please log in to this network</html>"),
            answer(to, 404, "<html>Not Found</html>"),
            answer(to, 403, "<html>Forbidden by the proxy</html>"),
            refused(to, 400, "Throttling", "Rate exceeded"),
            refused(to, 400, "RequestLimitExceeded", "Request limit exceeded"),
            refused(to, 400, "ThrottlingException", "Rate exceeded"),
            refused(
                to,
                403,
                "ExpiredToken",
                "The security token included in the request is expired",
            ),
            refused(to, 403, "ExpiredTokenException", "expired"),
            refused(
                to,
                403,
                "InvalidClientTokenId",
                "The security token included in the request is invalid",
            ),
            refused(to, 500, "InternalFailure", "oops"),
        ]);
    }
    silences
}
