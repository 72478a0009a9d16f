//! The agreements of bits with AVX2; layout and meaning are in `bits`. AVX-512 uses it too: registers of
//! twice the width were no faster at what is mostly waiting for memory.

use std::arch::x86_64::*;

use super::bits::{BLOCK_ROWS, Cell};

/// Looks up and adds, 32 rows at once. Bytes of two groups are added before they are widened: a table's
/// greatest entry is 4 × 31.
///
/// # Safety
///
/// There must be as many cells as the table has, for each of `sums`.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn agreement(table: &[Cell], cells: &[Cell], sums: &mut [[u16; BLOCK_ROWS]]) {
    debug_assert_eq!(cells.len(), table.len() * sums.len());
    let low = _mm256_set1_epi8(15);
    let width = table.len();
    for (block, sums) in sums.iter_mut().enumerate() {
        // Sums of pairs of bytes: the lower byte plus 256 times the upper, and the upper alone; of the rows in
        // the lower halves of the codes and of those in the upper.
        let mut both = [_mm256_setzero_si256(); 2];
        let mut upper = [_mm256_setzero_si256(); 2];
        for (column, table) in table.iter().enumerate() {
            // SAFETY: the cell exists by this function's condition. A cell is two registers long and aligned.
            let (codes, entries) = unsafe {
                let cell = cells.get_unchecked(block * width + column).0.as_ptr().cast();
                let table = table.0.as_ptr().cast();
                (
                    [_mm256_load_si256(cell), _mm256_load_si256(cell.add(1))],
                    [_mm256_load_si256(table), _mm256_load_si256(table.add(1))],
                )
            };
            for half in 0..2 {
                let look_up = |part: usize| {
                    let codes = if half == 0 { codes[part] } else { _mm256_srli_epi16::<4>(codes[part]) };
                    _mm256_shuffle_epi8(entries[part], _mm256_and_si256(codes, low))
                };
                let bytes = _mm256_add_epi8(look_up(0), look_up(1));
                both[half] = _mm256_add_epi16(both[half], bytes);
                upper[half] = _mm256_add_epi16(upper[half], _mm256_srli_epi16::<8>(bytes));
            }
        }
        let out: *mut __m128i = sums.as_mut_ptr().cast();
        for half in 0..2 {
            let even = folded(_mm256_sub_epi16(both[half], _mm256_slli_epi16::<8>(upper[half])));
            let odd = folded(upper[half]);
            // SAFETY: the sums of a block are four such registers.
            unsafe {
                _mm_storeu_si128(out.add(2 * half), _mm_unpacklo_epi16(even, odd));
                _mm_storeu_si128(out.add(2 * half + 1), _mm_unpackhi_epi16(even, odd));
            }
        }
    }
}

/// Adds the two halves of a register, which looked up different groups of the same rows.
#[inline]
#[target_feature(enable = "avx2")]
fn folded(sums: __m256i) -> __m128i {
    _mm_add_epi16(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums))
}
