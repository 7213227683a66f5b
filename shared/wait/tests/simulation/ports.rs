//! The ports of one run: store and clock; the others are `outside`. Every call stops before and after its effect, so that
//! others can come in between, and may go wrong in any way that its contract allows.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use matsu_lock::{Clock, Page, Store, StoreError, Stored, Token, Write};
use matsu_wait::engine::limit;

use crate::book::{Flying, World};
use crate::plan::MINUTE;

/// The ports of the run of this number.
#[derive(Debug, Clone)]
pub(crate) struct Ports {
    pub(crate) world: Arc<World>,
    pub(crate) run: usize,
    /// How far off its clock is.
    pub(crate) skew: SignedDuration,
}

/// Others may come in here.
pub(crate) async fn stop() {
    let mut stopped = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut stopped, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Ports {
    /// When a call that may take `limit` and begins now has taken too long.
    pub(crate) fn too_late(&self, limit: Duration) -> Duration {
        let lease = self.world.book().runs[self.run].lease;
        self.world.now() + limit.min(lease / 4)
    }

    /// The end of a call; false: it has taken too long to be heard.
    pub(crate) async fn heard(&self, too_late: Duration) -> bool {
        stop().await;
        let heard = self.world.now() <= too_late;
        if !heard {
            self.fault("an answer comes too late");
        }
        heard
    }

    pub(crate) fn fault(&self, what: &'static str) {
        self.world.note(|| format!("run {}: {what}", self.run));
        self.world.book().fault(self.run);
    }

    /// Whether this call of the store goes wrong.
    fn store_fails(&self) -> bool {
        let (world, plan) = (&self.world, &self.world.plan);
        let fails = plan.storm.covers(world.now()) || world.goes_wrong(plan.rates.store);
        fails && !world.is_spared(self.run)
    }

    async fn write(&self, key: &str, replacing: Option<&Token>, body: Vec<u8>) -> Result<Write, StoreError> {
        let too_late = self.too_late(limit::STORE);
        self.world.book().runs[self.run].puts += 1;
        stop().await;
        let unknown = Ok(Write::Unknown("no answer".to_owned()));
        if !self.store_fails() {
            let write = self.world.write(self.run, key, replacing, body)?;
            return if self.heard(too_late).await { Ok(write) } else { unknown };
        }
        match self.world.dice.below(8) {
            0 => {
                self.fault("a write is busy");
                Err(StoreError::Unavailable("slow down".to_owned()))
            }
            1 if self.world.dice.per_mille(200) => {
                self.fault("a write is denied");
                Err(StoreError::Denied {
                    action: "s3:PutObject",
                    message: "no".to_owned(),
                })
            }
            1 | 2 => {
                self.fault("a write is lost");
                stop().await;
                unknown
            }
            3..=5 => {
                self.fault("a write lands and is not answered");
                self.world.write(self.run, key, replacing, body)?;
                stop().await;
                unknown
            }
            _ => {
                self.fault("a write is still on its way");
                let longest = self.world.dice.one_of(&[MINUTE / 60, MINUTE, 30 * MINUTE]);
                let flying = Flying {
                    run: self.run,
                    at: self.world.now() + self.world.dice.between(Duration::ZERO, longest),
                    key: key.to_owned(),
                    replacing: replacing.cloned(),
                    body,
                };
                self.world.book().flying.push(flying);
                stop().await;
                unknown
            }
        }
    }

    /// Whether a read or list is not answered, or denied.
    async fn begin_read(&self) -> Result<(), StoreError> {
        self.world.book().runs[self.run].gets += 1;
        stop().await;
        if !self.store_fails() {
            return Ok(());
        }
        self.fault("a read is not answered");
        if self.world.dice.per_mille(100) {
            return Err(StoreError::Denied {
                action: "s3:GetObject",
                message: "no".to_owned(),
            });
        }
        Err(StoreError::Unavailable("no answer".to_owned()))
    }
}

#[async_trait]
impl Store for Ports {
    async fn get(&self, key: &str) -> Result<Option<Stored>, StoreError> {
        let too_late = self.too_late(limit::STORE);
        self.begin_read().await?;
        let stored = self.world.store.get(key).await;
        if self.heard(too_late).await {
            return stored;
        }
        Err(StoreError::Unavailable("no answer in time".to_owned()))
    }

    async fn create(&self, key: &str, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(key, None, body).await
    }

    async fn replace(&self, key: &str, token: &Token, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(key, Some(token), body).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Page, StoreError> {
        let too_late = self.too_late(limit::STORE);
        self.begin_read().await?;
        let page = self.world.store.list(prefix, after).await;
        if self.heard(too_late).await {
            return page;
        }
        Err(StoreError::Unavailable("no answer in time".to_owned()))
    }
}

#[async_trait]
impl Clock for Ports {
    fn now(&self) -> Timestamp {
        self.world
            .clock
            .now()
            .checked_add(self.skew)
            .expect("within the calendar")
    }

    fn elapsed(&self) -> Duration {
        self.world.now()
    }

    async fn sleep(&self, duration: Duration) {
        let until = self.world.now() + duration;
        self.world.book().runs[self.run].rests_until = until;
        while self.world.now() < until {
            stop().await;
        }
    }
}
