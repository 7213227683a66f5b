//! Slack, by an incoming webhook.
//!
//! One announcement is one POST, and it is never repeated here: whatever did not get through is told to the caller, who
//! comes again much later. The only second request is the message as plain text where its blocks are refused. A time-out
//! or a reset may hide a message that did arrive, so a repetition is possible.

mod answer;
mod message;
mod text;
mod webhook;

use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderName, RETRY_AFTER};
use serde_json::Value;

use self::answer::Answer;
pub use self::message::{plain, render};
pub use self::webhook::Webhook;
use super::{Announcement, Notify, Told};
use crate::target::Here;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(3);

/// How long telling may take altogether, the second request included; [`Notify::tell`] has ten seconds.
const TELL: Duration = Duration::from_secs(9);

/// How long the body of an answer is listened to: its status has said nearly all.
const BODY: Duration = Duration::from_secs(1);

/// How much of it is read, in bytes.
const LONGEST_BODY: usize = 1_024;

/// The channel.
#[derive(Debug)]
pub struct Slack {
    webhook: Webhook,
    here: Here,
    client: reqwest::Client,
    limit: Duration,
}

impl Slack {
    /// The channel behind a webhook. `here` is the account and region shown for targets that have none of their own.
    ///
    /// It goes straight to the webhook's host: no proxy, no redirect. Nothing is sent yet.
    ///
    /// # Errors
    /// One sentence: this machine has no root certificates, most likely.
    pub fn new(webhook: Webhook, here: Here) -> Result<Self, String> {
        Self::within(TELL, webhook, here)
    }

    fn within(limit: Duration, webhook: Webhook, here: Here) -> Result<Self, String> {
        // Refused where the program has installed one already: then that one serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .user_agent(concat!("matsu/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .timeout(limit)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            // Outcomes are rare, and a connection kept through a frozen function is a dead one.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| format!("no HTTPS client can be made: {}", fault(error)))?;
        Ok(Self {
            webhook,
            here,
            client,
            limit,
        })
    }

    async fn attempt(&self, announcement: &Announcement) -> Told {
        let first = self.post(&render(announcement, &self.here)).await;
        let last = match first {
            Ok(answer) if answer.refuses_the_form() => {
                tracing::warn!(
                    wait = announcement.wait,
                    status = answer.status,
                    words = answer.words,
                    "the webhook does not take the message as it is: sending it as plain text"
                );
                self.post(&plain(announcement)).await
            }
            other => other,
        };
        match last {
            Ok(answer) => answer.told(),
            Err(why) => Told::Later { after: None, why },
        }
    }

    /// Sends one message; an error is the reason why there is no answer.
    async fn post(&self, message: &Value) -> Result<Answer, String> {
        let request = self
            .client
            .post(self.webhook.url())
            .header(CONTENT_TYPE, "application/json; charset=utf-8")
            .body(message.to_string());
        match request.send().await {
            Ok(response) => Ok(self.read(response).await),
            Err(error) if error.is_timeout() => Err("the webhook did not answer in time".to_owned()),
            Err(error) => Err(format!(
                "no answer from the webhook: {}",
                self.webhook.hide(&fault(error))
            )),
        }
    }

    async fn read(&self, mut response: reqwest::Response) -> Answer {
        let status = response.status().as_u16();
        let header = |name: HeaderName| response.headers().get(name)?.to_str().ok();
        let after = header(RETRY_AFTER).and_then(|value| answer::retry_after(value, header(DATE)));
        let mut body = Vec::new();
        let mut whole = false;
        if !response.status().is_success() {
            // What has come by then is enough; an error here changes nothing about the status.
            let _ = tokio::time::timeout(BODY, async {
                while body.len() <= LONGEST_BODY {
                    match response.chunk().await {
                        Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                        Ok(None) => return whole = true,
                        Err(_) => return,
                    }
                }
            })
            .await;
        }
        if body.len() > LONGEST_BODY {
            body.truncate(LONGEST_BODY);
            whole = false;
        }
        Answer {
            status,
            after,
            words: answer::words(&body, whole, &self.webhook),
        }
    }
}

#[async_trait]
impl Notify for Slack {
    async fn tell(&self, announcement: &Announcement) -> Told {
        let told = tokio::time::timeout(self.limit, self.attempt(announcement))
            .await
            .unwrap_or_else(|_| Told::Later {
                after: None,
                why: "the webhook did not answer in time".to_owned(),
            });
        if told == Told::Sent {
            tracing::info!(
                wait = announcement.wait,
                target = %announcement.target,
                outcome = announcement.outcome.kind.word(),
                "told Slack"
            );
        }
        told
    }
}

/// What a fault says, down to its cause, without the address.
fn fault(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    let mut words = Vec::new();
    while let Some(source) = cause.source() {
        words.push(source.to_string());
        cause = source;
    }
    if words.is_empty() {
        words.push(error.to_string());
    }
    words.join(": ")
}

#[cfg(test)]
mod tests;
