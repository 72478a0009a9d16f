//! Chooses the likeliest pieces of a text. Knows the vocabulary, not where it comes from.

use super::vocabulary::Vocabulary;

/// The best way to reach a place in the text.
#[derive(Clone, Copy)]
struct Arrival {
    score: f64,
    from: usize,
    id: u32,
}

/// Cuts a normalised text into the pieces whose scores have the greatest sum, and returns their ids.
///
/// This is the Viterbi search of sentencepiece's unigram model (Kudo 2018, "Subword regularization").
/// Among equals the one whose last piece is longest wins. Neighbouring characters that no piece covers
/// become one unknown token.
pub(super) fn segment(vocabulary: &Vocabulary, text: &str) -> Vec<u32> {
    let mut arrivals: Vec<Option<Arrival>> = vec![None; text.len() + 1];
    let (unknown, unknown_score) = vocabulary.unknown();
    for (from, character) in text.char_indices() {
        // Every place where a character begins has been reached: at least by way of the unknown.
        let so_far = arrivals[from].map_or(0.0, |arrival| arrival.score);
        let mut offer = |length: usize, id: u32, score: f64| {
            let arrival = &mut arrivals[from + length];
            let score = score + so_far;
            if arrival.is_none_or(|best| score > best.score) {
                *arrival = Some(Arrival { score, from, id });
            }
        };
        let mut is_covered = false;
        for (length, id) in vocabulary.prefixes(&text[from..]) {
            offer(length, id, vocabulary.score(id));
            is_covered |= length == character.len_utf8();
        }
        if !is_covered {
            offer(character.len_utf8(), unknown, unknown_score);
        }
    }
    let mut ids = Vec::new();
    let mut at = text.len();
    while let Some(arrival) = arrivals[at] {
        if !(arrival.id == unknown && ids.last() == Some(&unknown)) {
            ids.push(arrival.id);
        }
        at = arrival.from;
    }
    ids.reverse();
    ids
}
