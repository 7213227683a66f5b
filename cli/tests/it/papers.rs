//! What the command prints about itself: schemas, completions, the manual.

use crate::harness::{Rig, is_there};

#[test]
fn each_schema_can_be_had_alone_and_all_of_them_together() {
    let rig = Rig::new();
    let all = rig.run(&["schema"]).json();
    for name in ["target", "request", "result"] {
        let one = rig.run(&["schema", name]);
        assert_eq!(one.code, Some(0), "{one:?}");
        assert_eq!(one.json(), all[name]);
        assert_eq!(one.json()["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
}

#[test]
fn every_shell_gets_completions() {
    let rig = Rig::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = rig.run(&["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(
            ran.stdout.contains("matsu") && ran.stdout.contains("max-count"),
            "{shell}"
        );
    }
}

#[test]
fn the_manual_is_one_page_or_a_folder_of_them() {
    let rig = Rig::new();
    let page = rig.run(&["man"]);
    assert_eq!(page.code, Some(0), "{page:?}");
    for words in [".TH matsu 1", "MATSU WAIT", "MATSU START RDS-COPY", "124 gave up"] {
        assert!(page.stdout.contains(words), "{words} is missing");
    }
    assert_eq!(rig.run(&["man", "--dir", "pages"]).code, Some(0));
    for name in ["matsu.1", "matsu-wait.1", "matsu-start-rds-copy.1"] {
        assert!(is_there(&rig.path("pages").join(name)), "{name}");
    }
    rig.touch("file");
    let ran = rig.run(&["man", "--dir", "file"]);
    assert_eq!(ran.code, Some(252), "{ran:?}");
    assert!(ran.only_line().contains("--dir file"), "{ran:?}");
}
