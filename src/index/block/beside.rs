//! A graph beside a block: which rows of the block it knows, and which have to be compared one by one since
//! it does not. Any graph will do; what it misses or makes up is no harm, since its user looks again.

use std::fmt;
use std::sync::Arc;

use super::search::Rounded;
use super::{Asked, NONE, VectorBlock};
use crate::change::DocId;

/// Marks a row of the graph that the block does not have (any more).
const NO_ROW: u32 = u32::MAX;
/// A graph is stale from this share of rows on that are gone, or are not in it yet.
const STALE_SHARE: usize = 4;
/// How often a search that brought too few is tried again, each time so many times as wide.
const WIDENED: usize = 2;
const WIDER: usize = 4;

/// Which vector a row of a graph is: of which document, and a check of its numbers, since a document may be
/// given other vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// The document.
    pub doc: DocId,
    /// A hash of the vector as the block has it.
    pub check: u32,
}

impl RowKey {
    /// Of no row.
    pub const NONE: RowKey = RowKey { doc: DocId(u64::MAX), check: 0 };
}

/// What proposes the vectors nearest to a query.
pub trait Neighbours: Send + Sync {
    /// The rows that it knows, by its number; [`RowKey::NONE`] for a number without one.
    fn keys(&self) -> &[RowKey];

    /// The numbers of about `breadth` of the nearest rows that are allowed, or fewer, the nearest first.
    fn nearest(
        &self,
        query: &[f32],
        breadth: usize,
        allowed: Option<&(dyn Fn(u32) -> bool + Sync)>,
    ) -> Vec<u32>;

    /// About how many bytes it takes.
    fn bytes(&self) -> usize;
}

/// A graph and how its rows meet those of a block. It stays right while rows are added at the block's end and
/// blanked.
#[derive(Clone)]
pub struct Beside {
    graph: Arc<dyn Neighbours>,
    version: u64,
    /// By number of the graph, the row of the block.
    rows: Vec<u32>,
    /// How many of these there are.
    met: usize,
    /// The rows that the graph does not know, of those that the block had.
    outside: Vec<u32>,
    /// How many rows the block had.
    upto: usize,
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Beside({} rows, {} outside of it, of {})", self.met, self.outside.len(), self.upto)
    }
}

/// How many rows a search by a graph has to do with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphCounts {
    /// Rows of the graph, those that are gone included.
    pub rows: usize,
    /// How many of these are allowed.
    pub allowed: usize,
    /// Rows of the block that the graph does not know: those that are allowed are compared one by one.
    pub tail: usize,
    /// How many of these are allowed.
    pub tail_allowed: usize,
    /// Rows that words or names have found.
    pub found: usize,
}

impl Beside {
    /// Finds the rows of a graph in a block. `doc` says the document of a slot; `version` is whatever its user
    /// knows this graph by.
    pub fn of(
        graph: Arc<dyn Neighbours>,
        version: u64,
        block: &VectorBlock,
        doc: impl Fn(u32) -> DocId,
    ) -> Beside {
        let mut known: Vec<(RowKey, u32)> = graph.keys().iter().copied().zip(0..).collect();
        // Nearly in order already: a graph is filled in the order of documents.
        known.sort();
        let mut rows = vec![NO_ROW; known.len()];
        let (mut met, mut outside) = (0, Vec::new());
        for (row, owner) in (0u32..).zip(block.owners()) {
            let key = RowKey { doc: doc(*owner), check: block.check(row as usize) };
            let first = known.partition_point(|(other, _)| *other < key);
            let same = known[first..].iter().take_while(|(other, _)| *other == key);
            match same.map(|(_, number)| *number as usize).find(|number| rows[*number] == NO_ROW) {
                Some(number) => {
                    rows[number] = row;
                    met += 1;
                }
                None => outside.push(row),
            }
        }
        Beside { graph, version, rows, met, outside, upto: block.owners().len() }
    }

    /// The graph.
    pub fn graph(&self) -> &Arc<dyn Neighbours> {
        &self.graph
    }

    /// What its user knows it by.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many rows graph and block have.
    pub fn rows(&self) -> usize {
        self.met
    }

    /// About how many bytes it takes, the graph included.
    pub fn bytes(&self) -> usize {
        self.graph.bytes() + (self.rows.len() + self.outside.len()) * size_of::<u32>()
    }

    /// The rows of a block of that many that the graph does not know.
    pub fn tail(&self, rows: usize) -> impl Iterator<Item = u32> + '_ {
        self.outside.iter().copied().chain(self.upto as u32..rows as u32)
    }

    /// Whether it is better made anew or completed: many of its rows are out of force, or many that are in it are
    /// not in the graph. `live` says which rows are in force.
    pub fn is_stale(&self, rows: usize, live: impl Fn(u32) -> bool) -> Stale {
        let here = self.rows.iter().filter(|row| **row != NO_ROW && live(**row)).count();
        let outside = self.tail(rows).filter(|row| live(*row)).count();
        match (self.rows.len() - here, outside) {
            (gone, _) if gone * STALE_SHARE > self.rows.len() => Stale::Gone,
            (_, outside) if outside * STALE_SHARE > here + outside => Stale::Behind,
            _ => Stale::No,
        }
    }

    pub(super) fn counts(&self, block: &VectorBlock, asked: &Asked<'_>) -> GraphCounts {
        let allowed = |row: &u32| asked.allowed[block.owners[*row as usize] as usize];
        let is_found =
            |(words, (named, allowed)): &(&f32, (&bool, &bool))| **allowed && (**words > 0.0 || **named);
        let slots = asked.words.iter().zip(asked.named.iter().zip(asked.allowed));
        GraphCounts {
            rows: self.rows.len(),
            allowed: self.rows.iter().filter(|row| **row != NO_ROW && allowed(row)).count(),
            tail: self.tail(block.owners.len()).count(),
            tail_allowed: self.tail(block.owners.len()).filter(allowed).count(),
            found: slots.filter(is_found).count(),
        }
    }
}

/// Whether a graph still serves well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// It does.
    No,
    /// It lacks many rows, which can be added.
    Behind,
    /// Many of its rows are gone, which only a new one gets rid of.
    Gone,
}

impl VectorBlock {
    /// A hash of a row as it is scanned.
    pub fn check(&self, row: usize) -> u32 {
        let (bytes, rest) = self.coarse[row * self.dims..(row + 1) * self.dims].as_chunks::<8>();
        let mut hash = u64::from(self.scales[row].to_bits());
        let mut mix = |word: u64| {
            hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 29;
        };
        for word in bytes {
            mix(u64::from_le_bytes(word.map(|code| code as u8)));
        }
        rest.iter().for_each(|code| mix(u64::from(*code as u8) | 1 << 8));
        (hash >> 32) as u32
    }

    /// A row's numbers by their first bytes: what a graph is made of.
    pub fn rough(&self, row: usize) -> Vec<f32> {
        self.roughly(row).collect()
    }

    /// The rows that a graph proposes, those that it does not know, and what words and names have found as far as
    /// it can count. None when the graph brings too few, however wide it is asked.
    pub(super) fn by_graph(
        &self,
        beside: &Beside,
        counts: GraphCounts,
        breadth: usize,
        asked: &Asked<'_>,
        rounded: &Rounded,
    ) -> Option<(Vec<f32>, usize)> {
        let slot = |row: u32| self.owners[row as usize] as usize;
        let allowed = |row: &u32| asked.allowed[slot(*row)];
        let (walked, is_all) = self.walked(beside, counts, breadth, asked)?;
        let walked_scores = self.picked(&walked, rounded);
        // What the walk passed by is hardly nearer than the farthest that it brought.
        let edge = walked_scores.iter().copied().fold(asked.worth.upto, f32::min);
        let edge = if is_all { edge } else { asked.worth.upto };
        let tail: Vec<u32> = beside.tail(self.owners.len()).filter(allowed).collect();
        let tail_scores = self.picked(&tail, rounded);
        let known = walked.iter().zip(&walked_scores).chain(tail.iter().zip(&tail_scores));
        let worths = known.map(|(row, score)| asked.worth_of(slot(*row), *score));
        let bar = bar_of(asked.wanted, worths.collect());
        let can_count = |row: &u32| {
            asked.more(slot(*row)) > 0.0 && allowed(row) && asked.worth_of(slot(*row), edge) > bar
        };
        let is_known = |row: &u32| walked.binary_search(row).is_ok() || tail.binary_search(row).is_ok();
        let further: Vec<u32> = match counts.found {
            0 => Vec::new(),
            _ => (0..self.owners.len() as u32).filter(|row| can_count(row) && !is_known(row)).collect(),
        };
        let further_scores = self.picked(&further, rounded);
        let mut cosines = vec![NONE; asked.allowed.len()];
        let compared = walked.len() + tail.len() + further.len();
        self.put(&mut cosines, walked.into_iter().zip(walked_scores));
        self.put(&mut cosines, tail.into_iter().zip(tail_scores));
        self.put(&mut cosines, further.into_iter().zip(further_scores));
        Some((cosines, compared))
    }

    /// The allowed rows that a graph finds, ascending, of at least as many slots as are wanted; and whether it found
    /// all that it was asked for.
    fn walked(
        &self,
        beside: &Beside,
        counts: GraphCounts,
        breadth: usize,
        asked: &Asked<'_>,
    ) -> Option<(Vec<u32>, bool)> {
        let slot = |row: u32| self.owners[row as usize] as usize;
        let passes = |number: u32| {
            let row = beside.rows.get(number as usize).copied().filter(|row| *row != NO_ROW);
            row.is_some_and(|row| asked.allowed[slot(row)])
        };
        // Without a filter a walk ends early, so one is named only where it keeps something out.
        let filter: Option<&(dyn Fn(u32) -> bool + Sync)> =
            if counts.allowed < counts.rows { Some(&passes) } else { None };
        let mut breadth = breadth;
        for _ in 0..=WIDENED {
            let numbers = beside.graph.nearest(asked.query, breadth, filter);
            let numbers = numbers.into_iter().filter(|number| passes(*number));
            let mut rows: Vec<u32> = numbers.map(|number| beside.rows[number as usize]).collect();
            rows.sort_unstable();
            rows.dedup();
            // Several rows may be of one slot.
            let mut slots: Vec<usize> = rows.iter().map(|row| slot(*row)).collect();
            slots.dedup();
            if slots.len() >= asked.wanted {
                let is_all = rows.len() >= breadth;
                return Some((rows, is_all));
            }
            breadth = (breadth * WIDER).min(counts.rows);
        }
        None
    }
}

/// The last of the `wanted` greatest, or less than any when there are fewer.
fn bar_of(wanted: usize, mut worths: Vec<f32>) -> f32 {
    if wanted == 0 || worths.len() < wanted {
        return NONE;
    }
    *worths.select_nth_unstable_by(wanted - 1, |a, b| b.total_cmp(a)).1
}
