//! Waits: start long work, look at it again and again until it is done, tell about it.
//!
//! One wait is one target and one record in a conditional-write store. The record is the lock, the ledger and the
//! outbox at once; a queue message is only a timer that carries the record's token. In the normal course a pass costs
//! one conditional PUT and no read.
//!
//! Not promised: a notification is told at least once, and again when a run dies between the channel's answer and the
//! record of it. A run that outlives its lease can look at a target beside its successor; it cannot send a live message
//! or finish a wait.
//!
//! In reading order:
//!
//! * The data: [`target`], [`wait`], [`message`], [`record`].
//! * The verdict, pure: [`decide`], [`delay`].
//! * The verbs: [`start`], [`pass`]; beside the chain of passes [`wake`], [`cancel`], [`extend`], [`retry`], [`sweep`]; all
//!   write through [`ledger`]; [`handle`] picks one for a queue body.
//! * The ports: [`queue`], [`target::Look`], [`job::Jobs`], [`notify::Notify`]; together with the store an [`Engine`].
//! * [`gather`]: one request for what several messages of a batch ask; [`work`]: a process that works a queue by itself.
//! * [`testing`]: in-memory ports that say what they are told, and a bench to put them together.
//! * The edges: [`event`] (payloads in), [`config`] (the environment), [`aws`] and [`web`] (clients), [`secret`] (secrets by
//!   reference), [`setup`] (all of it wired), [`function`] (in Lambda).
#![warn(missing_docs)]

mod announce;
pub mod aws;
pub mod cancel;
pub mod config;
pub mod decide;
pub mod delay;
pub mod duration;
pub mod engine;
pub mod event;
pub mod extend;
pub mod function;
#[cfg(test)]
mod fuzz;
pub mod gather;
pub mod handle;
pub mod job;
pub mod ledger;
pub mod message;
pub mod notify;
pub mod pass;
pub mod queue;
pub mod record;
pub mod retry;
pub mod secret;
pub mod setup;
pub mod start;
pub mod sweep;
pub mod target;
pub mod testing;
pub mod wait;
pub mod wake;
pub mod web;
pub mod work;

pub use engine::{Engine, Run};
pub use message::Message;
pub use record::{Record, State};
pub use target::{Here, Target};
pub use wait::{Limit, Outcome, OutcomeKind, Policy, Wait};
