//! How long does it take to find the nearest of 100,000 vectors: by comparing every one rounded to bytes, and
//! by a sketch of bits that leaves few to compare? And what is found?

mod common;

use std::hint::black_box;

use common::vectors::{DIMS, QUERIES, Vectors};
use criterion::{BatchSize, Throughput};
use recordari::index::{Among, Sketch};
use recordari::simd::{
    BLOCK_ROWS, BitQuery, BitRows, Level, agreement_at, dot_f32, dot_i8_picked_at, dot_i8_rows_at,
};

const ROWS: usize = 100_000;
const WANTED: usize = 10;

/// Vectors rounded to bytes, and what a step of each is worth.
struct Rounded {
    codes: Vec<i8>,
    steps: Vec<f32>,
}

fn main() {
    let mut criterion = common::criterion();
    let Vectors { axis, rows, on, off } = Vectors::of(ROWS);
    let rounded = Rounded::of(&rows);
    let sketch = Sketch::of(DIMS, &rows);
    for (name, queries) in [("on", &on), ("off", &off)] {
        report(name, &rows, &rounded, &sketch, queries);
    }

    let level = Level::detect();
    let mut group = criterion.benchmark_group("nearest of 100,000");
    group.throughput(Throughput::Elements(ROWS as u64));
    let mut sums = vec![0; ROWS];
    let (query, _) = rounded_query(&on[0]);
    group.bench_function("bytes of every row", |bench| {
        bench.iter(|| dot_i8_rows_at(level, &query, &rounded.codes, black_box(&mut sums)));
    });
    let mut bits = BitRows::new(DIMS);
    rows.chunks_exact(DIMS).for_each(|row| bits.push(row));
    let query = BitQuery::new(&on[0]);
    for level in Level::available() {
        let mut sums = vec![[0; BLOCK_ROWS]; bits.blocks()];
        group.bench_function(format!("bits of every row, {level}"), |bench| {
            bench.iter(|| agreement_at(level, &query, &bits, 0, black_box(&mut sums)));
        });
    }
    for (name, queries) in [("on", &on), ("off", &off)] {
        let mut next = (0..QUERIES).cycle();
        group.bench_function(format!("sketch and the few that it leaves, {name} topic"), |bench| {
            let query = || &queries[next.next().expect("a cycle has no end")];
            bench.iter_batched(query, |query| rounded.nearest(&sketch, query), BatchSize::SmallInput);
        });
    }
    group.bench_function("add a row to a sketch", |bench| {
        bench.iter_batched_ref(
            || Sketch::new(axis.clone()),
            |sketch| rows[..DIMS * 1000].chunks_exact(DIMS).for_each(|row| sketch.push(row)),
            BatchSize::LargeInput,
        );
    });
    group.finish();
    criterion.final_summary();
}

impl Rounded {
    fn of(rows: &[f32]) -> Rounded {
        let (mut codes, mut steps) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows.chunks_exact(DIMS) {
            let largest = row.iter().fold(0f32, |largest, number| largest.max(number.abs()));
            codes.extend(row.iter().map(|number| (number / largest * 127.0).round() as i8));
            steps.push(largest / 127.0);
        }
        Rounded { codes, steps }
    }

    /// The rows that the sketch leaves, with what their bytes say; and how many there were.
    fn nearest(&self, sketch: &Sketch, query: &[f32]) -> Vec<(u32, f32)> {
        let (rounded, step) = rounded_query(query);
        sketch.nearest(query, WANTED, &All, |picked, scores| {
            let mut sums = vec![0; picked.len()];
            dot_i8_picked_at(Level::detect(), &rounded, &self.codes, picked, &mut sums);
            let score = |(sum, row): (&i32, &u32)| *sum as f32 * step * self.steps[*row as usize];
            scores.extend(sums.iter().zip(picked).map(score));
        })
    }
}

/// Every row may be looked at, and nearness alone counts.
struct All;

impl Among for All {
    fn is_allowed(&self, _: usize) -> bool {
        true
    }

    fn worth(&self, _: usize, cosine: f32) -> f32 {
        cosine
    }
}

fn rounded_query(query: &[f32]) -> (Vec<i16>, f32) {
    let largest = query.iter().fold(0f32, |largest, number| largest.max(number.abs()));
    (query.iter().map(|number| (number / largest * 2047.0).round() as i16).collect(), largest / 2047.0)
}

/// Prints what share of the ten nearest the sketch leaves, and how many rows that takes.
fn report(name: &str, rows: &[f32], rounded: &Rounded, sketch: &Sketch, queries: &[Vec<f32>]) {
    let (mut found, mut compared) = (0, 0);
    for query in queries {
        let mut exact: Vec<(f32, u32)> =
            rows.chunks_exact(DIMS).zip(0u32..).map(|(vector, row)| (dot_f32(query, vector), row)).collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let left = rounded.nearest(sketch, query);
        compared += left.len();
        let is_left = |row: u32| left.binary_search_by_key(&row, |(row, _)| *row).is_ok();
        found += exact[..WANTED].iter().filter(|(_, row)| is_left(*row)).count();
    }
    let share = found as f64 / (WANTED * queries.len()) as f64;
    println!("{name} topic: {share:.4} of the ten nearest left, {} rows compared", compared / queries.len());
}
