//! A graph is a choice of the policy, and nothing but speed depends on it: it finds what the oracle finds, sees
//! what came after it, never holds what is forgotten, and can be deleted at any time.

mod answers;
mod erasure;
mod upkeep;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use recordari::embed::{Calibration, ModelInfo};
use recordari::{
    Candidate, Compare, Embedder, Filter, Memory, MetaValue, Mode, Policy, Principal, Query, Recalled,
    Result, Written,
};

use crate::remains::files;
use crate::world::{World, someone};

const DIMS: usize = 48;
/// How many rows the graphs of most tests have.
const ROWS: usize = 900;

/// Vectors without zeros, near one another for texts that begin with the same word.
struct Dense {
    model: ModelInfo,
    seed: u64,
}

impl Dense {
    fn new(seed: u64) -> Dense {
        let calibration = Calibration { unrelated: -0.6, related: 0.9 };
        let model = ModelInfo {
            name: format!("dense-{seed}"),
            fingerprint: format!("{seed:016x}"),
            dims: DIMS,
            calibration,
        };
        Dense { model, seed }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let topic = text.split_whitespace().next().unwrap_or_default();
        let (centre, own) = (numbers(self.seed, topic), numbers(self.seed, text));
        let both: Vec<f32> = centre.iter().zip(own).map(|(centre, own)| centre + 0.9 * own).collect();
        let length = both.iter().map(|x| x * x).sum::<f32>().sqrt();
        both.iter().map(|x| x / length).collect()
    }
}

fn numbers(seed: u64, text: &str) -> Vec<f32> {
    let mut state = text.bytes().fold(seed | 1, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
    });
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..DIMS + 9).map(|_| next()).skip(9).collect()
}

impl Embedder for Dense {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
        Ok(texts.iter().map(|text| vec![self.vector(text)]).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        Ok(self.vector(text))
    }
}

fn mei() -> Principal {
    someone("acme", "mei", None)
}

/// A policy that asks for a graph, and leaves nothing out for other reasons than the search.
fn policy(graph_from: usize) -> Policy {
    Policy::parse(&format!(
        "[recall]\ngraph_from = {graph_from}\ngraph_breadth = 64\ncandidates = 30\nfloor = 0.0\n\
         near_duplicate = 1.0\nkind_share = 1.0"
    ))
    .unwrap()
}

fn text(number: usize) -> String {
    format!("topic{} note {number}", number % 40)
}

fn said(world: &World, number: usize) -> Candidate {
    let metadata = [("n".to_owned(), MetaValue::Number(number as f64))].into();
    Candidate { metadata, ..world.said(None, &text(number), &format!("log-{number}")) }
}

/// A world with so many rows in one namespace, and no graph yet.
fn world_of(rows: usize, policy: Policy) -> (World, Vec<Written>) {
    let mut world = World::with_policy(policy);
    world.embedder = Some(Arc::new(Dense::new(7)));
    world.reopen();
    let all: Vec<Candidate> = (0..rows).map(|number| said(&world, number)).collect();
    let outcomes = world.memory().remember_all(&mei(), &all).unwrap();
    let written = outcomes.into_iter().map(|outcome| outcome.unwrap().written().unwrap()).collect();
    (world, written)
}

/// The same with a graph of all of them.
fn with_graph(rows: usize) -> (World, Vec<Written>) {
    let (world, written) = world_of(rows, policy(300));
    assert_eq!(build(world.memory()), (1, rows as u64));
    (world, written)
}

/// Builds what graphs there are to be: how many there are now, and how many rows were put in for them.
fn build(memory: &Memory) -> (usize, u64) {
    let mut rows = 0;
    let graphs = memory
        .build_graphs(&mut |done, _| {
            rows = done;
            true
        })
        .unwrap();
    (graphs, rows)
}

fn asked(text: &str) -> Query {
    Query { mode: Mode::Vector, limit: Some(10), characters: Some(100_000), ..Query::new(text) }
}

fn below(number: usize) -> Filter {
    Filter::Meta("n".to_owned(), Compare::Less, MetaValue::Number(number as f64))
}

fn how(answer: &Recalled) -> &'static str {
    answer.plan.vectors[0].how
}

fn ids(answer: &Recalled) -> Vec<String> {
    answer.hits.iter().map(|hit| hit.record.record_id.as_str().to_owned()).collect()
}

fn graphs(world: &World) -> PathBuf {
    world.path().join("derived").join("graphs")
}

/// Where a vector is found, whatever length it was brought to: files with sixteen numbers after one another, as
/// little-endian floats at any byte, that point the same way as a stretch of it.
fn remains(folder: &Path, vector: &[f32]) -> Vec<PathBuf> {
    let run = &vector[8..24];
    let length = run.iter().map(|x| x * x).sum::<f32>().sqrt();
    let is_near = |window: &[u8]| {
        let (mut dot, mut square) = (0f32, 0f32);
        for (bytes, x) in window.as_chunks::<4>().0.iter().zip(run) {
            let number = f32::from_le_bytes(*bytes);
            dot += number * x;
            square += number * number;
        }
        // Any other bytes can look like numbers so small or so large that nothing can be said of them.
        dot > 0.999 * length * square.sqrt() && (1e-12..1e12).contains(&square)
    };
    let holds = |file: &PathBuf| std::fs::read(file).is_ok_and(|bytes| bytes.windows(64).any(is_near));
    files(folder).into_iter().filter(holds).collect()
}

#[test]
fn the_probe_sees_a_vector_at_any_length_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let vector = Dense::new(7).vector("topic1 note");
    let mut bytes = vec![1, 2, 3];
    bytes.extend(vector.iter().flat_map(|x| (x * 3.5 + 0.0001).to_le_bytes()));
    std::fs::write(folder.path().join("file"), &bytes).unwrap();
    assert_eq!(remains(folder.path(), &vector).len(), 1);
    assert!(remains(folder.path(), &Dense::new(7).vector("topic1 other")).is_empty());
}
