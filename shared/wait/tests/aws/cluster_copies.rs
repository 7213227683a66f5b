//! Copies of cluster snapshots: the same as of instances, by the API of clusters alone.

use matsu_wait::Target;
use matsu_wait::job::{Begun, CopyRequest, CopySettings, Job, Jobs, PrepareError, Tags};

use crate::copies::{MADE, dr, here, jobs, of};
use crate::scripted::{Answer, Server, answer, clusters_described, refused, silences, xml};

const AUTOMATED: &str = "arn:aws:rds:ap-northeast-1:123456789012:cluster-snapshot:rds:aurora-main-2026-01-15-03-04";
const MANUAL: &str = "arn:aws:rds:us-east-1:123456789012:cluster-snapshot:cs-1";

fn source(id: &str) -> Answer {
    clusters_described(&[&[
        ("DBClusterSnapshotIdentifier", id),
        ("DBClusterIdentifier", "aurora-main"),
        ("SnapshotCreateTime", MADE),
        ("Status", "available"),
        (
            "TagList",
            "<Tag><Key>team</Key><Value>data</Value></Tag><Tag><Key>aws:backup:source</Key><Value>x</Value></Tag>",
        ),
    ]])
}

fn copied() -> Answer {
    let inner = "<DBClusterSnapshot><Status>creating</Status></DBClusterSnapshot>";
    answer("CopyDBClusterSnapshot", 200, xml("CopyDBClusterSnapshot", inner))
}

/// `DescribeDBClusterSnapshots` answered for the copy `cs-1-dr` with these elements beside its id.
fn copy_with(elements: &[(&str, &str)]) -> Answer {
    let all: Vec<(&str, &str)> = [("DBClusterSnapshotIdentifier", "cs-1-dr"), ("Status", "copying")]
        .iter()
        .chain(elements)
        .copied()
        .collect();
    clusters_described(&[&all])
}

/// A copy of `cs-1` to us-west-2, prepared, with a server that then answers by `answers`.
async fn begin(settings: CopySettings, answers: impl IntoIterator<Item = Answer>) -> (Server, Begun) {
    let first = source("cs-1").within("us-east-1").once();
    let server = Server::new([first].into_iter().chain(answers)).await;
    let jobs = jobs(&server, settings);
    let request = CopyRequest {
        to_region: Some("us-west-2".to_owned()),
        ..of(MANUAL)
    };
    let (target, job) = jobs.prepare(&request).await.unwrap();
    let begun = jobs.start(&job, &target).await;
    assert!(server.asked("CopyDBSnapshot").is_empty() && server.asked("DescribeDBSnapshots").is_empty());
    (server, begun)
}

#[tokio::test]
async fn a_request_for_a_cluster_becomes_a_target_and_a_job_of_clusters() {
    let server = Server::new([source("rds:aurora-main-2026-01-15-03-04"), copied()]).await;
    let jobs = jobs(&server, dr());
    for request in [
        of(AUTOMATED),
        of("rds:cluster-snapshot/rds:aurora-main-2026-01-15-03-04"),
    ] {
        let (target, job) = jobs.prepare(&request).await.unwrap();
        let expected = "arn:aws:rds:ap-northeast-1:123456789012:cluster-snapshot:aurora-main-2026-01-15-03-04-dr";
        assert_eq!(
            (target.to_string().as_str(), target.kind()),
            (expected, "rds-cluster-snapshot")
        );
        let Job::RdsCopy(copy) = &job;
        assert_eq!(copy.source, AUTOMATED);
        assert_eq!(copy.source_created, Some(MADE.parse().unwrap()));
        assert_eq!(
            (copy.source_cluster.as_deref(), &copy.source_instance),
            (Some("aurora-main"), &None)
        );
        assert_eq!(jobs.start(&job, &target).await, Begun::Started);
        let text = serde_json::to_string(&(&target, &job)).unwrap();
        assert_eq!(serde_json::from_str::<(Target, Job)>(&text).unwrap(), (target, job));
    }
    let asked = server.asked("DescribeDBClusterSnapshots");
    assert_eq!(asked[0].field("SnapshotType"), Some("automated"));
    let asked = server.asked("CopyDBClusterSnapshot");
    let within = asked[0].field("SourceDBClusterSnapshotIdentifier");
    assert_eq!(within, Some("rds:aurora-main-2026-01-15-03-04"));
    assert_eq!(asked[0].field("PreSignedUrl"), None);
    assert!(server.asked("CopyDBSnapshot").is_empty() && server.asked("DescribeDBSnapshots").is_empty());
}

#[tokio::test]
async fn a_cluster_copy_to_another_region_is_asked_for_there_by_arn_with_a_signed_url() {
    let settings = CopySettings {
        kms_key: Some("alias/my key".to_owned()),
        tags: Tags::Copy,
        ..dr()
    };
    let (server, begun) = begin(settings, [source("cs-1").within("us-east-1"), copied()]).await;
    assert_eq!(begun, Begun::Started);
    let asked = server.asked("CopyDBClusterSnapshot").pop().unwrap();
    assert_eq!(asked.region, "us-west-2");
    assert_eq!(asked.field("SourceDBClusterSnapshotIdentifier"), Some(MANUAL));
    assert_eq!(asked.field("TargetDBClusterSnapshotIdentifier"), Some("cs-1-dr"));
    assert_eq!(asked.field("KmsKeyId"), Some("alias/my key"));
    assert_eq!(asked.field("Tags.Tag.1.Key"), Some("team"));
    assert_eq!((asked.field("Tags.Tag.2.Key"), asked.field("CopyTags")), (None, None));
    let url = asked.field("PreSignedUrl").unwrap();
    let begins = "https://rds.us-east-1.amazonaws.com/?Action=CopyDBClusterSnapshot&";
    assert!(url.starts_with(begins), "{url}");
    for part in [
        "DestinationRegion=us-west-2",
        "KmsKeyId=alias%2Fmy%20key",
        "SourceDBClusterSnapshotIdentifier=arn%3Aaws%3Ards%3Aus-east-1%3A123456789012%3Acluster-snapshot%3Acs-1",
        "TargetDBClusterSnapshotIdentifier=cs-1-dr",
        "X-Amz-Signature=",
    ] {
        assert!(url.contains(part), "{part}: {url}");
    }
}

#[tokio::test]
async fn a_name_of_more_than_63_characters_is_refused_where_it_was_chosen_and_cut_where_it_was_made() {
    let server = Server::new([clusters_described(&[])]).await;
    let jobs = jobs(&server, dr());
    let named = |length: usize| CopyRequest {
        to: Some("a".repeat(length)),
        ..of(MANUAL)
    };
    assert!(jobs.prepare(&named(63)).await.is_ok());
    let bad = jobs.prepare(&named(64)).await.unwrap_err();
    assert!(
        matches!(&bad, PrepareError::Bad(why) if why.contains("1 to 63")),
        "{bad:?}"
    );
    let long = format!(
        "arn:aws:rds:us-east-1:123456789012:cluster-snapshot:rds:{}-2026-01-15-03-04",
        "c".repeat(63)
    );
    let (target, _) = jobs.prepare(&of(&long)).await.unwrap();
    let text = target.to_string();
    let id = text.rsplit(':').next().unwrap();
    assert!(id.len() == 63 && id.ends_with("-dr"), "{id}");
}

#[tokio::test]
async fn a_cluster_copy_that_exists_is_success_only_for_the_same_snapshot() {
    for code in ["DBClusterSnapshotAlreadyExistsFault", "DBClusterSnapshotAlreadyExists"] {
        let exists = || refused("CopyDBClusterSnapshot", 400, code, "already exists");
        let after = ("SnapshotCreateTime", "2026-01-16T01:00:00Z");
        for ours in [
            copy_with(&[("SourceDBClusterSnapshotArn", MANUAL), after]),
            copy_with(&[("DBClusterIdentifier", "aurora-main"), after]),
        ] {
            let (_, begun) = begin(dr(), [exists(), ours.clone()]).await;
            assert_eq!(begun, Begun::Started, "{ours:?}");
        }
        for foreign in [
            copy_with(&[
                ("SourceDBClusterSnapshotArn", AUTOMATED),
                ("DBClusterIdentifier", "aurora-main"),
            ]),
            copy_with(&[("DBClusterIdentifier", "other"), after]),
            // Older than its source.
            copy_with(&[
                ("DBClusterIdentifier", "aurora-main"),
                ("SnapshotCreateTime", "2026-01-15T00:00:00Z"),
            ]),
            copy_with(&[]),
        ] {
            let (_, begun) = begin(dr(), [exists(), foreign.clone()]).await;
            assert!(
                matches!(&begun, Begun::Refused(why) if why.contains("not a copy of")),
                "{foreign:?}: {begun:?}"
            );
        }
        for unknown in silences("DescribeDBClusterSnapshots")
            .into_iter()
            .chain([clusters_described(&[])])
        {
            let (_, begun) = begin(dr(), [exists(), unknown.clone()]).await;
            assert!(matches!(begun, Begun::Later(_)), "{unknown:?}: {begun:?}");
        }
    }
}

#[tokio::test]
async fn the_refusals_of_clusters_are_for_later_or_for_good() {
    for (code, message) in [
        ("InvalidDBClusterSnapshotStateFault", "it is in state creating"),
        ("InvalidDBClusterStateFault", "it is in state modifying"),
        (
            "SnapshotQuotaExceeded",
            "Too many snapshot copies in progress. The limit is 5 for this destination region.",
        ),
        ("Throttling", "Rate exceeded"),
    ] {
        let refusal = refused("CopyDBClusterSnapshot", 400, code, message);
        let (_, begun) = begin(dr(), [refusal, clusters_described(&[])]).await;
        assert!(
            matches!(&begun, Begun::Later(why) if why.contains(message)),
            "{code}: {begun:?}"
        );
    }
    for (code, message, names) in [
        (
            "KMSKeyNotAccessibleFault",
            "The source snapshot KMS key does not exist, is not enabled or you do not have permissions to access it",
            "MATSU_COPY_KMS_KEY",
        ),
        (
            "SnapshotQuotaExceeded",
            "Cannot create more than 100 manual cluster snapshots",
            "us-west-2",
        ),
        ("DBClusterSnapshotNotFoundFault", "cs-1 not found", "cs-1"),
        ("AccessDenied", "not authorized", "rds:CopyDBClusterSnapshot"),
    ] {
        let refusal = || refused("CopyDBClusterSnapshot", 400, code, message);
        let (_, begun) = begin(dr(), [refusal(), clusters_described(&[])]).await;
        assert!(
            matches!(&begun, Begun::Refused(why) if why.contains(message) && why.contains(names)),
            "{code}: {begun:?}"
        );
        let (_, begun) = begin(dr(), [refusal(), copy_with(&[("SourceDBClusterSnapshotArn", MANUAL)])]).await;
        assert_eq!(begun, Begun::Started, "{code}");
    }
}

#[tokio::test]
async fn an_event_never_makes_a_copy_of_a_cluster_copy() {
    let copy = clusters_described(&[&[
        ("DBClusterSnapshotIdentifier", "cs-1"),
        ("SourceDBClusterSnapshotArn", AUTOMATED),
        ("SnapshotCreateTime", MADE),
    ]]);
    let server = Server::new([copy]).await;
    let request = |by_event| CopyRequest { by_event, ..of(MANUAL) };
    let unwanted = jobs(&server, dr()).prepare(&request(true)).await.unwrap_err();
    assert!(
        matches!(&unwanted, PrepareError::Unwanted(why) if why.contains(AUTOMATED)),
        "{unwanted:?}"
    );
    assert!(jobs(&server, dr()).prepare(&request(false)).await.is_ok());
}

#[tokio::test]
async fn a_cluster_snapshot_never_becomes_one_of_an_instance() {
    let server = Server::new([source("cs-1")]).await;
    let jobs = jobs(&server, dr());
    let (_, job) = jobs.prepare(&of(MANUAL)).await.unwrap();
    for other in ["rds:snapshot/cs-1-dr", "s3://bucket/key"] {
        let target = Target::parse(other, None, &here()).unwrap();
        let begun = jobs.start(&job, &target).await;
        assert!(
            matches!(&begun, Begun::Refused(why) if why.contains(MANUAL)),
            "{begun:?}"
        );
    }
    assert!(server.asked("CopyDBClusterSnapshot").is_empty());
}
