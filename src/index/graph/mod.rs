//! Vectors as a navigable graph (HNSW, Malkov and Yashunin 2016): a search looks at a few thousand of them,
//! however many there are, and may miss some. A thin interface over `hnsw_rs`, with that crate's faults kept
//! inside. It knows rows by numbers that its user gives, no slots and no store.
//!
//! What it can't do: forget. A row that is gone is kept out of answers by the user's filter, and is in memory
//! and in the files until the graph is made anew; so whoever forgets also drops the graph ([`erase`]).
//!
//! What is worked around: a filter that matches nothing could make a search panic or return a row that fails it;
//! a vector of another length than one is an assertion there; the same number can be put in twice; a damaged
//! file ends the process. Here vectors are made unit length, numbers are put in once, rows are checked again,
//! and files are read only after their checksums were found right.

mod files;
mod keyed;

use std::collections::HashSet;

use hnsw_rs::hnsw::Hnsw;
use rayon::prelude::*;

use crate::simd::dot_f32;

pub use files::erase;
pub use keyed::{Keyed, Mark, docs_in};

/// Neighbours of a row on every layer but the lowest, which has twice as many.
const NEIGHBOURS: usize = 16;
/// How many rows are looked at to place a new one.
const BREADTH: usize = 150;
const LAYERS: usize = 16;
/// Rows that are put in between two calls of the watcher.
const BATCH: usize = 256;
/// The least breadth of a search: with one place, a filter can leave none, which the crate does not survive.
const BREADTH_MIN: usize = 8;
/// About what a row takes beside its numbers, in bytes: its neighbours, on as many layers as there may be.
const ROW_BYTES: usize = 2900;

/// One minus the cosine of vectors of unit length. It is never negative and no comparison of it fails,
/// whatever the numbers are; and it is computed as everywhere else.
#[derive(Clone, Copy, Default)]
struct Distance;

impl hnsw_rs::anndists::dist::distances::Distance<f32> for Distance {
    fn eval(&self, a: &[f32], b: &[f32]) -> f32 {
        (1.0 - dot_f32(a, b)).max(0.0)
    }
}

/// A graph over vectors of one model.
pub struct Graph {
    model: String,
    dims: usize,
    numbers: HashSet<u32>,
    graph: Hnsw<'static, f32, Distance>,
    note: Vec<u8>,
}

/// On how many cores rows are put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// On one, so that the others stay free for whoever asks.
    OneCore,
    /// On all.
    AllCores,
}

/// Whether to go on with a work of minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// On.
    On,
    /// No further: what was done so far stays.
    Stop,
}

impl Graph {
    /// A graph without rows, for vectors of the model of that name or fingerprint. `rows` is how many to
    /// expect.
    ///
    /// # Panics
    ///
    /// If the vectors have no numbers.
    pub fn new(model: &str, dims: usize, rows: usize) -> Graph {
        assert!(dims > 0, "vectors must have numbers");
        let graph = Hnsw::new(NEIGHBOURS, rows.max(1), LAYERS, BREADTH, Distance);
        Graph { model: model.to_owned(), dims, numbers: HashSet::new(), graph, note: Vec::new() }
    }

    /// Puts rows in; some ten thousand a minute and core. `watch` is told how many of `rows` are done, every few
    /// hundred.
    ///
    /// Left out are vectors of another width, without a direction or with a number that is none, and numbers
    /// that are in it already. Returns how many came in.
    pub fn insert(
        &mut self,
        rows: &[(u32, &[f32])],
        pace: Pace,
        mut watch: impl FnMut(usize) -> Go,
    ) -> usize {
        let before = self.numbers.len();
        for (batch, rows) in rows.chunks(BATCH).enumerate() {
            let mut fresh: Vec<(u32, Vec<f32>)> = Vec::with_capacity(rows.len());
            for (number, vector) in rows {
                if let Some(vector) = self.unit(vector)
                    && self.numbers.insert(*number)
                {
                    fresh.push((*number, vector));
                }
            }
            let put = |(number, vector): &(u32, Vec<f32>)| self.graph.insert((vector, *number as usize));
            if pace == Pace::OneCore || self.graph.get_nb_point() == 0 {
                // The first rows must meet one another, or parts of the graph would not be connected.
                fresh.iter().for_each(put);
            } else {
                fresh.par_iter().for_each(put);
            }
            if watch(batch * BATCH + rows.len()) == Go::Stop {
                break;
            }
        }
        self.numbers.len() - before
    }

    /// The nearest rows of those allowed, with their cosines, best first: up to `most`, or fewer, since a graph
    /// may miss some. A search that looks at more (`breadth`) misses fewer.
    ///
    /// With a filter the walk does not end before it has found `breadth` rows that pass, so its cost is the
    /// breadth by the share that passes; under a strict filter, comparing the allowed rows takes less.
    pub fn nearest(
        &self,
        query: &[f32],
        most: usize,
        breadth: usize,
        allowed: Option<&dyn Fn(u32) -> bool>,
    ) -> Vec<(u32, f32)> {
        let Some(query) = self.unit(query).filter(|_| most > 0 && !self.numbers.is_empty()) else {
            return Vec::new();
        };
        let breadth = breadth.max(most).max(BREADTH_MIN);
        let found = match allowed {
            None => self.graph.search(&query, most, breadth),
            Some(allowed) => {
                let passes = |number: &usize| allowed(*number as u32);
                self.graph.search_filter(&query, most, breadth, Some(&passes))
            }
        };
        let mut seen = HashSet::new();
        let mut rows: Vec<(u32, f32)> = found
            .into_iter()
            .map(|one| (one.d_id as u32, 1.0 - one.distance))
            .filter(|(number, _)| allowed.is_none_or(|allowed| allowed(*number)) && seen.insert(*number))
            .collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        rows
    }

    /// How many rows are in it, those that are gone included.
    pub fn rows(&self) -> usize {
        self.numbers.len()
    }

    /// Whether a row was put in.
    pub fn has(&self, number: u32) -> bool {
        self.numbers.contains(&number)
    }

    /// What its user wants to have back with it when it is read again.
    pub fn note(&self) -> &[u8] {
        &self.note
    }

    /// See [`Graph::note`].
    pub fn set_note(&mut self, note: Vec<u8>) {
        self.note = note;
    }

    /// About how many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        self.rows() * (self.dims * size_of::<f32>() + ROW_BYTES)
    }

    /// A vector at unit length, if it is one of this width with a direction.
    fn unit(&self, vector: &[f32]) -> Option<Vec<f32>> {
        if vector.len() != self.dims {
            return None;
        }
        let length = dot_f32(vector, vector).sqrt();
        let is_sound = length.is_finite() && length > f32::MIN_POSITIVE;
        is_sound.then(|| vector.iter().map(|number| number / length).collect())
    }
}

#[cfg(test)]
mod tests;
