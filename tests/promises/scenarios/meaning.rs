//! Scenarios that only a model that knows meanings can pass; they share the embedded one.

use std::sync::{Arc, OnceLock};

use recordari::embed::E5;
use recordari::{Embedder, Mode, Query, Reason};

use super::mei;
use crate::world::{World, by, contents};

fn model() -> Arc<dyn Embedder> {
    static MODEL: OnceLock<Arc<E5>> = OnceLock::new();
    MODEL.get_or_init(|| Arc::new(E5::embedded().unwrap())).clone()
}

fn world(texts: &[&str]) -> World {
    let world = World::with_embedder(Some(model()));
    for (number, text) in texts.iter().enumerate() {
        world.say(&mei(), None, text, &format!("chat-{number}"));
    }
    world
}

#[test]
fn a_corrected_memory_is_not_met_by_its_old_meaning() {
    // B21
    let mut world = world(&["the dentist moved to Oak Street"]);
    world.policy = recordari::Policy::parse("[recall]\nfloor = 0.0").unwrap();
    world.reopen();
    let written = world.say(&mei(), None, "quarterly budget in Berlin", "chat");
    let before = world.recall(&mei(), &by(Mode::Vector, "how much money may we spend this quarter?"));
    let score = |answer: &recordari::Recalled, text: &str| {
        answer.hits.iter().find(|hit| hit.record.content == text).map_or(0.0, |hit| hit.parts[0].value)
    };
    let old = score(&before, "quarterly budget in Berlin");
    assert!(old > 0.0);
    world.correct(&mei(), &written, "holiday plan in Lisbon", "chat");
    let after = world.recall(&mei(), &by(Mode::Vector, "how much money may we spend this quarter?"));
    assert!(score(&after, "holiday plan in Lisbon") < old);
    assert!(!contents(&after).iter().any(|text| text.contains("Berlin")));
}

#[test]
fn a_name_is_found_across_scripts_of_chinese() {
    // B73
    let world = world(&["你好，我是 Foy", "the meeting is on Thursday", "今天天气很好"]);
    assert_eq!(world.contents(&mei(), "你知道我叫什麼名字嗎")[0], "你好，我是 Foy");
}

#[test]
fn chinese_is_found_by_meaning() {
    // B81
    let world = world(&["这是中文", "the fridge is empty", "他喜欢跑步"]);
    assert_eq!(world.found(&mei(), Mode::Vector, "中文")[0], "这是中文");
}

#[test]
fn one_fact_in_four_wordings_takes_one_place_of_three() {
    // B101
    let paraphrases = [
        "my favourite colour is blue",
        "the favourite colour of mine is blue",
        "blue is my favourite colour",
        "my favourite color is blue",
    ];
    let others = ["my favourite food is ramen", "my favourite season is autumn", "my favourite city is Oslo"];
    let world = world(&[&paraphrases[..], &others[..]].concat());
    let query = Query { limit: Some(3), ..Query::new("what is my favourite colour, food and season?") };
    let found = contents(&world.recall(&mei(), &query));
    let of_one = found.iter().filter(|text| paraphrases.contains(&text.as_str())).count();
    assert!(of_one <= 1 && found.len() == 3, "{found:?}");
}

#[test]
fn a_nonsense_question_gets_no_answer() {
    // B129
    let world =
        world(&["the invoice is due on Friday", "she is allergic to nuts", "the office is on floor six"]);
    let answer = world.ask(&mei(), "florble quantum marmot zibber dax");
    assert!(answer.hits.iter().all(|hit| hit.score < 0.4), "{:?}", answer.hits);
    if answer.hits.is_empty() {
        assert_eq!(answer.reason, Some(Reason::NoRelevantMemory));
    }
}
