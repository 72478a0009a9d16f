//! Which terms does a single word give? Knows letters, digits and apostrophes, no punctuation.

use std::borrow::Cow;

use super::fold::fold;
use super::sink::Sink;
use super::stem::stem;
use super::{MAX_TERM_BYTES, stop};

/// Adds a word: itself, and its parts where it is `camelCase`, holds digits, or has an apostrophe.
pub(super) fn analyse(word: &str, sink: &mut Sink) {
    let word = if word.contains('\'') { apostrophes(word, sink) } else { Cow::Borrowed(word) };
    if word.len() <= MAX_TERM_BYTES {
        parts(&word, |part| simple(part, sink));
    }
    simple(&word, sink);
}

/// "user's" is *user*, "don't" is *dont*; "l'eau" is *leau*, and *eau* too; "O'Brien" is *obrien*
/// and *brien*.
fn apostrophes<'a>(word: &'a str, sink: &mut Sink) -> Cow<'a, str> {
    let lower = word.get(word.len().saturating_sub(2)..).unwrap_or_default();
    let word = if lower.eq_ignore_ascii_case("'s") { &word[..word.len() - 2] } else { word };
    if !word.contains('\'') {
        return Cow::Borrowed(word);
    }
    word.split('\'').filter(|part| part.chars().nth(2).is_some()).for_each(|part| simple(part, sink));
    Cow::Owned(word.replace('\'', ""))
}

/// Folds, stems and adds one word without parts.
fn simple(word: &str, sink: &mut Sink) {
    let folded = fold(word);
    if stop::is_stop(&folded) {
        return sink.push_stop(folded);
    }
    match stem(&folded) {
        Cow::Owned(stem) => sink.push(stem),
        Cow::Borrowed(stem) if stem.len() == folded.len() => sink.push(folded),
        Cow::Borrowed(stem) => sink.push(stem.to_owned()),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Lower,
    Upper,
    Digit,
}

/// Gives each part of two characters or more, if there is more than one part: `parseHTTPRequest2`
/// has *parse*, *HTTP* and *Request*.
fn parts<'a>(word: &'a str, mut part: impl FnMut(&'a str)) {
    if word.bytes().all(|b| b.is_ascii_lowercase()) || is_plural_acronym(word) {
        return;
    }
    let mut start = 0;
    let mut emit = |from: usize, to: usize| {
        let text = &word[from..to];
        if text.chars().nth(1).is_some() && text.len() < word.len() {
            part(text);
        }
    };
    let mut previous: Option<(usize, Shape)> = None;
    for (at, c) in word.char_indices() {
        let Some(shape) = shape(c) else { continue };
        if let Some((before, last)) = previous {
            let border = match (last, shape) {
                // The last capital of several begins the next part: HTTP|Request.
                (Shape::Upper, Shape::Lower) if before > start => before,
                (Shape::Upper, Shape::Lower) => start,
                _ if last != shape => at,
                _ => start,
            };
            if border > start {
                emit(start, border);
                start = border;
            }
        }
        previous = Some((at, shape));
    }
    emit(start, word.len());
}

/// Marks have no shape of their own: they stay with their letter.
fn shape(c: char) -> Option<Shape> {
    if c.is_numeric() {
        Some(Shape::Digit)
    } else if c.is_uppercase() {
        Some(Shape::Upper)
    } else if c.is_alphabetic() {
        Some(Shape::Lower)
    } else {
        None
    }
}

/// APIs, URLs, PDFs.
fn is_plural_acronym(word: &str) -> bool {
    word.strip_suffix('s').is_some_and(|rest| rest.len() >= 2 && rest.bytes().all(|b| b.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_give_themselves_and_their_parts() {
        let cases: &[(&str, &[&str])] = &[
            ("running", &["run"]),
            ("camelCase", &["camel", "case", "camelcas"]),
            ("parseHTTPRequest2", &["pars", "http", "request", "parsehttprequest2"]),
            ("E0308", &["0308", "e0308"]),
            ("4o", &["4o"]),
            ("200MB", &["200", "mb", "200mb"]),
            ("APIs", &["api"]),
            ("user's", &["user"]),
            ("don't", &["don", "dont"]),
            ("l'eau", &["eau", "leau"]),
            ("Ünïcode", &["unicod"]),
        ];
        for (word, expected) in cases {
            let mut sink = Sink::default();
            analyse(word, &mut sink);
            assert_eq!(&sink.into_terms(), expected, "{word}");
        }
    }
}
