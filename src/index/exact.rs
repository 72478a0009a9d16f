//! The exact vector search: every allowed vector is compared, so nothing is missed. It is the oracle for
//! every other vector search.

use rayon::prelude::*;

use super::{Partition, VectorBlock};
use crate::simd::dot_f32_rows;

/// From this many rows on, the scan is spread over the cores: below, waking them costs more.
pub const PARALLEL_ROWS: usize = 4096;
/// What a slot without a vector gets: less than any cosine.
pub const NONE: f32 = f32::NEG_INFINITY;

/// The best cosine of each slot's vectors with the query; [`NONE`] for slots that are not allowed or have
/// no vector.
pub fn scan(partition: &Partition, block: &VectorBlock, query: &[f32], allowed: &[bool]) -> Vec<f32> {
    let mut best = vec![NONE; partition.entries().len()];
    if block.dims != query.len() {
        return best;
    }
    let scores = scores(block, query, |row| allowed[block.owners[row] as usize]);
    for (owner, score) in block.owners.iter().zip(scores) {
        let best = &mut best[*owner as usize];
        *best = best.max(score);
    }
    best
}

/// The cosine of every wanted row. Runs of wanted rows are scored at once; a score does not depend on the
/// run that it is computed in.
fn scores(block: &VectorBlock, query: &[f32], wanted: impl Fn(usize) -> bool + Sync) -> Vec<f32> {
    let rows = block.owners.len();
    let mut scores = vec![NONE; rows];
    let chunk = if rows >= PARALLEL_ROWS {
        rows.div_ceil(rayon::current_num_threads().max(1) * 4)
    } else {
        rows.max(1)
    };
    let score_chunk = |(number, out): (usize, &mut [f32])| {
        let first = number * chunk;
        let mut row = 0;
        while row < out.len() {
            let run = (row..out.len()).take_while(|row| wanted(first + row)).count();
            if run == 0 {
                row += 1;
                continue;
            }
            let from = (first + row) * block.dims;
            dot_f32_rows(query, &block.rows[from..from + run * block.dims], &mut out[row..row + run]);
            row += run;
        }
    };
    if rows >= PARALLEL_ROWS {
        scores.par_chunks_mut(chunk).enumerate().for_each(score_chunk);
    } else {
        scores.chunks_mut(chunk).enumerate().for_each(score_chunk);
    }
    scores
}
