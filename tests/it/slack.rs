//! A receiver in Slack's place.

use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::http::{Call, Server, StatusCode, answer};

/// The secret part of the webhook's address: it must never show up in a log.
pub(crate) const SECRET: &str = "sEcReT-wEbHoOk-pArT";

/// The address of the webhook of one of many senders, at the receiver or at a proxy in front of it.
pub(crate) fn webhook(url: &str, sender: usize) -> String {
    format!("{url}/services/T0/B{sender}/{SECRET}")
}

#[derive(Debug, Default)]
struct State {
    posts: Vec<Value>,
    /// Statuses for the next posts; then 200.
    statuses: Vec<u16>,
}

/// The receiver.
#[derive(Debug)]
pub(crate) struct Slack {
    server: Server,
    state: Arc<Mutex<State>>,
}

impl Slack {
    pub(crate) async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let handler = Arc::clone(&state);
        let server = Server::start(move |call: Call| {
            let mut state = handler.lock().expect("no test panicked here");
            let status = if state.statuses.is_empty() {
                200
            } else {
                state.statuses.remove(0)
            };
            let body = serde_json::from_slice(call.body()).unwrap_or(Value::Null);
            if status == 200 {
                state.posts.push(body);
            }
            let words = match status {
                200 => "ok",
                404 => "no_service",
                429 => "rate_limited",
                _ => "rollup_error",
            };
            let status = StatusCode::from_u16(status).expect("a status");
            std::future::ready(Some(answer(status, "text/html", words)))
        })
        .await;
        Self { server, state }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Answers the next posts so.
    pub(crate) fn answer_next(&self, statuses: &[u16]) {
        let mut state = self.state.lock().expect("no test panicked here");
        state.statuses.extend_from_slice(statuses);
    }

    /// What was taken, in order.
    pub(crate) fn posts(&self) -> Vec<Value> {
        self.state.lock().expect("no test panicked here").posts.clone()
    }
}
