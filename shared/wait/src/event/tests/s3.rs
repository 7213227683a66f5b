//! Changes of S3 objects.

use super::*;

#[test]
fn the_keys_of_notifications_are_decoded_as_forms_and_only_once() {
    for (encoded, key) in [
        ("reports/2026+Q1+a%2Bb.csv", "reports/2026 Q1 a+b.csv"),
        ("in%2Fa.csv", "in/a.csv"),
        ("%2541", "%41"),
        ("a%2520b", "a%20b"),
        ("%E6%97%A5%e6%9c%ac", "日本"),
        ("%F0%9F%90%9F.csv", "🐟.csv"),
        ("in/bell%07%EF%BF%BF.csv", "in/bell\u{7}\u{ffff}.csv"),
        ("日本", "日本"),
        ("a=b/c=d/%3F%23%26", "a=b/c=d/?#&"),
        ("+", " "),
        ("None", "None"),
        ("null", "null"),
    ] {
        let origin = format!("s3:{BUCKET}/{key}#0061A1");
        assert_eq!(
            only(&records(&[created(encoded, "0061A1")])),
            start(gone(key), &origin),
            "{encoded}"
        );
    }
}

#[test]
fn a_key_that_cannot_be_decoded_is_an_error_that_names_it() {
    for key in ["a%", "a%2", "a%zz", "a%+1", "%-1", "%FF", "%C3", "%ED%A0%80"] {
        let text = bad(&records(&[created(key, "01")]));
        assert!(
            text.contains("Records[0].s3.object.key") && text.contains(key),
            "{text}"
        );
    }
}

#[test]
fn the_keys_of_eventbridge_are_taken_as_they_are() {
    for key in [
        "in/a+b 100%41.csv",
        "a%",
        "%2F",
        "files/version=x/file.txt",
        "日本",
        " ",
    ] {
        assert_eq!(
            only(&s3_bridge("Object Created", key)),
            start(gone(key), "event-1"),
            "{key}"
        );
        assert_eq!(
            only(&s3_bridge("Object Deleted", key)),
            Wanted::Wake(gone(key)),
            "{key}"
        );
    }
}

#[test]
fn a_removal_is_an_early_look_and_never_a_start() {
    for (name, object) in [
        ("ObjectRemoved:Delete", json!({"key": "a", "sequencer": "0061"})),
        (
            "ObjectRemoved:DeleteMarkerCreated",
            json!({"key": "a", "eTag": "d41d", "versionId": "MKcGR7YO", "sequencer": "0061"}),
        ),
        ("s3:ObjectRemoved:Delete", json!({"key": "a"})),
        ("LifecycleExpiration:Delete", json!({"key": "a", "sequencer": "0061"})),
        (
            "LifecycleExpiration:DeleteMarkerCreated",
            json!({"key": "a", "versionId": "1"}),
        ),
    ] {
        assert_eq!(
            only(&records(&[s3_record(name, &object)])),
            Wanted::Wake(gone("a")),
            "{name}"
        );
    }
    let mut event = s3_bridge("Object Deleted", "a");
    event["detail"]["deletion-type"] = json!("Delete Marker Created");
    event["detail"]["object"]["version-id"] = json!("null");
    assert_eq!(only(&event), Wanted::Wake(gone("a")));
    // Somebody may wait for a folder's mark by name.
    assert_eq!(only(&records(&[removed("a/", "01")])), Wanted::Wake(gone("a/")));
}

#[test]
fn a_created_object_starts_a_wait_until_it_is_gone_unless_told_otherwise() {
    for name in [
        "ObjectCreated:Put",
        "ObjectCreated:Post",
        "ObjectCreated:Copy",
        "s3:ObjectCreated:CompleteMultipartUpload",
    ] {
        let payload = records(&[s3_record(name, &json!({"key": "a", "sequencer": "01"}))]);
        assert_eq!(only(&payload), start(gone("a"), "s3:example-data/a#01"), "{name}");
        let ignoring = Rules {
            on_object_created: OnObjectCreated::Ignore,
            ..rules()
        };
        let read = read(&payload, &ignoring);
        assert!(
            is_ignored(read[0].wanted.as_ref().unwrap(), "MATSU_ON_OBJECT_CREATED"),
            "{name}"
        );
    }
}

#[test]
fn what_else_happens_to_objects_is_ignored() {
    for name in [
        "ObjectTagging:Put",
        "ObjectTagging:Delete",
        "ObjectAcl:Put",
        "ObjectRestore:Completed",
        "Replication:OperationFailedReplication",
        "LifecycleTransition",
        "IntelligentTiering",
        "ReducedRedundancyLostObject",
        "ObjectCreatedOrNot",
        "s3:ObjectAccessed:Get",
    ] {
        let payload = records(&[s3_record(name, &json!({"key": "a%", "eTag": "d41d"}))]);
        let name = name.trim_start_matches("s3:");
        assert!(is_ignored(&only(&payload), name), "{name}");
    }
    for kind in [
        "Object Tags Added",
        "Object ACL Updated",
        "Object Restore Completed",
        "Object Storage Class Changed",
    ] {
        assert!(is_ignored(&only(&s3_bridge(kind, "a")), kind), "{kind}");
    }
}

#[test]
fn the_mark_of_a_folder_starts_nothing() {
    assert!(is_ignored(
        &only(&records(&[created("in/new+folder/", "01")])),
        "folder"
    ));
    assert!(is_ignored(
        &only(&s3_bridge("Object Created", "in/new folder/")),
        "folder"
    ));
}

#[test]
fn what_happens_under_our_own_store_is_ignored_and_its_prefix_ends_where_a_part_of_the_path_does() {
    for (prefix, key, is_ours) in [
        ("waits", "waits/3f2a.json", true),
        ("waits/", "waits/3f2a.json", true),
        ("waits", "waits", false),
        ("waits", "waitsx/3f2a.json", false),
        ("waits", "in/waits/3f2a.json", false),
        ("a/b", "a/b/waits/x", true),
        ("a/b", "a/bc", false),
        ("", "anything", true),
        ("", "any/thing", true),
    ] {
        let own = |bucket: &str| Rules {
            own_store: Some((bucket.to_owned(), prefix.to_owned())),
            ..rules()
        };
        for payload in [
            records(&[created(key, "01")]),
            records(&[removed(key, "01")]),
            s3_bridge("Object Created", key),
            s3_bridge("Object Deleted", key),
        ] {
            let found = read(&payload, &own(BUCKET))[0].wanted.clone().unwrap();
            assert_eq!(is_ignored(&found, "our own store"), is_ours, "{prefix} {payload}");
            let found = read(&payload, &own("example-other"))[0].wanted.clone().unwrap();
            assert!(!is_ignored(&found, "our own store"), "{prefix} {payload}");
        }
    }
}

#[test]
fn records_of_stores_that_speak_like_s3_and_with_stray_white_space_are_read() {
    for (source, region, name) in [
        ("minio:s3", "", "s3:ObjectCreated:Put"),
        (" aws:s3 ", " eu-central-1\n", "ObjectCreated:Put"),
        ("aws: s3", "xx-nowhere-9", " ObjectCreated:Put "),
    ] {
        let mut record = s3_record(
            name,
            &json!({"key": "in%2Fa.csv", "size": 9_007_199_254_740_993_u64, "eTag": "",
                                                 "sequencer": "159FB6B233B08AF0", "userMetadata": {"x": [1]}}),
        );
        record["eventSource"] = json!(source);
        record["awsRegion"] = json!(region);
        record["source"] = json!({"host": "", "userAgent": ""});
        let payload = json!({"EventName": name, "Key": "example-data/in/a.csv", "Records": [record]});
        assert_eq!(
            only(&payload),
            start(gone("in/a.csv"), "s3:example-data/in/a.csv#159FB6B233B08AF0"),
            "{source}"
        );
    }
}

#[test]
fn unknown_and_missing_fields_do_no_harm() {
    let mut event = s3_bridge("Object Created", "a");
    event["replay-name"] = json!("again");
    event["detail"]["future"] = json!({"a": [1]});
    event["detail"]["bucket"]["aws-generated-tags"] = json!({"aws:cloudformation:stack-name": "demo"});
    event["detail"]["object"] = json!({"key": "a", "etag": "\"9ab2\""});
    assert_eq!(only(&event), start(gone("a"), "event-1"));
}

#[test]
fn the_identity_of_a_change_is_bucket_key_and_sequencer_or_the_next_best() {
    for (object, time, origin) in [
        (
            json!({"key": "a", "sequencer": "0A1", "eTag": "e"}),
            "t",
            "s3:example-data/a#0A1",
        ),
        (
            json!({"key": "a", "sequencer": "", "eTag": "e"}),
            "t",
            "s3:example-data/a#e,t",
        ),
        (
            json!({"key": "a", "eTag": "e", "versionId": "v"}),
            "t",
            "s3:example-data/a#e,v,t",
        ),
        (json!({"key": "a"}), "t", "s3:example-data/a#t"),
        (json!({"key": "a"}), "", "sqs-1"),
    ] {
        let mut record = s3_record("ObjectCreated:Put", &object);
        record["eventTime"] = json!(time);
        assert_eq!(only(&in_sqs(&records(&[record]))), start(gone("a"), origin), "{object}");
    }
}

#[test]
fn a_record_that_lacks_what_counts_is_named() {
    let without = |path: &[&str]| {
        let mut record = created("a", "01");
        let (last, way) = path.split_last().unwrap();
        let parent = way.iter().fold(&mut record, |value, name| &mut value[*name]);
        parent.as_object_mut().unwrap().remove(*last);
        bad(&records(&[record]))
    };
    for path in [
        &["eventName"][..],
        &["s3"],
        &["s3", "bucket"],
        &["s3", "bucket", "name"],
        &["s3", "object"],
        &["s3", "object", "key"],
    ] {
        let text = without(path);
        let name = format!("Records[0].{} is missing", path.join("."));
        assert!(text.contains(&name), "{text}");
    }
    assert!(bad(&records(&[created("", "01")])).contains("s3.object.key is empty"));
    let mut event = s3_bridge("Object Created", "a");
    event["detail"]["object"]["key"] = json!(1);
    assert!(bad(&event).contains("detail.object.key is 1"));
}

/// Which changes are left of some, in short: `+` for a start, `-` for an early look, each with the origin's last part.
fn left_of(changes: &[Value]) -> Vec<String> {
    wanted(&records(changes))
        .into_iter()
        .filter_map(|wanted| match wanted.unwrap() {
            Wanted::Start(request) => Some(format!("+{}", request.origin.rsplit('#').next().unwrap_or_default())),
            Wanted::Wake(_) => Some("-".to_owned()),
            Wanted::Ignored(_) => None,
            copy @ Wanted::Copy { .. } => panic!("{copy:?}"),
        })
        .collect()
}

#[test]
fn of_several_changes_of_one_object_the_latest_start_and_the_latest_removal_count() {
    let (add, del) = (|s: &str| created("a", s), |s: &str| removed("a", s));
    for (changes, left) in [
        (
            vec![
                add("0061A1B2C3D4E5F6"),
                add("0061A1B2C3D4E5F6"),
                del("0061A1B2C3D4E5F601"),
            ],
            vec!["+0061A1B2C3D4E5F6", "-"],
        ),
        // Shorter sequencers count as if they ended in zeros, whatever the case of their digits.
        (vec![del("0061B"), add("0061A2")], vec!["+0061A2", "-"]),
        (vec![del("61"), add("60FF")], vec!["+60FF", "-"]),
        (vec![add("6b"), del("6A")], vec!["-", "+6b"]),
        (vec![add("61"), add("6100")], vec!["+6100"]),
        (vec![add("03"), del("02"), add("01")], vec!["-", "+03"]),
        (vec![del("03"), add("02"), del("01")], vec!["+02", "-"]),
        (vec![del("01"), del("02")], vec!["-"]),
        // Without sequencers nothing tells the order: as they came.
        (
            vec![del("01"), add("")],
            vec!["-", "+d41d8cd9,2026-03-02T08:30:00.000Z"],
        ),
        (vec![add("zz"), del("01")], vec!["+zz", "-"]),
    ] {
        assert_eq!(left_of(&changes), left, "{changes:?}");
    }
}

#[test]
fn changes_of_different_objects_do_not_touch_each_other() {
    let all = shorts(&records(&[
        created("b", "02"),
        created("a", "01"),
        removed("b", "01"),
        removed("c", "03"),
    ]));
    assert_eq!(
        all,
        [
            "wake s3://example-data/b",
            "start s3://example-data/a#s3:example-data/a#01",
            "start s3://example-data/b#s3:example-data/b#02",
            "wake s3://example-data/c",
        ]
    );
}

#[test]
fn changes_that_came_in_different_messages_keep_their_messages() {
    let message = |id: &str, change: Value| sqs_record(id, &records(&[change]).to_string());
    let batch = records(&[
        message("m1", removed("a", "02")),
        message("m2", created("a", "01")),
        message("m3", created("a", "01")),
    ]);
    let read: Vec<(Option<String>, String)> = read(&batch, &rules())
        .iter()
        .map(|item| (item.message_id.clone(), short(item)))
        .collect();
    let is = |id: &str, what: &str| (Some(id.to_owned()), what.to_owned());
    assert_eq!(
        read,
        [
            is("m2", "ignored"),
            is("m3", "start s3://example-data/a#s3:example-data/a#01"),
            is("m1", "wake s3://example-data/a"),
        ]
    );
}
