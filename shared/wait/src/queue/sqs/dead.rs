//! Where bodies go that nobody will ever understand.

use aws_sdk_sqs::types::{MessageAttributeValue, QueueAttributeName};
use serde_json::Value;

use super::{QueueError, SqsQueue, error};

/// The longest reason, in characters.
const LONGEST_REASON: usize = 500;

impl SqsQueue {
    /// The URL of the dead-letter queue: the one given, else the one of the redrive policy. Only a URL is remembered,
    /// so that a policy made later is seen.
    pub(super) async fn dead_letter_url(&self) -> Result<Option<&str>, QueueError> {
        if let Some(url) = self.dead_letters.get() {
            return Ok(Some(url));
        }
        let Some(arn) = self.redrive_arn().await? else {
            return Ok(None);
        };
        let url = self.url_of(&arn).await?;
        Ok(Some(self.dead_letters.get_or_init(|| async { url }).await))
    }

    async fn redrive_arn(&self) -> Result<Option<String>, QueueError> {
        let Some(policy) = self.attribute(QueueAttributeName::RedrivePolicy).await? else {
            return Ok(None);
        };
        let arn = serde_json::from_str::<Value>(&policy)
            .ok()
            .and_then(|p| Some(p.get("deadLetterTargetArn")?.as_str()?.to_owned()));
        arn.map(Some).ok_or_else(|| {
            QueueError::Refused(format!(
                "the queue's redrive policy names no dead-letter queue: {policy}"
            ))
        })
    }

    async fn url_of(&self, arn: &str) -> Result<String, QueueError> {
        let mut parts = arn.rsplit(':');
        let (Some(name), Some(account)) = (parts.next(), parts.next()) else {
            return Err(QueueError::Refused(format!(
                "the dead-letter queue {arn:?} is not an ARN"
            )));
        };
        let answer = self
            .client
            .get_queue_url()
            .queue_name(name)
            .queue_owner_aws_account_id(account)
            .send()
            .await
            .map_err(|e| error(&e))?;
        answer
            .queue_url
            .ok_or_else(|| QueueError::Unavailable(format!("the answer tells no URL of the dead-letter queue {arn}")))
    }
}

/// The reason as a message attribute.
pub(super) fn attribute(reason: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder()
        .data_type("String")
        .string_value(printable(reason))
        .build()
        .expect("an attribute has a type")
}

/// What SQS takes as the value of an attribute: never empty, no control characters, not too long.
fn printable(reason: &str) -> String {
    let takes = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    let text: String = reason.chars().map(|c| if takes(c) { c } else { ' ' }).collect();
    let text = text.trim();
    if text.is_empty() {
        return "no reason was given".to_owned();
    }
    match text.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_made_printable_and_is_never_empty() {
        assert_eq!(
            printable("count is -1\n\tat line\u{0} 1\u{ffff}"),
            "count is -1  at line  1"
        );
        assert_eq!(printable("待つ"), "待つ");
        for nothing in ["", " ", "\n\u{7}"] {
            assert_eq!(printable(nothing), "no reason was given");
        }
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let cut = printable(&"待".repeat(5_000));
        assert_eq!(cut.chars().count(), LONGEST_REASON + 1);
        assert!(cut.ends_with('…'));
        assert_eq!(printable(&"x".repeat(LONGEST_REASON)).len(), LONGEST_REASON);
    }
}
