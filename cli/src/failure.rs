//! Why a command came to nothing, by what people can do about it.

use std::fmt;

use matsu_lock::StoreError;
use matsu_wait::aws::{Fault, FaultKind};
use matsu_wait::config::BadConfig;
use matsu_wait::ledger::Stop;
use matsu_wait::queue::QueueError;
use matsu_wait::setup::SetupError;

/// A failure; each kind has an exit code of its own. Outcomes of waits are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no such wait, or nothing to be done about it.
    Absent(String),
    /// What was typed is wrong.
    Usage(String),
    /// The environment, a file or the credentials are.
    Configuration(String),
    /// A service said no, or nothing.
    Service(String),
}

impl Failure {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Absent(_) => 1,
            Self::Usage(_) => 252,
            Self::Configuration(_) => 253,
            Self::Service(_) => 254,
        }
    }

    /// Whether it has to do with who we are.
    pub(crate) fn is_about_credentials(&self) -> bool {
        match self {
            Self::Absent(_) | Self::Usage(_) => false,
            Self::Configuration(text) | Self::Service(text) => speaks_of_credentials(text),
        }
    }

    /// One that has to do with credentials says which command to run.
    pub(crate) fn advised(self, profile: Option<&str>) -> Self {
        let (Self::Configuration(text) | Self::Service(text)) = &self else {
            return self;
        };
        if !speaks_of_credentials(text) {
            return self;
        }
        let advice = match profile {
            Some(profile) => format!("log in with: aws sso login --profile {profile}"),
            None => {
                "log in with: aws sso login (or name a profile with --profile, or set AWS_ACCESS_KEY_ID)".to_owned()
            }
        };
        Self::Configuration(format!("{text}; {advice}"))
    }
}

/// Whether a text in a service's or the SDK's words is about who we are.
fn speaks_of_credentials(text: &str) -> bool {
    const WORDS: [&str; 9] = [
        "redential",
        "ExpiredToken",
        "token included in the request",
        "security token",
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "InvalidClientTokenId",
        "UnrecognizedClient",
        "SSO",
    ];
    WORDS.iter().any(|word| text.contains(word))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Absent(text) | Self::Usage(text) | Self::Configuration(text) | Self::Service(text)) = self;
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        f.write_str(lines.next().unwrap_or("it failed without a word"))?;
        lines.try_for_each(|line| write!(f, " {line}"))
    }
}

impl From<BadConfig> for Failure {
    fn from(bad: BadConfig) -> Self {
        // An error about a value that came from a flag names that flag.
        if bad.0.starts_with("--") {
            Self::Usage(bad.0)
        } else {
            Self::Configuration(bad.0)
        }
    }
}

impl From<StoreError> for Failure {
    fn from(fault: StoreError) -> Self {
        match fault {
            StoreError::Unusable(_) => Self::Configuration(fault.to_string()),
            StoreError::Denied { .. } | StoreError::Unavailable(_) => Self::Service(fault.to_string()),
        }
    }
}

impl From<QueueError> for Failure {
    fn from(fault: QueueError) -> Self {
        Self::Service(fault.to_string())
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Store(fault) => fault.into(),
            Stop::Queue(fault) => fault.into(),
            other => Self::Service(other.to_string()),
        }
    }
}

impl From<SetupError> for Failure {
    fn from(fault: SetupError) -> Self {
        Self::Configuration(fault.to_string())
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault.kind {
            FaultKind::Credentials => Self::Configuration(format!("no usable credentials: {fault}")),
            FaultKind::Passing | FaultKind::Denied | FaultKind::Other => Self::Service(fault.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_whatever_it_was_told() {
        let failure = Failure::Service("first\n\n  second\r\nthird\n".to_owned());
        assert_eq!(failure.to_string(), "first second third");
    }

    #[test]
    fn a_wrong_flag_is_usage_and_a_wrong_environment_configuration() {
        assert_eq!(Failure::from(BadConfig("--store is wrong".to_owned())).code(), 252);
        assert_eq!(Failure::from(BadConfig("MATSU_STORE is wrong".to_owned())).code(), 253);
    }

    #[test]
    fn expired_credentials_name_the_command_to_run() {
        let fault = StoreError::Unavailable("ExpiredToken: the token has expired".to_owned());
        let failure = Failure::from(fault).advised(Some("work"));
        assert_eq!(failure.code(), 253);
        assert!(
            failure.to_string().ends_with("aws sso login --profile work"),
            "{failure}"
        );
    }

    #[test]
    fn other_service_errors_get_no_such_advice() {
        let failure = Failure::from(StoreError::Unavailable("503 SlowDown".to_owned())).advised(None);
        assert_eq!((failure.code(), failure.to_string().contains("log in")), (254, false));
    }
}
