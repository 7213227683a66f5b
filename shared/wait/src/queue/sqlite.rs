//! A queue in a SQLite file, for several processes of one machine. The file may hold other tables, too.
//!
//! Times are by the time of day in milliseconds, because they must survive a restart: a clock that is put forward makes
//! messages come early, one that is put back makes them come late.

mod table;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use matsu_lock::{Change, Clock, Random, SqliteFile, StoreError};
use rusqlite::Connection;

use super::{Delivery, LONGEST_DELAY, Outgoing, Queue, QueueError, refusal};
use table::{Row, SCHEMA};

/// How often a message is delivered before it becomes a dead letter, unless said otherwise.
const MAX_RECEIVES: u32 = 5;

/// A queue in a SQLite file. A message is given to one receiver at a time.
#[derive(Debug)]
pub struct SqliteQueue {
    file: SqliteFile,
    home: String,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    max_receives: u32,
}

/// A body that was put aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The body as it was sent.
    pub body: String,
    /// Why it was put aside.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

impl SqliteQueue {
    /// The queue in `file`; its tables are made where they are missing. It blocks for a moment.
    ///
    /// # Errors
    /// [`QueueError`]: the file is no place for it, or others keep it busy.
    pub fn new(file: SqliteFile, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Result<Self, QueueError> {
        let home = file
            .path()
            .to_str()
            .ok_or_else(|| QueueError::Refused(format!("{}: the path is not UTF-8", file.path().display())))?
            .to_owned();
        file.change_blocking(|c| c.execute_batch(SCHEMA)).map_err(fault)?;
        Ok(Self {
            file,
            home,
            clock,
            random,
            max_receives: MAX_RECEIVES,
        })
    }

    /// After so many deliveries without an acknowledgement a message becomes a dead letter.
    #[must_use]
    pub fn with_max_receives(mut self, max_receives: u32) -> Self {
        self.max_receives = max_receives;
        self
    }

    async fn change<T, W>(&self, work: W) -> Result<T, QueueError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        match self.file.change(work).await.map_err(fault)? {
            Change::Made(made) => Ok(made),
            Change::Unknown(why) => Err(QueueError::Unavailable(why)),
        }
    }

    /// The dead letters, the oldest first.
    ///
    /// # Errors
    /// [`QueueError`].
    pub async fn dead_letters(&self) -> Result<Vec<DeadLetter>, QueueError> {
        let letters = self.file.read(table::buried).await.map_err(fault)?;
        let letter = |(body, reason, at)| DeadLetter {
            body,
            reason,
            at: timestamp(at),
        };
        Ok(letters.into_iter().map(letter).collect())
    }
}

#[async_trait]
impl Queue for SqliteQueue {
    fn home(&self) -> &str {
        &self.home
    }

    async fn send(&self, messages: Vec<Outgoing>) -> Vec<Result<(), QueueError>> {
        let mut answers: Vec<_> = messages.iter().map(|m| refusal(&m.body).map_or(Ok(()), Err)).collect();
        let rows: Vec<_> = messages
            .into_iter()
            .zip(&answers)
            .filter(|(_, answer)| answer.is_ok())
            .map(|(m, _)| Row {
                id: self.random.id(),
                body: m.body,
                delay: m.delay.min(LONGEST_DELAY),
            })
            .collect();
        if rows.is_empty() {
            return answers;
        }
        let clock = self.clock.clone();
        let inserted = self.change(move |c| table::insert(c, &*clock, rows)).await;
        if let Err(error) = inserted {
            for answer in answers.iter_mut().filter(|a| a.is_ok()) {
                *answer = Err(error.clone());
            }
        }
        answers
    }

    async fn receive(&self, most: usize, visibility: Duration) -> Result<Vec<Delivery>, QueueError> {
        let receipts: Vec<_> = (0..most.clamp(1, 10)).map(|_| self.random.id()).collect();
        let (clock, max_receives) = (self.clock.clone(), self.max_receives);
        self.change(move |c| table::deliver(c, &*clock, visibility, max_receives, receipts))
            .await
    }

    async fn acknowledge(&self, deliveries: &[Delivery]) -> Result<(), QueueError> {
        if deliveries.is_empty() {
            return Ok(());
        }
        let receipts: Vec<_> = deliveries.iter().map(|d| d.receipt.clone()).collect();
        self.change(move |c| table::remove(c, &receipts)).await
    }

    async fn bury(&self, body: &str, reason: &str) -> Result<bool, QueueError> {
        let (body, reason, at) = (body.to_owned(), reason.to_owned(), self.clock.now().as_millisecond());
        self.change(move |c| table::bury(c, &body, &reason, at)).await?;
        Ok(true)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, QueueError> {
        let due = self.file.read(table::next_due).await.map_err(fault)?;
        Ok(due.map(timestamp))
    }
}

/// A fault of the file in the queue's terms.
fn fault(error: StoreError) -> QueueError {
    match error {
        StoreError::Unavailable(why) => QueueError::Unavailable(why),
        other => QueueError::Refused(other.to_string()),
    }
}

fn timestamp(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
