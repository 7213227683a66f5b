//! A look that fails as told.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Faults, Plan, never};
use crate::target::{Look, Seen, Target};

/// A fault of one look. None of them reaches the look behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookFault {
    /// There is no answer this time.
    Lost,
    /// There is never an answer.
    Hangs,
    /// Too many requests.
    Throttled,
    /// Looking is not allowed.
    Denied,
    /// It is said not to be there, whether it is or not.
    Missing,
}

/// A look whose coming requests fail as told, one after the other; then it is the one behind it.
#[derive(Debug)]
pub struct FaultyLook {
    inner: Arc<dyn Look>,
    looks: Plan<LookFault>,
}

impl FaultyLook {
    /// A look in front of `inner` without faults yet.
    #[must_use]
    pub fn in_front_of(inner: Arc<dyn Look>) -> Self {
        Self {
            inner,
            looks: Plan::default(),
        }
    }

    /// What happens to the coming looks; those at several targets together are one each.
    pub fn looks(&self, faults: impl Faults<LookFault>) {
        self.looks.set(faults);
    }
}

#[async_trait]
impl Look for FaultyLook {
    async fn look(&self, target: &Target) -> Seen {
        match self.looks.next() {
            None => self.inner.look(target).await,
            Some(LookFault::Lost) => Seen::Unknown("no answer".to_owned()),
            Some(LookFault::Hangs) => never().await,
            Some(LookFault::Throttled) => Seen::Unknown("throttled".to_owned()),
            Some(LookFault::Denied) => Seen::Denied("looking is denied".to_owned()),
            Some(LookFault::Missing) => Seen::Missing,
        }
    }

    fn together(&self, target: &Target) -> Option<String> {
        self.inner.together(target)
    }
}
