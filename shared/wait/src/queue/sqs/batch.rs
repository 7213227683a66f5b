//! Batch calls: what goes into one, and what its answer says about each entry. A batch is answered 200 also where
//! entries failed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use aws_sdk_sqs::types::BatchResultErrorEntry;
use matsu_lock::{Clock, Random};

use super::QueueError;
use crate::message::LONGEST_BODY;

/// The most entries of one call.
pub(super) const MOST: usize = crate::queue::BATCH;

/// The most bytes of all bodies of one call: the same as of one body.
const MOST_BYTES: usize = LONGEST_BODY;

/// How often an entry is tried.
const TRIES: u32 = 4;

/// The shortest and, doubled with every try, the longest pause before another try.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(250));

/// What an answer says.
pub(super) struct Said {
    /// The ids of the entries that succeeded.
    pub(super) done: Vec<String>,
    /// The others that it mentions.
    pub(super) failed: Vec<BatchResultErrorEntry>,
}

/// Cuts a row of bodies of these lengths, none above the limit, into batches.
pub(super) fn cut(lengths: &[usize]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (n, length) in lengths.iter().enumerate() {
        if n - start == MOST || bytes + length > MOST_BYTES {
            batches.push(start..n);
            (start, bytes) = (n, 0);
        }
        bytes += length;
    }
    if start < lengths.len() {
        batches.push(start..lengths.len());
    }
    batches
}

/// Calls for the entries with these numbers until each is settled, with fewer of them each time. The id of an entry is
/// its number. What is neither done nor refused in the end is [`QueueError::Unavailable`].
pub(super) async fn settle<F>(
    entries: Range<usize>,
    clock: &dyn Clock,
    random: &dyn Random,
    call: impl Fn(Vec<usize>) -> F,
) -> Vec<Result<(), QueueError>>
where
    F: Future<Output = Result<Said, QueueError>>,
{
    let mut answers: BTreeMap<usize, Result<(), QueueError>> = BTreeMap::new();
    let mut open: Vec<usize> = entries.collect();
    for again in 0..TRIES {
        if again > 0 {
            clock
                .sleep(random.between(PAUSE.0, PAUSE.1 * 2_u32.pow(again - 1)))
                .await;
        }
        match call(open.clone()).await {
            Ok(said) => answers.extend(open.iter().map(|n| (*n, said.of(*n)))),
            Err(error) => answers.extend(open.iter().map(|n| (*n, Err(error.clone())))),
        }
        open.retain(|n| matches!(answers[n], Err(QueueError::Unavailable(_))));
        if open.is_empty() {
            break;
        }
    }
    answers.into_values().collect()
}

impl Said {
    fn of(&self, number: usize) -> Result<(), QueueError> {
        let id = number.to_string();
        if let Some(failed) = self.failed.iter().find(|f| f.id == id) {
            return Err(fault(failed));
        }
        if self.done.contains(&id) {
            return Ok(());
        }
        Err(QueueError::Unavailable(
            "the answer does not mention the message".to_owned(),
        ))
    }
}

/// The sender's own fault is final, but for being throttled.
fn fault(failed: &BatchResultErrorEntry) -> QueueError {
    let text = match &failed.message {
        Some(message) => format!("{}: {message}", failed.code),
        None => failed.code.clone(),
    };
    if failed.sender_fault && !failed.code.contains("Throttl") {
        QueueError::Refused(text)
    } else {
        QueueError::Unavailable(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_at_most_ten_bodies() {
        assert_eq!(cut(&[1; 25]), [0..10, 10..20, 20..25]);
        assert_eq!(cut(&[1; 20]), [0..10, 10..20]);
        assert!(cut(&[]).is_empty());
    }

    #[test]
    fn a_batch_has_at_most_the_bytes_of_the_longest_body() {
        assert_eq!(
            cut(&[MOST_BYTES, 1, MOST_BYTES - 1, 1, MOST_BYTES]),
            [0..1, 1..3, 3..4, 4..5]
        );
        assert_eq!(cut(&[100_000; 5]), [0..2, 2..4, 4..5]);
    }
}
