//! How a block is searched: by all that is allowed, by a sketch, or by a graph beside it; the best are compared
//! in full by whoever asks.

use std::ops::Range;

use rayon::prelude::*;

use super::super::sketch::{Among, MIN_ROWS, Sketch};
use super::plan::{self, Choice, Counts};
use super::{Beside, COARSE, GraphCounts, NONE, VectorBlock};
use crate::simd::{Level, Mixed, dot_i8_picked_at, dot_i8_rows_at, raise_at};

/// From this many rows on, the scan is spread over the cores: below, waking them costs more.
const PARALLEL_ROWS: usize = 16_384;
/// How many standard deviations of its rounding error a rounded cosine may be off. The errors of some
/// hundred numbers add up to nearly a normal distribution, whose share beyond eight is one in 10^15.
const DEVIATIONS: f32 = 8.0;
/// The largest number of a rounded query.
const QUERY_MAX: f32 = 2047.0;
/// Where less than this share of the rows is allowed, they are looked at one by one.
const SCATTERED: usize = 4;

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
    pub(super) fn more(&self, slot: usize) -> f32 {
        self.mixed().beside(self.words[slot], self.named[slot])
    }

    /// What a slot is worth at a cosine. What is found by its words is worth those, however far its meaning lies.
    pub(super) fn worth_of(&self, slot: usize, cosine: f32) -> f32 {
        self.mixed().raised(cosine, self.words[slot], self.named[slot])
    }

    fn mixed(&self) -> Mixed {
        let Worth { from, upto, words, name } = self.worth;
        Mixed { from, upto, near: 1.0, more: words, mark: name }
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
    pub(super) fn picked(&self, rows: &[u32], rounded: &Rounded) -> Vec<f32> {
        let mut sums = vec![0; rows.len()];
        dot_i8_picked_at(Level::detect(), &rounded.query, &self.coarse, rows, &mut sums);
        rows.iter().zip(sums).map(|(row, sum)| rounded.cosine(sum, self.scales[*row as usize])).collect()
    }

    /// The products of a query with some rows by their bytes; the same of the same row wherever they are asked for.
    pub fn rows_roughly(&self, query: &[f32], rows: &[u32]) -> Vec<f32> {
        if query.len() != self.dims {
            return vec![NONE; rows.len()];
        }
        let (query, step) = rounded_query(query);
        self.picked(rows, &Rounded { query, step })
    }

    /// The best product of a query with the rows of each of some slots; [`NONE`] for a slot without any.
    pub fn slots_roughly(&self, query: &[f32], slots: &[u32]) -> Vec<f32> {
        if self.is_straight && slots.iter().all(|slot| (*slot as usize) < self.owners.len()) {
            return self.rows_roughly(query, slots);
        }
        let (mut rows, mut of) = (Vec::with_capacity(slots.len()), Vec::with_capacity(slots.len()));
        for (nth, slot) in slots.iter().enumerate() {
            for row in self.range_of(*slot as usize) {
                rows.push(row as u32);
                of.push(nth);
            }
        }
        let mut best = vec![NONE; slots.len()];
        for (nth, product) in of.into_iter().zip(self.rows_roughly(query, &rows)) {
            best[nth] = product.max(best[nth]);
        }
        best
    }

    pub(super) fn put(&self, cosines: &mut [f32], scored: impl Iterator<Item = (u32, f32)>) {
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
}

/// The rows of a block, as a query weighs them.
pub(super) struct Weighed<'a> {
    pub(super) block: &'a VectorBlock,
    pub(super) asked: &'a Asked<'a>,
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
        let Asked { allowed, words, named, .. } = *self.asked;
        if self.block.is_straight {
            let rows = first..first + cosines.len();
            let (allowed, words, named) = (&allowed[rows.clone()], &words[rows.clone()], &named[rows]);
            raise_at(Level::detect(), self.asked.mixed(), allowed, words, named, cosines);
            return;
        }
        for (row, cosine) in (first..).zip(cosines) {
            *cosine = if self.is_allowed(row) { self.worth(row, *cosine) } else { NONE };
        }
    }
}

/// A query in whole numbers.
pub(super) struct Rounded {
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
