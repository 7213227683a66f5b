//! An answer over HTTP: something elsewhere says whether it is done.
//!
//! A look is one request. No redirect is followed, no proxy of the environment is used, no connection is kept. The
//! connection is made only to addresses that were checked: nothing private, unless `MATSU_HTTP_ALLOW` names its host or
//! its network.
//!
//! What an answer means, the first that fits:
//!
//! | answer | seen as |
//! |---|---|
//! | a status that is expected (200 unless [`Expect`] says otherwise), and the rules for the body hold | satisfied |
//! | the same, or another 2xx, and the body says that the work has failed | failed |
//! | the same, and a rule for the body does not hold; any other 2xx, such as 202 or 204 | not yet |
//! | the same, and the body is empty, torn or no JSON where a rule needs JSON | no answer |
//! | a body of more than 1 MiB, unpacked | not yet |
//! | 3xx | not yet; the host that it leads to is told |
//! | 401, 403, 407 | denied |
//! | 404, 410 | missing, with the rule for targets that vanish |
//! | 408, 423, 425, 429, 5xx, no answer within the limit, no connection | no answer |
//! | any other status | not yet |
//! | a certificate that cannot be trusted, an address that may not be asked, a secret that may not be read | denied |

mod allow;
mod answer;
mod body;
mod expect;
mod fault;
mod header;
mod names;
mod place;
mod reach;
mod status;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use allow::Allow;
pub use expect::{Expect, Rule};
pub use header::Headers;
pub use reach::Reach;
pub use status::Statuses;

use super::{BadTarget, Kind, Seen, Targets};
use crate::wait::{Extra, is_default};

/// What is asked for, and what it has to answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Http {
    /// Its address; path and query are sent byte for byte. A query is shown wherever the target is: secrets belong into
    /// headers.
    pub url: String,
    /// How it is asked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub method: Method,
    /// What the answer has to be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub expect: Expect,
    /// Headers of the request.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// Fields of a later release.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a target is asked: a look may be repeated at any time, so nothing that changes things belongs here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// `GET`
    #[default]
    Get,
    /// `HEAD`: there is no body to judge.
    Head,
    /// `POST` with an empty body, for what answers to nothing else.
    Post,
}

impl Method {
    fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
        }
    }
}

impl Http {
    /// Reads the string that people type: a URL whose answer is read as is customary.
    pub(super) fn parse(text: &str) -> Result<Self, BadTarget> {
        Ok(Self {
            url: place::read(text)?.into(),
            method: Method::default(),
            expect: Expect::default(),
            headers: Headers::default(),
            extra: Extra::new(),
        })
    }

    /// Reads the object. A field that is not known is refused: what it asks for would not be done.
    pub(super) fn from_fields(fields: &Map<String, Value>) -> Result<Self, BadTarget> {
        let whole = Value::Object(fields.clone());
        let fields = expect::object(&whole, "target", &["kind", "url", "expect", "headers", "method"])?;
        let url = expect::set(fields, "url").and_then(Value::as_str);
        let url = url.ok_or_else(|| BadTarget::new("target.url is missing or no text: it takes https://HOST/PATH"))?;
        let mut http = Self::parse(url)?;
        if let Some(value) = expect::set(fields, "expect") {
            http.expect = Expect::read(value)?;
        }
        if let Some(value) = expect::set(fields, "headers") {
            http.headers = Headers::read(value)?;
        }
        if let Some(value) = expect::set(fields, "method") {
            let method = [Method::Get, Method::Head, Method::Post].into_iter().find(|method| {
                value
                    .as_str()
                    .is_some_and(|word| word.eq_ignore_ascii_case(method.word()))
            });
            http.method = method.ok_or_else(|| BadTarget::new("target.method is wrong: it takes GET, HEAD or POST"))?;
        }
        if http.method == Method::Head && http.expect.asks_body() {
            return Err(BadTarget::new(
                "target.method HEAD has no body in its answer: with json, failed or progress it takes GET",
            ));
        }
        Ok(http)
    }

    /// The same, if it may be asked from here as far as its form tells.
    ///
    /// # Errors
    /// [`BadTarget`], naming the setting that would allow it.
    pub fn check(&self, allow: &Allow) -> Result<(), BadTarget> {
        match place::refused(&place::read(&self.url)?, allow) {
            None => Ok(()),
            Some(why) => Err(BadTarget::new(why)),
        }
    }

    /// The same without a literal header in it, to be shown.
    #[must_use]
    pub fn shown(&self) -> Self {
        Self {
            headers: self.headers.shown(),
            ..self.clone()
        }
    }

    fn url(&self) -> Result<Url, BadTarget> {
        place::read(&self.url)
    }
}

#[async_trait]
impl Kind for Http {
    fn word(&self) -> &'static str {
        "http"
    }

    /// A URL has no line end, so what stands behind one is not part of it.
    fn key(&self) -> String {
        let mut key = format!("http={}={}", self.method.word(), self.url);
        for (name, value) in [
            ("expect", (!is_default(&self.expect)).then(|| self.expect.key())),
            ("headers", (!self.headers.is_empty()).then(|| self.headers.key())),
        ] {
            if let Some(value) = value {
                key.push_str(&format!("\n{name}={}", json!(value)));
            }
        }
        key
    }

    async fn look(&self, from: &Targets) -> Seen {
        match &from.reach {
            Some(reach) => self.look(reach).await,
            None => Seen::Denied(format!(
                "{self} is asked over HTTP, and nothing here is set up for that"
            )),
        }
    }
}

impl std::fmt::Display for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.url)
    }
}
