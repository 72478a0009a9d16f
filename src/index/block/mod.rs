//! The vectors of a partition, contiguous, in the order of slots. Searched by a byte per number, which says
//! which of them may be the best: those are compared in full, by what else is kept of them in memory or by
//! what the store has. Of very many a sketch says first which are worth a look.

mod beside;
mod plan;
mod search;

use std::ops::Range;

use super::sketch::{MIN_ROWS, Sketch};
use crate::simd::{Packed, dot_f32};

pub use beside::{Beside, GraphCounts, Neighbours, RowKey, Stale};
pub use search::{Asked, How, Seen, Walk, Worth};

/// Of up to so many rows everything is kept; of more the first byte of each number, since asking the store for
/// the few that decide takes less than keeping all.
pub const FULL_ROWS: usize = 16_384;
/// What a slot without a vector gets: less than any cosine.
pub const NONE: f32 = f32::NEG_INFINITY;
/// How many steps of a packed number are one of its first byte.
const COARSE: f32 = 256.0;

/// Vectors of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorBlock {
    model: u32,
    dims: usize,
    /// The slot whose vector each row is; a long text has several rows.
    owners: Vec<u32>,
    /// Whether that is the row's own number, for every row.
    is_straight: bool,
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
    /// Which of very many rows can be near.
    sketch: Option<Sketch>,
    /// How many rows there were when the sketch was made.
    sketched: usize,
}

impl VectorBlock {
    /// An empty block; with `all_full` it stays exact, whatever that takes.
    pub fn new(model: u32, dims: usize, all_full: bool) -> VectorBlock {
        VectorBlock {
            model,
            dims,
            owners: Vec::new(),
            is_straight: true,
            coarse: Vec::new(),
            fine: Some(Vec::new()),
            scales: Vec::new(),
            error: 0.0,
            all_full,
            sketch: None,
            sketched: 0,
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
            self.is_straight &= slot as usize == self.owners.len();
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
            if let Some(sketch) = &mut self.sketch {
                sketch.push(&packed.numbers());
            }
        }
        if self.owners.len() > FULL_ROWS && !self.all_full {
            self.fine = None;
        }
    }

    /// Makes it ready to be searched, after rows were added: brings those that came in any order into the order
    /// of slots, where the ones of one slot keep theirs, and makes a sketch of very many.
    pub fn settle(&mut self) {
        self.sort();
        let rows = self.owners.len();
        // A sketch about a centre that has moved is less sharp: twice as many rows are worth a new one.
        if !self.all_full && rows >= MIN_ROWS && rows >= 2 * self.sketched {
            self.sketch = Some(self.sketch_of_all());
            self.sketched = rows;
        }
    }

    fn sketch_of_all(&self) -> Sketch {
        let mut centre = vec![0f64; self.dims];
        for row in 0..self.owners.len() {
            centre.iter_mut().zip(self.roughly(row)).for_each(|(sum, number)| *sum += f64::from(number));
        }
        let count = self.owners.len().max(1) as f64;
        let mut sketch = Sketch::new(centre.iter().map(|sum| (sum / count) as f32).collect());
        let mut numbers = Vec::with_capacity(self.dims);
        for row in 0..self.owners.len() {
            numbers.clear();
            numbers.extend(self.roughly(row));
            sketch.push(&numbers);
        }
        sketch
    }

    /// A row's numbers by their first bytes.
    fn roughly(&self, row: usize) -> impl Iterator<Item = f32> + '_ {
        let step = self.scales[row] * COARSE;
        self.coarse[row * self.dims..(row + 1) * self.dims].iter().map(move |code| f32::from(*code) * step)
    }

    /// Adds a row's numbers, by their first bytes, to as many sums.
    pub fn add_roughly(&self, row: u32, sums: &mut [f32]) {
        sums.iter_mut().zip(self.roughly(row as usize)).for_each(|(sum, number)| *sum += number);
    }

    fn sort(&mut self) {
        if self.owners.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.owners.len()).collect();
        order.sort_by_key(|row| self.owners[*row]);
        self.owners = order.iter().map(|row| self.owners[*row]).collect();
        self.is_straight = (0..).zip(&self.owners).all(|(row, owner)| row == *owner);
        self.scales = order.iter().map(|row| self.scales[*row]).collect();
        self.coarse = permuted(&self.coarse, &order, self.dims);
        self.fine = self.fine.as_ref().map(|fine| permuted(fine, &order, self.dims));
        if let Some(sketch) = &mut self.sketch {
            sketch.permute(&order);
        }
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
            if let Some(sketch) = &mut self.sketch {
                rows.for_each(|row| sketch.blank(row));
            }
            self.coarse[numbers.clone()].fill(0);
            if let Some(fine) = &mut self.fine {
                fine[numbers].fill(0);
            }
        }
    }

    pub(super) fn range_of(&self, slot: usize) -> Range<usize> {
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

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let fine = self.fine.as_ref().map_or(0, Vec::len);
        let sketch = self.sketch.as_ref().map_or(0, Sketch::bytes);
        self.coarse.len() + fine + sketch + (self.owners.len() + self.scales.len()) * 4
    }
}

fn permuted<T: Copy>(numbers: &[T], order: &[usize], dims: usize) -> Vec<T> {
    order.iter().flat_map(|row| &numbers[row * dims..(row + 1) * dims]).copied().collect()
}

#[cfg(test)]
mod tests;
