//! How long does it take to build the keyword index of 10,000 records anew?

mod common;

use criterion::Throughput;

fn main() {
    let mut criterion = common::criterion();
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let memory = common::open(folder.path());
    common::told("10,000 records", || common::fill(&memory, &common::user("ann"), 0..10_000));
    let mut group = criterion.benchmark_group("rebuild");
    group.sample_size(10).throughput(Throughput::Elements(10_000));
    group.bench_function("10000", |bench| bench.iter(|| memory.rebuild(&mut |_, _| {})));
    group.finish();
    criterion.final_summary();
}
