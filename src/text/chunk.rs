//! Which terms does a stretch of letters and punctuation give? Knows identifiers, paths and
//! addresses by their punctuation alone, and no programming language.
//!
//! The whole form is a term of its own, so that a query for `C++`, `a/b.c` or `gpt-4o` puts the text
//! that has just that before one that has the parts. The parts are terms too, on two levels:
//! `src/my-lib/x.rs` has *my-lib* and *x.rs* between the whole and the words.

use super::fold::fold;
use super::script::is_word;
use super::sink::Sink;
use super::word;

/// Punctuation that may begin a whole form: .NET, #42, @bob, -0, --flag, $HOME, /etc, ~/x, _private.
const LEADING: &[char] = &['.', '#', '@', '-', '$', '/', '~', '_', '+', '€', '£', '¥', '%'];

/// Punctuation that may end one: C++, C#, 100%, __init__.
const TRAILING: &[char] = &['+', '#', '%', '_', '$', '€', '£', '¥', '°'];

/// Joins words into one identifier or number; all other punctuation separates.
const CONNECTING: &[char] = &['.', '-', '_', '+', '#', '~', ',', '%', '$', '°', '\''];

/// Adds a chunk: its whole form if it has punctuation inside, its parts, their words.
pub(super) fn analyse(chunk: &str, sink: &mut Sink) {
    if chunk.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return word::analyse(chunk, sink);
    }
    let whole = without_scheme(trim(chunk));
    if is_compound(whole) {
        sink.push(fold(whole).replace('\\', "/"));
    }
    for piece in chunk.split(|c| !is_word(c) && !CONNECTING.contains(&c)) {
        let piece = trim(piece);
        if piece.len() < whole.len() && is_compound(piece) {
            sink.push(fold(piece));
        }
        if let Some(joined) = hyphenated(piece) {
            word::analyse(&joined, sink);
        }
        if let Some(number) = version_number(piece) {
            sink.push(fold(number));
        }
        for word in piece.split(|c| !is_word(c) && c != '\'') {
            let word = word.trim_matches('\'');
            if !word.is_empty() {
                word::analyse(word, sink);
            }
        }
    }
}

/// Takes away what wraps or follows a chunk in prose: quotes, brackets, full stops, emphasis.
fn trim(chunk: &str) -> &str {
    let Some(first) = chunk.find(is_word) else { return "" };
    let lead = chunk[..first].chars().rev().take_while(|c| LEADING.contains(c)).map(char::len_utf8);
    // Two are meant, more are ornament.
    let lead: usize = if lead.clone().count() <= 2 { lead.sum() } else { 0 };
    let chunk = &chunk[first - lead..];

    let end = chunk.rfind(is_word).map_or(0, |at| at + chunk[at..].chars().next().map_or(0, char::len_utf8));
    let tail: usize = chunk[end..].chars().take_while(|c| TRAILING.contains(c)).map(char::len_utf8).sum();
    // `foo()` is written so to say that it is a function, and `[]` that it is a list.
    let brackets = if chunk[end..].starts_with("()") || chunk[end..].starts_with("[]") { 2 } else { 0 };
    &chunk[..end + tail.max(brackets)]
}

/// A letter or digit beside punctuation, apostrophes aside.
fn is_compound(text: &str) -> bool {
    text.chars().any(|c| !is_word(c) && c != '\'')
}

/// `https://example.com/x` and `example.com/x` are the same address.
fn without_scheme(whole: &str) -> &str {
    match whole.split_once("://") {
        Some((scheme, rest)) if !rest.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric()) => rest,
        _ => whole,
    }
}

/// "e-mail" is also looked for as "email".
fn hyphenated(piece: &str) -> Option<String> {
    let (first, second) = piece.split_once('-')?;
    let letters = |part: &str| !part.is_empty() && part.chars().all(char::is_alphabetic);
    (letters(first) && letters(second)).then(|| format!("{first}{second}"))
}

/// "v1.2.3" is also looked for as "1.2.3".
fn version_number(piece: &str) -> Option<&str> {
    let number = piece.strip_prefix(['v', 'V'])?;
    (number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.')).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_give_their_whole_form_and_their_parts() {
        let cases: &[(&str, &[&str])] = &[
            ("plain", &["plain"]),
            ("plain.", &["plain"]),
            ("snake_case", &["snake_case", "snake", "case"]),
            ("gpt-4o", &["gpt-4o", "gpt", "4o"]),
            ("(C++),", &["c++", "c"]),
            ("C#.", &["c#", "c"]),
            (".NET", &[".net", "net"]),
            ("#42", &["#42", "42"]),
            ("@bob:", &["@bob", "bob"]),
            ("3.14.", &["3.14", "3", "14"]),
            ("100-200MB", &["100-200mb", "100", "200", "mb", "200mb"]),
            ("field:value", &["field:value", "field", "valu"]),
            ("a/b.c", &["a/b.c", "a", "b.c", "b", "c"]),
            ("`foo()`.", &["foo()", "foo"]),
            ("**bold**", &["bold"]),
            ("ERR_CONN_RESET", &["err_conn_reset", "err", "conn", "reset"]),
            ("v1.2.3", &["v1.2.3", "1.2.3", "v1", "2", "3"]),
            ("e-mail", &["e-mail", "email", "e", "mail"]),
            ("C:\\x", &["c:/x", "c", "x"]),
            ("me@a.org", &["me@a.org", "me", "a.org", "a", "org"]),
            ("https://a.org/x", &["a.org/x", "https", "a.org", "a", "org", "x"]),
            ("--flag", &["--flag", "flag"]),
            ("-0", &["-0", "0"]),
            ("-----title", &["titl"]),
            ("__proto__", &["__proto__", "proto"]),
            ("?!", &[]),
            ("--", &[]),
            ("'quoted'", &["quot"]),
        ];
        for (chunk, expected) in cases {
            let mut sink = Sink::default();
            analyse(chunk, &mut sink);
            assert_eq!(&sink.into_terms(), expected, "{chunk}");
        }
    }
}
