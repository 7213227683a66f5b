//! `matsu show`: everything about one wait.

use std::process::ExitCode;

use jiff::Timestamp;
use matsu_wait::job::Job;
use matsu_wait::record::{Notified, Record, State};
use matsu_wait::target::Until;
use matsu_wait::wait::{Owed, Past, Policy};
use matsu_wait::{delay, duration};
use serde::Serialize;

use crate::args::{Common, Output};
use crate::failure::Failure;
use crate::find::Which;
use crate::progress::short;
use crate::report::Document;
use crate::say;
use crate::session::Session;

/// The document of a wait, with everything else that its record tells.
#[derive(Debug, Serialize)]
pub(crate) struct Shown<'a> {
    #[serde(flatten)]
    document: Document,
    state: State,
    started: Timestamp,
    deadline: Timestamp,
    ended: Option<Timestamp>,
    announced: Option<&'a Notified>,
    policy: &'a Policy,
    job: Option<&'a Job>,
    job_started: Option<Timestamp>,
    origin: &'a str,
    queue: &'a str,
    lease_seconds: f64,
    takeovers: u32,
    ever_seen: bool,
    denied_in_a_row: u32,
    missing_in_a_row: u32,
    history: &'a [Past],
    owed: &'a [Owed],
}

/// Runs the command.
pub(crate) async fn run(common: &Common, which: Which) -> Result<ExitCode, Failure> {
    let session = Session::open_store(common).await?;
    let engine = session.engine().await?;
    let record = which.find(&session, &engine).await?;
    let now = engine.clock.now();
    match session.output {
        Output::Json => say::json(&Shown::of(&record, now))?,
        Output::Text => say::result(text(&lines(&record, now)))?,
    }
    Ok(ExitCode::SUCCESS)
}

impl<'a> Shown<'a> {
    pub(crate) fn of(record: &'a Record, now: Timestamp) -> Self {
        let wait = &record.wait;
        Self {
            document: Document::of(record, now),
            state: record.state,
            started: wait.started_at,
            deadline: wait.deadline(),
            ended: record.outcome.as_ref().map(|outcome| outcome.at),
            announced: record.notified.as_ref(),
            policy: &wait.policy,
            job: wait.job.as_ref(),
            job_started: wait.job_started,
            origin: &wait.origin,
            queue: &wait.home,
            lease_seconds: record.lease.duration().as_secs_f64(),
            takeovers: record.takeovers,
            ever_seen: wait.ever_seen,
            denied_in_a_row: wait.denied,
            missing_in_a_row: wait.missing,
            history: &wait.history,
            owed: &wait.owed,
        }
    }
}

/// What there is to say, each with its name.
fn lines(record: &Record, now: Timestamp) -> Vec<(&'static str, String)> {
    let wait = &record.wait;
    let until = wait.target.until().map(Until::word);
    let mut lines = vec![
        ("wait", wait.id.clone()),
        ("target", wait.target.to_string()),
        ("until", until.unwrap_or_default().to_owned()),
    ];
    lines.extend(state(record, now));
    lines.extend([
        (
            "status",
            wait.status.as_ref().map(ToString::to_string).unwrap_or_default(),
        ),
        (
            "passes",
            format!("{} of at most {}", record.passes(), wait.policy.max_count),
        ),
        ("started", moment(wait.started_at, now)),
        ("deadline", moment(wait.deadline(), now)),
        ("interval", interval(&wait.policy)),
        ("job", job(record)),
        ("origin", wait.origin.clone()),
        ("queue", wait.home.clone()),
        ("lease", duration::show(record.lease.duration())),
    ]);
    if record.takeovers > 0 {
        lines.push((
            "takeovers",
            format!("{} of this pass, from runs that died", record.takeovers),
        ));
    }
    for (word, looks) in [("denied", wait.denied), ("missing", wait.missing)] {
        if looks > 0 {
            lines.push((word, format!("{looks} looks in a row")));
        }
    }
    lines.extend(
        wait.owed
            .iter()
            .map(|owed| ("owed", format!("{} of wait {}", owed.outcome.kind.word(), owed.wait))),
    );
    lines.extend(wait.history.iter().rev().map(|past| {
        (
            "before",
            format!("{} {} (from {})", past.wait, past.outcome.word(), past.origin),
        )
    }));
    lines.retain(|(_, value)| !value.is_empty());
    lines
}

/// How it stands or ended.
fn state(record: &Record, now: Timestamp) -> Vec<(&'static str, String)> {
    let Some(outcome) = &record.outcome else {
        return vec![("state", "waiting".to_owned())];
    };
    let limit = outcome
        .limit
        .map(|limit| format!(" ({})", limit.word()))
        .unwrap_or_default();
    let announced = match &record.notified {
        None => "not yet".to_owned(),
        Some(Notified::Sent) => "yes".to_owned(),
        Some(Notified::Undeliverable(why)) => format!("it cannot be: {why}"),
    };
    vec![
        ("state", "done".to_owned()),
        ("outcome", format!("{}{limit}", outcome.kind.word())),
        ("reason", outcome.reason.clone()),
        ("ended", moment(outcome.at, now)),
        ("announced", announced),
    ]
}

fn job(record: &Record) -> String {
    let Some(job) = &record.wait.job else {
        return String::new();
    };
    match record.wait.job_started {
        Some(at) => format!("{}, started {at:.0}", job.kind()),
        None => format!("{}, not started yet", job.kind()),
    }
}

fn interval(policy: &Policy) -> String {
    let [min, max] = [policy.min_delay, policy.max_delay].map(duration::format);
    if min == max {
        min
    } else {
        format!("{min} growing to {max}")
    }
}

/// A moment to the second, and how far away it is.
fn moment(at: Timestamp, now: Timestamp) -> String {
    let far = |from, to| short(delay::until(from, to));
    if at > now {
        format!("{at:.0} (in {})", far(at, now))
    } else {
        format!("{at:.0} ({} ago)", far(now, at))
    }
}

/// The lines with their names in a column; what is more than one line stays below its beginning.
fn text(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let line = |(name, value): &(&str, String)| {
        let value: Vec<_> = value.lines().collect();
        format!("{name:width$}  {}", value.join(&format!("\n{:width$}  ", "")))
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use matsu_wait::testing::BEGINNING;
    use matsu_wait::wait::{Limit, OutcomeKind, Status};
    use serde_json::json;

    use super::*;
    use crate::report::tests::{ended, record};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(BEGINNING + seconds).unwrap()
    }

    #[test]
    fn a_running_wait_shows_how_far_it_is_and_when_it_gives_up() {
        let mut record = record("s3://my-bucket/k");
        record.wait.status = Some(Status::new("copying").at(Some(45)));
        let shown = text(&lines(&record, at(3_600)));
        for line in [
            "target    s3://my-bucket/k",
            "until     exists",
            "state     waiting",
            "status    copying 45 %",
            "passes    3 of at most 1000",
            "interval  15s growing to 2m",
            "lease     1m",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line} is missing:\n{shown}");
        }
        assert!(shown.contains("(1h ago)") && shown.contains("(in 23h)"), "{shown}");
        assert!(!shown.contains("outcome") && !shown.contains("job"), "{shown}");
    }

    #[test]
    fn an_ended_wait_shows_its_outcome_what_is_owed_and_what_was_before() {
        let mut record = ended("s3://my-bucket/k", OutcomeKind::GaveUp, 90);
        record.outcome.as_mut().unwrap().limit = Some(Limit::Count);
        record.notified = Some(Notified::Undeliverable("HTTP 404".to_owned()));
        let past = json!({ "wait": "wait-0", "origin": "event-7", "outcome": "vanished" });
        record.wait.history = vec![serde_json::from_value(past).unwrap()];
        let shown = text(&lines(&record, at(100)));
        for words in [
            "gave-up (count)",
            "it cannot be: HTTP 404",
            "wait-0 vanished (from event-7)",
            "(10s ago)",
        ] {
            assert!(shown.contains(words), "{words} is missing:\n{shown}");
        }
        assert!(shown.contains("reason     it is\n           so"), "{shown}");
    }

    #[test]
    fn the_document_is_the_result_and_more() {
        let record = ended("s3://my-bucket/k", OutcomeKind::Completed, 90);
        let shown = serde_json::to_value(Shown::of(&record, at(100))).unwrap();
        let result = serde_json::to_value(Document::of(&record, at(100))).unwrap();
        for (name, value) in result.as_object().unwrap() {
            assert_eq!(&shown[name], value);
        }
        assert_eq!(shown["state"], "done");
        assert_eq!(shown["policy"]["max_delay"], "2m");
        assert_eq!(shown["lease_seconds"], 60.0);
        assert!(shown["job"].is_null() && shown["announced"].is_null());
    }
}
