//! The signed URL by which the source's region lets a snapshot go to another region.
//!
//! `CopyDBSnapshot` or `CopyDBClusterSnapshot` in the destination takes it as `PreSignedUrl`: the same request, for the source's region, with
//! `DestinationRegion`. GovCloud needs it for encrypted snapshots, other regions ignore it by now. The SDK for Rust,
//! unlike others, does not make it by itself.

use std::time::Duration;

use aws_sdk_rds::config::ProvideCredentials;
use aws_sdk_rds::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign};
use aws_sigv4::sign::v4;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::aws::{Aws, Fault, FaultKind};

/// How long the URL is good: RDS checks it at once.
const GOOD_FOR: Duration = Duration::from_secs(3_600);

/// What a signed query leaves as it is (RFC 3986, "unreserved").
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A `GET` of RDS in `region` with these parameters, signed with our credentials. It is good for an hour and lets
/// whoever holds it make this one request.
pub(super) async fn url(aws: &Aws, region: &str, parameters: &[(&str, &str)]) -> Result<String, Fault> {
    let config = aws.config();
    let provider = config
        .credentials_provider()
        .ok_or_else(|| fault(FaultKind::Credentials, "no credentials are configured"))?;
    let credentials = provider
        .provide_credentials()
        .await
        .map_err(|e| fault(FaultKind::Credentials, e))?;
    let time = config.time_source().unwrap_or_default();

    let place = Params::builder()
        .region(region)
        .build()
        .map_err(|e| fault(FaultKind::Other, e))?;
    let endpoint = DefaultResolver::new()
        .resolve_endpoint(&place)
        .await
        .map_err(|e| fault(FaultKind::Other, e))?;
    let mut url = format!("{}/?", endpoint.url().trim_end_matches('/'));
    push(&mut url, parameters);

    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(GOOD_FOR);
    let identity = credentials.into();
    let signing = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("rds")
        .time(time.now())
        .settings(settings)
        .build()
        .map_err(|e| fault(FaultKind::Other, e))?;
    let request = SignableRequest::new("GET", &url, std::iter::empty(), SignableBody::Bytes(b""))
        .map_err(|e| fault(FaultKind::Other, e))?;
    let (instructions, _) = sign(request, &signing.into())
        .map_err(|e| fault(FaultKind::Other, e))?
        .into_parts();
    let signed: Vec<(&str, &str)> = instructions
        .params()
        .iter()
        .map(|(name, value)| (*name, value.as_ref()))
        .collect();
    url.push('&');
    push(&mut url, &signed);
    Ok(url)
}

fn push(url: &mut String, parameters: &[(&str, &str)]) {
    for (n, (name, value)) in parameters.iter().enumerate() {
        if n > 0 {
            url.push('&');
        }
        url.push_str(name);
        url.push('=');
        url.extend(utf8_percent_encode(value, ENCODED));
    }
}

fn fault(kind: FaultKind, why: impl std::fmt::Display) -> Fault {
    Fault {
        kind,
        code: None,
        status: None,
        message: why.to_string(),
    }
}
