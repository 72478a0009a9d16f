//! The exponential and the error function as polynomials: the same bits on every machine. Works on
//! one number; loops around it are in `rows` and `attention`.

/// 1.5 × 2²³: adding it to a small float leaves the nearest integer in the low bits of the sum.
/// Ties go to even, as everywhere in IEEE arithmetic.
const ROUNDING: f32 = 12_582_912.0;

/// Returns the integer nearest to `x`, which must be within ±2²².
#[inline(always)]
pub(super) fn nearest(x: f32) -> i32 {
    (x + ROUNDING).to_bits().wrapping_sub(ROUNDING.to_bits()) as i32
}

/// Returns `e` to the power of `x`, with an error of about 1 in 10⁷. Below −87 it answers as for −87,
/// which is about 10⁻³⁸; above 88 as for 88.
///
/// Range reduction and coefficients are those of `expf` in the Cephes library (S. L. Moshier).
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let x = if x > -87.0 { x } else { -87.0 };
    let x = if x < 88.0 { x } else { 88.0 };
    let shifted = x * std::f32::consts::LOG2_E + ROUNDING;
    let n = shifted - ROUNDING;
    // The natural logarithm of 2 in two parts: the first has few bits, so n × it is exact.
    let r = x - n * 0.693_359_4;
    let r = r - n * -2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 5e-1;
    let y = p * (r * r) + r + 1.0;
    // The low bits of `shifted` hold n: moved into the exponent they make 2ⁿ.
    y * f32::from_bits((shifted.to_bits() << 23).wrapping_add(1f32.to_bits()))
}

/// Returns the error function of `x`, with an absolute error below 5 in 10⁷.
///
/// The rational approximation is the one of Eigen's `generic_fast_erf_float`; beyond ±4 the result
/// differs from ±1 by less than the error.
#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let x = if x > -4.0 { x } else { -4.0 };
    let x = if x < 4.0 { x } else { 4.0 };
    let y = x * x;
    let p = -2.726_142_3e-10;
    let p = p * y + 2.770_681_4e-8;
    let p = p * y + -2.101_024e-6;
    let p = p * y + -5.692_506_6e-5;
    let p = p * y + -7.349_906_3e-4;
    let p = p * y + -2.954_6e-3;
    let p = p * y + -1.609_603_3e-2;
    let q = -1.456_607_2e-5;
    let q = q * y + -2.133_740_6e-4;
    let q = q * y + -1.682_827e-3;
    let q = q * y + -7.373_329e-3;
    let q = q * y + -1.426_473_9e-2;
    x * p / q
}

#[cfg(test)]
mod tests {
    use super::{erf, exp, nearest};

    #[test]
    fn exp_is_right_to_a_few_units_in_the_last_place() {
        for step in -8700..8800 {
            let x = step as f32 / 100.0;
            let want = f64::from(x).exp();
            let got = f64::from(exp(x));
            assert!((got / want - 1.0).abs() < 3e-7, "exp({x}) = {got}, not {want}");
        }
        assert!(exp(-1e30) > 0.0 && exp(-1e30) < 1e-37);
        assert!(exp(1e30).is_finite());
    }

    #[test]
    fn erf_agrees_with_its_power_series() {
        for step in -450..450 {
            let x = step as f32 / 100.0;
            let got = f64::from(erf(x));
            let want = series(f64::from(x));
            assert!((got - want).abs() < 5e-7, "erf({x}) = {got}, not {want}");
        }
    }

    fn series(x: f64) -> f64 {
        let mut term = x;
        let mut sum = x;
        for n in 1..120 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn nearest_takes_ties_to_even() {
        let cases = [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (126.7, 127), (-126.7, -127)];
        for (x, want) in cases {
            assert_eq!(nearest(x), want, "{x}");
        }
    }
}
