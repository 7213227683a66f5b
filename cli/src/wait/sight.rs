//! Which wait is followed, and what its target's record says about it: pure.

use matsu_wait::record::Record;
use matsu_wait::wait::Past;

use crate::report::{Document, Ending};

/// The wait that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Followed {
    /// The one with this id.
    Wait(String),
    /// The next one for the target, which is not there yet; the id is of the one before.
    Next(Option<String>),
}

/// What a record says about a wait.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sight<'a> {
    /// It is not there yet.
    NotYet,
    /// It goes on.
    Running(&'a Record),
    /// It has ended.
    Ended(Box<Ending>),
    /// Nothing there tells what became of it.
    Lost,
}

impl Followed {
    /// Looks for the wait in the record of its target. Once the next one is there, it is the one.
    pub(crate) fn sight<'a>(&mut self, record: Option<&'a Record>) -> Sight<'a> {
        if let Self::Next(before) = self {
            match record {
                Some(record) if Some(&record.wait.id) != before.as_ref() => *self = Self::Wait(record.wait.id.clone()),
                _ => return Sight::NotYet,
            }
        }
        let (Self::Wait(id), Some(record)) = (self, record) else {
            return Sight::Lost;
        };
        if record.wait.id == *id {
            return Ending::of(record).map_or(Sight::Running(record), |ending| Sight::Ended(Box::new(ending)));
        }
        let past = record.wait.history.iter().find(|past| past.wait == *id);
        past.map_or(Sight::Lost, |past| Sight::Ended(Box::new(replaced(past, record))))
    }
}

/// The end of a wait in whose place there is another one by now: no more than its outcome is remembered.
fn replaced(past: &Past, record: &Record) -> Ending {
    let document = Document {
        wait: Some(past.wait.clone()),
        target: Some(record.wait.target.clone()),
        outcome: Some(past.outcome.word()),
        ..Document::unreadable("another wait for the same target has begun since then".to_owned())
    };
    Ending {
        kind: past.outcome,
        document,
    }
}

#[cfg(test)]
mod tests {
    use matsu_wait::wait::OutcomeKind;

    use super::*;
    use crate::report::tests::{ended, record};

    const TARGET: &str = "s3://my-bucket/k";

    #[test]
    fn a_wait_is_running_until_its_record_is_done() {
        let mut followed = Followed::Wait("wait-1".to_owned());
        let running = record(TARGET);
        assert_eq!(followed.sight(Some(&running)), Sight::Running(&running));
        let Sight::Ended(ending) = followed.sight(Some(&ended(TARGET, OutcomeKind::Vanished, 5))) else {
            panic!("it has ended");
        };
        assert_eq!(ending.kind, OutcomeKind::Vanished);
    }

    #[test]
    fn a_wait_whose_record_was_taken_over_by_the_next_is_found_in_its_history() {
        let mut next = record(TARGET);
        next.wait.id = "wait-2".to_owned();
        let past = Past {
            wait: "wait-1".to_owned(),
            origin: "o".to_owned(),
            outcome: OutcomeKind::Completed,
            extra: matsu_wait::wait::Extra::new(),
        };
        next.wait.history.push(past);
        let Sight::Ended(ending) = Followed::Wait("wait-1".to_owned()).sight(Some(&next)) else {
            panic!("it has ended");
        };
        assert_eq!((ending.kind, ending.document.count), (OutcomeKind::Completed, None));
        assert_eq!(ending.document.wait.as_deref(), Some("wait-1"));
    }

    #[test]
    fn a_wait_of_which_nothing_is_left_is_lost() {
        let mut followed = Followed::Wait("wait-0".to_owned());
        assert_eq!(followed.sight(None), Sight::Lost);
        assert_eq!(followed.sight(Some(&record(TARGET))), Sight::Lost);
    }

    #[test]
    fn the_next_wait_is_followed_once_it_is_there() {
        let mut followed = Followed::Next(Some("wait-0".to_owned()));
        let mut before = record(TARGET);
        before.wait.id = "wait-0".to_owned();
        assert_eq!(followed.sight(None), Sight::NotYet);
        assert_eq!(followed.sight(Some(&before)), Sight::NotYet);
        assert!(matches!(followed.sight(Some(&record(TARGET))), Sight::Running(_)));
        assert_eq!(followed, Followed::Wait("wait-1".to_owned()));
        assert_eq!(followed.sight(None), Sight::Lost);
    }
}
