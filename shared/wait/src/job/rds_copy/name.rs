//! The name of a copy: a pure function of the template and the source.
//!
//! RDS takes letters, digits and hyphens, beginning with a letter, without two hyphens in a row or one at the end: 1 to
//! 255 for a snapshot of an instance, 1 to 63 for one of a cluster (`CopyDBSnapshot`, `TargetDBSnapshotIdentifier`;
//! `CopyDBClusterSnapshot`, `TargetDBClusterSnapshotIdentifier`). Ids of sources that services made contain a colon, and others
//! may be too long, so they are made legal; whenever two different sources could come out alike, a short hash of the
//! source's id tells them apart.

use sha2::{Digest, Sha256};

use crate::aws::Family;

/// What a template may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    /// The source's id.
    pub(super) id: &'a str,
    /// The day that the source was made, `YYYY-MM-DD` in UTC; none: nobody knows it.
    pub(super) date: Option<&'a str>,
    /// The source's region.
    pub(super) region: &'a str,
}

/// The part of a template between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Id,
    Date,
    Region,
}

/// Whether a template uses `{date}`.
pub(super) fn needs_date(template: &str) -> bool {
    parts(template).is_ok_and(|parts| parts.contains(&Part::Date))
}

/// The name by the template for a snapshot of this family.
///
/// Errors are one sentence that names the template and what is wrong with it.
pub(super) fn expand(template: &str, words: Words<'_>, family: Family) -> Result<String, String> {
    let parts = parts(template)?;
    let date = words.date.unwrap_or_default();
    let around: usize = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Id => 0,
            Part::Date => date.len(),
            Part::Region => words.region.len(),
        })
        .sum();
    let ids = parts.iter().filter(|part| **part == Part::Id).count().max(1);
    let id = id_within(words.id, family.longest_name().saturating_sub(around) / ids);
    let name: String = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => *text,
            Part::Id => &id,
            Part::Date => date,
            Part::Region => words.region,
        })
        .collect();
    check(&name, family).map_err(|why| format!("the name {template:?} becomes {name:?}, and {why}"))?;
    Ok(name)
}

/// Whether `id` looks like a name made by the template from another id: only where the template has a word of its own
/// (`{id}-copy`, not `{id}-{date}`), because anything else would take people's own snapshots for copies.
pub(super) fn is_made_by(template: &str, id: &str) -> bool {
    let Ok(parts) = parts(template) else { return false };
    let own_word =
        |part: &Part<'_>| matches!(part, Part::Text(text) if text.bytes().any(|b| b.is_ascii_alphanumeric()));
    parts.contains(&Part::Id) && parts.iter().any(own_word) && matches_parts(&parts, &id.to_ascii_lowercase())
}

fn matches_parts(parts: &[Part<'_>], id: &str) -> bool {
    match parts {
        [] => id.is_empty(),
        [Part::Text(text), rest @ ..] => id
            .strip_prefix(&text.to_ascii_lowercase())
            .is_some_and(|after| matches_parts(rest, after)),
        [Part::Id | Part::Date | Part::Region, rest @ ..] => {
            let legal = id
                .bytes()
                .take_while(|b| b.is_ascii_alphanumeric() || *b == b'-')
                .count();
            (1..=legal).any(|end| matches_parts(rest, &id[end..]))
        }
    }
}

fn parts(template: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (word, after) = after
            .split_once('}')
            .ok_or_else(|| format!("the name {template:?} has a {{ without }}"))?;
        parts.push(Part::Text(text));
        parts.push(match word {
            "id" => Part::Id,
            "date" => Part::Date,
            "region" => Part::Region,
            _ => {
                return Err(format!(
                    "the name {template:?} has {{{word}}}: it takes {{id}}, {{date}} and {{region}}"
                ));
            }
        });
        rest = after;
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

/// Whether RDS takes `name` for a copy of this family.
pub(super) fn check(name: &str, family: Family) -> Result<(), &'static str> {
    if !(1..=family.longest_name()).contains(&name.len()) {
        return Err(match family {
            Family::Instance => "a name has 1 to 255 characters",
            Family::Cluster => "a name of a cluster snapshot has 1 to 63 characters",
        });
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err("a name takes letters, digits and hyphens only");
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err("a name begins with a letter");
    }
    if name.contains("--") || name.ends_with('-') {
        return Err("a name has no two hyphens in a row and none at its end");
    }
    Ok(())
}

/// The length of a hash and the hyphen before it.
const HASHED: usize = 9;

/// The id made legal, of at most `longest` characters.
fn id_within(id: &str, longest: usize) -> String {
    let lower = id.to_lowercase();
    let (legal, lossless) = legal(&lower);
    if lossless && legal.len() <= longest {
        return legal;
    }
    let kept = &legal[..legal.len().min(longest.saturating_sub(HASHED))];
    let hash = Sha256::digest(lower.as_bytes());
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    match kept.trim_end_matches('-') {
        "" => format!("s-{hash}"),
        kept => format!("{kept}-{hash}"),
    }
}

/// A legal name for an id in lower case, and whether no other id has the same.
fn legal(id: &str) -> (String, bool) {
    let (maker, own) = id.split_once(':').map_or((None, id), |(maker, own)| (Some(maker), own));
    let known = matches!(maker, Some("rds" | "awsbackup"));
    let mut legal = String::new();
    for c in if known { own } else { id }.chars() {
        if c.is_ascii_alphanumeric() {
            legal.push(c);
        } else if !legal.is_empty() && !legal.ends_with('-') {
            legal.push('-');
        }
    }
    let mut legal = legal.trim_end_matches('-').to_owned();
    if !legal.starts_with(|c: char| c.is_ascii_alphabetic()) {
        legal = format!("s-{legal}").trim_end_matches('-').to_owned();
    }
    // Without its maker an id can be the same as one that a person chose. The ids that services choose have a form;
    // a person's id of that form gets a hash, so that the common ones stay clean.
    let unchanged = legal == own;
    let lossless = match maker {
        Some("rds") => unchanged && is_automated(own),
        Some("awsbackup") => unchanged && is_backup(own),
        Some(_) => false,
        None => unchanged && !is_automated(own) && !is_backup(own),
    };
    (legal, lossless)
}

/// `NAME-YYYY-MM-DD-HH-MM`, as RDS names automated snapshots behind `rds:`; the name is that of the instance or cluster.
pub(super) fn origin_of(own: &str) -> Option<&str> {
    let mut rest = own;
    for digits in [2, 2, 2, 2, 4] {
        let (before, last) = rest.rsplit_once('-')?;
        if last.len() != digits || !last.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        rest = before;
    }
    (!rest.is_empty()).then_some(rest)
}

fn is_automated(own: &str) -> bool {
    origin_of(own).is_some()
}

/// `job-UUID`, as AWS Backup names its snapshots behind `awsbackup:`.
fn is_backup(own: &str) -> bool {
    let Some(uuid) = own.strip_prefix("job-") else {
        return false;
    };
    let groups: Vec<&str> = uuid.split('-').collect();
    let hex = |group: &str| group.bytes().all(|b| b.is_ascii_hexdigit());
    groups.iter().map(|g| g.len()).eq([8, 4, 4, 4, 12]) && groups.iter().all(|g| hex(g))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn name_of(family: Family, template: &str, id: &str) -> Result<String, String> {
        let words = Words {
            id,
            date: Some("2026-01-15"),
            region: "us-east-1",
        };
        expand(template, words, family)
    }

    fn name(template: &str, id: &str) -> Result<String, String> {
        name_of(Family::Instance, template, id)
    }

    #[test]
    fn common_ids_stay_clean() {
        for (id, becomes) in [
            ("manual-1", "manual-1-dr"),
            ("My-Snap", "my-snap-dr"),
            ("rds:app-db-2026-01-15-03-04", "app-db-2026-01-15-03-04-dr"),
            ("RDS:App-DB-2026-01-15-03-04", "app-db-2026-01-15-03-04-dr"),
            (
                "awsbackup:job-1b2c3d4e-0000-4000-8000-000000000001",
                "job-1b2c3d4e-0000-4000-8000-000000000001-dr",
            ),
        ] {
            assert_eq!(name("{id}-dr", id).unwrap(), becomes);
        }
    }

    #[test]
    fn every_id_gets_a_legal_name_of_its_own() {
        let x = "x".repeat(255);
        let xy = format!("{}y", "x".repeat(254));
        let dotted = format!("rds:{}-2026-01-15-03-04", "long-".repeat(60));
        let ids = [
            "manual-1",
            "rds:app-2026-01-15-03-04",
            "app-2026-01-15-03-04",
            "awsbackup:app-2026-01-15-03-04",
            "rds:app",
            "app",
            "rds:db--x-2026",
            "rds:db-x-2026",
            "db-x-2026",
            "db--x-2026",
            "rds:9db-2026-01-15-03-04",
            "rds:s-9db-2026-01-15-03-04",
            "rds:-",
            "rds:",
            "-",
            "rds:ÄÖ-db",
            "rds:äö_db",
            "rds:db",
            "db",
            "rds:mixed-case_db.1",
            "rds:mixed-case-db-1",
            "other:app",
            "other-app",
            "awsbackup:job-1b2c3d4e-0000-4000-8000-000000000001",
            "job-1b2c3d4e-0000-4000-8000-000000000001",
            "rds:job-1b2c3d4e-0000-4000-8000-000000000001",
            &x,
            &xy,
            &dotted,
        ];
        for template in [
            "{id}",
            "{id}-dr",
            "x{id}",
            "{id}-copy-to-us-west-2",
            "{region}-{id}-{date}",
            "{id}-{id}",
        ] {
            for family in [Family::Instance, Family::Cluster] {
                let named = |id: &&str| name_of(family, template, id).unwrap();
                let names: BTreeSet<String> = ids.iter().map(named).collect();
                assert_eq!(names.len(), ids.len(), "{template}: {names:?}");
                for name in names {
                    assert_eq!(check(&name, family), Ok(()), "{template}: {name}");
                }
            }
        }
    }

    #[test]
    fn the_same_source_always_has_the_same_name_however_its_letters_are_written() {
        assert_eq!(name("{id}", "RDS:Mixed-Case_db.1"), name("{id}", "rds:mixed-case_DB.1"));
    }

    #[test]
    fn a_long_id_is_cut_to_what_the_template_leaves() {
        let id = "x".repeat(255);
        let cut = name("{id}-copy-to-us-west-2", &id).unwrap();
        assert_eq!(cut.len(), 255);
        assert!(cut.starts_with("xxx") && cut.ends_with("-copy-to-us-west-2"));
        let hyphen = format!("{}-{}", "x".repeat(235), "y".repeat(19));
        assert_eq!(check(&name("{id}-copy-to", &hyphen).unwrap(), Family::Instance), Ok(()));
    }

    #[test]
    fn the_copy_of_a_cluster_snapshot_has_a_name_of_at_most_63_characters() {
        let cluster = |template: &str, id: &str| name_of(Family::Cluster, template, id);
        let common = "rds:aurora-main-2026-01-15-03-04";
        assert_eq!(cluster("{id}-dr", common).unwrap(), "aurora-main-2026-01-15-03-04-dr");
        let fits = format!("a{}", "x".repeat(59));
        assert_eq!(cluster("{id}-dr", &fits).unwrap(), format!("{fits}-dr"));
        let long = format!("rds:{}-2026-01-15-03-04", "a".repeat(63));
        let one = cluster("{id}-dr", &long).unwrap();
        let other = cluster("{id}-dr", &long.replace("-04", "-05")).unwrap();
        assert!(one.len() <= 63 && one.ends_with("-dr") && one != other, "{one} {other}");
        assert_eq!(
            name("{id}-dr", &long).unwrap().len(),
            63 + 17 + 3,
            "an instance's stays whole"
        );
        let template = format!("{{id}}{}", "x".repeat(63));
        assert!(cluster(&template, "a").unwrap_err().contains("1 to 63"));
        assert!(check(&"a".repeat(64), Family::Cluster).is_err() && check(&"a".repeat(63), Family::Cluster).is_ok());
    }

    #[test]
    fn all_words_are_filled_in() {
        assert_eq!(name("{region}-{id}-{date}", "a").unwrap(), "us-east-1-a-2026-01-15");
        assert!(needs_date("{id}-{date}") && !needs_date("{id}-copy") && !needs_date("{dat"));
    }

    #[test]
    fn a_name_that_the_template_makes_is_known_and_peoples_own_names_are_not_taken_for_it() {
        for (template, id, made) in [
            ("{id}-copy", "app-copy", true),
            ("{id}-copy", "APP-COPY", true),
            ("{id}-copy", "app", false),
            ("{id}-copy", "-copy", false),
            ("{id}-copy", "rds:app-2026-01-15-03-04", false),
            ("dr-{id}-{date}", "dr-app-2026-01-15", true),
            ("dr-{id}-{date}", "app-2026-01-15", false),
            ("{id}-{date}", "app-2026-01-15", false),
            ("{id}", "app", false),
            ("{id}-{region}-dr", "app-us-east-1-dr", true),
        ] {
            assert_eq!(is_made_by(template, id), made, "{template} {id}");
        }
    }

    #[test]
    fn a_template_that_cannot_make_a_legal_name_is_refused_and_named() {
        let long = format!("{{id}}{}", "x".repeat(255));
        for (template, says) in [
            ("{id}-{time}", "{time}"),
            ("{id}-{", "without }"),
            ("{id}}", "letters, digits and hyphens"),
            ("", "1 to 255"),
            ("{id}--x", "two hyphens"),
            ("{id}-", "at its end"),
            ("-{id}", "begins with a letter"),
            ("{date}", "begins with a letter"),
            ("{id}_x", "letters, digits and hyphens"),
            (long.as_str(), "1 to 255"),
        ] {
            let error = name(template, "a").unwrap_err();
            assert!(error.contains(says) && error.contains(template), "{template}: {error}");
        }
    }

    #[test]
    fn an_automated_id_tells_what_it_is_of() {
        assert_eq!(origin_of("app-db-2026-01-15-03-04"), Some("app-db"));
        for other in [
            "app-db",
            "2026-01-15-03-04",
            "-2026-01-15-03-04",
            "app-2026-01-15",
            "app-2026-1-15-03-04",
        ] {
            assert_eq!(origin_of(other), None, "{other}");
        }
    }
}
