//! What does a text look like before it is cut into words? Knows characters one by one, no words.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Brings `text` to compatibility composition (NFKC), so that full-width letters, ligatures and
/// composed accents meet their plain forms; removes what cannot be seen; and writes the many
/// dashes, quotes and backslashes as one each.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    // Filtered first: an invisible character between a letter and its accent would hinder composition.
    Cow::Owned(text.chars().filter(|c| !is_invisible(*c)).nfkc().map(plain).collect())
}

/// Says whether `c` takes no room and ends no word. The zero-width joiner is not among them: it holds
/// emoji together and is dropped later from words.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180b}'..='\u{180e}'
            | '\u{200c}'
            | '\u{200e}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

fn plain(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2013}' | '\u{2212}' => '-',
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2bc}' | '\u{ff07}' => '\'',
        _ => c,
    }
}
