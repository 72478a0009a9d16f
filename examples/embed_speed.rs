//! Measures the embedding engine: loading, memory, a query, passages. Prints processor time where it can,
//! because wall time on a shared machine says more about its neighbours.
//!
//! `cargo run --release --example embed_speed [folder of a model]`; without a folder, the embedded model.

use std::hint::black_box;
use std::time::{Duration, Instant};

use recordari::embed::{E5, Embedder};
use recordari::error::Result;
use recordari::simd::{Level, dot_f32_rows};

const QUERY: &str = "please remind me what the doctor said about my sleep schedule";
const PASSAGE: &str = "the quick brown fox jumps over the lazy dog while seven engineers argue about the \
    database schema and the planned migration for the next quarter of this very busy calendar year";

fn main() -> Result<()> {
    let start = (Instant::now(), processor_time());
    let e5 = match std::env::args().nth(1) {
        Some(folder) => E5::from_folder(folder.as_ref())?,
        None => embedded()?,
    };
    let (wall, cpu) = (start.0.elapsed(), processor_time() - start.1);
    println!("load            {wall:.0?} wall, {cpu:.0?} processor; resident {}", memory());

    let mut e5 = e5;
    for level in Level::available().into_iter().rev() {
        e5 = e5.with_level(level);
        let rounds = if level == Level::SCALAR { 10 } else { 200 };
        let mut times: Vec<Duration> =
            (0..rounds).map(|_| timed(|| e5.embed_query(QUERY).map(drop))).collect();
        times.sort();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!("query   {level:7} p10 {:.2?}, p50 {:.2?}, p90 {:.2?}", at(10), at(50), at(90));

        let texts: Vec<String> = (0..rounds).map(|i| format!("{i} {PASSAGE}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut best = (Duration::MAX, Duration::MAX);
        for _ in 0..3 {
            let start = (Instant::now(), processor_time());
            black_box(e5.embed_passages(&texts)?);
            best = (best.0.min(start.0.elapsed()), best.1.min(processor_time() - start.1));
        }
        let rate = |time: Duration| rounds as f64 / time.as_secs_f64();
        println!(
            "passage {level:7} {:.0} a second wall, {:.0} a second and core",
            rate(best.0),
            rate(best.1)
        );
    }
    println!("resident {}", memory());
    e5 = e5.with_level(Level::detect());
    let long = PASSAGE.repeat(375);
    let cpu = processor_time();
    let wall = timed(|| e5.embed_passages(&[&long]).map(drop));
    println!("64 KiB of text  {wall:.1?} wall, {:.1?} processor", processor_time() - cpu);
    println!("resident {}", memory());

    let matrix = vec![0.05f32; 384 * 20_000];
    let mut scores = vec![0f32; 20_000];
    let mut scan = || {
        dot_f32_rows(&matrix[..384], &matrix, &mut scores);
        Ok(())
    };
    let best = (0..20).map(|_| timed(&mut scan)).min();
    println!("exact scan of 20,000 vectors  {:.2?}", best.unwrap_or_default());
    black_box(scores);
    Ok(())
}

#[cfg(feature = "embedded-model")]
fn embedded() -> Result<E5> {
    E5::embedded()
}

#[cfg(not(feature = "embedded-model"))]
fn embedded() -> Result<E5> {
    Err(recordari::error::Error::Embed("no model is built in: name a folder".to_owned()))
}

fn timed(run: impl FnOnce() -> Result<()>) -> Duration {
    let start = Instant::now();
    run().expect("the model works");
    start.elapsed()
}

/// Processor time of this process, in steps of 10 ms; Linux only.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |field: usize| fields.get(field).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

/// Resident memory, now and at most; Linux only.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let wanted = |line: &&str| ["VmRSS", "RssAnon", "VmHWM"].iter().any(|name| line.starts_with(name));
    status
        .lines()
        .filter(wanted)
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join(", ")
}
