use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::SignedDuration;
use matsu_lock::{HandClock, OsRandom, SqliteFile, SystemClock};
use tempfile::TempDir;

use super::*;
use crate::message::LONGEST_BODY;
use crate::queue::contract;

const MINUTE: Duration = Duration::from_secs(60);
const HIDDEN: Duration = Duration::from_secs(600);

struct Rig {
    folder: TempDir,
    clock: Arc<HandClock>,
}

impl Rig {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            clock: Arc::new(HandClock::new(Timestamp::from_second(1_700_000_000).unwrap())),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("matsu.sqlite")
    }

    fn open(&self) -> SqliteQueue {
        SqliteQueue::new(
            SqliteFile::open(self.path()).unwrap(),
            self.clock.clone(),
            Arc::new(OsRandom),
        )
        .unwrap()
    }
}

fn open(path: &Path) -> SqliteQueue {
    SqliteQueue::new(
        SqliteFile::open(path).unwrap(),
        Arc::new(SystemClock),
        Arc::new(OsRandom),
    )
    .unwrap()
}

fn message(body: &str, delay: Duration) -> Outgoing {
    Outgoing {
        body: body.to_owned(),
        delay,
    }
}

fn numbered(count: usize) -> Vec<Outgoing> {
    (0..count).map(|n| message(&n.to_string(), Duration::ZERO)).collect()
}

async fn reasons(queue: &SqliteQueue) -> Vec<(String, String)> {
    let letters = queue.dead_letters().await.unwrap();
    letters.into_iter().map(|l| (l.body, l.reason)).collect()
}

#[tokio::test]
async fn it_keeps_the_contract() {
    let rig = Rig::new();
    let queue = rig.open();
    contract::all(&queue, async |d| rig.clock.advance(d), async || reasons(&queue).await).await;
}

#[tokio::test]
async fn its_home_is_the_absolute_path_whatever_way_it_is_reached_by() {
    let rig = Rig::new();
    let home = rig.open().home().to_owned();
    assert!(Path::new(&home).is_absolute());
    std::fs::create_dir(rig.folder.path().join("sub")).unwrap();
    let detour = rig.folder.path().join("sub/../matsu.sqlite");
    assert_eq!(open(&detour).home(), home);
    let link = rig.folder.path().join("link");
    std::os::unix::fs::symlink(rig.path(), &link).unwrap();
    assert_eq!(open(&link).home(), home);
}

#[tokio::test]
async fn messages_outlive_the_process_and_keep_their_due_time() {
    let rig = Rig::new();
    rig.open().send(vec![message("m", MINUTE)]).await[0].clone().unwrap();
    let queue = rig.open();
    let due = rig.clock.now() + MINUTE;
    assert_eq!(queue.next_due().await, Ok(Some(due)));
    rig.clock.advance(MINUTE - Duration::from_nanos(1));
    assert_eq!(queue.receive(10, MINUTE).await, Ok(vec![]));
    rig.clock.advance(Duration::from_nanos(1));
    assert_eq!(queue.receive(10, MINUTE).await.unwrap()[0].body, "m");
    assert_eq!(queue.next_due().await, Ok(Some(due + MINUTE)));
}

#[tokio::test]
async fn a_fraction_of_a_millisecond_makes_a_message_late_and_never_early() {
    let rig = Rig::new();
    rig.clock.advance(Duration::from_micros(900));
    let queue = rig.open();
    queue
        .send(vec![
            message("now", Duration::ZERO),
            message("later", Duration::from_micros(10_200)),
        ])
        .await;
    assert_eq!(queue.receive(10, HIDDEN).await.unwrap()[0].body, "now");
    rig.clock.advance(Duration::from_micros(10_199));
    assert_eq!(queue.receive(10, HIDDEN).await, Ok(vec![]));
    rig.clock.advance(Duration::from_millis(1));
    assert_eq!(queue.receive(10, HIDDEN).await.unwrap()[0].body, "later");
}

#[tokio::test]
async fn a_delay_beyond_the_longest_is_cut_to_it() {
    let rig = Rig::new();
    let queue = rig.open();
    queue.send(vec![message("m", Duration::MAX)]).await;
    assert_eq!(queue.next_due().await, Ok(Some(rig.clock.now() + LONGEST_DELAY)));
}

#[tokio::test]
async fn a_time_of_day_put_back_makes_a_message_late_and_does_not_lose_it() {
    let rig = Rig::new();
    let queue = rig.open();
    queue.send(vec![message("m", MINUTE)]).await;
    rig.clock.jump(SignedDuration::from_secs(-30));
    rig.clock.advance(MINUTE);
    assert_eq!(queue.receive(10, MINUTE).await, Ok(vec![]));
    rig.clock.advance(Duration::from_secs(30));
    assert_eq!(queue.receive(10, MINUTE).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_old_receipt_removes_nothing() {
    let rig = Rig::new();
    let (one, other) = (rig.open(), rig.open());
    one.send(vec![message("m", Duration::ZERO)]).await;
    let first = one.receive(1, MINUTE).await.unwrap();
    rig.clock.advance(MINUTE);
    let second = other.receive(1, MINUTE).await.unwrap();
    assert_eq!(second[0].id, first[0].id);
    one.acknowledge(&first).await.unwrap();
    rig.clock.advance(MINUTE);
    let third = one.receive(1, MINUTE).await.unwrap();
    assert_eq!(third[0].receives, 3);
    one.acknowledge(&third).await.unwrap();
    assert_eq!(one.next_due().await, Ok(None));
}

#[tokio::test]
async fn a_receipt_counts_also_after_its_visibility_has_ended_while_nobody_else_got_the_message() {
    let rig = Rig::new();
    let queue = rig.open();
    queue.send(vec![message("m", Duration::ZERO)]).await;
    let got = queue.receive(1, MINUTE).await.unwrap();
    rig.clock.advance(2 * MINUTE);
    queue.acknowledge(&got).await.unwrap();
    assert_eq!(queue.next_due().await, Ok(None));
}

#[tokio::test]
async fn a_message_received_too_often_becomes_a_dead_letter_and_makes_room_for_the_next() {
    let rig = Rig::new();
    let queue = rig.open().with_max_receives(3);
    queue.send(vec![message("poison", Duration::ZERO)]).await;
    for receives in 1..=3 {
        assert_eq!(queue.receive(1, MINUTE).await.unwrap()[0].receives, receives);
        rig.clock.advance(MINUTE);
    }
    queue.send(vec![message("fine", Duration::ZERO)]).await;
    let got = queue.receive(1, MINUTE).await.unwrap();
    assert_eq!(got.iter().map(|d| d.body.as_str()).collect::<Vec<_>>(), ["fine"]);
    let letter = DeadLetter {
        body: "poison".to_owned(),
        reason: "received 3 times without success".to_owned(),
        at: rig.clock.now(),
    };
    assert_eq!(rig.open().dead_letters().await, Ok(vec![letter]));
}

#[tokio::test]
async fn five_deliveries_are_allowed_unless_said_otherwise() {
    let rig = Rig::new();
    let queue = rig.open();
    queue.send(vec![message("poison", Duration::ZERO)]).await;
    let mut deliveries = 0;
    while !queue.receive(1, MINUTE).await.unwrap().is_empty() {
        deliveries += 1;
        rig.clock.advance(MINUTE);
    }
    assert_eq!(deliveries, 5);
}

#[tokio::test]
async fn a_message_that_is_not_taken_does_not_keep_its_neighbours_out() {
    let rig = Rig::new();
    let queue = rig.open();
    let long = "x".repeat(LONGEST_BODY + 1);
    let batch = ["a", &long, "bell \u{7}", "b"]
        .map(|b| message(b, Duration::ZERO))
        .to_vec();
    let answers = queue.send(batch).await;
    assert_eq!(
        answers.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, false, true]
    );
    assert_eq!(queue.receive(10, MINUTE).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_open_a_new_file_at_once() {
    for _ in 0..20 {
        let rig = Rig::new();
        let opened: Vec<_> = (0..6)
            .map(|_| {
                let path = rig.path();
                tokio::task::spawn_blocking(move || open(&path).home().to_owned())
            })
            .collect();
        for home in opened {
            home.await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_receivers_of_one_file_lose_nothing_and_share_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("race.sqlite");
    assert!(open(&path).send(numbered(500)).await.iter().all(Result::is_ok));
    let racers: Vec<_> = (0..4)
        .map(|_| {
            let queue = open(&path);
            tokio::spawn(async move { drain(&queue).await })
        })
        .collect();
    let mut got = Vec::new();
    for racer in racers {
        got.extend(racer.await.unwrap());
    }
    each_came_to_one_receiver(got, 500);
    assert_eq!(open(&path).next_due().await, Ok(None));
}

/// Runs once as the parent, which starts itself again in a folder of its own, and in that folder as each of the
/// children.
#[tokio::test]
async fn several_processes_on_one_file_lose_nothing_and_share_nothing() {
    const FILE: &str = "race-of-processes.sqlite";
    if Path::new(FILE).exists() {
        let got = drain(&open(Path::new(FILE))).await;
        std::fs::write(format!("got-{}", std::process::id()), got.join("\n")).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(
        open(&folder.path().join(FILE))
            .send(numbered(500))
            .await
            .iter()
            .all(Result::is_ok)
    );
    let module = module_path!().split_once("::").unwrap().1;
    let this = format!("{module}::several_processes_on_one_file_lose_nothing_and_share_nothing");
    let child = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &this]).current_dir(folder.path());
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    for mut child in [child(), child(), child()] {
        assert!(child.wait().unwrap().success());
    }
    let mut got = Vec::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("got-") {
            got.extend(std::fs::read_to_string(path).unwrap().lines().map(str::to_owned));
        }
    }
    each_came_to_one_receiver(got, 500);
}

/// Receives and acknowledges until nothing is left to receive.
async fn drain(queue: &SqliteQueue) -> Vec<String> {
    let mut got = Vec::new();
    loop {
        let deliveries = queue.receive(10, HIDDEN).await.unwrap();
        if deliveries.is_empty() {
            return got;
        }
        assert!(deliveries.iter().all(|d| d.receives == 1));
        queue.acknowledge(&deliveries).await.unwrap();
        got.extend(deliveries.into_iter().map(|d| d.body));
    }
}

fn each_came_to_one_receiver(got: Vec<String>, count: usize) {
    let mut times = BTreeMap::<String, usize>::new();
    for body in got {
        *times.entry(body).or_default() += 1;
    }
    assert_eq!(times.len(), count, "some were lost");
    assert!(times.values().all(|t| *t == 1), "some came to two: {times:?}");
}
