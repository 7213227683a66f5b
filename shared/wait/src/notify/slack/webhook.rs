//! The webhook's address. Whoever knows it can post, so it is a credential: shown nowhere.

use std::net::{Ipv4Addr, Ipv6Addr};

use reqwest::Url;

use crate::secret::{Plain, Reference, Secret, decode, what_is};

/// Parts of the address at least this long are looked for in what others say, in bytes: shorter ones are no secret.
const SECRET: usize = 6;

/// What the name takes.
const TAKES: &str = "it takes the address that Slack shows for an incoming webhook, or where that is kept: kms:BASE64, \
                     ssm:NAME or secretsmanager:ID";

/// A webhook: its address, or a reference to where that is kept.
///
/// It never shows itself: [`Debug`](std::fmt::Debug) and [`Display`](std::fmt::Display) write `Webhook(…)`.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook(pub(super) Place);

/// Where the address is.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Place {
    Here(Address),
    Kept(Reference),
}

impl Webhook {
    /// Reads the value of `MATSU_SLACK_WEBHOOK`. White space around it is passed over; empty, `None` and `null` are
    /// unset.
    ///
    /// # Errors
    /// One sentence with what the name takes; the value is not in it.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        if matches!(text, "" | "None" | "null") {
            return Ok(None);
        }
        if let Some(reference) = Reference::parse(text) {
            return match reference {
                Ok(reference) => Ok(Some(Self(Place::Kept(reference)))),
                Err(why) => Err(format!("MATSU_SLACK_WEBHOOK {why}")),
            };
        }
        if let Some(address) = Address::parse(text) {
            return Ok(Some(Self(Place::Here(address))));
        }
        // Shorter base64 is more likely a word.
        let hint = match decode(text) {
            Some(bytes) if what_is(&bytes) == Plain::Url => ", but base64 of one",
            Some(bytes) if bytes.len() >= 12 => ", but base64: a ciphertext stands behind kms:",
            _ => "",
        };
        Err(format!(
            "MATSU_SLACK_WEBHOOK is not an https URL (or http to loopback){hint}: {TAKES}"
        ))
    }
}

/// An address that may be posted to: `https`, or `http` to this machine.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address(Url);

impl Address {
    pub(super) fn parse(text: &str) -> Option<Self> {
        address(text).map(Self)
    }

    /// The address in a secret.
    ///
    /// # Errors
    /// What stands there instead, to be put behind where it is kept.
    pub(super) fn of_secret(secret: &Secret) -> Result<Self, String> {
        Self::parse(secret.text()).ok_or_else(|| {
            let instead = match decode(secret.text()) {
                Some(bytes) if what_is(&bytes) == Plain::Url => "base64 of one: the URL itself has to be kept there",
                Some(bytes) if bytes.len() >= 12 => {
                    "base64, perhaps encrypted twice: the URL itself has to be kept there"
                }
                _ => "something else",
            };
            format!("does not hold an https URL (or http to loopback), but {instead}")
        })
    }

    pub(super) fn url(&self) -> Url {
        self.0.clone()
    }

    /// `text` without any part of the address: an answer may repeat what it was asked for.
    pub(super) fn hide(&self, text: &str) -> String {
        let url = &self.0;
        let mut parts = vec![url.as_str(), url.path()];
        for part in [
            Some(url.username()),
            url.password(),
            Some(url.path()),
            url.query(),
            url.fragment(),
        ] {
            parts.extend(part);
            let words = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
            parts.extend(part.into_iter().flat_map(|part| part.split(words)));
        }
        parts.retain(|part| part.len() >= SECRET);
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        parts.iter().fold(text.to_owned(), |text, part| text.replace(part, "…"))
    }
}

/// The address in `text`, if it is one that may be posted to. The parser alone is too kind: it repairs missing slashes
/// and drops line ends.
fn address(text: &str) -> Option<Url> {
    let (scheme, rest) = text.split_once("://")?;
    let broken = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if rest.starts_with('/') || rest.contains(broken) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let allowed = match scheme.to_ascii_lowercase().as_str() {
        "https" => url.host_str().is_some_and(|host| !host.is_empty()),
        "http" => url.host_str().is_some_and(is_loopback),
        _ => false,
    };
    allowed.then_some(url)
}

/// `host` as the parser writes it: numbers in their plain form, IPv6 in brackets, lower case.
fn is_loopback(host: &str) -> bool {
    let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    host == "localhost"
        || host.parse().is_ok_and(|ip: Ipv4Addr| ip.is_loopback())
        || v6.is_some_and(|host| host.parse().is_ok_and(|ip: Ipv6Addr| ip.is_loopback()))
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Address(…)")
    }
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Webhook(…)")
    }
}

impl std::fmt::Display for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Webhook(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET_URL: &str = "https://hooks.slack.test/services/T0AAAAAAA/B0BBBBBBB/SECRETTOKEN";

    #[test]
    fn an_https_address_of_any_host_and_an_http_one_of_this_machine_are_taken() {
        for text in [
            SECRET_URL,
            "HTTPS://hooks.slack.test/x",
            "https://10.0.0.1:8443/hook",
            "https://chat.example.test/hooks/abc?token=def",
            "http://127.0.0.1:4000/hook",
            "http://127.8.9.10/hook",
            "http://[::1]:4000/hook",
            "http://localhost:4000/hook",
            "http://LOCALHOST/hook",
        ] {
            assert!(matches!(Webhook::parse(text), Ok(Some(_))), "{text}");
        }
    }

    #[test]
    fn white_space_around_the_address_is_passed_over() {
        let plain = Webhook::parse(SECRET_URL);
        for around in ["{}\n", "{}\r\n", "  {}\t", "\n{} \n"] {
            assert_eq!(Webhook::parse(&around.replace("{}", SECRET_URL)), plain, "{around:?}");
        }
    }

    #[test]
    fn empty_none_and_null_are_unset() {
        for text in ["", " ", "\n", "None", "null", " null\n"] {
            assert_eq!(Webhook::parse(text), Ok(None), "{text:?}");
        }
    }

    #[test]
    fn references_are_taken_and_never_shown() {
        for text in [
            "kms:QUJDREVGRw==",
            " kms:QUJDREVGRw==\n",
            "ssm:/prod/SECRETTOKEN",
            "secretsmanager:SECRETTOKEN",
            "secretsmanager:hooks#SECRETTOKEN",
        ] {
            let webhook = Webhook::parse(text).unwrap().unwrap();
            assert!(matches!(webhook.0, Place::Kept(_)), "{text}");
            assert_eq!(format!("{webhook} {webhook:?}"), ["Webhook(…)"; 2].join(" "));
        }
    }

    #[test]
    fn a_reference_to_nothing_and_a_ciphertext_that_is_none_are_refused_without_being_shown() {
        for text in [
            "kms:SECRETTOKEN!",
            "kms:https://hooks.slack.test/SECRETTOKEN",
            "kms:",
            "ssm:",
            "secretsmanager:#SECRETTOKEN",
        ] {
            let error = Webhook::parse(text).unwrap_err();
            assert!(
                error.starts_with("MATSU_SLACK_WEBHOOK ") && error.contains("takes"),
                "{error}"
            );
            assert!(!error.contains("SECRET") && !error.contains("slack.test"), "{error}");
        }
    }

    #[test]
    fn base64_without_its_scheme_is_told_from_other_nonsense() {
        for (text, hint) in [
            ("aHR0cHM6Ly9ob29rcy5zbGFjay50ZXN0L3g=", "but base64 of one: "),
            (
                "AQICAHhexamplebase64AAAAAAAAAAAAAA==",
                "but base64: a ciphertext stands behind kms: ",
            ),
            ("not base64!!", "(or http to loopback): "),
        ] {
            let error = Webhook::parse(text).unwrap_err();
            assert!(error.replace("kms::", "kms: ").contains(hint), "{error}");
        }
    }

    #[test]
    fn a_secret_is_held_to_the_same_as_a_literal_address() {
        let of = |text: &str| Address::of_secret(&Secret::new(text));
        assert_eq!(of(&format!("{SECRET_URL}\n")).ok(), Address::parse(SECRET_URL));
        for (text, says) in [
            ("http://hooks.slack.test/SECRETTOKEN", "something else"),
            ("{\"url\": \"https://hooks.slack.test/SECRETTOKEN\"}", "something else"),
            ("aHR0cHM6Ly9ob29rcy5zbGFjay50ZXN0L3g=", "base64 of one"),
            ("AQICAHhexamplebase64AAAAAAAAAAAAAA==", "encrypted twice"),
        ] {
            let error = of(text).unwrap_err();
            assert!(
                error.starts_with("does not hold an https URL") && error.contains(says),
                "{error}"
            );
            assert!(!error.contains("SECRET") && !error.contains(text), "{error}");
        }
    }

    #[test]
    fn anything_else_is_refused_and_never_shown() {
        for text in [
            "not base64!!",
            "aHR0cHM6Ly9ob29rcy5zbGFjay50ZXN0L3g=",
            "hooks.slack.test/services/T/B/SECRETTOKEN",
            "//hooks.slack.test/services/T/B/SECRETTOKEN",
            "http://hooks.slack.test/services/T/B/SECRETTOKEN",
            "http://localhost@hooks.slack.test/SECRETTOKEN",
            "http://localhost.hooks.slack.test/SECRETTOKEN",
            "http://127.0.0.1.hooks.slack.test/SECRETTOKEN",
            "http://128.0.0.1/SECRETTOKEN",
            "http://[::2]/SECRETTOKEN",
            "http://[::ffff:10.0.0.1]/SECRETTOKEN",
            "http://0.0.0.0/SECRETTOKEN",
            "https:hooks.slack.test/SECRETTOKEN",
            "https:/hooks.slack.test/SECRETTOKEN",
            "https:///services/T/B/SECRETTOKEN",
            "https://\\services/T/B/SECRETTOKEN",
            "https://",
            "https://hooks.slack.test:99999/SECRETTOKEN",
            "https://hooks.slack.test/T/B /SECRETTOKEN",
            "https://hooks.slack.test/T/B\n/SECRETTOKEN",
            "ftp://hooks.slack.test/SECRETTOKEN",
            "file:///etc/SECRETTOKEN",
            "\"https://hooks.slack.test/SECRETTOKEN\"",
            "NONE",
            "KMS:SECRETTOKEN",
        ] {
            let error = Webhook::parse(text).unwrap_err();
            let expected = "MATSU_SLACK_WEBHOOK is not an https URL (or http to loopback)";
            assert!(
                error.starts_with(expected) && error.contains(": it takes "),
                "{text}: {error}"
            );
            assert!(!error.contains(text), "{error}");
            assert!(!error.contains("SECRET") && !error.contains("slack.test"), "{error}");
        }
    }

    #[test]
    fn it_never_shows_itself() {
        let webhook = Webhook::parse(SECRET_URL).unwrap().unwrap();
        assert_eq!(
            format!("{webhook} {webhook:?} {webhook:#?}"),
            ["Webhook(…)"; 3].join(" ")
        );
        assert_eq!(format!("{:?}", Some(&webhook)), "Some(Webhook(…))");
    }

    #[test]
    fn every_part_of_it_is_hidden_in_what_others_say() {
        let address = |text| Address::parse(text).unwrap();
        for (url, said, shown) in [
            (SECRET_URL, "no_service", "no_service"),
            (
                SECRET_URL,
                "The requested URL /services/T0AAAAAAA/B0BBBBBBB/SECRETTOKEN was not found",
                "The requested URL … was not found",
            ),
            (SECRET_URL, &format!("cannot POST {SECRET_URL}!"), "cannot POST …!"),
            (SECRET_URL, "token SECRETTOKEN of team T0AAAAAAA", "token … of team …"),
            ("https://a.test/?token=SECRETTOKEN", "bad token=SECRETTOKEN", "bad …"),
            ("https://a.test/x?k=SECRETTOKEN", "is SECRETTOKEN", "is …"),
            (
                "https://matsu:SECRETWORD@a.test/",
                "matsu: SECRETWORD / no",
                "matsu: … / no",
            ),
        ] {
            assert_eq!(address(url).hide(said), shown);
        }
    }
}
