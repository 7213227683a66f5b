//! Looks at a scripted server on loopback, by the name `status.example.test`.

mod mangled;
mod requests;
mod server;
mod tls;
mod wire;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::names::{Found, Names};
use super::*;
use crate::secret::Secrets;
use crate::target::{Here, Seen, Target};
use crate::wait::Status;
use crate::web::Roots;
use server::{Next, Server};

/// Names that lead to loopback, or one after the other where a test says so; to nothing: no such name.
#[derive(Debug, Default)]
struct Scripted {
    next: Mutex<VecDeque<&'static str>>,
    asked: Mutex<Vec<String>>,
}

impl Names for Scripted {
    fn addresses(&self, host: String) -> Found {
        self.asked.lock().unwrap().push(host);
        let next = self.next.lock().unwrap().pop_front().unwrap_or("127.0.0.1");
        let found: Vec<IpAddr> = next
            .split_whitespace()
            .map(|address| address.parse().unwrap())
            .collect();
        Box::pin(async move {
            if found.is_empty() {
                Err(std::io::Error::other("nobody knows it"))
            } else {
                Ok(found)
            }
        })
    }
}

fn no_secrets() -> Arc<Secrets> {
    Arc::new(Secrets::new(None, None))
}

/// Reaches loopback, within a limit that a loaded machine keeps.
fn reach() -> Reach {
    reach_within(Duration::from_secs(8))
}

fn reach_within(limit: Duration) -> Reach {
    let allow = Allow::parse("127.0.0.1").unwrap();
    Reach::with(
        allow,
        Roots::default(),
        no_secrets(),
        Arc::new(Scripted::default()),
        limit,
    )
}

fn target(value: Value) -> Http {
    match Target::from_value(&value, None, &Here::default()) {
        Ok(Target::Http(http)) => *http,
        other => panic!("{other:?}"),
    }
}

/// The target at a server's `/job/1`, with what `more` says beside its URL.
fn at(server: &Server, more: Value) -> Http {
    let mut whole = json!({"kind": "http", "url": format!("http://status.example.test:{}/job/1", server.port())});
    whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    target(whole)
}

/// What is seen when the server does `next`.
async fn seen(expect: Value, next: Next) -> Seen {
    let server = Server::start([next]).await;
    at(&server, json!({"expect": expect})).look(&reach()).await
}

fn satisfied(name: &str) -> Seen {
    Seen::Satisfied(Status::new(format!("as expected ({name})")))
}

fn says(seen: &Seen, words: &str) {
    let text = match seen {
        Seen::Satisfied(status) | Seen::Pending(status) => &status.text,
        Seen::Failed(_, why) | Seen::Denied(why) | Seen::Unknown(why) => why,
        Seen::Missing => "",
    };
    assert!(text.contains(words), "{words}: {seen:?}");
}
