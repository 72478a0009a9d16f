//! Weighted sums of short vectors, several at once: the two products of attention. Does not know which of
//! them it computes.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::lanes::LANES;
use super::level::{Isa, Level};

/// Sums that are worth asking for at once.
pub(super) const AT_ONCE: usize = 8;

/// Writes to each of `sums` the sum of all `vectors`, each times its factor. The factors of the first sum
/// come first, those of the next `stride` later.
///
/// Vectors are added in order, each product being rounded first; so the sums have the same bits on every
/// level, and each is what it would be alone.
///
/// # Panics
///
/// If a factor is missing.
pub(super) fn combine(
    level: Level,
    factors: &[f32],
    stride: usize,
    vectors: &[[f32; LANES]],
    sums: &mut [[f32; LANES]],
) {
    let mut first = 0;
    while first < sums.len() {
        let left = sums.len() - first;
        let now = AT_ONCE.min(left.next_power_of_two());
        let now = if now > left { now / 2 } else { now };
        let (factors, sums) = (&factors[first * stride..], &mut sums[first..first + now]);
        assert!(factors.len() >= (now - 1) * stride + vectors.len(), "every vector needs a factor");
        match level.isa() {
            Isa::Scalar => scalar(factors, stride, vectors, sums),
            // SAFETY: a level of this kind is only made when the processor has AVX2; there are `now` sums,
            // and enough factors.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe {
                match now {
                    8 => avx2::<4, 2>(factors, stride, vectors, sums),
                    4 => avx2::<4, 1>(factors, stride, vectors, sums),
                    2 => avx2::<2, 1>(factors, stride, vectors, sums),
                    _ => avx2::<1, 1>(factors, stride, vectors, sums),
                }
            },
            // SAFETY: as above, for AVX-512.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe {
                match now {
                    8 => avx512::<8>(factors, stride, vectors, sums),
                    4 => avx512::<4>(factors, stride, vectors, sums),
                    2 => avx512::<2>(factors, stride, vectors, sums),
                    _ => avx512::<1>(factors, stride, vectors, sums),
                }
            },
        }
        first += now;
    }
}

fn scalar(factors: &[f32], stride: usize, vectors: &[[f32; LANES]], sums: &mut [[f32; LANES]]) {
    for (s, sum) in sums.iter_mut().enumerate() {
        *sum = [0.0; LANES];
        for (vector, factor) in vectors.iter().zip(&factors[s * stride..]) {
            for i in 0..LANES {
                sum[i] += factor * vector[i];
            }
        }
    }
}

/// Computes `N` sums, each in one register.
///
/// # Safety
///
/// `sums` must be `N`, and `factors` hold a factor per vector for each of them, `stride` apart.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512<const N: usize>(
    factors: &[f32],
    stride: usize,
    vectors: &[[f32; LANES]],
    sums: &mut [[f32; LANES]],
) {
    debug_assert!(sums.len() == N && factors.len() >= (N - 1) * stride + vectors.len());
    let mut totals = [_mm512_setzero_ps(); N];
    for (k, vector) in vectors.iter().enumerate() {
        // SAFETY: a vector is sixteen floats.
        let vector = unsafe { _mm512_loadu_ps(vector.as_ptr()) };
        for s in 0..N {
            // SAFETY: s < N and k < vectors.len(), and there is a factor for both.
            let factor = _mm512_set1_ps(unsafe { *factors.get_unchecked(s * stride + k) });
            totals[s] = _mm512_add_ps(totals[s], _mm512_mul_ps(factor, vector));
        }
    }
    for s in 0..N {
        // SAFETY: a sum is sixteen floats.
        unsafe { _mm512_storeu_ps(sums[s].as_mut_ptr(), totals[s]) };
    }
}

/// Computes `N` sums, each in two registers, `TIMES` times.
///
/// # Safety
///
/// `sums` must be `N × TIMES`, and `factors` hold a factor per vector for each of them, `stride` apart.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<const N: usize, const TIMES: usize>(
    factors: &[f32],
    stride: usize,
    vectors: &[[f32; LANES]],
    sums: &mut [[f32; LANES]],
) {
    debug_assert!(sums.len() == N * TIMES && factors.len() >= (N * TIMES - 1) * stride + vectors.len());
    for first in (0..N * TIMES).step_by(N) {
        let mut totals = [[_mm256_setzero_ps(); 2]; N];
        for (k, vector) in vectors.iter().enumerate() {
            // SAFETY: a vector is sixteen floats, two times eight.
            let (left, right) =
                unsafe { (_mm256_loadu_ps(vector.as_ptr()), _mm256_loadu_ps(vector.as_ptr().add(8))) };
            for s in 0..N {
                // SAFETY: first + s < N × TIMES and k < vectors.len(), and there is a factor for both.
                let factor = _mm256_set1_ps(unsafe { *factors.get_unchecked((first + s) * stride + k) });
                totals[s][0] = _mm256_add_ps(totals[s][0], _mm256_mul_ps(factor, left));
                totals[s][1] = _mm256_add_ps(totals[s][1], _mm256_mul_ps(factor, right));
            }
        }
        for s in 0..N {
            let sum = &mut sums[first + s];
            // SAFETY: a sum is sixteen floats, two times eight.
            unsafe {
                _mm256_storeu_ps(sum.as_mut_ptr(), totals[s][0]);
                _mm256_storeu_ps(sum.as_mut_ptr().add(8), totals[s][1]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::Numbers;

    #[test]
    fn every_level_gives_the_same_bits() {
        let mut numbers = Numbers::new(13);
        for count in 0..12 {
            for length in [0, 1, 2, 31, 100] {
                let stride = length + 3;
                let factors = numbers.floats(count * stride);
                let vectors: Vec<[f32; LANES]> =
                    (0..length).map(|_| [0; LANES].map(|_| numbers.float())).collect();
                let mut want = vec![[f32::NAN; LANES]; count];
                scalar(&factors, stride, &vectors, &mut want);
                for level in Level::available() {
                    let mut got = vec![[f32::NAN; LANES]; count];
                    combine(level, &factors, stride, &vectors, &mut got);
                    assert_eq!(got, want, "{level}, {count} sums of {length}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "factor")]
    fn a_missing_factor_is_refused() {
        combine(Level::detect(), &[1.0; 5], 3, &[[0.0; LANES]; 3], &mut [[0.0; LANES]; 2]);
    }
}
