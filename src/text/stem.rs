//! What is the stem of a folded word? Chooses by script, never by language.
//!
//! The language of a short text can't be told reliably, and an analysis that guesses would cut the
//! same word in two ways. So every Latin word is stemmed as English: other languages lose at worst
//! a plural, and lose it in texts and queries alike. Folding comes before stemming, so "élèves" and
//! "eleves" end the same. The stemmers are Snowball's (Porter, <https://snowballstem.org>), in the
//! Rust translation `frostem`, which follows Snowball's own releases and has no dependencies.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

use super::script::{self, Script};

/// Longer runs of letters are no words of a language, and stemming them would only cost time.
const MAX_STEMMED_BYTES: usize = 40;

/// Returns the stem of a folded word, or the word itself when it has digits, mixes scripts, or is
/// too short or too long to have one.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    let shortest = if word.is_ascii() { 3 } else { 6 };
    if word.len() < shortest || word.len() > 2 * MAX_STEMMED_BYTES {
        return Cow::Borrowed(word);
    }
    match algorithm(word) {
        Some(algorithm) => match Stemmer::new(algorithm).stem(word) {
            // A rule that takes everything away is no help.
            stem if stem.is_empty() => Cow::Borrowed(word),
            stem => stem,
        },
        None => Cow::Borrowed(word),
    }
}

fn algorithm(word: &str) -> Option<Algorithm> {
    if word.bytes().all(|b| b.is_ascii_lowercase()) {
        return (word.len() <= MAX_STEMMED_BYTES).then_some(Algorithm::English);
    }
    let script = script::of(word.chars().next()?);
    if !word.chars().all(|c| script::of(c) == script && !c.is_numeric()) {
        return None;
    }
    match script {
        Script::Cyrillic => Some(Algorithm::Russian),
        Script::Greek => Some(Algorithm::Greek),
        Script::Arabic => Some(Algorithm::Arabic),
        Script::Devanagari => Some(Algorithm::Hindi),
        Script::Latin | Script::Hebrew | Script::Other => None,
    }
}
