//! What the command says when it leaves waits behind: pure.

use matsu_wait::record::{Notified, Record};
use matsu_wait::target::Target;

use crate::args::Common;
use crate::say;

/// How to go on after an interruption; `typed` are the words of the command line.
pub(crate) fn farewell(
    embedded: bool,
    common: &Common,
    targets: &[Target],
    typed: impl Iterator<Item = String>,
) -> String {
    let again = typed.skip(1).fold("matsu".to_owned(), |line, word| {
        format!("{line} {}", say::quoted(&word))
    });
    let (waits, stay, go, them) = match targets {
        [_] => ("the wait", "stays", "goes", "it"),
        _ => ("the waits", "stay", "go", "them"),
    };
    if embedded {
        return format!("interrupted: {waits} {stay} in the queue; the same command goes on with {them}: {again}");
    }
    let flags = common.typed();
    let cancel: Vec<_> = targets
        .iter()
        .map(|target| format!("matsu cancel {}{flags}", say::quoted(&target.to_string())))
        .collect();
    format!(
        "detached: {waits} {go} on; to follow {them} again: {again}; to cancel {them}: {}",
        cancel.join("; ")
    )
}

/// What is to be said about an outcome that did not reach its channel.
pub(crate) fn announcement(record: Option<&Record>, wait: Option<&str>) -> Option<String> {
    let record = record.filter(|record| Some(record.wait.id.as_str()) == wait)?;
    let target = &record.wait.target;
    match &record.notified {
        Some(Notified::Sent) => None,
        Some(Notified::Undeliverable(why)) => Some(format!("the outcome of {target} could not be announced: {why}")),
        None => Some(format!(
            "the outcome of {target} is not announced yet: matsu worker, or the next matsu wait with this queue, does it"
        )),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use matsu_wait::testing::target;
    use matsu_wait::wait::OutcomeKind;

    use super::*;
    use crate::args::Cli;
    use crate::report::tests::ended;

    fn common(line: &[&str]) -> Common {
        let line = ["matsu", "config"].iter().chain(line);
        Cli::try_parse_from(line).unwrap().common
    }

    #[test]
    fn an_interruption_says_how_to_go_on() {
        let typed = || ["/usr/bin/matsu", "wait", "file:/a b"].map(str::to_owned).into_iter();
        let targets = [target("s3://my-bucket/a key")];
        let nothing = common(&[]);
        assert!(farewell(true, &nothing, &targets, typed()).ends_with("matsu wait 'file:/a b'"));
        let detached = farewell(false, &nothing, &targets, typed());
        assert!(detached.contains("matsu wait 'file:/a b'"), "{detached}");
        assert!(detached.ends_with("matsu cancel 's3://my-bucket/a key'"), "{detached}");
    }

    #[test]
    fn a_detached_command_names_a_cancel_for_each_target_with_the_flags_that_it_takes() {
        let targets = [target("s3://my-bucket/a"), target("s3://my-bucket/b")];
        let flags = common(&["--region", "eu-west-1", "--store", "s3://b/my waits"]);
        let detached = farewell(false, &flags, &targets, std::iter::empty());
        let ending = "to cancel them: matsu cancel s3://my-bucket/a --region eu-west-1 --store 's3://b/my waits'; \
                      matsu cancel s3://my-bucket/b --region eu-west-1 --store 's3://b/my waits'";
        assert!(detached.ends_with(ending), "{detached}");
    }

    #[test]
    fn an_outcome_that_was_not_announced_is_mentioned() {
        let mut record = ended("file:/x", OutcomeKind::Completed, 3);
        let said = announcement(Some(&record), Some("wait-1")).unwrap();
        assert!(said.contains("not announced yet") && said.contains("file:/x"), "{said}");
        assert_eq!(announcement(Some(&record), Some("another")), None);
        record.notified = Some(Notified::Undeliverable("HTTP 404".to_owned()));
        assert!(
            announcement(Some(&record), Some("wait-1"))
                .unwrap()
                .contains("HTTP 404")
        );
        record.notified = Some(Notified::Sent);
        assert_eq!(announcement(Some(&record), Some("wait-1")), None);
    }
}
