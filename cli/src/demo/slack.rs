//! As much of Slack as the demo needs: an incoming webhook, and its messages as people would read them.

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use serde_json::Value;
use tokio::sync::watch;

/// What the webhook has received.
#[derive(Debug, Clone)]
pub(super) struct Inbox {
    messages: watch::Sender<Vec<Value>>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            messages: watch::Sender::new(Vec::new()),
        }
    }
}

impl Inbox {
    /// The server's answers.
    pub(super) fn router(&self) -> Router {
        let inbox = self.clone();
        let take = move |body: Bytes| async move {
            let message = serde_json::from_slice(&body).unwrap_or(Value::Null);
            inbox.messages.send_modify(|messages| messages.push(message));
            "ok"
        };
        Router::new().route("/services/demo", post(take))
    }

    /// The first message, once it is there.
    pub(super) async fn first(&self) -> Value {
        self.have(1).await;
        self.messages.borrow().first().cloned().unwrap_or_default()
    }

    /// Returns when a second message is there.
    pub(super) async fn second(&self) {
        self.have(2).await;
    }

    async fn have(&self, count: usize) {
        // It cannot end without them: the sender is ours.
        let _ = self
            .messages
            .subscribe()
            .wait_for(|messages| messages.len() >= count)
            .await;
    }
}

/// A message as people would read it: its blocks in plain text, or its text where it has none.
pub(super) fn as_text(message: &Value) -> Vec<String> {
    let blocks = message["blocks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut lines: Vec<String> = Vec::new();
    for block in blocks {
        let single = block.get("text").into_iter();
        let many = ["fields", "elements"]
            .into_iter()
            .filter_map(|name| block[name].as_array())
            .flatten();
        for text in single.chain(many) {
            let text = text["text"].as_str().unwrap_or_default();
            let parts: Vec<String> = text.lines().map(plain).filter(|line| !line.is_empty()).collect();
            match parts.as_slice() {
                // What a field is about stands above it.
                [label, value] if text.starts_with('*') => lines.push(format!("{label:<12} {value}")),
                _ => lines.extend(parts),
            }
        }
    }
    if lines.is_empty() {
        lines.extend(message["text"].as_str().unwrap_or_default().lines().map(plain));
    }
    lines
}

/// A line of Slack's markup without its marks.
fn plain(line: &str) -> String {
    let line = line.trim().replace(['*', '`'], "");
    line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_blocks_of_a_message_are_read_in_order_without_their_marks() {
        let message = json!({
            "text": "short",
            "blocks": [
                {"type": "header", "text": {"type": "plain_text", "text": "completed"}},
                {"type": "section", "text": {"type": "mrkdwn", "text": "*Target*\n`s3://b/a&amp;b`"}},
                {"type": "section", "fields": [{"type": "mrkdwn", "text": "*Passes* 4"}]},
                {"type": "divider"},
                {"type": "context", "elements": [{"type": "mrkdwn", "text": "wait &lt;1&gt;"}]},
            ],
        });
        assert_eq!(
            as_text(&message),
            ["completed", "Target       s3://b/a&b", "Passes 4", "wait <1>"]
        );
    }

    #[test]
    fn a_message_without_blocks_is_its_text() {
        assert_eq!(as_text(&json!({"text": "*done* it is"})), ["done it is"]);
    }
}
