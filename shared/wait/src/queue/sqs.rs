//! A queue in Amazon SQS, or in whatever speaks its protocol.

mod batch;
mod dead;
mod url;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder as Overrides;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName, QueueAttributeName,
    SendMessageBatchRequestEntry,
};
use matsu_lock::{Clock, Random};
use tokio::sync::OnceCell;

use super::{Delivery, LONGEST_DELAY, Outgoing, Queue, QueueError, refusal};
use crate::aws::{Fault, FaultKind, HttpStatus};
use batch::Said;
pub use url::BadQueueUrl;

/// How long a receive waits for a message. Longer is cheaper; a stopping process throws a receive away.
const LONG_POLL: Duration = Duration::from_secs(10);

/// The longest visibility timeout that SQS takes.
const LONGEST_VISIBILITY: Duration = Duration::from_secs(12 * 60 * 60);

/// What SQS calls a receipt that is no longer valid.
const OLD_RECEIPT: &str = "ReceiptHandleIsInvalid";

/// A standard queue. Its URL is opaque: requests go to the client's endpoint and carry the URL as it was given.
#[derive(Debug)]
pub struct SqsQueue {
    client: Client,
    url: String,
    home: String,
    /// The URL of the dead-letter queue, where it is known.
    dead_letters: OnceCell<String>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl SqsQueue {
    /// The queue with this URL; `dlq` is the URL of its dead-letter queue, by default read from its redrive policy on
    /// first need. No request is made.
    ///
    /// # Errors
    /// [`BadQueueUrl`] for either URL.
    pub fn new(
        client: Client,
        url: &str,
        dlq: Option<String>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<Self, BadQueueUrl> {
        let home = url::home_of(url)?;
        if let Some(dlq) = &dlq
            && url::home_of(dlq)? == home
        {
            return Err(BadQueueUrl::OwnDeadLetters(dlq.clone()));
        }
        Ok(Self {
            client,
            url: url.to_owned(),
            home,
            dead_letters: OnceCell::new_with(dlq),
            clock,
            random,
        })
    }

    /// An attribute of the queue itself; none: it has no value.
    async fn attribute(&self, name: QueueAttributeName) -> Result<Option<String>, QueueError> {
        let request = self.client.get_queue_attributes().queue_url(&self.url);
        let answer = request
            .attribute_names(name.clone())
            .send()
            .await
            .map_err(|e| error(&e))?;
        let value = answer.attributes.and_then(|mut all| all.remove(&name));
        Ok(value.filter(|value| !value.is_empty()))
    }

    async fn send_batch(&self, messages: &[&Outgoing], numbers: Vec<usize>) -> Result<Said, QueueError> {
        let entry = |number: usize| {
            SendMessageBatchRequestEntry::builder()
                .id(number.to_string())
                .message_body(&messages[number].body)
                .delay_seconds(seconds(messages[number].delay, LONGEST_DELAY))
                .build()
                .expect("an entry has an id and a body")
        };
        let answer = self
            .client
            .send_message_batch()
            .queue_url(&self.url)
            .set_entries(Some(numbers.into_iter().map(entry).collect()))
            .send()
            .await
            .map_err(|e| error(&e))?;
        Ok(Said {
            done: answer.successful.into_iter().map(|s| s.id).collect(),
            failed: answer.failed,
        })
    }

    async fn delete_batch(&self, deliveries: &[Delivery], numbers: Vec<usize>) -> Result<Said, QueueError> {
        let entry = |number: usize| {
            DeleteMessageBatchRequestEntry::builder()
                .id(number.to_string())
                .receipt_handle(&deliveries[number].receipt)
                .build()
                .expect("an entry has an id and a receipt")
        };
        let answer = self
            .client
            .delete_message_batch()
            .queue_url(&self.url)
            .set_entries(Some(numbers.into_iter().map(entry).collect()))
            .send()
            .await
            .map_err(|e| error(&e))?;
        // An old receipt, or one used before, removes nothing more: there is nothing to do about it.
        let (old, failed): (Vec<_>, Vec<_>) = answer.failed.into_iter().partition(|f| f.code.ends_with(OLD_RECEIPT));
        let done = answer.successful.into_iter().map(|s| s.id);
        Ok(Said {
            done: done.chain(old.into_iter().map(|f| f.id)).collect(),
            failed,
        })
    }
}

#[async_trait]
impl Queue for SqsQueue {
    fn home(&self) -> &str {
        &self.home
    }

    async fn send(&self, messages: Vec<Outgoing>) -> Vec<Result<(), QueueError>> {
        let mut answers: Vec<_> = messages.iter().map(|m| refusal(&m.body).map_or(Ok(()), Err)).collect();
        let (places, taken): (Vec<usize>, Vec<&Outgoing>) =
            messages.iter().enumerate().filter(|(n, _)| answers[*n].is_ok()).unzip();
        let lengths: Vec<_> = taken.iter().map(|m| m.body.len()).collect();
        for range in batch::cut(&lengths) {
            let call = |numbers| self.send_batch(&taken, numbers);
            let settled = batch::settle(range.clone(), &*self.clock, &*self.random, call).await;
            for (number, answer) in range.zip(settled) {
                answers[places[number]] = answer;
            }
        }
        answers
    }

    async fn receive(&self, most: usize, visibility: Duration) -> Result<Vec<Delivery>, QueueError> {
        // The client's own limits are shorter than a long poll.
        let limits = TimeoutConfig::builder()
            .operation_attempt_timeout(LONG_POLL + Duration::from_secs(5))
            .operation_timeout(LONG_POLL * 2)
            .build();
        let answer = self
            .client
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(i32::try_from(most.clamp(1, 10)).unwrap_or(10))
            .visibility_timeout(seconds(visibility, LONGEST_VISIBILITY))
            .wait_time_seconds(seconds(LONG_POLL, LONG_POLL))
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount)
            .customize()
            .config_override(Overrides::new().timeout_config(limits))
            .send()
            .await
            .map_err(|e| error(&e))?;
        Ok(answer.messages.unwrap_or_default().into_iter().map(delivery).collect())
    }

    async fn acknowledge(&self, deliveries: &[Delivery]) -> Result<(), QueueError> {
        let mut answers = Vec::with_capacity(deliveries.len());
        for start in (0..deliveries.len()).step_by(batch::MOST) {
            let range = start..deliveries.len().min(start + batch::MOST);
            let call = |numbers| self.delete_batch(deliveries, numbers);
            answers.extend(batch::settle(range, &*self.clock, &*self.random, call).await);
        }
        answers.into_iter().collect()
    }

    async fn bury(&self, body: &str, reason: &str) -> Result<bool, QueueError> {
        let Some(url) = self.dead_letter_url().await? else {
            return Ok(false);
        };
        self.client
            .send_message()
            .queue_url(url)
            .message_body(body)
            .message_attributes("reason", dead::attribute(reason))
            .send()
            .await
            .map_err(|e| error(&e))?;
        Ok(true)
    }

    async fn visibility(&self) -> Result<Duration, QueueError> {
        let text = self.attribute(QueueAttributeName::VisibilityTimeout).await?;
        let seconds = text.as_deref().and_then(|text| text.parse().ok());
        seconds
            .map(Duration::from_secs)
            .ok_or_else(|| QueueError::Refused(format!("the queue tells its visibility timeout as {text:?}")))
    }
}

fn delivery(message: Message) -> Delivery {
    let receives = message.attributes.as_ref().and_then(|a| {
        a.get(&MessageSystemAttributeName::ApproximateReceiveCount)?
            .parse()
            .ok()
    });
    Delivery {
        id: message.message_id.unwrap_or_default(),
        body: message.body.unwrap_or_default(),
        receipt: message.receipt_handle.unwrap_or_default(),
        receives: receives.unwrap_or(1),
    }
}

/// Whole seconds, rounded up, at most `most`.
fn seconds(duration: Duration, most: Duration) -> i32 {
    let duration = duration.min(most);
    let whole = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i32::try_from(whole).unwrap_or(i32::MAX)
}

/// In the port's terms. A success that cannot be read tells nothing of what was done.
fn error<E, R>(error: &SdkError<E, R>) -> QueueError
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + HttpStatus + 'static,
{
    let fault = Fault::of(error);
    match fault.kind {
        FaultKind::Passing | FaultKind::Credentials => QueueError::Unavailable(fault.message),
        _ if matches!(fault.status, Some(200..300)) => QueueError::Unavailable(fault.message),
        FaultKind::Denied | FaultKind::Other => QueueError::Refused(fault.message),
    }
}

#[cfg(test)]
mod tests;
