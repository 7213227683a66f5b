//! Queue URLs. They are opaque: the host says nothing, and no request goes there.

/// A queue URL that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQueueUrl {
    /// The queue cannot delay single messages.
    #[error("{0} is a FIFO queue, which cannot delay single messages: it takes a standard queue")]
    Fifo(String),
    /// It is none.
    #[error("{0:?} is not the URL of a queue: it takes https://HOST/ACCOUNT/NAME")]
    Malformed(String),
    /// What nobody understands would come back for ever.
    #[error("{0} is given as the queue and as its dead-letter queue: it takes two different queues")]
    OwnDeadLetters(String),
}

/// Account and name: the last two parts of the path.
///
/// # Errors
/// [`BadQueueUrl`].
pub(super) fn home_of(url: &str) -> Result<String, BadQueueUrl> {
    let malformed = || BadQueueUrl::Malformed(url.to_owned());
    let is_strange = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '\\');
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let (host, path) = rest.and_then(|r| r.split_once('/')).ok_or_else(malformed)?;
    let (before, name) = path.rsplit_once('/').ok_or_else(malformed)?;
    let account = before.rsplit('/').next().unwrap_or(before);
    if host.is_empty() || account.is_empty() || name.is_empty() || url.contains(is_strange) {
        return Err(malformed());
    }
    if name.ends_with(".fifo") {
        return Err(BadQueueUrl::Fifo(url.to_owned()));
    }
    Ok(format!("{account}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_account_and_name_whatever_the_host() {
        for url in [
            "https://sqs.eu-west-1.amazonaws.com/123456789012/waits",
            "https://eu-west-1.queue.amazonaws.com/123456789012/waits",
            "https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com/123456789012/waits",
            "http://127.0.0.1:4566/123456789012/waits",
            "http://queue.local:4566/queue/eu-west-1/123456789012/waits",
        ] {
            assert_eq!(home_of(url).as_deref(), Ok("123456789012/waits"), "{url}");
        }
    }

    #[test]
    fn a_fifo_queue_is_refused_in_one_sentence_that_says_why() {
        let url = "https://sqs.eu-west-1.amazonaws.com/123456789012/waits.fifo";
        let said = home_of(url).unwrap_err().to_string();
        assert_eq!(
            said,
            format!("{url} is a FIFO queue, which cannot delay single messages: it takes a standard queue")
        );
        assert!(home_of("https://h/123456789012/waits-fifo").is_ok());
    }

    #[test]
    fn what_is_no_queue_url_is_refused_with_what_it_takes() {
        for url in [
            "",
            "waits",
            "arn:aws:sqs:eu-west-1:123456789012:waits",
            "sqs://h/123456789012/waits",
            "https://h",
            "https://h/",
            "https://h/waits",
            "https://h/123456789012/",
            "https://h//waits",
            "https:///123456789012/waits",
            "https://h/123456789012/waits/",
            "https://h/123456789012/waits?x=y",
            "https://h/123456789012/waits#x",
            " https://h/123456789012/waits",
            "https://h/123456789012/waits\n",
        ] {
            let said = home_of(url).unwrap_err().to_string();
            assert!(said.contains("https://HOST/ACCOUNT/NAME"), "{url:?}: {said}");
        }
    }

    proptest::proptest! {
        #![proptest_config(crate::fuzz::cases(3_000))]

        #[test]
        fn any_text_is_refused_or_has_a_home_of_two_parts_from_its_end(text in crate::fuzz::text(), host in "(https?://)?[a-z.:/]{0,8}") {
            let url = format!("{host}{text}");
            if let Ok(home) = home_of(&url) {
                let parts: Vec<_> = home.split('/').collect();
                proptest::prop_assert!(parts.len() == 2 && parts.iter().all(|part| !part.is_empty()), "{}", home);
                let whole = format!("/{home}");
                proptest::prop_assert!(url.ends_with(&whole));
            }
        }
    }
}
