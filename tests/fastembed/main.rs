//! A model in an ONNX folder, for real: needs the folder in `RECORDARI_TEST_ONNX` and ONNX Runtime in
//! `ORT_DYLIB_PATH`, as `.ci/run` sets them up. Without them the tests say so and pass.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use recordari::embed::{Embedder, FastEmbedder, FastOptions, ModelSpec, Pooling};
use recordari::{
    Authority, Candidate, Kind, Memory, Mode, Namespace, Options, Outcome, Principal, Query, Source,
};

/// The folder, unless this machine has none.
fn folder() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let (folder, library) = (named("RECORDARI_TEST_ONNX"), named("ORT_DYLIB_PATH"));
    if folder.is_none() || library.is_none() {
        eprintln!("SKIPPED: set RECORDARI_TEST_ONNX to an ONNX folder and ORT_DYLIB_PATH to ONNX Runtime");
        return None;
    }
    folder
}

/// The model, loaded once for all tests.
fn model() -> Option<Arc<FastEmbedder>> {
    static MODEL: OnceLock<Option<Arc<FastEmbedder>>> = OnceLock::new();
    let load = || folder().map(|folder| Arc::new(FastEmbedder::from_folder(&folder).unwrap()));
    MODEL.get_or_init(load).clone()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The passage that is most like the query, and which of its windows is.
fn best(model: &dyn Embedder, query: &str, passages: &[&str]) -> (usize, usize) {
    let query = model.embed_query(query).unwrap();
    let passages = model.embed_passages(passages).unwrap();
    let all = passages.iter().enumerate().flat_map(|(passage, windows)| {
        windows.iter().enumerate().map(move |(window, vector)| (passage, window, vector))
    });
    let best = all.max_by(|a, b| dot(&query, a.2).total_cmp(&dot(&query, b.2))).unwrap();
    (best.0, best.1)
}

#[test]
fn a_paraphrase_is_nearer_than_shared_words() {
    let Some(model) = model() else { return };
    println!("{:?}, {} tokens", model.model(), model.max_tokens());
    let passages = [
        "The train to the coast was late again this morning",
        "My sister is allergic to peanuts and must not eat anything with nuts",
        "The garden needs water twice a week in summer",
        "We agreed to ship the release on Thursday",
    ];
    assert_eq!(best(&*model, "what food is dangerous for a member of my family?", &passages).0, 1);
    assert_eq!(best(&*model, "when does the new version go out?", &passages).0, 3);
    for vector in model.embed_passages(&passages).unwrap().concat() {
        assert_eq!(vector.len(), model.model().dims);
        assert!((dot(&vector, &vector) - 1.0).abs() < 1e-4);
    }
}

#[test]
fn a_text_has_the_same_vector_in_any_company() {
    let Some(model) = model() else { return };
    let text = "The deployment needs two approvals";
    let alone = model.embed_passages(&[text]).unwrap();
    let long = "and a much longer text beside it ".repeat(20);
    let beside = model.embed_passages(&[&long, text, ""]).unwrap();
    assert_eq!(beside[1], alone[0]);
    assert_eq!(beside[2].len(), 1, "an empty text gets a vector too");
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..3).map(|_| scope.spawn(|| model.embed_passages(&[text]).unwrap())).collect();
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), alone));
    });
}

#[test]
fn the_tail_of_a_long_text_is_found() {
    let Some(model) = model() else { return };
    let filler = "The meeting went over the budget for office furniture, line by line. ".repeat(120);
    let text = format!("{filler}At the end Anna said that the wedding will be in Lisbon in May.");
    let windows = model.embed_passages(&[&text]).unwrap().remove(0);
    assert!(windows.len() > 2, "{}", windows.len());
    let other = "Peter painted his house yellow";
    let (passage, window) = best(&*model, "where is Anna getting married?", &[other, &text]);
    assert_eq!((passage, window), (1, windows.len() - 1));
    // Text that is cut into many tokens, and characters of several bytes at the borders.
    let model: &dyn Embedder = &*model;
    for odd in ["记忆与遗忘，".repeat(400), "é🦀ﬁ x9#\u{301}".repeat(500), "\0 ".repeat(3000)] {
        assert!(!model.embed_passages(&[&odd]).unwrap()[0].is_empty());
        model.embed_query(&odd).unwrap();
    }
}

#[test]
fn a_memory_that_shares_no_word_with_the_query_is_recalled() {
    let Some(model) = model() else { return };
    let folder = tempfile::tempdir().unwrap();
    let options = Options { embedder: Some(model), background: false, ..Options::new(folder.path()) };
    let memory = Memory::open(options).unwrap().0;
    let mei = Principal::new(Namespace::new("acme").unwrap().user("mei").unwrap());
    for (number, content) in [
        "Prefers Python in code examples",
        "Has a sister who is allergic to peanuts and eats nothing with nuts",
        "The release train leaves on Tuesdays",
        "Lives in an old farmhouse near Porto",
    ]
    .iter()
    .enumerate()
    {
        let candidate = Candidate {
            source: Some(Source::parse(&format!("chat#{number}"))),
            observed_at: Some(memory.now()),
            authority: Authority::UserExplicit,
            ..Candidate::new(Kind::Semantic, *content)
        };
        let outcome = memory.remember(&mei, &candidate).unwrap();
        assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
    }
    for mode in [Mode::Hybrid, Mode::Vector] {
        let query = Query { mode, ..Query::new("what food is dangerous for a member of my family?") };
        let answer = memory.recall(&mei, &query).unwrap();
        let first = answer.hits.first().map(|hit| hit.record.content.as_str());
        assert!(first.is_some_and(|content| content.contains("allergic")), "{mode:?}: {first:?}");
        assert!(answer.plan.degraded.is_empty());
    }
    assert!(memory.verify().unwrap().is_empty());
}

#[test]
fn the_folder_is_a_model_for_the_command_line_too() {
    let Some(folder) = folder() else { return };
    let spec = ModelSpec::parse(folder.to_str().unwrap()).unwrap();
    let opened = spec.open(None).unwrap().unwrap();
    assert_eq!(opened.model(), model().unwrap().model());
    let cls = FastOptions { pooling: Some(Pooling::Cls), ..FastOptions::default() };
    let cls = FastEmbedder::open(&folder, cls).unwrap();
    assert_ne!(cls.model().fingerprint, opened.model().fingerprint);
    let text = "The deployment needs two approvals";
    assert!(dot(&cls.embed_query(text).unwrap(), &opened.embed_query(text).unwrap()) < 0.99);
}

#[test]
fn files_that_are_no_model_are_an_error() {
    let Some(real) = folder() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"] {
        std::fs::copy(real.join(name), folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("model.onnx"), "no model").unwrap();
    let error = FastEmbedder::from_folder(folder.path()).err().unwrap().to_string();
    assert!(error.contains("is not usable"), "{error}");
    std::fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
    std::fs::copy(model_file(&real), folder.path().join("model.onnx")).unwrap();
    let error = FastEmbedder::from_folder(folder.path()).err().unwrap().to_string();
    assert!(error.contains("tokenizer.json"), "{error}");
}

fn model_file(folder: &Path) -> PathBuf {
    folder.join("model.onnx")
}
