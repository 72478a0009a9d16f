//! How is a text made to fit? Knows characters as readers see them, not lines or columns.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

/// Returns the length of a text in characters, which is what budgets count: Unicode scalar values.
pub fn char_count(text: &str) -> usize {
    text.chars().count()
}

/// Returns `text` if it has at most `max_chars` characters, else its beginning with an ellipsis that
/// counts among them.
///
/// Cuts only between characters as a reader sees them, so no accent is lost and no emoji is torn.
pub fn clip(text: &str, max_chars: usize) -> Cow<'_, str> {
    // Nothing shorter than the limit in bytes can be longer in characters.
    if text.len() <= max_chars || text.chars().nth(max_chars).is_none() {
        return Cow::Borrowed(text);
    }
    if max_chars == 0 {
        return Cow::Borrowed("");
    }
    let mut room = max_chars - 1;
    let mut end = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        match room.checked_sub(char_count(grapheme)) {
            Some(left) => (room, end) = (left, at + grapheme.len()),
            None => break,
        }
    }
    Cow::Owned(format!("{}…", text[..end].trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipped_texts_fit_and_stay_whole() {
        let cases = [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("a b c", 3, "a…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("", 0, ""),
            ("ne\u{301}e", 3, "n…"),
            ("👩\u{200d}👩\u{200d}👧 x", 5, "…"),
            ("你好世界", 3, "你好…"),
        ];
        for (text, max, expected) in cases {
            assert_eq!(clip(text, max), expected, "{text} {max}");
        }
    }
}
