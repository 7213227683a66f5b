//! AWS clients: one configuration, one HTTP stack, a client for each region that is asked for.

use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_smithy_types::error::display::DisplayErrorContext;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::timeout::TimeoutConfig;

use aws_config::retry::RetryConfig;
use aws_sdk_s3::error::SdkError;

/// What people may say about their account, beside the environment and files that the SDK reads by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The profile of the shared configuration files.
    pub profile: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The endpoint of every service.
    pub endpoint_url: Option<String>,
}

/// The clients.
#[derive(Debug, Clone)]
pub struct Aws {
    config: SdkConfig,
}

impl Aws {
    /// Reads the configuration (environment, files, role) without any request.
    pub async fn load(options: &Options) -> Self {
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(aws_smithy_http_client::tls::Provider::Rustls(
                aws_smithy_http_client::tls::rustls_provider::CryptoMode::Ring,
            ))
            .build_https();
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(2))
            .operation_attempt_timeout(Duration::from_secs(4))
            .operation_timeout(Duration::from_secs(9))
            .build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http)
            .timeout_config(timeouts)
            .retry_config(RetryConfig::standard().with_max_attempts(3));
        if let Some(profile) = &options.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(region) = &options.region {
            loader = loader.region(Region::new(region.clone()));
        }
        if let Some(url) = &options.endpoint_url {
            loader = loader.endpoint_url(url);
        }
        Self {
            config: loader.load().await,
        }
    }

    /// The region that everything happens in unless said otherwise.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.config.region().map(Region::as_ref)
    }

    /// S3 in `region`, or in our own.
    #[must_use]
    pub fn s3(&self, region: Option<&str>) -> aws_sdk_s3::Client {
        let mut config = aws_sdk_s3::config::Builder::from(&self.config);
        if let Some(region) = region {
            config = config.region(aws_sdk_s3::config::Region::new(region.to_owned()));
        }
        aws_sdk_s3::Client::from_conf(config.build())
    }

    /// RDS in `region`.
    #[must_use]
    pub fn rds(&self, region: &str) -> aws_sdk_rds::Client {
        let config = aws_sdk_rds::config::Builder::from(&self.config)
            .region(aws_sdk_rds::config::Region::new(region.to_owned()));
        aws_sdk_rds::Client::from_conf(config.build())
    }

    /// SQS.
    #[must_use]
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.config)
    }

    /// Asks STS which account the credentials belong to.
    ///
    /// # Errors
    /// The fault of the request.
    pub async fn account(&self) -> Result<String, Fault> {
        let answer = aws_sdk_sts::Client::new(&self.config)
            .get_caller_identity()
            .send()
            .await
            .map_err(|e| Fault::of(&e))?;
        answer.account.ok_or_else(|| Fault {
            kind: FaultKind::Other,
            code: None,
            status: None,
            message: "STS named no account".to_owned(),
        })
    }
}

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
        R: std::fmt::Debug + HttpStatus,
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
        let text = message.map_or_else(
            || format!("{}", DisplayErrorContext(error)),
            |m| code.map_or_else(|| m.to_owned(), |c| format!("{c}: {m}")),
        );
        Self {
            kind: Self::kind_of(error, code, status, &text),
            code: code.map(str::to_owned),
            status,
            message: text,
        }
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
                    | "AllAccessDisabled",
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
