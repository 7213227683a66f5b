//! The waiter: an SQS batch in, one pass for each message side by side, the failures out. No Lambda in here.
#![warn(missing_docs)]

use std::collections::HashSet;

use futures::future::join_all;
use matsu_wait::handle::{Handled, handle};
use matsu_wait::{Run, event::Rules};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An SQS batch as Lambda delivers it, as far as it is needed.
#[derive(Debug, Clone, Deserialize)]
pub struct Batch {
    /// The messages.
    #[serde(rename = "Records")]
    pub records: Vec<BatchRecord>,
}

/// One message.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchRecord {
    /// Its id, the same at every delivery.
    pub message_id: String,
    /// Its body.
    pub body: String,
    /// Who delivered it: `aws:sqs`.
    pub event_source: String,
}

/// The answer that gives messages back: the queue delivers them again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failures {
    /// The messages that are given back, each once.
    pub batch_item_failures: Vec<Failure>,
}

/// One message that is given back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Its id.
    pub item_identifier: String,
}

/// A payload that is no SQS batch; the sentence names what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the event is not understood: {0}")]
pub struct BadBatch(pub String);

impl Batch {
    /// Reads a payload.
    ///
    /// # Errors
    /// [`BadBatch`]: it is not a batch of SQS messages.
    pub fn read(payload: Value) -> Result<Self, BadBatch> {
        let batch: Self =
            serde_json::from_value(payload).map_err(|e| BadBatch(format!("the waiter takes an SQS batch: {e}")))?;
        match batch
            .records
            .iter()
            .find(|record| record.event_source.trim() != "aws:sqs")
        {
            Some(other) => Err(BadBatch(format!(
                "eventSource is {:?}: the waiter takes aws:sqs",
                other.event_source
            ))),
            None => Ok(batch),
        }
    }
}

/// Works every message of the batch side by side; `rules` is called with a message's id. Whatever happens to one, its
/// neighbours are worked, and the answer comes before the run's time is over.
pub async fn work(run: &Run, rules: impl Fn(&str) -> Rules, batch: Batch) -> Failures {
    let mut ids = HashSet::new();
    let distinct = batch
        .records
        .iter()
        .filter(|record| ids.insert(record.message_id.as_str()));
    let worked = distinct.map(|record| work_one(run, rules(&record.message_id), record));
    Failures {
        batch_item_failures: join_all(worked).await.into_iter().flatten().collect(),
    }
}

/// One message, dropped when the run's time is over: its effects have limits of their own that end before.
async fn work_one(run: &Run, rules: Rules, record: &BatchRecord) -> Option<Failure> {
    let given_back = match tokio::time::timeout(run.left(), handle(run, &rules, &record.body)).await {
        Ok(handled) => matches!(handled, Handled::GiveBack(_)),
        Err(_) => {
            tracing::error!(
                message = record.message_id,
                "the run's time is over: the message is given back"
            );
            true
        }
    };
    given_back.then(|| Failure {
        item_identifier: record.message_id.clone(),
    })
}
