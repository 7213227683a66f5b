//! Many looks at once: how often AWS is asked, and that each target gets its own answer.

use matsu_wait::target::{Look, Seen, Targets, Until};
use matsu_wait::{Here, Target};

use crate::scripted::{Answer, Server, answer, clusters_described, described, refused, silences, xml};

const HOME: &str = "ap-northeast-1";

fn here() -> Here {
    Here {
        region: Some(HOME.to_owned()),
        account: Some("123456789012".to_owned()),
    }
}

fn target(text: &str) -> Target {
    Target::parse(text, None, &here()).unwrap()
}

async fn look_all(server: &Server, targets: &[Target]) -> Vec<Seen> {
    let seen = Targets::new(Some(server.aws(HOME)), here()).look_all(targets).await;
    assert_eq!(seen.len(), targets.len());
    seen
}

/// `DescribeDBSnapshots` answered with these ids, each in its status.
fn snapshots(all: &[(&str, &str)]) -> Answer {
    let elements: Vec<_> = all
        .iter()
        .map(|(id, status)| [("DBSnapshotIdentifier", *id), ("Status", *status)])
        .collect();
    described(&elements.iter().map(<[_; 2]>::as_slice).collect::<Vec<_>>())
}

/// In short: the status, or what else was seen.
fn short(seen: &Seen) -> String {
    match seen {
        Seen::Satisfied(status) => format!("satisfied {}", status.text),
        Seen::Pending(status) => format!("pending {}", status.text),
        Seen::Failed(status, _) => format!("failed {}", status.text),
        Seen::Missing => "missing".to_owned(),
        Seen::Denied(why) => format!("denied {why}"),
        Seen::Unknown(why) => format!("unknown {why}"),
    }
}

#[tokio::test]
async fn a_hundred_snapshots_of_one_region_in_tens_are_ten_requests() {
    let ids: Vec<String> = (0..100).map(|n| format!("app-{n:03}")).collect();
    let all: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "available")).collect();
    let server = Server::new([snapshots(&all)]).await;
    for ten in ids.chunks(10) {
        let targets: Vec<Target> = ten.iter().map(|id| target(&format!("rds:snapshot/{id}"))).collect();
        for seen in look_all(&server, &targets).await {
            assert_eq!(short(&seen), "satisfied available");
        }
    }
    let asked = server.asked("DescribeDBSnapshots");
    assert_eq!(asked.len(), 10);
    for (n, asked) in asked.iter().enumerate() {
        assert_eq!(asked.field("Filters.Filter.1.Name"), Some("db-snapshot-id"));
        assert_eq!(
            asked.field("Filters.Filter.1.Values.Value.1"),
            Some(ids[n * 10].as_str())
        );
        assert_eq!(
            asked.field("Filters.Filter.1.Values.Value.10"),
            Some(ids[n * 10 + 9].as_str())
        );
        assert_eq!(asked.field("Filters.Filter.1.Values.Value.11"), None);
        assert_eq!(asked.field("MaxRecords"), Some("100"));
        assert_eq!(
            (asked.field("DBSnapshotIdentifier"), asked.field("SnapshotType")),
            (None, None)
        );
    }
}

#[tokio::test]
async fn one_request_asks_for_at_most_a_hundred() {
    let ids: Vec<String> = (0..250).map(|n| format!("app-{n:03}")).collect();
    let all: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "copying")).collect();
    let server = Server::new([snapshots(&all)]).await;
    let targets: Vec<Target> = ids.iter().map(|id| target(&format!("rds:snapshot/{id}"))).collect();
    assert!(
        look_all(&server, &targets)
            .await
            .iter()
            .all(|seen| short(seen) == "pending copying")
    );
    let asked = server.asked("DescribeDBSnapshots");
    assert_eq!(asked.len(), 3);
    assert!(
        asked
            .iter()
            .all(|a| a.field("Filters.Filter.1.Values.Value.101").is_none())
    );
}

#[tokio::test]
async fn each_gets_its_own_answer_in_its_place_and_doubles_get_the_same() {
    let server = Server::new([snapshots(&[
        ("other", "available"),
        ("failing", "failed"),
        ("done", "available"),
        ("copying", "copying"),
    ])])
    .await;
    let targets = [
        "rds:snapshot/copying",
        "rds:snapshot/gone",
        "rds:snapshot/DONE",
        "rds:snapshot/failing",
        "rds:snapshot/done",
        "rds:snapshot/copying",
    ]
    .map(target);
    let seen: Vec<String> = look_all(&server, &targets).await.iter().map(short).collect();
    assert_eq!(
        seen,
        [
            "pending copying",
            "missing",
            "satisfied available",
            "failed failed",
            "satisfied available",
            "pending copying"
        ]
    );
    let asked = server.asked("DescribeDBSnapshots");
    assert_eq!(asked.len(), 1);
    // Filters compare by letter, and RDS keeps small ones.
    let ids = (1..=5).map_while(|n| asked[0].field(&format!("Filters.Filter.1.Values.Value.{n}")));
    assert_eq!(ids.collect::<Vec<_>>(), ["copying", "done", "failing", "gone"]);
}

#[tokio::test]
async fn an_answer_of_several_pages_is_read_to_its_end() {
    let page = |id: &str, marker: &str| {
        let list = format!(
            "<DBSnapshots><DBSnapshot><DBSnapshotIdentifier>{id}</DBSnapshotIdentifier><Status>available</Status></DBSnapshot></DBSnapshots>{marker}"
        );
        answer("DescribeDBSnapshots", 200, xml("DescribeDBSnapshots", &list))
    };
    let server = Server::new([page("b", "").having("Marker=next"), page("a", "<Marker>next</Marker>")]).await;
    let targets = ["rds:snapshot/a", "rds:snapshot/b", "rds:snapshot/c"].map(target);
    let seen: Vec<String> = look_all(&server, &targets).await.iter().map(short).collect();
    assert_eq!(seen, ["satisfied available", "satisfied available", "missing"]);
    assert_eq!(server.asked("DescribeDBSnapshots").len(), 2);
}

#[tokio::test]
async fn apis_regions_makers_and_accounts_are_asked_apart_and_one_alone_by_the_plain_call() {
    let server = Server::new([
        snapshots(&[("west", "copying")]).within("us-west-2"),
        described(&[&[
            (
                "DBSnapshotIdentifier",
                "arn:aws:rds:ap-northeast-1:111122223333:snapshot:shared",
            ),
            ("Status", "available"),
        ]])
        .having("IncludeShared=true"),
        snapshots(&[
            ("rds:a-2026-01-15-03-04", "available"),
            ("rds:b-2026-01-15-03-04", "creating"),
        ])
        .having("SnapshotType=automated"),
        snapshots(&[("a", "available"), ("b", "failed")]),
        clusters_described(&[
            &[("DBClusterSnapshotIdentifier", "a"), ("Status", "copying")],
            &[("DBClusterSnapshotIdentifier", "b"), ("Status", "available")],
        ]),
    ])
    .await;
    let targets = [
        "rds:cluster-snapshot/a",
        "rds:snapshot/a",
        "arn:aws:rds:us-west-2:123456789012:snapshot:west",
        "rds:snapshot/rds:a-2026-01-15-03-04",
        "arn:aws:rds:ap-northeast-1:111122223333:snapshot:shared",
        "rds:cluster-snapshot/b",
        "file:/nowhere/at/all",
        "rds:snapshot/b",
        "rds:snapshot/rds:b-2026-01-15-03-04",
    ]
    .map(target);
    let seen: Vec<String> = look_all(&server, &targets).await.iter().map(short).collect();
    assert_eq!(
        seen,
        [
            "pending copying",
            "satisfied available",
            "pending copying",
            "satisfied available",
            "satisfied available",
            "satisfied available",
            "pending absent",
            "failed failed",
            "pending creating",
        ]
    );
    let asked = server.asked("DescribeDBSnapshots");
    assert_eq!(asked.len(), 4, "{asked:?}");
    let west = asked.iter().find(|a| a.region == "us-west-2").unwrap();
    assert_eq!(west.field("DBSnapshotIdentifier"), Some("west"));
    let clusters = server.asked("DescribeDBClusterSnapshots");
    assert_eq!(clusters.len(), 1);
    assert_eq!(
        clusters[0].field("Filters.Filter.1.Name"),
        Some("db-cluster-snapshot-id")
    );
}

#[tokio::test]
async fn targets_that_one_request_can_look_at_say_so() {
    let server = Server::new([]).await;
    let targets = Targets::new(Some(server.aws(HOME)), here());
    let together = |text: &str| targets.together(&target(text));
    assert!(together("rds:snapshot/a").is_some());
    assert_eq!(together("rds:snapshot/a"), together("rds:snapshot/b"));
    for other in [
        "rds:cluster-snapshot/a",
        "rds:snapshot/rds:a",
        "arn:aws:rds:us-west-2:123456789012:snapshot:a",
    ] {
        assert!(
            together(other).is_some() && together(other) != together("rds:snapshot/a"),
            "{other}"
        );
    }
    for alone in [
        "arn:aws:rds:ap-northeast-1:111122223333:snapshot:a",
        "s3://bucket/a",
        "file:/a",
    ] {
        assert_eq!(together(alone), None, "{alone}");
    }
    assert_eq!(Targets::new(None, here()).together(&target("rds:snapshot/a")), None);
}

#[tokio::test]
async fn no_answer_to_the_one_request_is_no_answer_for_each() {
    let targets = ["rds:snapshot/a", "rds:snapshot/b"].map(target);
    for silence in silences("DescribeDBSnapshots") {
        let server = Server::new([silence.clone()]).await;
        for seen in look_all(&server, &targets).await {
            assert!(matches!(seen, Seen::Unknown(_)), "{silence:?}: {seen:?}");
        }
        let asked = server.asked("DescribeDBSnapshots");
        assert!(
            asked.iter().all(|a| a.field("DBSnapshotIdentifier").is_none()),
            "{silence:?}: none is asked for alone"
        );
    }
}

#[tokio::test]
async fn one_that_is_refused_does_not_spoil_the_others() {
    for (code, seen_of_bad) in [
        ("AccessDenied", "denied"),
        ("InvalidParameterValue", "unknown"),
        ("ValidationError", "unknown"),
    ] {
        let server = Server::new([
            snapshots(&[("a", "available")]).having("DBSnapshotIdentifier=a"),
            snapshots(&[("c", "copying")]).having("DBSnapshotIdentifier=c"),
            refused("DescribeDBSnapshots", 400, code, "not this one"),
        ])
        .await;
        let targets = ["rds:snapshot/a", "rds:snapshot/bad", "rds:snapshot/c", "rds:snapshot/a"].map(target);
        let seen: Vec<String> = look_all(&server, &targets).await.iter().map(short).collect();
        assert_eq!(
            (seen[0].as_str(), seen[2].as_str()),
            ("satisfied available", "pending copying")
        );
        assert_eq!(seen[0], seen[3]);
        assert!(
            seen[1].starts_with(seen_of_bad) && seen[1].contains("not this one"),
            "{}",
            seen[1]
        );
        assert_eq!(
            server.asked("DescribeDBSnapshots").len(),
            4,
            "together, then each alone"
        );
    }
}

#[tokio::test]
async fn without_our_account_each_is_asked_for_by_its_arn() {
    let server = Server::new([
        answer("GetCallerIdentity", 403, ""),
        described(&[&[
            (
                "DBSnapshotIdentifier",
                "arn:aws:rds:ap-northeast-1:123456789012:snapshot:a",
            ),
            ("Status", "available"),
        ]]),
    ])
    .await;
    let targets = Targets::new(Some(server.aws(HOME)), Here::default());
    let seen = targets
        .look_all(&["rds:snapshot/a", "rds:snapshot/b"].map(target))
        .await;
    assert_eq!(
        seen.iter().map(short).collect::<Vec<_>>(),
        ["satisfied available", "missing"]
    );
    assert_eq!(server.asked("DescribeDBSnapshots").len(), 2);
}

#[tokio::test]
async fn without_aws_files_are_seen_and_the_rest_is_denied() {
    let targets = Targets::new(None, here());
    let gone = Target::parse("file:/nowhere/at/all", Some(Until::Deleted), &here()).unwrap();
    let all = [
        target("rds:snapshot/a"),
        gone,
        target("rds:cluster-snapshot/a"),
        target("s3://bucket/a"),
    ];
    let seen = targets.look_all(&all).await;
    assert_eq!(short(&seen[1]), "satisfied deleted");
    for n in [0, 2, 3] {
        assert!(
            matches!(&seen[n], Seen::Denied(why) if why.contains("credentials")),
            "{:?}",
            seen[n]
        );
    }
    assert!(targets.look_all(&[]).await.is_empty());
}
