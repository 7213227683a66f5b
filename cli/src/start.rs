//! `matsu start`: an event payload goes through the starter's own code; the waits that it starts are worked elsewhere.

use std::io::Read;
use std::process::ExitCode;

use matsu_starter::{Answer, Served, StartError};
use matsu_wait::engine::Run;
use matsu_wait::target::Target;
use matsu_wait::work::LEASE;
use serde_json::{Map, Value, json};

use crate::args::{Common, Output, RdsCopyArgs, StartArgs, StartWhat};
use crate::failure::Failure;
use crate::say;
use crate::session::Session;

/// Runs the command.
pub(crate) async fn run(common: &Common, args: StartArgs) -> Result<ExitCode, Failure> {
    let mut session = Session::open_silent(common).await?;
    session.check_store()?;
    let payload = match (args.event, args.what) {
        (Some(file), None) => event(&file).await?,
        (None, Some(StartWhat::Wait { target, until })) => wait(&session.target(&target, until).await?),
        (None, Some(StartWhat::RdsCopy(copy))) => rds_copy(&copy),
        (None, None) | (Some(_), Some(_)) => {
            return Err(Failure::Usage(
                "start takes wait TARGET, rds-copy SOURCE or --event FILE".to_owned(),
            ));
        }
    };
    if names_a_snapshot(&payload) {
        session.know_account().await?;
    }
    let engine = session.engine().await?;
    let rules = session.rules();
    // One plain read tells what is wrong with a store; the start would try again for a while.
    engine.store.get("waits/").await?;
    let run = Run::new(engine, LEASE);
    let answer = matsu_starter::serve(&run, &rules, &payload)
        .await
        .map_err(|error| match error {
            StartError::Bad(bad) => Failure::Usage(bad.to_string()),
            StartError::Stop(stop) => stop.into(),
        })?;
    tell(&session, &answer)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what was started, and who is to go on with it.
pub(crate) fn tell(session: &Session, answer: &Answer) -> Result<(), Failure> {
    match session.output {
        Output::Json => say::json(answer)?,
        Output::Text => lines(answer).into_iter().try_for_each(say::result)?,
    }
    if session.embedded() && session.output == Output::Text && !answer.started.is_empty() {
        say::note("nobody looks until the queue is worked: matsu wait TARGET or matsu worker works it");
    }
    Ok(())
}

/// Reads the JSON of an event from a file, or from standard input.
async fn event(file: &str) -> Result<Value, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--event {file}: {why}"));
    let path = file.to_owned();
    let read = move || {
        let mut text = String::new();
        if path == "-" {
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        } else {
            std::fs::read_to_string(path)
        }
    };
    let text = match tokio::task::spawn_blocking(read).await {
        Ok(read) => read.map_err(|fault| wrong(format!("it cannot be read: {fault}")))?,
        Err(fault) => return Err(Failure::Service(fault.to_string())),
    };
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|fault| wrong(format!("it is not JSON: {fault}")))
}

/// The event that asks for a wait.
fn wait(target: &Target) -> Value {
    json!({ "target": target })
}

/// The event that asks for a copy.
fn rds_copy(copy: &RdsCopyArgs) -> Value {
    let mut event = Map::new();
    event.insert("job".to_owned(), json!("rds-copy"));
    event.insert("source".to_owned(), json!(copy.source));
    let optional = [
        ("to", &copy.to),
        ("source_region", &copy.source_region),
        ("kms_key", &copy.kms_key),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            event.insert(name.to_owned(), json!(value));
        }
    }
    if copy.copy_tags {
        event.insert("tags".to_owned(), json!("copy"));
    }
    Value::Object(event)
}

/// Whether a payload may name a snapshot in short, which means one of our own account.
fn names_a_snapshot(payload: &Value) -> bool {
    match payload {
        Value::String(text) => text.contains("rds") || text.contains("snapshot"),
        Value::Array(values) => values.iter().any(names_a_snapshot),
        Value::Object(fields) => {
            fields.contains_key("snapshot") || fields.contains_key("job") || fields.values().any(names_a_snapshot)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// One line for each item of the answer.
fn lines(answer: &Answer) -> Vec<String> {
    let served = |word: &str, served: &Served| {
        let mut line = format!("{word}: {}", served.target);
        if let Some(job) = served.job {
            line.push_str(&format!(" ({job})"));
        }
        if let Some(wait) = &served.wait {
            line.push_str(&format!(", wait {wait}"));
        }
        if let Some(why) = served.why {
            line.push_str(&format!(": {why}"));
        }
        line
    };
    let started = answer.started.iter().map(|s| served("started", s));
    let already = answer.already.iter().map(|s| served("already", s));
    let woken = answer.woken.iter().map(|s| served("woken", s));
    let ignored = answer.ignored.iter().map(|ignored| format!("ignored: {}", ignored.why));
    started.chain(already).chain(woken).chain(ignored).collect()
}

#[cfg(test)]
mod tests {
    use matsu_starter::Ignored;
    use matsu_wait::testing::target;

    use super::*;

    #[test]
    fn a_copy_becomes_the_event_that_asks_for_it() {
        let copy = RdsCopyArgs {
            source: "nightly".to_owned(),
            to: Some("kept".to_owned()),
            source_region: None,
            kms_key: None,
            copy_tags: true,
        };
        assert_eq!(
            rds_copy(&copy),
            json!({"job": "rds-copy", "source": "nightly", "to": "kept", "tags": "copy"})
        );
    }

    #[test]
    fn only_what_may_name_a_snapshot_in_short_needs_the_account() {
        for payload in [
            json!({"target": "rds:snapshot/x"}),
            json!({"snapshot": "x"}),
            json!({"job": "rds-copy"}),
        ] {
            assert!(names_a_snapshot(&payload), "{payload}");
        }
        for payload in [json!({"target": "s3://my-bucket/k"}), json!([]), json!(null)] {
            assert!(!names_a_snapshot(&payload), "{payload}");
        }
    }

    #[test]
    fn each_item_of_the_answer_is_one_line() {
        let served = |why| Served {
            wait: Some("id".to_owned()),
            target: target("s3://my-bucket/k"),
            job: None,
            why,
        };
        let answer = Answer {
            started: vec![served(None)],
            already: vec![served(Some("the target is already waited for"))],
            woken: Vec::new(),
            ignored: vec![Ignored {
                why: "a test event".to_owned(),
            }],
        };
        assert_eq!(
            lines(&answer),
            [
                "started: s3://my-bucket/k, wait id",
                "already: s3://my-bucket/k, wait id: the target is already waited for",
                "ignored: a test event",
            ]
        );
    }
}
