//! Our own HTTPS clients, beside those of AWS: straight to the host, nothing followed, nobody in between.

use std::error::Error;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Root certificates that are trusted beside those of this machine (`MATSU_CA_BUNDLE`).
#[derive(Debug, Clone, Default)]
pub struct Roots(Vec<reqwest::Certificate>);

impl Roots {
    /// Reads the certificates of a PEM text; other sections in it are passed over.
    ///
    /// # Errors
    /// What is wrong with it, to be put behind its name.
    pub fn of_pem(pem: &[u8]) -> Result<Self, String> {
        let mut store = rustls::RootCertStore::empty();
        let mut roots = Vec::new();
        for section in CertificateDer::pem_slice_iter(pem) {
            let der = section.map_err(|_| "has a damaged section".to_owned())?;
            let number = roots.len() + 1;
            let unusable = || format!("has a certificate, number {number}, that cannot be read");
            roots.push(reqwest::Certificate::from_der(&der).map_err(|_| unusable())?);
            store.add(der).map_err(|_| unusable())?;
        }
        if roots.is_empty() {
            return Err("has no certificate in it".to_owned());
        }
        Ok(Self(roots))
    }
}

/// A client without redirects, proxies and kept connections, that trusts `roots` beside those of this machine.
pub(crate) fn client(roots: &Roots) -> reqwest::ClientBuilder {
    // Refused where the program has installed one already: then that one serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("matsu/", env!("CARGO_PKG_VERSION")))
        .tls_certs_merge(roots.0.iter().cloned())
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        // Requests are rare, and a connection kept through a frozen function is a dead one.
        .pool_max_idle_per_host(0)
}

/// What a fault says, down to its cause, without the address.
pub(crate) fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    let mut words = Vec::new();
    while let Some(source) = cause.source() {
        words.push(source.to_string());
        cause = source;
    }
    if words.is_empty() {
        words.push(error.to_string());
    }
    words.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUTHORITY: &[u8] = include_bytes!("../tests/tls/authority.pem");

    #[test]
    fn a_bundle_takes_any_number_of_certificates_and_passes_over_the_rest() {
        let two = [b"a comment\n", AUTHORITY, b"\n", AUTHORITY].concat();
        let key = include_bytes!("../tests/tls/server.key");
        assert_eq!(Roots::of_pem(AUTHORITY).unwrap().0.len(), 1);
        assert_eq!(Roots::of_pem(&two).unwrap().0.len(), 2);
        assert_eq!(Roots::of_pem(&[key, AUTHORITY].concat()).unwrap().0.len(), 1);
    }

    #[test]
    fn a_bundle_that_would_add_nothing_is_refused() {
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let torn = &AUTHORITY[..AUTHORITY.len() / 2];
        let garbled = String::from_utf8_lossy(AUTHORITY).replace("MI", "?!");
        for (pem, says) in [
            ("".as_bytes(), "no certificate"),
            (b"hello", "no certificate"),
            (include_bytes!("../tests/tls/server.key"), "no certificate"),
            (damaged.as_bytes(), "cannot be read"),
            (torn, "damaged"),
            (garbled.as_bytes(), "damaged"),
        ] {
            let error = Roots::of_pem(pem).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
