//! What happens to each token between two products: layer norm, with or without a residual, and the
//! GELU. Plain Rust, compiled for every level.

use super::lanes;
use super::math::erf;

at_every_level! {
    /// Normalises each token of `values`: subtracts the mean, divides by the standard deviation, then
    /// scales by `gain` and adds `bias` (Ba et al. 2016, "Layer normalization").
    ///
    /// # Panics
    ///
    /// If `gain` and `bias` differ in length or are empty.
    pub fn layer_norm(values: &mut [f32], gain: &[f32], bias: &[f32], epsilon: f32) {
        assert_eq!(gain.len(), bias.len(), "gain and bias must have a value per column");
        for token in values.chunks_exact_mut(gain.len()) {
            normalise(token, gain, bias, epsilon);
        }
    }
}

at_every_level! {
    /// Adds `residual` to `values` and then does what [`layer_norm`] does.
    ///
    /// # Panics
    ///
    /// If `gain` and `bias` differ in length or are empty, or `residual` is not as long as `values`.
    pub fn add_layer_norm(values: &mut [f32], residual: &[f32], gain: &[f32], bias: &[f32], epsilon: f32) {
        assert_eq!(gain.len(), bias.len(), "gain and bias must have a value per column");
        assert_eq!(values.len(), residual.len(), "there must be a residual per value");
        let width = gain.len();
        for (token, residual) in values.chunks_exact_mut(width).zip(residual.chunks_exact(width)) {
            for (value, residual) in token.iter_mut().zip(residual) {
                *value += *residual;
            }
            normalise(token, gain, bias, epsilon);
        }
    }
}

at_every_level! {
    /// Applies the Gaussian error linear unit, `x / 2 × (1 + erf(x / √2))` (Hendrycks and Gimpel 2016), in
    /// the exact form rather than the one with the hyperbolic tangent.
    pub fn gelu(values: &mut [f32]) {
        for value in values {
            let x = *value;
            *value = 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2));
        }
    }
}

#[inline(always)]
fn normalise(token: &mut [f32], gain: &[f32], bias: &[f32], epsilon: f32) {
    let count = token.len() as f32;
    let mean = lanes::sum(token, |x| x) / count;
    let variance = lanes::sum(token, |x| (x - mean) * (x - mean)) / count;
    let inverse = 1.0 / (variance + epsilon).sqrt();
    for ((value, gain), bias) in token.iter_mut().zip(gain).zip(bias) {
        *value = (*value - mean) * inverse * gain + bias;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;
    use crate::simd::testing::Numbers;

    fn check_levels(width: usize, run: impl Fn(Level, &mut [f32], &[f32], &[f32], &[f32])) {
        let mut numbers = Numbers::new(width as u64);
        let [values, residual] = [3, 3].map(|tokens| numbers.floats(tokens * width));
        let [gain, bias] = [1, 1].map(|_| numbers.floats(width));
        let mut want = values.clone();
        run(Level::SCALAR, &mut want, &residual, &gain, &bias);
        for level in Level::available() {
            let mut got = values.clone();
            run(level, &mut got, &residual, &gain, &bias);
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&got), bits(&want), "{level}, width {width}");
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        for width in [1, 2, 15, 16, 17, 31, 100, 384] {
            check_levels(width, |level, x, _, gain, bias| layer_norm(level, x, gain, bias, 1e-12));
            check_levels(width, |level, x, r, gain, bias| add_layer_norm(level, x, r, gain, bias, 1e-12));
            check_levels(width, |level, x, _, _, _| gelu(level, x));
        }
    }

    #[test]
    fn a_normalised_token_has_mean_zero_and_deviation_one() {
        let mut token = Numbers::new(9).floats(384);
        layer_norm(Level::detect(), &mut token, &[1.0; 384], &[0.0; 384], 1e-12);
        let mean = token.iter().sum::<f32>() / 384.0;
        let variance = token.iter().map(|x| x * x).sum::<f32>() / 384.0;
        assert!(mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-4, "{mean}, {variance}");
    }

    #[test]
    fn gelu_has_its_known_values() {
        let mut values = [-10.0, -1.0, 0.0, 1.0, 10.0];
        gelu(Level::detect(), &mut values);
        let want = [0.0, -0.158_655, 0.0, 0.841_345, 10.0];
        for (got, want) in values.iter().zip(want) {
            assert!((got - want).abs() < 1e-5, "{got}, not {want}");
        }
    }
}
