//! What reads a text by itself: JSON of memories, times, policies, names of models, keys, and the analysis of text.

use std::collections::HashSet;

use recordari::embed::ModelSpec;
use recordari::gate::secrets;
use recordari::json::{
    candidate_from_json, candidate_to_json, metadata_from_json, metadata_to_json, namespace_from_json,
    namespace_to_json, source_from_json,
};
use recordari::namespace::PART_BYTES_MAX;
use recordari::text::{
    MAX_TERM_BYTES, Sketch, canonical, char_count, clip, escape_control, mentions, query_terms, similarity,
    statement, terms,
};
use recordari::{
    Authority, Embedder, Error, ErrorKind, Form, HashingEmbedder, Kind, Mode, Policy, PublicKey, Reason,
    Sensitivity, Source, State, Timestamp,
};
use serde_json::Value;

use crate::Target;
use crate::numbers::Numbers;

/// No message is longer, whatever was read.
const MESSAGE_MAX: usize = 2_000;
/// What analyses a text is given no more of one: a memory has 64 KiB.
const TEXT_MAX: usize = 1 << 17;
/// A text of so many bytes stands in no message by chance; words that messages list are shorter.
const TELLING: usize = 24;

pub fn targets() -> Vec<Target> {
    vec![
        Target::new("candidate", 1400, candidate_seeds(), candidate),
        Target::new("metadata", 500, seeds(&METADATA), metadata),
        Target::new("namespace", 300, seeds(&NAMESPACES), namespace),
        Target::new("source", 300, seeds(&SOURCES), source),
        Target::new("timestamp", 700, seeds(&TIMES), timestamp),
        Target::new("policy", 400, policy_seeds(), policy),
        Target::new("model-name", 500, seeds(&MODELS), model_name),
        Target::new("words", 300, seeds(&WORDS), words),
        Target::new("text", 1200, text_seeds(), text),
        Target::new("secrets", 500, text_seeds(), secret),
    ]
}

const METADATA: [&str; 3] = [
    r#"{"tags":["a","b"],"n":1,"x":null,"team":"db","done":true,"share":0.25}"#,
    r#"{"n":9007199254740991,"m":-1.5e300,"empty":[],"":"no key"}"#,
    r#"{"schlüssel":"wert","鍵":"値","🔑":["👩‍👧"]}"#,
];
const NAMESPACES: [&str; 3] = [
    r#"{"tenant":"acme","user":"mei","project":"site","agent":"coder"}"#,
    r#"{"tenant":"acme"}"#,
    r#"{"tenant":"株式会社","user":"mei@example.org"}"#,
];
const SOURCES: [&str; 4] = [
    r#"{"id":"chat-7","locator":"12","speaker":"Mei"}"#,
    r#""chat-7#12""#,
    "chat-7#12",
    "https://example.org/a#b#c",
];
const TIMES: [&str; 7] = [
    "2026-03-01T10:00:00Z",
    "2026-03-01T10:00:00.123456789+09:00",
    "2026-03-01T10:00Z",
    "2026-03-01 10:00:00-00:30",
    "-009999-01-02T00:00:00Z",
    "9999-12-30T22:00:00Z",
    "2026-03-01T10:00:00+01:00[Europe/Paris]",
];
const MODELS: [&str; 5] = [
    "embedded",
    "none",
    "./models/small",
    "http://localhost:11434/v1#nomic-embed-text&dims=768&tokens=512&query=search_query:%20&unrelated=0.4&related=0.7",
    "https://user@host.example:8443/v1/#m",
];
const WORDS: [&str; 6] = [
    "semantic",
    "user_explicit",
    "superseded",
    "hybrid",
    "memory_deleted",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
];

fn seeds(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub fn candidate_seeds() -> Vec<Vec<u8>> {
    let fixtures =
        [include_str!("../../fixtures/memories.en.jsonl"), include_str!("../../fixtures/memories.zh.jsonl")];
    let mut seeds: Vec<Vec<u8>> =
        fixtures.iter().flat_map(|text| text.lines()).take(12).map(|line| line.as_bytes().to_vec()).collect();
    seeds.push(
        br##"{"namespace":{"tenant":"acme","user":"mei"},"kind":"semantic","form":"preference","subject":"preferred_language",
        "cardinality":"single","content":"prefers Python in code examples","metadata":{"tags":["a","b"],"n":1},
        "source":{"id":"chat-7","locator":"12","speaker":"Mei"},"episode":{"session":"s-1","position":3},
        "authority":"user_explicit","confidence":0.9,"importance":0.5,"sensitivity":"internal","lifetime":"cross_task",
        "observed_at":"2026-03-01T10:00:00+09:00","valid_from":"2026-02-01T00:00:00Z","expires_at":"2027-03-01T10:00:00Z",
        "write_reason":"said so","read_trigger":"code","revision_path":"ask","reverify_before_effect":true,
        "derived_from":["rec_01"]}"##
            .to_vec(),
    );
    seeds
}

fn policy_seeds() -> Vec<Vec<u8>> {
    let mut all = seeds(&[
        "[recall]\nlimit = 9\n[recall.weights]\nsemantic = 0.4\n",
        "[gates]\nnever_inferred = [\"health\", \"健康\"]\nminimum_confidence = 0.25\n",
        recordari::eval::EVALUATION_POLICY,
    ]);
    all.push(Policy::default().to_toml().into_bytes());
    all
}

pub fn text_seeds() -> Vec<Vec<u8>> {
    let long = "the staging token is rotated on the first of each month, 每个月的第一天更换令牌. ".repeat(40);
    seeds(&[
        "prefers Python in code examples, C++ and src/main.rs:12; gpt-4o costs 3.50 €",
        "每个月的第一天更换令牌。 東京タワーの高さは333メートル 서울의 봄",
        "👩‍👩‍👧 🏳️‍🌈 e\u{301}\u{327} ﬁne Ⅷ ½ x² \u{202e}gnol\u{202c}",
        "Αθήνα Москва नमस्ते ไทย العربية עברית İstanbul straße",
        "AKIAIOSFODNN7EXAMPLE ghp_0123456789abcdefghijklmnopqrstuvwxyzAB password: tr0ub4dor&3 for the wifi",
        "fooBarBaz HTTPServer2Go v1.2.3-rc.4 2026-03-01 a@b.example https://x.example/?q=1#f",
        &long,
    ])
}

/// An error says who must act, in a bounded message on one line that holds nothing of these texts.
pub fn assert_fair(error: &Error, never: &[&str]) {
    let message = error.to_string();
    assert!(message.len() <= MESSAGE_MAX, "a message of {} bytes", message.len());
    for text in never.iter().filter(|text| text.len() >= TELLING) {
        assert!(!message.contains(*text), "a message holds what was read: {message}");
    }
}

fn assert_callers(error: &Error, never: &[&str]) {
    assert_eq!(error.kind(), ErrorKind::Caller, "{error}");
    assert_fair(error, never);
}

fn value_of(input: &[u8]) -> Option<Value> {
    serde_json::from_slice(input).ok()
}

fn candidate(input: &[u8], _: &mut Numbers) -> bool {
    let Some(value) = value_of(input) else { return false };
    match candidate_from_json(&value) {
        Ok(candidate) => {
            candidate.check().unwrap();
            let written = candidate_to_json(&candidate).to_string();
            let again = candidate_from_json(&serde_json::from_str(&written).unwrap());
            assert_eq!(again.unwrap(), candidate, "it does not read back as it was written");
            true
        }
        Err(error) => {
            let never =
                ["content", "subject", "write_reason"].map(|field| value[field].as_str().unwrap_or(""));
            assert_callers(&error, &never);
            false
        }
    }
}

fn metadata(input: &[u8], _: &mut Numbers) -> bool {
    let Some(value) = value_of(input) else { return false };
    match metadata_from_json(&value) {
        Ok(metadata) => {
            let written = metadata_to_json(&metadata).to_string();
            let again = metadata_from_json(&serde_json::from_str(&written).unwrap());
            assert_eq!(again.unwrap(), metadata);
            true
        }
        Err(error) => {
            assert_callers(&error, &[]);
            false
        }
    }
}

fn namespace(input: &[u8], _: &mut Numbers) -> bool {
    let Some(value) = value_of(input) else { return false };
    match namespace_from_json(&value) {
        Ok(namespace) => {
            let parts = [namespace.user_part(), namespace.project_part(), namespace.agent_part()];
            for part in parts.into_iter().flatten().chain([namespace.tenant()]) {
                assert!((1..=PART_BYTES_MAX).contains(&part.len()) && !part.contains(char::is_control));
            }
            assert_eq!(namespace_from_json(&namespace_to_json(&namespace)).unwrap(), namespace);
            true
        }
        Err(error) => {
            assert_callers(&error, &[]);
            false
        }
    }
}

fn source(input: &[u8], _: &mut Numbers) -> bool {
    let text = String::from_utf8_lossy(input);
    assert_eq!(Source::parse(&text).to_string(), text);
    match value_of(input).map(|value| source_from_json(&value)) {
        Some(Ok(_)) => true,
        Some(Err(error)) => {
            assert_callers(&error, &[]);
            false
        }
        None => false,
    }
}

fn timestamp(input: &[u8], _: &mut Numbers) -> bool {
    let text = String::from_utf8_lossy(input);
    if let Some(bytes) = input.first_chunk::<8>()
        && let Ok(at) = Timestamp::from_micros(i64::from_le_bytes(*bytes))
    {
        assert_eq!(Timestamp::parse("at", &at.to_string()).unwrap(), at);
        assert!(at.days_since(at.plus_seconds(-86_400)) <= 1.0);
        let _ = (at.date(), at.plus_seconds(i64::MAX), at.plus_seconds(i64::MIN));
    }
    match Timestamp::parse("at", &text) {
        Ok(at) => {
            assert_eq!(Timestamp::parse("at", &at.to_string()).unwrap(), at, "{at}");
            assert_eq!(Timestamp::from_micros(at.as_micros()).unwrap(), at);
            true
        }
        Err(error) => {
            assert_callers(&error, &[]);
            false
        }
    }
}

fn policy(input: &[u8], _: &mut Numbers) -> bool {
    let text = String::from_utf8_lossy(input);
    match Policy::parse(&text) {
        Ok(policy) => {
            assert_eq!(Policy::parse(&policy.to_toml()).unwrap(), policy);
            assert_eq!(policy.version().len(), 12);
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Environment);
            assert_fair(&error, &[]);
            false
        }
    }
}

fn model_name(input: &[u8], _: &mut Numbers) -> bool {
    let text = String::from_utf8_lossy(input);
    match ModelSpec::parse(&text) {
        Ok(ModelSpec::Http(options)) => {
            assert!(options.url.contains("://"));
            assert!(!format!("{options:?}").is_empty());
            true
        }
        Ok(_) => true,
        Err(error) => {
            assert_callers(&error, &[]);
            false
        }
    }
}

fn words(input: &[u8], _: &mut Numbers) -> bool {
    let text = &*String::from_utf8_lossy(input);
    let read = [
        Kind::parse(text).map(Kind::code),
        Form::parse(text).map(Form::code),
        State::parse(text).map(State::code),
        Mode::parse(text).map(Mode::code),
        Authority::parse(text).map(Authority::code),
        Sensitivity::parse(text).map(Sensitivity::code),
    ];
    for read in &read {
        match read {
            Ok(code) => assert_eq!(*code, text),
            Err(error) => assert_callers(error, &[]),
        }
    }
    let key = PublicKey::parse(text);
    match &key {
        Ok(key) => assert_eq!(key.to_string(), text),
        Err(error) => assert_callers(error, &[text]),
    }
    let reason = Reason::from_code(text);
    assert!(reason.is_none_or(|reason| reason.code() == text));
    key.is_ok() || reason.is_some() || read.iter().any(Result::is_ok)
}

fn text(input: &[u8], numbers: &mut Numbers) -> bool {
    let text = &*String::from_utf8_lossy(&input[..input.len().min(TEXT_MAX)]);
    let (found, asked) = (terms(text), query_terms(text));
    for term in found.iter().chain(&asked) {
        assert!((1..=MAX_TERM_BYTES).contains(&term.len()), "a term of {} bytes", term.len());
    }
    let indexed: HashSet<&String> = found.iter().collect();
    assert!(asked.iter().all(|term| indexed.contains(term)), "a term is asked for and not indexed");
    assert_eq!(asked.iter().collect::<HashSet<_>>().len(), asked.len(), "a term is asked for twice");
    let plain = canonical(text);
    assert_eq!(canonical(&plain), plain, "the canonical form of a canonical form is itself");
    let _ = statement(text);
    assert!(mentions(text, text) || plain.is_empty());
    let shown = escape_control(text);
    assert!(!shown.contains(|c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)));
    let room = numbers.below(200);
    assert!(char_count(&clip(text, room)) <= room);
    let (one, half) = (Sketch::of(text), Sketch::of(&clip(text, char_count(text) / 2)));
    assert_eq!(similarity(&one, &one), 1.0);
    let alike = similarity(&one, &half);
    assert!((0.0..=1.0).contains(&alike) && alike == similarity(&half, &one));
    let model = HashingEmbedder::new(64).unwrap();
    let length: f32 = model.embed_query(text).unwrap().iter().map(|x| x * x).sum();
    assert!(length == 0.0 || (length - 1.0).abs() < 1e-3, "a vector of length {length}");
    !asked.is_empty()
}

fn secret(input: &[u8], _: &mut Numbers) -> bool {
    let text = &*String::from_utf8_lossy(&input[..input.len().min(TEXT_MAX)]);
    let all = secrets::find_all(text);
    for found in &all {
        assert!(!text[found.start..found.end].is_empty(), "{found}");
    }
    assert_eq!(secrets::find(text).is_some(), !all.is_empty());
    match secrets::redact(text) {
        Some(redacted) => {
            for found in &all {
                let secret = &text[found.start..found.end];
                assert!(
                    secret.len() < TELLING || text.matches(secret).count() > 1 || !redacted.contains(secret),
                    "{found} is not redacted"
                );
            }
            true
        }
        None => {
            assert!(all.is_empty());
            false
        }
    }
}
