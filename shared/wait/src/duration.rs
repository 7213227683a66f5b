//! Durations as people write them: `30s`, `5m`, `1h30m`, also `2d` and `250ms`.
//!
//! A bare number, a sign, a fraction and zero are refused: a delay that silently became nothing is a hot loop.

use std::time::Duration;

/// The units, the longest first: a duration names each at most once and in this order.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// The longest duration that is accepted: 100 years.
pub const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a duration: it takes numbers with units d, h, m, s, such as 30s, 5m or 1h30m, above zero")]
pub struct BadDuration {
    text: String,
}

/// Reads a duration.
///
/// # Errors
/// [`BadDuration`], which quotes at most the first 40 characters of the text.
pub fn parse(text: &str) -> Result<Duration, BadDuration> {
    read(text).ok_or_else(|| BadDuration {
        text: text.chars().take(40).collect(),
    })
}

fn read(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut units = UNITS.iter();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (_, millis) = units.find(|(unit, _)| *unit == &rest[..end])?;
        rest = &rest[end..];
        total = total.checked_add(number.checked_mul(*millis)?)?;
    }
    let duration = Duration::from_millis(total);
    (total > 0 && duration <= LONGEST).then_some(duration)
}

/// Writes a duration so that [`parse`] reads it back, cut to milliseconds: `1h30m`. Nothing is written as `0s`.
#[must_use]
pub fn format(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if rest == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, millis) in UNITS {
        let number = rest / millis;
        rest %= millis;
        if number > 0 {
            text.push_str(&number.to_string());
            text.push_str(unit);
        }
    }
    text
}

/// A duration for people, cut to seconds where it is longer than one: `3h12m`.
#[must_use]
pub fn show(duration: Duration) -> String {
    if duration >= Duration::from_secs(1) {
        format(Duration::from_secs(duration.as_secs()))
    } else {
        format(duration)
    }
}

/// For `#[serde(with = "duration::text")]`: the text form in JSON.
pub(crate) mod text {
    use super::Duration;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(d: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&super::format(*d))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(d)?;
        super::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("30s", 30),
            ("5m", 300),
            ("1h30m", 5_400),
            ("15m1s", 901),
            ("7d", 604_800),
            ("90m", 5_400),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(parse("1s250ms"), Ok(Duration::from_millis(1_250)));
        for longest in ["36500d", &format(LONGEST)] {
            assert_eq!(parse(longest), Ok(LONGEST));
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_and_quoted() {
        for text in [
            "",
            " ",
            "30",
            "0",
            "0s",
            "-1",
            "-5s",
            "+5s",
            "1.5",
            "1.5h",
            "NaN",
            "inf",
            "s",
            "5 m",
            " 30s",
            "30s ",
            "30S",
            "1m1h",
            "1s1s",
            "1y",
            "５s",
            "99999999999999999999",
            "99999999999999999999s",
            "18446744073709551615s",
            "40000d",
            "36500d1ms",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
            assert!(error.contains("such as 30s"), "{error}");
        }
    }

    #[test]
    fn a_written_duration_reads_back() {
        for millis in [1, 999, 1_000, 61_001, 86_400_000, 90_061_001] {
            let d = Duration::from_millis(millis);
            assert_eq!(parse(&format(d)), Ok(d));
        }
        assert_eq!(format(Duration::ZERO), "0s");
        assert_eq!(show(Duration::from_millis(61_900)), "1m1s");
    }
}
