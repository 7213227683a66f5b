//! Time and randomness as ports: the only place that reads a clock or asks for chance.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

/// The time, in two kinds that must not be mixed.
#[async_trait]
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The time of day. It may jump; use it for what is written down and shown.
    fn now(&self) -> Timestamp;

    /// Time since some fixed moment, never going backwards and counting through suspension where the system can
    /// tell. Use it for leases and limits.
    fn elapsed(&self) -> Duration;

    /// Returns after `duration`.
    async fn sleep(&self, duration: Duration);
}

/// Chance. Ids must never repeat, so 128 bits at a time.
pub trait Random: Send + Sync + std::fmt::Debug {
    /// 128 fresh bits.
    fn bits(&self) -> u128;

    /// 128 fresh bits as 32 hexadecimal digits: an id that never repeats.
    fn id(&self) -> String {
        format!("{:032x}", self.bits())
    }

    /// A duration within `[low, high]`, evenly spread; `low` where `high` is not above it.
    fn between(&self, low: Duration, high: Duration) -> Duration {
        let span = high.saturating_sub(low).as_millis();
        let extra = self.bits() % (span + 1);
        low + Duration::from_millis(u64::try_from(extra).unwrap_or(u64::MAX))
    }
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn elapsed(&self) -> Duration {
        static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// The system's source of randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsRandom;

impl Random for OsRandom {
    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn bits(&self) -> u128 {
        let mut bytes = [0; 16];
        // A machine without randomness cannot make ids that never repeat: going on would break every promise.
        getrandom::fill(&mut bytes).expect("the system's source of randomness answers");
        u128::from_le_bytes(bytes)
    }
}

/// A clock that only moves when it is told to, or slept on: a sleep moves it and returns.
#[derive(Debug)]
pub struct HandClock {
    start: Timestamp,
    elapsed: Mutex<Duration>,
    /// What the time of day is off by; the other kind of time is not touched by it.
    skew: Mutex<jiff::SignedDuration>,
}

impl HandClock {
    /// A clock that shows `start`.
    #[must_use]
    pub fn new(start: Timestamp) -> Self {
        Self {
            start,
            elapsed: Mutex::new(Duration::ZERO),
            skew: Mutex::new(jiff::SignedDuration::ZERO),
        }
    }

    /// Moves both kinds of time forward.
    pub fn advance(&self, by: Duration) {
        *lock(&self.elapsed) += by;
    }

    /// Makes the time of day jump, as a wrong or corrected system clock does.
    pub fn jump(&self, by: jiff::SignedDuration) {
        *lock(&self.skew) += by;
    }
}

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        let elapsed = *lock(&self.elapsed);
        self.start
            .checked_add(elapsed)
            .and_then(|t| t.checked_add(*lock(&self.skew)))
            .unwrap_or(Timestamp::MAX)
    }

    fn elapsed(&self) -> Duration {
        *lock(&self.elapsed)
    }

    async fn sleep(&self, duration: Duration) {
        self.advance(duration);
        tokio::task::yield_now().await;
    }
}

/// Chance that repeats from its seed (SplitMix64): for tests and simulations only.
#[derive(Debug)]
pub struct SeededRandom(Mutex<u64>);

impl SeededRandom {
    /// The sequence of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Random for SeededRandom {
    fn bits(&self) -> u128 {
        let mut state = lock(&self.0);
        (u128::from(Self::next(&mut state)) << 64) | u128::from(Self::next(&mut state))
    }
}

/// Locks, also after a panic elsewhere: what these guard is a plain number.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_clock_moves_only_when_told_to() {
        let clock = HandClock::new(Timestamp::UNIX_EPOCH);
        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH);
        clock.advance(Duration::from_secs(90));
        assert_eq!(clock.now().as_second(), 90);
        clock.jump(jiff::SignedDuration::from_hours(-24));
        assert_eq!(clock.now().as_second(), 90 - 86_400);
        assert_eq!(clock.elapsed(), Duration::from_secs(90));
    }

    #[test]
    fn a_random_duration_stays_within_its_bounds() {
        let random = SeededRandom::new(7);
        let (low, high) = (Duration::from_secs(1), Duration::from_secs(3));
        for _ in 0..1_000 {
            let d = random.between(low, high);
            assert!((low..=high).contains(&d), "{d:?}");
        }
        assert_eq!(random.between(high, low), high);
    }

    #[test]
    fn ids_are_32_hexadecimal_digits_and_differ() {
        let (a, b) = (OsRandom.id(), OsRandom.id());
        assert_eq!(a.len(), 32);
        assert_ne!(a, b);
    }
}
