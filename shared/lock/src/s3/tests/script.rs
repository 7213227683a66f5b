//! A server on loopback that answers as it is told to, request by request, and remembers what it was asked.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the server does with one request, after it has read all of it.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Answers.
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// Closes the connection without a word.
    Cut,
    /// Never answers.
    Hang,
    /// Announces more than it sends, and closes the connection.
    BreakOff,
    /// 200 with a body of so many bytes, whose length is not announced.
    Unmeasured(usize),
}

impl Step {
    /// 200 with an `ETag`.
    pub(super) fn written(tag: &str) -> Self {
        Self::Answer {
            status: 200,
            headers: vec![("etag", tag.to_owned())],
            body: Vec::new(),
        }
    }

    /// 200 with an `ETag` and a body.
    pub(super) fn body(tag: &str, body: &[u8]) -> Self {
        Self::Answer {
            status: 200,
            headers: vec![("etag", tag.to_owned())],
            body: body.to_vec(),
        }
    }

    /// An error as S3 words it.
    pub(super) fn error(status: u16, code: &str, message: &str) -> Self {
        let text = format!("<Error><Code>{code}</Code><Message>{message}</Message><RequestId>R1</RequestId></Error>");
        Self::xml(status, &text)
    }

    /// Any other document.
    pub(super) fn xml(status: u16, text: &str) -> Self {
        let body = format!(r#"<?xml version="1.0" encoding="UTF-8"?>{text}"#).into_bytes();
        Self::Answer {
            status,
            headers: vec![("content-type", "application/xml".to_owned())],
            body,
        }
    }

    /// The same answer with one more header.
    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }
}

/// A request that the server was asked.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// Method, path and query.
    pub(super) line: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Asked {
    /// The value of a header; its name in small letters.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    }
}

/// The server; it ends when it is dropped.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    server: JoinHandle<()>,
}

impl Script {
    /// A server that takes these steps, one a request, and then repeats the last for ever.
    pub(super) async fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let steps = Arc::new(Mutex::new(VecDeque::from_iter(steps)));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let server = tokio::spawn(serve(listener, steps, Arc::clone(&asked)));
        Self { address, asked, server }
    }

    /// What it was asked so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, steps: Arc<Mutex<VecDeque<Step>>>, asked: Arc<Mutex<Vec<Asked>>>) {
    let mut hanging = Vec::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        let Some(request) = read(&mut stream).await else {
            continue;
        };
        asked.lock().unwrap().push(request);
        let step = {
            let mut steps = steps.lock().unwrap();
            if steps.len() > 1 {
                steps.pop_front()
            } else {
                steps.front().cloned()
            }
        };
        match step.expect("a script has at least one step") {
            Step::Answer { status, headers, body } => answer(&mut stream, status, &headers, &body).await,
            Step::Cut => {}
            Step::Hang => hanging.push(stream),
            Step::BreakOff => {
                let begun = b"HTTP/1.1 200 OK\r\netag: \"e\"\r\ncontent-length: 100\r\n\r\n{\"put\":";
                stream.write_all(begun).await.unwrap();
            }
            Step::Unmeasured(length) => {
                let head =
                    format!("HTTP/1.1 200 OK\r\netag: \"e\"\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n");
                let all = [head.into_bytes(), vec![b' '; length], b"\r\n0\r\n\r\n".to_vec()].concat();
                // The other side may have read enough by now.
                let _ = stream.write_all(&all).await;
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
    };
    let mut body = bytes.split_off(head + 4);
    let text = String::from_utf8(bytes).unwrap();
    let mut lines = text.trim_end().split("\r\n");
    let line = lines.next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let asked = Asked {
        line,
        headers,
        body: Vec::new(),
    };
    let length: usize = asked
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Asked { body, ..asked })
}

async fn answer(stream: &mut TcpStream, status: u16, headers: &[(&str, String)], body: &[u8]) {
    let mut head = format!(
        "HTTP/1.1 {status} Scripted\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    // The other side may have given up by now.
    let _ = stream.write_all(&[head.as_bytes(), body].concat()).await;
    let _ = stream.shutdown().await;
}
