//! An announcement as a message: pure.
//!
//! It is made to be read at night: the header tells the outcome and of what, then the target in full, then why and what
//! that means, then the numbers. Text of others stands where Slack gives it no meaning: as plain text, or as code in
//! text whose own words are parsed no further (`verbatim`).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::text::{fit, length};
use crate::duration;
use crate::notify::Announcement;
use crate::target::{Here, Target};
use crate::wait::{Outcome, OutcomeKind};

// Slack takes 150 characters in a header, 3,000 in a section, 2,000 in each of 10 fields, and about 10,000 in all.
// Together these stay below that.
const HEADER: usize = 150;
const TARGET: usize = 3_000;
const REASON: usize = 1_800;
const STATUS: usize = 300;
const FIELD: usize = 100;
/// The same within the line for notifications.
const TARGET_IN_LINE: usize = 2_400;
const REASON_IN_LINE: usize = 300;

/// The message for an announcement. Account and region are the target's own, else those of `here`.
#[must_use]
pub fn render(announcement: &Announcement, here: &Here) -> Value {
    let Announcement { target, outcome, .. } = announcement;
    json!({
        "text": line(announcement),
        // The line holds text of others: no formatting in it, no previews of what looks like a link.
        "mrkdwn": false,
        "unfurl_links": false,
        "unfurl_media": false,
        "blocks": [
            { "type": "header", "text": literal(headline(target, outcome)) },
            { "type": "section", "text": literal(in_full(target, TARGET)) },
            { "type": "section", "text": literal(why(outcome)) },
            { "type": "section", "fields": fields(announcement, here) },
            { "type": "context", "elements": [literal(times(announcement))] },
        ],
    })
}

/// The same in its plainest form, for a webhook that does not take the other.
#[must_use]
pub fn plain(announcement: &Announcement) -> Value {
    json!({ "text": line(announcement) })
}

/// Everything that counts in one line: phones show it, and lists of messages.
fn line(announcement: &Announcement) -> String {
    let Announcement { target, outcome, .. } = announcement;
    let mut line = format!(
        "{} {}: {}",
        marker(outcome.kind),
        ended(outcome),
        in_full(target, TARGET_IN_LINE)
    );
    if !outcome.reason.trim().is_empty() {
        line.push_str(" - ");
        line.push_str(&fit(outcome.reason.trim(), REASON_IN_LINE));
    }
    line
}

fn headline(target: &Target, outcome: &Outcome) -> String {
    let ended = format!("{} {}: ", marker(outcome.kind), ended(outcome));
    let room = HEADER - length(&ended);
    let name = match target.rds_snapshot() {
        Some(snapshot) => {
            let of = snapshot.family.resource().replace('-', " ");
            fit(&format!("RDS {of} {}", snapshot.id), room)
        }
        None => in_full(target, room),
    };
    ended + &name
}

/// The target as people type it, with its condition where it has one; a cut spares the condition.
fn in_full(target: &Target, limit: usize) -> String {
    let condition = target
        .until()
        .map_or_else(String::new, |until| format!(" (until {})", until.word()));
    fit(&target.to_string(), limit - length(&condition)) + &condition
}

fn why(outcome: &Outcome) -> String {
    let meaning = meaning(outcome.kind);
    let reason = outcome.reason.trim();
    if reason.is_empty() {
        meaning.to_owned()
    } else {
        format!("Why: {}\n{meaning}", fit(reason, REASON))
    }
}

fn fields(announcement: &Announcement, here: &Here) -> Vec<Value> {
    let Announcement { target, outcome, .. } = announcement;
    let status = announcement.status.as_ref().map(ToString::to_string);
    let account = target.account().or(here.account.as_deref());
    let region = target.region().or(here.region.as_deref());
    [
        Some(field("Outcome", &ended(outcome))),
        code("Last status", status.as_deref(), STATUS),
        Some(field("Passes", &announcement.passes.to_string())),
        Some(field("Duration", &duration::show(announcement.duration()))),
        code("Account", account, FIELD),
        code("Region", region, FIELD),
        code("Wait", Some(&announcement.wait), FIELD),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn times(announcement: &Announcement) -> String {
    let time = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    format!(
        "matsu | started {} | ended {}",
        time(announcement.started_at),
        time(announcement.outcome.at)
    )
}

fn marker(kind: OutcomeKind) -> char {
    match kind {
        OutcomeKind::Completed => '✅',
        OutcomeKind::Failed | OutcomeKind::FailedToStart => '❌',
        OutcomeKind::Vanished => '👻',
        OutcomeKind::Cancelled => '🚫',
        OutcomeKind::GaveUp => '⏰',
        OutcomeKind::CannotCheck => '🔒',
    }
}

/// The outcome's word, and what narrows it.
fn ended(outcome: &Outcome) -> String {
    let word = outcome.kind.word();
    match (outcome.kind, outcome.limit) {
        (OutcomeKind::FailedToStart, _) => format!("{word} to start"),
        (_, Some(limit)) => format!("{word} ({})", limit.word()),
        (_, None) => word.to_owned(),
    }
}

/// What the outcome means for whoever is woken by it.
fn meaning(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Completed => "Nothing to do.",
        OutcomeKind::Failed => "It will not get there by itself.",
        OutcomeKind::FailedToStart => "The work is not running.",
        OutcomeKind::Vanished => "It was deleted, or never came to be.",
        OutcomeKind::Cancelled => "Nobody looks any more. The work itself was not stopped.",
        OutcomeKind::GaveUp => "Nobody looks any more. The work may still be running.",
        OutcomeKind::CannotCheck => "Nobody looks any more. The work may be running, done or failed.",
    }
}

/// Text that Slack shows as it is; `text` is escaped.
fn literal(text: String) -> Value {
    json!({ "type": "plain_text", "text": text, "emoji": false })
}

/// A field of our own words.
fn field(name: &str, value: &str) -> Value {
    json!({ "type": "mrkdwn", "text": format!("*{name}*\n{value}"), "verbatim": true })
}

/// A field of a text of others, if there is one. Numbers in code are not taken for telephone numbers.
fn code(name: &str, value: Option<&str>, limit: usize) -> Option<Value> {
    let value = value.map(str::trim).filter(|value| !value.is_empty())?;
    // Only a backtick ends code.
    let value = fit(&value.replace('`', "'"), limit);
    Some(field(name, &format!("`{value}`")))
}

#[cfg(test)]
mod tests;
