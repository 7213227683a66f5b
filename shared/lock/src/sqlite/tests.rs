use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use super::*;
use crate::{OsRandom, SystemClock, contract};

fn open(path: &Path) -> SqliteStore {
    let file = SqliteFile::open(path).unwrap();
    SqliteStore::new(file, Arc::new(SystemClock), Arc::new(OsRandom)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn it_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    contract::check(Arc::new(open(&folder.path().join("matsu.db"))), 100, "contract").await;
}

#[tokio::test]
async fn it_lists_more_than_one_page() {
    let folder = tempfile::tempdir().unwrap();
    contract::listing(&open(&folder.path().join("matsu.db")), "contract", 2 * PAGE + 1).await;
}

#[tokio::test]
async fn what_was_written_is_there_after_opening_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("matsu.db");
    let Write::Written { token, .. } = open(&path).create("a", b"1".to_vec()).await.unwrap() else {
        panic!("an absent key can be created");
    };
    let stored = open(&path).get("a").await.unwrap().unwrap();
    assert_eq!((stored.body, stored.token), (b"1".to_vec(), token));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_others_kept_waiting_too_long_is_no_answer_and_has_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("matsu.db");
    let store = open(&path);
    store
        .file
        .change_blocking(|connection| connection.busy_timeout(Duration::from_millis(50)))
        .unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    match store.create("a", b"1".to_vec()).await {
        Err(StoreError::Unavailable(text)) => assert!(text.contains("matsu.db was kept busy"), "{text}"),
        other => panic!("neither written nor refused nor unknown: {other:?}"),
    }
    // Readers do not wait for the writer.
    assert_eq!(store.get("a").await.unwrap(), None);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(store.get("a").await.unwrap(), None);
    assert!(matches!(
        store.create("a", b"1".to_vec()).await,
        Ok(Write::Written { .. })
    ));
}

#[tokio::test]
async fn a_file_that_lost_its_table_is_unusable_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("matsu.db"));
    store
        .file
        .change_blocking(|connection| connection.execute_batch("DROP TABLE matsu_store"))
        .unwrap();
    match store.create("a", b"1".to_vec()).await {
        Err(StoreError::Unusable(text)) => assert!(text.contains("matsu.db"), "{text}"),
        other => panic!("a file without its table is unusable: {other:?}"),
    }
}

/// A write that finds out at its commit, as it would of a disk that fails, is neither made nor without effect for sure.
#[tokio::test]
async fn a_commit_that_fails_is_unknown_and_the_next_write_is_made() {
    const ORPHAN: &str = "
        CREATE TABLE parent (x INTEGER PRIMARY KEY);
        CREATE TABLE child (x REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER orphan AFTER INSERT ON matsu_store BEGIN INSERT INTO child VALUES (1); END";
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("matsu.db"));
    let change = |sql: &'static str| store.file.change_blocking(move |c| c.execute_batch(sql));
    change(ORPHAN).unwrap();
    match store.create("a", b"1".to_vec()).await {
        Ok(Write::Unknown(why)) => assert!(why.starts_with("the commit failed"), "{why}"),
        other => panic!("nobody knows what became of it: {other:?}"),
    }
    let blocking = change("INSERT INTO child VALUES (2)");
    assert!(matches!(blocking, Err(StoreError::Unavailable(_))), "{blocking:?}");
    change("DROP TRIGGER orphan").unwrap();
    assert_eq!(store.get("a").await.unwrap(), None);
    assert!(matches!(
        store.create("a", b"1".to_vec()).await,
        Ok(Write::Written { .. })
    ));
}

const PROCESSES: usize = 4;
const ROUNDS: u32 = 200;
const LINES: u32 = 50;
/// What marks the argument by which a process learns that it is one of several.
const RIVAL: &str = "rival-in=";

#[tokio::test]
async fn of_several_processes_at_once_one_wins_each_key_and_no_line_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let binary = std::env::current_exe().unwrap();
    let argument = format!("{RIVAL}{}", folder.path().display());
    let start = || {
        Command::new(&binary)
            .args(["--exact", "sqlite::tests::rival", &argument])
            .spawn()
            .unwrap()
    };
    let mut rivals: Vec<Child> = (0..PROCESSES).map(|_| start()).collect();
    wait_for(folder.path(), "ready-", PROCESSES).await;
    std::fs::write(folder.path().join("go"), "").unwrap();
    for rival in &mut rivals {
        assert!(rival.wait().unwrap().success(), "every process finds the contract kept");
    }

    let won = found(folder.path(), "won-")
        .into_iter()
        .map(|path| std::fs::read_to_string(path).unwrap());
    let won: Vec<u32> = won.map(|text| text.parse().unwrap()).collect();
    assert_eq!(
        won.iter().sum::<u32>(),
        ROUNDS,
        "each key was created by one process: {won:?}"
    );
    let store = open(&folder.path().join("matsu.db"));
    let lines = contract::append(&store, 0, "lines").await;
    assert_eq!(lines, PROCESSES * LINES as usize, "no line was lost");
}

/// Not a test of its own: what each of the several processes does. Without its argument it has nothing to do.
#[tokio::test]
async fn rival() {
    let Some(folder) = std::env::args().find_map(|argument| argument.strip_prefix(RIVAL).map(str::to_owned)) else {
        return;
    };
    let (folder, me) = (Path::new(&folder), std::process::id());
    std::fs::write(folder.join(format!("ready-{me}")), "").unwrap();
    wait_for(folder, "go", 1).await;
    let store = open(&folder.join("matsu.db"));
    let won = contract::claim(&store, ROUNDS, "processes").await;
    contract::append(&store, LINES, "lines").await;
    std::fs::write(folder.join(format!("won-{me}")), won.to_string()).unwrap();
}

/// Waits until the folder has `count` files whose names begin so.
async fn wait_for(folder: &Path, beginning: &str, count: usize) {
    for _ in 0..6_000 {
        if found(folder, beginning).len() >= count {
            return;
        }
        SystemClock.sleep(Duration::from_millis(10)).await;
    }
    panic!("no {count} files {beginning}* came within a minute");
}

fn found(folder: &Path, beginning: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let begins = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(beginning);
    entries.filter(begins).collect()
}
