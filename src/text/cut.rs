//! Where does a text fall apart before words are looked at? Knows kinds of characters, no words.

use unicode_normalization::char::is_combining_mark;

use super::{script, symbol};

/// A stretch of text that is analysed in one way.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    /// Letters, digits and the punctuation among them, without white space.
    Chunk(&'a str),
    /// Characters of scripts that put no spaces between words, and marks upon them.
    Unspaced(&'a str),
    /// Emoji and other symbols that mean something by themselves.
    Symbols(&'a str),
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Chunk,
    Unspaced,
    Symbol,
    Break,
}

/// Cuts a cleaned text into pieces; what separates them is left out.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            let kind = kind(first, None, Kind::Break, rest);
            let end = end_of_run(rest, kind);
            let (run, after) = rest.split_at(end);
            rest = after;
            match kind {
                Kind::Chunk => return Some(Piece::Chunk(run)),
                Kind::Unspaced => return Some(Piece::Unspaced(run)),
                Kind::Symbol => return Some(Piece::Symbols(run)),
                Kind::Break => {}
            }
        }
    })
}

fn end_of_run(text: &str, run: Kind) -> usize {
    let mut previous = None;
    for (at, c) in text.char_indices() {
        if previous.is_some() && kind(c, previous, run, &text[at..]) != run {
            return at;
        }
        previous = Some(c);
    }
    text.len()
}

/// The kind of `c`, which begins `rest` and follows `previous` in a run of the kind `run`.
fn kind(c: char, previous: Option<char>, run: Kind, rest: &str) -> Kind {
    match c {
        '0'..='9' | 'a'..='z' | 'A'..='Z' => Kind::Chunk,
        // A joiner or a mark belongs to whatever it stands upon.
        '\u{200d}' if previous.is_some() && run != Kind::Break => run,
        '\u{200d}' => Kind::Break,
        // 100,000 is one number; elsewhere a comma separates.
        ',' if previous.is_some_and(|p| p.is_ascii_digit())
            && rest[1..].starts_with(|n: char| n.is_ascii_digit()) =>
        {
            Kind::Chunk
        }
        ',' | ';' | '"' | '|' => Kind::Break,
        _ if c.is_ascii() => {
            if c.is_ascii_graphic() {
                Kind::Chunk
            } else {
                Kind::Break
            }
        }
        _ if script::is_unspaced(c) => Kind::Unspaced,
        _ if is_combining_mark(c) => match run {
            Kind::Break => Kind::Chunk,
            run => run,
        },
        _ if c.is_alphanumeric() => Kind::Chunk,
        _ if symbol::is_symbol(c) => Kind::Symbol,
        // Currency and degree signs stand at numbers: 5€, 20°C.
        '\u{a2}'..='\u{a5}' | '\u{b0}' | '\u{20a0}'..='\u{20cf}' | '\u{2044}' => Kind::Chunk,
        _ => Kind::Break,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_falls_apart_at_spaces_and_scripts() {
        let cases: &[(&str, &[Piece<'_>])] = &[
            ("", &[]),
            ("a b", &[Piece::Chunk("a"), Piece::Chunk("b")]),
            ("1,000, 2", &[Piece::Chunk("1,000"), Piece::Chunk("2")]),
            ("我是Foy", &[Piece::Unspaced("我是"), Piece::Chunk("Foy")]),
            ("ok👍go", &[Piece::Chunk("ok"), Piece::Symbols("👍"), Piece::Chunk("go")]),
            ("a\u{0}b\u{fffd}c", &[Piece::Chunk("a"), Piece::Chunk("b"), Piece::Chunk("c")]),
            ("\u{301}", &[Piece::Chunk("\u{301}")]),
        ];
        for (text, expected) in cases {
            assert_eq!(&pieces(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}
