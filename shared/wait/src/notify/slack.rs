//! Slack, by an incoming webhook.
//!
//! One announcement is one POST, and it is never repeated here: whatever did not get through is told to the caller, who
//! comes again much later. The only second request is the message as plain text where its blocks are refused. A time-out
//! or a reset may hide a message that did arrive, so a repetition is possible.
//!
//! Where the address is kept elsewhere it is read once, and once more where it was refused as a revoked one is: only if
//! it has changed is the message sent again.

mod answer;
mod message;
mod text;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderName, RETRY_AFTER};
use serde_json::Value;

use self::answer::Answer;
pub use self::message::{plain, render};
pub use self::webhook::Webhook;
use self::webhook::{Address, Place};
use super::{Announcement, Notify, Told};
use crate::secret::{Reference, Secret, Secrets, Unread};
use crate::target::Here;
use crate::web::{self, Roots};

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
    secrets: Arc<Secrets>,
    client: reqwest::Client,
    limit: Duration,
}

impl Slack {
    /// The channel behind a webhook. `here` is the account and region shown for targets that have none of their own,
    /// `secrets` reads the address where it is kept elsewhere, and `roots` are trusted beside those of this machine.
    ///
    /// It goes straight to the webhook's host: no proxy, no redirect. Nothing is read or sent yet.
    ///
    /// # Errors
    /// One sentence: this machine has no root certificates, most likely.
    pub fn new(webhook: Webhook, here: Here, secrets: Arc<Secrets>, roots: &Roots) -> Result<Self, String> {
        Self::within(TELL, webhook, here, secrets, roots)
    }

    fn within(
        limit: Duration,
        webhook: Webhook,
        here: Here,
        secrets: Arc<Secrets>,
        roots: &Roots,
    ) -> Result<Self, String> {
        let client = web::client(roots)
            .connect_timeout(CONNECT)
            .timeout(limit)
            .build()
            .map_err(|error| format!("no HTTPS client can be made: {}", web::words(error)))?;
        Ok(Self {
            webhook,
            here,
            secrets,
            client,
            limit,
        })
    }

    async fn attempt(&self, announcement: &Announcement) -> Told {
        match &self.webhook.0 {
            Place::Here(address) => told(self.post(announcement, address).await),
            Place::Kept(reference) => self
                .attempt_kept(announcement, reference)
                .await
                .unwrap_or_else(|unread| match unread {
                    Unread::Later(why) => Told::Later { after: None, why },
                    Unread::Never(why) => Told::Never(why),
                }),
        }
    }

    async fn attempt_kept(&self, announcement: &Announcement, reference: &Reference) -> Result<Told, Unread> {
        let secret = self.secrets.read(reference).await?;
        let first = self.post(announcement, &address(reference, &secret)?).await;
        let may_be_old = first.as_ref().is_ok_and(Answer::refuses_the_address) && reference.may_change();
        if !may_be_old {
            return Ok(told(first));
        }
        match self.secrets.again(reference, &secret).await {
            Ok(rotated) if rotated != secret => {
                tracing::info!(
                    wait = announcement.wait,
                    "the webhook's address was rotated: sending again"
                );
                Ok(told(self.post(announcement, &address(reference, &rotated)?).await))
            }
            // Whether the address is an old one is not known yet.
            Err(Unread::Later(why)) => Err(Unread::Later(why)),
            Ok(_) | Err(Unread::Never(_)) => Ok(told(first)),
        }
    }

    /// Sends one announcement, as plain text where its blocks are refused; an error is the reason why there is no answer.
    async fn post(&self, announcement: &Announcement, address: &Address) -> Result<Answer, String> {
        let first = self.send(&render(announcement, &self.here), address).await?;
        if !first.refuses_the_form() {
            return Ok(first);
        }
        tracing::warn!(
            wait = announcement.wait,
            status = first.status,
            words = first.words,
            "the webhook does not take the message as it is: sending it as plain text"
        );
        self.send(&plain(announcement), address).await
    }

    async fn send(&self, message: &Value, address: &Address) -> Result<Answer, String> {
        let request = self
            .client
            .post(address.url())
            .header(CONTENT_TYPE, "application/json; charset=utf-8")
            .body(message.to_string());
        match request.send().await {
            Ok(response) => Ok(self.read(response, address).await),
            Err(error) if error.is_timeout() => Err("the webhook did not answer in time".to_owned()),
            Err(error) => Err(format!(
                "no answer from the webhook: {}",
                address.hide(&web::words(error))
            )),
        }
    }

    async fn read(&self, mut response: reqwest::Response, address: &Address) -> Answer {
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
            words: answer::words(&body, whole, address),
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

fn told(answer: Result<Answer, String>) -> Told {
    match answer {
        Ok(answer) => answer.told(),
        Err(why) => Told::Later { after: None, why },
    }
}

/// The address in a secret, held to the same as one in the configuration.
fn address(reference: &Reference, secret: &Secret) -> Result<Address, Unread> {
    Address::of_secret(secret).map_err(|why| Unread::Never(format!("{reference} {why}")))
}

#[cfg(test)]
mod tests;
