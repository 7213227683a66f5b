use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::testing::{Bench, SECOND, target};
use crate::wait::Status;

/// A look whose targets all go together and that notes each request.
#[derive(Debug, Default)]
struct Noted {
    requests: Mutex<Vec<Vec<String>>>,
    apart: AtomicBool,
}

impl Noted {
    fn sizes(&self) -> Vec<usize> {
        self.requests.lock().unwrap().iter().map(Vec::len).collect()
    }
}

#[async_trait]
impl Look for Noted {
    async fn look(&self, target: &Target) -> Seen {
        self.look_all(std::slice::from_ref(target)).await.remove(0)
    }

    async fn look_all(&self, targets: &[Target]) -> Vec<Seen> {
        let names: Vec<_> = targets.iter().map(ToString::to_string).collect();
        assert!(names.iter().all(|name| !name.contains("broken")), "on purpose");
        self.requests.lock().unwrap().push(names.clone());
        names.into_iter().map(|name| Seen::Pending(Status::new(name))).collect()
    }

    fn together(&self, target: &Target) -> Option<String> {
        let bucket = target.to_string().split('/').nth(2).map(str::to_owned);
        bucket.filter(|_| !self.apart.load(Ordering::Relaxed))
    }
}

fn engine(bench: &Bench) -> (Engine, Arc<Noted>) {
    let noted = Arc::new(Noted::default());
    let engine = Engine {
        look: noted.clone(),
        ..bench.engine()
    };
    (engine, noted)
}

fn message(body: &str) -> Outgoing {
    Outgoing {
        body: body.to_owned(),
        delay: SECOND,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the paused clock of the runtime is what is measured"
)]
fn begun() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

async fn look(engine: &Engine, text: &str) -> String {
    match engine.look.look(&target(text)).await {
        Seen::Pending(status) => status.text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_ten_members_ask_is_asked_once_and_each_gets_its_own_answer() {
    let (engine, noted) = engine(&Bench::new());
    let items: Vec<_> = (0..10).map(|n| format!("s3://bucket/{n}")).collect();
    let answers = together(&engine, items.clone(), |engine, item| async move {
        let first = look(&engine, &item).await;
        assert_eq!(look(&engine, &item).await, first);
        first
    })
    .await;
    assert_eq!(answers, items);
    assert_eq!(noted.sizes(), [10, 10]);
}

#[tokio::test]
async fn looks_that_do_not_go_together_are_requests_of_their_own() {
    let (engine, noted) = engine(&Bench::new());
    let items = vec!["s3://bucket-a/1", "s3://bucket-b/2", "s3://bucket-a/3"];
    let go = |engine: Engine, item: &'static str| async move { look(&engine, item).await };
    assert_eq!(together(&engine, items.clone(), go).await, items);
    assert_eq!(noted.sizes(), [2, 1]);
    noted.apart.store(true, Ordering::Relaxed);
    assert_eq!(together(&engine, items.clone(), go).await, items);
    assert_eq!(noted.sizes()[2..], [1, 1, 1]);
}

#[tokio::test]
async fn members_that_end_without_asking_keep_nobody_waiting() {
    tokio::time::pause();
    let (engine, noted) = engine(&Bench::new());
    let begun = begun();
    let items: Vec<_> = (0..10).collect();
    together(&engine, items, |engine, item| async move {
        if item % 2 == 0 {
            look(&engine, &format!("s3://bucket/{item}")).await;
        }
    })
    .await;
    assert_eq!(noted.sizes(), [5]);
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn a_member_that_is_busy_delays_the_others_by_no_more_than_patience() {
    tokio::time::pause();
    let (engine, noted) = engine(&Bench::new());
    let begun = begun();
    let ended = together(&engine, vec![0, 1, 2], |engine, item| async move {
        if item == 0 {
            let _ = tokio::time::timeout(10 * SECOND, std::future::pending::<()>()).await;
        }
        look(&engine, &format!("s3://bucket/{item}")).await;
        begun.elapsed()
    })
    .await;
    assert_eq!(noted.sizes(), [2, 1]);
    assert!(ended[1] < SECOND && ended[2] < SECOND, "{ended:?}");
}

#[tokio::test]
async fn messages_and_acknowledgements_go_together_beside_looks() {
    let bench = Bench::new();
    let (engine, noted) = engine(&bench);
    bench
        .queue
        .send((0..10).map(|n| message(&n.to_string())).collect())
        .await;
    bench.clock.advance(SECOND);
    let deliveries = bench.queue.receive(10, SECOND).await.unwrap();
    together(&engine, deliveries, |engine, delivery| async move {
        look(&engine, &format!("s3://bucket/{}", delivery.body)).await;
        assert_eq!(engine.queue.send(vec![message(&delivery.body)]).await, [Ok(())]);
        engine.queue.acknowledge(&[delivery]).await.unwrap();
    })
    .await;
    assert_eq!(noted.sizes(), [10]);
    assert_eq!(bench.queue.waiting().len(), 10);
    assert_eq!(bench.queue.sends(), 20);
}

#[tokio::test]
async fn a_message_that_is_refused_is_refused_to_its_sender_alone() {
    let (engine, _) = engine(&Bench::new());
    let answers = together(&engine, vec!["good", "", "fine"], |engine, body| async move {
        engine.queue.send(vec![message(body)]).await.remove(0).is_ok()
    })
    .await;
    assert_eq!(answers, [true, false, true]);
}

#[tokio::test]
async fn who_gives_up_waiting_is_not_waited_for() {
    tokio::time::pause();
    let (engine, noted) = engine(&Bench::new());
    together(&engine, vec![0, 1], |engine, item| async move {
        if item == 0 {
            let short = Duration::from_millis(10);
            let given_up = tokio::time::timeout(short, look(&engine, "s3://bucket/0")).await;
            assert!(given_up.is_err());
        } else {
            let _ = tokio::time::timeout(SECOND / 10, std::future::pending::<()>()).await;
            look(&engine, "s3://bucket/1").await;
        }
    })
    .await;
    assert_eq!(noted.sizes(), [1]);
}

#[tokio::test]
async fn a_request_that_breaks_the_program_is_no_answer_to_those_who_asked_and_to_nobody_else() {
    let (engine, _) = engine(&Bench::new());
    let items = vec!["s3://broken/1", "s3://bucket/2", "s3://broken/3"];
    let answers = together(&engine, items, |engine, item| async move {
        let seen = engine.look.look(&target(item)).await;
        let sent = engine.queue.send(vec![message(item)]).await;
        (matches!(seen, Seen::Pending(_)), sent[0].is_ok())
    })
    .await;
    assert_eq!(answers, [(false, true), (true, true), (false, true)]);
}
