//! An embedder without a model: similar spelling gives similar vectors. It knows no synonyms and no
//! second language.

use super::windows::windows;
use super::{Calibration, Embedder, ModelInfo};
use crate::error::{Error, Result};

/// Characters that are embedded as one, and how many of them neighbours share.
const WINDOW_CHARS: usize = 1_000;
const OVERLAP_CHARS: usize = 100;

/// How much a word and a sequence of three characters count.
const WORD_WEIGHT: f32 = 1.0;
const SEQUENCE_WEIGHT: f32 = 0.35;

/// Embeds by hashing words and sequences of three characters into a fixed number of dimensions
/// (Weinberger et al. 2009, "Feature hashing for large scale multitask learning").
///
/// It is small, exact and quick, and meant for tests and for stores that need no meaning. Letters are
/// compared in lower case; scripts without spaces are compared by pairs of characters.
#[derive(Clone, Debug)]
pub struct HashingEmbedder {
    model: ModelInfo,
}

impl HashingEmbedder {
    /// The widths that are accepted.
    const DIMS: std::ops::RangeInclusive<usize> = 8..=4096;

    /// Makes an embedder with vectors of `dims` floats, 8 to 4096; 256 and more keep unlike texts apart.
    pub fn new(dims: usize) -> Result<HashingEmbedder> {
        if !Self::DIMS.contains(&dims) {
            return Err(Error::invalid("dims", "must be from 8 to 4096"));
        }
        let name = format!("hashing-{dims}");
        let fingerprint = blake3::hash(format!("{name} version 1").as_bytes()).to_hex()[..16].to_owned();
        let calibration = Calibration { unrelated: 0.1, related: 0.45 };
        Ok(HashingEmbedder { model: ModelInfo { name, fingerprint, dims, calibration } })
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0f32; self.model.dims];
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let word: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
            if word.iter().all(|c| *c < '\u{2e80}') {
                add(&mut vector, &word, WORD_WEIGHT);
                let bounded: Vec<char> = [' '].into_iter().chain(word).chain([' ']).collect();
                bounded.windows(3).for_each(|sequence| add(&mut vector, sequence, SEQUENCE_WEIGHT));
            } else {
                word.iter().for_each(|c| add(&mut vector, &[*c], SEQUENCE_WEIGHT));
                word.windows(2).for_each(|pair| add(&mut vector, pair, WORD_WEIGHT));
            }
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length < 1e-6 {
            // A text without a letter, or one whose features cancel out.
            vector.fill(0.0);
            vector[0] = 1.0;
        } else {
            vector.iter_mut().for_each(|x| *x /= length);
        }
        vector
    }
}

impl Embedder for HashingEmbedder {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
        let passage = |text: &&str| {
            let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            windows(starts.len() - 1, WINDOW_CHARS, OVERLAP_CHARS)
                .into_iter()
                .map(|window| self.embed(&text[starts[window.start]..starts[window.end]]))
                .collect()
        };
        Ok(texts.iter().map(passage).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let end = text.char_indices().nth(WINDOW_CHARS).map_or(text.len(), |(at, _)| at);
        Ok(self.embed(&text[..end]))
    }
}

/// Adds a feature: the hash chooses the dimension and the sign.
fn add(vector: &mut [f32], feature: &[char], weight: f32) {
    let hash = fnv1a(feature);
    let sign = if hash >> 63 == 0 { weight } else { -weight };
    vector[(hash % vector.len() as u64) as usize] += sign;
}

/// The hash FNV-1a with 64 bits, then the finaliser of splitmix64 to stir the upper bits.
fn fnv1a(feature: &[char]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in feature.iter().flat_map(|c| u32::from(*c).to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dot_f32;

    fn cosine(a: &str, b: &str) -> f32 {
        let embedder = HashingEmbedder::new(256).unwrap();
        dot_f32(&embedder.embed_query(a).unwrap(), &embedder.embed_passages(&[b]).unwrap()[0][0])
    }

    #[test]
    fn vectors_have_the_width_asked_for_and_unit_length() {
        for dims in [8, 256, 1000] {
            let embedder = HashingEmbedder::new(dims).unwrap();
            for text in
                ["", "\0", "!?", "🦀🦀", "a", "the quick brown fox", "敏捷的棕色狐狸", &"long ".repeat(5000)]
            {
                for vector in embedder.embed_passages(&[text]).unwrap().concat() {
                    assert_eq!(vector.len(), dims);
                    assert!((dot_f32(&vector, &vector) - 1.0).abs() < 1e-4, "{text}");
                }
            }
        }
        assert!(HashingEmbedder::new(7).is_err());
        assert!(HashingEmbedder::new(5000).is_err());
    }

    #[test]
    fn texts_that_share_words_are_closer_than_others() {
        let memory = "The deployment script needs the staging token";
        assert!(cosine("which token does the deployment script need", memory) > 0.5);
        assert!(cosine("favourite ice cream of my sister", memory) < 0.25);
        assert!(cosine("部署脚本需要什么令牌", "部署脚本需要预发令牌") > 0.5);
        assert!(cosine("妹妹喜欢的冰淇淋", "部署脚本需要预发令牌") < 0.25);
    }

    #[test]
    fn a_long_text_is_found_by_its_tail() {
        let text = format!("{} the secret word is xylophone", "nothing to see here ".repeat(300));
        let embedder = HashingEmbedder::new(512).unwrap();
        let query = embedder.embed_query("the secret word is xylophone").unwrap();
        let windows = &embedder.embed_passages(&[&text]).unwrap()[0];
        assert!(windows.len() > 5);
        let best = (0..windows.len())
            .max_by(|a, b| dot_f32(&query, &windows[*a]).total_cmp(&dot_f32(&query, &windows[*b])));
        assert_eq!(best, Some(windows.len() - 1));
    }

    #[test]
    fn the_fingerprint_names_the_width() {
        let fingerprint = |dims| HashingEmbedder::new(dims).unwrap().model.fingerprint;
        assert_eq!(fingerprint(256), fingerprint(256));
        assert_ne!(fingerprint(256), fingerprint(384));
        assert_eq!(fingerprint(256).len(), 16);
    }
}
