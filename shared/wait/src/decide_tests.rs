use super::*;
use crate::testing::{self, SECOND};
use crate::wait::Policy;

fn pending(text: &str) -> Seen {
    Seen::Pending(Status::new(text))
}

fn at(wait: &Wait, seconds: i64) -> Timestamp {
    wait.started_at + SECOND * u32::try_from(seconds).unwrap()
}

/// The end that `looks` (second, what was seen) come to, and at which look.
fn end_of(policy: Policy, looks: &[(i64, Seen)]) -> Option<(usize, OutcomeKind, Option<Limit>)> {
    let mut wait = testing::wait_for("s3://bucket/key", policy);
    for (index, (second, seen)) in looks.iter().enumerate() {
        let now = at(&wait, *second);
        let (next_wait, next) = decide(wait, seen, u32::try_from(index).unwrap() + 1, now);
        wait = next_wait;
        if let Next::Finish(outcome) = next {
            return Some((index + 1, outcome.kind, outcome.limit));
        }
    }
    None
}

#[test]
fn a_satisfied_target_completes_and_a_failed_one_fails_at_the_first_look() {
    let satisfied = Seen::Satisfied(Status::new("available").at(Some(100)));
    let failed = Seen::Failed(Status::new("failed"), "the copy failed".to_owned());
    let end = |seen| end_of(Policy::default(), &[(0, seen)]);
    assert_eq!(end(satisfied), Some((1, OutcomeKind::Completed, None)));
    assert_eq!(end(failed), Some((1, OutcomeKind::Failed, None)));
}

#[test]
fn a_target_that_was_never_seen_is_pending_for_ten_minutes_then_vanished() {
    let looks = [
        (0, Seen::Missing),
        (300, Seen::Missing),
        (599, Seen::Missing),
        (600, Seen::Missing),
    ];
    assert_eq!(
        end_of(Policy::default(), &looks),
        Some((4, OutcomeKind::Vanished, None))
    );
}

#[test]
fn the_ten_minutes_begin_when_the_job_was_started() {
    let mut wait = testing::wait_for("s3://bucket/key", Policy::default());
    wait.job_started = Some(at(&wait, 5_000));
    let (wait, next) = decide(wait.clone(), &Seen::Missing, 1, at(&wait, 5_599));
    assert!(matches!(next, Next::Again(_)), "{next:?}");
    let (_, next) = decide(wait.clone(), &Seen::Missing, 2, at(&wait, 5_600));
    assert!(matches!(next, Next::Finish(o) if o.kind == OutcomeKind::Vanished));
}

#[test]
fn a_target_that_was_seen_vanishes_at_the_second_look_in_a_row_that_finds_nothing() {
    let looks = [
        (0, pending("creating")),
        (15, Seen::Missing),
        (30, pending("creating")),
        (45, Seen::Missing),
        (60, Seen::Missing),
    ];
    assert_eq!(
        end_of(Policy::default(), &looks),
        Some((5, OutcomeKind::Vanished, None))
    );
}

#[test]
fn three_denied_looks_in_a_row_are_cannot_check_and_two_are_not() {
    let denied = || Seen::Denied("s3:GetObject is missing".to_owned());
    let looks = [
        (0, denied()),
        (1, denied()),
        (2, pending("absent")),
        (3, denied()),
        (4, denied()),
        (5, denied()),
    ];
    assert_eq!(
        end_of(Policy::default(), &looks),
        Some((6, OutcomeKind::CannotCheck, None))
    );
}

#[test]
fn an_unanswered_look_neither_ends_the_wait_nor_resets_a_row() {
    let unknown = || Seen::Unknown("throttled".to_owned());
    let denied = || Seen::Denied("no".to_owned());
    let looks = [
        (0, denied()),
        (1, unknown()),
        (2, denied()),
        (3, unknown()),
        (4, denied()),
    ];
    assert_eq!(
        end_of(Policy::default(), &looks),
        Some((5, OutcomeKind::CannotCheck, None))
    );
    let looks: Vec<_> = (0..100).map(|second| (second, unknown())).collect();
    assert_eq!(end_of(Policy::default(), &looks), None);
}

#[test]
fn pass_max_count_is_the_last_look() {
    let policy = Policy {
        max_count: 30,
        ..Policy::default()
    };
    let looks: Vec<_> = (0..31).map(|second| (second, pending("copying"))).collect();
    assert_eq!(
        end_of(policy.clone(), &looks),
        Some((30, OutcomeKind::GaveUp, Some(Limit::Count)))
    );
    let wait = testing::wait_for("s3://bucket/key", policy);
    assert_eq!(before_look(&wait, 30, 0, wait.started_at), None);
    let gave_up = before_look(&wait, 31, 0, wait.started_at).unwrap();
    assert_eq!((gave_up.kind, gave_up.limit), (OutcomeKind::GaveUp, Some(Limit::Count)));
}

#[test]
fn a_target_that_is_satisfied_at_the_last_look_completes() {
    let policy = Policy {
        max_count: 1,
        timeout: SECOND,
        ..Policy::default()
    };
    let satisfied = Seen::Satisfied(Status::new("exists"));
    assert_eq!(
        end_of(policy, &[(5_000, satisfied)]),
        Some((1, OutcomeKind::Completed, None))
    );
}

#[test]
fn the_deadline_gets_one_last_look_of_its_own() {
    let policy = Policy {
        min_delay: SECOND * 60,
        max_delay: SECOND * 60,
        timeout: SECOND * 100,
        ..Policy::default()
    };
    let wait = testing::wait_for("s3://bucket/key", policy);
    let (wait, next) = decide(wait.clone(), &pending("copying"), 1, at(&wait, 0));
    assert_eq!(next, Next::Again(SECOND * 60));
    let (wait, next) = decide(wait.clone(), &pending("copying"), 2, at(&wait, 60));
    assert_eq!(next, Next::Again(SECOND * 40));
    let (_, next) = decide(wait.clone(), &pending("copying"), 3, at(&wait, 100));
    assert!(matches!(next, Next::Finish(o) if o.limit == Some(Limit::Deadline)));
}

#[test]
fn a_deadline_in_the_past_still_gets_a_look() {
    let policy = Policy {
        timeout: SECOND,
        ..Policy::default()
    };
    let looks = [(90_000, pending("copying"))];
    assert_eq!(
        end_of(policy, &looks),
        Some((1, OutcomeKind::GaveUp, Some(Limit::Deadline)))
    );
}

#[test]
fn giving_up_carries_its_evidence() {
    let policy = Policy {
        max_count: 2,
        ..Policy::default()
    };
    let wait = testing::wait_for("s3://bucket/key", policy);
    let seen = Seen::Pending(Status::new("copying").at(Some(40)));
    let (wait, _) = decide(wait.clone(), &seen, 1, at(&wait, 0));
    let (_, next) = decide(wait.clone(), &seen, 2, at(&wait, 3_661));
    let Next::Finish(outcome) = next else {
        panic!("{next:?}")
    };
    assert_eq!(
        outcome.reason,
        "still copying 40 % after 2 passes in 1h1m1s; the limit is 2 passes"
    );
}

#[test]
fn the_fourth_takeover_of_a_pass_is_cannot_check_without_a_look() {
    let wait = testing::wait_for("s3://bucket/key", Policy::default());
    assert_eq!(before_look(&wait, 1, 3, wait.started_at), None);
    assert_eq!(
        before_look(&wait, 1, 4, wait.started_at).unwrap().kind,
        OutcomeKind::CannotCheck
    );
}

#[test]
fn an_endless_reason_is_cut_between_characters_to_what_messages_have_room_for() {
    for (piece, kept) in [
        ("e", 2_000),
        ("é", 333),
        ("待", 333),
        ("🐟", 166),
        ("\u{0}", 333),
        ("\"", 1_000),
    ] {
        let failed = outcome(OutcomeKind::Failed, None, piece.repeat(5_000), Timestamp::UNIX_EPOCH);
        assert_eq!(failed.reason, piece.repeat(kept));
    }
}

#[test]
fn a_status_that_nobody_knows_is_pending_in_its_own_words_cut_where_it_is_endless() {
    let wait = testing::wait_for("s3://bucket/key", Policy::default());
    let now = wait.started_at;
    for (text, kept) in [("incompatible-restore", 20), ("", 0), (&"x".repeat(10_000), 600)] {
        let (wait, next) = decide(wait.clone(), &pending(text), 1, now);
        assert!(matches!(next, Next::Again(_)), "{next:?}");
        assert_eq!(wait.status.unwrap().text, text[..kept]);
    }
}

#[test]
fn at_the_ends_of_time_and_of_counting_there_is_a_verdict() {
    let policy = Policy {
        max_count: u32::MAX,
        timeout: duration::LONGEST,
        ..Policy::default()
    };
    for started_at in [Timestamp::MIN, Timestamp::MAX] {
        for now in [Timestamp::MIN, Timestamp::MAX] {
            let wait = Wait {
                started_at,
                denied: u32::MAX,
                missing: u32::MAX,
                ..testing::wait_for("s3://bucket/key", policy.clone())
            };
            assert_eq!(
                before_look(&wait, u32::MAX, 0, now),
                None,
                "pass max_count is the last look"
            );
            for seen in [pending("copying"), Seen::Missing, Seen::Denied("no".to_owned())] {
                let (_, next) = decide(wait.clone(), &seen, u32::MAX, now);
                let Next::Finish(outcome) = next else {
                    panic!("pass max_count is the last look: {next:?}");
                };
                assert_ne!(outcome.kind, OutcomeKind::Completed);
            }
            let (_, next) = decide(wait.clone(), &pending("copying"), u32::MAX - 1, now);
            assert_eq!(matches!(next, Next::Finish(_)), now == Timestamp::MAX, "{next:?}");
        }
    }
}

#[test]
fn a_deadline_beyond_the_end_of_time_is_the_end_of_time() {
    let mut wait = testing::wait_for("s3://bucket/key", Policy::default());
    wait.started_at = Timestamp::MAX;
    assert_eq!(wait.deadline(), Timestamp::MAX);
    assert_eq!(delay::after(&wait, 1, Timestamp::MAX), Duration::ZERO);
}
