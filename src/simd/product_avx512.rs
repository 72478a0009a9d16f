//! The byte product with the dot-product instructions of AVX-512 VNNI. Only the product; layout and
//! meaning are in `quantise` and `product`.

use std::arch::x86_64::*;

use super::quantise::{
    Activations, CELL_ROWS, CELLS_PER_QUAD, Cells, GROUP_ROWS, Int8Matrix, QUAD, RowTerms, Steps,
};

/// Tokens that are multiplied at once: 6 × 4 sums fill 24 of the 32 registers, the weights of a quad
/// take four more.
const TOKENS_AT_ONCE: usize = 6;

/// Multiplies; the group of rows is the outer loop, so its weights stay in the nearest cache while all
/// tokens pass.
///
/// # Safety
///
/// The activations must have the columns of the matrix, and `out` a value per token and row.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) unsafe fn product(matrix: &Int8Matrix, activations: &Activations, out: &mut [f32]) {
    let (rows, columns, tokens) = (matrix.rows(), matrix.columns(), activations.tokens());
    for group in 0..rows / GROUP_ROWS {
        let (cells, terms) = (matrix.group(group), matrix.terms(group));
        let mut token = 0;
        while token < tokens {
            let left = tokens - token;
            // Seven to eleven tokens are split evenly rather than into six and a few.
            let now =
                if left > TOKENS_AT_ONCE && left < 2 * TOKENS_AT_ONCE { left.div_ceil(2) } else { left };
            let codes = &activations.codes()[token * columns..];
            let steps = &activations.steps()[token..];
            let out = &mut out[token * rows + group * GROUP_ROWS..];
            // SAFETY: `now` or six tokens from `token` on exist, so each slice holds as many rows as
            // the block reads and writes: codes and steps by the first condition of this function,
            // outputs by the second.
            unsafe {
                token += match now {
                    1 => block::<1>(cells, terms, columns, codes, steps, rows, out),
                    2 => block::<2>(cells, terms, columns, codes, steps, rows, out),
                    3 => block::<3>(cells, terms, columns, codes, steps, rows, out),
                    4 => block::<4>(cells, terms, columns, codes, steps, rows, out),
                    5 => block::<5>(cells, terms, columns, codes, steps, rows, out),
                    _ => block::<TOKENS_AT_ONCE>(cells, terms, columns, codes, steps, rows, out),
                };
            }
        }
    }
}

/// Multiplies one group of rows with `T` tokens and returns `T`.
///
/// # Safety
///
/// `codes` must hold `T × columns` bytes, `columns` be what `cells` was made for, `steps` hold `T`
/// values, and `out` reach from the first output of the group in the first token to the last one in
/// the last, `rows` apart from token to token.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
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
    let mut sums = [[_mm512_setzero_si512(); CELLS_PER_QUAD]; T];
    for (quad, cells) in cells.as_chunks::<CELLS_PER_QUAD>().0.iter().enumerate() {
        let mut weights = [_mm512_setzero_si512(); CELLS_PER_QUAD];
        for part in 0..CELLS_PER_QUAD {
            // SAFETY: a `Cells` is 64 bytes, aligned to 64.
            weights[part] = unsafe { _mm512_load_si512(cells[part].0.as_ptr().cast()) };
        }
        for t in 0..T {
            // SAFETY: the four bytes lie inside token `t` of `codes`: quad < columns / 4.
            let four =
                unsafe { codes.as_ptr().add(t * columns + quad * QUAD).cast::<i32>().read_unaligned() };
            let inputs = _mm512_set1_epi32(four);
            for part in 0..CELLS_PER_QUAD {
                sums[t][part] = _mm512_dpbusd_epi32(sums[t][part], inputs, weights[part]);
            }
        }
    }
    for part in 0..CELLS_PER_QUAD {
        let at = part * CELL_ROWS;
        // SAFETY: the arrays of `terms` have 64 elements, and `at` is at most 48.
        let (corrections, row_scales, row_sums, bias) = unsafe {
            (
                _mm512_loadu_si512(terms.corrections.as_ptr().add(at).cast()),
                _mm512_loadu_ps(terms.scales.as_ptr().add(at)),
                _mm512_loadu_ps(terms.sums.as_ptr().add(at)),
                _mm512_loadu_ps(terms.bias.as_ptr().add(at)),
            )
        };
        for t in 0..T {
            let exact = _mm512_cvtepi32_ps(_mm512_add_epi32(sums[t][part], corrections));
            let scale = _mm512_mul_ps(row_scales, _mm512_set1_ps(steps[t].scale));
            let centre = _mm512_mul_ps(row_sums, _mm512_set1_ps(steps[t].centre));
            let constant = _mm512_add_ps(centre, bias);
            let value = _mm512_add_ps(_mm512_mul_ps(exact, scale), constant);
            // SAFETY: sixteen outputs of token `t` from row `at` of the group on are inside `out`.
            unsafe { _mm512_storeu_ps(out.as_mut_ptr().add(t * rows + at), value) };
        }
    }
    T
}
