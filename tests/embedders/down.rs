//! An embedder that is down never loses a write.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use recordari::embed::{Embedder, HttpEmbedder, HttpOptions};
use recordari::{
    Authority, Candidate, Kind, Memory, Mode, Namespace, Options, Outcome, Principal, Query, Reason,
    Recalled, Source,
};

use crate::stub::{Stub, nowhere};

pub fn mei() -> Principal {
    Principal::new(Namespace::new("acme").unwrap().user("mei").unwrap())
}

pub fn open(folder: &tempfile::TempDir, embedder: Option<Arc<dyn Embedder>>) -> Memory {
    let options = Options { embedder, background: false, ..Options::new(folder.path()) };
    Memory::open(options).unwrap().0
}

pub fn say(memory: &Memory, content: &str) {
    let candidate = Candidate {
        source: Some(Source::parse(&format!("chat#{content}"))),
        observed_at: Some(memory.now()),
        authority: Authority::UserExplicit,
        ..Candidate::new(Kind::Semantic, content)
    };
    let outcome = memory.remember(&mei(), &candidate).unwrap();
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
}

pub fn ask(memory: &Memory, text: &str, mode: Mode) -> Recalled {
    memory.recall(&mei(), &Query { mode, ..Query::new(text) }).unwrap()
}

pub fn found(answer: &Recalled) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.record.content.as_str()).collect()
}

/// How many records have a vector of the model in use, and how many there are.
pub fn coverage(memory: &Memory) -> (u64, u64) {
    let stats = memory.stats(&mei()).unwrap();
    (stats["embedded"]["records"].as_u64().unwrap_or(0), stats["embedded"]["of"].as_u64().unwrap_or(0))
}

#[test]
fn a_write_while_the_endpoint_is_down_is_kept_found_by_keyword_and_embedded_later() {
    let folder = tempfile::tempdir().unwrap();
    let (stub, up) = Stub::switched(64);
    let embedder = Arc::new(HttpEmbedder::open(stub.options()).unwrap());
    let memory = open(&folder, Some(embedder));
    say(&memory, "The release train leaves on Tuesdays");
    assert_eq!(coverage(&memory), (1, 1));

    up.store(false, Ordering::Release);
    say(&memory, "The staging database is called narwhal");
    assert_eq!(coverage(&memory), (1, 2), "stored and waiting for its vector");
    let answer = ask(&memory, "narwhal database", Mode::Hybrid);
    assert_eq!(found(&answer), ["The staging database is called narwhal"]);
    assert_eq!(answer.plan.degraded, [Reason::EmbedderUnavailable]);
    assert!(memory.reembed(&mut |_, _| ()).is_err(), "still down");
    assert_eq!(coverage(&memory), (1, 2));

    up.store(true, Ordering::Release);
    let mut told = Vec::new();
    assert_eq!(memory.reembed(&mut |done, all| told.push((done, all))).unwrap(), 1);
    assert_eq!(told, [(2, 2)]);
    assert_eq!(coverage(&memory), (2, 2));
    let answer = ask(&memory, "which staging database is called narwhal", Mode::Vector);
    assert_eq!(found(&answer)[0], "The staging database is called narwhal");
    assert!(answer.plan.degraded.is_empty());
    assert!(memory.verify().unwrap().is_empty());
}

#[test]
fn a_store_whose_endpoint_never_was_up_works_by_keyword() {
    let folder = tempfile::tempdir().unwrap();
    let options = HttpOptions { dims: Some(64), ..nowhere() };
    let memory = open(&folder, Some(Arc::new(HttpEmbedder::open(options).unwrap())));
    say(&memory, "The staging database is called narwhal");
    let answer = ask(&memory, "narwhal", Mode::Hybrid);
    assert_eq!(found(&answer), ["The staging database is called narwhal"]);
    assert_eq!(answer.plan.degraded, [Reason::EmbedderUnavailable]);
}
