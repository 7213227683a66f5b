//! Events of RDS snapshots.

use super::*;
use crate::job::CopyRequest;

const INSTANCE: &str = "RDS DB Snapshot Event";
const CLUSTER: &str = "RDS DB Cluster Snapshot Event";

fn arn(id: &str) -> String {
    format!("arn:aws:rds:eu-central-1:123456789012:snapshot:{id}")
}

fn cluster_arn(id: &str) -> String {
    format!("arn:aws:rds:eu-central-1:123456789012:cluster-snapshot:{id}")
}

fn copy_of(arn: &str, origin: &str) -> Wanted {
    Wanted::Copy {
        request: CopyRequest {
            source: arn.to_owned(),
            by_event: true,
            ..CopyRequest::default()
        },
        policy: Policy::default(),
        origin: origin.to_owned(),
    }
}

#[test]
fn a_created_snapshot_is_copied_its_arn_taken_to_the_letter() {
    for (event, arn) in [
        ("RDS-EVENT-0042", arn("orders")),
        ("RDS-EVENT-0091", arn("rds:orders-2026-03-02-02-07")),
        (
            "RDS-EVENT-0042",
            arn("awsbackup:job-1b2c3d4e-0000-4000-8000-000000000001"),
        ),
        (
            "RDS-EVENT-0042",
            "arn:aws-cn:rds:cn-north-1:123456789012:snapshot:orders".to_owned(),
        ),
        (
            "RDS-EVENT-0091",
            "arn:aws-us-gov:rds:us-gov-west-1:123456789012:snapshot:rds:orders-1".to_owned(),
        ),
        ("http://docs.example/USER_Events.html#RDS-EVENT-0042", arn("orders")),
    ] {
        assert_eq!(
            only(&rds_bridge(INSTANCE, event, &arn)),
            copy_of(&arn, "event-1"),
            "{event} {arn}"
        );
    }
}

#[test]
fn the_end_of_a_copy_is_an_early_look_at_it_and_never_a_start() {
    let arn = arn("orders-copy");
    let copy = Target::parse(&arn, None, &rules().here).unwrap();
    for event in ["RDS-EVENT-0060", "RDS-EVENT-0061", "RDS-EVENT-0197", "RDS-EVENT-0190"] {
        assert_eq!(
            only(&rds_bridge(INSTANCE, event, &arn)),
            Wanted::Wake(copy.clone()),
            "{event}"
        );
        let twice = [&arn, &arn].map(|arn| sqs_record("m", &rds_bridge(INSTANCE, event, arn).to_string()));
        assert_eq!(shorts(&records(&twice)), [format!("wake {copy}"), "ignored".to_owned()]);
        let mut unnamed = rds_bridge(INSTANCE, event, &arn);
        unnamed["detail"].as_object_mut().unwrap().remove("SourceArn");
        assert!(is_ignored(&only(&unnamed), event));
    }
}

#[test]
fn other_events_of_snapshots_are_ignored_whatever_their_words() {
    for event in [
        "RDS-EVENT-0040", // creating
        "RDS-EVENT-0090", // creating
        "RDS-EVENT-0041", // deleted
        "RDS-EVENT-0059", // a copy from another region started
        "RDS-EVENT-0196", // a copy within the region started
        "RDS-EVENT-0161", // exported
        "RDS-EVENT-0043", // restored
        "RDS-EVENT-9999",
        "RDS-EVENT-00421",
        "",
    ] {
        let mut payload = rds_bridge(INSTANCE, event, &arn("orders"));
        payload["detail"]["Message"] = json!("Manual snapshot created");
        if event.is_empty() {
            assert!(bad(&payload).contains("detail.EventID is empty"));
        } else {
            assert!(is_ignored(&only(&payload), event), "{event}");
        }
    }
}

#[test]
fn a_created_snapshot_of_a_cluster_is_copied_as_one_of_a_cluster() {
    for event in ["RDS-EVENT-0075", "RDS-EVENT-0169"] {
        for arn in [
            cluster_arn("main"),
            cluster_arn("rds:main-2026-03-02-02-07"),
            "arn:aws-us-gov:rds:us-gov-west-1:123456789012:cluster-snapshot:main".to_owned(),
        ] {
            // The ARN says what it is of even where the kind of the event does not.
            for kind in [CLUSTER, INSTANCE] {
                assert_eq!(
                    only(&rds_bridge(kind, event, &arn)),
                    copy_of(&arn, "event-1"),
                    "{event}"
                );
            }
            let named = subscription("db-cluster-snapshot", event, "any", Some(&arn));
            assert_eq!(only(&in_sns(&named)), copy_of(&arn, "sns-1"), "{event}");
        }
        // An older subscription: beside its topic.
        let unnamed = subscription("db-cluster-snapshot", event, "rds:main-2026-03-02-02-07", None);
        let arn = cluster_arn("rds:main-2026-03-02-02-07");
        assert_eq!(only(&in_sns(&unnamed)), copy_of(&arn, "sns-1"), "{event}");
    }
}

#[test]
fn the_end_of_a_cluster_copy_is_an_early_look_and_all_else_of_clusters_is_ignored() {
    let arn = cluster_arn("main-copy");
    let copy = Target::parse(&arn, None, &rules().here).unwrap();
    for event in ["RDS-EVENT-0060", "RDS-EVENT-0061", "RDS-EVENT-0197", "RDS-EVENT-0190"] {
        assert_eq!(
            only(&rds_bridge(CLUSTER, event, &arn)),
            Wanted::Wake(copy.clone()),
            "{event}"
        );
    }
    for event in [
        "RDS-EVENT-0074", // creating
        "RDS-EVENT-0168", // creating
        "RDS-EVENT-0164", // exported
        // These are of instances.
        "RDS-EVENT-0042",
        "RDS-EVENT-0091",
    ] {
        assert!(is_ignored(&only(&rds_bridge(CLUSTER, event, &arn)), event), "{event}");
    }
    for event in ["RDS-EVENT-0075", "RDS-EVENT-0169"] {
        let instance = "arn:aws:rds:eu-central-1:123456789012:snapshot:orders";
        assert!(
            is_ignored(&only(&rds_bridge(CLUSTER, event, instance)), event),
            "{event}"
        );
    }
}

#[test]
fn events_of_anything_but_snapshots_are_ignored() {
    for kind in [
        "RDS DB Instance Event",
        "RDS DB Cluster Event",
        "RDS DB Parameter Group Event",
    ] {
        let event = rds_bridge(
            kind,
            "RDS-EVENT-0042",
            "arn:aws:rds:eu-central-1:123456789012:db:orders",
        );
        assert!(is_ignored(&only(&event), kind), "{kind}");
    }
    for source in ["db-instance", "db-cluster", "db-security-group"] {
        let event = in_sns(&subscription(source, "RDS-EVENT-0042", "orders", None));
        assert!(is_ignored(&only(&event), source), "{source}");
    }
}

#[test]
fn a_subscription_that_does_not_name_the_arn_means_a_snapshot_beside_its_topic() {
    let old = subscription("db-snapshot", "RDS-EVENT-0091", "rds:orders-2026-03-02-02-07", None);
    assert_eq!(
        only(&in_sns(&old)),
        copy_of(&arn("rds:orders-2026-03-02-02-07"), "sns-1")
    );

    let mut elsewhere = envelope(&old.to_string());
    elsewhere["TopicArn"] = json!("arn:aws-cn:sns:cn-north-1:999999999999:events");
    assert_eq!(
        only(&in_sqs(&elsewhere)),
        copy_of(
            "arn:aws-cn:rds:cn-north-1:999999999999:snapshot:rds:orders-2026-03-02-02-07",
            "sns-1"
        )
    );

    let new = subscription("db-snapshot", "RDS-EVENT-0042", "orders", Some(&arn("orders")));
    assert_eq!(only(&in_sns(&new)), copy_of(&arn("orders"), "sns-1"));

    // By raw delivery no topic is known.
    assert!(bad(&in_sqs(&old)).contains("Source ARN is missing"));
}

#[test]
fn a_created_snapshot_that_is_not_named_rightly_is_an_error() {
    for wrong in [
        json!(null),
        json!(5),
        json!("orders"),
        json!("arn:aws:rds:eu-central-1:123456789012:db:orders"),
        json!("arn:aws:rds:eu-central-1::snapshot:orders"),
        json!("arn:aws:rds:eu-central-1:123456789012:snapshot:"),
        json!("arn:aws:s3:eu-central-1:123456789012:snapshot:orders"),
    ] {
        let mut event = rds_bridge(INSTANCE, "RDS-EVENT-0042", &arn("orders"));
        event["detail"]["SourceArn"] = wrong.clone();
        let text = bad(&event);
        assert!(text.contains("detail.SourceArn is"), "{wrong}: {text}");
    }
    let mut event = rds_bridge(INSTANCE, "RDS-EVENT-0042", &arn("orders"));
    event["detail"] = Value::Null;
    assert!(bad(&event).contains("detail is null"));
}

#[test]
fn the_same_event_in_two_messages_is_one_copy() {
    let event = rds_bridge(INSTANCE, "RDS-EVENT-0042", &arn("orders")).to_string();
    let batch = records(&[sqs_record("m1", &event), sqs_record("m2", &event)]);
    assert_eq!(
        shorts(&batch),
        [format!("copy {}#event-1", arn("orders")), "ignored".to_owned()]
    );
}
