//! How is foreign text shown without letting it act? Knows terminals, not markup.

use std::borrow::Cow;

/// Returns `text` with every character that could move a cursor, colour a terminal, forge a line,
/// reverse the reading direction or hide, written visibly as `\u{1b}`, `\n` and the like.
///
/// Line ends are among them: what is printed on one line stays on one line. The joiners that emoji
/// and Persian need are left alone.
pub fn escape_control(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_active(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_acts_on_a_terminal() {
        let cases = [
            ("plain, 中文, 👩\u{200d}👧, é", "plain, 中文, 👩\u{200d}👧, é"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("two\r\nlines\t", "two\\r\\nlines\\t"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("\u{9b}2J\u{0}", "\\u{9b}2J\\u{0}"),
            ("a\u{e0041}b", "a\\u{e0041}b"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape_control(text), expected);
        }
    }
}
