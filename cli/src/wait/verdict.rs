//! What several waits come to together: pure.

use matsu_wait::target::Target;
use matsu_wait::wait::OutcomeKind;

use crate::failure::Failure;
use crate::report::{Document, Ending};

/// What became of one of the waits of the command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// It has ended.
    Ended(Box<Ending>),
    /// It could not be followed to its end.
    Broken(Failure),
    /// It goes on without this command; its document, as far as it is known.
    Open(Option<Box<Document>>),
}

/// How bad an end is, the worst first; what stands in no place is best.
const WORST_FIRST: [OutcomeKind; 6] = [
    OutcomeKind::Failed,
    OutcomeKind::FailedToStart,
    OutcomeKind::Vanished,
    OutcomeKind::CannotCheck,
    OutcomeKind::GaveUp,
    OutcomeKind::Cancelled,
];

/// The exit code of all the ends: what could not be followed before *failed* and *vanished* before *cannot check* before
/// *gave up* before *cancelled* before *completed*. `any`: one completed wait is enough.
pub(crate) fn exit_code(ends: &[End], any: bool) -> u8 {
    let kinds = || {
        ends.iter().filter_map(|end| match end {
            End::Ended(ending) => Some(ending.kind),
            End::Broken(_) | End::Open(_) => None,
        })
    };
    if any && kinds().any(|kind| kind == OutcomeKind::Completed) {
        return 0;
    }
    let broken = ends.iter().find_map(|end| match end {
        End::Broken(failure) => Some(failure.code()),
        End::Ended(_) | End::Open(_) => None,
    });
    let worst = WORST_FIRST.into_iter().find(|worst| kinds().any(|kind| kind == *worst));
    broken.unwrap_or_else(|| worst.map_or(0, OutcomeKind::exit_code))
}

impl End {
    /// How it ended, in a few words.
    pub(crate) fn how(&self) -> String {
        match self {
            Self::Ended(ending) => ending.how(),
            Self::Broken(failure) => failure.to_string(),
            Self::Open(_) => "it goes on".to_owned(),
        }
    }

    /// The document of one of several.
    pub(crate) fn document(&self, target: &Target) -> Document {
        let nothing = |why: String| Document {
            target: Some(target.clone()),
            ..Document::unreadable(why)
        };
        match self {
            Self::Ended(ending) => ending.document.clone(),
            Self::Broken(failure) => nothing(failure.to_string()),
            Self::Open(Some(document)) => document.as_ref().clone(),
            Self::Open(None) => nothing("the wait goes on: this command did not create it".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use matsu_wait::testing::target;

    use super::*;
    use crate::report::tests::ended;

    fn ends(kinds: &[OutcomeKind]) -> Vec<End> {
        let ending = |kind: &OutcomeKind| Ending::of(&ended("s3://my-bucket/k", *kind, 1)).unwrap();
        kinds.iter().map(|kind| End::Ended(Box::new(ending(kind)))).collect()
    }

    #[test]
    fn of_all_the_worst_end_decides() {
        use OutcomeKind::*;
        for (kinds, code) in [
            (&[Completed, Completed][..], 0),
            (&[Completed, Cancelled], 3),
            (&[Cancelled, GaveUp, Completed], 124),
            (&[GaveUp, CannotCheck, Cancelled], 4),
            (&[CannotCheck, Vanished, GaveUp], 1),
            (&[Completed, FailedToStart, CannotCheck], 1),
            (&[Failed, Completed], 1),
        ] {
            assert_eq!(exit_code(&ends(kinds), false), code, "{kinds:?}");
        }
    }

    #[test]
    fn of_any_one_completed_wait_is_enough() {
        use OutcomeKind::*;
        let mut of = ends(&[Failed, Completed]);
        of.push(End::Open(None));
        assert_eq!(exit_code(&of, true), 0);
        assert_eq!(exit_code(&ends(&[Cancelled, GaveUp]), true), 124);
    }

    #[test]
    fn what_could_not_be_followed_is_worse_than_any_end_and_has_a_document_of_its_own() {
        let mut of = ends(&[OutcomeKind::Failed]);
        of.push(End::Broken(Failure::Service("the record is gone".to_owned())));
        assert_eq!(exit_code(&of, false), 254);
        let document = of[1].document(&target("s3://my-bucket/other"));
        assert_eq!(document.target, Some(target("s3://my-bucket/other")));
        assert_eq!(
            (document.outcome, document.reason.as_deref()),
            (None, Some("the record is gone"))
        );
    }
}
