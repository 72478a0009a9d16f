//! A made-up world to measure in: texts and vectors that follow from a seed, and stores filled with them.
//! Embedding takes next to no time here, so that what is measured is everything else.

#![allow(dead_code, reason = "each bench uses its part of it")]

pub mod vectors;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::Criterion;
use recordari::embed::{Calibration, ModelInfo};
use recordari::{
    Authority, Candidate, Embedder, Kind, Memory, Namespace, Options, Outcome, Principal, Result, Source,
    Timestamp,
};

pub use vectors::{DIMS, Random};

/// Topics, words of a topic, and words that every topic shares.
const TOPICS: u64 = 200;
const TOPIC_WORDS: u64 = 40;
const COMMON_WORDS: u64 = 20_000;
/// How many candidates are remembered in one transaction while a store is filled.
const BULK: usize = 2048;

/// A text of so many words: some of a topic, the rest of everybody's.
pub fn text(seed: u64, words: usize) -> String {
    let mut random = Random(seed);
    let topic = random.next() % TOPICS;
    let word = |random: &mut Random| {
        if random.unit() < 0.4 {
            spelled(1 + topic * TOPIC_WORDS + random.zipf(TOPIC_WORDS))
        } else {
            spelled(1 + TOPICS * TOPIC_WORDS + random.zipf(COMMON_WORDS))
        }
    };
    (0..words).map(|_| word(&mut random)).collect::<Vec<_>>().join(" ")
}

/// A made-up word for a number.
fn spelled(mut number: u64) -> String {
    let mut word = String::new();
    while number > 0 {
        word.push(b"bdfgklmnprstvz"[(number % 14) as usize] as char);
        word.push(b"aeiou"[(number / 14 % 5) as usize] as char);
        number /= 70;
    }
    word.push('k');
    word
}

/// A question about what the record of that seed says.
pub fn question(seed: u64) -> String {
    let text = text(seed, 24);
    text.split(' ').step_by(4).collect::<Vec<_>>().join(" ")
}

/// Gives each text the vector that follows from it; texts on a topic lie close together.
pub struct Quick(ModelInfo);

impl Quick {
    pub fn new() -> Arc<Quick> {
        let calibration = Calibration { unrelated: 0.1, related: 0.8 };
        Arc::new(Quick(ModelInfo {
            name: "quick-384".to_owned(),
            fingerprint: "0000000000000384".to_owned(),
            dims: DIMS,
            calibration,
        }))
    }

    fn vector(text: &str) -> Vec<f32> {
        let seed = |bytes: &[u8]| {
            bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
            })
        };
        let mut own = Random(seed(text.as_bytes()));
        let mut shared = Random(seed(text.split(' ').next().unwrap_or_default().as_bytes()));
        let mut vector: Vec<f32> = (0..DIMS).map(|_| (own.unit() + shared.unit() - 1.0) as f32).collect();
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }
}

impl Embedder for Quick {
    fn model(&self) -> &ModelInfo {
        &self.0
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
        Ok(texts.iter().map(|text| vec![Quick::vector(text)]).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        Ok(Quick::vector(text))
    }
}

/// Opens a store as a library user would, but without a thread that works beside what is measured.
pub fn open(folder: &Path) -> Memory {
    let options = Options { embedder: Some(Quick::new()), background: false, ..Options::new(folder) };
    Memory::open(options).expect("a store in a temporary folder can be opened").0
}

/// A user's own place.
pub fn user(name: &str) -> Principal {
    let place = Namespace::new("bench").and_then(|tenant| tenant.user(name));
    Principal::new(place.expect("the name is a valid part"))
}

/// A statement of some 24 words.
pub fn candidate(seed: u64) -> Candidate {
    let minutes = i64::try_from(seed % 500_000).unwrap_or(0);
    let at = Timestamp::from_micros(1_700_000_000_000_000).expect("the time is in range");
    Candidate {
        source: Some(Source { id: "bench".to_owned(), locator: Some(seed.to_string()), speaker: None }),
        observed_at: Some(at.plus_seconds(minutes * 60)),
        authority: Authority::UserExplicit,
        ..Candidate::new(Kind::Semantic, text(seed, 24))
    }
}

/// Remembers the records of these seeds in bulk and brings the index up to date.
pub fn fill(memory: &Memory, who: &Principal, seeds: std::ops::Range<u64>) {
    let seeds: Vec<u64> = seeds.collect();
    for chunk in seeds.chunks(BULK) {
        let candidates: Vec<Candidate> = chunk.iter().map(|seed| candidate(*seed)).collect();
        let outcomes = memory.remember_all(who, &candidates).expect("the store takes writes");
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Outcome::Committed(_)))));
    }
    memory.catch_up(&mut |_, _| {}).expect("the index takes writes");
}

/// Tells on stderr how long a preparation took.
pub fn told<T>(what: &str, prepare: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = prepare();
    eprintln!("prepared {what} in {:.1} s", started.elapsed().as_secs_f64());
    done
}

/// Short enough that all benches together take minutes.
pub fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4))
        .sample_size(30)
        .configure_from_args()
}
