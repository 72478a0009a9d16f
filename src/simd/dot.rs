//! Dot products of float vectors, one at a time or against every row of a matrix. Does not know that
//! the rows are embeddings.

use super::Level;
use super::lanes::{LANES, reduce};

/// Rows that are scored side by side, so that additions of different rows overlap in time.
const ROWS_AT_ONCE: usize = 4;

/// Returns the dot product of two vectors of one length.
///
/// The order of the additions is fixed (see the module), so the result is the same on every machine
/// to the last bit. Elements after the last full sixteen go to the first lanes.
///
/// # Panics
///
/// If the lengths differ.
pub fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    dot_f32_at(Level::detect(), a, b)
}

/// Writes to `scores` the dot product of `query` with every row of `matrix`.
///
/// The matrix is row after row, without gaps; each score is exactly what [`dot_f32`] returns for the
/// query and that row. An empty query scores nothing but zeros.
///
/// # Panics
///
/// If `matrix` is not `scores.len()` rows as long as `query`.
pub fn dot_f32_rows(query: &[f32], matrix: &[f32], scores: &mut [f32]) {
    dot_f32_rows_at(Level::detect(), query, matrix, scores);
}

at_every_level! {
    /// Returns the dot product of two vectors, computed at the given level; see [`dot_f32`].
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn dot_f32_at(a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len(), "a dot product needs vectors of one length");
        dots([a], b)[0]
    }
}

at_every_level! {
    /// Scores every row of a matrix at the given level; see [`dot_f32_rows`].
    ///
    /// # Panics
    ///
    /// If `matrix` is not `scores.len()` rows as long as `query`.
    pub fn dot_f32_rows_at(query: &[f32], matrix: &[f32], scores: &mut [f32]) {
        let width = query.len();
        assert_eq!(width.checked_mul(scores.len()), Some(matrix.len()), "the matrix must have a row per score");
        let (fours, rest) = scores.as_chunks_mut::<ROWS_AT_ONCE>();
        let mut start = 0;
        for four in fours {
            let rows = std::array::from_fn::<_, ROWS_AT_ONCE, _>(|r| &matrix[start + r * width..][..width]);
            *four = dots(rows, query);
            start += ROWS_AT_ONCE * width;
        }
        for score in rest {
            *score = dots([&matrix[start..][..width]], query)[0];
            start += width;
        }
    }
}

/// Returns the dot product of each of `rows` with `b`; all have the length of `b`.
#[inline(always)]
fn dots<const N: usize>(rows: [&[f32]; N], b: &[f32]) -> [f32; N] {
    let mut lanes = [[0f32; LANES]; N];
    let (b_blocks, b_tail) = b.as_chunks::<LANES>();
    let blocks = rows.map(|row| row.as_chunks::<LANES>().0);
    for (k, y) in b_blocks.iter().enumerate() {
        for r in 0..N {
            let x = &blocks[r][k];
            for i in 0..LANES {
                lanes[r][i] += x[i] * y[i];
            }
        }
    }
    for r in 0..N {
        let tail = &rows[r][b.len() - b_tail.len()..];
        for i in 0..b_tail.len() {
            lanes[r][i] += tail[i] * b_tail[i];
        }
    }
    lanes.map(reduce)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::Numbers;

    #[test]
    fn every_level_gives_the_same_bits() {
        let mut numbers = Numbers::new(1);
        for length in (0..70).chain([383, 384, 385, 1000]) {
            let (a, b) = (numbers.floats(length), numbers.floats(length));
            let want = dot_f32_at(Level::SCALAR, &a, &b);
            for level in Level::available() {
                let got = dot_f32_at(level, &a, &b);
                assert_eq!(got.to_bits(), want.to_bits(), "{level}, length {length}");
            }
        }
    }

    #[test]
    fn the_order_is_sixteen_lanes_and_a_tree() {
        let mut numbers = Numbers::new(2);
        let (a, b) = (numbers.floats(43), numbers.floats(43));
        let mut lanes = [0f32; 16];
        for i in 0..43 {
            lanes[i % 16] += a[i] * b[i];
        }
        let eight: [f32; 8] = std::array::from_fn(|i| lanes[i] + lanes[i + 8]);
        let four: [f32; 4] = std::array::from_fn(|i| eight[i] + eight[i + 4]);
        let want = (four[0] + four[2]) + (four[1] + four[3]);
        assert_eq!(dot_f32(&a, &b).to_bits(), want.to_bits());
    }

    #[test]
    fn rows_are_scored_as_if_one_by_one() {
        let mut numbers = Numbers::new(3);
        for width in [0, 1, 15, 16, 17, 384] {
            for rows in 0..10 {
                let (query, matrix) = (numbers.floats(width), numbers.floats(width * rows));
                for level in Level::available() {
                    let mut scores = vec![f32::NAN; rows];
                    dot_f32_rows_at(level, &query, &matrix, &mut scores);
                    for (r, score) in scores.iter().enumerate() {
                        let want = dot_f32(&matrix[r * width..][..width], &query);
                        assert_eq!(score.to_bits(), want.to_bits(), "{level}, {rows} × {width}, row {r}");
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "one length")]
    fn different_lengths_are_refused() {
        dot_f32(&[1.0, 2.0], &[1.0]);
    }
}
