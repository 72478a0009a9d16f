//! Whatever comes in from outside, nothing panics, hangs or takes memory without bound; what is taken reads back as it
//! was written, and what is refused is refused in a bounded message that holds nothing of it.
//!
//! The inputs are made of sound ones by a seed: `RECORDARI_FUZZ` says how many, `RECORDARI_SEED` repeats one, or both
//! together say how many from which on. What lies in
//! `fixtures/fuzz` comes first, in a folder for each reader. Damaged store folders are tried in
//! `tests/promises/damage.rs`.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in helpers too")]

#[cfg(feature = "cli")]
mod commands;
#[cfg(feature = "cli")]
#[path = "../doors/door.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod door;
mod models;
mod mutate;
#[path = "../promises/numbers.rs"]
mod numbers;
mod stores;
#[cfg(feature = "http-embedder")]
#[path = "../embedders/stub.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod stub;
mod texts;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use numbers::Numbers;

/// How many inputs are tried, unless `RECORDARI_FUZZ` says another number.
const INPUTS: u64 = 20_000;
/// So many are tried by one thread before another takes over, whose name tells which they were.
const TOGETHER: u64 = 500;
const WORKERS: usize = 2;
/// Nothing takes so long, not on a machine that has much else to do either.
const HANGS: Duration = Duration::from_secs(20);
/// How much memory all of it may take beyond what it begins with.
const MEMORY_KIB: u64 = 1 << 20;
/// How many failures are told before it ends.
const FAILURES: usize = 8;
/// How much of an input is shown.
const SHOWN: usize = 200;

/// Reads an input, and says whether it was taken. Panics when something is not as it should be.
type Read = Box<dyn FnMut(&[u8], &mut Numbers) -> bool + Send>;

/// A reader of what comes from outside.
pub struct Target {
    name: &'static str,
    /// How many of so many inputs are for it; fewer where each costs more.
    share: usize,
    seeds: Vec<Vec<u8>>,
    read: Read,
}

impl Target {
    pub fn new(
        name: &'static str,
        share: usize,
        seeds: Vec<Vec<u8>>,
        read: impl FnMut(&[u8], &mut Numbers) -> bool + Send + 'static,
    ) -> Target {
        Target { name, share, seeds, read: Box::new(read) }
    }
}

fn targets() -> Vec<Target> {
    let mut all = texts::targets();
    all.extend(stores::targets());
    all.extend(models::targets());
    #[cfg(feature = "cli")]
    all.extend(commands::targets());
    all
}

/// What became of the inputs for one reader.
#[derive(Default)]
struct Count {
    inputs: u64,
    taken: u64,
    slowest: (Duration, String),
    total: Duration,
}

/// What a worker is at: the seed, and since when, in milliseconds from the start; 0 when at nothing.
#[derive(Default)]
struct At {
    seed: AtomicU64,
    since: AtomicU64,
}

#[derive(Default)]
struct Found {
    counts: BTreeMap<&'static str, Count>,
    failures: usize,
}

struct Run {
    started: Instant,
    at: Vec<At>,
    found: Mutex<Found>,
    stopped: AtomicBool,
}

impl Run {
    /// Gives one input to a reader.
    fn read(&self, worker: usize, target: &mut Target, what: &str, input: &[u8], numbers: &mut Numbers) {
        let began = Instant::now();
        self.at[worker].since.store(self.started.elapsed().as_millis().max(1) as u64, Ordering::Release);
        let done = catch_unwind(AssertUnwindSafe(|| (target.read)(input, numbers)));
        self.at[worker].since.store(0, Ordering::Release);
        let mut found = self.found.lock().unwrap();
        let count = found.counts.entry(target.name).or_default();
        count.inputs += 1;
        let took = began.elapsed();
        count.total += took;
        if took > count.slowest.0 {
            count.slowest = (took, what.to_owned());
        }
        match done {
            Ok(taken) => count.taken += u64::from(taken),
            Err(_) => {
                let shown = &input[..input.len().min(SHOWN)];
                let failure =
                    format!("{what}: {}: {} bytes: {}", target.name, input.len(), shown.escape_ascii());
                eprintln!("{failure}");
                found.failures += 1;
                if found.failures >= FAILURES {
                    self.stopped.store(true, Ordering::Release);
                }
            }
        }
    }

    fn read_seed(&self, worker: usize, targets: &mut [Target], seed: u64) {
        let mut numbers = Numbers::new(seed);
        // Neighbouring seeds begin alike.
        (0..4).for_each(|_| _ = numbers.below(2));
        let mut at = numbers.below(targets.iter().map(|target| target.share).sum());
        let target = targets.iter_mut().find(|target| {
            let is_it = at < target.share;
            at = at.saturating_sub(target.share);
            is_it
        });
        let target = target.expect("the shares are of their sum");
        let input = mutate::mutated(&target.seeds, &mut numbers);
        self.at[worker].seed.store(seed, Ordering::Release);
        self.read(worker, target, &format!("RECORDARI_SEED={seed}"), &input, &mut numbers);
    }

    /// Ends the process when a worker hangs, or memory grows without bound: neither can be caught.
    fn watch(&self, before_kib: Option<u64>) {
        let now = self.started.elapsed().as_millis() as u64;
        for at in &self.at {
            let since = at.since.load(Ordering::Acquire);
            if since > 0 && now.saturating_sub(since) > HANGS.as_millis() as u64 {
                eprintln!("RECORDARI_SEED={}: hangs", at.seed.load(Ordering::Acquire));
                std::process::exit(1);
            }
        }
        if let (Some(before), Some(now)) = (before_kib, resident_kib("VmRSS"))
            && now > before + MEMORY_KIB
        {
            let seeds: Vec<u64> = self.at.iter().map(|at| at.seed.load(Ordering::Acquire)).collect();
            eprintln!("RECORDARI_SEED of {seeds:?}: takes {now} KiB of memory");
            std::process::exit(1);
        }
    }
}

/// How much memory this process has, where the system says it.
fn resident_kib(what: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(what))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The inputs that are kept, by the reader that they are for.
fn corpus() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fuzz");
    let mut files = Vec::new();
    for folder in fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        let target = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let inputs = fs::read_dir(&folder).unwrap().map(|entry| (target.clone(), entry.unwrap().path()));
        files.extend(inputs);
    }
    files.sort();
    files
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn whatever_comes_in_is_read_or_refused() {
    let seed = number("RECORDARI_SEED");
    let inputs = number("RECORDARI_FUZZ");
    // The same inputs in every run of the tests, and others in every campaign that names no seed.
    let first = seed.unwrap_or(inputs.map_or(0, |_| u64::from(std::process::id()) << 32));
    let last = first + inputs.unwrap_or(if seed.is_some() { 1 } else { INPUTS });
    let run = Run {
        started: Instant::now(),
        at: (0..WORKERS).map(|_| At::default()).collect(),
        found: Mutex::default(),
        stopped: AtomicBool::new(false),
    };
    let mut of_each: Vec<Vec<Target>> = (0..WORKERS).map(|_| targets()).collect();
    let kept = corpus();
    for (name, path) in &kept {
        let target = of_each[0].iter_mut().find(|target| target.name == name);
        let Some(target) = target else {
            // Some readers are there with these features alone.
            if cfg!(all(feature = "cli", feature = "http-embedder")) {
                panic!("{name} is no reader");
            }
            continue;
        };
        let input = fs::read(path).unwrap();
        run.read(0, target, &path.display().to_string(), &input, &mut Numbers::new(0));
    }
    for target in &mut of_each[0] {
        let seeds = target.seeds.clone();
        let mut read = |seed: &Vec<u8>| (target.read)(seed, &mut Numbers::new(1));
        assert!(
            seeds.iter().map(&mut read).collect::<Vec<_>>().contains(&true),
            "{} takes nothing that is sound",
            target.name
        );
    }
    let next = AtomicU64::new(first);
    let working = AtomicU64::new(WORKERS as u64);
    let before = resident_kib("VmRSS");
    std::thread::scope(|scope| {
        for (worker, targets) in of_each.iter_mut().enumerate() {
            let (run, next, working) = (&run, &next, &working);
            scope.spawn(move || {
                while !run.stopped.load(Ordering::Acquire) {
                    let from = next.fetch_add(TOGETHER, Ordering::Relaxed);
                    if from >= last {
                        break;
                    }
                    let until = last.min(from + TOGETHER);
                    // A stack that overflows ends the process and says no more than the name of the thread.
                    let name = format!("RECORDARI_SEED {from} to {}", until - 1);
                    std::thread::scope(|inner| {
                        let work = || {
                            (from..until)
                                .take_while(|_| !run.stopped.load(Ordering::Acquire))
                                .for_each(|seed| run.read_seed(worker, targets, seed));
                        };
                        let thread = std::thread::Builder::new().name(name).spawn_scoped(inner, work);
                        let _ = thread.unwrap().join();
                    });
                }
                working.fetch_sub(1, Ordering::AcqRel);
            });
        }
        while working.load(Ordering::Acquire) > 0 {
            run.watch(before);
            std::thread::sleep(Duration::from_millis(25));
        }
    });
    let found = run.found.into_inner().unwrap();
    let took = run.started.elapsed();
    for (name, Count { inputs, taken, slowest, total }) in &found.counts {
        let (most, of) = slowest;
        println!(
            "{name:<16} {inputs:>9} inputs {taken:>9} taken, all in {total:.1?}, the slowest in {most:.1?} ({of})"
        );
        assert!(*inputs < 1_000 || (*taken > 0 && taken < inputs), "{name}: {taken} of {inputs} were taken");
    }
    let tried: u64 = found.counts.values().map(|count| count.inputs).sum();
    let memory = resident_kib("VmHWM").map_or(String::new(), |kib| format!(", {} MiB at most", kib >> 10));
    println!(
        "seeds {first} to {}: {tried} inputs, {} of them kept ones, for {} readers in {:.1} s ({:.0} a second){memory}; no panic, no hang",
        last - 1,
        kept.len(),
        found.counts.len(),
        took.as_secs_f64(),
        tried as f64 / took.as_secs_f64(),
    );
    assert_eq!(found.failures, 0, "failures, which are told above");
    assert_eq!(tried, kept.len() as u64 + (last - first));
}
