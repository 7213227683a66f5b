//! A conditional-write store, and the clocks and chance that everything built on it needs.
//!
//! In reading order:
//!
//! * [`clock`]: time and randomness as ports, with a hand clock for tests.
//! * [`store`]: the port. A conditional write answers *written*, *refused* or *unknown*; contention is never an error.
//! * [`memory`], `sqlite`, `s3`: one implementation a file.
//! * [`contract`]: the suite that every implementation passes; run it on your own.
//!
//! What this crate does not promise: a write answered *unknown* may land at any later time or never. Whoever uses the
//! store puts a fresh random id into every body and reads back to see whose write it was.
#![warn(missing_docs)]

pub mod clock;
pub mod contract;
pub mod memory;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod store;

pub use clock::{Clock, HandClock, OsRandom, Random, SeededRandom, SystemClock};
pub use memory::{Counts, MemoryStore};
#[cfg(feature = "s3")]
pub use s3::{Encryption, S3Store};
#[cfg(feature = "sqlite")]
pub use sqlite::{Change, SqliteFile, SqliteStore};
pub use store::{Listed, Page, Store, StoreError, Stored, Token, Write};
