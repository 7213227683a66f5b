//! A folder of its own for each test, and the binary in an environment that knows nothing of ours.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// A folder with a store in it.
pub(crate) struct Rig {
    folder: TempDir,
}

/// What a run of the binary came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// A path in the folder as a target.
    pub(crate) fn file(&self, name: &str) -> String {
        format!("file:{}", self.path(name).display())
    }

    pub(crate) fn touch(&self, name: &str) {
        std::fs::write(self.path(name), "").unwrap();
    }

    /// The binary with these arguments, in this folder; nothing is inherited from our own environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_matsu"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).output().unwrap())
    }

    /// Starts the binary, its outputs piped.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The only document that `matsu list` shows.
    pub(crate) fn only_wait(&self) -> Value {
        let listed = self.run(&["list", "--output", "json"]).json();
        let [document] = listed.as_array().unwrap().as_slice() else {
            panic!("not one wait: {listed}")
        };
        document.clone()
    }

    /// Returns once the only wait has had so many passes.
    pub(crate) fn until_pass(&self, passes: u64) -> Value {
        for _ in 0..200 {
            let listed = self.run(&["list", "--output", "json"]).json();
            match listed.as_array().unwrap().as_slice() {
                [document] if document["count"].as_u64() >= Some(passes) => return document.clone(),
                _ => pause(Duration::from_millis(50)),
            }
        }
        panic!("the wait has not had {passes} passes in ten seconds");
    }
}

impl Ran {
    /// The one JSON document on standard output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The one line that says why it came to nothing.
    pub(crate) fn only_line(&self) -> &str {
        let lines: Vec<_> = self.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        lines[0].strip_prefix("matsu: ").unwrap_or_else(|| panic!("{self:?}"))
    }
}

pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Waits for a child to end.
pub(crate) fn ended(child: Child) -> Ran {
    ran(child.wait_with_output().unwrap())
}

/// Sends a signal to a child.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .arg(format!("-{name}"))
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(sent.success());
}

#[expect(clippy::disallowed_methods, reason = "the binary runs in real time")]
pub(crate) fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// A webhook on loopback that answers each message with a status; the messages come out of the channel.
pub(crate) fn webhook(status: &'static str) -> (String, mpsc::Receiver<Value>) {
    slow_webhook(status, Duration::ZERO)
}

/// The same, taking its time between a message and its answer.
pub(crate) fn slow_webhook(status: &'static str, time: Duration) -> (String, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/services/T0/B0/secret", listener.local_addr().unwrap());
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, send) = (stream.unwrap(), send.clone());
            std::thread::spawn(move || take_message(stream, status, time, &send));
        }
    });
    (url, receive)
}

fn take_message(mut stream: TcpStream, status: &str, time: Duration, send: &mpsc::Sender<Value>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    // The test may have ended, and so may whoever sent the message.
    let _ = send.send(serde_json::from_slice(&body).unwrap());
    pause(time);
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok"
    );
}

/// Whether a path is there.
pub(crate) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
