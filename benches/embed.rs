//! How long does the built-in model take, for a question and for passages? Apart from everything else.

mod common;

use criterion::Throughput;
use recordari::Embedder;
use recordari::embed::E5;

/// With the model's prefix, 16 tokens.
const QUERY: &str = "please remind me what the doctor said about my sleep schedule";
const PASSAGE: &str = "the quick brown fox jumps over the lazy dog while seven engineers argue about the \
    database schema and the planned migration for the next quarter of this very busy calendar year";
const PASSAGES: usize = 64;

fn main() {
    let mut criterion = common::criterion();
    let model = E5::embedded().expect("the built-in model is sound");
    let mut group = criterion.benchmark_group("embed");
    group.bench_function("query of 16 tokens", |bench| bench.iter(|| model.embed_query(QUERY)));
    let texts: Vec<String> = (0..PASSAGES).map(|number| format!("{number} {PASSAGE}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    group.sample_size(10).throughput(Throughput::Elements(PASSAGES as u64));
    group.bench_function("64 passages of 30 words", |bench| bench.iter(|| model.embed_passages(&texts)));
    group.finish();
    criterion.final_summary();
}
