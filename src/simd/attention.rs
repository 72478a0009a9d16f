//! Scaled dot-product attention of one text with itself. Does not know where queries, keys and values
//! come from.

use super::Level;
use super::combine::{AT_ONCE, combine};
use super::lanes::{self, LANES};
use super::math::exp;

/// The width of an attention head: two registers of AVX-512.
pub const HEAD_WIDTH: usize = 32;

/// 1 / √[`HEAD_WIDTH`].
const SCALE: f32 = 0.176_776_7;

/// Buffers that are kept from one call to the next.
#[derive(Default)]
pub struct AttentionScratch {
    /// The keys of one head: for every sixteen tokens, column by column. What is missing to full lanes
    /// is zero.
    keys: Vec<[[f32; LANES]; HEAD_WIDTH]>,
    /// The values of one head: the left half of all tokens, then the right half.
    values: Vec<[f32; LANES]>,
    /// For each query that is being answered, a weight per token, padded to full lanes.
    weights: Vec<f32>,
}

/// Writes to `out` what each token of a text sees of all tokens of the text.
///
/// `projected` holds queries, keys and values of each token one after the other, `3 × width` floats a
/// token; `out` gets `width` floats a token. Heads are [`HEAD_WIDTH`] wide. For each head the result is
/// softmax(q · k / √[`HEAD_WIDTH`]) · v (Vaswani et al. 2017, "Attention is all you need").
///
/// # Panics
///
/// If `width` is no multiple of [`HEAD_WIDTH`], or the lengths do not fit together.
pub fn attention(
    level: Level,
    projected: &[f32],
    width: usize,
    scratch: &mut AttentionScratch,
    out: &mut [f32],
) {
    assert!(width > 0 && width.is_multiple_of(HEAD_WIDTH), "heads must be whole");
    assert!(
        out.len().is_multiple_of(width) && projected.len() == 3 * out.len(),
        "every token needs q, k and v"
    );
    let tokens = out.len() / width;
    for head in (0..width).step_by(HEAD_WIDTH) {
        scratch.load(projected, width, head);
        for first in (0..tokens).step_by(AT_ONCE) {
            let count = AT_ONCE.min(tokens - first);
            let queries = &projected[first * 3 * width + head..];
            answer(level, queries, width, tokens, count, scratch, &mut out[first * width + head..]);
        }
    }
}

impl AttentionScratch {
    /// Copies keys and values of one head to where they lie close together.
    fn load(&mut self, projected: &[f32], width: usize, head: usize) {
        let tokens = projected.len() / (3 * width);
        let blocks = tokens.div_ceil(LANES);
        self.keys.clear();
        self.keys.resize(blocks, [[0.0; LANES]; HEAD_WIDTH]);
        self.values.resize(2 * tokens, [0.0; LANES]);
        self.weights.resize(AT_ONCE * blocks * LANES, 0.0);
        let (left, right) = self.values.split_at_mut(tokens);
        for (token, row) in projected.chunks_exact(3 * width).enumerate() {
            let block = &mut self.keys[token / LANES];
            for (column, key) in block.iter_mut().zip(&row[width + head..]) {
                column[token % LANES] = *key;
            }
            let value = &row[2 * width + head..][..HEAD_WIDTH];
            left[token].copy_from_slice(&value[..LANES]);
            right[token].copy_from_slice(&value[LANES..]);
        }
    }
}

/// Answers the first `count` queries. Each sum has its own fixed order (columns of a score, tokens of a
/// result), so it does not matter how many are answered side by side.
fn answer(
    level: Level,
    queries: &[f32],
    width: usize,
    tokens: usize,
    count: usize,
    scratch: &mut AttentionScratch,
    out: &mut [f32],
) {
    let AttentionScratch { keys, values, weights } = scratch;
    let padded = keys.len() * LANES;
    let mut scaled = [0f32; AT_ONCE * HEAD_WIDTH];
    for (scaled, query) in scaled.chunks_exact_mut(HEAD_WIDTH).zip(queries.chunks(3 * width)).take(count) {
        scaled.iter_mut().zip(query).for_each(|(scaled, x)| *scaled = x * SCALE);
    }
    let mut sums = [[0f32; LANES]; AT_ONCE];
    let sums = &mut sums[..count];
    for (block, keys) in keys.iter().enumerate() {
        combine(level, &scaled, HEAD_WIDTH, keys, sums);
        for (row, scores) in weights.chunks_exact_mut(padded).zip(&*sums) {
            row[block * LANES..][..LANES].copy_from_slice(scores);
        }
    }
    let mut inverses = [0f32; AT_ONCE];
    soften(level, &mut weights[..count * padded], padded, tokens, &mut inverses);
    for (half, values) in values.chunks_exact(tokens).enumerate() {
        combine(level, weights, padded, values, sums);
        for (q, (sums, inverse)) in sums.iter().zip(&inverses).enumerate() {
            let out = &mut out[q * width + half * LANES..][..LANES];
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum * inverse);
        }
    }
}

at_every_level! {
    /// Turns each row of scores into weights that have to be divided by their sum, and writes one divided
    /// by that sum. What is behind `tokens` in a row becomes zero.
    fn soften(rows: &mut [f32], padded: usize, tokens: usize, inverses: &mut [f32]) {
        for (row, inverse) in rows.chunks_exact_mut(padded).zip(inverses) {
            let greatest = lanes::max(&row[..tokens], f32::MIN, |x| x);
            for weight in row.iter_mut() {
                *weight = exp(*weight - greatest);
            }
            row[tokens..].fill(0.0);
            *inverse = 1.0 / lanes::sum(row, |x| x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::Numbers;

    fn run(level: Level, projected: &[f32], width: usize) -> Vec<f32> {
        let mut out = vec![f32::NAN; projected.len() / 3];
        attention(level, projected, width, &mut AttentionScratch::default(), &mut out);
        out
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let mut numbers = Numbers::new(10);
        for tokens in [0, 1, 2, 3, 4, 5, 15, 16, 17, 33, 70] {
            let projected = numbers.floats(tokens * 3 * 64);
            let want = run(Level::SCALAR, &projected, 64);
            for level in Level::available() {
                let got = run(level, &projected, 64);
                assert!(
                    got.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits()),
                    "{level}, {tokens} tokens"
                );
            }
        }
    }

    #[test]
    fn it_is_the_textbook_formula() {
        let mut numbers = Numbers::new(11);
        let (tokens, width) = (21, 64);
        let projected: Vec<f32> = numbers.floats(tokens * 3 * width).iter().map(|x| x * 3.0).collect();
        let got = run(Level::detect(), &projected, width);
        let part = |token: usize, which: usize, head: usize| {
            projected[(token * 3 + which) * width + head * HEAD_WIDTH..][..HEAD_WIDTH]
                .iter()
                .map(|x| f64::from(*x))
        };
        for token in 0..tokens {
            for head in 0..width / HEAD_WIDTH {
                let score =
                    |other| part(token, 0, head).zip(part(other, 1, head)).map(|(q, k)| q * k).sum::<f64>();
                let weights: Vec<f64> =
                    (0..tokens).map(|other| (score(other) / 32f64.sqrt()).exp()).collect();
                let total: f64 = weights.iter().sum();
                for column in 0..HEAD_WIDTH {
                    let value = |other| part(other, 2, head).nth(column).unwrap();
                    let want: f64 = (0..tokens).map(|other| weights[other] / total * value(other)).sum();
                    let got = f64::from(got[token * width + head * HEAD_WIDTH + column]);
                    assert!((got - want).abs() < 1e-4, "token {token}, head {head}: {got}, not {want}");
                }
            }
        }
    }

    #[test]
    fn old_content_of_the_scratch_does_not_matter() {
        let mut numbers = Numbers::new(12);
        let (long, short) = (numbers.floats(40 * 96), numbers.floats(5 * 96));
        let mut scratch = AttentionScratch::default();
        attention(Level::detect(), &long, 32, &mut scratch, &mut vec![0.0; 40 * 32]);
        let mut got = vec![0.0; 5 * 32];
        attention(Level::detect(), &short, 32, &mut scratch, &mut got);
        assert_eq!(got, run(Level::detect(), &short, 32));
    }
}
