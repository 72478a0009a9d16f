//! Could a later task use it? Small talk is refused, and what is remembered already is not
//! remembered twice.

use super::{Facts, Gate, Proposal, Reading, Stop};
use crate::reason::Reason;
use crate::record::Record;
use crate::text::canonical;

pub(super) fn pass(proposal: Proposal<'_>, reading: Reading, facts: &Facts) -> Gate {
    if reading.says_nothing {
        return Err(Stop::Reject(Reason::NoReuseValue));
    }
    match &facts.same_text {
        // It is there, but not as firmly: what this one adds must not be lost.
        Some(_) if facts.replaced(proposal).is_some() => Ok(()),
        Some(record) if rests_on_the_same_source(record, proposal) => {
            Err(Stop::Idempotent(Box::new(record.clone())))
        }
        Some(record) => Err(Stop::Duplicate(Box::new(record.clone()))),
        None => Ok(()),
    }
}

fn rests_on_the_same_source(record: &Record, proposal: Proposal<'_>) -> bool {
    let source = proposal.candidate.source.as_ref();
    record.evidence.iter().any(|evidence| {
        source.is_some_and(|source| {
            source.id == evidence.source.id && source.locator == evidence.source.locator
        })
    })
}

/// Whether nothing is left of the text once punctuation and small talk are taken away.
pub(super) fn says_nothing(text: &str, small_talk: &[String]) -> bool {
    let folded = canonical(text);
    if has_word_of_its_own(&folded, small_talk) {
        return false;
    }
    let mut rest: Vec<char> = folded.chars().map(|c| if is_punctuation(c) { ' ' } else { c }).collect();
    for phrase in small_talk {
        blank_out(&mut rest, &phrase.chars().collect::<Vec<char>>());
    }
    rest.iter().all(|c| c.is_whitespace())
}

/// Whether a word stands in the text that no phrase has: most texts are told by their first. Words of scripts
/// without spaces are left to the longer look.
fn has_word_of_its_own(text: &str, small_talk: &[String]) -> bool {
    let is_in = |phrase: &String, word: &str| {
        phrase.split(|c: char| !c.is_ascii_alphanumeric()).any(|own| own == word)
    };
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .any(|word| !small_talk.iter().any(|phrase| is_in(phrase, word)))
}

fn blank_out(text: &mut [char], phrase: &[char]) {
    let mut at = 0;
    while at + phrase.len() <= text.len() {
        let matches = !phrase.is_empty() && text[at..at + phrase.len()] == *phrase;
        if matches && border(text, at, at + phrase.len()) {
            text[at..at + phrase.len()].fill(' ');
        }
        at += 1;
    }
}

/// Whether the stretch stands for itself. Scripts without spaces have no borders to look for.
fn border(text: &[char], start: usize, end: usize) -> bool {
    let joins = |a: char, b: char| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric();
    let before = start > 0 && joins(text[start - 1], text[start]);
    let after = end < text.len() && joins(text[end - 1], text[end]);
    !before && !after
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(
            c,
            '。' | '，'
                | '！'
                | '？'
                | '、'
                | '；'
                | '：'
                | '～'
                | '…'
                | '（'
                | '）'
                | '“'
                | '”'
                | '‘'
                | '’'
                | '「'
                | '」'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Policy;

    #[test]
    fn small_talk_says_nothing_and_everything_else_does() {
        let policy = Policy::default();
        let nothing = |text: &str| says_nothing(text, &policy.gates.small_talk);
        for text in ["Hi!", "ok, thanks :)", "Hello there!!", "你好！", "好的，谢谢。", "...", "?!"]
        {
            assert!(nothing(text), "{text}");
        }
        for text in
            ["ok button is green", "-0", "null", "历史", "你好，我是 Foy", "C++", "hi-fi", "👍 means ship it"]
        {
            assert!(!nothing(text), "{text}");
        }
    }
}
