//! Are two texts the same text? Knows spelling, not meaning.

use unicode_normalization::UnicodeNormalization;

use super::clean::is_invisible;
use super::fold::fold_case;

/// Returns the form in which two writings of the same text are equal.
///
/// Compatibility forms (NFKC), case, white space and invisible characters make no difference.
/// Accents and punctuation do: "resume" is not "résumé", and a question is not its answer. A final
/// full stop is therefore a difference here; `similarity` is the measure for what is almost the same.
/// Raised and lowered figures stay apart from others, since 10² is not 102.
///
/// The canonical form of a canonical form is itself.
pub fn canonical(text: &str) -> String {
    // Composing after case folding can make a letter that folds again. Twice is enough for all of
    // Unicode; the bound is there so that it ends in any case.
    let mut current = pass(text);
    for _ in 0..3 {
        let next = pass(&current);
        if next == current {
            break;
        }
        current = next;
    }
    current
}

fn pass(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let visible = text.chars().filter(|c| !is_invisible(*c) && *c != '\u{200b}' && *c != '\u{200d}');
    for c in visible.flat_map(raised).nfkc() {
        fold_case(c, |c| folded.push(c));
    }
    let mut canonical = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !canonical.is_empty() {
            canonical.push(' ');
        }
        canonical.push_str(word);
    }
    canonical.nfkc().collect()
}

/// A raised or lowered character after the sign that says so; any other alone.
fn raised(c: char) -> impl Iterator<Item = char> {
    let sign = match c {
        '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}'..='\u{2071}' | '\u{2074}'..='\u{207e}' => Some('^'),
        '\u{2080}'..='\u{208e}' => Some('_'),
        _ => None,
    };
    sign.into_iter().chain([c])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writings_of_the_same_text_are_equal() {
        let same = [
            ("Favourite colour: BLUE", "favourite  colour:\n blue "),
            ("cafe\u{301}", "CAFÉ"),
            ("ＡＢＣ", "abc"),
            ("Straße", "STRASSE"),
            ("ὈΔΥΣΣΕΎΣ", "Ὀδυσσεύς"),
            ("soft\u{ad}ware", "software"),
            ("가", "\u{1100}\u{1161}"),
        ];
        for (a, b) in same {
            assert_eq!(canonical(a), canonical(b), "{a} {b}");
        }
        for (a, b) in
            [("resume", "résumé"), ("ready?", "ready."), ("10²", "102"), ("a b", "ab"), ("x₂", "x2")]
        {
            assert_ne!(canonical(a), canonical(b), "{a} {b}");
        }
    }

    #[test]
    fn canonical_form_of_every_character_is_stable() {
        for c in '\0'..=char::MAX {
            let once = canonical(&format!("a{c}"));
            assert_eq!(canonical(&once), once, "{c:?}");
        }
    }
}
