//! DEL and STALE: forgetting reaches everything, and no index disagrees with the store.

use recordari::{Mode, Outcome, Reason, Selector, State};

use super::mei;
use crate::world::{World, at, by, contents, someone};

#[test]
fn a_forgotten_text_is_found_by_no_way_of_searching() {
    // B01, B05, B07
    let world = World::new();
    let written = world.say(&mei(), None, "the vault code hint is bluebird", "chat");
    for mode in Mode::ALL {
        assert_eq!(world.found(&mei(), *mode, "bluebird vault hint").len(), 1);
    }
    let first = world.forget_memory(&mei(), &written.memory_id);
    for mode in Mode::ALL {
        assert!(world.found(&mei(), *mode, "bluebird vault hint").is_empty());
    }
    assert_eq!(world.memory().get(&mei(), &written.memory_id).unwrap(), None);
    assert_eq!(
        world.memory().forgotten(&mei(), &written.memory_id).unwrap(),
        Some(first.receipt().unwrap().receipt_id.clone())
    );
    let second = world.forget_memory(&mei(), &written.memory_id);
    assert_eq!((first.code(), second.code()), ("forgotten", "already_forgotten"));
    assert_eq!(first.receipt().unwrap().receipt_id, second.receipt().unwrap().receipt_id);
    assert!(world.listed(&mei()).is_empty());
}

#[test]
fn forgetting_a_namespace_counts_all_of_it_and_nothing_else() {
    // B03, B29, B149
    let world = World::new();
    let other = someone("acme", "tom", None);
    let many = |count: usize| -> Vec<_> {
        (0..count)
            .map(|number| {
                let mut candidate = world.said(None, &format!("memory number {number}"), "log");
                let text = recordari::MetaValue::Text("x".repeat(5000));
                candidate.metadata.insert("bulk".to_owned(), text);
                candidate
            })
            .collect()
    };
    world.memory().remember_all(&mei(), &many(257)).unwrap();
    world.memory().remember_all(&other, &many(5)).unwrap();
    let one = world.listed(&other)[0].memory_id.clone();
    world.forget_memory(&other, &one);
    assert_eq!(world.listed(&other).len(), 4);
    let receipt = world.forget(&mei(), Selector::Everything).receipt().unwrap().to_json();
    assert_eq!(receipt["counts"]["memories"], 257);
    assert_eq!((world.listed(&mei()).len(), world.listed(&other).len()), (0, 4));
}

#[test]
fn a_second_source_keeps_a_memory_that_the_first_one_loses() {
    // B09, B41
    let world = World::new();
    let first = world.say(&mei(), None, "I am the admin agent", "chat-1");
    let again = world.remember(&mei(), &world.said(None, "I am the admin agent", "chat-2"));
    assert_eq!(again, Outcome::Idempotent(first.clone(), Some(Reason::DuplicateMemory)));
    world.say(&mei(), Some("role"), "I am the admin agent", "chat-3");
    let forgotten = world.forget(&mei(), Selector::Source("chat-1".to_owned()));
    assert_eq!(forgotten.receipt().unwrap().details["kept_with_other_sources"][0], first.memory_id.as_str());
    for mode in [Mode::Keyword, Mode::Vector] {
        assert!(!world.found(&mei(), mode, "admin agent").is_empty());
    }
    world.forget_memory(&mei(), &first.memory_id);
    assert_eq!(world.listed(&mei()).len(), 1);
    assert_eq!(world.found(&mei(), Mode::Keyword, "admin agent"), ["I am the admin agent"]);
}

#[test]
fn no_version_of_a_forgotten_memory_is_left_in_any_index() {
    // B13, B27
    let world = World::new();
    for round in 0..3 {
        let written =
            world.say(&mei(), None, &format!("xyzzy version one of {round}"), &format!("a-{round}"));
        world.correct(&mei(), &written, &format!("xyzzy version two of {round}"), &format!("b-{round}"));
        world.drain();
        world.forget_memory(&mei(), &written.memory_id);
        assert!(world.found(&mei(), Mode::Keyword, "xyzzy").is_empty());
    }
    world.assert_sound();
    assert_eq!(crate::remains::Canary::new(&["xyzzy"]).remains(world.path()), [].into());
}

#[test]
fn a_shared_record_outlives_one_of_its_readers() {
    // B15
    let world = World::new();
    let agent = |name: &str| {
        let home = recordari::Namespace::new("acme").unwrap().user("mei").unwrap();
        recordari::Principal::new(home.agent(name).unwrap())
    };
    let (a, b) = (agent("a"), agent("b"));
    world.say(&mei(), None, "shared by both agents", "chat");
    world.say(&a, None, "private to the first agent", "chat");
    world.forget(&a, Selector::Everything);
    for who in [&a, &b] {
        assert_eq!(world.contents(who, "agents"), ["shared by both agents"]);
    }
}

#[test]
fn a_past_that_was_forgotten_is_not_told_at_any_instant() {
    // B19
    let world = World::new();
    let candidate = recordari::Candidate {
        expires_at: Some(at("2026-03-04T00:00:00Z")),
        ..world.said(None, "the road is closed", "news")
    };
    let written = world.commit(&mei(), &candidate);
    world.day("2026-03-05T00:00:00Z");
    let then = recordari::Query { valid_at: Some(at("2026-03-03T00:00:00Z")), ..by(Mode::Hybrid, "road") };
    assert!(world.contents(&mei(), "road").is_empty());
    assert_eq!(contents(&world.recall(&mei(), &then)), ["the road is closed"]);
    world.forget_memory(&mei(), &written.memory_id);
    assert!(contents(&world.recall(&mei(), &then)).is_empty());
    let history = world.memory().history(&mei(), &written.memory_id).unwrap();
    assert_eq!(history[0].state, State::Forgotten);
}

#[test]
fn corrected_memories_are_found_by_their_new_words_and_their_vectors_are_counted() {
    // B25, B171
    let world = World::new();
    let written: Vec<_> =
        (0..20).map(|number| world.say(&mei(), None, &format!("draft {number}"), "chat")).collect();
    let mut last = written[0].clone();
    for round in 0..10 {
        let Outcome::Corrected(next) = world.correct(&mei(), &last, &format!("final text {round}"), "chat")
        else {
            panic!()
        };
        last = next;
    }
    assert_eq!(last.version, 11);
    assert_eq!(world.found(&mei(), Mode::Keyword, "final text"), ["final text 9"]);
    let stats = world.memory().stats(&mei()).unwrap();
    assert_eq!(stats["embedded"], serde_json::json!({ "records": 20, "of": 20 }));
}
