//! The vectors of a partition, contiguous, in the order of slots. Searched by a byte per number, which says
//! which of them may be the best: those are compared in full, by what else is kept of them in memory or by
//! what the store has.

use rayon::prelude::*;

use crate::simd::{Level, Packed, dot_f32, dot_i8_rows_at};

/// Of up to so many rows everything is kept; of more the first byte of each number, since asking the store for
/// the few that decide takes less than keeping all.
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
/// How many steps of a packed number are one of its first byte.
const COARSE: f32 = 256.0;

/// Vectors of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorBlock {
    model: u32,
    dims: usize,
    /// The slot whose vector each row is; a long text has several rows.
    owners: Vec<u32>,
    /// The first byte of each packed number, rounded: what is scanned.
    coarse: Vec<i8>,
    /// What that leaves of it, in steps of the scale; none where there are too many rows.
    fine: Option<Vec<i8>>,
    /// What one step of a row's packed numbers is worth.
    scales: Vec<f32>,
    /// The longest of all rows' rounding errors.
    error: f32,
    /// Whether everything is kept and compared, however many rows there are.
    all_full: bool,
}

impl VectorBlock {
    /// An empty block; with `all_full` it stays exact, whatever that takes.
    pub fn new(model: u32, dims: usize, all_full: bool) -> VectorBlock {
        VectorBlock {
            model,
            dims,
            owners: Vec::new(),
            coarse: Vec::new(),
            fine: Some(Vec::new()),
            scales: Vec::new(),
            error: 0.0,
            all_full,
        }
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

    /// Whether everything of every row is kept.
    pub fn is_full(&self) -> bool {
        self.fine.is_some()
    }

    /// Adds the packed vectors of a record; those of another width are left out.
    pub fn push(&mut self, slot: u32, bytes: &[u8]) {
        for packed in Packed::all(bytes, self.dims).into_iter().flatten() {
            self.owners.push(slot);
            self.scales.push(packed.scale);
            let mut left = 0f32;
            for code in packed.codes() {
                let coarse = ((i32::from(code) + 128) >> 8) as i8;
                let fine = (i32::from(code) - (i32::from(coarse) << 8)) as i8;
                self.coarse.push(coarse);
                if let Some(all) = &mut self.fine {
                    all.push(fine);
                }
                left += f32::from(fine) * f32::from(fine);
            }
            self.error = self.error.max(left.sqrt() * packed.scale);
        }
        if self.owners.len() > FULL_ROWS && !self.all_full {
            self.fine = None;
        }
    }

    /// Brings rows that were added in any order into the order of slots; those of one slot keep theirs.
    pub fn sort(&mut self) {
        if self.owners.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.owners.len()).collect();
        order.sort_by_key(|row| self.owners[*row]);
        self.owners = order.iter().map(|row| self.owners[*row]).collect();
        self.scales = order.iter().map(|row| self.scales[*row]).collect();
        self.coarse = permuted(&self.coarse, &order, self.dims);
        self.fine = self.fine.as_ref().map(|fine| permuted(fine, &order, self.dims));
    }

    /// Whether a slot has any vector.
    pub fn has(&self, slot: usize) -> bool {
        !self.range_of(slot).is_empty()
    }

    /// What a forgotten record meant stays in no memory of this process either.
    pub fn blank(&mut self, slots: &[usize]) {
        for slot in slots {
            let rows = self.range_of(*slot);
            let numbers = rows.start * self.dims..rows.end * self.dims;
            self.coarse[numbers.clone()].fill(0);
            if let Some(fine) = &mut self.fine {
                fine[numbers].fill(0);
            }
        }
    }

    fn range_of(&self, slot: usize) -> std::ops::Range<usize> {
        let from = self.owners.partition_point(|owner| (*owner as usize) < slot);
        let until = self.owners.partition_point(|owner| *owner as usize <= slot);
        from..until
    }

    /// The best cosine of a slot's vectors with the query, in full; [`NONE`] for one without. None at all where
    /// the store has to be asked.
    pub fn exact(&self, query: &[f32], slot: usize) -> Option<f32> {
        let fine = self.fine.as_ref()?;
        let mut buffer = Vec::with_capacity(self.dims);
        let of_row = |row: usize| self.dot(query, fine, row, &mut buffer);
        Some(self.range_of(slot).map(of_row).fold(NONE, f32::max))
    }

    /// The first vector of a slot, where everything is kept.
    pub fn first(&self, slot: usize) -> Option<Vec<f32>> {
        let (fine, row) = (self.fine.as_ref()?, self.range_of(slot).next()?);
        Some(self.codes(fine, row).map(|code| code * self.scales[row]).collect())
    }

    fn codes<'a>(&'a self, fine: &'a [i8], row: usize) -> impl Iterator<Item = f32> + 'a {
        let numbers = row * self.dims..(row + 1) * self.dims;
        let both = self.coarse[numbers.clone()].iter().zip(&fine[numbers]);
        both.map(|(coarse, fine)| f32::from(*coarse) * COARSE + f32::from(*fine))
    }

    /// As [`Packed::dot`] has it, to the last bit.
    fn dot(&self, query: &[f32], fine: &[i8], row: usize, buffer: &mut Vec<f32>) -> f32 {
        buffer.clear();
        buffer.extend(self.codes(fine, row));
        dot_f32(buffer, query) * self.scales[row]
    }

    /// The best cosine of each of `slots` slots' vectors with the query, [`NONE`] for those that are not
    /// allowed or have no vector; and how far the true ones may lie from these: 0 when all were compared in full.
    pub fn scan(&self, query: &[f32], allowed: &[bool]) -> (Vec<f32>, f32) {
        let mut best = vec![NONE; allowed.len()];
        if self.dims != query.len() || self.dims == 0 {
            return (best, 0.0);
        }
        let (scores, slack) = match &self.fine {
            Some(fine) if self.all_full => {
                let score = |from: usize, out: &mut [f32]| {
                    let mut buffer = Vec::with_capacity(self.dims);
                    for (place, out) in out.iter_mut().enumerate() {
                        *out = self.dot(query, fine, from + place, &mut buffer);
                    }
                };
                (self.scores(allowed, score), 0.0)
            }
            _ => {
                let (rounded, step) = rounded_query(query);
                let level = Level::detect();
                let score = |from: usize, out: &mut [f32]| {
                    let mut sums = [0i32; 64];
                    for (place, out) in out.chunks_mut(sums.len()).enumerate() {
                        let first = from + place * sums.len();
                        let sums = &mut sums[..out.len()];
                        let codes = &self.coarse[first * self.dims..(first + out.len()) * self.dims];
                        dot_i8_rows_at(level, &rounded, codes, sums);
                        for ((out, sum), scale) in out.iter_mut().zip(sums).zip(&self.scales[first..]) {
                            *out = *sum as f32 * (scale * COARSE) * step;
                        }
                    }
                };
                let of_rows = DEVIATIONS * self.error / (self.dims as f32).sqrt();
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
        let fine = self.fine.as_ref().map_or(0, Vec::len);
        self.coarse.len() + fine + (self.owners.len() + self.scales.len()) * 4
    }
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
    use crate::simd::pack;

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

    fn packed(vector: &[f32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(vector, &mut bytes);
        bytes
    }

    fn block(vectors: &[Vec<f32>], all_full: bool) -> VectorBlock {
        let mut block = VectorBlock::new(1, DIMS, all_full);
        vectors.iter().enumerate().for_each(|(slot, vector)| block.push(slot as u32, &packed(vector)));
        block
    }

    #[test]
    fn many_rows_are_rounded_and_no_cosine_is_off_by_more_than_said() {
        let all = vectors(FULL_ROWS + 600);
        let allowed: Vec<bool> = (0..all.len()).map(|slot| slot % 7 != 3).collect();
        let (full, rounded) = (block(&all, true), block(&all, false));
        assert!(full.is_full() && !rounded.is_full());
        assert_eq!(rounded.exact(&all[0], 0), None);
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
                block.push(slot as u32, &packed(&all[slot]));
                block.push(slot as u32, &packed(&all[(slot + 1) % count]));
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

    #[test]
    fn what_is_compared_in_full_is_the_same_from_memory_and_from_the_store() {
        let all = vectors(90);
        let (some, full) = (block(&all, false), block(&all, true));
        let allowed = vec![true; all.len()];
        let query = &vectors(100)[95];
        let scanned = full.scan(query, &allowed).0;
        let mut buffer = Vec::new();
        for (slot, vector) in all.iter().enumerate() {
            let bytes = packed(vector);
            let stored = Packed::all(&bytes, DIMS).unwrap().next().unwrap();
            let want = stored.dot(query, &mut buffer);
            assert_eq!(some.exact(query, slot).unwrap().to_bits(), want.to_bits());
            assert_eq!(scanned[slot].to_bits(), want.to_bits());
            assert_eq!(some.first(slot).unwrap(), stored.numbers());
        }
        assert_eq!((some.exact(query, 90), some.first(90)), (Some(NONE), None));
    }
}
