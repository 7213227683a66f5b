//! What a failed request to S3 means: the table of answers, without I/O.

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_s3::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};

use crate::StoreError;

/// What a failed conditional write came to.
#[derive(Debug)]
pub(super) enum Fault {
    /// The condition did not hold, and nothing was written.
    Refused,
    /// Another write was under way, and nothing was written: it may be tried again.
    Conflict(String),
    /// It may have been written, or may yet be.
    Unknown(String),
    /// Nothing was written, for another reason.
    Nothing(StoreError),
}

/// What is known of a failed request.
#[derive(Debug)]
pub(super) struct Failure {
    /// How often it was handed to the network.
    sends: u32,
    /// The status of the last answer, if there was one.
    status: Option<u16>,
    /// The code in its body, such as `NoSuchKey`.
    code: String,
    /// The region that it names.
    region: Option<String>,
    /// All of it in words.
    text: String,
    /// Whether it is for want of credentials or settings that nothing was sent.
    is_set_up_wrongly: bool,
}

impl Failure {
    /// Reads the error of a request for `place` (an `s3://` URL) that was sent `sends` times.
    pub(super) fn new<E>(error: &SdkError<E>, sends: u32, place: &str) -> Self
    where
        E: Error + ProvideErrorMetadata + 'static,
    {
        let answer = error.raw_response();
        let status = answer.map(|answer| answer.status().as_u16());
        let code = error.code().unwrap_or_default().to_owned();
        let text = match (status, error.message()) {
            (Some(status), Some(message)) => format!("{place}: {status} {code}: {message}"),
            (Some(status), None) => format!("{place}: {status} {code}: {}", DisplayErrorContext(error)),
            (None, _) => format!("{place}: {}", DisplayErrorContext(error)),
        };
        Self {
            sends,
            status,
            code,
            region: answer
                .and_then(|answer| answer.headers().get("x-amz-bucket-region"))
                .map(str::to_owned),
            text,
            is_set_up_wrongly: is_set_up_wrongly(error),
        }
    }

    /// What this means for a conditional write: one that replaces a version if `replaces`, else one that creates.
    pub(super) fn of_write(self, replaces: bool) -> Fault {
        if self.sends > 1 {
            // The last answer says nothing of the attempts before it: a 412 may have met our own success.
            return Fault::Unknown(format!("{} (the last of {} attempts)", self.text, self.sends));
        }
        match (self.status, self.code.as_str()) {
            _ if self.sends == 0 => Fault::Nothing(self.unsent()),
            (Some(412), _) => Fault::Refused,
            (Some(404), "NoSuchKey") if replaces => Fault::Refused,
            (Some(409), _) => Fault::Conflict(self.text),
            _ if self.is_no_answer() => Fault::Unknown(self.text),
            (Some(501), _) => Fault::Nothing(self.no_conditions()),
            (Some(400), _) if self.speaks_of_conditions() => Fault::Nothing(self.no_conditions()),
            _ => Fault::Nothing(self.rejection("s3:PutObject", "kms:GenerateDataKey")),
        }
    }

    /// Whether a read may conclude that there is nothing under the key. Only the code says so: a proxy, a wrong address
    /// and a missing bucket answer 404, too.
    pub(super) fn is_absence(&self) -> bool {
        self.status == Some(404) && self.code == "NoSuchKey"
    }

    /// What this means for a read that needs the permission `action`.
    pub(super) fn of_read(self, action: &'static str) -> StoreError {
        if self.sends == 0 {
            self.unsent()
        } else if self.is_no_answer() {
            StoreError::Unavailable(self.text)
        } else {
            self.rejection(action, "kms:Decrypt")
        }
    }

    /// Nothing left this machine.
    fn unsent(self) -> StoreError {
        if self.is_set_up_wrongly {
            StoreError::Unusable(self.text)
        } else {
            StoreError::Unavailable(self.text)
        }
    }

    /// No answer, half an answer, or one that says nothing of what was or will be done.
    fn is_no_answer(&self) -> bool {
        match self.status {
            None | Some(200..=299 | 408 | 429) => true,
            Some(501) => false,
            Some(status) => status >= 500 || self.code == "RequestTimeout",
        }
    }

    fn speaks_of_conditions(&self) -> bool {
        let text = self.text.to_ascii_lowercase();
        self.code == "NotImplemented"
            || ["if-none-match", "if-match", "conditional"]
                .iter()
                .any(|word| text.contains(word))
    }

    fn no_conditions(self) -> StoreError {
        StoreError::Unusable(format!(
            "conditional writes are not supported by this store: {}",
            self.text
        ))
    }

    /// A clear no: nothing was done, and `action` or its counterpart `kms` for the key may be what is missing.
    fn rejection(self, action: &'static str, kms: &'static str) -> StoreError {
        let text = self.text;
        match (self.status, self.code.as_str()) {
            (_, "RequestTimeTooSkewed") => {
                StoreError::Unavailable(format!("this machine's clock is too far off, set it: {text}"))
            }
            (_, "ExpiredToken" | "RequestExpired" | "TokenRefreshRequired") => StoreError::Unavailable(format!(
                "the credentials have expired, renew them or log in again: {text}"
            )),
            (_, "InvalidAccessKeyId" | "InvalidToken" | "SignatureDoesNotMatch") => {
                StoreError::Unusable(format!("the credentials were not accepted: {text}"))
            }
            (_, "NoSuchBucket") => StoreError::Unusable(format!("there is no such bucket: {text}")),
            // A new bucket is not known everywhere at once.
            (Some(307), _) => StoreError::Unavailable(text),
            (Some(300..=399), _) | (_, "AuthorizationHeaderMalformed") => StoreError::Unusable(match self.region {
                Some(region) => format!("the bucket is in the region {region}, use that one: {text}"),
                None => format!("the bucket is in another region, use that one: {text}"),
            }),
            (Some(401 | 403), _) => StoreError::Denied {
                action: if text.to_ascii_lowercase().contains("kms:") {
                    kms
                } else {
                    action
                },
                message: text,
            },
            _ => StoreError::Unusable(text),
        }
    }
}

/// Whether a request failed for what somebody has to set: its own parts, the client's settings, credentials.
fn is_set_up_wrongly<E: Error + 'static>(error: &SdkError<E>) -> bool {
    if let SdkError::ConstructionFailure(_) = error {
        return true;
    }
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(credentials) = error.downcast_ref::<CredentialsError>() {
            return matches!(
                credentials,
                CredentialsError::CredentialsNotLoaded(_) | CredentialsError::InvalidConfiguration(_)
            );
        }
        cause = error.source();
    }
    false
}
