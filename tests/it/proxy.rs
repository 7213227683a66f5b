//! A reverse proxy that counts, and that makes the trouble which emulators do not: answers that get lost after the
//! server has acted, 503 and 409, requests that arrive twice.

use std::sync::{Arc, Mutex};

use hyper::Uri;
use hyper::header::{CONNECTION, HOST, TRANSFER_ENCODING};

use crate::http::{Answer, Asker, Call, Method, Server, StatusCode, answer};

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The server acts, and the connection ends without an answer.
    LoseAnswer,
    /// The server acts, and the connection stays without an answer for as long as the client likes.
    Hang,
    /// The server acts, and the client is told this status.
    AnswerInstead(StatusCode),
    /// The server never hears of it, and the client is told this status.
    Refuse(StatusCode),
    /// The server acts twice; the client gets the second answer.
    Twice,
}

/// A request that passed.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    /// The operation, for services that name it in `X-Amz-Target`.
    pub(crate) action: Option<String>,
    /// What the client was told; none: nothing.
    pub(crate) told: Option<StatusCode>,
}

/// Which requests a rule is for.
type When = Box<dyn Fn(&Call) -> bool + Send + Sync>;

struct Rule {
    when: When,
    trouble: Trouble,
    left: usize,
}

struct State {
    to: Uri,
    asker: Asker,
    rules: Mutex<Vec<Rule>>,
    seen: Mutex<Vec<Seen>>,
}

/// The proxy, in front of one server.
pub(crate) struct Proxy {
    server: Server,
    state: Arc<State>,
}

impl Proxy {
    /// In front of the server at `url`.
    pub(crate) async fn start(url: &str) -> Self {
        let state = Arc::new(State {
            to: url.parse().expect("an address"),
            asker: Asker::new(),
            rules: Mutex::default(),
            seen: Mutex::default(),
        });
        let handler = Arc::clone(&state);
        let server = Server::start(move |call| {
            let state = Arc::clone(&handler);
            async move { state.pass_on(call).await }
        })
        .await;
        Self { server, state }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Makes this trouble for the next `times` requests that `when` picks.
    pub(crate) fn trouble(&self, times: usize, trouble: Trouble, when: impl Fn(&Call) -> bool + Send + Sync + 'static) {
        let rule = Rule {
            when: Box::new(when),
            trouble,
            left: times,
        };
        self.state.rules.lock().expect("no test panicked here").push(rule);
    }

    /// What passed so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("no test panicked here").clone()
    }
}

impl State {
    async fn pass_on(&self, call: Call) -> Option<Answer> {
        let action = action(&call);
        let (method, path) = (call.method().clone(), call.uri().to_string());
        let trouble = self.trouble_for(&call);
        let told = match trouble {
            None => Some(self.ask(call).await),
            Some(Trouble::Refuse(status)) => Some(fault(status)),
            Some(Trouble::LoseAnswer | Trouble::Hang) => {
                self.ask(call).await;
                None
            }
            Some(Trouble::AnswerInstead(status)) => {
                self.ask(call).await;
                Some(fault(status))
            }
            Some(Trouble::Twice) => {
                self.ask(call.clone()).await;
                Some(self.ask(call).await)
            }
        };
        self.seen.lock().expect("no test panicked here").push(Seen {
            method,
            path,
            action,
            told: told.as_ref().map(Answer::status),
        });
        if trouble == Some(Trouble::Hang) {
            std::future::pending::<()>().await;
        }
        told
    }

    /// The trouble of the first rule that is for this request and not used up.
    fn trouble_for(&self, call: &Call) -> Option<Trouble> {
        let mut rules = self.rules.lock().expect("no test panicked here");
        let rule = rules.iter_mut().find(|r| r.left > 0 && (r.when)(call))?;
        rule.left -= 1;
        Some(rule.trouble)
    }

    async fn ask(&self, call: Call) -> Answer {
        let (mut head, body) = call.into_parts();
        let path = head.uri.path_and_query().expect("a request has a path").clone();
        let mut to = self.to.clone().into_parts();
        to.path_and_query = Some(path);
        head.uri = Uri::from_parts(to).expect("the parts make an address");
        head.headers.remove(HOST);
        head.headers.remove(CONNECTION);
        match self.asker.ask(Call::from_parts(head, body)).await {
            Ok(mut answer) => {
                answer.headers_mut().remove(TRANSFER_ENCODING);
                answer.headers_mut().remove(CONNECTION);
                answer
            }
            Err(e) => answer(StatusCode::BAD_GATEWAY, "text/plain", e),
        }
    }
}

/// The operation that a request names in `X-Amz-Target`.
pub(crate) fn action(call: &Call) -> Option<String> {
    let target = call.headers().get("x-amz-target")?.to_str().ok()?;
    Some(target.rsplit('.').next().unwrap_or(target).to_owned())
}

/// An answer of S3's kind; other services are told apart by the status alone.
fn fault(status: StatusCode) -> Answer {
    let code = match status {
        StatusCode::CONFLICT => "ConditionalRequestConflict",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        _ => "InternalError",
    };
    answer(
        status,
        "application/xml",
        format!("<Error><Code>{code}</Code><Message>Try again.</Message></Error>"),
    )
}
