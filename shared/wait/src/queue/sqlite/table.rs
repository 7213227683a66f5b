//! The tables and what is done on them, each within a transaction. Times are in milliseconds since 1970; the clock is read
//! when that has begun, because it may have taken its time.

use std::time::Duration;

use jiff::Timestamp;
use matsu_lock::Clock;
use rusqlite::{Connection, Result, params};

use super::{Delivery, timestamp};

/// `due`: when a message may be delivered (again); `receipt`: of its last delivery.
pub(super) const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS queue_messages (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL,
        body TEXT NOT NULL,
        due INTEGER NOT NULL,
        receives INTEGER NOT NULL DEFAULT 0,
        receipt TEXT UNIQUE
    ) STRICT;
    CREATE INDEX IF NOT EXISTS queue_messages_by_due ON queue_messages (due, number);
    CREATE TABLE IF NOT EXISTS queue_dead_letters (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        body TEXT NOT NULL,
        reason TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;
";

/// A message to be written.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) body: String,
    pub(super) delay: Duration,
}

/// Writes all the messages or none.
pub(super) fn insert(connection: &Connection, clock: &dyn Clock, rows: Vec<Row>) -> Result<()> {
    let now = clock.now();
    for row in rows {
        connection
            .prepare_cached("INSERT INTO queue_messages (id, body, due) VALUES (?1, ?2, ?3)")?
            .execute(params![row.id, row.body, after(now, row.delay)])?;
    }
    Ok(())
}

/// Hides each message that is due, as far as the receipts reach, and gives it a fresh one. What came too often becomes a
/// dead letter instead.
pub(super) fn deliver(
    connection: &Connection,
    clock: &dyn Clock,
    visibility: Duration,
    max_receives: u32,
    receipts: Vec<String>,
) -> Result<Vec<Delivery>> {
    let now = clock.now();
    let (now, until) = (now.as_millisecond(), after(now, visibility));
    let due = loop {
        let due = due(connection, now, receipts.len())?;
        let (dead, live): (Vec<_>, Vec<_>) = due.into_iter().partition(|(_, receives)| *receives >= max_receives);
        if dead.is_empty() {
            break live;
        }
        for (number, receives) in dead {
            let body: String = connection
                .prepare_cached("DELETE FROM queue_messages WHERE number = ?1 RETURNING body")?
                .query_row([number], |row| row.get(0))?;
            bury(
                connection,
                &body,
                &format!("received {receives} times without success"),
                now,
            )?;
        }
    };
    let deliveries = due
        .into_iter()
        .zip(receipts)
        .map(|((number, _), receipt)| hide(connection, number, until, receipt))
        .collect::<Result<_>>()?;
    Ok(deliveries)
}

/// The numbers of the first messages that are due, and how often each was delivered.
fn due(connection: &Connection, now: i64, most: usize) -> Result<Vec<(i64, u32)>> {
    connection
        .prepare_cached("SELECT number, receives FROM queue_messages WHERE due <= ?1 ORDER BY due, number LIMIT ?2")?
        .query_map(params![now, i64::try_from(most).unwrap_or(i64::MAX)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect()
}

fn hide(connection: &Connection, number: i64, until: i64, receipt: String) -> Result<Delivery> {
    let mut hide = connection.prepare_cached(
        "UPDATE queue_messages SET due = ?2, receipt = ?3, receives = receives + 1
         WHERE number = ?1 RETURNING id, body, receives",
    )?;
    let (id, body, receives) = hide.query_row(params![number, until, receipt], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    Ok(Delivery {
        id,
        body,
        receipt,
        receives,
    })
}

/// Removes the messages whose last delivery had one of these receipts.
pub(super) fn remove(connection: &Connection, receipts: &[String]) -> Result<()> {
    for receipt in receipts {
        connection
            .prepare_cached("DELETE FROM queue_messages WHERE receipt = ?1")?
            .execute([receipt])?;
    }
    Ok(())
}

/// When the next message is due.
pub(super) fn next_due(connection: &Connection) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT min(due) FROM queue_messages")?
        .query_row([], |row| row.get(0))
}

/// Puts a body aside.
pub(super) fn bury(connection: &Connection, body: &str, reason: &str, at: i64) -> Result<()> {
    connection
        .prepare_cached("INSERT INTO queue_dead_letters (body, reason, at) VALUES (?1, ?2, ?3)")?
        .execute(params![body, reason, at])?;
    Ok(())
}

/// What was put aside, with the reason and the time, the oldest first.
pub(super) fn buried(connection: &Connection) -> Result<Vec<(String, String, i64)>> {
    connection
        .prepare_cached("SELECT body, reason, at FROM queue_dead_letters ORDER BY number")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

/// The first whole millisecond at which `duration` has passed; without a duration, the one that it is now.
fn after(now: Timestamp, duration: Duration) -> i64 {
    if duration.is_zero() {
        return now.as_millisecond();
    }
    let end = now.checked_add(duration).unwrap_or(Timestamp::MAX);
    let whole = end.as_millisecond();
    whole + i64::from(timestamp(whole) < end)
}
