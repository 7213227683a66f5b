//! `matsu config`: every setting, its value and where that is from; secrets masked.

use std::process::ExitCode;

use comfy_table::{Table, presets};
use matsu_wait::config::{Config, QueueUrl, Role, Source, StoreUrl, Values};
use matsu_wait::duration;
use serde::Serialize;

use crate::args::{Common, Output};
use crate::failure::Failure;
use crate::say;
use crate::settings;

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Setting {
    name: &'static str,
    value: Option<String>,
    from: String,
    takes: &'static str,
}

/// Runs the command.
pub(crate) fn run(common: &Common) -> Result<ExitCode, Failure> {
    let values = settings::values(common)?;
    let config = Config::new(&values, Role::Command)?;
    let settings = all(&values, &config);
    match common.output {
        Output::Json => say::json(&settings)?,
        Output::Text => {
            let mut table = Table::new();
            table.load_style(presets::NOTHING).set_header(["NAME", "VALUE", "FROM"]);
            for Setting { name, value, from, .. } in settings {
                table.add_row([name, value.as_deref().unwrap_or("-"), &from]);
            }
            for column in table.column_iter_mut() {
                column.set_padding((0, 2));
            }
            say::result(table.trim_fmt())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn all(values: &Values, config: &Config) -> Vec<Setting> {
    let setting = |(name, takes)| {
        let (value, from) = match values.source(name).filter(|_| values.optional(name).is_some()) {
            Some(Source::Flag(flag)) => (values.optional(name), (*flag).to_owned()),
            Some(Source::Environment) => (values.optional(name), "environment".to_owned()),
            Some(Source::File(path)) => (values.optional(name), path.display().to_string()),
            None => (default(name, config), "default".to_owned()),
        };
        let value = value.map(|value| {
            if name == "MATSU_SLACK_WEBHOOK" {
                masked(&value)
            } else {
                value
            }
        });
        Setting {
            name,
            value,
            from,
            takes,
        }
    };
    Values::names().map(setting).collect()
}

/// What holds where nothing is set.
fn default(name: &str, config: &Config) -> Option<String> {
    let policy = &config.policy;
    Some(match name {
        "MATSU_STORE" => match &config.store {
            StoreUrl::Sqlite(path) => format!("sqlite:{}", path.display()),
            StoreUrl::S3 { bucket, prefix } => format!("s3://{bucket}/{prefix}"),
        },
        "MATSU_QUEUE" => match &config.queue {
            QueueUrl::Sqlite(path) => format!("sqlite:{}", path.display()),
            QueueUrl::Sqs(url) => url.clone(),
        },
        "MATSU_MAX_COUNT" => policy.max_count.to_string(),
        "MATSU_TIMEOUT" => duration::format(policy.timeout),
        "MATSU_MIN_DELAY" => duration::format(policy.min_delay),
        "MATSU_MAX_DELAY" => duration::format(policy.max_delay),
        "MATSU_COPY_NAME" => config.copy.name.clone(),
        "MATSU_ON_OBJECT_CREATED" => "wait-deleted".to_owned(),
        "MATSU_LOG" => "text".to_owned(),
        "MATSU_LOG_LEVEL" => config.log_level.to_owned(),
        _ => return None,
    })
}

/// A secret, of which only the kind is shown: a URL's host, a reference's scheme.
fn masked(secret: &str) -> String {
    let shown = match secret.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}/", rest.split(['/', '@', '?']).next().unwrap_or_default()),
        None => secret
            .split_once(':')
            .map(|(kind, _)| format!("{kind}:"))
            .unwrap_or_default(),
    };
    format!("{shown}***")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings_of(set: &[(&str, &str)]) -> Vec<Setting> {
        let home = [("HOME".into(), "/home/me".into())];
        let mut values = Values::from_vars(home.into_iter()).unwrap();
        for (name, text) in set {
            values.insert(name, (*text).to_owned(), Source::Environment).unwrap();
        }
        values
            .insert("MATSU_STORE", "sqlite:/x.db".to_owned(), Source::Flag("--store"))
            .unwrap();
        all(&values, &Config::new(&values, Role::Command).unwrap())
    }

    fn of(settings: &[Setting], name: &str) -> (String, String) {
        let setting = settings.iter().find(|setting| setting.name == name).unwrap();
        (setting.value.clone().unwrap_or_default(), setting.from.clone())
    }

    #[test]
    fn every_setting_tells_its_value_and_where_it_is_from() {
        let settings = settings_of(&[("MATSU_TIMEOUT", "2h")]);
        assert_eq!(
            of(&settings, "MATSU_STORE"),
            ("sqlite:/x.db".to_owned(), "--store".to_owned())
        );
        assert_eq!(
            of(&settings, "MATSU_QUEUE"),
            ("sqlite:/x.db".to_owned(), "default".to_owned())
        );
        assert_eq!(
            of(&settings, "MATSU_TIMEOUT"),
            ("2h".to_owned(), "environment".to_owned())
        );
        assert_eq!(
            of(&settings, "MATSU_MIN_DELAY"),
            ("15s".to_owned(), "default".to_owned())
        );
    }

    #[test]
    fn the_webhook_is_masked() {
        let settings = settings_of(&[("MATSU_SLACK_WEBHOOK", "https://hooks.slack.com/services/T0/B0/secret")]);
        assert_eq!(of(&settings, "MATSU_SLACK_WEBHOOK").0, "https://hooks.slack.com/***");
        assert_eq!(masked("kms:AQICAHg="), "kms:***");
        assert_eq!(masked("nonsense"), "***");
    }
}
