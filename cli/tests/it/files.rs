//! The configuration file.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::harness::{Ran, Rig, ran};

fn written(rig: &Rig, name: &str, text: &str) {
    let path = rig.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// The value of a setting, and where it is from.
fn setting(ran: &Ran, name: &str) -> (String, String) {
    let settings = ran.json();
    let setting = settings
        .as_array()
        .unwrap()
        .iter()
        .find(|setting| setting["name"] == name)
        .unwrap()
        .clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&setting["value"]), text(&setting["from"]))
}

#[test]
fn a_flag_wins_over_the_environment_that_over_the_file_and_that_over_the_default() {
    let rig = Rig::new();
    written(
        &rig,
        "matsu.toml",
        "store = \"sqlite:/file.db\"\ntimeout = \"2h\"\nmax_delay = \"5m\"\nmax_count = 7\n",
    );
    let mut command = rig.command(&["config", "--output", "json", "--store", "sqlite:/flag.db"]);
    let ran = ran(command.env("MATSU_TIMEOUT", "3h").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let is = |name: &str, value: &str, from: &str| {
        assert_eq!(setting(&ran, name), (value.to_owned(), from.to_owned()));
    };
    is("MATSU_STORE", "sqlite:/flag.db", "--store");
    is("MATSU_TIMEOUT", "3h", "environment");
    is("MATSU_MAX_DELAY", "5m", "matsu.toml");
    is("MATSU_MAX_COUNT", "7", "matsu.toml");
    is("MATSU_MIN_DELAY", "15s", "default");
}

#[test]
fn the_named_file_is_read_else_the_one_of_this_folder_else_the_users() {
    let rig = Rig::new();
    let timeout = |arguments: &[&str], vars: &[(&str, &str)]| {
        let mut command = rig.command(&[&["config", "--output", "json"], arguments].concat());
        setting(
            &ran(command.envs(vars.iter().copied()).output().unwrap()),
            "MATSU_TIMEOUT",
        )
        .0
    };
    assert_eq!(timeout(&[], &[]), "1d");
    written(&rig, ".config/matsu/matsu.toml", "timeout = \"1h\"");
    assert_eq!(timeout(&[], &[]), "1h");
    written(&rig, "xdg/matsu/matsu.toml", "timeout = \"2h\"");
    let xdg = rig.path("xdg").display().to_string();
    assert_eq!(timeout(&[], &[("XDG_CONFIG_HOME", &xdg)]), "2h");
    written(&rig, "matsu.toml", "timeout = \"3h\"");
    assert_eq!(timeout(&[], &[("XDG_CONFIG_HOME", &xdg)]), "3h");
    written(&rig, "named.toml", "timeout = \"4h\"");
    assert_eq!(timeout(&["--config", "named.toml"], &[]), "4h");
}

#[test]
fn a_file_with_anything_wrong_stops_every_command_with_one_line_and_code_253() {
    let rig = Rig::new();
    for (text, named) in [
        ("max_dely = \"2m\"", "max_delay"),
        ("max_delay = 2", "max_delay"),
        ("max_delay = \"2\"", "max_delay"),
        ("this is no TOML", "line 1"),
    ] {
        written(&rig, "matsu.toml", text);
        for command in [&["config"][..], &["list"], &["wait", "file:/x"], &["worker"]] {
            let ran = rig.run(command);
            assert_eq!(ran.code, Some(253), "{text}: {ran:?}");
            assert!(
                ran.only_line().contains(named) && ran.only_line().contains("matsu.toml"),
                "{ran:?}"
            );
        }
    }
    // It is not even looked at where another one is named.
    written(&rig, "good.toml", "");
    assert_eq!(rig.run(&["list", "--config", "good.toml"]).code, Some(0));
}

#[test]
fn a_webhook_in_a_file_is_masked_and_a_file_that_everybody_can_read_is_warned_about() {
    let rig = Rig::new();
    written(
        &rig,
        "matsu.toml",
        "slack_webhook = \"https://hooks.slack.com/services/T0/B0/secret\"\n",
    );
    let private = rig.run(&["config"]);
    assert_eq!((private.code, private.stderr.as_str()), (Some(0), ""), "{private:?}");
    assert!(private.stdout.contains("https://hooks.slack.com/***"), "{private:?}");
    std::fs::set_permissions(rig.path("matsu.toml"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = rig.run(&["config"]);
    assert_eq!(open.code, Some(0), "{open:?}");
    assert!(open.stderr.contains("chmod 600 matsu.toml"), "{open:?}");
    assert!(!format!("{private:?}{open:?}").contains("secret"));
}
