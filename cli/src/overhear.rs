//! A look that somebody listens to: the record of a wait tells what was seen only one pass later.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use matsu_wait::target::{Look, Seen, Target};

/// Looks as `inner` does, and says what was seen.
pub(crate) struct Overheard<F> {
    pub(crate) inner: Arc<dyn Look>,
    /// Hears of every look.
    pub(crate) hear: F,
}

impl<F> fmt::Debug for Overheard<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overheard")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl<F: Fn(&Target, &Seen) + Send + Sync> Look for Overheard<F> {
    async fn look(&self, target: &Target) -> Seen {
        let seen = self.inner.look(target).await;
        (self.hear)(target, &seen);
        seen
    }
}
