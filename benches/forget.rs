//! How long does it take to forget one memory of 10,000, until no file holds its words?

mod common;

use criterion::BatchSize;
use recordari::{Forget, Outcome, Selector};

fn main() {
    let mut criterion = common::criterion();
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let memory = common::open(folder.path());
    let who = common::user("ann");
    common::told("10,000 records", || common::fill(&memory, &who, 0..10_000));
    let mut seeds = 10_000..;
    let mut group = criterion.benchmark_group("forget");
    group.sample_size(10);
    group.bench_function("one of 10000", |bench| {
        let one_more = || {
            let candidate = common::candidate(seeds.next().unwrap_or(0));
            match memory.remember(&who, &candidate) {
                Ok(Outcome::Committed(written)) => written.memory_id,
                other => panic!("not committed: {other:?}"),
            }
        };
        bench.iter_batched(
            one_more,
            |id| memory.forget(&who, &Forget::new(Selector::Memory(id), "measured")),
            BatchSize::PerIteration,
        );
    });
    group.finish();
    criterion.final_summary();
}
