//! UNI: every script is found, in whatever form its characters come.

use recordari::{Mode, Query, Reason};

use super::{each_found_by_itself, found_first, mei};
use crate::world::{World, by};

#[test]
fn one_word_of_a_sentence_finds_it_in_every_script() {
    // B75
    let texts = [
        "Мы встречаемся у старого моста",
        "Συναντιόμαστε στην παλιά γέφυρα",
        "نلتقي عند الجسر القديم",
        "हम पुराने पुल पर मिलते हैं",
        "เราพบกันที่สะพานเก่า",
        "우리는 오래된 다리에서 만난다",
        "私たちは古い橋で会います",
        "我们在旧桥边见面",
    ];
    let words = ["моста", "γέφυρα", "الجسر", "पुल", "สะพาน", "다리에서", "古い橋", "旧桥"];
    let questions: Vec<(&str, &str)> = words.into_iter().zip(texts).collect();
    found_first(&texts, &questions);
}

#[test]
fn composed_decomposed_and_wide_forms_meet() {
    // B77
    found_first(
        &[
            "the café by the river",
            "trains to Zürich",
            "a piñata for the party",
            "감 나무",
            "model ＡＢＣ１２３ is new",
        ],
        &[
            ("cafe\u{301}", "the café by the river"),
            ("Zu\u{308}rich", "trains to Zürich"),
            ("pin\u{303}ata", "a piñata for the party"),
            ("\u{1100}\u{1161}\u{11b7}", "감 나무"),
            ("ABC123", "model ＡＢＣ１２３ is new"),
        ],
    );
}

#[test]
fn odd_characters_are_stored_and_break_nothing() {
    // B79, B83, B89
    each_found_by_itself(&["constructor", "__proto__", "null", "NaN", "true", "-0"]);
    each_found_by_itself(&["family 👩‍👩‍👧‍👦 photo", "token <|endoftext|> here", "broken \u{fffd} character"]);
    let world = World::new();
    let texts = ["a\0b", "a", "ab"];
    let batch: Vec<_> = texts.iter().map(|text| world.said(None, text, "chat")).collect();
    let outcomes = world.memory().remember_all(&mei(), &batch).unwrap();
    assert!(
        outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|outcome| outcome.code() == "committed"))
    );
    world.drain();
    for text in texts {
        let record = world.listed(&mei()).into_iter().find(|record| record.content == text);
        assert!(record.is_some(), "{text:?}");
        let found = world.found(&mei(), Mode::Hybrid, text);
        assert!(found.iter().any(|content| content == text), "{text:?}: {found:?}");
    }
    world.assert_sound();
}

#[test]
fn a_lone_surrogate_in_json_is_refused_or_replaced_and_never_a_crash() {
    // B79
    let parsed = serde_json::from_str::<serde_json::Value>("{\"content\":\"a \\ud83d b\"}");
    assert!(parsed.is_err() || recordari::json::candidate_from_json(&parsed.unwrap()).is_ok());
}

#[test]
fn an_empty_question_is_no_question() {
    // B85
    let world = World::new();
    world.say(&mei(), None, "something", "chat");
    for text in ["", "   ", "\n\t", "\u{3000}"] {
        let answer = world.recall(&mei(), &by(Mode::Hybrid, text));
        assert_eq!((answer.hits.len(), answer.reason), (0, Some(Reason::EmptyQuery)));
    }
}

#[test]
fn no_time_word_in_a_question_is_read_as_a_filter() {
    // B109
    let world = World::new();
    world.say(&mei(), None, "the dinosaur museum opens at nine", "chat");
    for when in ["十万年前", "in the year 0", "next 999999 days", "last Feb 30"] {
        let query = Query::new(format!("{when} dinosaur museum opens"));
        assert_eq!(world.recall(&mei(), &query).hits.len(), 1, "{when}");
    }
}
