//! What stands around a record, who says it and when, is part of its score: named, switchable, and of nothing that the caller
//! may not see.

use recordari::{Candidate, Episode, Hit, Mode, Policy, Principal, Query, Sensitivity, Source};

use crate::world::{World, at, comparable, someone};

/// A turn of a conversation.
fn turn(world: &World, session: &str, position: u32, speaker: &str, text: &str) -> Candidate {
    let source = Source {
        id: "talks".to_owned(),
        locator: Some(format!("{session}-{position}")),
        speaker: Some(speaker.to_owned()),
    };
    Candidate {
        episode: Some(Episode { session: session.to_owned(), position }),
        source: Some(source),
        ..world.said(None, text, "talks")
    }
}

fn talk() -> (World, Principal) {
    let world = World::with_policy(Policy::parse("[recall]\nfloor = 0\n").unwrap());
    let mei = someone("acme", "mei", None);
    for (session, position, speaker, text) in [
        ("1", 0, "Ann", "Where did you spend the holidays by the sea?"),
        ("1", 1, "Bo", "In a small house near Porto."),
        ("1", 2, "Ann", "The weather here was grey."),
        ("2", 0, "Ann", "A small house is what they want to build."),
        ("2", 1, "Bo", "Concrete got expensive."),
    ] {
        world.commit(&mei, &turn(&world, session, position, speaker, text));
    }
    (world, mei)
}

fn asked(world: &World, who: &Principal, text: &str) -> Vec<Hit> {
    world.recall(who, &Query { limit: Some(20), characters: Some(100_000), ..Query::new(text) }).hits
}

fn value(hits: &[Hit], text: &str, part: &str) -> f64 {
    let hit = hits.iter().find(|hit| hit.record.content.starts_with(text));
    let hit = hit.unwrap_or_else(|| panic!("{text} is not among {hits:?}"));
    hit.parts.iter().find(|named| named.name == part).unwrap().value
}

#[test]
fn an_answer_has_part_of_the_match_of_the_question_before_it() {
    let (world, mei) = talk();
    let hits = asked(&world, &mei, "holidays by the sea");
    let answer = value(&hits, "In a small house", "neighbours");
    assert!(answer > 0.3, "{answer}");
    // A statement passes on less than a question, and nobody of another session has any of it.
    assert!(value(&hits, "The weather", "neighbours") < answer);
    assert!(value(&hits, "Concrete", "neighbours") < 0.1);
    assert!(value(&hits, "The weather", "session") > value(&hits, "Concrete", "session"));
    assert_eq!(hits[0].record.content, "Where did you spend the holidays by the sea?");
    assert_eq!(hits[1].record.content, "In a small house near Porto.");
}

#[test]
fn who_speaks_what_is_asked_and_the_day_are_parts_of_their_own() {
    let (world, mei) = talk();
    world.day("2026-03-05T10:00:00Z");
    world.commit(&mei, &turn(&world, "3", 0, "assistant", "The old bridge of Porto is worth a visit."));
    world.commit(&mei, &turn(&world, "3", 1, "user", "I prefer quiet places, by the way."));
    let hits = asked(&world, &mei, "What did Bo say of the house?");
    assert_eq!((value(&hits, "In a small", "speaker"), value(&hits, "A small", "speaker")), (1.0, 0.0));
    assert_eq!((value(&hits, "Where did", "statement"), value(&hits, "Concrete", "statement")), (0.0, 1.0));
    assert_eq!((value(&hits, "The old", "role"), value(&hits, "I prefer", "role")), (0.0, 1.0));
    assert_eq!((value(&hits, "I prefer", "rule"), value(&hits, "Concrete", "rule")), (1.0, 0.0));
    // Two who are named are no hint, and what the assistant said is asked for.
    let both = asked(&world, &mei, "Did Ann or Bo see what you recommended?");
    assert_eq!((value(&both, "In a small", "speaker"), value(&both, "The old", "role")), (0.0, 1.0));
    world.day("2026-03-06T10:00:00Z");
    for (query, is_of_that_day) in
        [("which places yesterday?", 1.0), ("昨天的地方", 1.0), ("which places today?", 0.0)]
    {
        let dated = asked(&world, &mei, query);
        assert_eq!(value(&dated, "I prefer", "date"), is_of_that_day, "{query}");
    }
}

#[test]
fn each_part_can_be_switched_off() {
    let text = "What did Bo say of the house by the sea yesterday?";
    for (part, weight) in [
        ("neighbours", 0.209),
        ("session", 0.078),
        ("speaker", 0.052),
        ("statement", 0.052),
        ("role", 0.078),
        ("date", 0.106),
        ("rule", 0.052),
    ] {
        let (mut world, mei) = talk();
        let contribution = |hits: &[Hit]| -> f64 {
            hits.iter()
                .flat_map(|hit| &hit.parts)
                .filter(|named| named.name == part)
                .map(|named| named.contribution)
                .sum()
        };
        world.day("2026-03-02T10:00:00Z");
        let with = contribution(&asked(&world, &mei, text));
        // The weight goes to a part that is the same for all, so that they still sum to 1.
        let confidence = 0.006 + weight;
        let policy =
            format!("[recall]\nfloor = 0\n[recall.weights]\n{part} = 0\nconfidence = {confidence}\n");
        world.policy = Policy::parse(&policy).unwrap();
        world.reopen();
        assert!(with > 0.0 || part == "rule", "{part}");
        assert_eq!(contribution(&asked(&world, &mei, text)), 0.0, "{part}");
    }
}

#[test]
fn what_the_caller_may_not_see_passes_nothing_on() {
    let secret = "Where did you spend the holidays by the sea?";
    let build = |sensitive: Option<bool>| {
        let world = World::with_policy(Policy::parse("[recall]\nfloor = 0\n").unwrap());
        let mei = someone("acme", "mei", None);
        let mut forgotten = None;
        for (position, text) in [(0, "We talked for long."), (1, secret), (2, "In a small house near Porto.")]
        {
            let one = turn(&world, "1", position, if position == 1 { "Ann" } else { "Bo" }, text);
            let one = Candidate {
                sensitivity: if position == 1 && sensitive == Some(true) {
                    Sensitivity::Sensitive
                } else {
                    one.sensitivity
                },
                ..one
            };
            if position != 1 || sensitive.is_some() {
                let cleared = Principal { clearance: Sensitivity::Sensitive, ..mei.clone() };
                let written = world.commit(&cleared, &one);
                forgotten = if position == 1 { Some(written) } else { forgotten };
            }
        }
        if let (Some(false), Some(written)) = (sensitive, forgotten) {
            world.forget_memory(&mei, &written.memory_id);
        }
        world.day("2026-03-02T10:00:00Z");
        (world, mei)
    };
    let (never, mei) = build(None);
    let without = comparable(&never.recall(&mei, &Query::new("holidays by the sea of Ann")));
    for sensitive in [true, false] {
        let (world, mei) = build(Some(sensitive));
        let answer = world.recall(&mei, &Query::new("holidays by the sea of Ann"));
        assert_eq!(comparable(&answer), without, "sensitive: {sensitive}");
    }
    assert_eq!(at("2026-03-02T10:00:00Z"), never.memory().now());
}

#[test]
fn in_a_conversation_that_is_the_query_a_person_counts_more_than_an_assistant() {
    let world = World::with_policy(Policy::parse("[recall]\nfloor = 0\n").unwrap());
    let mei = someone("acme", "mei", None);
    for text in ["walnut bread with honey", "copper kettle on the stove"] {
        world.say(&mei, None, text, "diary");
    }
    let first = |query: &str| {
        let query = Query { mode: Mode::Vector, ..Query::new(query) };
        world.recall(&mei, &query).hits[0].record.content.clone()
    };
    for (mine, other) in [
        ("walnut bread with honey", "copper kettle on the stove"),
        ("copper kettle on the stove", "walnut bread with honey"),
    ] {
        for (person, assistant) in [("Bart", "Assistant"), ("user", "AI"), ("用户", "助手")] {
            assert_eq!(first(&format!("{assistant}: {other}\n{person}: {mine}")), mine);
            assert_eq!(first(&format!("{person}: {mine}\n{assistant}: {other}")), mine);
        }
    }
}
