//! Dot products with rows of bytes that lie apart. The sums are exact integers, so every level gives the same.

/// So many rows ahead, memory is asked for what will be needed.
const AHEAD: usize = 4;

/// The bytes that come from memory at once.
const LINE: usize = 64;

at_every_level! {
    /// Writes to `sums` the dot product of `query` with each row of `codes` that `picked` names, as
    /// `dot_i8_rows_at` would; the query may go as far as there. Fastest when the rows are named in
    /// ascending order.
    ///
    /// # Panics
    ///
    /// If there is not a sum per row, or a row is named that does not exist.
    pub fn dot_i8_picked_at(query: &[i16], codes: &[i8], picked: &[u32], sums: &mut [i32]) {
        assert_eq!(picked.len(), sums.len(), "there must be a sum per row");
        let width = query.len();
        for (place, sum) in sums.iter_mut().enumerate() {
            if let Some(later) = picked.get(place + AHEAD) {
                let start = *later as usize * width;
                for line in codes.get(start..start + width).unwrap_or_default().chunks(LINE) {
                    prefetch(line);
                }
            }
            let row = &codes[picked[place] as usize * width..][..width];
            let mut total = 0i32;
            for (code, number) in row.iter().zip(query) {
                total += i32::from(*code) * i32::from(*number);
            }
            *sum = total;
        }
    }
}

/// Asks memory for a line; where there is no instruction for it, nothing happens.
#[inline(always)]
fn prefetch(line: &[i8]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it is a hint about an address; every processor of this kind has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::Numbers;
    use crate::simd::{Level, dot_i8_rows_at};

    #[test]
    fn a_picked_row_gets_the_sum_that_it_gets_among_all() {
        let mut numbers = Numbers::new(21);
        for width in [1usize, 3, 16, 31, 64, 384, 385] {
            let query: Vec<i16> = (0..width).map(|_| (numbers.next() % 4095) as i16 - 2047).collect();
            let codes: Vec<i8> = (0..width * 40).map(|_| numbers.next() as i8).collect();
            let mut all = vec![0; 40];
            dot_i8_rows_at(Level::SCALAR, &query, &codes, &mut all);
            let picked: Vec<u32> = (0..30).map(|_| (numbers.next() % 40) as u32).collect();
            let want: Vec<i32> = picked.iter().map(|row| all[*row as usize]).collect();
            for level in Level::available() {
                let mut sums = vec![0; picked.len()];
                dot_i8_picked_at(level, &query, &codes, &picked, &mut sums);
                assert_eq!(sums, want, "{level}, width {width}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn a_row_that_is_not_there_is_refused() {
        dot_i8_picked_at(Level::detect(), &[1, 1], &[1, 1, 1, 1], &[0, 2], &mut [0, 0]);
    }
}
