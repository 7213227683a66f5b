//! The wait that a command is about: by its target as people type it, or by its id.

use clap::Args;
use matsu_lock::Store;
use matsu_wait::engine::Engine;
use matsu_wait::record::{self, Record, State};
use matsu_wait::target::{Target, Until};

use crate::args;
use crate::failure::Failure;
use crate::list;
use crate::session::Session;

/// Which wait.
#[derive(Debug, Clone, Args)]
pub(crate) struct Which {
    /// Its target as for matsu wait, or its id as matsu list shows it, from the first eight characters on
    #[arg(value_name = "TARGET")]
    pub(crate) target: String,
    /// The condition of the target, where both are waited for
    #[arg(long, value_parser = args::until, value_name = "exists|deleted")]
    pub(crate) until: Option<Until>,
}

pub(crate) const HELP: &str = "\
Exit codes:
  0 done   1 there is no such wait, or nothing to be done about it
  252 usage   253 configuration or credentials   254 service error";

/// Where the text that was typed leads to.
#[derive(Debug, Clone, PartialEq)]
enum Found {
    /// The record of one wait.
    One(Box<Record>),
    /// Several may be meant.
    Several,
    /// None is.
    Absent,
}

impl Which {
    /// The record of the wait.
    pub(crate) async fn find(&self, session: &Session, engine: &Engine) -> Result<Record, Failure> {
        let absent = |what: &str| {
            Failure::Absent(format!(
                "{what} is not waited for, and was not lately: matsu list shows what is"
            ))
        };
        if is_id(&self.target) {
            return match by_id(&*engine.store, &self.target).await? {
                Found::One(record) => Ok(*record),
                Found::Several => Err(Failure::Usage(format!(
                    "several waits have an id that begins with {}: it takes more of it",
                    self.target
                ))),
                Found::Absent => Err(absent(&format!("what has the id {}", self.target))),
            };
        }
        let mut records = Vec::new();
        for target in self.candidates(session).await? {
            records.extend(read(&*engine.store, &target).await?);
        }
        match one_of(records) {
            Found::One(record) => Ok(*record),
            Found::Several => Err(Failure::Usage(format!(
                "{} has a wait until it exists and one until it is deleted: say which with --until",
                self.target
            ))),
            Found::Absent => Err(absent(&self.target)),
        }
    }

    /// The targets that may be meant: the condition belongs to a target, and few people type it again.
    async fn candidates(&self, session: &Session) -> Result<Vec<Target>, Failure> {
        let target = session.target(&self.target, self.until).await?;
        if self.until.is_some() || target.until().is_none() {
            return Ok(vec![target]);
        }
        let other = session.target(&self.target, Some(Until::Deleted)).await?;
        Ok(vec![target, other])
    }
}

/// The one that can be meant: the only one, or the only one that goes on.
fn one_of(mut records: Vec<Record>) -> Found {
    if records.len() > 1 && records.iter().any(|record| record.state == State::Waiting) {
        records.retain(|record| record.state == State::Waiting);
    }
    match records.pop() {
        None => Found::Absent,
        Some(record) if records.is_empty() => Found::One(Box::new(record)),
        Some(_) => Found::Several,
    }
}

/// The record of a target, if there is one.
pub(crate) async fn read(store: &dyn Store, target: &Target) -> Result<Option<Record>, Failure> {
    let key = record::key(target);
    let Some(stored) = store.get(&key).await? else {
        return Ok(None);
    };
    let record = Record::from_body(&key, &stored.body).map_err(|bad| Failure::Service(bad.to_string()))?;
    Ok(Some(record))
}

async fn by_id(store: &dyn Store, id: &str) -> Result<Found, Failure> {
    let lines = list::read(store, None).await?;
    let records = lines.into_iter().filter_map(|line| line.record.ok());
    let mut records = records.filter(|record| record.wait.id.starts_with(id));
    Ok(match (records.next(), records.next()) {
        (Some(record), None) => Found::One(Box::new(record)),
        (Some(_), Some(_)) => Found::Several,
        (None, _) => Found::Absent,
    })
}

/// Whether a text has the form of a wait's id or its beginning, which no target has.
fn is_id(text: &str) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    (list::SHORT_ID..=32).contains(&text.len()) && text.bytes().all(hex)
}

#[cfg(test)]
mod tests {
    use matsu_wait::wait::OutcomeKind;

    use super::*;
    use crate::report::tests::{ended, record};

    #[test]
    fn of_two_conditions_the_one_that_is_still_waited_for_is_meant() {
        let (open, done) = (record("file:/x"), ended("file:/x", OutcomeKind::Completed, 1));
        assert_eq!(one_of(vec![]), Found::Absent);
        assert_eq!(one_of(vec![done.clone()]), Found::One(Box::new(done.clone())));
        assert_eq!(
            one_of(vec![done.clone(), open.clone()]),
            Found::One(Box::new(open.clone()))
        );
        assert_eq!(one_of(vec![open.clone(), open]), Found::Several);
        assert_eq!(one_of(vec![done.clone(), done]), Found::Several);
    }

    #[test]
    fn an_id_is_told_from_a_target() {
        assert!(is_id("0123456789abcdef0123456789abcdef"));
        assert!(is_id("01234567"));
        for text in [
            "file:/x",
            "0123456",
            "0123456789abcdef0123456789abcdef0",
            "0123456789ABCDEF",
        ] {
            assert!(!is_id(text), "{text}");
        }
    }
}
