//! Targets, secrets and the snapshot copy against a scripted server: what is asked of AWS, and what its answers mean.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests, too")]

mod cluster_copies;
mod copies;
mod many_looks;
mod objects;
mod scripted;
mod secrets;
mod snapshots;
