//! How long does it take to remember durably, one at a time and in bulk?

mod common;

use criterion::{BatchSize, Throughput};
use recordari::Candidate;

fn main() {
    let mut criterion = common::criterion();
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let memory = common::open(folder.path());
    let who = common::user("ann");
    let mut seeds = 0..;
    let mut next = move || common::candidate(seeds.next().unwrap_or(0));

    let mut group = criterion.benchmark_group("remember");
    group.throughput(Throughput::Elements(1));
    group.bench_function("one", |bench| {
        bench.iter_batched(&mut next, |one| memory.remember(&who, &one), BatchSize::PerIteration);
    });
    const BULK: usize = 256;
    group.throughput(Throughput::Elements(BULK as u64));
    group.bench_function("bulk of 256", |bench| {
        let bulk = || (0..BULK).map(|_| next()).collect::<Vec<Candidate>>();
        bench.iter_batched(bulk, |bulk| memory.remember_all(&who, &bulk), BatchSize::PerIteration);
    });
    group.finish();
    criterion.final_summary();
}
