//! Dot products of rounded vectors: one query against every row of bytes. The sums are exact integers, so
//! every level gives the same.

at_every_level! {
    /// Writes to `sums` the dot product of `query` with every row of `codes`, row after row without gaps.
    ///
    /// The query may go from -2047 to 2047: the sum over a row of up to 8,192 numbers then fits.
    ///
    /// # Panics
    ///
    /// If `codes` is not `sums.len()` rows as long as `query`.
    pub fn dot_i8_rows_at(query: &[i16], codes: &[i8], sums: &mut [i32]) {
        let width = query.len();
        assert_eq!(width.checked_mul(sums.len()), Some(codes.len()), "there must be a row per sum");
        for (row, sum) in codes.chunks_exact(width.max(1)).zip(sums) {
            let mut total = 0i32;
            for (code, number) in row.iter().zip(query) {
                total += i32::from(*code) * i32::from(*number);
            }
            *sum = total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;

    #[test]
    fn every_level_gives_the_exact_sums() {
        for width in [1usize, 3, 16, 31, 64, 384, 385] {
            let query: Vec<i16> = (0..width).map(|i| ((i * 7919) % 4095) as i16 - 2047).collect();
            let codes: Vec<i8> = (0..width * 5).map(|i| ((i * 104_729) % 255) as i16 as i8).collect();
            let plain: Vec<i32> = codes
                .chunks_exact(width)
                .map(|row| row.iter().zip(&query).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum())
                .collect();
            for level in Level::available() {
                let mut sums = vec![0; 5];
                dot_i8_rows_at(level, &query, &codes, &mut sums);
                assert_eq!(sums, plain, "{level} {width}");
            }
        }
    }
}
