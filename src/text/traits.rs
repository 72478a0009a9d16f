//! What kind of statement is a text? A question, a rule for how to act. Read off its surface, in
//! English and Chinese; it weighs nothing and decides nothing.

use std::sync::LazyLock;

use regex::Regex;

/// The term of a text that asks: as often as so many eighths of it are questions.
pub const ASKS: &str = "\u{1}asks";
/// The term of a text that says how to act from now on, or what somebody prefers.
pub const ORDERS: &str = "\u{1}orders";
/// How often [`ASKS`] is there when everything is asked.
pub const ASKS_ALL: u16 = 8;

/// How much of a long text is looked at for a rule, in bytes: such a text is no rule because one is somewhere in it.
const RULE_BYTES: usize = 4000;

static FIRST_PERSON: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|we|we're|we've|our|us)\b|我|咱"));
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*(?:please\s+)?(?:always|never|from now on|whenever|remember to|make sure (?:to|you) always|don't ever|do not ever)\b|\balways\b[^\n]{0,120}\bwhen(?:ever)? i\b|\bi(?:'d| would)? (?:really |generally |usually |much |also )?(?:prefer|like it when|want you to always)\b|\bmy preference\b|\bi (?:don't|do not) (?:like|want)\b|^(?:请)?(?:以后|总是|永远|始终|一直|从现在起|不要|别)|我(?:更|比较)?(?:喜欢|偏好|习惯)",
    )
});

pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?i){text}")).expect("the pattern is a constant; a test uses it")
}

/// The terms for what kind of statement a text is: no word of any text is one of them.
pub fn traits(text: &str) -> Vec<String> {
    let plain = text.replace('’', "'");
    let mut terms = vec![ASKS.to_owned(); usize::from(asks(&plain))];
    let end = (0..=RULE_BYTES.min(plain.len())).rev().find(|at| plain.is_char_boundary(*at)).unwrap_or(0);
    if RULE.is_match(&plain[..end]) {
        terms.push(ORDERS.to_owned());
    }
    terms
}

/// How many eighths of a text are questions to somebody else. Who asks about themselves ("can you help me with my …?")
/// tells something along.
fn asks(text: &str) -> u16 {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '\n' | ';' | '；');
    let (mut all, mut asked) = (0, 0);
    for sentence in text.split_inclusive(ends) {
        let sentence = sentence.trim();
        // What ends in several marks is one sentence; a mark alone counts with neither.
        let length = sentence.chars().count();
        if length < 2 {
            continue;
        }
        all += length;
        if sentence.ends_with(['?', '？']) && !FIRST_PERSON.is_match(sentence) {
            asked += length;
        }
    }
    (asked * usize::from(ASKS_ALL) + all / 2).checked_div(all).unwrap_or(0) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{query_terms, terms};

    fn is(text: &str, term: &str) -> bool {
        traits(text).iter().any(|found| found == term)
    }

    #[test]
    fn a_question_is_told_from_what_it_is_about() {
        assert_eq!(asks("Where did you go?"), ASKS_ALL);
        assert_eq!(asks("你喜欢什么茶？"), ASKS_ALL);
        assert_eq!(asks("I went to Lisbon."), 0);
        assert_eq!(asks("Can you help me with my garden?"), 0);
        assert!((1..ASKS_ALL).contains(&asks("Lisbon was fine. How are you?")));
        assert_eq!((asks(""), asks("?"), asks("?!")), (0, 0, 0));
    }

    #[test]
    fn rules_and_preferences_are_told_in_both_languages() {
        for text in [
            "Always answer in Chinese",
            "please never push on Fridays",
            "I’d prefer short answers",
            "I don't like long meetings",
            "请以后用中文回答",
            "我更喜欢红茶",
        ] {
            assert!(is(text, ORDERS), "{text}");
        }
        assert!(!is("She always walks home", ORDERS) && !is("他喝红茶", ORDERS));
    }

    #[test]
    fn no_word_is_a_trait() {
        for text in ["\u{1}asks \u{1}orders", ASKS, "asks", "orders?"] {
            for term in terms(text).into_iter().chain(query_terms(text)) {
                assert!(!term.starts_with('\u{1}'), "{term:?}");
            }
        }
    }

    #[test]
    fn any_text_has_traits() {
        for text in ["", "\0", "？", "’", &"茶".repeat(5000), &"a?".repeat(9000)] {
            traits(text);
        }
    }
}
