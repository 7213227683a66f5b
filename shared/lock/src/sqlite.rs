//! The store in one SQLite file, for any number of processes of one machine.
//!
//! A write takes the file's write lock first, then reads the clock, then writes if its condition holds, then commits,
//! together with others that came meanwhile. What fails before the commit has no effect; a commit that fails is *unknown*. The file must lie on a disk of this
//! machine: network file systems do not lock reliably.

mod file;
mod writer;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

pub use file::{Change, SqliteFile};

use crate::store::{Listed, Page, Store, StoreError, Stored, Token, Write, is_open};
use crate::{Clock, Random};

/// How many lines a page of a listing has at most, as on S3.
const PAGE: usize = 1000;

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS matsu_store (
        key TEXT NOT NULL PRIMARY KEY,
        body BLOB NOT NULL,
        token TEXT NOT NULL,
        written INTEGER NOT NULL -- milliseconds since 1970-01-01T00:00:00Z
    ) STRICT";
const GET: &str = "SELECT body, token FROM matsu_store WHERE key = ?1";
const CREATE: &str = "
    INSERT INTO matsu_store (key, body, token, written) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (key) DO NOTHING";
const REPLACE: &str = "UPDATE matsu_store SET body = ?2, token = ?3, written = ?4 WHERE key = ?1 AND token = ?5";
const LIST: &str = "
    SELECT key, token, written, length(body) FROM matsu_store WHERE key >= ?1 ORDER BY key";

/// A [`Store`] in a [`SqliteFile`].
#[derive(Debug)]
pub struct SqliteStore {
    file: SqliteFile,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl SqliteStore {
    /// The store in `file`, which others may use for other things. It blocks, at most for seconds.
    ///
    /// # Errors
    /// As [`SqliteFile::change_blocking`].
    pub fn new(file: SqliteFile, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Result<Self, StoreError> {
        file.change_blocking(|connection| connection.execute_batch(TABLE))?;
        Ok(Self { file, clock, random })
    }

    /// Writes if what is there now passes the condition: absent where `before` is none, else that very version.
    async fn write(&self, key: &str, before: Option<&Token>, body: Vec<u8>) -> Result<Write, StoreError> {
        let (key, before, clock) = (key.to_owned(), before.cloned(), Arc::clone(&self.clock));
        let token = Token::new(self.random.id());
        let new = token.clone();
        let change = self
            .file
            .change(move |connection| write(connection, clock.as_ref(), &key, before.as_ref(), &body, &new));
        Ok(match change.await? {
            Change::Made(true) => Write::Written { token, date: None },
            Change::Made(false) => Write::Refused,
            Change::Unknown(why) => Write::Unknown(why),
        })
    }
}

/// Answers whether the condition held.
fn write(
    connection: &Connection,
    clock: &dyn Clock,
    key: &str,
    before: Option<&Token>,
    body: &[u8],
    token: &Token,
) -> rusqlite::Result<bool> {
    let written = clock.now().as_millisecond();
    let rows = match before {
        None => connection
            .prepare_cached(CREATE)?
            .execute(params![key, body, token.as_str(), written])?,
        Some(before) => {
            let values = params![key, body, token.as_str(), written, before.as_str()];
            connection.prepare_cached(REPLACE)?.execute(values)?
        }
    };
    Ok(rows > 0)
}

/// A page of what lies under `prefix`, from the key `first` on.
fn list(connection: &Connection, prefix: &str, first: &str) -> rusqlite::Result<Page> {
    let mut statement = connection.prepare_cached(LIST)?;
    let mut rows = statement.query([first])?;
    let mut page = Page::default();
    while let Some(row) = rows.next()? {
        let key: String = row.get(0)?;
        if !key.starts_with(prefix) {
            break;
        }
        if page.entries.len() == PAGE {
            page.next = Some(key);
            break;
        }
        page.entries.push(Listed {
            key,
            token: Token::new(row.get::<_, String>(1)?),
            written: Timestamp::from_millisecond(row.get(2)?).unwrap_or(Timestamp::MIN),
            open: is_open(row.get::<_, i64>(3)?.unsigned_abs()),
        });
    }
    Ok(page)
}

#[async_trait]
impl Store for SqliteStore {
    async fn get(&self, key: &str) -> Result<Option<Stored>, StoreError> {
        let key = key.to_owned();
        let read = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(GET)?;
            let stored = statement.query_row([key], |row| {
                Ok(Stored {
                    body: row.get(0)?,
                    token: Token::new(row.get::<_, String>(1)?),
                    date: None,
                    written: None,
                })
            });
            stored.optional()
        };
        self.file.read(read).await
    }

    async fn create(&self, key: &str, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(key, None, body).await
    }

    async fn replace(&self, key: &str, token: &Token, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(key, Some(token), body).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Page, StoreError> {
        let (prefix, first) = (prefix.to_owned(), after.unwrap_or(prefix).to_owned());
        self.file
            .read(move |connection| list(connection, &prefix, &first))
            .await
    }
}

#[cfg(test)]
mod tests;
