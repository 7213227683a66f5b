//! Copies of RDS snapshots.

use std::collections::BTreeMap;

use matsu_wait::job::{Begun, CopyRequest, CopySettings, Job, Jobs, PrepareError, RdsJobs, Tags};
use matsu_wait::{Here, Target};

use crate::scripted::{Answer, Server, answer, described, refused, silences, xml};

const AUTOMATED: &str = "arn:aws:rds:ap-northeast-1:123456789012:snapshot:rds:app-db-2026-01-15-03-04";
const MANUAL: &str = "arn:aws:rds:us-east-1:123456789012:snapshot:manual-1";
pub(crate) const MADE: &str = "2026-01-15T23:59:59.500Z";

pub(crate) fn here() -> Here {
    Here {
        region: Some("ap-northeast-1".to_owned()),
        account: Some("123456789012".to_owned()),
    }
}

pub(crate) fn jobs(server: &Server, settings: CopySettings) -> RdsJobs {
    RdsJobs::new(Some(server.aws("ap-northeast-1")), settings, here())
}

pub(crate) fn dr() -> CopySettings {
    CopySettings {
        name: "{id}-dr".to_owned(),
        ..CopySettings::default()
    }
}

pub(crate) fn of(source: &str) -> CopyRequest {
    CopyRequest {
        source: source.to_owned(),
        ..CopyRequest::default()
    }
}

/// The source `manual-1` or another, as RDS tells of it.
fn source(id: &str) -> Answer {
    described(&[&[
        ("DBSnapshotIdentifier", id),
        ("DBInstanceIdentifier", "app-db"),
        ("SnapshotCreateTime", MADE),
        ("Status", "available"),
        (
            "TagList",
            "<Tag><Key>team</Key><Value>data</Value></Tag><Tag><Key>aws:backup:source</Key><Value>x</Value></Tag>",
        ),
    ]])
}

fn copied() -> Answer {
    answer(
        "CopyDBSnapshot",
        200,
        xml("CopyDBSnapshot", "<DBSnapshot><Status>creating</Status></DBSnapshot>"),
    )
}

/// `DescribeDBSnapshots` answered for the copy `manual-1-dr` with these elements beside its id.
fn copy_with(elements: &[(&str, &str)]) -> Answer {
    let all: Vec<(&str, &str)> = [("DBSnapshotIdentifier", "manual-1-dr"), ("Status", "copying")]
        .iter()
        .chain(elements)
        .copied()
        .collect();
    described(&[&all])
}

/// A copy of `manual-1` to us-west-2, prepared, with a server that then answers by `answers`.
async fn begin(settings: CopySettings, answers: impl IntoIterator<Item = Answer>) -> (Server, Begun) {
    let answers = [source("manual-1").within("us-east-1").once()]
        .into_iter()
        .chain(answers);
    let server = Server::new(answers).await;
    let jobs = jobs(&server, settings);
    let request = CopyRequest {
        to_region: Some("us-west-2".to_owned()),
        ..of(MANUAL)
    };
    let (target, job) = jobs.prepare(&request).await.unwrap();
    let begun = jobs.start(&job, &target).await;
    (server, begun)
}

async fn bad(settings: CopySettings, request: CopyRequest, answers: impl IntoIterator<Item = Answer>) -> String {
    let server = Server::new(answers).await;
    match jobs(&server, settings).prepare(&request).await {
        Err(PrepareError::Bad(why)) => why,
        other => panic!("{request:?}: {other:?}"),
    }
}

#[tokio::test]
async fn a_request_becomes_a_target_and_a_job() {
    let server = Server::new([source("rds:app-db-2026-01-15-03-04")]).await;
    let (target, Job::RdsCopy(job)) = jobs(&server, dr()).prepare(&of(AUTOMATED)).await.unwrap();
    let expected = "arn:aws:rds:ap-northeast-1:123456789012:snapshot:app-db-2026-01-15-03-04-dr";
    assert_eq!(target.to_string(), expected);
    assert_eq!(job.source, AUTOMATED);
    assert_eq!(job.source_created, Some(MADE.parse().unwrap()));
    assert_eq!(job.source_instance.as_deref(), Some("app-db"));
    let asked = server.asked("DescribeDBSnapshots");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].field("SnapshotType"), Some("automated"));
}

#[tokio::test]
async fn the_copy_is_in_our_account_and_the_first_region_that_is_named() {
    let shared = "arn:aws:rds:us-east-1:999999999999:snapshot:manual-1";
    let own = |region: &str| format!("arn:aws:rds:{region}:123456789012:snapshot:manual-1-dr");
    let set = |region: &str| Some(region.to_owned());
    for (request, setting, region) in [
        (of(shared), None, "us-east-1"),
        (of("manual-1"), None, "ap-northeast-1"),
        (of("rds:snapshot/manual-1"), set("None"), "ap-northeast-1"),
        (
            CopyRequest {
                source_region: set("eu-west-1"),
                ..of("manual-1")
            },
            None,
            "eu-west-1",
        ),
        (of(shared), set("us-west-2"), "us-west-2"),
        (
            CopyRequest {
                to_region: set("eu-west-3"),
                ..of(shared)
            },
            set("us-west-2"),
            "eu-west-3",
        ),
    ] {
        let server = Server::new([described(&[])]).await;
        let settings = CopySettings {
            to_region: setting,
            ..dr()
        };
        let (target, _) = jobs(&server, settings).prepare(&request).await.unwrap();
        assert_eq!(target.to_string(), own(region));
    }
}

#[tokio::test]
async fn a_partition_is_kept_end_to_end() {
    for (arn, copy) in [
        (
            "arn:aws-cn:rds:cn-north-1:123456789012:snapshot:manual-1",
            "cn-northwest-1",
        ),
        (
            "arn:aws-us-gov:rds:us-gov-west-1:123456789012:snapshot:manual-1",
            "us-gov-east-1",
        ),
    ] {
        let server = Server::new([source("manual-1"), copied()]).await;
        let jobs = jobs(&server, dr());
        let request = CopyRequest {
            to_region: Some(copy.to_owned()),
            ..of(arn)
        };
        let (target, job) = jobs.prepare(&request).await.unwrap();
        let partition: Vec<&str> = arn.split(':').collect();
        assert!(
            target
                .to_string()
                .starts_with(&format!("arn:{}:rds:{copy}:", partition[1])),
            "{target}"
        );
        assert_eq!(jobs.start(&job, &target).await, Begun::Started);
        let asked = server.asked("CopyDBSnapshot").pop().unwrap();
        assert_eq!(asked.field("SourceDBSnapshotIdentifier"), Some(arn));
    }
}

#[tokio::test]
async fn a_date_in_the_name_is_the_day_that_the_source_was_made_in_utc() {
    let dated = CopySettings {
        name: "{id}-{date}-{region}".to_owned(),
        ..dr()
    };
    let server = Server::new([source("manual-1")]).await;
    let (target, _) = jobs(&server, dated.clone()).prepare(&of(MANUAL)).await.unwrap();
    assert!(
        target.to_string().ends_with(":manual-1-2026-01-15-us-east-1"),
        "{target}"
    );
    // Of a copy, it is the day of the first one.
    let copy = described(&[&[
        ("DBSnapshotIdentifier", "manual-1"),
        ("OriginalSnapshotCreateTime", "2025-12-31T00:00:00Z"),
        ("SnapshotCreateTime", MADE),
    ]]);
    let server = Server::new([copy]).await;
    let (target, _) = jobs(&server, dated).prepare(&of(MANUAL)).await.unwrap();
    assert!(target.to_string().contains("manual-1-2025-12-31"), "{target}");
}

#[tokio::test]
async fn a_source_that_cannot_be_looked_at_matters_only_to_a_name_with_a_date() {
    let dated = CopySettings {
        name: "{id}-{date}".to_owned(),
        ..dr()
    };
    for unseen in [
        described(&[]),
        refused("DescribeDBSnapshots", 404, "DBSnapshotNotFound", "not found"),
        refused("DescribeDBSnapshots", 403, "AccessDenied", "not authorized"),
    ] {
        let server = Server::new([unseen.clone()]).await;
        let (_, Job::RdsCopy(job)) = jobs(&server, dr()).prepare(&of(MANUAL)).await.unwrap();
        assert_eq!(job.source_created, None);
        let named = CopyRequest {
            to: Some("chosen".to_owned()),
            ..of(MANUAL)
        };
        assert!(jobs(&server, dated.clone()).prepare(&named).await.is_ok());
        let why = bad(dated.clone(), of(MANUAL), [unseen]).await;
        assert!(why.contains("{date}") && why.contains("manual-1"), "{why}");
    }
    let being_made = described(&[&[("DBSnapshotIdentifier", "manual-1"), ("Status", "creating")]]);
    for later in silences("DescribeDBSnapshots").into_iter().chain([being_made]) {
        let server = Server::new([later.clone()]).await;
        let answer = jobs(&server, dated.clone()).prepare(&of(MANUAL)).await;
        assert!(matches!(answer, Err(PrepareError::Later(_))), "{later:?}: {answer:?}");
    }
}

#[tokio::test]
async fn an_impossible_request_is_refused_with_a_sentence_that_names_what_is_wrong() {
    let text = |text: &str| Some(text.to_owned());
    let cluster = "arn:aws:rds:us-east-1:123456789012:cluster:a";
    let reserved = Tags::These(BTreeMap::from([("aws:x".to_owned(), "1".to_owned())]));
    let moved = |name: &str| CopySettings {
        name: name.to_owned(),
        ..dr()
    };
    for (settings, request, names) in [
        (dr(), of(" "), "source"),
        (dr(), of(cluster), "cluster-snapshot"),
        (dr(), of("arn:aws:rds:us-east-1:1:snapshot:a"), "12 digits"),
        (dr(), of("a b"), "a b"),
        (
            dr(),
            CopyRequest {
                source_region: text("eu-west-1"),
                ..of(MANUAL)
            },
            "source_region",
        ),
        (
            dr(),
            CopyRequest {
                source_region: text("Eu!"),
                ..of("a")
            },
            "source_region",
        ),
        (
            dr(),
            CopyRequest {
                to_region: text("Eu!"),
                ..of("a")
            },
            "Eu!",
        ),
        (
            dr(),
            CopyRequest {
                to_region: text("cn-north-1"),
                ..of("a")
            },
            "partition",
        ),
        (
            dr(),
            CopyRequest {
                to: text("a--b"),
                ..of("a")
            },
            "a--b",
        ),
        (
            dr(),
            CopyRequest {
                to: text("9a"),
                ..of("a")
            },
            "9a",
        ),
        (
            dr(),
            CopyRequest {
                to: text("{id}"),
                ..of("a")
            },
            "{id}",
        ),
        (
            dr(),
            CopyRequest {
                to: text("A"),
                ..of("a")
            },
            "onto itself",
        ),
        (moved("{id}"), of("a"), "onto itself"),
        (moved("{id}-{year}"), of("a"), "{year}"),
        (
            dr(),
            CopyRequest {
                tags: Some(reserved),
                ..of("a")
            },
            "aws:x",
        ),
    ] {
        // Nothing is asked of RDS: the script has no answer to anything.
        let why = bad(settings, request.clone(), []).await;
        assert!(why.contains(names), "{request:?}: {why}");
    }
}

#[tokio::test]
async fn a_copy_to_another_region_is_asked_for_there_by_arn_with_a_signed_url() {
    let keyed = CopySettings {
        kms_key: Some("alias/my key".to_owned()),
        ..dr()
    };
    let (server, begun) = begin(keyed, [copied()]).await;
    assert_eq!(begun, Begun::Started);
    let asked = server.asked("CopyDBSnapshot").pop().unwrap();
    assert_eq!(asked.region, "us-west-2");
    assert_eq!(asked.field("SourceDBSnapshotIdentifier"), Some(MANUAL));
    assert_eq!(asked.field("TargetDBSnapshotIdentifier"), Some("manual-1-dr"));
    assert_eq!(asked.field("KmsKeyId"), Some("alias/my key"));
    assert_eq!(asked.field("CopyTags"), None);
    let url = asked.field("PreSignedUrl").unwrap();
    assert!(
        url.starts_with("https://rds.us-east-1.amazonaws.com/?Action=CopyDBSnapshot&"),
        "{url}"
    );
    for part in [
        "DestinationRegion=us-west-2",
        "KmsKeyId=alias%2Fmy%20key",
        "SourceDBSnapshotIdentifier=arn%3Aaws%3Ards%3Aus-east-1%3A123456789012%3Asnapshot%3Amanual-1",
        "TargetDBSnapshotIdentifier=manual-1-dr",
        "X-Amz-Credential=AKID%2F",
        "%2Fus-east-1%2Frds%2Faws4_request",
        "X-Amz-Expires=3600",
        "X-Amz-Signature=",
    ] {
        assert!(url.contains(part), "{part}: {url}");
    }
}

#[tokio::test]
async fn a_copy_within_a_region_goes_by_the_bare_id_and_that_of_a_shared_snapshot_by_arn() {
    let shared = "arn:aws:rds:ap-northeast-1:999999999999:snapshot:manual-1";
    for (named, becomes) in [
        ("manual-1", "manual-1"),
        (AUTOMATED, "rds:app-db-2026-01-15-03-04"),
        (shared, shared),
    ] {
        let server = Server::new([described(&[]), copied()]).await;
        let jobs = jobs(&server, dr());
        let (target, job) = jobs.prepare(&of(named)).await.unwrap();
        assert_eq!(jobs.start(&job, &target).await, Begun::Started);
        let asked = server.asked("CopyDBSnapshot").pop().unwrap();
        assert_eq!(asked.field("SourceDBSnapshotIdentifier"), Some(becomes));
        assert_eq!(asked.field("PreSignedUrl"), None);
    }
}

#[tokio::test]
async fn a_key_that_is_not_really_set_is_left_out() {
    let own = |key: Option<&str>| key.map(str::to_owned);
    for (requested, set, sent) in [
        (Some("None"), Some("null"), None),
        (Some(""), Some(" "), None),
        (None, None, None),
        (Some("null"), Some("alias/aws/rds"), Some("alias/aws/rds")),
        (Some("alias/mine"), Some("alias/aws/rds"), Some("alias/mine")),
    ] {
        let server = Server::new([described(&[]), copied()]).await;
        let jobs = jobs(
            &server,
            CopySettings {
                kms_key: own(set),
                ..dr()
            },
        );
        let request = CopyRequest {
            kms_key: own(requested),
            ..of("manual-1")
        };
        let (target, job) = jobs.prepare(&request).await.unwrap();
        assert_eq!(jobs.start(&job, &target).await, Begun::Started);
        assert_eq!(server.asked("CopyDBSnapshot").pop().unwrap().field("KmsKeyId"), sent);
    }
}

#[tokio::test]
async fn the_sources_tags_are_copied_without_the_reserved_ones() {
    let tagging = CopySettings {
        tags: Tags::Copy,
        ..dr()
    };
    let (server, begun) = begin(tagging.clone(), [source("manual-1").within("us-east-1"), copied()]).await;
    assert_eq!(begun, Begun::Started);
    let asked = server.asked("CopyDBSnapshot").pop().unwrap();
    assert_eq!(asked.field("Tags.Tag.1.Key"), Some("team"));
    assert_eq!(asked.field("Tags.Tag.1.Value"), Some("data"));
    assert_eq!((asked.field("Tags.Tag.2.Key"), asked.field("CopyTags")), (None, None));

    let denied = refused("DescribeDBSnapshots", 403, "AccessDenied", "no");
    let (server, begun) = begin(tagging.clone(), [denied, copied()]).await;
    assert_eq!(begun, Begun::Started, "a copy without tags is better than none");
    assert_eq!(
        server.asked("CopyDBSnapshot").pop().unwrap().field("Tags.Tag.1.Key"),
        None
    );

    let (server, begun) = begin(tagging, [answer("DescribeDBSnapshots", 503, ""), copied()]).await;
    assert!(matches!(begun, Begun::Later(_)), "{begun:?}");
    assert!(server.asked("CopyDBSnapshot").is_empty());
}

#[tokio::test]
async fn given_tags_are_set_as_given() {
    let these = Tags::These(BTreeMap::from([
        ("a".to_owned(), "1 & 2".to_owned()),
        ("b".to_owned(), String::new()),
    ]));
    let (server, begun) = begin(CopySettings { tags: these, ..dr() }, [copied()]).await;
    assert_eq!(begun, Begun::Started);
    let asked = server.asked("CopyDBSnapshot").pop().unwrap();
    assert_eq!(asked.field("Tags.Tag.1.Value"), Some("1 & 2"));
    assert_eq!(asked.field("Tags.Tag.2.Key"), Some("b"));
}

#[tokio::test]
async fn a_name_that_exists_is_success_only_for_a_copy_of_the_same_snapshot() {
    let original = |time| [("OriginalSnapshotCreateTime", time), ("DBInstanceIdentifier", "app-db")];
    for code in ["DBSnapshotAlreadyExists", "DBSnapshotAlreadyExistsFault"] {
        let exists = || {
            refused(
                "CopyDBSnapshot",
                400,
                code,
                "a snapshot with the identifier already exists",
            )
        };
        for ours in [
            copy_with(&[("SourceDBSnapshotIdentifier", MANUAL)]),
            copy_with(&[("DBInstanceIdentifier", "app-db")]),
            copy_with(&original(MADE)),
        ] {
            let (_, begun) = begin(dr(), [exists(), ours.clone()]).await;
            assert_eq!(begun, Begun::Started, "{ours:?}");
        }
        for foreign in [
            copy_with(&[(
                "SourceDBSnapshotIdentifier",
                "arn:aws:rds:us-east-1:123456789012:snapshot:other",
            )]),
            copy_with(&original("2026-01-15T23:59:59.501Z")),
            copy_with(&[("DBInstanceIdentifier", "other-db")]),
            copy_with(&[]),
        ] {
            let (_, begun) = begin(dr(), [exists(), foreign.clone()]).await;
            assert!(
                matches!(&begun, Begun::Refused(why) if why.contains("not a copy of")),
                "{foreign:?}: {begun:?}"
            );
        }
        for unknown in silences("DescribeDBSnapshots").into_iter().chain([described(&[])]) {
            let (_, begun) = begin(dr(), [exists(), unknown.clone()]).await;
            assert!(matches!(begun, Begun::Later(_)), "{unknown:?}: {begun:?}");
        }
    }
}

#[tokio::test]
async fn a_duplicate_start_of_an_automated_snapshot_is_recognised_by_its_instance() {
    // Whatever is asked, RDS tells of the copy alone: the source itself is not found.
    let copy = described(&[&[
        ("DBSnapshotIdentifier", "app-db-2026-01-15-03-04-dr"),
        ("DBInstanceIdentifier", "app-db"),
        ("Status", "copying"),
        ("PercentProgress", "40"),
    ]]);
    let exists = refused("CopyDBSnapshot", 400, "DBSnapshotAlreadyExists", "already exists");
    let server = Server::new([exists, copy]).await;
    let jobs = jobs(&server, dr());
    let (target, job) = jobs.prepare(&of(AUTOMATED)).await.unwrap();
    assert_eq!(jobs.start(&job, &target).await, Begun::Started);
}

#[tokio::test]
async fn what_passes_by_itself_is_left_for_later() {
    let waits = [
        refused(
            "CopyDBSnapshot",
            400,
            "InvalidDBSnapshotState",
            "it is in state creating",
        ),
        refused(
            "CopyDBSnapshot",
            400,
            "SnapshotQuotaExceeded",
            "Cannot copy more than 20 snapshots across regions",
        ),
    ];
    for later in silences("CopyDBSnapshot").into_iter().chain(waits) {
        let (_, begun) = begin(dr(), [later.clone(), described(&[])]).await;
        assert!(matches!(begun, Begun::Later(_)), "{later:?}: {begun:?}");
    }
}

#[tokio::test]
async fn a_source_that_becomes_available_is_copied_by_the_next_attempt() {
    let early = refused(
        "CopyDBSnapshot",
        400,
        "InvalidDBSnapshotState",
        "it is in state creating",
    )
    .once();
    let server = Server::new([source("manual-1"), early, copied()]).await;
    let jobs = jobs(&server, dr());
    let (target, job) = jobs.prepare(&of(MANUAL)).await.unwrap();
    assert!(matches!(jobs.start(&job, &target).await, Begun::Later(_)));
    assert_eq!(jobs.start(&job, &target).await, Begun::Started);
    assert_eq!(server.asked("CopyDBSnapshot").len(), 2);
}

#[tokio::test]
async fn a_refusal_for_good_counts_only_if_the_copy_is_not_there() {
    let refusals = [
        (
            "KMSKeyNotAccessibleFault",
            "The source snapshot KMS key does not exist",
            "MATSU_COPY_KMS_KEY",
        ),
        (
            "InvalidParameterValue",
            "Must specify new KMS key for cross region encrypted snapshot copy.",
            "MATSU_COPY_KMS_KEY",
        ),
        (
            "SnapshotQuotaExceeded",
            "Cannot create more than 100 manual snapshots",
            "manual snapshots",
        ),
        ("DBSnapshotNotFound", "manual-1 not found", "manual-1"),
        ("AccessDenied", "not authorized", "rds:CopyDBSnapshot"),
    ];
    for (code, message, names) in refusals {
        let refusal = || refused("CopyDBSnapshot", 400, code, message);
        let (_, begun) = begin(dr(), [refusal(), described(&[])]).await;
        let Begun::Refused(why) = &begun else {
            panic!("{code}: {begun:?}")
        };
        assert!(why.contains(names) && why.contains(message), "{why}");
        let (_, begun) = begin(dr(), [refusal(), copy_with(&[("SourceDBSnapshotIdentifier", MANUAL)])]).await;
        assert_eq!(begun, Begun::Started, "{code}");
        let (_, begun) = begin(dr(), [refusal(), copy_with(&[("DBInstanceIdentifier", "other")])]).await;
        assert!(
            matches!(&begun, Begun::Refused(why) if why.contains(message)),
            "{code}: {begun:?}"
        );
        let (_, begun) = begin(dr(), [refusal(), answer("DescribeDBSnapshots", 503, "")]).await;
        assert!(
            matches!(&begun, Begun::Later(why) if why.contains(message)),
            "{code}: {begun:?}"
        );
    }
}

#[tokio::test]
async fn an_event_never_makes_a_copy_of_a_copy_and_a_person_may() {
    let from_elsewhere = || {
        described(&[&[
            ("DBSnapshotIdentifier", "manual-1"),
            (
                "SourceDBSnapshotIdentifier",
                "arn:aws:rds:eu-west-1:123456789012:snapshot:first",
            ),
            ("SnapshotCreateTime", MADE),
            ("Status", "available"),
        ]])
    };
    let by_its_name = "arn:aws:rds:us-east-1:123456789012:snapshot:app-dr";
    for (text, answer) in [(MANUAL, from_elsewhere()), (by_its_name, source("app-dr"))] {
        let server = Server::new([answer]).await;
        let request = |by_event| CopyRequest {
            by_event,
            to_region: Some("us-west-2".to_owned()),
            ..of(text)
        };
        let unwanted = jobs(&server, dr()).prepare(&request(true)).await.unwrap_err();
        assert!(
            matches!(&unwanted, PrepareError::Unwanted(why) if why.contains(text)),
            "{unwanted:?}"
        );
        assert!(jobs(&server, dr()).prepare(&request(false)).await.is_ok());
    }
}

#[tokio::test]
async fn a_job_survives_its_way_through_json() {
    let server = Server::new([source("manual-1")]).await;
    let (target, job) = jobs(&server, dr()).prepare(&of(MANUAL)).await.unwrap();
    let text = serde_json::to_string(&(&target, &job)).unwrap();
    assert_eq!(serde_json::from_str::<(Target, Job)>(&text).unwrap(), (target, job));
}

#[tokio::test]
async fn without_aws_no_copy_is_made_and_the_words_say_so() {
    let nowhere = RdsJobs::new(None, dr(), here());
    let answer = nowhere.prepare(&of(MANUAL)).await;
    assert!(matches!(answer, Err(PrepareError::Bad(why)) if why.contains("credentials")));
}
