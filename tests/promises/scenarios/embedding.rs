//! EMB: vectors of different models are never compared, and no model that fails loses a memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recordari::embed::ModelInfo;
use recordari::{Embedder, Error, HashingEmbedder, Memory, Mode, Options, Reason, Why};

use super::mei;
use crate::world::{World, by, contents};

fn hashing(dims: usize) -> Arc<dyn Embedder> {
    Arc::new(HashingEmbedder::new(dims).unwrap())
}

#[test]
fn another_model_is_an_error_until_the_store_is_changed_over() {
    // B117, B121
    let mut world = World::with_embedder(Some(hashing(384)));
    for text in ["plays the cello", "lives near the lake", "has two cats"] {
        world.say(&mei(), None, text, "chat");
    }
    world.embedder = Some(hashing(768));
    world.reopen();
    let mismatch = |world: &World| world.memory().recall(&mei(), &by(Mode::Vector, "cello")).unwrap_err();
    let error = mismatch(&world).to_string();
    assert!(error.contains("384") && error.contains("768") && error.contains("reembed"), "{error}");
    assert_eq!(world.found(&mei(), Mode::Keyword, "cello"), ["plays the cello"]);
    // Writing under the wrong model loses nothing, and does not make it the right one.
    world.say(&mei(), None, "reads at night", "chat");
    assert!(matches!(mismatch(&world), Error::ModelMismatch { .. }));
    world.memory().reembed(&mut |_, _| {}).unwrap();
    for (question, text) in [("plays the cello", "plays the cello"), ("reads at night", "reads at night")] {
        assert_eq!(world.found(&mei(), Mode::Vector, question)[0], text);
    }
    let stats = world.memory().stats(&mei()).unwrap();
    assert_eq!(stats["embedded"], serde_json::json!({ "records": 4, "of": 4 }));
    world.assert_sound();
    // Another handle that still has the old model is told so.
    let old = Options { embedder: Some(hashing(384)), ..world.options() };
    let (old, _) = Memory::open(old).unwrap();
    assert!(matches!(old.recall(&mei(), &by(Mode::Hybrid, "cello")), Err(Error::ModelMismatch { .. })));
}

/// Fails when told to, or gives vectors of the wrong width.
struct Moody {
    inner: HashingEmbedder,
    fails: AtomicBool,
    narrow: AtomicBool,
}

impl Embedder for Moody {
    fn model(&self) -> &ModelInfo {
        self.inner.model()
    }

    fn embed_passages(&self, texts: &[&str]) -> recordari::Result<Vec<Vec<Vec<f32>>>> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::Embed("out of order".to_owned()));
        }
        let mut all = self.inner.embed_passages(texts)?;
        if self.narrow.load(Ordering::SeqCst) {
            all.iter_mut().flatten().for_each(|vector| vector.truncate(7));
        }
        Ok(all)
    }

    fn embed_query(&self, text: &str) -> recordari::Result<Vec<f32>> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::Embed("out of order".to_owned()));
        }
        self.inner.embed_query(text)
    }
}

#[test]
fn a_model_that_fails_costs_vectors_and_never_a_write() {
    // B119
    let moody = Arc::new(Moody {
        inner: HashingEmbedder::new(256).unwrap(),
        fails: AtomicBool::new(false),
        narrow: AtomicBool::new(false),
    });
    let world = World::with_embedder(Some(moody.clone()));
    let good = world.say(&mei(), None, "a good old vector", "chat");
    moody.narrow.store(true, Ordering::SeqCst);
    world.say(&mei(), None, "written with a narrow vector", "chat");
    moody.narrow.store(false, Ordering::SeqCst);
    moody.fails.store(true, Ordering::SeqCst);
    world.say(&mei(), None, "written while the model was down", "chat");
    assert_eq!(world.correct(&mei(), &good, "a good new vector", "chat").code(), "corrected");
    let answer = world.recall(&mei(), &by(Mode::Hybrid, "written"));
    assert_eq!(answer.hits.len(), 2);
    assert_eq!(answer.plan.degraded, [Reason::EmbedderUnavailable]);
    assert_eq!(world.memory().stats(&mei()).unwrap()["embedded"]["records"], 0);
    moody.fails.store(false, Ordering::SeqCst);
    assert_eq!(world.memory().reembed(&mut |_, _| {}).unwrap(), 3);
    assert_eq!(
        contents(&world.recall(&mei(), &by(Mode::Vector, "a good new vector")))[0],
        "a good new vector"
    );
    world.assert_sound();
}

#[test]
fn a_store_without_a_model_finds_by_words() {
    let world = World::with_embedder(None);
    world.say(&mei(), None, "the kettle is in the hall", "chat");
    let answer = world.ask(&mei(), "kettle");
    assert_eq!(contents(&answer), ["the kettle is in the hall"]);
    assert_eq!(answer.plan.searches, ["keyword"]);
}

#[test]
fn a_record_without_a_vector_is_named_until_the_next_recall_has_embedded_it() {
    let moody = Arc::new(Moody {
        inner: HashingEmbedder::new(256).unwrap(),
        fails: AtomicBool::new(false),
        narrow: AtomicBool::new(false),
    });
    let world = World::with_embedder(Some(moody.clone()));
    world.say(&mei(), None, "the kettle is in the hall", "chat");
    moody.narrow.store(true, Ordering::SeqCst);
    let waiting = world.say(&mei(), None, "the feline sleeps on the couch", "chat");
    let query = by(Mode::Vector, "zyzzyva");
    assert_eq!(world.recall(&mei(), &query).plan.degraded, [Reason::EmbeddingsPending]);
    let why = || world.memory().why(&mei(), &query, &waiting.record_id).unwrap();
    assert_eq!(why(), Why::LeftOut(Reason::EmbeddingsPending, None));
    // Once the model works, whoever asks next finds it embedded.
    moody.narrow.store(false, Ordering::SeqCst);
    assert_eq!(world.recall(&mei(), &by(Mode::Hybrid, "feline")).plan.degraded, []);
    assert_eq!(world.memory().stats(&mei()).unwrap()["embedded"]["records"], 2);
    assert_ne!(why(), Why::LeftOut(Reason::EmbeddingsPending, None));
    // What matches in nothing is not said to be beaten by others.
    let nothing = world.memory().why(&mei(), &by(Mode::Keyword, "zyzzyva"), &waiting.record_id).unwrap();
    assert_eq!(nothing, Why::LeftOut(Reason::BelowFloor, None));
}
