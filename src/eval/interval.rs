//! How far may a mean lie from where it would lie with other queries? The bootstrap of Efron (1979): means of samples
//! drawn with replacement, and the range that holds 95 of 100 of them. Differences are drawn in pairs, query by query, since what
//! is hard for one recall is mostly hard for the other.

/// How many samples are drawn.
const SAMPLES: usize = 2000;
/// What is left out at either end, of a thousand.
const OUTSIDE: usize = 25;
/// Where the draws begin: the same report for the same answers.
const SEED: u64 = 0x5ec0_4da4;

/// A mean and the range that holds it with 95 of 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Where the range begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

impl Interval {
    /// Of one value for each query; none without queries.
    pub fn of(values: &[f64]) -> Option<Interval> {
        let count = values.len();
        let mean = |sum: f64| sum / count as f64;
        let mut draws = Draws(SEED);
        let mut sample = || mean((0..count).map(|_| values[draws.below(count)]).sum());
        let mut means: Vec<f64> = (0..if count == 0 { 0 } else { SAMPLES }).map(|_| sample()).collect();
        means.sort_unstable_by(f64::total_cmp);
        let outside = SAMPLES * OUTSIDE / 1000;
        let (low, high) = (*means.get(outside)?, *means.get(SAMPLES - 1 - outside)?);
        Some(Interval { mean: mean(values.iter().sum()), low, high })
    }

    /// Whether it lies on one side of nothing.
    pub fn is_clear(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let drawn = u128::from(mixed ^ mixed >> 31) * bound as u128;
        (drawn >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_holds_the_mean_and_narrows_with_more_queries() {
        assert_eq!(Interval::of(&[]), None);
        assert_eq!(Interval::of(&[0.5; 9]), Some(Interval { mean: 0.5, low: 0.5, high: 0.5 }));
        let coin = |count: usize| -> Vec<f64> { (0..count).map(|at| f64::from(at as u8 % 2)).collect() };
        let (few, many) = (Interval::of(&coin(40)).unwrap(), Interval::of(&coin(4000)).unwrap());
        assert!(few.low < few.mean && few.mean < few.high && few.mean == 0.5);
        // 1.96 standard errors of a mean of fair coins.
        for (interval, count) in [(few, 40.0f64), (many, 4000.0)] {
            let expected = 2.0 * 1.96 * 0.5 / count.sqrt();
            assert!(((interval.high - interval.low) / expected - 1.0).abs() < 0.2, "{interval:?}");
        }
        assert!(
            Interval::of(&[0.1, 0.2, 0.3]).unwrap().is_clear()
                && !Interval::of(&[-1.0, 1.0]).unwrap().is_clear()
        );
        assert_eq!(Interval::of(&coin(40)), Interval::of(&coin(40)));
    }
}
