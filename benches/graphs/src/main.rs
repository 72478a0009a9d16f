//! How fast do a scan, the sketch and two graphs find the ten nearest of so many vectors, and what is found? One
//! thread asks; a graph is built on one core too. Prints a table for docs/PERFORMANCE.md.
//!
//! `cargo run --release --manifest-path benches/graphs/Cargo.toml -- ROWS`

#[path = "../../common/vectors.rs"]
mod vectors;

use std::time::Instant;

use recordari::index::VectorBlock;
use recordari::index::block::{Asked, NONE, Worth};
use recordari::index::graph::{Go, Graph, Pace};
use recordari::simd::{dot_f32, pack};
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};
use vectors::{DIMS, Vectors};

const WANTED: usize = 10;
/// How many of the nearest by their bytes are compared in full.
const IN_FULL: usize = 40;
const BREADTHS: [usize; 3] = [64, 256, 512];
/// Both graphs are built alike: neighbours of a row, and how many rows are looked at to place one.
const NEIGHBOURS: usize = 16;
const PLACED_AMONG: usize = 150;

/// What is asked, on topic or off it, and what there is to find.
struct Questions {
    queries: Vec<Vec<f32>>,
    nearest: Vec<Vec<u32>>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: usize = std::env::args().nth(1).unwrap_or_default().parse().unwrap_or(20_000);
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let Vectors { rows: all, on, off, .. } = Vectors::of(rows);
    let questions = [on, off].map(|queries| Questions {
        nearest: queries.iter().map(|query| exact(&all, query)).collect(),
        queries,
    });
    println!("{rows} rows of {DIMS}\n");
    println!(
        "| | rows a second in | bytes a row | p50 on topic, ms | recall@10 | p50 off topic, ms | recall@10 |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    ours(&all, &questions);
    hnsw_rs(&all, &questions);
    for kind in [ScalarKind::F32, ScalarKind::I8] {
        usearch(&all, &questions, kind)?;
    }
    Ok(())
}

/// The ten nearest, by comparing all.
fn exact(all: &[f32], query: &[f32]) -> Vec<u32> {
    let mut scored: Vec<(f32, u32)> =
        all.chunks_exact(DIMS).map(|row| dot_f32(query, row)).zip(0..).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(WANTED).map(|(_, row)| row).collect()
}

/// The block as recall searches it: by the sketch where it pays, with the scan where few rows are allowed.
fn ours(all: &[f32], questions: &[Questions; 2]) {
    let rows = all.len() / DIMS;
    let started = Instant::now();
    let mut block = VectorBlock::new(1, DIMS, false);
    let mut bytes = Vec::new();
    for (slot, row) in (0u32..).zip(all.chunks_exact(DIMS)) {
        bytes.clear();
        pack(row, &mut bytes);
        block.push(slot, &bytes);
    }
    block.settle();
    let rate = rows as f64 / started.elapsed().as_secs_f64();
    let (allowed, words, named) = (vec![true; rows], vec![0.0; rows], vec![false; rows]);
    let worth = Worth { from: 0.0, upto: 1.0, words: 0.0, name: 0.0 };
    // A search that seems to have few rows allowed is done by the scan, of all that are.
    for (name, allowed_count) in [("sketch and bytes", rows), ("scan of bytes", 1)] {
        line(name, rate, block.bytes() / rows, questions, |query| {
            let (allowed, words, named) = (&allowed, &words, &named);
            let graph = None;
            let asked = Asked { query, allowed, allowed_count, wanted: WANTED, words, named, worth, graph };
            let cosines = block.search(&asked).cosines;
            let mut found: Vec<u32> = (0..rows as u32).filter(|row| cosines[*row as usize] != NONE).collect();
            let better = |a: &u32, b: &u32| cosines[*b as usize].total_cmp(&cosines[*a as usize]);
            if found.len() > IN_FULL {
                found.select_nth_unstable_by(IN_FULL - 1, better);
                found.truncate(IN_FULL);
            }
            // As recall does with what is close: the bytes say which, the whole vectors in what order.
            let cosine = |row: &u32| dot_f32(query, &all[*row as usize * DIMS..][..DIMS]);
            let mut scored: Vec<(f32, u32)> = found.iter().map(|row| (cosine(row), *row)).collect();
            scored.sort_by(|a, b| b.0.total_cmp(&a.0));
            scored.into_iter().take(WANTED).map(|(_, row)| row).collect()
        });
    }
}

fn hnsw_rs(all: &[f32], questions: &[Questions; 2]) {
    let rows: Vec<(u32, &[f32])> = (0u32..).zip(all.chunks_exact(DIMS)).collect();
    let mut graph = Graph::new("bench", DIMS, rows.len());
    let (before, started) = (resident(), Instant::now());
    graph.insert(&rows, Pace::OneCore, |_| Go::On);
    let rate = rows.len() as f64 / started.elapsed().as_secs_f64();
    let bytes = resident().saturating_sub(before) / rows.len();
    for breadth in BREADTHS {
        line(&format!("hnsw_rs, breadth {breadth}"), rate, bytes, questions, |query| {
            graph.nearest(query, WANTED, breadth, None).into_iter().map(|(row, _)| row).collect()
        });
    }
    // Nine tenths of the rows, as a filter leaves them: the walk does not end early.
    let allowed = |row: u32| row % 10 != 3;
    let name = format!("hnsw_rs, breadth {}, a filter that lets 0.9 through", BREADTHS[1]);
    line(&name, rate, bytes, questions, |query| {
        let found = graph.nearest(query, WANTED, BREADTHS[1], Some(&allowed));
        found.into_iter().map(|(row, _)| row).collect()
    });
}

fn usearch(
    all: &[f32],
    questions: &[Questions; 2],
    quantization: ScalarKind,
) -> Result<(), Box<dyn std::error::Error>> {
    let rows = all.len() / DIMS;
    let index = Index::new(&IndexOptions {
        dimensions: DIMS,
        metric: MetricKind::Cos,
        quantization,
        connectivity: NEIGHBOURS,
        expansion_add: PLACED_AMONG,
        expansion_search: BREADTHS[0],
        multi: false,
    })?;
    index.reserve(rows)?;
    let (before, started) = (resident(), Instant::now());
    for (number, row) in (0u64..).zip(all.chunks_exact(DIMS)) {
        index.add(number, row)?;
    }
    let rate = rows as f64 / started.elapsed().as_secs_f64();
    let bytes = resident().saturating_sub(before) / rows;
    let kind = if quantization == ScalarKind::I8 { "bytes" } else { "floats" };
    for breadth in BREADTHS {
        index.change_expansion_search(breadth);
        line(&format!("usearch, {kind}, breadth {breadth}"), rate, bytes, questions, |query| {
            let found = index.search(query, WANTED);
            found.map_or_else(|_| Vec::new(), |found| found.keys.into_iter().map(|key| key as u32).collect())
        });
    }
    Ok(())
}

/// Asks every question five times and prints a line of the table. Of a filtered search the share that is found is of
/// the ten nearest of all, so it can't reach 1.
fn line(
    name: &str,
    rate: f64,
    bytes: usize,
    questions: &[Questions; 2],
    search: impl Fn(&[f32]) -> Vec<u32>,
) {
    let mut cells = format!("| {name} | {rate:.0} | {bytes}");
    for Questions { queries, nearest } in questions {
        let (mut times, mut found) = (Vec::new(), 0);
        for _ in 0..5 {
            for (query, nearest) in queries.iter().zip(nearest) {
                let started = Instant::now();
                let rows = search(query);
                times.push(started.elapsed());
                found += rows.iter().filter(|row| nearest.contains(row)).count();
            }
        }
        times.sort();
        let median = times[times.len() / 2].as_secs_f64() * 1000.0;
        let share = found as f64 / (times.len() * WANTED) as f64;
        cells += &format!(" | {median:.2} | {share:.3}");
    }
    println!("{cells} |");
}

/// What the process holds of the memory, in bytes; 0 where the system does not say so.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
