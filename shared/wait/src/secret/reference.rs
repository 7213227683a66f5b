//! What a reference says: pure.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Base64 as people paste it: line breaks and padding are taken off before.
const LOOSE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Where a secret is kept.
///
/// A ciphertext never shows itself: [`Display`](std::fmt::Display) and [`Debug`](std::fmt::Debug) write `kms:…`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Reference {
    /// `kms:BASE64`: the ciphertext, decoded.
    Kms(Vec<u8>),
    /// `ssm:NAME`: a parameter's name or ARN.
    Ssm(String),
    /// `secretsmanager:ID` or `secretsmanager:ID#FIELD`.
    SecretsManager {
        /// The secret's name or ARN.
        id: String,
        /// The field of its JSON object, if not the whole text is meant.
        field: Option<String>,
    },
}

impl Reference {
    /// Reads a reference; none where the text is no reference at all. White space around it is passed over.
    ///
    /// # Errors
    /// What is wrong with it, to be put behind its name; nothing of the text is in it.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let (kind, rest) = text.trim().split_once(':')?;
        let rest = rest.trim();
        Some(match kind {
            "kms" => ciphertext(rest).map(Self::Kms),
            "ssm" => match rest {
                "" => Err("names no parameter: it takes ssm:NAME".to_owned()),
                name => Ok(Self::Ssm(name.to_owned())),
            },
            "secretsmanager" => {
                let (id, field) = match rest.rsplit_once('#') {
                    Some((id, field)) => (id, Some(field)),
                    None => (rest, None),
                };
                if id.is_empty() || field == Some("") {
                    Err("names no secret: it takes secretsmanager:ID or secretsmanager:ID#FIELD".to_owned())
                } else {
                    Ok(Self::SecretsManager {
                        id: id.to_owned(),
                        field: field.map(str::to_owned),
                    })
                }
            }
            _ => return None,
        })
    }

    /// Whether the same reference may lead to another secret one day.
    pub(crate) fn may_change(&self) -> bool {
        !matches!(self, Self::Kms(_))
    }

    /// The region in an ARN.
    pub(super) fn region(&self) -> Option<&str> {
        match self {
            Self::Kms(_) => None,
            Self::Ssm(id) | Self::SecretsManager { id, .. } => {
                let mut parts = id.strip_prefix("arn:")?.split(':');
                parts.nth(2).filter(|region| !region.is_empty())
            }
        }
    }
}

/// The bytes of a ciphertext. What was never encrypted is told apart, so that nobody takes it for a secret well kept.
fn ciphertext(text: &str) -> Result<Vec<u8>, String> {
    const TAKES: &str = "kms: takes the ciphertext in base64";
    if text.contains("://") {
        return Err(format!("is plain text behind kms:, not a ciphertext: {TAKES}"));
    }
    let bytes = decode(text).ok_or_else(|| format!("is not base64 behind kms:: {TAKES}"))?;
    match what_is(&bytes) {
        Plain::Url => Err(format!(
            "is base64 of plain text behind kms:, it was never encrypted: {TAKES}"
        )),
        Plain::Base64 => Err(format!("is base64 twice behind kms:: {TAKES}, once")),
        Plain::Other => Ok(bytes),
    }
}

/// What stands where something else was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plain {
    /// A plain address.
    Url,
    /// Base64 of something.
    Base64,
    /// Anything else.
    Other,
}

/// What `bytes` turn out to be.
pub(crate) fn what_is(bytes: &[u8]) -> Plain {
    /// Shorter texts of letters and digits are as likely words as base64.
    const SHORTEST: usize = 16;
    match std::str::from_utf8(bytes).map(str::trim) {
        Ok(text) if text.contains("://") => Plain::Url,
        Ok(text) if text.len() >= SHORTEST && decode(text).is_some() => Plain::Base64,
        _ => Plain::Other,
    }
}

/// The bytes in a text of base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let letters: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = LOOSE.decode(letters.trim_end_matches('=')).ok()?;
    (!bytes.is_empty()).then_some(bytes)
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kms(_) => f.write_str("kms:…"),
            Self::Ssm(name) => write!(f, "ssm:{name}"),
            Self::SecretsManager { id, field: None } => write!(f, "secretsmanager:{id}"),
            Self::SecretsManager { id, field: Some(field) } => write!(f, "secretsmanager:{id}#{field}"),
        }
    }
}

impl std::fmt::Debug for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Reference, String> {
        Reference::parse(text).unwrap()
    }

    #[test]
    fn a_reference_is_told_by_its_scheme_and_anything_else_is_none() {
        assert_eq!(parse("kms:AQIDBA==").unwrap(), Reference::Kms(vec![1, 2, 3, 4]));
        assert_eq!(
            parse(" ssm:/prod/hook\n").unwrap(),
            Reference::Ssm("/prod/hook".to_owned())
        );
        for (text, id, field) in [
            ("secretsmanager:prod/hook", "prod/hook", None),
            ("secretsmanager:prod/hook#url", "prod/hook", Some("url")),
            (
                "secretsmanager:arn:aws:secretsmanager:eu-west-1:123456789012:secret:hook-AbCdEf#url",
                "arn:aws:secretsmanager:eu-west-1:123456789012:secret:hook-AbCdEf",
                Some("url"),
            ),
        ] {
            let (id, field) = (id.to_owned(), field.map(str::to_owned));
            assert_eq!(parse(text).unwrap(), Reference::SecretsManager { id, field });
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        for text in ["", "https://hooks.slack.test/x", "KMS:AQID", "kms", "vault:x", "AQID"] {
            assert!(Reference::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_ciphertext_may_be_padded_wrongly_and_broken_into_lines() {
        for text in ["kms:AQID", "kms:AQID==", "kms:AQ\n ID\r\n", "kms: AQID"] {
            assert_eq!(parse(text).unwrap(), Reference::Kms(vec![1, 2, 3]), "{text}");
        }
        assert!(parse("kms:AQICAHhexamplebase64==").is_ok());
    }

    #[test]
    fn what_is_not_a_ciphertext_is_told_apart_and_never_shown() {
        for (text, says) in [
            ("kms:https://hooks.slack.test/SECRET", "is plain text"),
            ("kms:aHR0cHM6Ly9ob29rcy5zbGFjay50ZXN0L3g=", "was never encrypted"),
            ("kms:aHR0cHM6Ly9ob29rcy5zbGFjay50ZXN0L3gK", "was never encrypted"),
            ("kms:QVFJQ0FIaGV4YW1wbGViYXNlNjQK", "base64 twice"),
            ("kms:not base64!!", "is not base64"),
            ("kms:", "is not base64"),
            ("ssm:", "names no parameter"),
            ("ssm: ", "names no parameter"),
            ("secretsmanager:", "names no secret"),
            ("secretsmanager:#x", "names no secret"),
            ("secretsmanager:x#", "names no secret"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                error.contains(says) && error.contains("it takes") | error.contains("kms: takes"),
                "{error}"
            );
            assert!(!error.contains("SECRET") && !error.contains("aHR0"), "{error}");
        }
    }

    #[test]
    fn a_ciphertext_never_shows_itself() {
        let reference = parse("kms:AQIDBA==").unwrap();
        assert_eq!(format!("{reference} {reference:?}"), "kms:… kms:…");
    }

    #[test]
    fn the_region_of_an_arn_is_where_it_is_read() {
        for (text, region) in [
            (
                "ssm:arn:aws:ssm:eu-west-1:123456789012:parameter/hook",
                Some("eu-west-1"),
            ),
            (
                "secretsmanager:arn:aws:secretsmanager:us-east-2:1:secret:x#f",
                Some("us-east-2"),
            ),
            ("ssm:/hook", None),
            ("ssm:arn:", None),
            ("kms:AQID", None),
        ] {
            assert_eq!(parse(text).unwrap().region(), region, "{text}");
        }
    }
}
