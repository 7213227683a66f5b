//! A server on loopback that does what its script says, one line after the other, byte by byte where that matters.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use matsu_lock::{Clock as _, SystemClock};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a request.
#[derive(Clone)]
pub(super) enum Next {
    /// Sends these bytes and closes.
    Bytes(Vec<u8>),
    /// Sends these bytes, and then these again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends these bytes, and then one byte every so often.
    Drip(Vec<u8>, Duration),
    /// Never answers.
    Hang,
    /// Resets the connection.
    Reset,
}

/// An answer with its length.
pub(super) fn answer(status: &str, headers: &[(&str, &str)], body: &str) -> Next {
    let length = body.len().to_string();
    let mut all = vec![("content-length", length.as_str())];
    all.extend(headers);
    Next::Bytes([head(status, &all), body.as_bytes().to_vec()].concat())
}

/// An answer in JSON.
pub(super) fn json(status: &str, body: &str) -> Next {
    answer(status, &[("content-type", "application/json; charset=utf-8")], body)
}

/// The beginning of an answer.
pub(super) fn head(status: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

#[derive(Default)]
struct Script {
    next: Mutex<VecDeque<Next>>,
    got: Mutex<Vec<String>>,
    sent: AtomicUsize,
}

pub(super) struct Server {
    script: Arc<Script>,
    port: u16,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Server {
    pub(super) async fn start(next: impl IntoIterator<Item = Next>) -> Self {
        let script = Arc::new(Script {
            next: Mutex::new(next.into_iter().collect()),
            ..Script::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = {
            let script = script.clone();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(script.clone(), stream));
                }
            })
        };
        Self { script, port, serving }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The heads of the requests so far.
    pub(super) fn got(&self) -> Vec<String> {
        self.script.got.lock().unwrap().clone()
    }

    /// How many bytes of endless bodies were taken off it.
    pub(super) fn sent(&self) -> usize {
        self.script.sent.load(Ordering::SeqCst)
    }
}

/// Serves one connection; whoever asks may go away at any time.
async fn serve(script: Arc<Script>, mut stream: TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    script.got.lock().unwrap().push(String::from_utf8(request).unwrap());
    let next = script.next.lock().unwrap().pop_front();
    match next {
        None => stream.write_all(&head("418 the script is over", &[])).await.unwrap(),
        Some(Next::Bytes(bytes)) => {
            let _ = stream.write_all(&bytes).await;
        }
        Some(Next::Endless(first, again)) => {
            let _ = stream.write_all(&first).await;
            while let Ok(()) = stream.write_all(&again).await {
                script.sent.fetch_add(again.len(), Ordering::SeqCst);
            }
        }
        Some(Next::Drip(first, every)) => {
            let _ = stream.write_all(&first).await;
            while let Ok(()) = stream.write_all(b"x").await {
                SystemClock.sleep(every).await;
            }
        }
        Some(Next::Hang) => std::future::pending().await,
        Some(Next::Reset) => stream.set_zero_linger().unwrap(),
    }
}
