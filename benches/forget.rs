//! How long does it take to forget: until no answer returns it, and until no file holds its words? One memory of
//! 10,000 through criterion; then, in a store of 100,000 (`RECORDARI_BENCH_RECORDS` says another number), one memory and a
//! namespace of 10,000, as percentiles of single deletions.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use criterion::BatchSize;
use recordari::{Forget, Forgotten, Memory, MemoryId, Mode, Outcome, Principal, Query, Selector};

/// Deletions of one memory, and of a namespace.
const SAMPLES: (usize, usize) = (40, 5);

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
        let one_more = || one_more(&memory, &who, seeds.next().unwrap_or(0));
        bench.iter_batched(
            one_more,
            |id| memory.forget(&who, &Forget::new(Selector::Memory(id), "measured")),
            BatchSize::PerIteration,
        );
    });
    group.finish();
    criterion.final_summary();
    // Criterion's own trials want to know that it runs, and no figures.
    let is_trial = std::env::args().any(|argument| argument == "--test" || argument == "--list");
    if !is_trial {
        in_a_large_store();
    }
}

fn one_more(memory: &Memory, who: &Principal, seed: u64) -> MemoryId {
    match memory.remember(who, &common::candidate(seed)) {
        Ok(Outcome::Committed(written)) => written.memory_id,
        other => panic!("not committed: {other:?}"),
    }
}

/// One store, in which other namespaces hold most of what there is.
fn in_a_large_store() {
    let all: u64 = std::env::var("RECORDARI_BENCH_RECORDS")
        .ok()
        .map_or(100_000, |all| all.parse().expect("RECORDARI_BENCH_RECORDS is a number"));
    let part = all / 10;
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let memory = common::open(folder.path());
    let name = |number: u64| common::user(&format!("user-{number}"));
    common::told(&format!("{all} records in ten namespaces"), || {
        (0..10).for_each(|number| common::fill(&memory, &name(number), number * part..(number + 1) * part));
    });
    let who = name(0);
    let ones: Vec<_> = (0..SAMPLES.0 as u64)
        .map(|number| {
            let id = one_more(&memory, &who, all + number);
            let _ = memory.catch_up(&mut |_, _| {});
            timed(&memory, &who, Selector::Memory(id), all + number)
        })
        .collect();
    told(&format!("one memory of {all}"), &ones);
    let namespaces: Vec<_> = (0..SAMPLES.1 as u64)
        .map(|number| timed(&memory, &name(9 - number), Selector::Everything, (9 - number) * part))
        .collect();
    told(&format!("a namespace of {part} of {all}"), &namespaces);
}

/// How long until another thread's question finds nothing of it, and until the receipt says that no file holds it.
fn timed(memory: &Memory, who: &Principal, selector: Selector, seed: u64) -> (Duration, Duration) {
    let text = common::text(seed, 24);
    let query = Query { mode: Mode::Keyword, limit: Some(1), ..Query::new(text.clone()) };
    let is_answered = || {
        let answer = memory.recall(who, &query).expect("recall answers");
        answer.hits.iter().any(|hit| hit.record.content == text)
    };
    assert!(is_answered(), "it is there before");
    let go = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asker = scope.spawn(|| {
            while !go.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            let started = Instant::now();
            while is_answered() {}
            started.elapsed()
        });
        let started = Instant::now();
        go.store(true, Ordering::Release);
        let done = memory.forget(who, &Forget::new(selector, "measured")).expect("the store takes it");
        let clean = started.elapsed();
        assert!(matches!(done, Forgotten::Done(_)), "{done:?}");
        (asker.join().expect("the asker ends"), clean)
    })
}

fn told(what: &str, samples: &[(Duration, Duration)]) {
    let percentile = |times: Vec<Duration>, share: f64| {
        let mut times = times;
        times.sort_unstable();
        let at = (share * times.len() as f64).ceil() as usize;
        times[at.clamp(1, times.len()) - 1].as_secs_f64() * 1e3
    };
    for (until, times) in [
        ("until no answer has it", samples.iter().map(|(gone, _)| *gone).collect::<Vec<_>>()),
        ("until no file holds it", samples.iter().map(|(_, clean)| *clean).collect()),
    ] {
        println!(
            "forget/{what}, {until}: p50 {:.1} ms, p95 {:.1} ms of {}",
            percentile(times.clone(), 0.5),
            percentile(times, 0.95),
            samples.len()
        );
    }
}
