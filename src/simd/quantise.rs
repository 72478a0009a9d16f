//! Floats as bytes: weights with one scale per row, activations with one scale per token, both laid
//! out for the product kernels. Does not multiply them.

use super::Level;
use super::lanes;
use super::math::nearest;

/// Rows that are stored together; the number of rows of a matrix is a multiple of it.
pub const GROUP_ROWS: usize = 64;

/// The most columns a matrix may have: 255 × 127 × this still fits an `i32` with room to spare.
pub const MAX_COLUMNS: usize = 32_768;

/// Columns that one 32-bit lane of the product instructions takes at once.
pub(super) const QUAD: usize = 4;

/// Rows in one [`Cells`].
pub(super) const CELL_ROWS: usize = 16;

/// [`Cells`] that hold one quad of columns of all rows of a group.
pub(super) const CELLS_PER_QUAD: usize = GROUP_ROWS / CELL_ROWS;

/// Four columns of sixteen rows, row by row: one register of AVX-512, one line of the cache.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Cells(pub(super) [i8; CELL_ROWS * QUAD]);

/// A matrix of weights as signed bytes, with a scale and a bias per row.
///
/// The order in memory is: group of 64 rows, quad of columns, row, column of the quad. So a kernel
/// reads it once, from front to back.
pub struct Int8Matrix {
    columns: usize,
    cells: Vec<Cells>,
    scales: Vec<f32>,
    /// −128 × the sum of the row: activations are stored as value + 128, and this takes it out again.
    corrections: Vec<i32>,
    /// The sum of the row as floats: what one unit of a token's centre adds to the output.
    sums: Vec<f32>,
    bias: Vec<f32>,
}

impl Int8Matrix {
    /// Makes a matrix with a row for each element of `bias`; `fill` writes the values of the row of
    /// which it is told. 127 stands for the greatest magnitude of a row.
    ///
    /// # Panics
    ///
    /// If the rows are not a multiple of [`GROUP_ROWS`], or the columns not a multiple of four up to
    /// [`MAX_COLUMNS`].
    pub fn from_rows(
        level: Level,
        columns: usize,
        bias: Vec<f32>,
        mut fill: impl FnMut(usize, &mut [f32]),
    ) -> Int8Matrix {
        let rows = bias.len();
        assert!(rows.is_multiple_of(GROUP_ROWS), "rows must come in groups of {GROUP_ROWS}");
        assert!(columns > 0 && columns.is_multiple_of(QUAD), "columns must come in quads");
        assert!(columns <= MAX_COLUMNS, "sums must fit 32 bits");
        let cells = vec![Cells([0; CELL_ROWS * QUAD]); rows / CELL_ROWS * (columns / QUAD)];
        let mut matrix = Int8Matrix {
            columns,
            cells,
            scales: vec![0.0; rows],
            corrections: vec![0; rows],
            sums: vec![0.0; rows],
            bias,
        };
        let mut values = vec![0.0; columns];
        let mut codes = vec![0; columns];
        for row in 0..rows {
            fill(row, &mut values);
            matrix.scales[row] = quantise_weights(level, &values, &mut codes);
            matrix.store(row, &codes);
        }
        matrix
    }

    /// Puts the bytes of one row where the kernels look for them.
    fn store(&mut self, row: usize, codes: &[u8]) {
        let (group, row_in_group) = (row / GROUP_ROWS, row % GROUP_ROWS);
        let (part, at) = (row_in_group / CELL_ROWS, row_in_group % CELL_ROWS * QUAD);
        let group_start = group * CELLS_PER_QUAD * (self.columns / QUAD);
        let mut sum = 0;
        for (quad, bytes) in codes.as_chunks::<QUAD>().0.iter().enumerate() {
            let weights = bytes.map(|code| code.wrapping_sub(128) as i8);
            self.cells[group_start + quad * CELLS_PER_QUAD + part].0[at..at + QUAD].copy_from_slice(&weights);
            sum += weights.iter().map(|weight| i32::from(*weight)).sum::<i32>();
        }
        self.corrections[row] = -128 * sum;
        self.sums[row] = sum as f32 * self.scales[row];
    }

    /// Returns the number of rows: the outputs per token.
    pub fn rows(&self) -> usize {
        self.bias.len()
    }

    /// Returns the number of columns: the inputs per token.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the cells of one group of rows.
    pub(super) fn group(&self, group: usize) -> &[Cells] {
        let length = CELLS_PER_QUAD * (self.columns / QUAD);
        &self.cells[group * length..][..length]
    }

    /// Returns scale, correction and bias of each row of a group.
    pub(super) fn terms(&self, group: usize) -> RowTerms<'_> {
        let start = group * GROUP_ROWS;
        RowTerms {
            scales: self.scales[start..].first_chunk().expect("every row has a scale, and groups are whole"),
            corrections: self.corrections[start..].first_chunk().expect("as above"),
            sums: self.sums[start..].first_chunk().expect("as above"),
            bias: self.bias[start..].first_chunk().expect("as above"),
        }
    }
}

/// What turns the integer sums of a group of rows into outputs.
#[derive(Clone, Copy)]
pub(super) struct RowTerms<'a> {
    pub(super) scales: &'a [f32; GROUP_ROWS],
    pub(super) corrections: &'a [i32; GROUP_ROWS],
    pub(super) sums: &'a [f32; GROUP_ROWS],
    pub(super) bias: &'a [f32; GROUP_ROWS],
}

/// The inputs of a product as bytes, token after token. A byte stands for (byte − 128) × scale + centre,
/// with one scale and one centre per token, so that the bytes are used up from least to greatest value.
///
/// No byte is 0, so byte − 128 ranges from −127 to 127, which the AVX2 kernel relies on. The buffers
/// are kept from one use to the next.
#[derive(Default)]
pub struct Activations {
    columns: usize,
    codes: Vec<u8>,
    steps: Vec<Steps>,
}

/// How the bytes of a token are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Steps {
    pub(super) scale: f32,
    pub(super) centre: f32,
}

impl Activations {
    /// Replaces the content by `values`, which are tokens of `columns` floats each.
    ///
    /// # Panics
    ///
    /// If `columns` does not divide the number of values, or is not a multiple of four.
    pub fn quantise(&mut self, level: Level, values: &[f32], columns: usize) {
        assert!(columns > 0 && columns.is_multiple_of(QUAD), "columns must come in quads");
        assert!(values.len().is_multiple_of(columns), "every token has a value per column");
        self.columns = columns;
        self.codes.resize(values.len(), 128);
        self.steps.resize(values.len() / columns, Steps::default());
        quantise_tokens(level, values, columns, &mut self.codes, &mut self.steps);
    }

    /// Returns the number of tokens.
    pub fn tokens(&self) -> usize {
        self.steps.len()
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the bytes, `columns` for each token.
    pub(super) fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// Returns how to read the bytes of each token.
    pub(super) fn steps(&self) -> &[Steps] {
        &self.steps
    }
}

at_every_level! {
    fn quantise_weights(values: &[f32], codes: &mut [u8]) -> f32 {
        let greatest = lanes::max(values, TINY, f32::abs);
        write_codes(values, codes, 0.0, 127.0 / greatest);
        greatest / 127.0
    }
}

at_every_level! {
    fn quantise_tokens(values: &[f32], columns: usize, codes: &mut [u8], steps: &mut [Steps]) {
        let tokens = values.chunks_exact(columns).zip(codes.chunks_exact_mut(columns));
        for ((values, codes), steps) in tokens.zip(steps) {
            let greatest = lanes::max(values, f32::MIN, |x| x);
            let least = -lanes::max(values, f32::MIN, |x| -x);
            let centre = 0.5 * (greatest + least);
            let half = 0.5 * (greatest - least);
            let half = if half > TINY { half } else { TINY };
            write_codes(values, codes, centre, 127.0 / half);
            *steps = Steps { scale: half / 127.0, centre };
        }
    }
}

/// Half the range of a row whose values are all alike; it keeps the scale from being infinite.
const TINY: f32 = 1e-12;

/// Writes each value as the nearest step from the centre, plus 128.
#[inline(always)]
fn write_codes(values: &[f32], codes: &mut [u8], centre: f32, steps_per_unit: f32) {
    for (code, value) in codes.iter_mut().zip(values) {
        *code = (nearest((value - centre) * steps_per_unit) + 128) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::Numbers;

    #[test]
    fn every_level_gives_the_same_bytes() {
        let mut numbers = Numbers::new(4);
        let values = numbers.floats(7 * 148);
        let mut want = Activations::default();
        want.quantise(Level::SCALAR, &values, 148);
        assert_eq!(want.tokens(), 7);
        for level in Level::available() {
            let mut got = Activations::default();
            got.quantise(level, &values, 148);
            assert_eq!(got.codes, want.codes, "{level}");
            assert_eq!(got.steps, want.steps, "{level}");
        }
    }

    #[test]
    fn a_byte_is_within_half_a_step_of_its_value() {
        let mut numbers = Numbers::new(5);
        let values = numbers.floats(400);
        let mut bytes = Activations::default();
        bytes.quantise(Level::detect(), &values, 400);
        for (code, value) in bytes.codes.iter().zip(&values) {
            assert!(*code > 0);
            let Steps { scale, centre } = bytes.steps[0];
            let back = (f32::from(*code) - 128.0) * scale + centre;
            assert!((back - value).abs() <= 0.51 * scale);
        }
    }

    #[test]
    fn zeros_stay_zeros() {
        let mut bytes = Activations::default();
        bytes.quantise(Level::detect(), &[0.0; 8], 8);
        assert_eq!(bytes.codes, [128; 8]);
    }
}
