//! Which differences in writing are not differences of words? Knows letters and their marks, no words.
//!
//! Case goes in every script. Marks go where a script writes them or not at the writer's choice:
//! accents in Latin and Greek, points in Hebrew and Arabic, stress in Cyrillic. They stay where they
//! are part of the spelling: vowel signs of Indic scripts, й and ї. The Arabic foldings are those of
//! Larkey, Ballesteros and Connell ("light stemming for Arabic", 2007) without the final ones, which
//! the stemmer needs.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{compose, is_combining_mark};

use super::script::{self, Script};

/// Returns `text` without the differences of case, marks and digit forms. Punctuation is kept.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    let mut base = ' ';
    for c in text.nfd() {
        if is_combining_mark(c) {
            push_mark(base, c, &mut folded);
        } else if c != '\u{200d}' && c != '\u{640}' {
            base = c;
            fold_case(c, |c| push_letter(c, &mut folded));
        }
    }
    folded
}

/// Gives the full case folding of `c`, letter by letter: ß and ẞ are "ss", final sigma is sigma.
///
/// Lower, upper and lower again reaches the same as the folding table of Unicode for all but a few
/// historic letters, and is stable.
pub(super) fn fold_case(c: char, mut push: impl FnMut(char)) {
    match c {
        '\0'..='\x7f' => return push(c.to_ascii_lowercase()),
        // What most other texts consist of, and what folds to itself: Greek and Cyrillic small
        // letters, kana, Han, Hangul. Looked up, it would cost most of the time.
        '\u{3b1}'..='\u{3c1}' | '\u{3c3}'..='\u{3ce}' | '\u{430}'..='\u{45f}' => return push(c),
        '\u{3000}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => return push(c),
        _ => {}
    }
    for lower in c.to_lowercase() {
        for upper in lower.to_uppercase() {
            upper.to_lowercase().for_each(&mut push);
        }
    }
}

fn push_mark(base: char, mark: char, folded: &mut String) {
    let kept = match script::of(base) {
        Script::Latin | Script::Greek | Script::Hebrew | Script::Arabic => false,
        // Diaeresis over е and the stress accents are optional in Russian; other marks make letters.
        Script::Cyrillic => match mark {
            '\u{308}' => !matches!(base, 'е' | 'Е'),
            '\u{300}' | '\u{301}' => false,
            _ => true,
        },
        // The dot below of Devanagari, and its brothers in the scripts beside it.
        Script::Devanagari => mark != '\u{93c}',
        Script::Other => {
            !matches!(mark, '\u{300}'..='\u{36f}' | '\u{9bc}' | '\u{a3c}' | '\u{abc}' | '\u{b3c}' | '\u{cbc}')
        }
    };
    if !kept {
        return;
    }
    match folded.chars().next_back().and_then(|last| Some((last, compose(last, mark)?))) {
        Some((last, composed)) => {
            folded.truncate(folded.len() - last.len_utf8());
            folded.push(composed);
        }
        None => folded.push(mark),
    }
}

fn push_letter(c: char, folded: &mut String) {
    // Case folding itself can yield a mark: İ is i with a dot.
    if is_combining_mark(c) {
        return;
    }
    match c {
        'æ' => folded.push_str("ae"),
        'œ' => folded.push_str("oe"),
        'þ' => folded.push_str("th"),
        'ø' => folded.push('o'),
        'đ' | 'ð' => folded.push('d'),
        'ħ' => folded.push('h'),
        'ł' => folded.push('l'),
        'ŋ' => folded.push('n'),
        'ŧ' => folded.push('t'),
        // Alef with a loop, and the Persian forms of yeh and kaf.
        'ٱ' => folded.push('ا'),
        'ی' => folded.push('ي'),
        'ک' => folded.push('ك'),
        _ => folded.push(ascii_digit(c).unwrap_or(c)),
    }
}

/// The decimal digits of the other scripts begin at these characters and go up by one.
const ZEROS: [u32; 16] = [
    0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20, 0x1040,
    0x17e0,
];

fn ascii_digit(c: char) -> Option<char> {
    let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&u32::from(c)))?;
    char::from_digit(u32::from(c) - zero, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_looked_up_folds_to_itself() {
        for c in ['\0'..='\x7f', '\u{3b1}'..='\u{3ce}', '\u{430}'..='\u{45f}', '\u{3000}'..='\u{d7a3}']
            .into_iter()
            .flatten()
        {
            let looked_up = c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
            let mut folded = Vec::new();
            fold_case(c, |c| folded.push(c));
            assert!(looked_up.eq(folded), "{c}");
        }
    }

    #[test]
    fn differences_of_writing_are_folded_away() {
        let pairs = [
            ("Café", "cafe"),
            ("Zürich", "zurich"),
            ("Straße", "strasse"),
            ("STRAẞE", "strasse"),
            ("İstanbul", "istanbul"),
            ("smørrebrød", "smorrebrod"),
            ("Ełk", "elk"),
            ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
            ("Σίσυφος", "σισυφοσ"),
            ("Ёлка", "елка"),
            ("Йод", "йод"),
            ("Київ", "київ"),
            ("أَحْمَد", "احمد"),
            ("مـــحمد", "محمد"),
            ("שָׁלוֹם", "שלום"),
            ("क़लम", "कलम"),
            ("हिन्दी", "हिन्दी"),
            ("٣٫١٤", "3٫14"),
            ("Việt", "viet"),
        ];
        for (text, expected) in pairs {
            assert_eq!(fold(text), expected, "{text}");
            assert_eq!(fold(&fold(text)), expected, "{text}, twice");
        }
    }
}
