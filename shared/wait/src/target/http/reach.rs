//! One request to a target: made, and read within its limits.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Response, Url};

use super::answer::{Answer, Body, classify, needs_body};
use super::fault::no_answer;
use super::header::Given;
use super::names::{Checked, Names, System};
use super::{Allow, Http, Method, place};
use crate::secret::{Reference, Secret, Secrets, Unread};
use crate::target::Seen;
use crate::web::{self, Roots};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(4);

/// How long a look may take altogether, secrets, names and the body included: below [`crate::engine::limit::LOOK`].
const LOOK: Duration = Duration::from_secs(8);

/// How much of a body is read, in bytes as unpacked.
const LONGEST_BODY: usize = 1 << 20;

/// What `http` targets are looked at with: built once.
#[derive(Debug)]
pub struct Reach {
    allow: Allow,
    roots: Roots,
    secrets: Arc<Secrets>,
    names: Arc<dyn Names>,
    pub(super) limit: Duration,
    secure: OnceLock<Result<Client, String>>,
    plain: OnceLock<Result<Client, String>>,
}

/// The references in a request with what was read for them.
type Used = Vec<(Reference, Secret)>;

impl Reach {
    /// `allow` names what may be asked although it is private, `roots` are trusted beside those of this machine, and
    /// `secrets` reads headers that are kept elsewhere. Nothing is read or built yet.
    #[must_use]
    pub fn new(allow: Allow, roots: Roots, secrets: Arc<Secrets>) -> Self {
        Self::with(allow, roots, secrets, Arc::new(System), LOOK)
    }

    pub(super) fn with(
        allow: Allow,
        roots: Roots,
        secrets: Arc<Secrets>,
        names: Arc<dyn Names>,
        limit: Duration,
    ) -> Self {
        Self {
            allow,
            roots,
            secrets,
            names,
            limit,
            secure: OnceLock::new(),
            plain: OnceLock::new(),
        }
    }

    /// The client for a scheme, built at the first need: by plain `http` only what is allowed by name or address may be
    /// asked.
    fn client(&self, url: &Url) -> Result<&Client, String> {
        let build = |only_allowed| {
            let names = Checked {
                names: self.names.clone(),
                allow: self.allow.clone(),
                only_allowed,
            };
            let builder = web::client(&self.roots).connect_timeout(CONNECT).dns_resolver(names);
            // Reading the roots of this machine takes a while, and nothing is ever encrypted here.
            let builder = if only_allowed {
                builder.tls_certs_only([])
            } else {
                builder
            };
            let client = builder.build();
            client.map_err(|error| format!("no HTTP client can be made: {}", web::words(error)))
        };
        let client = match url.scheme() {
            "https" => self.secure.get_or_init(|| build(false)),
            _ => self.plain.get_or_init(|| build(true)),
        };
        client.as_ref().map_err(Clone::clone)
    }
}

impl Http {
    /// Looks once.
    pub(in crate::target) async fn look(&self, reach: &Reach) -> Seen {
        match tokio::time::timeout(reach.limit, self.ask(reach)).await {
            Ok(Ok(seen) | Err(seen)) => seen,
            Err(_) => Seen::Unknown(format!("no whole answer within {} s", reach.limit.as_secs_f32())),
        }
    }

    /// Asks, and once more where secrets were refused that have changed since they were read.
    async fn ask(&self, reach: &Reach) -> Result<Seen, Seen> {
        let url = self.url().map_err(|bad| Seen::Denied(bad.to_string()))?;
        // It was checked when it was asked for, but perhaps by somebody with other settings.
        if let Some(why) = place::refused(&url, &reach.allow) {
            return Err(Seen::Denied(why));
        }
        let (headers, used) = self.headers(reach, &Vec::new()).await?;
        let status = self.request(reach, &url, headers).await?;
        if !matches!(status, Seen::Denied(_)) || !used.iter().any(|(reference, _)| reference.may_change()) {
            return Ok(status);
        }
        let (headers, read_again) = self.headers(reach, &used).await?;
        if read_again == used {
            return Ok(status);
        }
        self.request(reach, &url, headers).await
    }

    /// The headers with their secrets; those in `refused` are read again.
    async fn headers(&self, reach: &Reach, refused: &Used) -> Result<(HeaderMap, Used), Seen> {
        let mut headers = HeaderMap::new();
        let mut used = Used::new();
        for (name, given) in self.headers.given() {
            let cannot = || Seen::Denied(format!("header {name} has a value that no header has"));
            let mut value = match given {
                Given::Literal(text) => HeaderValue::from_str(text).map_err(|_| cannot())?,
                Given::Secret(reference) => {
                    let old = refused.iter().find(|(of, _)| *of == reference);
                    let secret = match old {
                        Some((_, old)) if reference.may_change() => reach.secrets.again(&reference, old).await,
                        _ => reach.secrets.read(&reference).await,
                    };
                    let secret = secret.map_err(|unread| match unread {
                        Unread::Later(why) => Seen::Unknown(format!("header {name}: {why}")),
                        Unread::Never(why) => Seen::Denied(format!("header {name}: {why}")),
                    })?;
                    let value = HeaderValue::from_str(secret.text()).map_err(|_| cannot())?;
                    used.push((reference, secret));
                    value
                }
            };
            value.set_sensitive(true);
            headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| cannot())?, value);
        }
        Ok((headers, used))
    }

    async fn request(&self, reach: &Reach, url: &Url, headers: HeaderMap) -> Result<Seen, Seen> {
        let method = match self.method {
            Method::Get => reqwest::Method::GET,
            Method::Head => reqwest::Method::HEAD,
            Method::Post => reqwest::Method::POST,
        };
        let client = reach.client(url).map_err(Seen::Denied)?;
        let response = client
            .request(method, url.clone())
            .headers(headers)
            .send()
            .await
            .map_err(no_answer)?;
        let answer = self.read(url, response).await;
        Ok(classify(&self.expect, &answer))
    }

    async fn read(&self, url: &Url, response: Response) -> Answer {
        let status = response.status().as_u16();
        let header = |name| response.headers().get(name)?.to_str().ok();
        let kind =
            header(CONTENT_TYPE).map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        let location = header(LOCATION).and_then(|to| url.join(to).ok());
        let body = if self.method != Method::Head && needs_body(&self.expect, status) {
            body(response).await
        } else {
            Body::Unread
        };
        Answer {
            status,
            kind,
            leads_to: location.and_then(|to| to.host_str().map(str::to_owned)),
            body,
        }
    }
}

/// Reads a body piece by piece, so that never more than the limit is held.
async fn body(mut response: Response) -> Body {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if bytes.len() + piece.len() > LONGEST_BODY => return Body::TooLong(LONGEST_BODY),
            Ok(Some(piece)) => bytes.extend_from_slice(&piece),
            Ok(None) => return Body::Whole(bytes),
            Err(error) => return Body::Torn(web::words(error)),
        }
    }
}
