//! The byte product with AVX2. Only the product; layout and meaning are in `quantise` and `product`.
//!
//! AVX2 multiplies unsigned by signed bytes and adds neighbours with saturation at 16 bits. Two
//! products of 255 and 127 would saturate, so the sign of the activation is moved to the weight:
//! |a| × (w × sign a) is the same product, and two of at most 127 × 127 fit.

use std::arch::x86_64::*;

use super::quantise::{Activations, CELLS_PER_QUAD, Cells, GROUP_ROWS, Int8Matrix, QUAD, RowTerms, Steps};

/// Tokens that are multiplied at once.
const TOKENS_AT_ONCE: usize = 3;

/// Registers of eight rows that are multiplied at once: 3 × 4 sums fill 12 of the 16 registers.
const PARTS: usize = 4;

/// Rows in one register.
const PART_ROWS: usize = 8;

/// Multiplies; the group of rows is the outer loop, so its weights stay in the nearest cache while all
/// tokens pass.
///
/// # Safety
///
/// The activations must have the columns of the matrix, and `out` a value per token and row.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn product(matrix: &Int8Matrix, activations: &Activations, out: &mut [f32]) {
    let (rows, columns, tokens) = (matrix.rows(), matrix.columns(), activations.tokens());
    for group in 0..rows / GROUP_ROWS {
        let (cells, terms) = (matrix.group(group), matrix.terms(group));
        let mut token = 0;
        while token < tokens {
            let codes = &activations.codes()[token * columns..];
            let steps = &activations.steps()[token..];
            let out = &mut out[token * rows + group * GROUP_ROWS..];
            // SAFETY: as many tokens from `token` on exist as the block takes, so each slice holds as
            // many rows as it reads and writes: codes and steps by the first condition of this
            // function, outputs by the second.
            unsafe {
                token += match tokens - token {
                    1 => block::<1>(cells, terms, columns, codes, steps, rows, out),
                    2 | 4 => block::<2>(cells, terms, columns, codes, steps, rows, out),
                    _ => block::<TOKENS_AT_ONCE>(cells, terms, columns, codes, steps, rows, out),
                };
            }
        }
    }
}

/// Multiplies one group of rows with `T` tokens, half a group at a time, and returns `T`.
///
/// # Safety
///
/// `codes` must hold `T × columns` bytes, `columns` be what `cells` was made for, `steps` hold `T`
/// values, and `out` reach from the first output of the group in the first token to the last one in
/// the last, `rows` apart from token to token.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn block<const T: usize>(
    cells: &[Cells],
    terms: RowTerms<'_>,
    columns: usize,
    codes: &[u8],
    steps: &[Steps],
    rows: usize,
    out: &mut [f32],
) -> usize {
    debug_assert!(codes.len() >= T * columns && steps.len() >= T && out.len() >= (T - 1) * rows + GROUP_ROWS);
    debug_assert!(cells.len() == columns / QUAD * CELLS_PER_QUAD);
    let ones = _mm256_set1_epi16(1);
    for half in 0..GROUP_ROWS / (PARTS * PART_ROWS) {
        let mut sums = [[_mm256_setzero_si256(); PARTS]; T];
        for (quad, cells) in cells.as_chunks::<CELLS_PER_QUAD>().0.iter().enumerate() {
            let start = cells[half * CELLS_PER_QUAD / 2..].as_ptr().cast::<__m256i>();
            let mut weights = [_mm256_setzero_si256(); PARTS];
            for part in 0..PARTS {
                // SAFETY: half of the four `Cells` of a quad is 128 bytes, four registers, aligned to 64.
                weights[part] = unsafe { _mm256_load_si256(start.add(part)) };
            }
            for t in 0..T {
                // SAFETY: the four bytes lie inside token `t` of `codes`: quad < columns / 4.
                let four =
                    unsafe { codes.as_ptr().add(t * columns + quad * QUAD).cast::<i32>().read_unaligned() };
                // Flipping the highest bit of a byte takes 128 from it.
                let inputs = _mm256_set1_epi32(four ^ i32::from_ne_bytes([0x80; 4]));
                let magnitudes = _mm256_abs_epi8(inputs);
                for part in 0..PARTS {
                    let pairs = _mm256_maddubs_epi16(magnitudes, _mm256_sign_epi8(weights[part], inputs));
                    sums[t][part] = _mm256_add_epi32(sums[t][part], _mm256_madd_epi16(pairs, ones));
                }
            }
        }
        for part in 0..PARTS {
            let at = (half * PARTS + part) * PART_ROWS;
            // SAFETY: the arrays of `terms` have 64 elements, and `at` is at most 56.
            let (row_scales, row_sums, bias) = unsafe {
                (
                    _mm256_loadu_ps(terms.scales.as_ptr().add(at)),
                    _mm256_loadu_ps(terms.sums.as_ptr().add(at)),
                    _mm256_loadu_ps(terms.bias.as_ptr().add(at)),
                )
            };
            for t in 0..T {
                // The 128 is already out of these sums, so the correction of the row is not wanted.
                let exact = _mm256_cvtepi32_ps(sums[t][part]);
                let scale = _mm256_mul_ps(row_scales, _mm256_set1_ps(steps[t].scale));
                let centre = _mm256_mul_ps(row_sums, _mm256_set1_ps(steps[t].centre));
                let constant = _mm256_add_ps(centre, bias);
                let value = _mm256_add_ps(_mm256_mul_ps(exact, scale), constant);
                // SAFETY: eight outputs of token `t` from row `at` of the group on are inside `out`.
                unsafe { _mm256_storeu_ps(out.as_mut_ptr().add(t * rows + at), value) };
            }
        }
    }
    T
}
