//! Which terms does a run without spaces give? Knows no dictionary of words.
//!
//! Single characters and adjacent pairs, as is customary for retrieval without a segmenter: pairs
//! find words about as well as segmentation does, and single characters find what pairs miss
//! (Nie, Gao, Zhang and Zhou, "On the use of words and n-grams for Chinese information retrieval",
//! IRAL 2000). A character here is a letter with the marks upon it, so a Thai vowel sign stays
//! with its consonant. A stretch of Hangul gives itself as well, which is the word as Korean writes it.

use unicode_normalization::char::is_combining_mark;

use super::script;
use super::sink::Sink;

/// Adds the characters, the adjacent pairs and the Korean words of `run`.
pub(super) fn analyse(run: &str, sink: &mut Sink) {
    let starts: Vec<usize> = letters(run);
    let end = |index: usize| starts.get(index).copied().unwrap_or(run.len());
    for (index, &start) in starts.iter().enumerate() {
        sink.push(without_joiners(&run[start..end(index + 1)]));
        if index + 1 < starts.len() {
            sink.push(without_joiners(&run[start..end(index + 2)]));
        }
    }
    run.split(|c| !script::is_hangul(c))
        .filter(|word| word.chars().nth(2).is_some())
        .for_each(|word| sink.push(word.to_owned()));
}

/// The byte positions where a character begins that is no mark upon the one before.
fn letters(run: &str) -> Vec<usize> {
    run.char_indices()
        .filter(|(at, c)| *at == 0 || !(is_combining_mark(*c) || *c == '\u{200d}'))
        .map(|(at, _)| at)
        .collect()
}

fn without_joiners(text: &str) -> String {
    text.chars().filter(|c| *c != '\u{200d}').collect()
}
