//! Which of very many vectors can be the nearest? A sketch keeps a bit per number and two floats per row, an
//! eighth of the rounded vectors, and leaves a few hundred rows to be compared by those. It knows no
//! slots and holds no vector.
//!
//! The estimate is RaBitQ's (Gao and Long 2024), with the query in six bits. Rows and query are taken from a
//! common centre and rotated; the signs of what is left of a row, times one factor, stand for the row, and
//! its product with the centre is kept as it is. That matters: the vectors of models such as E5 lie in a
//! narrow cone, and bits of the whole vectors tell them apart badly. The error of an estimate is nearly
//! normal, with a deviation that is known: so the rows that may be among the nearest are those whose estimate is
//! within a few deviations of what the nearest by estimate turn out to have. A query of which nothing is near
//! leaves more of them than one that meets its subject.

use std::ops::Range;

use rayon::prelude::*;

use super::block::NONE;
use crate::simd::{
    BLOCK_ROWS, BitQuery, BitRows, Level, Mix, agreement_at, any_above_at, dot_f32, estimates_at,
};

/// Below so many rows the scan of rounded vectors is as fast.
pub const MIN_ROWS: usize = 8192;
/// A row by its bits costs about so many times less than a rounded one in the same run.
const CHEAPER: usize = 10;
/// About what the two looks at the nearest cost, in rounded rows.
const FIXED_ROWS: usize = 4000;
/// How many deviations an estimate may be off: 3 leaves out a row in a thousand of those at the very edge.
const DEVIATIONS: f32 = 3.0;
/// The least number of rows that are compared first.
const FIRST: usize = 128;
/// How many are compared next, if the first leave more than twice as many.
const THEN: usize = 512;
/// The most that are compared at last: this many, or this share of the rows.
const LAST: usize = 8192;
const LAST_SHARE: usize = 32;
/// Blocks that are estimated together: their agreements fit the nearest cache.
const RUN: usize = 32;
/// From so many rows on, the estimates are spread over the cores.
const PARALLEL_ROWS: usize = 131_072;

/// The rows that a search looks among, and what one with a cosine is worth: the cosine itself where nearness alone
/// counts. The worth may not fall where the cosine rises, nor rise faster.
pub trait Among: Sync {
    /// Whether a row may be looked at.
    fn is_allowed(&self, row: usize) -> bool;

    /// What a row is worth.
    fn worth(&self, row: usize, cosine: f32) -> f32;

    /// Whether any of some rows may be looked at.
    fn is_any_allowed(&self, mut rows: Range<usize>) -> bool {
        rows.any(|row| self.is_allowed(row))
    }

    /// Makes of the cosines of rows from `first` on what these are worth; [`NONE`] of those that may not be looked at.
    fn weigh(&self, first: usize, cosines: &mut [f32]) {
        for (row, value) in (first..).zip(cosines) {
            *value = if self.is_allowed(row) { self.worth(row, *value) } else { NONE };
        }
    }
}

/// A bit per number of each row, and what it takes to make cosines of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    mix: Mix,
    centre: Vec<f32>,
    bits: BitRows,
    /// What a bit is worth: of a row at a distance d from the centre, d² by the sum of its magnitudes.
    factors: Vec<f32>,
    /// Each row's product with the centre.
    offsets: Vec<f32>,
    /// The sum over all rows of their error's variance, as a share of the factor.
    variance: f64,
}

impl Sketch {
    /// A sketch of no rows. The centre is best the mean of the rows to come, and need not be it: any other
    /// makes estimates less sharp, not wrong.
    pub fn new(centre: Vec<f32>) -> Sketch {
        let width = centre.len();
        Sketch {
            mix: Mix::new(width),
            centre,
            bits: BitRows::new(width),
            factors: Vec::new(),
            offsets: Vec::new(),
            variance: 0.0,
        }
    }

    /// A sketch of rows that follow one another without gaps, about their mean.
    pub fn of(dims: usize, rows: &[f32]) -> Sketch {
        let mut sums = vec![0f64; dims];
        for row in rows.chunks_exact(dims.max(1)) {
            sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += f64::from(*number));
        }
        let count = (rows.len() / dims.max(1)).max(1) as f64;
        let mut sketch = Sketch::new(sums.iter().map(|sum| (sum / count) as f32).collect());
        rows.chunks_exact(dims.max(1)).for_each(|row| sketch.push(row));
        sketch
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.bits.rows()
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.bits.bytes() + (self.factors.len() + self.offsets.len()) * size_of::<f32>()
    }

    /// What asking it costs, in rows compared by their bytes; none where it is not to be asked.
    pub fn cost(&self) -> Option<usize> {
        // Plain instructions take as long for the bits as for the bytes.
        let is_quick = Level::detect() != Level::SCALAR && self.rows() >= MIN_ROWS;
        is_quick.then_some(self.rows() / CHEAPER + FIXED_ROWS)
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If it is not as wide as the centre.
    pub fn push(&mut self, row: &[f32]) {
        let rest = self.beyond_centre(row);
        let (mut sum, mut squares) = (0f32, 0f32);
        for number in &rest {
            sum += number.abs();
            squares += number * number;
        }
        let is_centre = sum == 0.0;
        self.bits.push(&rest);
        self.factors.push(if is_centre { 0.0 } else { squares / sum });
        self.offsets.push(dot_f32(row, &self.centre));
        let told = if is_centre { 1.0 } else { sum * sum / (squares * rest.len() as f32) };
        self.variance += f64::from((1.0 - told).max(0.0));
    }

    /// Nothing that a row meant is left of it; it is no candidate any more.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn blank(&mut self, row: usize) {
        self.bits.clear(row);
        self.factors[row] = 0.0;
        self.offsets[row] = NONE;
    }

    /// Brings the rows into another order: first the one that `order` names first.
    ///
    /// # Panics
    ///
    /// If `order` names a row that does not exist.
    pub fn permute(&mut self, order: &[usize]) {
        self.bits = self.bits.permuted(order);
        self.factors = order.iter().map(|row| self.factors[*row]).collect();
        self.offsets = order.iter().map(|row| self.offsets[*row]).collect();
    }

    /// The rows that may be among the `wanted` best of those allowed, in ascending order, each with its cosine; all
    /// rows that were compared are among them.
    ///
    /// `score` appends for each of the rows that it is told, ascending, a cosine that is good enough to tell which
    /// are near, such as that of the rounded vectors. It is asked up to three times. There are never fewer than
    /// `wanted` while so many rows are allowed, and the nearest by estimate are always among them.
    ///
    /// # Panics
    ///
    /// If the query is not as wide as the rows.
    pub fn nearest(
        &self,
        query: &[f32],
        wanted: usize,
        among: &impl Among,
        mut score: impl FnMut(&[u32], &mut Vec<f32>),
    ) -> Vec<(u32, f32)> {
        let estimates = self.estimates(query, among);
        let bar_of = |rows: &[u32], scores: &[f32]| {
            let worths = rows.iter().zip(scores).map(|(row, score)| among.worth(*row as usize, *score));
            bar_of(wanted, worths.collect())
        };
        let mut rows = estimates.best(wanted.max(FIRST).max(2 * wanted.min(FIRST)));
        let mut scores = Vec::with_capacity(2 * rows.len());
        score(&rows, &mut scores);
        if rows.len() >= wanted && wanted > 0 {
            let mut left = estimates.reaching(bar_of(&rows, &scores), &rows);
            // The likeliest of many raise the bar for the rest.
            if left.len() > 2 * THEN {
                let rest = split_greatest(&mut left, THEN);
                let then = ascending(left);
                score(&then, &mut scores);
                rows.extend(then);
                let bar = bar_of(&rows, &scores);
                left = rest.into_iter().filter(|(most, _)| *most > bar).collect();
            }
            split_greatest(&mut left, LAST.max(self.rows() / LAST_SHARE));
            let last = ascending(left);
            score(&last, &mut scores);
            rows.extend(last);
        }
        let mut all: Vec<(u32, f32)> = rows.into_iter().zip(scores).collect();
        all.sort_unstable_by_key(|(row, _)| *row);
        all
    }

    /// Estimates what every row that is allowed is worth.
    fn estimates(&self, query: &[f32], among: &impl Among) -> Estimates<'_> {
        let rest = self.beyond_centre(query);
        let length = dot_f32(&rest, &rest).sqrt();
        let bits = BitQuery::new(&rest);
        let base = dot_f32(query, &self.centre) - dot_f32(&self.centre, &self.centre);
        let level = Level::detect();
        let mut values = vec![NONE; self.rows()];
        let run = |(number, values): (usize, &mut [f32])| {
            let from = number * RUN * BLOCK_ROWS;
            if !among.is_any_allowed(from..from + values.len()) {
                return;
            }
            let mut sums = [[0u16; BLOCK_ROWS]; RUN];
            let sums = &mut sums[..values.len().div_ceil(BLOCK_ROWS)];
            agreement_at(level, &bits, &self.bits, number * RUN, sums);
            let agreements = sums.as_flattened();
            let (factors, offsets) = (&self.factors[from..], &self.offsets[from..]);
            estimates_at(level, bits.total(), bits.step(), agreements, factors, offsets, values);
            values.iter_mut().for_each(|value| *value += base);
            among.weigh(from, values);
        };
        if values.len() >= PARALLEL_ROWS {
            values.par_chunks_mut(RUN * BLOCK_ROWS).enumerate().with_min_len(16).for_each(run);
        } else {
            values.chunks_mut(RUN * BLOCK_ROWS).enumerate().for_each(run);
        }
        let deviation = (self.variance / self.rows().max(1) as f64).sqrt() as f32;
        Estimates { level, values, factors: &self.factors, margin: DEVIATIONS * deviation * length }
    }

    /// What there is of a vector beyond the centre, rotated.
    fn beyond_centre(&self, vector: &[f32]) -> Vec<f32> {
        assert_eq!(vector.len(), self.centre.len(), "vectors of a sketch must be as wide as its centre");
        let mut rest: Vec<f32> =
            vector.iter().zip(&self.centre).map(|(number, centre)| number - centre).collect();
        self.mix.apply(Level::detect(), &mut rest);
        rest
    }
}

/// What every row is worth by its estimated cosine.
struct Estimates<'s> {
    level: Level,
    /// [`NONE`] for rows that are not allowed.
    values: Vec<f32>,
    factors: &'s [f32],
    /// How far a row's cosine, and so its worth, may lie above the estimate, as a multiple of its factor.
    margin: f32,
}

impl Estimates<'_> {
    /// The rows of the `most` greatest estimates, ascending.
    fn best(&self, most: usize) -> Vec<u32> {
        let mut best: Vec<(f32, u32)> = Vec::with_capacity(2 * most + BLOCK_ROWS);
        let mut least = NONE;
        for (first, values, factors) in self.blocks() {
            if !any_above_at(self.level, values, factors, 0.0, least) {
                continue;
            }
            let rows = values.iter().copied().zip(first..);
            best.extend(rows.filter(|(value, _)| *value > least));
            if best.len() >= 2 * most {
                split_greatest(&mut best, most);
                least = best.iter().map(|(value, _)| *value).fold(f32::INFINITY, f32::min);
            }
        }
        split_greatest(&mut best, most);
        ascending(best)
    }

    /// The rows, but for `known` ones, that may be worth more than `bar`, and what each may be worth at most.
    fn reaching(&self, bar: f32, known: &[u32]) -> Vec<(f32, u32)> {
        let mut found: Vec<(f32, u32)> = Vec::new();
        for (first, values, factors) in self.blocks() {
            if !any_above_at(self.level, values, factors, self.margin, bar) {
                continue;
            }
            let most = values.iter().zip(factors).map(|(value, factor)| value + self.margin * factor);
            found.extend(most.zip(first..).filter(|(most, _)| *most > bar));
        }
        found.retain(|(_, row)| known.binary_search(row).is_err());
        found
    }

    /// Rows some at a time: the number of the first, the estimates, the factors.
    fn blocks(&self) -> impl Iterator<Item = (u32, &[f32], &[f32])> {
        let parts = self.values.chunks(BLOCK_ROWS).zip(self.factors.chunks(BLOCK_ROWS));
        parts.zip((0..).step_by(BLOCK_ROWS)).map(|((values, factors), first)| (first, values, factors))
    }
}

fn ascending(rows: Vec<(f32, u32)>) -> Vec<u32> {
    let mut rows: Vec<u32> = rows.into_iter().map(|(_, row)| row).collect();
    rows.sort_unstable();
    rows
}

/// Keeps the rows of the greatest values, of equal ones the earlier, and returns the rest.
fn split_greatest(rows: &mut Vec<(f32, u32)>, most: usize) -> Vec<(f32, u32)> {
    if rows.len() <= most {
        return Vec::new();
    }
    rows.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    rows.split_off(most)
}

/// The last of the `wanted` greatest; there are that many.
fn bar_of(wanted: usize, mut scores: Vec<f32>) -> f32 {
    *scores.select_nth_unstable_by(wanted - 1, |a, b| b.total_cmp(a)).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::Numbers;

    const DIMS: usize = 96;

    /// Vectors of unit length in a narrow cone, some near one another.
    fn vectors(seed: u64, count: usize) -> Vec<f32> {
        let mut axis = Numbers::new(99);
        let axis = axis.floats(DIMS);
        let mut numbers = Numbers::new(seed);
        let mut vector = vec![0.0; DIMS];
        let mut all = Vec::with_capacity(count * DIMS);
        for number in 0..count {
            if number % 5 == 0 {
                vector = axis.iter().map(|x| 2.0 * x + numbers.float()).collect();
            } else {
                vector.iter_mut().for_each(|x| *x += 0.2 * numbers.float());
            }
            let length = dot_f32(&vector, &vector).sqrt();
            all.extend(vector.iter().map(|x| x / length));
        }
        all
    }

    fn exact(rows: &[f32], query: &[f32], allowed: impl Fn(usize) -> bool) -> Vec<(u32, f32)> {
        let cosine = |(row, vector): (usize, &[f32])| (row as u32, dot_f32(query, vector));
        let all = rows.chunks_exact(DIMS).enumerate().filter(|(row, _)| allowed(*row)).map(cosine);
        let mut all: Vec<(u32, f32)> = all.collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// Rows for which nearness alone counts.
    struct Where<F>(F);

    impl<F: Fn(usize) -> bool + Sync> Among for Where<F> {
        fn is_allowed(&self, row: usize) -> bool {
            self.0(row)
        }

        fn worth(&self, _: usize, cosine: f32) -> f32 {
            cosine
        }
    }

    /// What the sketch proposes, scored in full; and how many rows it had scored.
    fn proposed(
        sketch: &Sketch,
        rows: &[f32],
        query: &[f32],
        wanted: usize,
        allowed: impl Fn(usize) -> bool + Sync,
    ) -> (Vec<(u32, f32)>, usize) {
        let mut scored = 0;
        let mut found = sketch.nearest(query, wanted, &Where(allowed), |picked, scores| {
            assert!(picked.is_sorted());
            scored += picked.len();
            scores.extend(picked.iter().map(|row| dot_f32(query, &rows[*row as usize * DIMS..][..DIMS])));
        });
        assert!(found.is_sorted_by(|a, b| a.0 < b.0) && found.len() == scored, "each row once, ascending");
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        (found, scored)
    }

    #[test]
    fn the_nearest_are_found_among_few_that_are_compared() {
        let count = 20_000;
        let rows = vectors(1, count);
        let sketch = Sketch::of(DIMS, &rows);
        assert_eq!(sketch.rows(), count);
        let queries =
            [vectors(2, 30), rows[..30 * DIMS].to_vec(), Numbers::new(3).floats(10 * DIMS)].concat();
        let (mut hits, mut of, mut compared) = (0, 0, 0);
        for (number, query) in queries.chunks_exact(DIMS).enumerate() {
            let allowed = |row: usize| number % 3 == 0 || row % number != 1;
            let want = exact(&rows, query, allowed);
            let (found, scored) = proposed(&sketch, &rows, query, 10, allowed);
            assert!(found.iter().all(|(row, _)| allowed(*row as usize)));
            hits += want[..10]
                .iter()
                .filter(|(row, _)| found[..10].iter().any(|(found, _)| found == row))
                .count();
            of += 10;
            compared += scored;
        }
        assert!(hits * 1000 >= of * 995, "{hits} of {of}");
        assert!(compared < of / 10 * count / 5, "{compared}");
    }

    #[test]
    fn the_error_of_an_estimate_is_as_large_as_is_said() {
        let rows = vectors(4, 3000);
        let sketch = Sketch::of(DIMS, &rows);
        let (mut squares, mut count) = (0.0, 0.0);
        for query in vectors(5, 20).chunks_exact(DIMS) {
            let estimates = sketch.estimates(query, &Where(|_| true));
            for (row, vector) in rows.chunks_exact(DIMS).enumerate() {
                let deviation = estimates.margin / DEVIATIONS * estimates.factors[row];
                squares += f64::from((estimates.values[row] - dot_f32(query, vector)) / deviation).powi(2);
                count += 1.0;
            }
        }
        let ratio = (squares / count).sqrt();
        assert!((0.8..1.2).contains(&ratio), "{ratio}");
    }

    #[test]
    fn never_fewer_than_asked_while_rows_are_allowed() {
        let rows = vectors(6, 2000);
        let sketch = Sketch::of(DIMS, &rows);
        let query = &rows[..DIMS];
        for few in [0, 1, 9, 10, 11, 127, 128, 129, 1000] {
            let allowed = |row: usize| row >= 700 && row < 700 + few;
            for wanted in [0, 1, 10, 200, 1500] {
                let (found, _) = proposed(&sketch, &rows, query, wanted, allowed);
                assert!(found.len() >= wanted.min(few), "{} of {wanted}, {few} allowed", found.len());
                assert!(found.iter().all(|(row, _)| allowed(*row as usize)));
            }
        }
        let none = Sketch::new(vec![0.0; DIMS]);
        assert!(none.nearest(query, 10, &Where(|_| true), |_, _| ()).is_empty());
    }

    #[test]
    fn later_rows_blanked_rows_and_another_order_are_followed() {
        let rows = vectors(7, 3000);
        // The centre is that of the first half only.
        let mut sketch = Sketch::of(DIMS, &rows[..1500 * DIMS]);
        rows[1500 * DIMS..].chunks_exact(DIMS).for_each(|row| sketch.push(row));
        let query = &rows[2700 * DIMS..][..DIMS];
        let best = |sketch: &Sketch, rows: &[f32]| proposed(sketch, rows, query, 10, |_| true).0[0].0;
        assert_eq!(best(&sketch, &rows), 2700);
        sketch.blank(2700);
        let next = exact(&rows, query, |row| row != 2700)[0].0;
        assert_eq!(best(&sketch, &rows), next);
        let order: Vec<usize> = (0..3000).rev().collect();
        let moved: Vec<f32> = order.iter().flat_map(|row| &rows[row * DIMS..][..DIMS]).copied().collect();
        sketch.permute(&order);
        assert_eq!(best(&sketch, &moved), 2999 - next);
    }

    #[test]
    fn rows_that_are_all_alike_or_zero_are_no_trouble() {
        let same = vec![0.1; 500 * DIMS];
        for rows in [same, vec![0.0; 500 * DIMS]] {
            let sketch = Sketch::of(DIMS, &rows);
            let (found, _) = proposed(&sketch, &rows, &rows[..DIMS], 10, |_| true);
            assert!(found.len() >= 10);
        }
    }

    #[test]
    fn it_costs_a_share_of_its_rows_and_a_small_one_is_not_asked() {
        let sketch = Sketch::of(4, &Numbers::new(8).floats(4 * 20_000));
        assert!(sketch.cost().is_none_or(|cost| cost == 6000));
        assert_eq!(Sketch::of(4, &[0.5; 400]).cost(), None);
    }
}
