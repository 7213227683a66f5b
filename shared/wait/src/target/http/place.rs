//! The URL of a target: what its form alone says. Pure.

use std::net::IpAddr;

use reqwest::Url;

use super::allow::{Allow, forbidden};
use crate::target::BadTarget;

/// Names that mean this machine or the cloud's own services wherever they are asked for.
const OWN_NAMES: [&str; 5] = [
    "localhost",
    "metadata",
    "metadata.google.internal",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Reads a URL, kept as it is written: its path and query are sent byte for byte.
///
/// # Errors
/// [`BadTarget`]: it is none, or one that the request could not be made for as it stands.
pub(super) fn read(text: &str) -> Result<Url, BadTarget> {
    let bad = |why: &str| BadTarget::new(format!("{} {why}", shown(text)));
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let Some(("https" | "http", rest)) = scheme.as_deref().zip(text.split_once("://").map(|(_, rest)| rest)) else {
        return Err(bad("is not the URL of an http target: it takes https://HOST/PATH"));
    };
    if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err(bad(
            "has white space, a control character or a backslash in it: it takes them percent-encoded",
        ));
    }
    if text.contains('#') {
        return Err(bad(
            "has a fragment, which no server ever sees: leave out # and what follows it",
        ));
    }
    let (host, tail) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    // Told by the text, because the parser drops it where it is empty. A password is not shown.
    if host.contains('@') {
        return Err(BadTarget::new(
            "the URL of an http target has a user or password in it: it takes them as a header, \
             {\"Authorization\": \"ssm:NAME\"}",
        ));
    }
    let url = Url::parse(text).map_err(|why| bad(&format!("is not a URL ({why}): it takes https://HOST/PATH")))?;
    if host.is_empty() || url.host_str().is_none_or(str::is_empty) {
        return Err(bad("names no host: it takes https://HOST/PATH"));
    }
    let (path, query) = match tail.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (tail, None),
    };
    if url.path() != if path.is_empty() { "/" } else { path } {
        return Err(bad(&format!(
            "would be asked for as {}: write it so if that is meant",
            url.path()
        )));
    }
    if url.query() != query {
        return Err(bad(
            "has a query that would be sent in another spelling: it takes it percent-encoded",
        ));
    }
    Ok(url)
}

/// Why a URL must not be asked for, as far as its form tells: whoever reads it knows what is allowed here.
pub(super) fn refused(url: &Url, allow: &Allow) -> Option<String> {
    let host = url.host_str().unwrap_or_default();
    if allow.host(host) {
        return None;
    }
    let plain = url.scheme() == "http";
    if let Some(address) = literal(host) {
        if allow.address(address) {
            return None;
        }
        if let Some(what) = forbidden(address) {
            return Some(format!(
                "{host} is {what}, which is not asked unless MATSU_HTTP_ALLOW names it or its network"
            ));
        }
    } else {
        let name = host.trim_end_matches('.');
        if OWN_NAMES.contains(&name) || name.ends_with(".localhost") {
            return Some(format!(
                "{host} is this machine or the cloud's own, which is not asked unless MATSU_HTTP_ALLOW names it"
            ));
        }
        if plain && allow.has_networks() {
            // Its addresses will tell.
            return None;
        }
    }
    plain.then(|| format!("{host} is asked by plain http: it takes https, or MATSU_HTTP_ALLOW would have to name it"))
}

/// The address that stands in place of a host's name; the parser has brought every spelling into one form.
fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

/// A URL in an error: at most so much, and nothing of its query.
fn shown(text: &str) -> String {
    let short: String = text
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .chars()
        .take(120)
        .collect();
    let short = match short.split_once("://") {
        // What stands before an @ may be a password.
        Some((scheme, rest)) if rest.split('/').next().unwrap_or_default().contains('@') => {
            format!("{scheme}://…")
        }
        _ => short,
    };
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str, allow: &str) -> Option<String> {
        let allow = Allow::parse(allow).unwrap();
        match read(text) {
            Err(bad) => Some(bad.to_string()),
            Ok(url) => refused(&url, &allow),
        }
    }

    /// Spellings of what must never be asked.
    const FORBIDDEN: [&str; 62] = [
        "http://169.254.169.254/latest/meta-data/",
        "https://169.254.169.254/latest/meta-data/",
        "https://169.254.169.254:443/",
        "https://169.254.169.254./",
        "https://2852039166/",
        "https://0xa9fea9fe/",
        "https://0XA9FEA9FE/",
        "https://025177524776/",
        "https://0251.0376.0251.0376/",
        "https://0xa9.0xfe.0xa9.0xfe/",
        "https://0xa9.254.0251.254/",
        "https://169.254.43518/",
        "https://169.16689662/",
        "https://%31%36%39.254.169.254/",
        "https://169%2e254%2e169%2e254/",
        "https://①⑥⑨.②⑤④.①⑥⑨.②⑤④/",
        "https://169。254。169。254/",
        "https://169.254.170.2/v2/credentials",
        "https://[fd00:ec2::254]/",
        "https://[fd00:ec2:0:0:0:0:0:254]/",
        "https://[::ffff:169.254.169.254]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[0:0:0:0:0:ffff:a9fe:a9fe]/",
        "https://[::169.254.169.254]/",
        "https://[64:ff9b::169.254.169.254]/",
        "https://[2002:a9fe:a9fe::1]/",
        "https://127.0.0.1/",
        "http://127.0.0.1:9001/2018-06-01/runtime/invocation/next",
        "https://127.1/",
        "https://127.0.1/",
        "https://127.255.255.254/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://017700000001/",
        "https://0177.0.0.1/",
        "https://[::1]/",
        "https://[0:0:0:0:0:0:0:1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::]/",
        "https://0/",
        "https://0.0.0.0/",
        "https://0x0/",
        "http://localhost:9001/",
        "https://localhost/",
        "https://LOCALHOST/",
        "https://localhost./",
        "https://ｌｏｃａｌｈｏｓｔ/",
        "https://a.localhost/",
        "https://metadata.google.internal/computeMetadata/v1/",
        "https://metadata.google.internal./",
        "https://instance-data.ec2.internal/",
        "https://10.0.0.1/",
        "https://172.16.0.1/",
        "https://192.168.1.1/",
        "https://100.64.0.1/",
        "https://100.100.100.200/",
        "https://168.63.129.16/",
        "https://192.0.2.1/",
        "https://224.0.0.1/",
        "https://[fe80::1]/",
        "https://[ff02::1]/",
    ];

    #[test]
    fn no_spelling_of_a_forbidden_address_is_taken() {
        for text in FORBIDDEN {
            assert!(reason(text, "").is_some(), "{text}");
            assert!(reason(text, "build.internal,198.51.100.0/24").is_some(), "{text}");
        }
    }

    #[test]
    fn an_allowance_reaches_its_hosts_and_networks_and_no_further() {
        for (text, allow) in [
            ("http://127.0.0.1:9001/", "127.0.0.1"),
            ("http://127.1/", "127.0.0.0/8"),
            ("https://[::ffff:127.0.0.1]/", "127.0.0.1"),
            ("http://localhost/", "localhost"),
            ("http://build.internal/", "build.internal"),
            ("http://BUILD.internal./x", "build.internal"),
            ("http://status.example.test/", "10.0.0.0/8"),
            ("https://status.example.test/", ""),
            ("https://8.8.8.8/", ""),
        ] {
            assert_eq!(reason(text, allow), None, "{text} with {allow}");
        }
        for (text, allow) in [
            ("http://status.example.test/", ""),
            ("http://status.example.test/", "build.internal"),
            ("http://8.8.8.8/", "10.0.0.0/8"),
            ("http://x.build.internal/", "build.internal"),
            ("http://127.0.0.2/", "127.0.0.1"),
            ("https://localhost/", "127.0.0.1"),
        ] {
            assert!(reason(text, allow).is_some(), "{text} with {allow}");
        }
    }

    #[test]
    fn a_url_is_refused_for_its_form_in_one_sentence_that_says_what_it_takes() {
        for (text, says) in [
            ("gopher://x", "https://HOST/PATH"),
            ("https:status.example.test", "https://HOST/PATH"),
            ("https:/status.example.test/", "https://HOST/PATH"),
            ("https:///x", "names no host"),
            ("https://?x", "is not a URL (empty host)"),
            ("https://h:99999/", "is not a URL"),
            ("https://h/#x", "fragment"),
            ("https://h/a b", "percent-encoded"),
            ("https://h/a\\b", "percent-encoded"),
            (" https://h/", "https://HOST/PATH"),
            ("https://h/\n", "percent-encoded"),
            ("https://user:SECRET@h/", "as a header"),
            ("http://status.example.test@169.254.169.254/", "as a header"),
            ("https://@h/", "as a header"),
            ("https://h/日本", "would be asked for as /%E6%97%A5%E6%9C%AC"),
            ("https://h/a/../b", "would be asked for as /b"),
            ("https://h/%2e%2e/b", "would be asked for as /b"),
            (
                "https://h/?q='SECRET'",
                "has a query that would be sent in another spelling",
            ),
        ] {
            let error = reason(text, "").unwrap();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains("SECRET") && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn path_and_query_stay_byte_for_byte() {
        for text in [
            "https://h/",
            "https://h/a//b/",
            "https://h/a%2Fb%2fc%20d?x=%41&y=+&z=a/b?c",
            "https://h/a;b=c,d@e:f!$&()*~",
            "https://h/?",
            "https://h:8443/?a=1&a=2",
            "https://xn--wgv71a.test/",
        ] {
            assert_eq!(read(text).unwrap().as_str(), text);
        }
        assert_eq!(read("HTTPS://H.Test:443").unwrap().as_str(), "https://h.test/");
        assert_eq!(read("https://h?x").unwrap().as_str(), "https://h/?x");
    }

    #[test]
    fn a_query_may_be_a_secret_and_stands_in_no_error() {
        let error = reason("https://h/a b?token=SECRET", "").unwrap();
        assert!(!error.contains("SECRET"), "{error}");
        let error = reason("https://10.0.0.1/?token=SECRET", "").unwrap();
        assert!(!error.contains("SECRET"), "{error}");
    }
}
