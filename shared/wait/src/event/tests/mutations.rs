//! Payloads with anything wrong in them.

use matsu_lock::Random as _;
use matsu_lock::clock::SeededRandom;

use super::super::{direct, raw};
use super::*;

struct Chance(SeededRandom);

impl Chance {
    fn below(&self, limit: usize) -> usize {
        usize::try_from(self.0.bits() % limit.max(1) as u128).unwrap()
    }

    fn of<'a, T>(&self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Values that could stand anywhere. None of them tells of a snapshot that was created.
fn strange(chance: &Chance) -> Value {
    let long = "x".repeat(chance.below(5_000));
    let texts = [
        "",
        " ",
        "None",
        "null",
        "%",
        "%zz",
        "%2",
        "+",
        "🐟",
        "\u{ffff}",
        "\u{0}",
        "\u{feff}",
        "/",
        "arn:",
        "arn:aws:rds:::",
        "arn:aws:rds:a:b:snapshot:c",
        "arn:aws:rds:a:b:cluster-snapshot:c",
        "s3://",
        "s3://a/",
        "file:",
        "rds:snapshot/",
        "aws:s3",
        "aws:sqs",
        "aws:sns",
        "aws.s3",
        "aws.rds",
        "Notification",
        "0",
        "-1",
        "30s",
        "{",
        "[]",
        "{}",
        "\"\"",
        "1",
        "{\"Records\":[]}",
        "{\"Records\":[{}]}",
        "{\"target\":\"s3://example-data/a\"}",
        "RDS-EVENT-0059",
        "RDS-EVENT-0197",
        "#",
        "RDS DB Snapshot Event",
        "Object Created",
        "ObjectCreated:Put",
        "ObjectRemoved:Delete",
        "exists",
        &long,
    ];
    match chance.below(8) {
        0 => Value::Null,
        1 => json!(*chance.of(&[i64::MIN, -1, 0, 1, i64::MAX])),
        2 => json!(*chance.of(&[0.5, -0.0, 1e300])),
        3 => json!(chance.below(2) == 0),
        4 => json!([]),
        5 => json!({}),
        _ => json!(*chance.of(&texts)),
    }
}

/// Changes one thing somewhere in `value`.
fn mutate(value: &mut Value, chance: &Chance) {
    let goes_deeper = chance.below(12) > 0;
    match value {
        Value::Object(map) if goes_deeper && !map.is_empty() => {
            let name = map.keys().nth(chance.below(map.len())).cloned().unwrap_or_default();
            match chance.below(8) {
                0 => {
                    map.remove(&name);
                }
                1 => {
                    let moved = map.remove(&name).unwrap_or_default();
                    map.insert(format!("{name}x"), moved);
                }
                _ => mutate(&mut map[&name], chance),
            }
        }
        Value::Array(list) if goes_deeper && !list.is_empty() => {
            let index = chance.below(list.len());
            match chance.below(4) {
                0 => list.push(list[index].clone()),
                1 => {
                    list.remove(index);
                }
                _ => mutate(&mut list[index], chance),
            }
        }
        Value::String(text) if goes_deeper => {
            // A text may be JSON again, or is cut or repeated somewhere.
            if let Ok(mut inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                mutate(&mut inner, chance);
                *text = inner.to_string();
            } else {
                let cut = text
                    .char_indices()
                    .map(|(i, _)| i)
                    .nth(chance.below(text.len()))
                    .unwrap_or(0);
                *text = match chance.below(3) {
                    0 => text[..cut].to_owned(),
                    1 => text[cut..].to_owned(),
                    _ => format!("{}{text}", &text[..cut]),
                };
            }
        }
        _ => {
            *value = match chance.below(6) {
                0 => json!([value.clone()]),
                1 => json!(value.to_string()),
                2 => (0..chance.below(120)).fold(value.clone(), |inner, _| json!({ "a": inner })),
                _ => strange(chance),
            };
        }
    }
}

/// Payloads that may start waits, but no copy.
fn seeds() -> Vec<Value> {
    let arn = "arn:aws:rds:eu-central-1:123456789012:snapshot:orders-copy";
    let cluster = "arn:aws:rds:eu-central-1:123456789012:cluster-snapshot:main";
    let mut seeds = vec![
        records(&[
            created("in/a+b%2B", "0061A1"),
            removed("in/a+b%2B", "0061A2"),
            created("in/c", "01"),
        ]),
        s3_bridge("Object Created", "in/a"),
        s3_bridge("Object Deleted", "in/a"),
        rds_bridge("RDS DB Cluster Snapshot Event", "RDS-EVENT-0168", cluster),
        subscription("db-cluster-snapshot", "RDS-EVENT-0060", "main", Some(cluster)),
        json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": BUCKET}),
        json!({"target": "s3://example-data/a", "until": "deleted", "count": 3, "policy": {"timeout": "1h", "max_count": 9}}),
        json!({"bucket": BUCKET, "key": "a", "region": "eu-central-1"}),
        json!({"snapshot": "orders", "origin": "me", "seen": "token"}),
        json!({"target": {"kind": "rds-snapshot", "id": "orders-copy", "region": "eu-west-1", "account": "123456789012"},
               "job": {"kind": "rds-copy", "source": arn, "tags": {"these": {"a": "b"}}}, "count": 1, "origin": "e"}),
    ];
    for event in ["0059", "0060", "0061", "0190", "0196", "0197", "0040", "0041", "0090"] {
        let event = format!("RDS-EVENT-{event}");
        seeds.push(rds_bridge("RDS DB Snapshot Event", &event, arn));
        seeds.push(subscription("db-snapshot", &event, "orders-copy", Some(arn)));
    }
    let bare = seeds.clone();
    seeds.extend(bare.iter().map(in_sqs));
    seeds.extend(bare.iter().map(in_sns));
    seeds.extend(bare.iter().map(|seed| in_sqs(&envelope(&seed.to_string()))));
    seeds.extend(bare.iter().map(|seed| json!(seed.to_string())));
    seeds
}

#[test]
fn no_payload_breaks_the_reader_or_copies_a_copy_and_every_request_can_be_put_off() {
    let chance = Chance(SeededRandom::new(20_260_302));
    let (mut understood, mut refused) = (0, 0);
    for round in 0..25 {
        for mut payload in seeds() {
            for _ in 0..=round % 5 {
                mutate(&mut payload, &chance);
            }
            for item in read(&payload, &rules()) {
                match item.wanted {
                    Ok(copy @ Wanted::Copy { .. }) => panic!("{payload}: {copy:?}"),
                    Ok(Wanted::Start(request)) => {
                        understood += 1;
                        assert!(
                            request.count > 0 && !request.origin.is_empty(),
                            "{payload}: {request:?}"
                        );
                        assert_eq!(
                            direct(&raw(&request), &rules()),
                            Ok(Wanted::Start(request)),
                            "{payload}"
                        );
                    }
                    Ok(Wanted::Wake(_) | Wanted::Ignored(_)) => understood += 1,
                    Err(BadEvent(why)) => {
                        refused += 1;
                        assert!(!why.is_empty() && why.chars().count() < 2_000, "{payload}: {why}");
                    }
                }
            }
        }
    }
    assert!(
        understood > 800 && refused > 800,
        "{understood} understood, {refused} refused"
    );
}
