//! Why there is no answer, and what that means: pure.

use std::error::Error;

use rustls::CertificateError;

use super::names::Refused;
use crate::target::Seen;
use crate::web;

/// What it means that there is no answer.
pub(super) fn no_answer(error: reqwest::Error) -> Seen {
    if let Some(refused) = cause::<Refused>(&error) {
        return Seen::Denied(refused.to_string());
    }
    match cause::<rustls::Error>(&error) {
        Some(fault) => match bad_certificate(fault) {
            Some(why) => Seen::Denied(format!("tls: {why}")),
            None => Seen::Unknown(format!("tls: {fault}")),
        },
        None if error.is_builder() => Seen::Denied(format!("it cannot be asked for: {}", web::words(error))),
        None => Seen::Unknown(format!("no answer: {}", web::words(error))),
    }
}

/// The first of an error's causes that is a `T`.
fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // An I/O error passes over what it holds: its cause is that one's cause.
        let held = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        next = match held {
            Some(held) => Some(held),
            None => error.source(),
        };
    }
    None
}

/// What is wrong with a server's certificate, if that is the fault, and what to do about it.
fn bad_certificate(error: &rustls::Error) -> Option<String> {
    use CertificateError as Bad;
    let rustls::Error::InvalidCertificate(bad) = error else {
        return None;
    };
    Some(match bad {
        Bad::UnknownIssuer => "its certificate is signed by nobody that is trusted here (it is self-signed, or its \
                               authority is missing): put that authority into MATSU_CA_BUNDLE"
            .to_owned(),
        Bad::Expired | Bad::ExpiredContext { .. } => "its certificate has expired".to_owned(),
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
            "its certificate is not valid yet, or the clock here is wrong".to_owned()
        }
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } => "its certificate is for another host".to_owned(),
        Bad::Revoked => "its certificate was revoked".to_owned(),
        other => format!("its certificate cannot be trusted: {other}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_found_also_inside_an_io_error() {
        let inner = rustls::Error::InvalidCertificate(CertificateError::Expired);
        let outer = std::io::Error::other(std::io::Error::other(inner.clone()));
        assert_eq!(cause::<rustls::Error>(&outer), Some(&inner));
        assert_eq!(cause::<std::fmt::Error>(&outer), None);
    }
}
