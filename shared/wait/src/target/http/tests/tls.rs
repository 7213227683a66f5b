//! Certificates: what is wrong with one is named, and never completes anything.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;

const AUTHORITY: &[u8] = include_bytes!("../../../../tests/tls/authority.pem");
const KEY: &[u8] = include_bytes!("../../../../tests/tls/server.key");
const GOOD: &[u8] = include_bytes!("../../../../tests/tls/good.pem");
const EXPIRED: &[u8] = include_bytes!("../../../../tests/tls/expired.pem");
const OTHER_HOST: &[u8] = include_bytes!("../../../../tests/tls/other-host.pem");
const SELF_SIGNED: &[u8] = include_bytes!("../../../../tests/tls/self-signed.pem");

/// A server with this certificate that answers one request with a body that says done; its port.
fn serve(certificate: &[u8]) -> u16 {
    let chain = vec![CertificateDer::from_pem_slice(certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        // Whoever does not trust it goes away here.
        let mut request = [0; 4_096];
        if stream.read(&mut request).is_ok_and(|read| read > 0) {
            let body = "{\"status\":\"done\"}";
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n";
            let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
        }
    });
    port
}

async fn look(certificate: &[u8], bundle: &[u8]) -> Seen {
    let target = target(json!(format!("https://status.example.test:{}/", serve(certificate))));
    let roots = if bundle.is_empty() {
        Roots::default()
    } else {
        Roots::of_pem(bundle).unwrap()
    };
    let allow = Allow::parse("127.0.0.1").unwrap();
    let names = Arc::new(Scripted::default());
    let reach = Reach::with(allow, roots, no_secrets(), names, Duration::from_secs(8));
    target.look(&reach).await
}

#[tokio::test]
async fn an_authority_of_the_bundle_is_trusted() {
    assert_eq!(look(GOOD, AUTHORITY).await, satisfied("200 OK"));
}

#[tokio::test]
async fn a_certificate_that_cannot_be_trusted_is_denied_with_what_is_wrong() {
    for (certificate, bundle, what) in [
        (SELF_SIGNED, AUTHORITY, "signed by nobody that is trusted here"),
        (SELF_SIGNED, b"", "MATSU_CA_BUNDLE"),
        (GOOD, b"", "signed by nobody that is trusted here"),
        (EXPIRED, AUTHORITY, "has expired"),
        (OTHER_HOST, AUTHORITY, "is for another host"),
    ] {
        let seen = look(certificate, bundle).await;
        assert!(
            matches!(&seen, Seen::Denied(why) if why.starts_with("tls: its certificate ")),
            "{seen:?}"
        );
        says(&seen, what);
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_no_answer_and_named_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        // Until the other side has gone: a reset would hide what was said.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let seen = target(json!(format!("https://status.example.test:{port}/")))
        .look(&reach())
        .await;
    assert!(
        matches!(&seen, Seen::Unknown(why) if why.starts_with("tls: ")),
        "{seen:?}"
    );
}
