//! A rotation that spreads what a vector says over all of its numbers, so that their signs tell more: three
//! times random signs and a Walsh–Hadamard transform. Lengths and products of vectors stay what they are.

use super::Level;

/// How often signs are changed and numbers mixed.
const ROUNDS: usize = 3;

/// The rotation for vectors of one width; the same in every process.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// 1 or −1 for each number, round after round.
    signs: Vec<f32>,
    width: usize,
}

impl Mix {
    /// The rotation for that width.
    pub fn new(width: usize) -> Mix {
        // xorshift (Marsaglia 2003), the best bit of each number.
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut sign = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state >> 63 == 1 { 1.0 } else { -1.0 }
        };
        Mix { signs: (0..ROUNDS * width).map(|_| sign()).collect(), width }
    }

    /// Rotates a vector in place.
    ///
    /// # Panics
    ///
    /// If it has another width.
    pub fn apply(&self, level: Level, values: &mut [f32]) {
        assert_eq!(values.len(), self.width, "a rotation is for one width");
        if self.width > 1 {
            rounds(level, &self.signs, values);
        }
    }
}

at_every_level! {
    fn rounds(signs: &[f32], values: &mut [f32]) {
        let width = values.len();
        // A transform needs a power of two: one over the first numbers, one over the last, which overlap.
        let part = 1 << width.ilog2();
        let scale = 1.0 / (part as f32).sqrt();
        for signs in signs.chunks_exact(width) {
            for (value, sign) in values.iter_mut().zip(signs) {
                *value *= sign;
            }
            transform(&mut values[..part], scale);
            if part < width {
                transform(&mut values[width - part..], scale);
            }
        }
    }
}

#[inline(always)]
fn transform(values: &mut [f32], scale: f32) {
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    for value in values {
        *value *= scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dot_f32;
    use crate::simd::testing::Numbers;

    #[test]
    fn every_level_gives_the_same_bits() {
        let mut numbers = Numbers::new(11);
        for width in [0, 1, 2, 3, 31, 64, 100, 384, 768] {
            let values = numbers.floats(width);
            let mix = Mix::new(width);
            let mut want = values.clone();
            mix.apply(Level::SCALAR, &mut want);
            for level in Level::available() {
                let mut got = values.clone();
                mix.apply(level, &mut got);
                let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&got), bits(&want), "{level}, width {width}");
            }
        }
    }

    #[test]
    fn products_stay_what_they_are() {
        let mut numbers = Numbers::new(12);
        for width in [1, 2, 5, 64, 100, 384, 1000] {
            let (mut a, mut b) = (numbers.floats(width), numbers.floats(width));
            let want = dot_f32(&a, &b);
            let mix = Mix::new(width);
            mix.apply(Level::detect(), &mut a);
            mix.apply(Level::detect(), &mut b);
            assert!((dot_f32(&a, &b) - want).abs() < 1e-3, "width {width}");
        }
    }

    #[test]
    fn one_number_is_spread_over_all() {
        for width in [64, 384, 700] {
            let mut values = vec![0.0; width];
            values[1] = 1.0;
            Mix::new(width).apply(Level::detect(), &mut values);
            let sum: f32 = values.iter().map(|x| x.abs()).sum();
            assert!(sum > 0.65 * (width as f32).sqrt(), "{width}: {sum}");
        }
    }
}
