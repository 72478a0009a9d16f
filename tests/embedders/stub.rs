//! A small endpoint that speaks enough of OpenAI's protocol, and misbehaves when told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use recordari::embed::{Embedder, HashingEmbedder, HttpOptions};
use serde_json::{Value, json};

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub authorization: Option<String>,
    pub body: Value,
}

/// What to answer, and how late.
pub struct Reply {
    pub status: u16,
    pub headers: &'static str,
    pub body: Vec<u8>,
    pub delay: Duration,
}

type Behaviour = Box<dyn FnMut(&Asked) -> Reply + Send>;

/// The endpoint. It stops when it is dropped.
pub struct Stub {
    port: u16,
    seen: Arc<Mutex<Vec<Asked>>>,
    stopped: Arc<AtomicBool>,
}

impl Stub {
    pub fn start(behaviour: impl FnMut(&Asked) -> Reply + Send + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, stopped) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let behaviour: Arc<Mutex<Behaviour>> = Arc::new(Mutex::new(Box::new(behaviour)));
        let (seen_too, stopped_too) = (seen.clone(), stopped.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped_too.load(Ordering::Acquire) {
                    break;
                }
                let (seen, behaviour) = (seen_too.clone(), behaviour.clone());
                // A slow answer must not keep others waiting. A client that has gone away is no failure.
                std::thread::spawn(move || serve(stream, &seen, &behaviour));
            }
        });
        Stub { port, seen, stopped }
    }

    /// An endpoint without faults, with a switch that makes it answer 503.
    pub fn switched(dims: usize) -> (Stub, Arc<AtomicBool>) {
        let up = Arc::new(AtomicBool::new(true));
        let switch = up.clone();
        let stub = Stub::start(move |asked| match up.load(Ordering::Acquire) {
            true => vectors(asked, dims),
            false => status(503),
        });
        (stub, switch)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Options for this endpoint that wait for nothing long.
    pub fn options(&self) -> HttpOptions {
        quick(HttpOptions::new(self.url(), "stub"))
    }

    pub fn seen(&self) -> Vec<Asked> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

pub fn quick(options: HttpOptions) -> HttpOptions {
    HttpOptions { backoff: Duration::from_millis(1), ..options }
}

/// An address where nobody listens.
pub fn nowhere() -> HttpOptions {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    quick(HttpOptions::new(format!("http://127.0.0.1:{port}/v1"), "stub"))
}

pub fn ok(body: impl Into<Vec<u8>>) -> Reply {
    Reply { status: 200, headers: "", body: body.into(), delay: Duration::ZERO }
}

/// A refusal that gives away what it was sent, as some do.
pub fn status(status: u16) -> Reply {
    Reply { status, ..ok("{\"error\":{\"message\":\"hunter2 may not ask about marmalade\"}}") }
}

/// What a sound endpoint answers.
pub fn vectors(asked: &Asked, dims: usize) -> Reply {
    ok(json!({ "object": "list", "data": data(asked, dims) }).to_string())
}

/// Vectors that know similar spelling, of three times the unit length.
pub fn data(asked: &Asked, dims: usize) -> Vec<Value> {
    let model = HashingEmbedder::new(dims).unwrap();
    let texts = asked.body["input"].as_array().unwrap();
    let vector = |text: &Value| -> Vec<f32> {
        model.embed_query(text.as_str().unwrap()).unwrap().iter().map(|x| x * 3.0).collect()
    };
    texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({ "object": "embedding", "index": index, "embedding": vector(text) }))
        .collect()
}

fn serve(stream: TcpStream, seen: &Mutex<Vec<Asked>>, behaviour: &Mutex<Behaviour>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut authorization) = (0, None);
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let asked = Asked { path, authorization, body: serde_json::from_slice(&body).ok()? };
    let reply = behaviour.lock().unwrap()(&asked);
    seen.lock().unwrap().push(asked);
    std::thread::sleep(reply.delay);
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {} Said\r\ncontent-length: {}\r\nconnection: close\r\n{}\r\n",
        reply.status,
        reply.body.len(),
        reply.headers
    )
    .ok()?;
    stream.write_all(&reply.body).ok()
}
