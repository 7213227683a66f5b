//! A reverse proxy that counts, and that makes the trouble which emulators do not: answers that get lost or come late
//! after the server has acted, 503 and 409, requests that arrive twice.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Uri;
use hyper::body::Bytes;
use hyper::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use matsu_lock::{Clock as _, Random as _, SeededRandom, SystemClock};

use crate::http::{Answer, Asker, Call, Method, Server, StatusCode, answer};

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The server acts, and the connection ends without an answer.
    LoseAnswer,
    /// The server acts, and the connection stays without an answer for as long as the client likes.
    Hang,
    /// The server acts, and the answer comes so late.
    Late(Duration),
    /// The server acts, and the client is told this status.
    AnswerInstead(StatusCode),
    /// The server never hears of it, and the client is told this status.
    Refuse(StatusCode),
    /// The server acts twice; the client gets the second answer.
    Twice,
}

/// A request that passed.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    /// The operation, for services that name it in `X-Amz-Target`.
    pub(crate) action: Option<String>,
    /// The client's own id of it, the same over its retries.
    pub(crate) invocation: Option<String>,
    pub(crate) body: Bytes,
    /// What the client was told; none: nothing.
    pub(crate) told: Option<StatusCode>,
    pub(crate) trouble: Option<Trouble>,
}

impl Seen {
    /// Whether the server heard of it.
    pub(crate) fn arrived(&self) -> bool {
        !matches!(self.trouble, Some(Trouble::Refuse(_)))
    }

    /// Whether the server acted and the client cannot know.
    pub(crate) fn answer_was_lost(&self) -> bool {
        matches!(
            self.trouble,
            Some(Trouble::LoseAnswer | Trouble::Hang | Trouble::AnswerInstead(_))
        )
    }
}

/// Bodies are long.
impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let told = self.told.map(|status| status.as_u16());
        write!(
            f,
            "{} {} {:?} told {told:?} {:?}",
            self.method, self.path, self.action, self.trouble
        )
    }
}

/// Which requests a rule is for.
type When = Box<dyn Fn(&Call) -> bool + Send + Sync>;

struct Rule {
    when: When,
    trouble: Trouble,
    left: usize,
}

/// Trouble by chance: of a thousand requests so many get each.
struct Storm {
    when: When,
    chance: SeededRandom,
    shares: Vec<(u32, Trouble)>,
}

impl Storm {
    fn trouble(&self) -> Option<Trouble> {
        let mut drawn = u32::try_from(self.chance.bits() % 1_000).expect("it is below a thousand");
        for (share, trouble) in &self.shares {
            if drawn < *share {
                return Some(*trouble);
            }
            drawn -= share;
        }
        None
    }
}

struct State {
    to: Uri,
    asker: Asker,
    rules: Mutex<Vec<Rule>>,
    storms: Mutex<Vec<Storm>>,
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
            storms: Mutex::default(),
            seen: Mutex::default(),
        });
        let handler = Arc::clone(&state);
        let server = Server::start(move |call| {
            let state = Arc::clone(&handler);
            async move {
                // A client that dies meanwhile does not keep the server from acting, nor us from counting.
                let passed = tokio::spawn(async move { state.pass_on(call).await });
                let (told, trouble) = passed.await.expect("passing on does not panic");
                match trouble {
                    Some(Trouble::Hang) => std::future::pending().await,
                    Some(Trouble::Late(time)) => SystemClock.sleep(time).await,
                    _ => {}
                }
                told
            }
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

    /// From now on the requests that `when` picks, and that have no other trouble, get trouble by chance: of a thousand
    /// so many get each. The same seed draws the same.
    pub(crate) fn storm(
        &self,
        seed: u64,
        shares: &[(u32, Trouble)],
        when: impl Fn(&Call) -> bool + Send + Sync + 'static,
    ) {
        let storm = Storm {
            when: Box::new(when),
            chance: SeededRandom::new(seed),
            shares: shares.to_vec(),
        };
        self.state.storms.lock().expect("no test panicked here").push(storm);
    }

    /// Ends every storm.
    pub(crate) fn calm(&self) {
        self.state.storms.lock().expect("no test panicked here").clear();
    }

    /// What passed so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("no test panicked here").clone()
    }
}

impl State {
    async fn pass_on(&self, call: Call) -> (Option<Answer>, Option<Trouble>) {
        let action = action(&call);
        let invocation = call.headers().get("amz-sdk-invocation-id");
        let invocation = invocation.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let (method, path, body) = (call.method().clone(), call.uri().to_string(), call.body().clone());
        let trouble = self.trouble_for(&call);
        let told = match trouble {
            None | Some(Trouble::Late(_)) => Some(self.ask(call).await),
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
            invocation,
            body,
            told: told.as_ref().map(Answer::status),
            trouble,
        });
        (told, trouble)
    }

    /// The trouble of the first rule that is for this request and not used up, or else of the first storm.
    fn trouble_for(&self, call: &Call) -> Option<Trouble> {
        let mut rules = self.rules.lock().expect("no test panicked here");
        if let Some(rule) = rules.iter_mut().find(|r| r.left > 0 && (r.when)(call)) {
            rule.left -= 1;
            return Some(rule.trouble);
        }
        let storms = self.storms.lock().expect("no test panicked here");
        storms.iter().find(|s| (s.when)(call))?.trouble()
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
