//! At a terminal: who is asked before much is forgotten, and what Ctrl-C leaves behind in long work.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::door::{Answer, Door, piped, text};

/// Runs a command whose input is a terminal at which somebody types that.
fn typed(door: &Door, arguments: &[&str], input: &str) -> Answer {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut command = door.command(arguments);
    command.stdin(Stdio::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    std::fs::File::from(ours).write_all(input.as_bytes()).unwrap();
    Answer::of(child.wait_with_output().unwrap())
}

#[test]
fn a_whole_namespace_is_forgotten_only_after_a_yes_at_the_terminal() {
    let door = Door::new();
    door.done(&["remember", "prefers short answers"]);
    let total = || door.done(&["list", "--json"]).lines().pop().unwrap()["total"].as_u64().unwrap();
    for no in ["n\n", "\n", "yeah\n"] {
        let answer = typed(&door, &["forget", "--namespace"], no);
        assert_eq!(answer.code, 2, "{}{}", answer.stdout, answer.stderr);
        assert!(
            answer.stderr.contains("Forget everything in tenant=local user=mei for good?"),
            "{}",
            answer.stderr
        );
        assert!(answer.stderr.contains("[y/N]") && answer.stderr.contains("nothing was forgotten"));
        assert_eq!(total(), 1);
    }
    let answer = typed(&door, &["forget", "--namespace"], "y\n");
    assert_eq!(answer.code, 0, "{}{}", answer.stdout, answer.stderr);
    assert!(answer.stdout.contains("1 memory"), "{}", answer.stdout);
    assert_eq!(total(), 0);
    // Nobody is asked who said yes already.
    let answer = typed(&door, &["forget", "--namespace", "--yes"], "");
    assert!(!answer.stderr.contains("[y/N]"), "{}", answer.stderr);
}

/// An endpoint for embeddings that takes its time. It counts the texts that it was sent.
fn slow_endpoint(dims: usize, per_call: Duration) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = format!("http://{}/v1#slow&dims={dims}", listener.local_addr().unwrap());
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counter = counter.clone();
            std::thread::spawn(move || serve(&stream, dims, per_call, &counter));
        }
    });
    (model, seen)
}

/// Answers each request of a connection, until the client goes away.
fn serve(stream: &TcpStream, dims: usize, per_call: Duration, seen: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body: Value = serde_json::from_slice(&body).ok()?;
        let texts = body["input"].as_array()?.len();
        seen.fetch_add(texts, Ordering::SeqCst);
        std::thread::sleep(per_call);
        let vector: Vec<f32> = (0..dims).map(|at| if at == 0 { 1.0 } else { 0.0 }).collect();
        let data: Vec<Value> =
            (0..texts).map(|index| json!({ "index": index, "embedding": vector })).collect();
        let answer = json!({ "object": "list", "data": data }).to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
        (&mut &*stream).write_all(format!("{head} {}\r\n\r\n{answer}", answer.len()).as_bytes()).ok()?;
    }
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

fn remembered(door: &Door, count: usize) {
    let line = |number| {
        let line = json!({ "content": format!("note {number} on the harbour"), "source": { "id": format!("log-{number}") },
            "kind": "semantic", "authority": "user_explicit", "observed_at": "2026-03-01T10:00:00Z" });
        format!("{line}\n")
    };
    let file = door.write("notes.jsonl", (0..count).map(line).collect::<String>());
    let (code, done) = door.json(&["import", &file]);
    assert_eq!(code, 0, "{done}");
    assert_eq!(done["counts"]["committed"], count);
}

#[test]
fn an_interrupted_reembed_keeps_what_it_did_and_goes_on_from_there() {
    let door = Door::new();
    remembered(&door, 300);
    let (model, seen) = slow_endpoint(8, Duration::from_millis(150));
    let child = piped(door.command(&["reembed", "--model", &model]));
    let started = Instant::now();
    while seen.load(Ordering::SeqCst) < 65 {
        assert!(started.elapsed() < Duration::from_secs(30), "nothing was sent");
        std::thread::sleep(Duration::from_millis(5));
    }
    interrupt(&child);
    let answer = Answer::of(child.wait_with_output().unwrap());
    assert_eq!(answer.code, 130, "{}{}", answer.stdout, answer.stderr);
    assert!(answer.stderr.contains("run reembed again to go on"), "{}", answer.stderr);
    let before = seen.load(Ordering::SeqCst);
    assert!(before < 300, "{before}");
    door.done(&["verify"]);
    let (code, done) = door.json(&["reembed", "--model", &model]);
    assert_eq!((code, text(&done, "outcome")), (0, "reembedded"));
    let fresh = done["embedded"].as_u64().unwrap() as usize;
    assert!(fresh >= 300 - before && fresh < 300, "{fresh} after {before}");
    door.done(&["verify"]);
}

#[test]
fn an_interrupted_rebuild_leaves_a_store_that_recalls_the_same() {
    let door = Door::new();
    remembered(&door, 6000);
    // What it found and how well, but for the recency: time goes on.
    let recall = || -> Vec<(String, Value)> {
        let answer = door.done(&["recall", "note 17 on the harbour", "--json"]).only_json();
        let hits = answer["hits"].as_array().unwrap().iter();
        hits.map(|hit| (text(hit, "record_id").to_owned(), hit["parts"][1].clone())).collect()
    };
    let expected = recall();
    assert_eq!(expected[0].1["name"], "keyword");
    let mut was_interrupted = 0;
    for wait in [20, 60, 120, 200, 350, 600] {
        let child = piped(door.command(&["rebuild"]));
        std::thread::sleep(Duration::from_millis(wait));
        interrupt(&child);
        let answer = Answer::of(child.wait_with_output().unwrap());
        match answer.code {
            0 => {}
            // Before it listens, Ctrl-C ends it as it ends any program.
            130 | -1 => was_interrupted += 1,
            code => panic!("{code}: {}{}", answer.stdout, answer.stderr),
        }
        assert_eq!(recall(), expected, "after {wait} ms");
        door.done(&["verify"]);
    }
    assert!(was_interrupted > 0, "no rebuild took long enough to be interrupted");
    door.done(&["rebuild"]);
    assert_eq!(recall(), expected);
}
