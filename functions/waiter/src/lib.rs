//! The waiter: an SQS batch in, one pass for each message side by side, the failures out; or a sweep, from a schedule. No
//! Lambda in here.
#![warn(missing_docs)]

use std::collections::HashSet;

use matsu_wait::handle::{Handled, handle};
use matsu_wait::ledger::Stop;
use matsu_wait::sweep::{Swept, sweep};
use matsu_wait::{Run, event::Rules, gather};
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

/// What the function is called for.
#[derive(Debug, Clone)]
pub enum Event {
    /// To work a batch.
    Batch(Batch),
    /// To sweep: `{"sweep": true}`.
    Sweep,
}

/// What the function answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// To a batch.
    Batch(Failures),
    /// To a sweep; zeros: another sweep was at work.
    Sweep(Swept),
}

/// A payload that is neither an SQS batch nor a sweep; the sentence names what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the event is not understood: {0}")]
pub struct BadEvent(pub String);

impl Event {
    /// Reads a payload.
    ///
    /// # Errors
    /// [`BadEvent`]: it is not a batch of SQS messages, and no sweep.
    pub fn read(payload: Value) -> Result<Self, BadEvent> {
        match payload.get("sweep") {
            Some(Value::Bool(true)) => return Ok(Self::Sweep),
            Some(other) => return Err(BadEvent(format!("sweep is {other}: it takes true"))),
            None => {}
        }
        let batch: Batch = serde_json::from_value(payload)
            .map_err(|e| BadEvent(format!("the waiter takes an SQS batch or {{\"sweep\":true}}: {e}")))?;
        match batch
            .records
            .iter()
            .find(|record| record.event_source.trim() != "aws:sqs")
        {
            Some(other) => Err(BadEvent(format!(
                "eventSource is {:?}: the waiter takes aws:sqs",
                other.event_source
            ))),
            None => Ok(Self::Batch(batch)),
        }
    }
}

/// Does what the function was called for; `rules` is called with a message's id.
///
/// # Errors
/// [`Stop`]: the sweep broke off. A batch never fails as a whole.
pub async fn answer(run: &Run, rules: impl Fn(&str) -> Rules, event: Event) -> Result<Answer, Stop> {
    match event {
        Event::Batch(batch) => Ok(Answer::Batch(work(run, rules, batch).await)),
        Event::Sweep => Ok(Answer::Sweep(sweep(run, false).await?.unwrap_or_default())),
    }
}

/// Works every message of the batch side by side; `rules` is called with a message's id. Whatever happens to one, its
/// neighbours are worked, and the answer comes before the run's time is over.
pub async fn work(run: &Run, rules: impl Fn(&str) -> Rules, batch: Batch) -> Failures {
    let mut ids = HashSet::new();
    let mut distinct = batch.records;
    distinct.retain(|record| ids.insert(record.message_id.clone()));
    let worked = gather::together(run.engine(), distinct, |engine, record| {
        work_one(run.with(engine), rules(&record.message_id), record)
    });
    Failures {
        batch_item_failures: worked.await.into_iter().flatten().collect(),
    }
}

/// One message; answers its failure if it is given back.
async fn work_one(run: Run, rules: Rules, record: BatchRecord) -> Option<Failure> {
    let handled = handle(&run, &rules, &record.body).await;
    matches!(handled, Handled::GiveBack(_)).then_some(Failure {
        item_identifier: record.message_id,
    })
}
