//! Rows of one bit per number, the sign, against a query that keeps its magnitudes: a first look at very
//! many vectors for an eighth of what bytes cost to read. Does not know what the numbers mean.
//!
//! A row's score is its *agreement* with the query: the sum of the query's magnitudes, as whole numbers, where
//! row and query have the same sign. Twice that minus the sum of all magnitudes is the product of the query
//! with the signs. Agreements are exact integers, so every level gives the same.
//!
//! Four bits of a row pick one of sixteen sums, which a shuffle of bytes looks up for 32 rows at once (André,
//! Kermarrec and Le Scouarnec 2015, "Cache locality is not enough"), so rows are stored 32 together.

use super::Level;
use super::level::Isa;

/// Rows that are stored and scored together.
pub const BLOCK_ROWS: usize = 32;

/// The widest row.
pub const MAX_WIDTH: usize = 32_768;

/// Numbers of a row in one [`Cell`].
const CELL_WIDTH: usize = 16;

/// Numbers of a row that are looked up at once.
const GROUP: usize = 4;

/// The largest magnitude: two sums of four still fit a byte.
const MAGNITUDE_MAX: usize = 31;

/// Sixteen numbers of 32 rows: four groups, sixteen bytes each, the first sixteen rows in the lower halves.
/// Or what to add for each pattern of four bits: four tables of sixteen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Cell(pub(super) [u8; 64]);

/// The signs of the numbers of many rows.
#[derive(Clone, Debug, PartialEq)]
pub struct BitRows {
    width: usize,
    rows: usize,
    cells: Vec<Cell>,
}

impl BitRows {
    /// No rows, of that width.
    ///
    /// # Panics
    ///
    /// If the width is greater than [`MAX_WIDTH`].
    pub fn new(width: usize) -> BitRows {
        assert!(width <= MAX_WIDTH, "rows must be up to {MAX_WIDTH} wide");
        BitRows { width, rows: 0, cells: Vec::new() }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many blocks they fill; the last may be filled in part.
    pub fn blocks(&self) -> usize {
        self.rows.div_ceil(BLOCK_ROWS)
    }

    /// The bytes that they take.
    pub fn bytes(&self) -> usize {
        size_of_val(self.cells.as_slice())
    }

    /// Adds a row: a bit for each number that is greater than zero.
    ///
    /// # Panics
    ///
    /// If the number of values is not the width.
    pub fn push(&mut self, values: &[f32]) {
        assert_eq!(values.len(), self.width, "a row must have a value per column");
        if self.rows.is_multiple_of(BLOCK_ROWS) {
            self.cells.resize(self.cells.len() + cells_of(self.width), Cell([0; 64]));
        }
        let row = self.rows;
        self.rows += 1;
        for (group, values) in values.chunks(GROUP).enumerate() {
            let bits = values.iter().rev().fold(0, |bits, value| bits << 1 | u8::from(*value > 0.0));
            self.set(row, group, bits);
        }
    }

    /// Makes all bits of a row zero.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn clear(&mut self, row: usize) {
        assert!(row < self.rows, "only a row that exists can be cleared");
        (0..self.width.div_ceil(GROUP)).for_each(|group| self.set(row, group, 0));
    }

    /// The same rows in another order: first the row that `order` names first.
    ///
    /// # Panics
    ///
    /// If `order` names a row that does not exist.
    pub fn permuted(&self, order: &[usize]) -> BitRows {
        assert!(order.iter().all(|row| *row < self.rows), "an order must name rows that exist");
        let cells = vec![Cell([0; 64]); order.len().div_ceil(BLOCK_ROWS) * cells_of(self.width)];
        let mut other = BitRows { width: self.width, rows: order.len(), cells };
        for (to, from) in order.iter().enumerate() {
            (0..self.width.div_ceil(GROUP)).for_each(|group| other.set(to, group, self.get(*from, group)));
        }
        other
    }

    fn get(&self, row: usize, group: usize) -> u8 {
        let (cell, byte, shift) = self.place(row, group);
        self.cells[cell].0[byte] >> shift & 15
    }

    fn set(&mut self, row: usize, group: usize, bits: u8) {
        let (cell, byte, shift) = self.place(row, group);
        let byte = &mut self.cells[cell].0[byte];
        *byte = *byte & !(15 << shift) | bits << shift;
    }

    /// The cell, the byte in it and the shift of four bits of a row.
    fn place(&self, row: usize, group: usize) -> (usize, usize, u32) {
        const GROUPS: usize = CELL_WIDTH / GROUP;
        let (block, row) = (row / BLOCK_ROWS, row % BLOCK_ROWS);
        let cell = block * cells_of(self.width) + group / GROUPS;
        (cell, group % GROUPS * 16 + row % 16, if row < 16 { 0 } else { 4 })
    }
}

fn cells_of(width: usize) -> usize {
    width.div_ceil(CELL_WIDTH)
}

/// A query: what each pattern of four bits of a row adds to its agreement.
#[derive(Clone, Debug, PartialEq)]
pub struct BitQuery {
    width: usize,
    table: Vec<Cell>,
    total: u32,
    step: f32,
}

impl BitQuery {
    /// Rounds the magnitudes to whole numbers, up to 31; of more than 2,114 numbers to fewer, so that no
    /// agreement exceeds 16 bits.
    ///
    /// # Panics
    ///
    /// If there are more than [`MAX_WIDTH`] values.
    pub fn new(values: &[f32]) -> BitQuery {
        let width = values.len();
        assert!(width <= MAX_WIDTH, "a query must be up to {MAX_WIDTH} wide");
        let greatest = (usize::from(u16::MAX) / width.max(1)).min(MAGNITUDE_MAX) as f32;
        let largest = values.iter().fold(0f32, |largest, value| largest.max(value.abs()));
        let step = largest / greatest;
        let inverse = if step > 0.0 { 1.0 / step } else { 0.0 };
        let mut table = vec![Cell([0; 64]); cells_of(width)];
        let mut total = 0;
        for (group, values) in values.chunks(GROUP).enumerate() {
            let sums = &mut table[group * GROUP / CELL_WIDTH].0[group * 16 % 64..][..16];
            for (place, value) in values.iter().enumerate() {
                // No rounding up beyond the greatest: the largest value times the inverse may be a little more.
                let magnitude = (value.abs() * inverse).min(greatest).round() as u8;
                total += u32::from(magnitude);
                let agrees = |pattern: usize| (pattern >> place & 1 == 1) == (*value > 0.0);
                (0..16).filter(|pattern| agrees(*pattern)).for_each(|pattern| sums[pattern] += magnitude);
            }
        }
        BitQuery { width, table, total, step }
    }

    /// The sum of all magnitudes: the greatest agreement.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// What a magnitude of one stands for.
    pub fn step(&self) -> f32 {
        self.step
    }
}

/// Writes to `sums` the agreement of the query with each row, from block `first` on. Places of the last
/// block that no row has yet get what a row of zeros would.
///
/// # Panics
///
/// If query and rows differ in width, or there are not as many blocks.
pub fn agreement_at(
    level: Level,
    query: &BitQuery,
    rows: &BitRows,
    first: usize,
    sums: &mut [[u16; BLOCK_ROWS]],
) {
    assert_eq!(query.width, rows.width, "query and rows must have one width");
    let each = query.table.len();
    let cells = &rows.cells[first * each..(first + sums.len()) * each];
    match level.isa() {
        Isa::Scalar => portable(&query.table, cells, sums),
        // SAFETY: the processor has AVX2: that is what the first level says, and AVX-512 includes it. There are
        // as many cells as the kernel reads, by the line that took them.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 | Isa::Avx512 => unsafe { super::bits_avx2::agreement(&query.table, cells, sums) },
    }
}

fn portable(table: &[Cell], cells: &[Cell], sums: &mut [[u16; BLOCK_ROWS]]) {
    for (block, sums) in sums.iter_mut().enumerate() {
        *sums = [0; BLOCK_ROWS];
        for (cell, table) in cells[block * table.len()..].iter().zip(table) {
            for (codes, table) in cell.0.as_chunks::<16>().0.iter().zip(table.0.as_chunks::<16>().0) {
                for (row, code) in codes.iter().enumerate() {
                    sums[row] += u16::from(table[usize::from(code & 15)]);
                    sums[row + 16] += u16::from(table[usize::from(code >> 4)]);
                }
            }
        }
    }
}

at_every_level! {
    /// Writes to `values`, for each row, the product of the query with the row's signs, times the row's factor,
    /// plus its offset. `agreements` are those of the query, whose total and step are given.
    ///
    /// # Panics
    ///
    /// If there is not an agreement, a factor and an offset per value.
    pub fn estimates_at(
        total: u32,
        step: f32,
        agreements: &[u16],
        factors: &[f32],
        offsets: &[f32],
        values: &mut [f32],
    ) {
        let count = values.len();
        let (agreements, factors, offsets) = (&agreements[..count], &factors[..count], &offsets[..count]);
        let total = total as f32;
        for i in 0..count {
            values[i] = (2.0 * f32::from(agreements[i]) - total) * step * factors[i] + offsets[i];
        }
    }
}

at_every_level! {
    /// Whether any value, plus so much of its factor, is greater than `least`.
    ///
    /// # Panics
    ///
    /// If there is no factor per value.
    pub fn any_above_at(values: &[f32], factors: &[f32], share: f32, least: f32) -> bool {
        let factors = &factors[..values.len()];
        let mut any = false;
        for i in 0..values.len() {
            any |= values[i] + share * factors[i] > least;
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simd::testing::Numbers;

    fn rows_of(width: usize, values: &[f32]) -> BitRows {
        let mut rows = BitRows::new(width);
        values.chunks_exact(width).for_each(|row| rows.push(row));
        rows
    }

    fn agreements(level: Level, query: &BitQuery, rows: &BitRows) -> Vec<u16> {
        let mut sums = vec![[u16::MAX; BLOCK_ROWS]; rows.blocks()];
        agreement_at(level, query, rows, 0, &mut sums);
        sums.as_flattened()[..rows.rows()].to_vec()
    }

    /// As the definition says, number by number.
    fn plain(query: &[f32], rows: &[f32]) -> Vec<u16> {
        let width = query.len();
        let greatest = (65_535 / width).min(31) as f32;
        let largest = query.iter().fold(0f32, |largest, value| largest.max(value.abs()));
        let inverse = 1.0 / (largest / greatest);
        let one = |(row, query): (&f32, &f32)| {
            let magnitude = (query.abs() * inverse).min(greatest).round() as u16;
            if (*row > 0.0) == (*query > 0.0) { magnitude } else { 0 }
        };
        rows.chunks_exact(width).map(|row| row.iter().zip(query).map(one).sum()).collect()
    }

    proptest! {
        #[test]
        fn every_level_gives_the_exact_agreements(width in 1usize..200, count in 1usize..100, seed: u64) {
            let mut numbers = Numbers::new(seed);
            let (query, values) = (numbers.floats(width), numbers.floats(width * count));
            let (bits, rows) = (BitQuery::new(&query), rows_of(width, &values));
            let want = plain(&query, &values);
            for level in Level::available() {
                prop_assert_eq!(agreements(level, &bits, &rows), &want[..], "{}", level);
            }
        }

        #[test]
        fn rows_are_moved_and_cleared_one_by_one(width in 1usize..80, count in 1usize..70, seed: u64) {
            let mut numbers = Numbers::new(seed);
            let mut values = numbers.floats(width * count);
            let mut rows = rows_of(width, &values);
            let gone = numbers.next() as usize % count;
            rows.clear(gone);
            values[gone * width..][..width].fill(0.0);
            prop_assert_eq!(&rows, &rows_of(width, &values));
            let order: Vec<usize> = (0..2 * count).map(|_| numbers.next() as usize % count).collect();
            let moved: Vec<f32> =
                order.iter().flat_map(|row| &values[row * width..][..width]).copied().collect();
            prop_assert_eq!(rows.permuted(&order), rows_of(width, &moved));
        }
    }

    #[test]
    fn no_width_overflows_an_agreement() {
        for width in [384, 1024, 2113, 2114, 2115, 3072, 8192, MAX_WIDTH] {
            let query = vec![1.0; width];
            let rows = rows_of(width, &[vec![1.0; width], vec![-1.0; width]].concat());
            let bits = BitQuery::new(&query);
            assert!(bits.total() <= 65_535);
            for level in Level::available() {
                assert_eq!(agreements(level, &bits, &rows), [bits.total() as u16, 0], "{level}, {width}");
            }
        }
    }

    #[test]
    fn blocks_can_be_scored_apart() {
        let mut numbers = Numbers::new(8);
        let (query, values) = (numbers.floats(50), numbers.floats(50 * 200));
        let (query, rows) = (BitQuery::new(&query), rows_of(50, &values));
        let whole = agreements(Level::detect(), &query, &rows);
        let mut sums = [[0; BLOCK_ROWS]; 2];
        agreement_at(Level::detect(), &query, &rows, 3, &mut sums);
        assert_eq!(sums.as_flattened(), &whole[96..160]);
    }

    #[test]
    fn every_level_estimates_the_same_bits() {
        let mut numbers = Numbers::new(9);
        for count in [0, 1, 15, 32, 33, 1000] {
            let agreements: Vec<u16> = (0..count).map(|_| numbers.next() as u16).collect();
            let [factors, offsets] = [(); 2].map(|()| numbers.floats(count));
            let run = |level| {
                let mut values = vec![f32::NAN; count];
                estimates_at(level, 40_000, 0.37, &agreements, &factors, &offsets, &mut values);
                values
            };
            let want = run(Level::SCALAR);
            let greatest = want.iter().zip(&factors).map(|(value, factor)| value + 2.0 * factor);
            let greatest = greatest.fold(f32::NEG_INFINITY, f32::max);
            for level in Level::available() {
                let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&run(level)), bits(&want), "{level}, {count}");
                assert!(!any_above_at(level, &want, &factors, 2.0, greatest));
                assert_eq!(any_above_at(level, &want, &factors, 2.0, greatest.next_down()), count > 0);
            }
        }
    }

    #[test]
    fn a_query_of_zeros_or_of_nothing_agrees_with_nothing() {
        let rows = rows_of(3, &[1.0, -1.0, 0.0]);
        let zeros = BitQuery::new(&[0.0; 3]);
        assert_eq!((zeros.total(), zeros.step()), (0, 0.0));
        assert_eq!(agreements(Level::detect(), &zeros, &rows), [0]);
        let mut nothing = BitRows::new(0);
        nothing.push(&[]);
        assert_eq!(agreements(Level::detect(), &BitQuery::new(&[]), &nothing), [0]);
    }
}
