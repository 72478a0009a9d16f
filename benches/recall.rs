//! How long does a recall take, among few and many records of one's own, with many more of others in the
//! store? And the first one of a program that has just started?

mod common;

use std::hint::black_box;

use criterion::Criterion;
use recordari::{Memory, Mode, Principal, Query};

/// Records of other users, and how many of them each has.
const OTHERS: u64 = 100_000;
const OTHERS_EACH: u64 = 1_000;
/// How many questions are asked in turn.
const QUESTIONS: u64 = 64;

fn main() {
    let mut criterion = common::criterion();
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let memory = common::open(folder.path());
    common::told("110,100 records", || {
        common::fill(&memory, &common::user("few"), 0..100);
        common::fill(&memory, &common::user("many"), 1_000..11_000);
        for other in 0..OTHERS / OTHERS_EACH {
            let from = 100_000 + other * OTHERS_EACH;
            common::fill(&memory, &common::user(&format!("other{other}")), from..from + OTHERS_EACH);
        }
    });
    warm(&mut criterion, &memory, "100", &common::user("few"), 0);
    warm(&mut criterion, &memory, "10000", &common::user("many"), 1_000);
    drop(memory);
    let mut group = criterion.benchmark_group("recall");
    group.sample_size(10);
    group.bench_function("open, then first of 10000", |bench| {
        bench.iter(|| {
            let memory = common::open(folder.path());
            black_box(memory.recall(&common::user("many"), &Query::new(common::question(1_234))))
        });
    });
    group.finish();
    criterion.final_summary();
}

fn warm(criterion: &mut Criterion, memory: &Memory, records: &str, who: &Principal, first: u64) {
    let mut group = criterion.benchmark_group(format!("recall of {records}"));
    for mode in [Mode::Hybrid, Mode::Keyword, Mode::Vector] {
        let ask = |number: u64| Query { mode, ..Query::new(common::question(first + number % QUESTIONS)) };
        let mut number = 0;
        group.bench_function(mode.code(), |bench| {
            bench.iter_batched(
                || {
                    number += 1;
                    ask(number)
                },
                |query| memory.recall(who, &query),
                criterion::BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}
