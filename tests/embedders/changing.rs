//! Changing a store over to another model: never by mistake, never half.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recordari::embed::{Embedder, HashingEmbedder, HttpEmbedder, HttpOptions, ModelInfo};
use recordari::{Error, Memory, Mode, Query, Reason, Result};

use crate::down::{ask, coverage, found, mei, open, say};
use crate::stub::{Stub, vectors};

/// A model that fails after a number of batches.
struct Breaking {
    model: HashingEmbedder,
    left: AtomicUsize,
}

impl Embedder for Breaking {
    fn model(&self) -> &ModelInfo {
        self.model.model()
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
        let counted = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
        counted.map_err(|_| Error::Embed("the plug was pulled".to_owned()))?;
        self.model.embed_passages(texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.model.embed_query(text)
    }
}

fn hashing(dims: usize) -> Arc<dyn Embedder> {
    Arc::new(HashingEmbedder::new(dims).unwrap())
}

fn mismatch(memory: &Memory) -> (String, String) {
    match memory.recall(&mei(), &Query::new("harbour")) {
        Err(Error::ModelMismatch { stored, in_use }) => (stored, in_use),
        other => panic!("no mismatch: {other:?}"),
    }
}

#[test]
fn another_model_is_an_error_that_names_both() {
    let folder = tempfile::tempdir().unwrap();
    let first = hashing(64);
    let memory = open(&folder, Some(first.clone()));
    say(&memory, "The harbour office opens at seven");
    drop(memory);

    let stub = Stub::start(|asked| vectors(asked, 32));
    let other = HttpEmbedder::open(stub.options()).unwrap();
    let (name, fingerprint) = (other.model().name.clone(), other.model().fingerprint.clone());
    let memory = open(&folder, Some(Arc::new(other)));
    let (stored, in_use) = mismatch(&memory);
    assert!(stored.contains("hashing-64") && stored.contains(&first.model().fingerprint), "{stored}");
    assert!(in_use.contains(&name) && in_use.contains(&fingerprint), "{in_use}");
    // By keyword no vector is compared, so no model is asked.
    assert_eq!(found(&ask(&memory, "harbour", Mode::Keyword)).len(), 1);
}

/// A write by the wrong model is kept, but must not make the mistake look like a change-over.
#[test]
fn a_write_with_another_model_does_not_hide_the_mistake() {
    let folder = tempfile::tempdir().unwrap();
    say(&open(&folder, Some(hashing(64))), "The harbour office opens at seven");
    let memory = open(&folder, Some(hashing(32)));
    say(&memory, "The harbour office closes at noon");
    mismatch(&memory);
    drop(memory);
    let memory = open(&folder, Some(hashing(64)));
    assert_eq!(found(&ask(&memory, "harbour office", Mode::Keyword)).len(), 2);
    assert_eq!(coverage(&memory), (1, 2));
    assert_eq!(memory.reembed(&mut |_, _| ()).unwrap(), 1);
}

#[test]
fn a_change_over_goes_on_where_it_was_interrupted_and_recall_goes_on_by_keyword() {
    let folder = tempfile::tempdir().unwrap();
    let memory = open(&folder, Some(hashing(64)));
    let topics = ["harbour", "granite", "orchard", "lantern", "saddle", "compass", "velvet", "thistle"];
    for number in 0..200 {
        let topic = topics[number % topics.len()];
        say(&memory, &format!("Box {number} in the {topic} store holds part {}", number * 7919 % 1009));
    }
    assert_eq!(coverage(&memory), (200, 200));
    drop(memory);

    let breaking = Breaking { model: HashingEmbedder::new(256).unwrap(), left: AtomicUsize::new(2) };
    let memory = open(&folder, Some(Arc::new(breaking)));
    let mut told = Vec::new();
    let error = memory.reembed(&mut |done, all| told.push((done, all))).unwrap_err();
    assert!(error.to_string().contains("the plug was pulled"), "{error}");
    assert_eq!(told, [(64, 200), (128, 200)]);

    // Half-way: the new model finds by keyword, the old one as before.
    let answer = ask(&memory, "box 77", Mode::Hybrid);
    assert_eq!(answer.plan.degraded, [Reason::EmbeddingsPending]);
    assert!(found(&answer)[0].starts_with("Box 77 "), "{:?}", found(&answer));
    drop(memory);
    let memory = open(&folder, Some(hashing(64)));
    assert!(ask(&memory, "box 77 in the compass store", Mode::Vector).plan.degraded.is_empty());
    drop(memory);

    // Written meanwhile, by the new model.
    let memory = open(&folder, Some(hashing(256)));
    say(&memory, "Where the spare anchor lies: under the tarpaulin by the gate");
    told.clear();
    let fresh = memory.reembed(&mut |done, all| told.push((done, all))).unwrap();
    assert_eq!(fresh, 72, "only what was missing");
    assert_eq!(told, [(193, 201), (201, 201)]);
    assert_eq!(coverage(&memory), (201, 201));
    let answer = ask(&memory, "under the tarpaulin by the gate lies the spare anchor", Mode::Vector);
    assert!(found(&answer)[0].contains("spare anchor"), "{:?}", found(&answer));
    assert!(answer.plan.degraded.is_empty());
    assert_eq!(memory.reembed(&mut |_, _| ()).unwrap(), 0, "nothing is left to do");
    assert!(memory.verify().unwrap().is_empty());
    drop(memory);

    // Now the old model is the other one.
    let (stored, in_use) = mismatch(&open(&folder, Some(hashing(64))));
    assert!(stored.contains("hashing-256") && in_use.contains("hashing-64"), "{stored} {in_use}");
}

#[test]
fn a_store_changes_over_to_an_endpoint() {
    let folder = tempfile::tempdir().unwrap();
    let memory = open(&folder, Some(hashing(64)));
    say(&memory, "The harbour office opens at seven");
    say(&memory, "The granite quarry is closed in winter");
    drop(memory);
    let stub = Stub::start(|asked| vectors(asked, 128));
    let options = HttpOptions { passage_prefix: "passage: ".to_owned(), ..stub.options() };
    let memory = open(&folder, Some(Arc::new(HttpEmbedder::open(options).unwrap())));
    assert_eq!(memory.reembed(&mut |_, _| ()).unwrap(), 2);
    assert_eq!(coverage(&memory), (2, 2));
    let answer = ask(&memory, "when does the harbour office open", Mode::Vector);
    assert_eq!(found(&answer)[0], "The harbour office opens at seven");
}
