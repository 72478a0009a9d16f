//! ISO, FILT and SYN: filters come before ranking, pages are stable, and values are never read as syntax.

use recordari::{Candidate, Compare, Filter, Kind, MetaValue, Mode, PageRequest, Query, StateFilter};

use super::{found_first, mei};
use crate::world::{World, at, by, contents, someone};

/// A world whose answers are not cut off below: which of the records that meet a filter is relevant enough is
/// another matter.
fn without_floor() -> World {
    World::with_policy(recordari::Policy::parse("[recall]\nfloor = 0.0").unwrap())
}

fn tagged(world: &World, text: &str, tags: &[&str]) -> Candidate {
    let tags = MetaValue::List(tags.iter().map(|tag| (*tag).to_owned()).collect());
    Candidate { metadata: [("tags".to_owned(), tags)].into(), ..world.said(None, text, "chat") }
}

fn tag(name: &str) -> Filter {
    Filter::Meta("tags".to_owned(), Compare::Holds, MetaValue::Text(name.to_owned()))
}

fn listed(world: &World, filter: Filter) -> Vec<String> {
    let page = PageRequest { limit: 1000, cursor: None };
    let page = world.memory().list(&mei(), &filter, &StateFilter::Current, &page).unwrap();
    page.records.into_iter().map(|record| record.content).collect()
}

#[test]
fn a_far_record_that_meets_the_filter_comes_before_near_ones_that_do_not() {
    // B45, B49, B57
    let world = without_floor();
    let mut many: Vec<Candidate> = (0..500)
        .map(|number| tagged(&world, &format!("the blue whale sings number {number}"), &["other"]))
        .collect();
    many.push(tagged(&world, "one whale among many other animals of the sea", &["wanted"]));
    world.memory().remember_all(&mei(), &many).unwrap();
    for mode in Mode::ALL {
        let query = Query { filter: tag("wanted"), limit: Some(5), ..by(*mode, "the blue whale sings") };
        let found = contents(&world.recall(&mei(), &query));
        assert_eq!(found, ["one whale among many other animals of the sea"], "{mode}");
    }
}

#[test]
fn a_small_namespace_is_not_crowded_out_by_a_large_one() {
    // B39, B47
    let world = without_floor();
    let (large, small) = (someone("acme", "large", None), someone("acme", "small", None));
    let texts =
        ["oats", "rye", "barley", "millet", "sorghum", "teff", "spelt", "maize", "rice", "wheat", "emmer"];
    let many: Vec<_> =
        (0..3000).map(|number| world.said(None, &format!("sack {number} of oats in store"), "log")).collect();
    world.memory().remember_all(&large, &many).unwrap();
    for text in texts {
        world.say(&small, None, &format!("a sack of {text} in store"), "chat");
    }
    for mode in Mode::ALL {
        let query = Query { limit: Some(10), ..by(*mode, "sack of oats in store") };
        let answer = world.recall(&small, &query);
        assert_eq!(answer.hits.len(), 10, "{mode}");
        assert!(answer.hits.iter().all(|hit| hit.record.namespace == small.namespace));
    }
}

#[test]
fn pages_do_not_overlap_and_together_are_everything() {
    // B51
    let world = World::new();
    for number in 0..30 {
        world.say(&mei(), None, &format!("entry {number}"), "chat");
    }
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let request = PageRequest { limit: 10, cursor };
        let page =
            world.memory().list(&mei(), &Filter::All(Vec::new()), &StateFilter::Current, &request).unwrap();
        assert_eq!(page.total as usize, 30 + usize::from(!seen.is_empty()));
        seen.extend(page.records.into_iter().map(|record| record.content));
        // What is written meanwhile stands before the first page.
        if seen.len() == 10 {
            world.say(&mei(), None, "written meanwhile", "chat");
        }
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    let expected: Vec<String> = (0..30).rev().map(|number| format!("entry {number}")).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_filter_can_ask_for_none_and_values_are_literals() {
    // B53, B61, B71, B91, B179, B181
    let world = World::new();
    for number in 0..3 {
        world.commit(&mei(), &tagged(&world, &format!("tagged {number}"), &["a"]));
    }
    world.commit(&mei(), &tagged(&world, "empty list", &[]));
    world.say(&mei(), None, "no tags at all", "chat");
    let none = Filter::Meta("tags".to_owned(), Compare::Equal, MetaValue::List(Vec::new()));
    assert_eq!(listed(&world, none.clone()).len(), 2);
    assert_eq!(listed(&world, Filter::Not(Box::new(none))).len(), 3);
    assert_eq!(listed(&world, Filter::All(Vec::new())).len(), 5);

    let attack = "'; DROP TABLE memories; --";
    let odd = Candidate {
        metadata: [
            (attack.to_owned(), MetaValue::Text(attack.to_owned())),
            ("{\"$ne\":null}".to_owned(), MetaValue::Text("{\"$ne\":null}".to_owned())),
            ("ocr".to_owned(), MetaValue::Null),
            ("n".to_owned(), MetaValue::Number(1.0)),
        ]
        .into(),
        ..world.said(Some(attack), "100% a_b", attack)
    };
    world.commit(&mei(), &odd);
    world.say(&mei(), None, "100x aXb", "chat");
    let equal = |key: &str, value: &str| {
        Filter::Meta(key.to_owned(), Compare::Equal, MetaValue::Text(value.to_owned()))
    };
    let cases = [
        Filter::Contains("a_b".to_owned()),
        Filter::Contains("100%".to_owned()),
        Filter::SubjectPrefix("';".to_owned()),
        Filter::Source(attack.to_owned()),
        equal(attack, attack),
        equal("{\"$ne\":null}", "{\"$ne\":null}"),
        Filter::Meta("n".to_owned(), Compare::AtLeast, MetaValue::Number(1.0)),
    ];
    for filter in cases {
        assert_eq!(listed(&world, filter.clone()), ["100% a_b"], "{filter:?}");
    }
    assert!(listed(&world, Filter::Contains("A_".to_owned() + "%")).is_empty());
    for id in ["%", "_______", "mem_%", "ab%"] {
        let found = world.memory().get(&mei(), &recordari::MemoryId::new(id)).unwrap();
        assert_eq!(found, None);
    }
    world.day("2026-03-02T10:00:00Z");
    world.say(&mei(), None, "only this one is new", "chat");
    let new = Filter::RecordedFrom(at("2026-03-02T00:00:00Z"));
    assert_eq!(listed(&world, new.clone()), ["only this one is new"]);
    let query = Query { filter: new, ..by(Mode::Hybrid, "tagged new one") };
    assert_eq!(contents(&world.recall(&mei(), &query)), ["only this one is new"]);
    let nested = serde_json::json!({ "content": "x", "metadata": { "nested": { "a": [1, null] } } });
    let refused = recordari::json::candidate_from_json(&nested).unwrap_err().to_string();
    assert!(refused.contains("nested"), "{refused}");
}

#[test]
fn a_minimum_score_and_a_limit_hold() {
    // B55, B123, B125, B127, B131
    let world = World::new();
    for number in 0..8 {
        world.say(&mei(), None, &format!("{} bicycle", "spare ".repeat(number)), &format!("chat-{number}"));
    }
    let all = world.recall(&mei(), &by(Mode::Hybrid, "bicycle"));
    let middle = all.hits[all.hits.len() / 2].score;
    let query = Query { limit: Some(3), minimum_score: Some(middle), ..Query::new("bicycle") };
    let answer = world.recall(&mei(), &query);
    assert!(answer.hits.len() <= 3 && answer.hits.iter().all(|hit| hit.score >= middle));
    assert_eq!(answer.hits, world.recall(&mei(), &query).hits);
    let strict = Query { minimum_score: Some(1.0), ..Query::new("bicycle") };
    let answer = world.recall(&mei(), &strict);
    assert!(answer.hits.is_empty());
    assert!(answer.left_out.iter().any(|(_, reason)| *reason == recordari::Reason::BelowMinimumScore));
}

#[test]
fn only_the_kinds_asked_for_answer() {
    // B45
    let world = World::new();
    for kind in Kind::ALL {
        world.commit(
            &mei(),
            &Candidate { kind: *kind, ..world.said(None, &format!("a {kind} thing"), "chat") },
        );
    }
    for kind in Kind::ALL {
        let query = Query { kinds: vec![*kind], ..by(Mode::Hybrid, "thing") };
        assert_eq!(contents(&world.recall(&mei(), &query)), [format!("a {kind} thing")]);
    }
}

#[test]
fn characters_of_code_and_commands_are_found_and_break_nothing() {
    // B63, B65, B69
    let texts = [
        "TODO: fix the build",
        "we run gpt-4o for drafts",
        "claude-code edits the files",
        "the upload takes 100-200MB",
        "write it as field:value",
        "the source is a/b.c",
        "he writes C++ all day",
        "moved from .NET to the JVM",
        "see ticket #42 for that",
        "ask @bob about it",
        "pi is roughly 3.14",
        "call `foo()` before closing",
        "you should not restart before deploy",
    ];
    let questions = [
        ("TODO: fix", texts[0]),
        ("gpt-4o", texts[1]),
        ("claude-code", texts[2]),
        ("100-200MB", texts[3]),
        ("field:value", texts[4]),
        ("a/b.c", texts[5]),
        ("C++", texts[6]),
        (".NET", texts[7]),
        ("#42", texts[8]),
        ("@bob", texts[9]),
        ("3.14", texts[10]),
        ("`foo()`", texts[11]),
        ("what should I NOT do before deploy", texts[12]),
    ];
    found_first(&texts, &questions);
    let world = World::new();
    world.say(&mei(), None, texts[0], "chat");
    for question in ["?!", "the of and", "\"", "a AND (b", "title:x^2 ~", "*", "\\", "NOT", "{}[]", "\u{0}"] {
        for mode in Mode::ALL {
            let answer = world.recall(&mei(), &by(*mode, question));
            assert_eq!(answer.hits.is_empty(), answer.reason.is_some(), "{question}");
        }
    }
}
