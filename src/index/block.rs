//! The vectors of a partition, contiguous, in the order of slots. A few are kept as they are; of many only
//! what fits into a byte per number, which says which of them may be the best: those are compared in full.

use rayon::prelude::*;

use crate::simd::{Level, dot_f32_rows, dot_i8_rows_at};

/// Up to so many rows are kept as they are. Beyond, reading them takes longer than asking the store for the
/// few that decide.
pub const FULL_ROWS: usize = 4096;
/// From this many rows on, the scan is spread over the cores: below, waking them costs more.
pub const PARALLEL_ROWS: usize = 16_384;
/// What a slot without a vector gets: less than any cosine.
pub const NONE: f32 = f32::NEG_INFINITY;
/// How many standard deviations of its rounding error a rounded cosine may be off. The errors of some
/// hundred numbers add up to nearly a normal distribution, whose share beyond eight is one in 10^15.
const DEVIATIONS: f32 = 8.0;
/// The largest number of a rounded query.
const QUERY_MAX: f32 = 2047.0;
/// The largest number of a rounded row.
const CODE_MAX: f32 = 127.0;

/// Vectors of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorBlock {
    model: u32,
    dims: usize,
    /// The slot whose vector each row is; a long text has several rows.
    owners: Vec<u32>,
    rows: Rows,
    /// Whether all rows are kept as they are, however many.
    all_full: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Rows {
    Full(Vec<f32>),
    Rounded {
        codes: Vec<i8>,
        /// What one step of a row's numbers is worth.
        steps: Vec<f32>,
        /// The longest of all rows' rounding errors.
        error: f32,
    },
}

impl VectorBlock {
    /// An empty block; with `all_full` it stays exact, whatever that takes.
    pub fn new(model: u32, dims: usize, all_full: bool) -> VectorBlock {
        VectorBlock { model, dims, owners: Vec::new(), rows: Rows::Full(Vec::new()), all_full }
    }

    /// The number of the model that made them.
    pub fn model(&self) -> u32 {
        self.model
    }

    /// The width of each.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// The slot whose vector each row is.
    pub fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// Whether every row is kept as it is.
    pub fn is_full(&self) -> bool {
        matches!(self.rows, Rows::Full(_))
    }

    /// Adds a row; one of another width is left out.
    pub fn push(&mut self, slot: u32, vector: &[f32]) {
        if vector.len() != self.dims {
            return;
        }
        self.owners.push(slot);
        match &mut self.rows {
            Rows::Full(rows) => rows.extend_from_slice(vector),
            Rows::Rounded { codes, steps, error } => round(vector, codes, steps, error),
        }
        if self.owners.len() > FULL_ROWS && !self.all_full {
            self.round_all();
        }
    }

    fn round_all(&mut self) {
        let Rows::Full(full) = &self.rows else { return };
        let (mut codes, mut steps, mut error) = (Vec::with_capacity(full.len()), Vec::new(), 0.0);
        for row in full.chunks_exact(self.dims.max(1)) {
            round(row, &mut codes, &mut steps, &mut error);
        }
        self.rows = Rows::Rounded { codes, steps, error };
    }

    /// Brings rows that were added in any order into the order of slots; those of one slot keep theirs.
    pub fn sort(&mut self) {
        if self.owners.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.owners.len()).collect();
        order.sort_by_key(|row| self.owners[*row]);
        let dims = self.dims;
        self.owners = order.iter().map(|row| self.owners[*row]).collect();
        match &mut self.rows {
            Rows::Full(rows) => *rows = permuted(rows, &order, dims),
            Rows::Rounded { codes, steps, .. } => {
                *codes = permuted(codes, &order, dims);
                *steps = order.iter().map(|row| steps[*row]).collect();
            }
        }
    }

    /// The rows of a slot, where they are kept as they are.
    pub fn full_rows_of(&self, slot: usize) -> Option<impl Iterator<Item = &[f32]>> {
        let Rows::Full(rows) = &self.rows else { return None };
        let range = self.range_of(slot);
        Some(rows[range.start * self.dims..range.end * self.dims].chunks_exact(self.dims.max(1)))
    }

    /// Whether a slot has any vector.
    pub fn has(&self, slot: usize) -> bool {
        !self.range_of(slot).is_empty()
    }

    /// What a forgotten record meant stays in no memory of this process either.
    pub fn blank(&mut self, slots: &[usize]) {
        for slot in slots {
            let range = self.range_of(*slot);
            let numbers = range.start * self.dims..range.end * self.dims;
            match &mut self.rows {
                Rows::Full(rows) => rows[numbers].fill(0.0),
                Rows::Rounded { codes, .. } => codes[numbers].fill(0),
            }
        }
    }

    fn range_of(&self, slot: usize) -> std::ops::Range<usize> {
        let from = self.owners.partition_point(|owner| (*owner as usize) < slot);
        let until = self.owners.partition_point(|owner| *owner as usize <= slot);
        from..until
    }

    /// The best cosine of each of `slots` slots' vectors with the query, [`NONE`] for those that are not
    /// allowed or have no vector; and how far the true ones may lie from these: 0 when the rows are full.
    pub fn scan(&self, query: &[f32], allowed: &[bool]) -> (Vec<f32>, f32) {
        let mut best = vec![NONE; allowed.len()];
        if self.dims != query.len() || self.dims == 0 {
            return (best, 0.0);
        }
        let (scores, slack) = match &self.rows {
            Rows::Full(rows) => {
                let score = |from: usize, out: &mut [f32]| {
                    let rows = &rows[from * self.dims..(from + out.len()) * self.dims];
                    dot_f32_rows(query, rows, out);
                };
                (self.scores(allowed, score), 0.0)
            }
            Rows::Rounded { codes, steps, error } => {
                let (rounded, step) = rounded_query(query);
                let level = Level::detect();
                let score = |from: usize, out: &mut [f32]| {
                    let mut sums = [0i32; 64];
                    for (place, out) in out.chunks_mut(sums.len()).enumerate() {
                        let first = from + place * sums.len();
                        let sums = &mut sums[..out.len()];
                        let codes = &codes[first * self.dims..(first + out.len()) * self.dims];
                        dot_i8_rows_at(level, &rounded, codes, sums);
                        for ((out, sum), row) in out.iter_mut().zip(sums).zip(&steps[first..]) {
                            *out = *sum as f32 * row * step;
                        }
                    }
                };
                let of_rows = DEVIATIONS * error / (self.dims as f32).sqrt();
                // The query's own rounding: half a step in each number, against rows of unit length.
                (self.scores(allowed, score), of_rows + DEVIATIONS * step / 12f32.sqrt())
            }
        };
        for (owner, score) in self.owners.iter().zip(scores) {
            let best = &mut best[*owner as usize];
            *best = best.max(score);
        }
        (best, slack)
    }

    /// Scores every row of an allowed slot. Runs of such rows are scored at once; a score does not depend on
    /// the run that it is computed in.
    fn scores(&self, allowed: &[bool], score: impl Fn(usize, &mut [f32]) + Sync) -> Vec<f32> {
        let rows = self.owners.len();
        let wanted = |row: usize| allowed[self.owners[row] as usize];
        let mut scores = vec![NONE; rows];
        let threads = rayon::current_num_threads().max(1);
        let chunk = if rows >= PARALLEL_ROWS { rows.div_ceil(threads * 4) } else { rows.max(1) };
        let score_chunk = |(number, out): (usize, &mut [f32])| {
            let first = number * chunk;
            let mut row = 0;
            while row < out.len() {
                let run = (row..out.len()).take_while(|row| wanted(first + row)).count();
                if run > 0 {
                    score(first + row, &mut out[row..row + run]);
                }
                row += run.max(1);
            }
        };
        if rows >= PARALLEL_ROWS && threads > 1 {
            scores.par_chunks_mut(chunk).enumerate().for_each(score_chunk);
        } else {
            scores.chunks_mut(chunk).enumerate().for_each(score_chunk);
        }
        scores
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let rows = match &self.rows {
            Rows::Full(rows) => rows.len() * 4,
            Rows::Rounded { codes, steps, .. } => codes.len() + steps.len() * 4,
        };
        rows + self.owners.len() * 4
    }
}

/// Rounds a row to a byte per number, and notes the length of what that leaves out.
fn round(row: &[f32], codes: &mut Vec<i8>, steps: &mut Vec<f32>, longest: &mut f32) {
    let largest = row.iter().fold(0f32, |largest, number| largest.max(number.abs()));
    let step = largest / CODE_MAX;
    let inverse = if step > 0.0 { 1.0 / step } else { 0.0 };
    let mut left = 0.0;
    for number in row {
        let code = (number * inverse).round();
        codes.push(code as i8);
        left += (number - code * step).powi(2);
    }
    steps.push(step);
    *longest = longest.max(left.sqrt());
}

fn rounded_query(query: &[f32]) -> (Vec<i16>, f32) {
    let largest = query.iter().fold(0f32, |largest, number| largest.max(number.abs()));
    let step = largest / QUERY_MAX;
    let inverse = if step > 0.0 { 1.0 / step } else { 0.0 };
    (query.iter().map(|number| (number * inverse).round() as i16).collect(), step)
}

fn permuted<T: Copy>(numbers: &[T], order: &[usize], dims: usize) -> Vec<T> {
    order.iter().flat_map(|row| &numbers[row * dims..(row + 1) * dims]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dot_f32;

    const DIMS: usize = 96;

    /// Vectors of unit length that are no regular pattern.
    fn vectors(count: usize) -> Vec<Vec<f32>> {
        let mut state = 7u64;
        let mut number = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..count)
            .map(|_| {
                let mut vector: Vec<f32> = (0..DIMS).map(|_| number()).collect();
                let length = dot_f32(&vector, &vector).sqrt();
                vector.iter_mut().for_each(|x| *x /= length);
                vector
            })
            .collect()
    }

    fn block(vectors: &[Vec<f32>], all_full: bool) -> VectorBlock {
        let mut block = VectorBlock::new(1, DIMS, all_full);
        vectors.iter().enumerate().for_each(|(slot, vector)| block.push(slot as u32, vector));
        block
    }

    #[test]
    fn many_rows_are_rounded_and_no_cosine_is_off_by_more_than_said() {
        let all = vectors(FULL_ROWS + 600);
        let allowed: Vec<bool> = (0..all.len()).map(|slot| slot % 7 != 3).collect();
        let (full, rounded) = (block(&all, true), block(&all, false));
        assert!(full.is_full() && !rounded.is_full());
        for query in vectors(40).iter().skip(30) {
            let (exact, none) = full.scan(query, &allowed);
            let (near, slack) = rounded.scan(query, &allowed);
            assert_eq!(none, 0.0);
            assert!(slack > 0.0 && slack < 0.02, "{slack}");
            for (slot, (exact, near)) in exact.iter().zip(&near).enumerate() {
                assert_eq!(*exact == NONE, !allowed[slot]);
                assert!(!allowed[slot] || (exact - near).abs() <= slack, "{slot} {exact} {near} {slack}");
            }
        }
    }

    #[test]
    fn rows_in_any_order_are_sorted_and_blanked_by_slot() {
        for count in [6, FULL_ROWS + 6] {
            let all = vectors(count);
            let mut block = VectorBlock::new(1, DIMS, false);
            for slot in (0..count).rev() {
                block.push(slot as u32, &all[slot]);
                block.push(slot as u32, &all[(slot + 1) % count]);
            }
            block.sort();
            assert!(block.owners().is_sorted() && block.has(5) && !block.has(count));
            let allowed = vec![true; count];
            let (best, slack) = block.scan(&all[5], &allowed);
            assert!((best[5] - 1.0).abs() <= slack + 1e-5 && (best[4] - 1.0).abs() <= slack + 1e-5);
            block.blank(&[5]);
            assert_eq!(block.scan(&all[5], &allowed).0[5], 0.0);
        }
    }
}
