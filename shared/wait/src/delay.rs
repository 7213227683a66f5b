//! When to look next: pure.

use std::time::Duration;

use jiff::Timestamp;

use crate::wait::{Policy, Wait};

/// The time between pass `pass` and the next: the shortest delay, doubled with every pass up to the longest.
#[must_use]
pub fn between(policy: &Policy, pass: u32) -> Duration {
    let doublings = pass.saturating_sub(1).min(31);
    policy
        .min_delay
        .saturating_mul(1 << doublings)
        .clamp(policy.min_delay, policy.max_delay)
}

/// The delay after pass `pass` at `now`: as [`between`], but no look is later than the deadline, which gets one of its
/// own.
#[must_use]
pub fn after(wait: &Wait, pass: u32, now: Timestamp) -> Duration {
    between(&wait.policy, pass).min(until(wait.deadline(), now))
}

/// From `now` until `moment`; nothing where that has passed.
#[must_use]
pub fn until(moment: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(now)).unwrap_or_default()
}

/// How long an announcement is put off for the `tries`th time (from 0): a random time, at most ten seconds at first and
/// doubled each time, between a second and 15 minutes. What the channel itself asked for is obeyed within the same
/// outer bounds. `chance` picks within `[low, high]`.
#[must_use]
pub fn announcement(
    asked: Option<Duration>,
    tries: u32,
    chance: impl FnOnce(Duration, Duration) -> Duration,
) -> Duration {
    const LOW: Duration = Duration::from_secs(1);
    const HIGH: Duration = Duration::from_secs(900);
    match asked {
        Some(asked) => asked.clamp(LOW, HIGH),
        None => chance(
            LOW,
            Duration::from_secs(10).saturating_mul(1 << tries.min(20)).min(HIGH),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::Policy;

    fn policy(min: u64, max: u64) -> Policy {
        Policy {
            min_delay: Duration::from_secs(min),
            max_delay: Duration::from_secs(max),
            ..Policy::default()
        }
    }

    #[test]
    fn the_delay_doubles_from_the_shortest_to_the_longest() {
        let seconds: Vec<_> = (0..7).map(|pass| between(&policy(15, 120), pass).as_secs()).collect();
        assert_eq!(seconds, [15, 15, 30, 60, 120, 120, 120]);
    }

    #[test]
    fn equal_delays_are_a_fixed_interval() {
        for pass in [1, 2, 40, u32::MAX] {
            assert_eq!(between(&policy(30, 30), pass).as_secs(), 30);
        }
    }

    #[test]
    fn forty_years_of_doubling_neither_overflow_nor_pass_the_longest() {
        let long = Policy {
            min_delay: Duration::from_secs(1),
            max_delay: crate::wait::LONGEST_DELAY,
            ..Policy::default()
        };
        for pass in [40, 1_000, 1_000_000, u32::MAX] {
            assert_eq!(between(&long, pass), crate::wait::LONGEST_DELAY);
        }
    }

    #[test]
    fn an_announcement_is_put_off_at_random_within_a_doubling_bound() {
        let bounds = |tries| {
            let mut seen = None;
            let _ = announcement(None, tries, |low, high| {
                seen = Some((low.as_secs(), high.as_secs()));
                low
            });
            seen.unwrap()
        };
        assert_eq!(bounds(0), (1, 10));
        assert_eq!(bounds(3), (1, 80));
        assert_eq!(bounds(7), (1, 900));
        assert_eq!(bounds(u32::MAX), (1, 900));
    }

    #[test]
    fn what_the_channel_asks_for_is_obeyed_within_a_second_and_fifteen_minutes() {
        for (asked, obeyed) in [(0, 1), (2, 2), (86_400, 900)] {
            let asked = Some(Duration::from_secs(asked));
            assert_eq!(announcement(asked, 0, |low, _| low).as_secs(), obeyed);
        }
    }
}
