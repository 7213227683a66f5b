//! The queue port, and one implementation a file. A message is a timer: losing it loses nothing, the record is the truth.

pub mod contract;
pub mod memory;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod sqs;

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::message::LONGEST_BODY;

pub use memory::MemoryQueue;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteQueue;
pub use sqs::{BadQueueUrl, SqsQueue};

/// The longest that a queue delays one message; longer delays go by hops.
pub const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// How many messages the strictest queue sends, gives or removes with one request.
pub const BATCH: usize = 10;

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The body, at most [`crate::message::LONGEST_BODY`] bytes.
    pub body: String,
    /// How long it stays hidden, at most [`LONGEST_DELAY`]; an implementation that counts in seconds rounds up.
    pub delay: Duration,
}

/// A message that was received and is hidden from others until its visibility timeout ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The queue's id of the message, the same at every delivery.
    pub id: String,
    /// The body.
    pub body: String,
    /// What acknowledges this delivery.
    pub receipt: String,
    /// How often it was delivered, this time included.
    pub receives: u32,
}

/// What went wrong with a queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// No answer, or one that may be different in a moment. A send may have taken effect all the same.
    #[error("the queue did not answer: {0}")]
    Unavailable(String),
    /// The queue or the request is set up wrongly: no such queue, denied, too long a message.
    #[error("the queue refused: {0}")]
    Refused(String),
}

/// A queue of timers. Messages may be delivered more than once, late, and in any order.
#[async_trait]
pub trait Queue: Send + Sync + std::fmt::Debug {
    /// Which queue this is, whatever host it is reached by: account and name for SQS, the absolute path for SQLite.
    fn home(&self) -> &str;

    /// Sends; the answers stand in the order of the messages. Passing faults were already tried again.
    async fn send(&self, messages: Vec<Outgoing>) -> Vec<Result<(), QueueError>>;

    /// Receives up to `most` messages (1 to 10) that are due, hiding each for `visibility`. It may answer none at once
    /// or after a while.
    ///
    /// # Errors
    /// [`QueueError`].
    async fn receive(&self, most: usize, visibility: Duration) -> Result<Vec<Delivery>, QueueError>;

    /// Removes deliveries for good. One whose visibility timeout has ended may come again.
    ///
    /// # Errors
    /// [`QueueError`].
    async fn acknowledge(&self, deliveries: &[Delivery]) -> Result<(), QueueError>;

    /// Puts a body that nobody will ever understand aside, unchanged, with the reason. Answers whether there is a place
    /// for such bodies at all.
    ///
    /// # Errors
    /// [`QueueError`].
    async fn bury(&self, body: &str, reason: &str) -> Result<bool, QueueError>;

    /// How long the queue by itself hides a message that was delivered; zero: only the receiver says.
    ///
    /// # Errors
    /// [`QueueError`].
    async fn visibility(&self) -> Result<Duration, QueueError> {
        Ok(Duration::ZERO)
    }

    /// When the next message is due, by the time of day, also one that is hidden; none: the queue is empty, or it cannot
    /// tell.
    ///
    /// # Errors
    /// [`QueueError`].
    async fn next_due(&self) -> Result<Option<Timestamp>, QueueError> {
        Ok(None)
    }
}

/// Why no queue takes `body`, by the rules of the strictest one: SQS takes 1 to 262,144 bytes of the characters that
/// XML 1.0 allows.
fn refusal(body: &str) -> Option<QueueError> {
    let why = if body.is_empty() {
        "the body is empty".to_owned()
    } else if body.len() > LONGEST_BODY {
        format!("the body has {} bytes, at most {LONGEST_BODY} are taken", body.len())
    } else {
        let c = body.chars().find(|c| !is_taken(*c))?;
        format!("the body holds U+{:04X}, which queues do not take", u32::from(c))
    };
    Some(QueueError::Refused(why))
}

/// Whether queues take this character.
fn is_taken(c: char) -> bool {
    !matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_measured_in_bytes_and_not_in_characters() {
        assert_eq!(refusal(&"a".repeat(LONGEST_BODY)), None);
        assert!(refusal(&"待".repeat(LONGEST_BODY / 3 + 1)).is_some());
    }

    #[test]
    fn characters_that_sqs_does_not_take_are_refused_and_named() {
        assert_eq!(refusal("tab\t, line\n, return\r, \u{fffd}, \u{10ffff}"), None);
        for (body, name) in [("bell \u{7}", "U+0007"), ("last \u{ffff}", "U+FFFF")] {
            let Some(QueueError::Refused(why)) = refusal(body) else {
                panic!("{body:?} was taken");
            };
            assert!(why.contains(name), "{why}");
        }
        assert!(refusal("").is_some());
    }
}
