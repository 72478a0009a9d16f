//! The vectors of a partition, contiguous, in the order of slots. Searched by a byte per number, which says
//! which of them may be the best: those are compared in full, by what else is kept of them in memory or by
//! what the store has. Of very many a sketch says first which are worth a look.

mod beside;
mod plan;

use std::ops::Range;

use rayon::prelude::*;

use super::sketch::{Among, MIN_ROWS, Sketch};
use crate::simd::{Level, Packed, dot_f32, dot_i8_picked_at, dot_i8_rows_at};

pub use beside::{Beside, GraphCounts, Neighbours, RowKey, Stale};
use plan::{Choice, Counts};

/// Of up to so many rows everything is kept; of more the first byte of each number, since asking the store for
/// the few that decide takes less than keeping all.
pub const FULL_ROWS: usize = 16_384;
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
/// Rows that are weighed together where words and names have found none of them.
const WEIGHED_TOGETHER: usize = 32;
/// Where less than this share of the rows is allowed, they are looked at one by one.
const SCATTERED: usize = 4;

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

/// What a search of a block asks for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The query, as wide as the vectors.
    pub query: &'a [f32],
    /// By slot, which may be looked at.
    pub allowed: &'a [bool],
    /// How many those are.
    pub allowed_count: usize,
    /// How many of the nearest are wanted.
    pub wanted: usize,
    /// By slot, how well the words match.
    pub words: &'a [f32],
    /// By slot, which the query names.
    pub named: &'a [bool],
    /// What these are worth beside a cosine.
    pub worth: Worth,
    /// A graph over the vectors, if one is to be asked where it can be.
    pub graph: Option<Walk<'a>>,
    /// Whether all are to be compared in full, as far as that is kept.
    pub exact: bool,
}

/// A graph, and how it is asked.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    /// The graph.
    pub beside: &'a Beside,
    /// How many of the nearest it looks for; more find more.
    pub breadth: usize,
}

impl Asked<'_> {
    /// What words and names add to a slot's nearness.
    fn more(&self, slot: usize) -> f32 {
        let named = f32::from(u8::from(self.named[slot]));
        self.words[slot] * self.worth.words + named * self.worth.name
    }

    /// What a slot is worth at a cosine. What is found by its words is worth those, however far its meaning lies.
    fn worth_of(&self, slot: usize, cosine: f32) -> f32 {
        let (Worth { from, upto, .. }, more) = (self.worth, self.more(slot));
        if more > 0.0 { cosine.clamp(from, upto) + more } else { cosine.min(upto) }
    }
}

/// What decides which vectors are looked at where there are very many: nearness, between two cosines, and what
/// words and names add to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// From which cosine on a vector is near at all.
    pub from: f32,
    /// At which it is as near as counts.
    pub upto: f32,
    /// What matching words add at most.
    pub words: f32,
    /// What being named adds.
    pub name: f32,
}

/// What a search of a block found.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The best cosine of each slot's vectors; [`NONE`] for those that were not looked at.
    pub cosines: Vec<f32>,
    /// How far the true ones may lie from these: 0 when all were compared in full.
    pub slack: f32,
    /// How it went about it.
    pub how: How,
    /// How many rows were compared by their bytes.
    pub compared: usize,
    /// What that was estimated to cost before, in rows compared.
    pub cost: usize,
    /// What would have been done otherwise, and its cost.
    pub instead: Option<(How, usize)>,
    /// What there was of a graph, if one was at hand.
    pub graph: Option<GraphCounts>,
}

impl Seen {
    /// Of nothing.
    pub fn nothing(slots: usize) -> Seen {
        Seen {
            cosines: vec![NONE; slots],
            slack: 0.0,
            how: How::Nothing,
            compared: 0,
            cost: 0,
            instead: None,
            graph: None,
        }
    }
}

/// How the vectors of a block are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// There was nothing to search.
    Nothing,
    /// Every row that is allowed was compared in full.
    Exact,
    /// Every row that is allowed was compared by its bytes.
    Scan,
    /// A sketch said which rows may be near; those were compared by their bytes.
    Sketch,
    /// A graph said which rows are near; those, and the ones that it does not know, were compared by their bytes.
    Graph,
}

impl How {
    /// The word for it in a trace.
    pub fn code(self) -> &'static str {
        match self {
            How::Nothing => "nothing",
            How::Exact => "exact",
            How::Scan => "scan",
            How::Sketch => "sketch",
            How::Graph => "graph",
        }
    }
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

    fn range_of(&self, slot: usize) -> Range<usize> {
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

    /// Looks for the vectors nearest to a query: at all that are allowed, or at those that a sketch or a graph
    /// says may be among the nearest; which, follows from how many rows there are, how many of them are allowed
    /// and how many a graph knows. At least as many as are wanted, while there are so many.
    pub fn search(&self, asked: &Asked<'_>) -> Seen {
        if self.dims != asked.query.len() || self.dims == 0 || asked.allowed_count == 0 {
            return Seen::nothing(asked.allowed.len());
        }
        let nothing = Seen::nothing(0);
        if let Some(fine) = self.fine.as_ref().filter(|_| self.all_full || asked.exact) {
            let score = |from: usize, out: &mut [f32]| {
                let mut buffer = Vec::with_capacity(self.dims);
                for (place, out) in out.iter_mut().enumerate() {
                    *out = self.dot(asked.query, fine, from + place, &mut buffer);
                }
            };
            let (cosines, compared) = self.best_of(asked, self.scores(asked.allowed, score));
            return Seen { cosines, how: How::Exact, compared, cost: compared, ..nothing };
        }
        let (rounded, step) = rounded_query(asked.query);
        let of_rows = DEVIATIONS * self.error / (self.dims as f32).sqrt();
        // The query's own rounding: half a step in each number, against rows of unit length.
        let slack = of_rows + DEVIATIONS * step / 12f32.sqrt();
        let rounded = Rounded { query: rounded, step };
        let graph = asked.graph.map(|walk| (walk, walk.beside.counts(self, asked)));
        let seen = Seen { slack, graph: graph.map(|(_, counts)| counts), ..nothing };
        let mut choice = self.choose(asked, graph.map(|(walk, counts)| (counts, self.breadth(walk, asked))));
        if let Some((walk, counts)) = graph.filter(|_| choice.how == How::Graph) {
            let breadth = self.breadth(walk, asked);
            if let Some((cosines, compared)) = self.by_graph(walk.beside, counts, breadth, asked, &rounded) {
                let Choice { how, cost, instead } = choice;
                return Seen { cosines, how, compared, cost, instead, ..seen };
            }
            choice = self.choose(asked, None);
        }
        let (cosines, compared) = match self.sketch.as_ref().filter(|_| choice.how == How::Sketch) {
            Some(sketch) => self.by_sketch(sketch, asked, &rounded),
            None => self.by_scan(asked, &rounded),
        };
        Seen { cosines, how: choice.how, compared, cost: choice.cost, instead: choice.instead, ..seen }
    }

    fn choose(&self, asked: &Asked<'_>, graph: Option<(GraphCounts, usize)>) -> Choice {
        let sketch = self.sketch.as_ref().and_then(Sketch::cost);
        plan::choose(Counts { rows: self.owners.len(), allowed: asked.allowed_count, sketch, graph })
    }

    /// How many rows a graph looks for: at least those that are wanted.
    fn breadth(&self, walk: Walk<'_>, asked: &Asked<'_>) -> usize {
        walk.breadth.max(asked.wanted * self.rows_each(asked))
    }

    /// How many rows a slot has, about.
    fn rows_each(&self, asked: &Asked<'_>) -> usize {
        self.owners.len().div_ceil(asked.allowed.len().max(1)).max(1)
    }

    fn by_scan(&self, asked: &Asked<'_>, rounded: &Rounded) -> (Vec<f32>, usize) {
        let rows = self.owners.len();
        if asked.allowed_count * SCATTERED < rows && rows >= MIN_ROWS {
            let allowed = |row: &u32| asked.allowed[self.owners[*row as usize] as usize];
            let picked: Vec<u32> = (0..rows as u32).filter(allowed).collect();
            let mut cosines = vec![NONE; asked.allowed.len()];
            let scores = self.picked(&picked, rounded);
            self.put(&mut cosines, picked.iter().copied().zip(scores));
            return (cosines, picked.len());
        }
        let level = Level::detect();
        let score = |from: usize, out: &mut [f32]| {
            let mut sums = [0i32; 64];
            for (place, out) in out.chunks_mut(sums.len()).enumerate() {
                let first = from + place * sums.len();
                let sums = &mut sums[..out.len()];
                let codes = &self.coarse[first * self.dims..(first + out.len()) * self.dims];
                dot_i8_rows_at(level, &rounded.query, codes, sums);
                for ((out, sum), scale) in out.iter_mut().zip(sums).zip(&self.scales[first..]) {
                    *out = rounded.cosine(*sum, *scale);
                }
            }
        };
        self.best_of(asked, self.scores(asked.allowed, score))
    }

    /// The rows that the sketch proposes, by their nearness and by what else is known of them.
    fn by_sketch(&self, sketch: &Sketch, asked: &Asked<'_>, rounded: &Rounded) -> (Vec<f32>, usize) {
        // Several rows may be of one slot.
        let wanted = asked.wanted * self.rows_each(asked);
        let near = sketch.nearest(asked.query, wanted, &Weighed { block: self, asked }, |rows, scores| {
            scores.extend(self.picked(rows, rounded));
        });
        let mut cosines = vec![NONE; asked.allowed.len()];
        let compared = near.len();
        self.put(&mut cosines, near.into_iter());
        (cosines, compared)
    }

    /// The cosines of some rows by their bytes.
    fn picked(&self, rows: &[u32], rounded: &Rounded) -> Vec<f32> {
        let mut sums = vec![0; rows.len()];
        dot_i8_picked_at(Level::detect(), &rounded.query, &self.coarse, rows, &mut sums);
        rows.iter().zip(sums).map(|(row, sum)| rounded.cosine(sum, self.scales[*row as usize])).collect()
    }

    fn put(&self, cosines: &mut [f32], scored: impl Iterator<Item = (u32, f32)>) {
        for (row, score) in scored {
            let best = &mut cosines[self.owners[row as usize] as usize];
            *best = best.max(score);
        }
    }

    /// The best score of each slot, and how many rows have one.
    fn best_of(&self, asked: &Asked<'_>, scores: Vec<f32>) -> (Vec<f32>, usize) {
        let mut cosines = vec![NONE; asked.allowed.len()];
        let mut compared = 0;
        for (owner, score) in self.owners.iter().zip(scores) {
            compared += usize::from(score != NONE);
            let best = &mut cosines[*owner as usize];
            *best = best.max(score);
        }
        (cosines, compared)
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
        let sketch = self.sketch.as_ref().map_or(0, Sketch::bytes);
        self.coarse.len() + fine + sketch + (self.owners.len() + self.scales.len()) * 4
    }
}

/// The rows of a block, as a query weighs them.
struct Weighed<'a> {
    block: &'a VectorBlock,
    asked: &'a Asked<'a>,
}

impl Weighed<'_> {
    fn slot(&self, row: usize) -> usize {
        self.block.owners[row] as usize
    }
}

impl Among for Weighed<'_> {
    fn is_allowed(&self, row: usize) -> bool {
        self.asked.allowed[self.slot(row)]
    }

    fn worth(&self, row: usize, cosine: f32) -> f32 {
        self.asked.worth_of(self.slot(row), cosine)
    }

    fn is_any_allowed(&self, mut rows: Range<usize>) -> bool {
        match self.block.is_straight {
            true => self.asked.allowed[rows].contains(&true),
            false => rows.any(|row| self.is_allowed(row)),
        }
    }

    fn weigh(&self, first: usize, cosines: &mut [f32]) {
        let Asked { allowed, words, named, worth, .. } = *self.asked;
        for (first, cosines) in (first..).step_by(WEIGHED_TOGETHER).zip(cosines.chunks_mut(WEIGHED_TOGETHER))
        {
            let rows = first..first + cosines.len();
            let is_plain = || {
                let said = words[rows.clone()].iter().fold(false, |any, said| any | (*said > 0.0));
                !said && !named[rows.clone()].contains(&true)
            };
            if self.block.is_straight && is_plain() {
                // No branch, so that many are weighed at once.
                for (cosine, allowed) in cosines.iter_mut().zip(&allowed[rows]) {
                    let near = if *cosine < worth.upto { *cosine } else { worth.upto };
                    let keep = u32::from(*allowed).wrapping_neg();
                    *cosine = f32::from_bits(near.to_bits() & keep | NONE.to_bits() & !keep);
                }
                continue;
            }
            for (row, cosine) in rows.zip(cosines) {
                *cosine = if self.is_allowed(row) { self.worth(row, *cosine) } else { NONE };
            }
        }
    }
}

/// A query in whole numbers.
struct Rounded {
    query: Vec<i16>,
    step: f32,
}

impl Rounded {
    /// The cosine that a sum of products with a row's first bytes stands for.
    fn cosine(&self, sum: i32, scale: f32) -> f32 {
        sum as f32 * (scale * COARSE) * self.step
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
mod tests;
