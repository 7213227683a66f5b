//! Start: a request in, a record created, its job started, its first message sent.

use matsu_lock::Token;

use crate::job::Job;
use crate::target::Target;
use crate::wait::Policy;

/// A request for a wait, complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What to wait for: a function of the request alone.
    pub target: Target,
    /// The work to start first, if any.
    pub job: Option<Job>,
    /// How often and how long to look.
    pub policy: Policy,
    /// The identity of the request: the same at each of its deliveries.
    pub origin: String,
    /// The number of the first pass, from 1.
    pub count: u32,
    /// The token of a finished, not yet announced record that this request was put off for.
    pub seen: Option<Token>,
}
