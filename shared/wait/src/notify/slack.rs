//! To come.

/// To come.
#[derive(Debug)]
pub struct Slack;
/// To come.
#[derive(Debug)]
pub struct Webhook;
