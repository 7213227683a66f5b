//! What is asked, of whom, and what is never asked.

use super::server::{answer, head};
use super::*;
use crate::record;

fn reaching(allow: &str, names: &Arc<Scripted>) -> Reach {
    let allow = Allow::parse(allow).unwrap();
    let limit = Duration::from_secs(8);
    Reach::with(allow, Roots::default(), no_secrets(), names.clone(), limit)
}

#[tokio::test]
async fn path_query_method_and_headers_go_out_as_they_are_written() {
    let server = Server::start([answer("200 OK", &[], ""), Next::Bytes(head("200 OK", &[]))]).await;
    let url = format!("http://status.example.test:{}//a%2Fb/%7e?x=%41&y=+&y", server.port());
    let get = target(json!({"kind": "http", "url": url, "headers": {"X-Token": "a b", "Accept": "application/json"}}));
    assert_eq!(get.look(&reach()).await, satisfied("200 OK"));
    let head = target(json!({"kind": "http", "url": url, "method": "head"}));
    assert_eq!(head.look(&reach()).await, satisfied("200 OK"));
    let got = server.got();
    assert!(
        got[0].starts_with("GET //a%2Fb/%7e?x=%41&y=+&y HTTP/1.1\r\n"),
        "{got:?}"
    );
    assert!(
        got[1].starts_with("HEAD //a%2Fb/%7e?x=%41&y=+&y HTTP/1.1\r\n"),
        "{got:?}"
    );
    let first = got[0].to_ascii_lowercase();
    for line in [
        "x-token: a b",
        "accept: application/json",
        "accept-encoding: gzip",
        &format!("host: status.example.test:{}", server.port()),
    ] {
        assert!(first.contains(&format!("\r\n{line}\r\n")), "{line}: {first}");
    }
}

#[tokio::test]
async fn a_name_that_leads_to_a_forbidden_address_is_denied_and_nothing_is_sent() {
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "::1",
        "::ffff:127.0.0.1",
        "fd00:ec2::254",
    ] {
        let server = Server::start([answer("200 OK", &[], "")]).await;
        let names = Arc::new(Scripted::default());
        names.next.lock().unwrap().push_back(address);
        let target = target(json!(format!("https://status.example.test:{}/", server.port())));
        let seen = target.look(&reaching("192.168.0.0/16", &names)).await;
        assert!(matches!(seen, Seen::Denied(_)), "{seen:?}");
        says(&seen, &format!("status.example.test is at {address}, which is "));
        assert_eq!(server.got().len(), 0);
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_between_check_and_connection_leads_nowhere_else() {
    let server = Server::start([answer("200 OK", &[], "")]).await;
    let names = Arc::new(Scripted::default());
    // What a second look-up of the same request would find.
    names
        .next
        .lock()
        .unwrap()
        .extend(["127.0.0.1", "127.0.0.2", "127.0.0.2"]);
    let target = at(&server, json!({}));
    let reach = reaching("127.0.0.1", &names);
    assert_eq!(target.look(&reach).await, satisfied("200 OK"));
    assert_eq!(*names.asked.lock().unwrap(), ["status.example.test"]);
    // No connection is kept, so the next look checks again.
    let seen = target.look(&reach).await;
    assert!(matches!(seen, Seen::Denied(_)), "{seen:?}");
    assert_eq!(server.got().len(), 1);
}

#[tokio::test]
async fn of_several_addresses_only_those_that_were_checked_are_connected_to() {
    let server = Server::start([answer("200 OK", &[], "")]).await;
    let names = Arc::new(Scripted::default());
    names.next.lock().unwrap().push_back("127.0.0.2 127.0.0.1 ::1");
    let seen = at(&server, json!({})).look(&reaching("127.0.0.1", &names)).await;
    assert_eq!(seen, satisfied("200 OK"));
}

#[tokio::test]
async fn what_was_accepted_elsewhere_is_checked_again_where_it_is_looked_at() {
    let server = Server::start([answer("200 OK", &[], "")]).await;
    let names = Arc::new(Scripted::default());
    let port = server.port();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("http://user:x@status.example.test:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://status.example.test:{port}/"),
        "file:///proc/self/environ".to_owned(),
    ] {
        // As it might stand in a message.
        let http: Http = serde_json::from_value(json!({"url": url})).unwrap();
        let seen = http.look(&reaching("", &names)).await;
        assert!(matches!(seen, Seen::Denied(_)), "{url}: {seen:?}");
    }
    assert_eq!((server.got().len(), names.asked.lock().unwrap().len()), (0, 0));
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_is_denied_before_any_request() {
    let server = Server::start([answer("200 OK", &[], "")]).await;
    let target = at(&server, json!({"headers": {"Authorization": "ssm:/token"}}));
    let seen = target.look(&reach()).await;
    assert!(matches!(seen, Seen::Denied(_)), "{seen:?}");
    says(&seen, "header authorization: ssm:/token is in AWS");
    assert_eq!(server.got().len(), 0);
}

#[test]
fn the_object_that_is_kept_is_read_back_as_the_same_target() {
    for value in [
        json!({"kind": "http", "url": "https://status.example.test/job/1"}),
        json!({"kind": "http", "url": "https://h/?x=%2F", "method": "POST", "expect": {"status": "200-299"}}),
        json!({"kind": "http", "url": "https://h/", "headers": {"a": "1"}, "expect": {"json": "a", "progress": "b"}}),
    ] {
        let http = Target::Http(Box::new(target(value.clone())));
        assert_eq!(serde_json::to_value(&http).unwrap(), value);
        assert_eq!(serde_json::from_value::<Target>(value).unwrap(), http);
    }
    let short = target(json!("HTTPS://Status.Example.test:443"));
    assert_eq!(
        short,
        target(json!({"kind": "http", "url": "https://status.example.test/", "expect": {}, "method": "get"}))
    );
}

#[test]
fn everything_that_changes_the_meaning_is_in_the_key() {
    let different = [
        json!({}),
        json!({"url": "https://h/b"}),
        json!({"url": "https://h/a?"}),
        json!({"url": "https://h/a?x=%41"}),
        json!({"url": "https://h/a?x=A"}),
        json!({"url": "http://h/a"}),
        json!({"url": "https://h:8443/a"}),
        json!({"method": "POST"}),
        json!({"method": "HEAD"}),
        json!({"expect": {"status": 200}}),
        json!({"expect": {"json": "a"}}),
        json!({"headers": {"a": "ssm:x"}}),
        json!({"headers": {"a": "ssm:y"}}),
        json!({"headers": {"b": "ssm:x"}}),
        json!({"headers": {"a": "x"}}),
        json!({"headers": {"a": "ssm:x"}, "expect": {"json": "a"}}),
    ];
    let keys: std::collections::HashSet<_> = different
        .iter()
        .map(|more| {
            let mut whole = json!({"kind": "http", "url": "https://h/a"});
            whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            record::key(&Target::Http(Box::new(target(whole))))
        })
        .collect();
    assert_eq!(keys.len(), different.len());
    let key = Target::Http(Box::new(target(json!("https://status.example.test/job/1")))).key();
    assert_eq!(key, "http=GET=https://status.example.test/job/1");
}

#[test]
fn a_literal_header_is_kept_for_the_request_and_shown_nowhere() {
    let whole = json!({"kind": "http", "url": "https://h/", "headers": {"Authorization": "Bearer SECRET"}});
    let target = Target::Http(Box::new(target(whole)));
    let kept = serde_json::to_string(&target).unwrap();
    assert!(kept.contains("Bearer SECRET"));
    let shown = serde_json::to_string(&target.shown()).unwrap();
    for text in [
        format!("{target:?} {target}"),
        target.key(),
        record::key(&target),
        shown,
    ] {
        assert!(!text.contains("SECRET"), "{text}");
    }
}

#[test]
fn an_object_that_asks_for_what_is_not_known_is_refused_by_name() {
    for (value, names) in [
        (json!({"url": null}), "target.url"),
        (json!({"url": 1}), "target.url"),
        (json!({"url": "ftp://h/"}), "https://HOST/PATH"),
        (json!({"expects": {}}), "\"expects\""),
        (json!({"expect": 200}), "target.expect"),
        (json!({"method": "DELETE"}), "target.method"),
        (json!({"method": 1}), "target.method"),
        (json!({"method": "HEAD", "expect": {"json": "a"}}), "target.method HEAD"),
        (json!({"headers": []}), "target.headers"),
        (json!({"until": "deleted"}), "target.until"),
        (json!({"region": "eu-west-1"}), "\"region\""),
    ] {
        let mut whole = json!({"kind": "http", "url": "https://h/"});
        whole
            .as_object_mut()
            .unwrap()
            .extend(value.as_object().unwrap().clone());
        let error = Target::from_value(&whole, None, &Here::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(names) && error.contains("take"), "{value}: {error}");
    }
}
