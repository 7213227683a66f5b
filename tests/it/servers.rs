//! ministack: S3, SQS, EventBridge and Lambda on this machine, one for each test that asks for one.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hyper::body::Bytes;
use matsu_lock::{Clock as _, OsRandom, Random as _, SystemClock};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Answer, Asker, Method, call, text};

/// The region and account of everything in these tests.
pub(crate) const REGION: &str = "us-east-1";
pub(crate) const ACCOUNT: &str = "000000000000";

/// The folder that `tests/run` builds into.
pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target")
}

/// A running ministack in a folder of its own. Dropped, or orphaned by the death of the test, it ends with all that it
/// started: a shell reads our end of a pipe and kills the group when that is closed.
#[derive(Debug)]
pub(crate) struct Ministack {
    url: String,
    folder: TempDir,
    group: Child,
    asker: Asker,
}

/// `$1` is the program: runs it, notes how it ended, and kills the whole process group when standard input ends.
const WATCH: &str = r#"( "$1" </dev/null >server.log 2>&1; echo "$?" >ended ) & cat >/dev/null; kill -KILL 0"#;

impl Ministack {
    /// Starts one and returns when it answers.
    ///
    /// # Panics
    /// With the end of its log when it does not come up.
    pub(crate) async fn start() -> Self {
        let program = target().join("venv/bin/ministack");
        assert!(
            program.exists(),
            "{} is missing: run ./tests/run first, it installs what these tests need",
            program.display()
        );
        let mut logs = String::new();
        // A port that was free a moment ago may be taken by a neighbour: another try gets another port.
        for _ in 0..3 {
            match Self::try_start(&program).await {
                Ok(server) => return server,
                Err(log) => logs = log,
            }
        }
        panic!("ministack did not come up; the end of its log:\n{logs}");
    }

    async fn try_start(program: &Path) -> Result<Self, String> {
        let folder = tempfile::Builder::new()
            .prefix("matsu-ministack-")
            .tempdir()
            .expect("a folder for temporary files");
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))
            .and_then(|l| l.local_addr())
            .expect("a port is free")
            .port();
        let url = format!("http://127.0.0.1:{port}");
        let mark = OsRandom.id();
        let group = Command::new("sh")
            .args(["-c", WATCH, "sh"])
            .arg(program)
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .env("STATE_DIR", folder.path().join("state"))
            .env("S3_DATA_DIR", folder.path().join("s3"))
            .env("GATEWAY_PORT", port.to_string())
            .env("BIND_HOST", "127.0.0.1")
            .env("IOT_MTLS_ENABLED", "0")
            .env("MINISTACK_REGION", REGION)
            .env("MINISTACK_EDITION", &mark)
            .env("AWS_ENDPOINT_URL", &url)
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("sh starts");
        let server = Self {
            url,
            folder,
            group,
            asker: Asker::new(),
        };
        let clock = SystemClock;
        let begun = clock.elapsed();
        while clock.elapsed() - begun < Duration::from_secs(30) {
            if server.path("ended").exists() {
                break;
            }
            // The mark tells our own server from a neighbour's on the same port.
            if server.health().await.is_some_and(|h| h["edition"] == mark.as_str()) {
                return Ok(server);
            }
            clock.sleep(Duration::from_millis(50)).await;
        }
        Err(server.log_tail())
    }

    async fn health(&self) -> Option<Value> {
        let call = call(
            Method::GET,
            &format!("{}/_ministack/health", self.url),
            &[],
            Bytes::new(),
        );
        let answer = self.asker.ask(call).await.ok()?;
        serde_json::from_slice(answer.body()).ok()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The last lines that it logged, with what functions printed.
    pub(crate) fn log_tail(&self) -> String {
        let mut log = Vec::new();
        if let Ok(mut file) = std::fs::File::open(self.path("server.log")) {
            // What was read before an error is still worth showing.
            let _ = file.read_to_end(&mut log);
        }
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }

    /// Kills every process that runs a function's code, in the middle of whatever it does; answers how many ran.
    pub(crate) fn kill_functions(&self) -> usize {
        let ours = |pid: &std::ffi::OsStr| {
            std::fs::read_link(Path::new("/proc").join(pid).join("exe"))
                .is_ok_and(|exe| exe.starts_with(self.folder.path()))
        };
        let processes = std::fs::read_dir("/proc").expect("Linux lists its processes");
        let pids: Vec<_> = processes
            .flatten()
            .map(|p| p.file_name())
            .filter(|pid| ours(pid))
            .collect();
        let count = pids.len();
        if count == 0 {
            return 0;
        }
        let killed = Command::new("sh")
            .args(["-c", "kill -KILL \"$@\"", "sh"])
            .args(pids)
            .status();
        assert!(killed.is_ok_and(|status| status.success()), "they could not be killed");
        count
    }

    /// One request of `service`, signed for show: the emulator reads service and region from it and checks nothing.
    pub(crate) async fn ask(
        &self,
        service: &str,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let signed = format!(
            "AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/{service}/aws4_request, SignedHeaders=host, Signature=0"
        );
        let mut headers = headers.to_vec();
        headers.push(("authorization", &signed));
        let call = call(method, &format!("{}{path}", self.url), &headers, body);
        match self.asker.ask(call).await {
            Ok(answer) => answer,
            Err(e) => panic!("ministack: {path}: {e}\n{}", self.log_tail()),
        }
    }

    /// A request of a service that speaks JSON under `X-Amz-Target`; anything but success fails the test.
    pub(crate) async fn json(&self, service: &str, action: &str, body: &Value) -> Value {
        let headers = [("x-amz-target", action), ("content-type", "application/x-amz-json-1.1")];
        let answer = self.ask(service, Method::POST, "/", &headers, body.to_string()).await;
        self.read(action, &answer)
    }

    /// A request of Lambda's own API.
    pub(crate) async fn lambda(&self, method: Method, path: &str, body: &Value) -> Value {
        let headers = [("content-type", "application/json")];
        let answer = self.ask("lambda", method, path, &headers, body.to_string()).await;
        self.read(path, &answer)
    }

    /// A request of S3 that succeeds.
    pub(crate) async fn s3(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Answer {
        let answer = self.ask("s3", method.clone(), path, &[], body).await;
        assert!(
            answer.status().is_success(),
            "{method} {path}: {} {}",
            answer.status(),
            text(answer.body())
        );
        answer
    }

    fn read(&self, what: &str, answer: &Answer) -> Value {
        assert!(
            answer.status().is_success(),
            "{what}: {} {}\n{}",
            answer.status(),
            text(answer.body()),
            self.log_tail()
        );
        if answer.body().is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(answer.body()).unwrap_or_else(|e| panic!("{what}: {e}: {}", text(answer.body())))
    }

    /// Makes a queue and answers its URL.
    pub(crate) async fn queue(&self, name: &str, attributes: &Value) -> String {
        let made = self
            .json(
                "sqs",
                "AmazonSQS.CreateQueue",
                &json!({"QueueName": name, "Attributes": attributes}),
            )
            .await;
        made["QueueUrl"].as_str().expect("a queue has a URL").to_owned()
    }
}

impl Drop for Ministack {
    fn drop(&mut self) {
        drop(self.group.stdin.take());
        // It was told to end; whether it already had does not matter.
        let _ = self.group.wait();
    }
}
