//! Are two texts the same text? Knows spelling, not meaning.

use unicode_normalization::UnicodeNormalization;

use super::clean::is_invisible;
use super::fold::fold_case;
use super::script::is_unspaced;

/// Returns the form in which two writings of the same text are equal.
///
/// Compatibility forms (NFKC), case, white space and invisible characters make no difference.
/// Accents and punctuation do: "resume" is not "résumé", and a question is not its answer. A final
/// full stop is therefore a difference here; `similarity` is the measure for what is almost the same.
/// Raised and lowered figures stay apart from others, since 10² is not 102.
///
/// The canonical form of a canonical form is itself.
pub fn canonical(text: &str) -> String {
    if text.is_ascii() {
        // Nothing of it composes or is invisible, so what the passes below come to is this.
        let mut canonical = String::with_capacity(text.len());
        for word in text.split_whitespace() {
            if !canonical.is_empty() {
                canonical.push(' ');
            }
            canonical.push_str(word);
        }
        canonical.make_ascii_lowercase();
        return canonical;
    }
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

/// Whether `text` holds `phrase` as words of its own, in whatever way both are written: "ci" is in "run the
/// CI again" and not in "decide". Scripts without spaces have no borders to look for.
pub fn mentions(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (canonical(text), canonical(phrase));
    let joins = |a: Option<char>, b: Option<char>| match (a, b) {
        (Some(a), Some(b)) => is_spaced_word(a) && is_spaced_word(b),
        _ => false,
    };
    !phrase.is_empty()
        && text.match_indices(&phrase).any(|(at, found)| {
            let (before, after) = (&text[..at], &text[at + found.len()..]);
            !joins(before.chars().next_back(), found.chars().next())
                && !joins(found.chars().next_back(), after.chars().next())
        })
}

fn is_spaced_word(c: char) -> bool {
    c.is_alphanumeric() && !is_unspaced(c)
}

/// A statement without what two tellings of it differ in first: its canonical form with no punctuation of
/// sentences, so that "The plan." is "the plan". Signs that make names, as in C++ and #42, stay.
pub fn statement(text: &str) -> String {
    let canonical = canonical(text);
    let mut plain = String::with_capacity(canonical.len());
    for word in canonical.split(|c: char| c == ' ' || is_sentence_sign(c)).filter(|word| !word.is_empty()) {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    plain
}

fn is_sentence_sign(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | '"'
            | '\''
            | '('
            | ')'
            | '['
            | ']'
            | '…'
            | '。'
            | '，'
            | '、'
            | '；'
            | '：'
            | '！'
            | '？'
            | '（'
            | '）'
            | '「'
            | '」'
            | '『'
            | '』'
            | '“'
            | '”'
            | '‘'
            | '’'
    )
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

    #[test]
    fn a_phrase_is_mentioned_as_words_and_not_inside_of_them() {
        for (text, phrase) in [
            ("run the CI again", "ci"),
            ("ci", "CI"),
            ("before deploy: rotate", "Deploy"),
            ("明天部署网站", "部署"),
            ("uses C++ daily", "c++"),
            ("部署ci后通知", "ci"),
        ] {
            assert!(mentions(text, phrase), "{text} {phrase}");
        }
        for (text, phrase) in
            [("decide on merging", "ci"), ("PostgreSQL 17", "PostgreSQL 1"), ("neovim", "vim"), ("x", "")]
        {
            assert!(!mentions(text, phrase), "{text} {phrase}");
        }
    }

    #[test]
    fn statements_differ_in_words_and_not_in_punctuation() {
        assert_eq!(statement("Walrus  secret plan."), statement("walrus secret plan"));
        assert_eq!(statement("喜欢茶。"), statement("喜欢茶"));
        assert_ne!(statement("prefers C++"), statement("prefers C"));
        assert_ne!(statement("the plan"), statement("a plan"));
    }
}
