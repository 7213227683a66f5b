//! How soon a function is ready, and how much memory it takes until then, beside one that does nothing.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use matsu_lock::{Clock as _, SystemClock};
use tokio::sync::oneshot;

use crate::http::{Call, Server};
use crate::servers::{ACCOUNT, REGION, target};

/// Each is started so often; the fastest are compared, because the machine may be busy with other tests.
const STARTS: usize = 15;

/// The platform as far as a start needs it: it is asked for the first event, and has none.
struct Platform {
    server: Server,
    asked: Arc<Mutex<Option<oneshot::Sender<()>>>>,
}

impl Platform {
    async fn start() -> Self {
        let asked: Arc<Mutex<Option<oneshot::Sender<()>>>> = Arc::default();
        let told = asked.clone();
        let server = Server::start(move |call: Call| {
            let told = told.clone();
            async move {
                if call.uri().path().ends_with("/runtime/invocation/next")
                    && let Some(told) = told.lock().expect("nobody panicked").take()
                {
                    let _ = told.send(());
                }
                std::future::pending().await
            }
        })
        .await;
        Self { server, asked }
    }

    /// Starts `binary` in a function's environment; answers the time until its first request, and its resident memory in
    /// kilobytes when it has come to rest.
    async fn measure(&self, binary: &Path) -> (Duration, u64) {
        let (told, asked) = oneshot::channel();
        *self.asked.lock().expect("nobody panicked") = Some(told);
        let begun = SystemClock.elapsed();
        let child = Command::new(binary)
            .env_clear()
            .envs([
                (
                    "AWS_LAMBDA_RUNTIME_API",
                    self.server.url().trim_start_matches("http://"),
                ),
                ("AWS_LAMBDA_FUNCTION_NAME", "waiter"),
                ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
                ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
                ("AWS_REGION", REGION),
                ("AWS_ACCESS_KEY_ID", "test"),
                ("AWS_SECRET_ACCESS_KEY", "test"),
                ("MATSU_STORE", "s3://matsu/store"),
                ("MATSU_QUEUE", &format!("https://sqs/{ACCOUNT}/matsu")),
            ])
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let child = Killed(child);
        tokio::time::timeout(Duration::from_secs(30), asked)
            .await
            .expect("it asks for its first event")
            .expect("the platform runs");
        let took = SystemClock.elapsed() - begun;
        SystemClock.sleep(Duration::from_millis(100)).await;
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.0.id())).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        (took, kilobytes.expect("Linux tells its memory"))
    }

    /// The fastest start, and the greatest memory.
    async fn best(&self, binary: &Path) -> (Duration, u64) {
        let mut best = self.measure(binary).await;
        for _ in 1..STARTS {
            let (took, memory) = self.measure(binary).await;
            best = (best.0.min(took), best.1.max(memory));
        }
        best
    }
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In the tests' own profile, and in the one that is deployed where somebody built it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figure_a_function_is_ready_at_most_twice_as_late_as_one_that_does_nothing() {
    let platform = Platform::start().await;
    for profile in ["release", "lambda"] {
        let folder = target().join(profile);
        if profile == "lambda"
            && !["bare", "starter", "waiter"]
                .iter()
                .all(|name| folder.join(name).exists())
        {
            continue;
        }
        let (bare, bare_memory) = platform.best(&folder.join("bare")).await;
        println!("{profile}: bare is ready after {bare:.1?}, {bare_memory} kB resident");
        for name in ["starter", "waiter"] {
            let binary = folder.join(name);
            let (took, memory) = platform.best(&binary).await;
            let size = std::fs::metadata(&binary).expect("it was built").len();
            let times = took.as_secs_f64() / bare.as_secs_f64();
            println!(
                "{profile}: {name} is ready after {took:.1?}, {times:.1} times bare; {memory} kB resident, {:.1} MB of file",
                size as f64 / 1e6
            );
            assert!(
                times <= 2.0,
                "{name} is ready after {took:?}, one that does nothing after {bare:?}"
            );
        }
    }
}
