//! HTTP on the loopback, both ways: whole requests in, whole answers out, or a connection that is hung up on.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub(crate) use hyper::{Method, StatusCode};

/// A request with its body.
pub(crate) type Call = hyper::Request<Bytes>;
/// An answer with its body.
pub(crate) type Answer = hyper::Response<Bytes>;

/// A server on a free port of 127.0.0.1. It ends, with its connections, when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    _accepting: JoinSet<()>,
}

impl Server {
    /// Serves what `handle` answers; none: the connection ends without an answer.
    pub(crate) async fn start<H, F>(handle: H) -> Self
    where
        H: Fn(Call) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Option<Answer>> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("a bound socket has an address");
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, handle));
        Self {
            address,
            _accepting: accepting,
        }
    }

    /// `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn accept<H, F>(listener: TcpListener, handle: H)
where
    H: Fn(Call) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Option<Answer>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let handle = handle.clone();
        connections.spawn(async move {
            let service = service_fn(move |request: hyper::Request<Incoming>| {
                let handle = handle.clone();
                async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
                    handle(Call::from_parts(head, body))
                        .await
                        .map(|answer| answer.map(Full::new))
                        .ok_or_else(|| std::io::Error::other("hung up on purpose"))
                }
            });
            // A client that goes away, and an answer that is withheld, both end the connection: nothing to tell.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// Asks. The text of an error says what happened on the way.
#[derive(Debug, Clone)]
pub(crate) struct Asker(Client<HttpConnector, Full<Bytes>>);

impl Asker {
    /// How long one answer may take.
    const LIMIT: Duration = Duration::from_secs(60);

    pub(crate) fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    pub(crate) async fn ask(&self, call: Call) -> Result<Answer, String> {
        tokio::time::timeout(Self::LIMIT, async {
            let (head, body) = self
                .0
                .request(call.map(Full::new))
                .await
                .map_err(|e| format!("{e:?}"))?
                .into_parts();
            let body = body.collect().await.map_err(|e| format!("{e:?}"))?.to_bytes();
            Ok(Answer::from_parts(head, body))
        })
        .await
        .map_err(|_| format!("no answer within {:?}", Self::LIMIT))?
    }
}

/// A request.
pub(crate) fn call(method: Method, url: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Call {
    let mut call = hyper::Request::builder().method(method).uri(url);
    for (name, value) in headers {
        call = call.header(*name, *value);
    }
    call.body(body.into()).expect("the request is well-formed")
}

/// An answer of `status` with a body of this content type.
pub(crate) fn answer(status: StatusCode, content_type: &str, body: impl Into<Bytes>) -> Answer {
    hyper::Response::builder()
        .status(status)
        .header("content-type", content_type)
        .body(body.into())
        .expect("the header is well-formed")
}

/// The body as text, for messages and comparisons.
pub(crate) fn text(body: &Bytes) -> String {
    String::from_utf8_lossy(body).into_owned()
}
