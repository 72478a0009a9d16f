//! How alike are two texts as strings? Script independent; knows nothing of meaning.
//!
//! A text is the set of its shingles (Broder, "On the resemblance and containment of documents",
//! 1997), compared by Jaccard's measure. Long texts keep only their smallest hashes, a bottom-k
//! sketch as in the same paper, so a sketch has a bound.

use super::canonical::canonical;
use super::script::is_unspaced;

/// Sets up to this size are compared exactly; beyond it the measure is an estimate with a standard
/// error of about 1/√512, or 0.04.
const MAX_SHINGLES: usize = 512;

/// Characters of a shingle: about one word where words are spelled out…
const SPELLED: usize = 5;

/// …and one word where a character is about a syllable.
const UNSPACED: usize = 2;

/// The shingles of a text, hashed: what is needed to compare it, and no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// Ascending, each once.
    hashes: Vec<u64>,
}

impl Sketch {
    /// Makes the sketch of the canonical form of `text`.
    pub fn of(text: &str) -> Sketch {
        let canonical = canonical(text);
        let mut hashes = if canonical.is_ascii() {
            canonical.as_bytes().windows(SPELLED).map(|shingle| finish(packed(shingle))).collect()
        } else {
            let chars: Vec<char> = canonical.chars().collect();
            (0..chars.len()).filter_map(|at| shingle(&chars, at)).map(hash).collect::<Vec<u64>>()
        };
        if hashes.is_empty() && !canonical.is_empty() {
            hashes.push(hash(&canonical.chars().collect::<Vec<char>>()));
        }
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(MAX_SHINGLES);
        Sketch { hashes }
    }
}

/// Returns the share of shingles that two texts have in common, from 0 to 1.
///
/// 1 means that their canonical forms have the same shingles; two texts without any are alike. Exact
/// while both have at most 512 different shingles, an estimate above.
pub fn similarity(a: &Sketch, b: &Sketch) -> f32 {
    match walk(a, b, usize::MAX) {
        Some((_, 0)) => 1.0,
        Some((common, all)) => common as f32 / all as f32,
        None => 0.0,
    }
}

/// Says whether [`similarity`] is at least `threshold`. Unlike texts are told apart after few shingles.
pub fn is_similar(a: &Sketch, b: &Sketch, threshold: f64) -> bool {
    let together = (a.hashes.len() + b.hashes.len()) as f64;
    // Of sets with so many elements together, no more may stand in one alone; one more for rounding.
    let apart = (together * (1.0 - threshold) / (1.0 + threshold)) as usize + 1;
    walk(a, b, apart)
        .is_some_and(|(common, all)| all == 0 || f64::from(common as f32 / all as f32) >= threshold)
}

/// Counts the shingles in both and those in either, in ascending order; none once more than `apart` stand
/// in one alone.
fn walk(a: &Sketch, b: &Sketch, apart: usize) -> Option<(usize, usize)> {
    // Of a cut set only the smallest hashes are known, so beyond them nothing may be counted.
    let cut = a.hashes.len() == MAX_SHINGLES || b.hashes.len() == MAX_SHINGLES;
    let limit = if cut { MAX_SHINGLES } else { usize::MAX };
    let (mut left, mut right) = (a.hashes.iter().peekable(), b.hashes.iter().peekable());
    let (mut all, mut common) = (0usize, 0usize);
    while all < limit {
        let Some(next) = left.peek().into_iter().chain(right.peek()).min().copied() else { break };
        let in_left = left.next_if_eq(&next).is_some();
        let in_right = right.next_if_eq(&next).is_some();
        all += 1;
        common += usize::from(in_left && in_right);
        if all - common > apart {
            return None;
        }
    }
    Some((common, all))
}

fn shingle(chars: &[char], at: usize) -> Option<&[char]> {
    let width = if is_unspaced(chars[at]) { UNSPACED } else { SPELLED };
    chars.get(at..at + width)
}

/// The code points side by side where each is a byte, and a polynomial over them where not; with a finishing
/// step that spreads the bits, since the smallest hashes must be a fair sample.
fn hash(shingle: &[char]) -> u64 {
    if shingle.len() == SPELLED && shingle.iter().all(char::is_ascii) {
        return finish(shingle.iter().rev().fold(0, |packed, c| packed << 8 | u64::from(u32::from(*c))));
    }
    let polynomial = |hash: u64, c: &char| (hash ^ u64::from(u32::from(*c))).wrapping_mul(0x0100_0000_01b3);
    finish(shingle.iter().fold(0xcbf2_9ce4_8422_2325, polynomial))
}

/// Five bytes side by side.
fn packed(shingle: &[u8]) -> u64 {
    shingle.iter().rev().fold(0, |packed, byte| packed << 8 | u64::from(*byte))
}

/// The finishing step of SplitMix64.
fn finish(hash: u64) -> u64 {
    let hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &str, b: &str) -> f32 {
        similarity(&Sketch::of(a), &Sketch::of(b))
    }

    #[test]
    fn likeness_follows_the_shared_spelling() {
        assert_eq!(alike("", ""), 1.0);
        assert_eq!(alike("", "something"), 0.0);
        assert_eq!(alike("ab", "AB"), 1.0);
        assert_eq!(alike("Deploy on Friday", "  deploy ON friday"), 1.0);
        assert!(alike("the favourite colour is blue", "the favourite colour is blue.") > 0.9);
        assert!(alike("the favourite colour is blue", "an unrelated sentence") < 0.1);
        assert!(alike("我喜歡在早上喝咖啡", "我喜歡在早上喝咖啡。") > 0.8);
        assert!(alike("我喜歡在早上喝咖啡", "會議改到下星期三") < 0.1);
    }

    #[test]
    fn asking_for_a_threshold_is_asking_for_the_measure() {
        let text = |from: usize, to: usize| (from..to).map(|n| format!("{:x}", n * n)).collect::<String>();
        for to in (0..400).step_by(7) {
            let (a, b) = (Sketch::of(&text(0, 200)), Sketch::of(&text(to / 9, to)));
            for threshold in [0.0, 0.3, 0.8, 1.0] {
                let measured = f64::from(similarity(&a, &b)) >= threshold;
                assert_eq!(is_similar(&a, &b, threshold), measured, "{to} {threshold}");
            }
        }
    }

    #[test]
    fn sketches_of_long_texts_estimate_the_exact_measure() {
        let words = |from: u32, to: u32| {
            (from..to).map(|n| format!("{:08x}", n.wrapping_mul(2_654_435_761))).collect::<String>()
        };
        // Two thirds of 4,800 words each are common, so half of their union.
        let estimate = alike(&words(0, 4_800), &words(1_600, 6_400));
        assert!((estimate - 0.5).abs() < 0.12, "{estimate}");
    }

    #[test]
    fn plain_and_other_texts_share_the_shingles_that_they_share() {
        let plain = "deploys happen on tuesdays and never on fridays, says the handbook";
        assert!(alike(plain, &format!("{plain} 📘")) > 0.9);
        assert!(alike(plain, &format!("{plain} — über")) > 0.85);
    }
}
