//! The settings: a flag, else the environment, else a file, else the default. Only the command reads files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use matsu_wait::config::{BadConfig, Source, Values};
use toml::{Table, Value};

use crate::args::Common;
use crate::failure::Failure;
use crate::say;

/// The file's name in the folder where the command runs, and in `matsu/` in the user's folder for configuration.
const NAME: &str = "matsu.toml";

/// A file that is longer is none of ours.
const LONGEST: u64 = 1 << 20;

/// The settings of flags, environment and file.
pub(crate) fn values(common: &Common) -> Result<Values, Failure> {
    let mut values = Values::from_environment()?;
    for (name, flag, text) in [
        ("MATSU_STORE", "--store", &common.store),
        ("MATSU_QUEUE", "--queue", &common.queue),
    ] {
        if let Some(text) = text {
            values.insert(name, text.clone(), Source::Flag(flag))?;
        }
    }
    if let Some((path, text)) = file(common, &values)? {
        fill(&mut values, &path, &text)?;
        if values.source("MATSU_SLACK_WEBHOOK") == Some(&Source::File(path.clone()))
            && values.text("MATSU_SLACK_WEBHOOK").is_some_and(is_secret)
            && is_readable_by_all(&path)
        {
            say::note(format!(
                "everybody on this machine can read {}, and it holds a webhook: chmod 600 {}",
                path.display(),
                say::quoted(&path.display().to_string())
            ));
        }
    }
    Ok(values)
}

/// The file that holds: the one that is named, else the first of those that are there. None: there is none.
fn file(common: &Common, values: &Values) -> Result<Option<(PathBuf, String)>, Failure> {
    if let Some(named) = &common.config {
        let path = PathBuf::from(named);
        return match read(&path)? {
            Some(text) => Ok(Some((path, text))),
            None => Err(Failure::Usage(format!(
                "--config {named}: there is no such file: it takes the path of a TOML file"
            ))),
        };
    }
    let users = values.config().map(|folder| folder.join("matsu").join(NAME));
    for path in [Some(PathBuf::from(NAME)), users].into_iter().flatten() {
        if let Some(text) = read(&path)? {
            return Ok(Some((path, text)));
        }
    }
    Ok(None)
}

/// The text of a file, if it is there.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    let wrong = |why: String| Failure::Configuration(format!("the configuration file {}: {why}", path.display()));
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(wrong("it is a folder: it takes a TOML file".to_owned())),
        Ok(found) if found.len() > LONGEST => {
            return Err(wrong(format!("it is too long: it takes at most {LONGEST} bytes")));
        }
        Ok(_) => {}
        Err(fault) if matches!(fault.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(fault) => return Err(wrong(format!("it cannot be read: {fault}"))),
    }
    match std::fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => Ok(Some(text)),
        Ok(Err(_)) => Err(wrong("it is not UTF-8 text".to_owned())),
        Err(fault) => Err(wrong(format!("it cannot be read: {fault}"))),
    }
}

/// Takes every value of a file that nothing else has set.
fn fill(values: &mut Values, path: &Path, text: &str) -> Result<(), BadConfig> {
    let text = text.trim_start_matches('\u{feff}');
    let table: Table = toml::from_str(text).map_err(|bad| {
        // Its own rendering quotes the line, which may hold a secret.
        let line = bad
            .span()
            .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        BadConfig(format!(
            "the configuration file {}: line {line} is not TOML: {}",
            path.display(),
            bad.message()
        ))
    })?;
    for (key, value) in table {
        match (value, Values::name(&key).map(Values::takes)) {
            (Value::String(text), _) => values.insert_from_file(&key, text, path)?,
            // A count is a number in TOML, too.
            (Value::Integer(number), Some(takes)) if takes.contains("number") => {
                values.insert_from_file(&key, number.to_string(), path)?;
            }
            (other, Some(takes)) => {
                return Err(BadConfig(format!(
                    "{key} in {} is {}: it takes {takes}, in quotes",
                    path.display(),
                    kind(&other)
                )));
            }
            // It says that there is no such key.
            (_, None) => values.insert_from_file(&key, String::new(), path)?,
        }
    }
    Ok(())
}

/// What a value is, for people; never the value itself.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// Whether it is the address itself, not a reference to where it is kept.
fn is_secret(webhook: &str) -> bool {
    webhook.contains("://")
}

fn is_readable_by_all(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o004 != 0)
}

#[cfg(test)]
mod tests {
    use matsu_wait::config::{Config, Role, StoreUrl};

    use super::*;

    fn from_file(vars: &[(&str, &str)], text: &str) -> Result<Values, BadConfig> {
        let vars = vars.iter().map(|(name, text)| (name.into(), text.into()));
        let mut values = Values::from_vars(vars)?;
        fill(&mut values, Path::new("/etc/matsu.toml"), text)?;
        Ok(values)
    }

    fn refused(text: &str) -> String {
        let bad = from_file(&[("HOME", "/home/me")], text)
            .and_then(|values| Config::new(&values, Role::Command).map(|_| values))
            .expect_err(text);
        assert_eq!(bad.0.lines().count(), 1, "{bad}");
        bad.0
    }

    #[test]
    fn a_file_holds_where_neither_flag_nor_environment_says_anything() {
        let text = "store = \"sqlite:/file.db\"\nmax_delay = \"5m\"\nmax_count = 30\ncopy_to = \"eu-west-1\"\n";
        let vars = [("MATSU_MAX_DELAY", "4m"), ("MATSU_COPY_TO", "")];
        let values = from_file(&vars, text).unwrap();
        let config = Config::new(&values, Role::Command).unwrap();
        assert_eq!(config.store, StoreUrl::Sqlite("/file.db".into()));
        assert_eq!(config.policy.max_delay.as_secs(), 240, "the environment wins");
        assert_eq!(config.policy.max_count, 30);
        assert_eq!(config.copy.to_region.as_deref(), Some("eu-west-1"), "empty is unset");
        let file = Source::File("/etc/matsu.toml".into());
        assert_eq!(values.source("MATSU_STORE"), Some(&file));
        assert_eq!(values.source("MATSU_MAX_DELAY"), Some(&Source::Environment));
    }

    #[test]
    fn what_is_wrong_in_a_file_is_refused_naming_file_and_key() {
        for (text, named) in [
            ("max_dely = \"2m\"", "did you mean max_delay?"),
            ("MATSU_MAX_DELAY = \"2m\"", "is not a setting of matsu"),
            ("[max_delay]\nx = 1", "max_delay in /etc/matsu.toml is a table"),
            ("[copy]\nto = \"eu-west-1\"", "copy in /etc/matsu.toml is not a setting"),
            (
                "max_delay = 120",
                "max_delay in /etc/matsu.toml is a number: it takes a duration",
            ),
            ("max_delay = \"120\"", "max_delay in /etc/matsu.toml is wrong"),
            ("max_count = \"many\"", "max_count in /etc/matsu.toml is \"many\""),
            ("max_count = -1", "max_count in /etc/matsu.toml is \"-1\""),
            ("max_count = 1.5", "max_count in /etc/matsu.toml is a number"),
            ("store = true", "store in /etc/matsu.toml is true or false"),
            ("copy_to = [\"eu-west-1\"]", "copy_to in /etc/matsu.toml is a list"),
            ("min_delay = \"1h\"", "min_delay in /etc/matsu.toml, MATSU_MAX_DELAY"),
            ("copy_name = \"{nonsense}\"", "copy_name in /etc/matsu.toml"),
            ("log = \"xml\"", "log in /etc/matsu.toml"),
            ("log = \"text\"\nlog = \"json\"", "/etc/matsu.toml: line 2"),
            ("log = \"text\"\n\nmax_delay = 2m\n", "/etc/matsu.toml: line 3"),
        ] {
            let bad = refused(text);
            assert!(bad.contains(named), "{text}: {bad}");
            assert!(bad.contains("/etc/matsu.toml"), "{bad}");
        }
    }

    #[test]
    fn no_error_about_a_file_shows_a_secret() {
        for text in [
            "slack_webhook = \"http://hooks.slack.test/SECRETTOKEN\"",
            "slack_webhook = https://hooks.slack.test/SECRETTOKEN",
            "slack_webhook = \"https://hooks.slack.test/SECRETTOKEN",
            "slack_webhook = [\"https://hooks.slack.test/SECRETTOKEN\"]",
            "slack_webhok = \"https://hooks.slack.test/SECRETTOKEN\"",
            "slack_webhook = \"https://hooks.slack.test/SECRETTOKEN\" SECRETTOKEN",
        ] {
            let bad = refused(text);
            assert!(!bad.contains("SECRET"), "{bad}");
        }
    }

    /// Pieces of files.
    const PIECES: [&str; 29] = [
        "store",
        "max_delay",
        "max_count",
        "slack_webhook",
        "webhok",
        " = ",
        "=",
        "\"",
        "\"\"\"",
        "'",
        "\n",
        "\r",
        "#",
        "[",
        "]",
        "[[",
        "{",
        "}",
        ",",
        ".",
        "2m",
        "5",
        "-1e9",
        "true",
        "2026-01-15",
        "\\u0000",
        "\u{feff}",
        "\0",
        "待",
    ];

    proptest::proptest! {
        #[test]
        fn any_file_is_read_or_refused_in_one_line_that_names_it_and_shows_no_secret(
            pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..20), times in 1_usize..3_000,
        ) {
            let text = pieces.concat();
            let webhook = format!("slack_webhook = \"https://hooks.slack.test/SECRETTOKEN\"\n{text}");
            for text in [text.repeat(times), text, webhook] {
                if let Err(bad) = from_file(&[("HOME", "/home/me")], &text) {
                    proptest::prop_assert!(bad.0.contains("/etc/matsu.toml"), "{}", bad);
                    proptest::prop_assert_eq!(bad.0.lines().count(), 1, "{}", bad);
                    proptest::prop_assert!(!bad.0.contains("SECRET"), "{}", bad);
                }
            }
        }
    }
}
