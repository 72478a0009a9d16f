//! Sixteen floats side by side: the one order in which sums of floats are taken. Knows no kernel.

/// How many partial sums run side by side.
pub(super) const LANES: usize = 16;

/// Returns the sum of the lanes, halving: 8 apart, then 4, 2 and 1.
#[inline(always)]
pub(super) fn reduce(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Returns the sum over `values` of what `term` makes of each.
#[inline(always)]
pub(super) fn sum(values: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0f32; LANES];
    let (blocks, tail) = values.as_chunks::<LANES>();
    for block in blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane += term(*value);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(tail) {
        *lane += term(*value);
    }
    reduce(lanes)
}

/// Returns the greatest of `floor` and what `term` makes of each of `values`. No order matters here,
/// because a maximum does not round.
#[inline(always)]
pub(super) fn max(values: &[f32], floor: f32, term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [floor; LANES];
    let (blocks, tail) = values.as_chunks::<LANES>();
    for block in blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane = greater(term(*value), *lane);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(tail) {
        *lane = greater(term(*value), *lane);
    }
    lanes.iter().fold(floor, |best, lane| greater(*lane, best))
}

/// Returns the greater; the second when they do not compare. This is exactly one instruction.
#[inline(always)]
fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}
