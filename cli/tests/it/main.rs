//! The binary as people and scripts meet it: what it prints, what it exits with, and what two of it do to each other.
#![expect(clippy::unwrap_used, reason = "these are tests: what is not as expected fails them")]

mod beside;
mod cloud;
mod crashes;
mod files;
mod follows;
mod harness;
mod lists;
mod papers;
mod several;
mod shows;
mod starts;
mod usage;
mod waits;
mod works;
