//! What does a query say beside its words? The days that it names, the speaker, and whether it asks what an assistant said.
//! Pure functions of the text and the day.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;

use super::plan::Ground;
use crate::clock::Timestamp;
use crate::index::naming;
use crate::text::days_named;

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// What words of an assistant a query asks for: "did you recommend", "your advice", "你建议".
static OF_ASSISTANT: LazyLock<Regex> = LazyLock::new(|| {
    let verbs = "recommend|suggest|advis|explain|tell|told|say|said|mention|propose|give|gave|provid|describ|offer|help|show|list";
    Regex::new(&format!(
        r"(?i)\b(?:did|have|had|would|could|do|were|are|should) you (?:\w+ )?(?:{verbs})|\byou(?:r|'ve| have| had)? (?:{verbs})|\byour (?:advice|recommend|suggest|explan|answer|response)|你.{{0,8}}(?:推荐|建议|告诉|说过|介绍|提到|给我)"
    ))
    .expect("the pattern is a constant; a test uses it")
});

/// What a query says beside its words.
pub(super) struct Hints {
    /// The days that it names.
    pub days: Vec<RangeInclusive<i32>>,
    /// The one speaker that it names; none when it names several.
    pub speaker: Option<u64>,
    /// Whether it asks for what an assistant said.
    pub of_assistant: bool,
}

impl Hints {
    pub(super) fn of(text: &str, ground: &Ground, now: Timestamp) -> Hints {
        Hints {
            days: days_named(text, day_of(now)),
            speaker: speaker(text, ground),
            of_assistant: is_of_assistant(text),
        }
    }

    /// Whether an instant is on one of the days.
    pub(super) fn names_day(&self, at: Timestamp) -> bool {
        let day = day_of(at);
        self.days.iter().any(|span| span.contains(&day))
    }
}

fn is_of_assistant(text: &str) -> bool {
    text.contains(['Y', 'y', '你']) && OF_ASSISTANT.is_match(&text.replace('’', "'"))
}

fn day_of(at: Timestamp) -> i32 {
    at.as_micros().div_euclid(DAY_MICROS) as i32
}

/// The speaker that a query names, of those of whom the caller may see something.
fn speaker(text: &str, ground: &Ground) -> Option<u64> {
    if ground.regions.iter().all(|region| region.partition.speakers().is_empty()) {
        return None;
    }
    let naming = naming(text);
    let mut named: Vec<u64> =
        ground.regions.iter().flat_map(|region| region.partition.speakers().named_by(&naming)).collect();
    named.sort_unstable();
    named.dedup();
    let speaks = |speaker: &u64| {
        ground.regions.iter().any(|region| {
            let entries = region.partition.entries().iter().zip(region.allowed.iter());
            entries.filter(|(_, allowed)| **allowed).any(|(entry, _)| entry.turn.speaker == *speaker)
        })
    };
    named.retain(speaks);
    match named.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_assistant_said_is_asked_for_in_both_languages() {
        for text in [
            "Which hotel did you recommend?",
            "what you said about tea",
            "What was your advice on gardens",
            "you’ve suggested a book",
            "你上次推荐的书叫什么？",
        ] {
            assert!(is_of_assistant(text), "{text}");
        }
        for text in ["Which hotel did Ann like?", "Do you like tea?", "我喜欢什么书？", ""] {
            assert!(!is_of_assistant(text), "{text}");
        }
    }

    #[test]
    fn a_day_begins_and_ends_at_midnight() {
        let at = |text: &str| Timestamp::parse("at", text).unwrap();
        assert_eq!(day_of(at("1970-01-01T23:59:59Z")), 0);
        assert_eq!(day_of(at("1969-12-31T23:59:59Z")), -1);
        assert_eq!(day_of(at("2024-05-15T00:00:00Z")), 19_858);
    }
}
