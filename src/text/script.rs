//! Which way of writing does a character belong to? Knows blocks of Unicode, no languages.
//!
//! Only the distinctions that the analysis needs are made. Ranges are those of the Unicode block
//! charts; a character of a block that is not yet assigned is harmless, it gives itself as a term.

use unicode_normalization::char::is_combining_mark;

/// How a script writes its words, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    Greek,
    Cyrillic,
    Hebrew,
    Arabic,
    Devanagari,
    /// Written with spaces, and left as it is but for its case.
    Other,
}

/// Returns the script of a letter.
pub(super) fn of(c: char) -> Script {
    match c {
        'a'..='z' | 'A'..='Z' | '\u{aa}'..='\u{24f}' | '\u{250}'..='\u{2af}' | '\u{1e00}'..='\u{1eff}' => {
            Script::Latin
        }
        '\u{2c60}'..='\u{2c7f}' | '\u{a720}'..='\u{a7ff}' => Script::Latin,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
        '\u{400}'..='\u{52f}'
        | '\u{1c80}'..='\u{1c8f}'
        | '\u{2de0}'..='\u{2dff}'
        | '\u{a640}'..='\u{a69f}' => Script::Cyrillic,
        '\u{590}'..='\u{5ff}' => Script::Hebrew,
        '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}' => Script::Arabic,
        '\u{900}'..='\u{97f}' => Script::Devanagari,
        _ => Script::Other,
    }
}

/// Says whether `c` is a letter of a script that puts no spaces between words (Han, kana, Thai, Lao,
/// Khmer, Myanmar), or of Hangul, whose words carry so many endings that it is treated alike.
pub fn is_unspaced(c: char) -> bool {
    is_hangul(c)
        || matches!(
            c,
            '\u{e01}'..='\u{e3a}'
                | '\u{e40}'..='\u{e4e}'
                | '\u{e80}'..='\u{ece}'
                | '\u{edc}'..='\u{edf}'
                | '\u{1000}'..='\u{103f}'
                | '\u{1050}'..='\u{109d}'
                | '\u{1780}'..='\u{17d3}'
                | '\u{2e80}'..='\u{2fdf}'
                | '\u{3005}'..='\u{3007}'
                | '\u{3021}'..='\u{3029}'
                | '\u{3031}'..='\u{3035}'
                | '\u{3041}'..='\u{3096}'
                | '\u{309d}'..='\u{309f}'
                | '\u{30a1}'..='\u{30fa}'
                | '\u{30fc}'..='\u{30ff}'
                | '\u{3105}'..='\u{312f}'
                | '\u{31a0}'..='\u{31bf}'
                | '\u{31f0}'..='\u{31ff}'
                | '\u{3400}'..='\u{4dbf}'
                | '\u{4e00}'..='\u{9fff}'
                | '\u{a9e0}'..='\u{a9fe}'
                | '\u{aa60}'..='\u{aa7f}'
                | '\u{f900}'..='\u{faff}'
                | '\u{1b000}'..='\u{1b16f}'
                | '\u{20000}'..='\u{3ffff}'
        )
}

/// Says whether `c` is written in Hangul.
pub(super) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7fb}')
}

/// Says whether `c` can stand in a word: a letter, a digit, or a mark upon one.
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || (!c.is_ascii() && (c.is_alphanumeric() || is_combining_mark(c) || c == '\u{200d}'))
}
