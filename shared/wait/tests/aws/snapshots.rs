//! RDS snapshots.

use matsu_wait::target::{Look, Seen, Targets};
use matsu_wait::{Here, Target};

use crate::scripted::{Answer, Server, answer, clusters_described, described, refused, silences};

const COPY: &str = "arn:aws:rds:ap-northeast-1:123456789012:snapshot:app-db-copy";

fn here() -> Here {
    Here {
        region: Some("ap-northeast-1".to_owned()),
        account: Some("123456789012".to_owned()),
    }
}

async fn look_at(server: &Server, arn: &str) -> Seen {
    let target = Target::parse(arn, None, &here()).unwrap();
    Targets::new(Some(server.aws("ap-northeast-1")), here())
        .look(&target)
        .await
}

async fn look(answers: impl IntoIterator<Item = Answer>) -> Seen {
    look_at(&Server::new(answers).await, COPY).await
}

fn state(status: &str, percent: &str) -> Answer {
    described(&[&[
        ("DBSnapshotIdentifier", "app-db-copy"),
        ("DBInstanceIdentifier", "app-db"),
        ("Status", status),
        ("PercentProgress", percent),
        ("SnapshotType", "manual"),
    ]])
}

#[tokio::test]
async fn a_copy_completes_only_when_it_is_available() {
    let server = Server::new([
        state("pending", "0").once(),
        state("creating", "0").once(),
        state("copying", "55").once(),
        state("copying", "100").once(),
        state("available", "100"),
    ])
    .await;
    for (word, percent) in [("pending", 0), ("creating", 0), ("copying", 55), ("copying", 100)] {
        let seen = look_at(&server, COPY).await;
        assert!(
            matches!(&seen, Seen::Pending(s) if s.text == word && s.progress == Some(percent)),
            "{seen:?}"
        );
    }
    assert!(matches!(look_at(&server, COPY).await, Seen::Satisfied(s) if s.text == "available"));
}

#[tokio::test]
async fn a_failed_snapshot_fails_at_once_and_an_unknown_state_waits_on() {
    for word in ["failed", "deleting", "incompatible-restore", "FAILED", "error"] {
        let seen = look([state(word, "0")]).await;
        assert!(
            matches!(&seen, Seen::Failed(s, why) if s.text == word && why.contains(word)),
            "{seen:?}"
        );
    }
    assert!(matches!(look([state("some-new-state", "3")]).await, Seen::Pending(s) if s.text == "some-new-state"));
}

#[tokio::test]
async fn an_empty_list_a_list_of_others_and_not_found_are_all_missing() {
    for answers in [
        described(&[]),
        described(&[&[("DBSnapshotIdentifier", "app-db-copy-2"), ("Status", "available")]]),
        refused(
            "DescribeDBSnapshots",
            404,
            "DBSnapshotNotFound",
            "DBSnapshot app-db-copy not found.",
        ),
        refused(
            "DescribeDBSnapshots",
            404,
            "DBSnapshotNotFoundFault",
            "DBSnapshot app-db-copy not found.",
        ),
    ] {
        let seen = look([answers.clone()]).await;
        assert_eq!(seen, Seen::Missing, "{answers:?}");
    }
}

#[tokio::test]
async fn no_answer_is_neither_completion_nor_absence_nor_failure() {
    for silence in silences("DescribeDBSnapshots") {
        let seen = look([silence.clone()]).await;
        assert!(
            matches!(&seen, Seen::Unknown(why) if !why.contains('<')),
            "{silence:?}: {seen:?}"
        );
    }
}

#[tokio::test]
async fn a_denied_look_names_what_to_allow() {
    for code in ["AccessDenied", "AccessDeniedException", "UnauthorizedOperation"] {
        let seen = look([refused("DescribeDBSnapshots", 403, code, "not authorized")]).await;
        assert!(
            matches!(&seen, Seen::Denied(why) if why.contains("rds:DescribeDBSnapshots")),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn a_snapshot_is_asked_for_in_its_own_region() {
    let server = Server::new([
        described(&[&[("DBSnapshotIdentifier", "manual-1-dr"), ("Status", "available")]]).within("us-west-2"),
        refused("DescribeDBSnapshots", 404, "DBSnapshotNotFound", "not found"),
    ])
    .await;
    let seen = look_at(&server, "arn:aws:rds:us-west-2:123456789012:snapshot:manual-1-dr").await;
    assert!(matches!(seen, Seen::Satisfied(_)), "{seen:?}");
}

#[tokio::test]
async fn our_own_goes_by_its_bare_id_with_the_type_of_whoever_made_it_and_a_shared_one_by_its_arn() {
    let own = "arn:aws:rds:ap-northeast-1:123456789012:snapshot:";
    let shared = "arn:aws:rds:ap-northeast-1:111122223333:snapshot:shared-1";
    for (arn, id, kind, include_shared) in [
        (format!("{own}manual-1"), "manual-1", None, None),
        (
            format!("{own}rds:app-2026-01-15-03-04"),
            "rds:app-2026-01-15-03-04",
            Some("automated"),
            None,
        ),
        (
            format!("{own}awsbackup:job-1"),
            "awsbackup:job-1",
            Some("awsbackup"),
            None,
        ),
        (shared.to_owned(), shared, None, Some("true")),
    ] {
        let server = Server::new([described(&[&[("DBSnapshotIdentifier", id), ("Status", "available")]])]).await;
        let seen = look_at(&server, &arn).await;
        assert!(matches!(seen, Seen::Satisfied(_)), "{arn}: {seen:?}");
        let asked = server.asked("DescribeDBSnapshots").pop().unwrap();
        assert_eq!(asked.field("DBSnapshotIdentifier"), Some(id));
        assert_eq!(asked.field("SnapshotType"), kind);
        assert_eq!(asked.field("IncludeShared"), include_shared);
    }
}

#[tokio::test]
async fn where_nobody_said_which_account_is_ours_sts_is_asked_once() {
    let identity = "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>";
    let server = Server::new([state("available", "100"), answer("GetCallerIdentity", 200, identity)]).await;
    let targets = Targets::new(Some(server.aws("ap-northeast-1")), Here::default());
    let target = Target::parse(COPY, None, &Here::default()).unwrap();
    for _ in 0..2 {
        assert!(matches!(targets.look(&target).await, Seen::Satisfied(_)));
    }
    assert_eq!(server.asked("GetCallerIdentity").len(), 1);
    let asked = server.asked("DescribeDBSnapshots").pop().unwrap();
    assert_eq!(asked.field("DBSnapshotIdentifier"), Some("app-db-copy"));
}

#[tokio::test]
async fn a_snapshot_of_a_cluster_is_looked_at_by_the_api_of_clusters_alone() {
    let own = "arn:aws:rds:us-west-2:123456789012:cluster-snapshot:";
    let shared = "arn:aws:rds:us-west-2:111122223333:cluster-snapshot:shared-1";
    for (arn, id, kind, include_shared) in [
        (format!("{own}cs-1"), "cs-1", None, None),
        (
            format!("{own}rds:aurora-main-2026-01-15-03-04"),
            "rds:aurora-main-2026-01-15-03-04",
            Some("automated"),
            None,
        ),
        (shared.to_owned(), shared, None, Some("true")),
    ] {
        for (status, percent) in [("copying", "35"), ("available", "100"), ("failed", "0")] {
            let answer = clusters_described(&[&[
                ("DBClusterSnapshotIdentifier", id),
                ("Status", status),
                ("PercentProgress", percent),
            ]]);
            let server = Server::new([answer.within("us-west-2")]).await;
            let seen = look_at(&server, &arn).await;
            let right = match status {
                "copying" => matches!(&seen, Seen::Pending(s) if s.progress == Some(35)),
                "available" => matches!(&seen, Seen::Satisfied(s) if s.progress == Some(100)),
                _ => matches!(&seen, Seen::Failed(s, _) if s.text == "failed"),
            };
            assert!(right, "{arn} {status}: {seen:?}");
            let asked = server.asked("DescribeDBClusterSnapshots").pop().unwrap();
            assert_eq!(asked.field("DBClusterSnapshotIdentifier"), Some(id));
            assert_eq!(asked.field("SnapshotType"), kind);
            assert_eq!(asked.field("IncludeShared"), include_shared);
        }
    }
}

#[tokio::test]
async fn a_cluster_snapshot_that_is_not_there_is_missing_in_both_spellings_and_a_denied_one_names_what_to_allow() {
    let copy = "arn:aws:rds:ap-northeast-1:123456789012:cluster-snapshot:aurora-copy";
    let not_found = |code| {
        refused(
            "DescribeDBClusterSnapshots",
            404,
            code,
            "DBClusterSnapshot aurora-copy not found.",
        )
    };
    for missing in [
        not_found("DBClusterSnapshotNotFoundFault"),
        not_found("DBClusterSnapshotNotFound"),
        clusters_described(&[]),
        clusters_described(&[&[
            ("DBClusterSnapshotIdentifier", "aurora-copy-2"),
            ("Status", "available"),
        ]]),
    ] {
        let seen = look_at(&Server::new([missing.clone()]).await, copy).await;
        assert_eq!(seen, Seen::Missing, "{missing:?}");
    }
    for silence in silences("DescribeDBClusterSnapshots") {
        let seen = look_at(&Server::new([silence.clone()]).await, copy).await;
        assert!(matches!(seen, Seen::Unknown(_)), "{silence:?}: {seen:?}");
    }
    let denied = refused("DescribeDBClusterSnapshots", 403, "AccessDenied", "not authorized");
    let seen = look_at(&Server::new([denied]).await, copy).await;
    assert!(
        matches!(&seen, Seen::Denied(why) if why.contains("rds:DescribeDBClusterSnapshots")),
        "{seen:?}"
    );
}
