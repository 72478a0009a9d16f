//! What many slots are worth by several columns at once: nearness between two bounds, a share for words, a share
//! for a mark. Does not know what the columns mean.

/// Less than any number: a slot that counts for nothing.
const NONE: f32 = f32::NEG_INFINITY;

/// How the columns of a slot add up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixed {
    /// Nearness counts from here,
    pub from: f32,
    /// and up to here.
    pub upto: f32,
    /// What a unit of nearness is worth.
    pub near: f32,
    /// What a unit of the other column is worth.
    pub more: f32,
    /// What a mark is worth.
    pub mark: f32,
}

impl Mixed {
    /// What the other columns add.
    #[inline(always)]
    pub fn beside(&self, more: f32, marked: bool) -> f32 {
        more * self.more + f32::from(u8::from(marked)) * self.mark
    }

    /// Nearness, up to where it counts; where the other columns add anything, from where it counts, and more.
    #[inline(always)]
    pub fn raised(&self, near: f32, more: f32, marked: bool) -> f32 {
        let beside = self.beside(more, marked);
        let below = if near < self.upto { near } else { self.upto };
        let within = if below > self.from { below } else { self.from };
        if beside > 0.0 { within * self.near + beside } else { below * self.near }
    }
}

/// So much as a share of itself and a middle: 0 for nothing, a half at the middle, below 1.
#[inline(always)]
pub fn share(value: f32, middle: f32) -> f32 {
    if value > 0.0 { value / (value + middle) } else { 0.0 }
}

/// How many values are looked at side by side.
const LANES: usize = 16;

at_every_level! {
    /// Makes nothing of the values that are not allowed, and returns the largest of the others; 0 if there is none above it.
    ///
    /// # Panics
    ///
    /// If there is not a value for each that is allowed or not.
    pub fn clear_at(allowed: &[bool], values: &mut [f32]) -> f32 {
        let allowed = &allowed[..values.len()];
        let mut most = [0f32; LANES];
        let whole = values.len() / LANES * LANES;
        for (values, allowed) in values.chunks_exact_mut(LANES).zip(allowed.chunks_exact(LANES)) {
            for i in 0..LANES {
                values[i] = if allowed[i] { values[i] } else { 0.0 };
                most[i] = if values[i] > most[i] { values[i] } else { most[i] };
            }
        }
        for i in whole..values.len() {
            values[i] = if allowed[i] { values[i] } else { 0.0 };
            most[0] = if values[i] > most[0] { values[i] } else { most[0] };
        }
        most.into_iter().fold(0.0, f32::max)
    }
}

at_every_level! {
    /// Makes of each value so many times itself.
    pub fn scale_at(factor: f32, values: &mut [f32]) {
        for value in values {
            *value *= factor;
        }
    }
}

at_every_level! {
    /// Makes of each nearness what it is worth, see [`Mixed::raised`]; negative infinity of what is not allowed.
    ///
    /// # Panics
    ///
    /// If a column is shorter than the others.
    pub fn raise_at(mixed: Mixed, allowed: &[bool], more: &[f32], marked: &[bool], near: &mut [f32]) {
        let count = near.len();
        let (allowed, more, marked) = (&allowed[..count], &more[..count], &marked[..count]);
        for i in 0..count {
            let value = mixed.raised(near[i], more[i], marked[i]);
            near[i] = if allowed[i] { value } else { NONE };
        }
    }
}

at_every_level! {
    /// Notes which slots add up to as much as `least`, of those of which any column says anything; nearness counts
    /// from `from`, not as itself but by how far it is beyond it. Returns whether there is any.
    ///
    /// # Panics
    ///
    /// If a column is shorter than the others.
    pub fn reaching_at(
        mixed: Mixed,
        least: f32,
        near: &[f32],
        more: &[f32],
        marked: &[bool],
        reaching: &mut [bool],
    ) -> bool {
        let count = reaching.len();
        let (near, more, marked) = (&near[..count], &more[..count], &marked[..count]);
        let width = mixed.upto - mixed.from;
        let mut any = false;
        for i in 0..count {
            let beyond = near[i] - mixed.from;
            let within = if beyond > 0.0 { beyond } else { 0.0 };
            let within = if within < width { within } else { width };
            let sum = within * mixed.near + mixed.beside(more[i], marked[i]);
            let is_any = (beyond >= 0.0) | (more[i] > 0.0) | marked[i];
            reaching[i] = is_any & (sum >= least);
            any |= reaching[i];
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;
    use crate::simd::testing::Numbers;

    /// Numbers of which many are zero, infinitely small, or at a bound.
    fn columns(seed: u64, count: usize) -> (Vec<f32>, Vec<f32>, Vec<bool>, Vec<bool>) {
        let mut numbers = Numbers::new(seed);
        let mut bits = Numbers::new(seed ^ 9);
        let mut near = numbers.floats(count);
        for (place, near) in near.iter_mut().enumerate() {
            match place % 7 {
                0 => *near = NONE,
                1 => *near = 0.25,
                2 => *near = 0.75,
                _ => {}
            }
        }
        let more = numbers.floats(count).iter().map(|x| if *x < 0.3 { 0.0 } else { *x }).collect();
        let mut flags =
            |one_in: u64| (0..count).map(|_| bits.next().is_multiple_of(one_in)).collect::<Vec<bool>>();
        (near, more, flags(9), flags(2))
    }

    const MIXED: Mixed = Mixed { from: 0.25, upto: 0.75, near: 0.5, more: 0.375, mark: 0.125 };

    #[test]
    fn every_level_weighs_as_one_slot_is_weighed() {
        for (seed, count) in [(1, 0), (2, 1), (3, 31), (4, 64), (5, 1000)] {
            let (near, more, marked, allowed) = columns(seed, count);
            let worth = |slot: usize| match allowed[slot] {
                true => MIXED.raised(near[slot], more[slot], marked[slot]),
                false => NONE,
            };
            let want: Vec<u32> = (0..count).map(|slot| worth(slot).to_bits()).collect();
            for level in Level::available() {
                let mut found = near.clone();
                raise_at(level, MIXED, &allowed, &more, &marked, &mut found);
                assert_eq!(found.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), want, "{level}");
            }
        }
    }

    #[test]
    fn every_level_clears_and_scales_alike() {
        for count in [0, 1, 15, 16, 17, 500] {
            let (_, more, _, allowed) = columns(count as u64 + 1, count);
            let kept: Vec<f32> =
                (0..count).map(|slot| if allowed[slot] { more[slot] } else { 0.0 }).collect();
            let most = kept.iter().copied().fold(0.0, f32::max);
            for level in Level::available() {
                let mut found = more.clone();
                assert_eq!(clear_at(level, &allowed, &mut found), most, "{level}");
                assert_eq!(found, kept, "{level}");
                scale_at(level, 0.25, &mut found);
                assert!(found.iter().zip(&kept).all(|(found, kept)| *found == kept * 0.25), "{level}");
            }
        }
    }

    #[test]
    fn what_reaches_is_what_adds_up_and_says_anything() {
        let (near, more, marked, _) = columns(7, 500);
        let says = |slot: usize| near[slot] >= MIXED.from || more[slot] > 0.0 || marked[slot];
        let sum = |slot: usize| {
            let beyond = f64::from(near[slot] - MIXED.from).clamp(0.0, 0.5);
            beyond * 0.5 + f64::from(more[slot]) * 0.375 + if marked[slot] { 0.125 } else { 0.0 }
        };
        for least in [f32::NEG_INFINITY, 0.0, 0.1, 0.3, 0.5, 0.9, 5.0] {
            for level in Level::available() {
                let mut found = vec![true; 500];
                let any = reaching_at(level, MIXED, least, &near, &more, &marked, &mut found);
                assert_eq!(any, found.contains(&true));
                for slot in 0..500 {
                    let is_close = (sum(slot) - f64::from(least)).abs() < 1e-6;
                    let want = says(slot) && sum(slot) >= f64::from(least);
                    assert!(is_close || found[slot] == want, "{level}, {slot}, {least}");
                }
            }
        }
    }

    #[test]
    fn a_share_is_a_half_at_the_middle_and_never_a_whole() {
        assert_eq!(share(0.0, 0.0), 0.0);
        assert_eq!(share(-1.0, 2.0), 0.0);
        assert_eq!(share(2.0, 2.0), 0.5);
        assert!(share(4000.0, 5.0) < 1.0);
    }
}
