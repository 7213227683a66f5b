//! A channel that fails as told.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{Faults, Plan, never};
use crate::notify::{Announcement, Notify, Told};

/// A fault of one announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TellFault {
    /// It is not told, and there is no answer this time.
    Lost,
    /// It is told, and there is no answer this time.
    Unanswered,
    /// It is not told, and there is never an answer.
    Hangs,
    /// It is told, and there is never an answer.
    HangsAfter,
    /// It is not told; the channel takes it after this time.
    Throttled(Duration),
    /// It is not told, and never will be.
    Denied,
}

/// A channel whose coming announcements fail as told, one after the other; then it is the one behind it.
#[derive(Debug)]
pub struct FaultyNotify {
    inner: Arc<dyn Notify>,
    announcements: Plan<TellFault>,
}

impl FaultyNotify {
    /// A channel in front of `inner` without faults yet.
    #[must_use]
    pub fn in_front_of(inner: Arc<dyn Notify>) -> Self {
        Self {
            inner,
            announcements: Plan::default(),
        }
    }

    /// What happens to the coming announcements.
    pub fn announcements(&self, faults: impl Faults<TellFault>) {
        self.announcements.set(faults);
    }
}

#[async_trait]
impl Notify for FaultyNotify {
    async fn tell(&self, announcement: &Announcement) -> Told {
        let later = |after: Option<Duration>, why: &str| Told::Later {
            after,
            why: why.to_owned(),
        };
        match self.announcements.next() {
            None => self.inner.tell(announcement).await,
            Some(TellFault::Lost) => later(None, "no answer"),
            Some(TellFault::Unanswered) => {
                self.inner.tell(announcement).await;
                later(None, "no answer")
            }
            Some(TellFault::Hangs) => never().await,
            Some(TellFault::HangsAfter) => {
                self.inner.tell(announcement).await;
                never().await
            }
            Some(TellFault::Throttled(after)) => later(Some(after), "throttled"),
            Some(TellFault::Denied) => Told::Never("the channel is gone".to_owned()),
        }
    }
}
