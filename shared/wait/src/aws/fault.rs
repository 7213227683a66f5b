//! Failed requests in our terms, whatever the service.

use aws_sdk_s3::error::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

/// A failed request in our terms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What it means.
    pub kind: FaultKind,
    /// The service's code, such as `DBSnapshotNotFound`.
    pub code: Option<String>,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// The service's words, or what happened on the way.
    pub message: String,
}

/// What a failed request means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It may be different in a moment: throttled, time-out, reset, 5xx, a clock that is off.
    Passing,
    /// No usable credentials: none found, or expired.
    Credentials,
    /// The permission is missing.
    Denied,
    /// The service says no for another reason: see the code.
    Other,
}

impl Fault {
    /// Classifies an error of any operation, by the service's code first and the HTTP status second: throttling comes
    /// as 400, too.
    pub fn of<E, R>(error: &SdkError<E, R>) -> Self
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
        R: std::fmt::Debug + HttpStatus + 'static,
    {
        let status = match error {
            SdkError::ServiceError(e) => e.raw().http_status(),
            SdkError::ResponseError(e) => e.raw().http_status(),
            _ => None,
        };
        let (code, message) = match error {
            SdkError::ServiceError(e) => (e.err().code(), e.err().message()),
            _ => (None, None),
        };
        let text = match (code, message, status) {
            (Some(code), Some(message), _) => format!("{code}: {message}"),
            (Some(text), None, _) | (None, Some(text), _) => text.to_owned(),
            (None, None, Some(status)) => format!("HTTP {status} without a readable answer"),
            (None, None, None) => causes(error),
        };
        Self {
            kind: Self::kind_of(error, code, status, &text),
            code: code.map(str::to_owned),
            status,
            message: text,
        }
    }

    /// The code without the ending `Fault`, which some services spell and some leave out.
    #[must_use]
    pub fn stem(&self) -> Option<&str> {
        let code = self.code.as_deref()?;
        Some(code.strip_suffix("Fault").unwrap_or(code))
    }

    /// Whether the same request may be answered differently in a while. A refusal without a code comes from something
    /// on the way, not from the service.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self.kind, FaultKind::Passing | FaultKind::Credentials) || self.code.is_none()
    }

    fn kind_of<E, R>(error: &SdkError<E, R>, code: Option<&str>, status: Option<u16>, text: &str) -> FaultKind {
        match error {
            SdkError::TimeoutError(_) => return FaultKind::Passing,
            SdkError::ConstructionFailure(_) | SdkError::DispatchFailure(_) => {
                // The SDK hides the kind of a failed identity: only its words tell it from a lost connection.
                let credentials = text.contains("redential") || text.contains("identity");
                return if credentials {
                    FaultKind::Credentials
                } else {
                    FaultKind::Passing
                };
            }
            _ => {}
        }
        match (code, status) {
            (
                Some(
                    "Throttling"
                    | "ThrottlingException"
                    | "ThrottledException"
                    | "RequestThrottled"
                    | "RequestThrottledException"
                    | "TooManyRequestsException"
                    | "RequestLimitExceeded"
                    | "BandwidthLimitExceeded"
                    | "LimitExceededException"
                    | "SlowDown"
                    | "PriorRequestNotComplete"
                    | "EC2ThrottledException"
                    | "ProvisionedThroughputExceededException"
                    | "TransactionInProgressException"
                    | "RequestTimeout"
                    | "RequestTimeoutException"
                    | "RequestTimeTooSkewed"
                    | "RequestExpired"
                    | "InternalError"
                    | "InternalFailure"
                    | "ServiceUnavailable"
                    | "KMS.ThrottlingException",
                ),
                _,
            ) => FaultKind::Passing,
            (
                Some(
                    "ExpiredToken"
                    | "ExpiredTokenException"
                    | "TokenRefreshRequired"
                    | "InvalidClientTokenId"
                    | "UnrecognizedClientException"
                    | "InvalidAccessKeyId"
                    | "SignatureDoesNotMatch"
                    | "MissingAuthenticationToken"
                    | "AuthFailure"
                    | "InvalidToken",
                ),
                _,
            ) => FaultKind::Credentials,
            (
                Some(
                    "AccessDenied"
                    | "AccessDeniedException"
                    | "UnauthorizedOperation"
                    | "NotAuthorized"
                    | "AuthorizationError"
                    | "Forbidden"
                    | "AllAccessDisabled"
                    | "OptInRequired",
                ),
                _,
            ) => FaultKind::Denied,
            (_, Some(429 | 500..)) => FaultKind::Passing,
            (None, Some(403)) => FaultKind::Denied,
            (None, None) => FaultKind::Passing,
            _ => FaultKind::Other,
        }
    }
}

/// An error and what caused it, in words.
pub(super) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        next = cause.source();
    }
    text
}

/// The HTTP status of a raw answer.
pub trait HttpStatus {
    /// The status, where there is one.
    fn http_status(&self) -> Option<u16>;
}

impl HttpStatus for aws_sdk_s3::config::http::HttpResponse {
    fn http_status(&self) -> Option<u16> {
        Some(self.status().as_u16())
    }
}
