//! What one tenant stores changes no other tenant's results, scores, counts or errors; an id that is not
//! yours looks like an id that does not exist.

use std::fmt::Debug;

use recordari::{
    AsOf, Candidate, Filter, Forget, Memory, MemoryId, Mode, PageRequest, Principal, Query, RecordId,
    Selector, Sensitivity, StateFilter, Written,
};

use crate::world::{World, by, comparable, correction, someone};

const TEXTS: [&str; 5] = [
    "the ferry to the island leaves at noon",
    "the ferry captain is called Aino",
    "tickets for the island are sold on the pier",
    "the island has one bakery",
    "the bakery closes at noon",
];

fn settle(world: &World) -> Principal {
    let mei = someone("acme", "mei", Some("trip"));
    for (number, text) in TEXTS.into_iter().enumerate() {
        world.say(&mei, None, text, &format!("chat-{number}"));
    }
    mei
}

/// Neighbours of every sort who say the same words more often, and some of it where mei may not look.
fn move_in(world: &World) {
    let neighbours = [
        someone("globex", "mei", Some("trip")),
        someone("acme", "tom", Some("trip")),
        someone("acme", "mei", Some("other")),
    ];
    for who in &neighbours {
        for number in 0..20 {
            let text = format!("{} {}", TEXTS[number % 5], "ferry island bakery ".repeat(number % 4));
            let written = world.say(who, None, &text, &format!("log-{number}"));
            match number % 7 {
                2 => drop(world.correct(who, &written, "the ferry sank", "news")),
                5 => drop(world.forget_memory(who, &written.memory_id)),
                _ => {}
            }
        }
        let doubt = Candidate { confidence: 0.1, ..world.said(None, "maybe a ferry", "rumour") };
        world.remember(who, &doubt);
        world.ask(who, "ferry");
    }
    let cleared = someone("acme", "mei", Some("trip")).with_clearance(Sensitivity::Sensitive);
    let secret = Candidate {
        sensitivity: Sensitivity::Sensitive,
        ..world.said(None, "the ferry island bakery safe", "vault")
    };
    world.commit(&cleared, &secret);
    world.drain();
}

#[test]
fn a_text_that_is_kept_above_the_clearance_is_answered_as_one_that_is_not_kept() {
    let world = World::new();
    let mei = someone("acme", "mei", Some("trip"));
    let cleared = mei.clone().with_clearance(Sensitivity::Sensitive);
    let said = world.said(None, "the safe is behind the bakery", "chat-1");
    let secret = world.commit(&cleared, &Candidate { sensitivity: Sensitivity::Sensitive, ..said.clone() });
    let own = world.commit(&mei, &said);
    assert_ne!(own.memory_id, secret.memory_id);
    assert_eq!(world.remember(&mei, &said).written(), Some(own), "its own is found again");
    // Whoever may read both is answered with the first.
    assert_eq!(world.remember(&cleared, &said).written(), Some(secret));
}

fn answers(world: &World, who: &Principal) -> Vec<String> {
    let mut answers = Vec::new();
    for text in ["ferry to the island", "bakery", "who is the captain", "nothing of the sort"] {
        for mode in Mode::ALL {
            answers.push(comparable(&world.recall(who, &Query { explain: true, ..by(*mode, text) })));
        }
    }
    for filter in [Filter::All(Vec::new()), Filter::Contains("ferry".to_owned())] {
        let page = world
            .memory()
            .list(who, &filter, &StateFilter::Current, &PageRequest { limit: 3, cursor: None })
            .unwrap();
        answers.push(format!("{} {}", page.total, page.records.len()));
    }
    answers.push(world.memory().stats(who).unwrap()["namespaces"].to_string());
    answers.push(world.memory().stats(who).unwrap()["embedded"].to_string());
    answers.push(world.memory().stats(who).unwrap()["open_deletions"].to_string());
    answers.push(format!("{:?}", world.memory().waiting(who, 9).unwrap()));
    answers
}

#[test]
fn every_answer_score_and_count_is_the_same_with_neighbours_and_without() {
    let (alone, crowded) = (World::new(), World::new());
    let mei = settle(&alone);
    settle(&crowded);
    move_in(&crowded);
    let expected = answers(&alone, &mei);
    for (answer, expected) in answers(&crowded, &mei).iter().zip(&expected) {
        assert_eq!(answer, expected);
    }
    // Those who moved in first change nothing either.
    let (mut crowded, nobody) = (World::new(), someone("acme", "nobody", None));
    move_in(&crowded);
    settle(&crowded);
    assert_eq!(answers(&crowded, &mei), expected);
    crowded.reopen();
    assert_eq!(answers(&crowded, &mei), expected);
    assert_eq!(answers(&crowded, &nobody), answers(&World::new(), &nobody));
}

/// Everything that can be asked about an id, and what comes of it.
fn asked(memory: &Memory, who: &Principal, written: &Written) -> Vec<String> {
    fn show(what: &str, answer: &dyn Debug) -> String {
        format!("{what}: {answer:?}")
    }
    let now = memory.now();
    let forget = |selector| memory.forget(who, &Forget::new(selector, "asked for"));
    let cursor = PageRequest { limit: 3, cursor: Some(written.record_id.to_string()) };
    let derived = Candidate {
        derived_from: vec![written.record_id.clone()],
        source: Some(recordari::Source::parse("x")),
        observed_at: Some(now),
        authority: recordari::Authority::UserExplicit,
        ..Candidate::new(recordari::Kind::Semantic, "derived from it")
    };
    vec![
        show("get", &memory.get(who, &written.memory_id)),
        show("get_record", &memory.get_record(who, &written.record_id)),
        show("history", &memory.history(who, &written.memory_id)),
        show("as_of", &memory.as_of(who, &written.memory_id, AsOf::default())),
        show("memory_of", &memory.memory_of(who, &written.record_id)),
        show("forgotten", &memory.forgotten(who, &written.memory_id)),
        show("why", &memory.why(who, &Query::new("ferry"), &written.record_id)),
        show("correct", &memory.correct(who, &correction(written, "sunk", "x", now))),
        show("retire", &memory.retire(who, &written.record_id, "gone")),
        show("forget", &forget(Selector::Memory(written.memory_id.clone()))),
        show("list", &memory.list(who, &Filter::All(Vec::new()), &StateFilter::Current, &cursor)),
        show("derive", &memory.remember(who, &derived)),
    ]
}

#[test]
fn an_id_of_someone_else_answers_exactly_like_an_unknown_one() {
    let world = World::new();
    settle(&world);
    let mei = someone("acme", "mei", Some("trip"));
    let unknown = Written {
        memory_id: MemoryId::new("mem_00000000000000000000000000"),
        record_id: RecordId::new("rec_00000000000000000000000000"),
        version: 1,
    };
    let strangers = [
        someone("globex", "mei", Some("trip")),
        someone("acme", "tom", Some("trip")),
        someone("acme", "mei", Some("other")),
    ];
    for stranger in &strangers {
        let theirs = world.say(stranger, Some("ferry"), "the ferry of someone else", "theirs");
        assert_eq!(
            asked(world.memory(), &mei, &theirs),
            asked(world.memory(), &mei, &unknown),
            "{stranger:?}"
        );
        // The other one notices nothing.
        assert!(world.memory().get(stranger, &theirs.memory_id).unwrap().is_some());
        world.forget_memory(stranger, &theirs.memory_id);
        assert_eq!(asked(world.memory(), &mei, &theirs), asked(world.memory(), &mei, &unknown), "forgotten");
    }
    let cleared = mei.clone().with_clearance(Sensitivity::Sensitive);
    let secret =
        Candidate { sensitivity: Sensitivity::Sensitive, ..world.said(None, "a safe ferry", "vault") };
    let secret = world.commit(&cleared, &secret);
    let (of_secret, of_unknown) =
        (asked(world.memory(), &mei, &secret), asked(world.memory(), &mei, &unknown));
    for (answer, expected) in of_secret.iter().zip(&of_unknown) {
        // A place in a list may be known to whoever may write there; forgetting is done below.
        if !["forget", "list"].iter().any(|what| answer.starts_with(what)) {
            assert_eq!(answer, expected);
        }
    }
}

#[test]
fn a_trace_is_shown_to_whoever_asked_and_to_nobody_whose_name_only_prints_the_same() {
    let world = World::new();
    let mei = settle(&world);
    let trace = world.ask(&mei, "ferry").trace_id.unwrap();
    assert!(world.memory().trace(&mei, &trace).unwrap().is_some());
    let posing = recordari::Namespace::new("acme user=mei project=trip").unwrap();
    assert_eq!(posing.to_string(), mei.namespace.to_string());
    for stranger in [Principal::new(posing), someone("acme", "tom", Some("trip"))] {
        assert_eq!(world.memory().trace(&stranger, &trace).unwrap(), None);
    }
}

#[test]
fn a_part_of_a_namespace_is_never_read_as_another_part() {
    let world = World::new();
    let names =
        ["mei&agent=a9", "mei", "mei project=trip", "%", "_", "' OR 1=1; --", "{\"$ne\":null}", "me\u{130}"];
    let people = names.map(|name| someone("acme", name, None));
    for (name, who) in names.iter().zip(&people) {
        world.say(who, None, &format!("a note of {name}"), "chat");
    }
    for (name, who) in names.iter().zip(&people) {
        assert_eq!(world.contents(who, "a note"), [format!("a note of {name}")]);
        assert_eq!(world.listed(who).len(), 1);
    }
}
