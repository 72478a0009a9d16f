//! DUP: what is said twice is one memory, and what only looks alike is not.

use recordari::{Namespace, Outcome, Reason};

use super::mei;
use crate::world::World;

#[test]
fn what_is_fed_back_again_and_again_stays_one_memory() {
    // B95, B97
    let world = World::new();
    let first = world.say(&mei(), None, "the boiler was serviced in May", "chat");
    for round in 0..50 {
        let answer = world.ask(&mei(), "boiler serviced");
        let candidate = world.said(None, &answer.hits[0].record.content, &format!("recall-{round}"));
        let outcome = world.remember(&mei(), &candidate);
        assert_eq!(outcome, Outcome::Idempotent(first.clone(), Some(Reason::DuplicateMemory)));
    }
    for _ in 0..20 {
        let outcome = world.remember(&mei(), &world.said(None, "the boiler was serviced in May", "chat"));
        assert_eq!(outcome, Outcome::Idempotent(first.clone(), None));
    }
    assert_eq!(world.listed(&mei()).len(), 1);
}

#[test]
fn distinct_sentences_are_distinct_memories() {
    // B99
    let world = World::new();
    let batch: Vec<_> = (0..4000)
        .map(|number| world.said(None, &format!("sentence {number} of the corpus"), "book"))
        .collect();
    let outcomes = world.memory().remember_all(&mei(), &batch).unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Outcome::Committed(_)))));
    let again = world.memory().remember_all(&mei(), &batch[..10]).unwrap();
    assert!(again.iter().all(|outcome| matches!(outcome, Ok(Outcome::Idempotent(_, None)))));
}

#[test]
fn duplicates_are_judged_per_namespace() {
    // B103
    let world = World::new();
    let project =
        recordari::Principal::new(Namespace::from_parts("acme", Some("mei"), Some("site"), None).unwrap());
    let here = world.say(&mei(), None, "the same words", "chat");
    let there = world.say(&project, None, "the same words", "chat");
    assert_ne!(here.memory_id, there.memory_id);
    for (who, written) in [(mei(), here), (project, there)] {
        let again = world.remember(&who, &world.said(None, "The same  words", "chat"));
        assert_eq!(again, Outcome::Idempotent(written, None));
    }
}

/// A correction that kept the words and changed the rest was answered as a repetition, and lost.
#[test]
fn a_correction_of_metadata_or_validity_alone_is_a_correction() {
    let world = World::new();
    let first = world.say(&mei(), Some("badge"), "has a visitor badge", "desk");
    let mut change = crate::world::correction(&first, "has a visitor badge", "desk", world.memory().now());
    assert_eq!(world.memory().correct(&mei(), &change).unwrap().unwrap().code(), "idempotent");
    change.expires_at = Some(crate::world::at("2026-04-01T00:00:00Z"));
    let outcome = world.memory().correct(&mei(), &change).unwrap().unwrap();
    assert!(matches!(&outcome, Outcome::Corrected(written) if written.version == 2), "{outcome:?}");
    // The same request again, since its answer was lost.
    assert_eq!(world.memory().correct(&mei(), &change).unwrap().unwrap().code(), "idempotent");
}

/// What had expired was found to be there already, and so could not be said again.
#[test]
fn what_has_expired_can_be_said_again() {
    let world = World::new();
    let brief = |world: &World| recordari::Candidate {
        lifetime: recordari::Lifetime::Session,
        ..world.said(None, "works on the release branch", "chat")
    };
    let first = world.commit(&mei(), &brief(&world));
    assert_eq!(world.remember(&mei(), &brief(&world)).code(), "idempotent");
    world.day("2026-03-04T10:00:00Z");
    assert!(world.contents(&mei(), "release branch").is_empty());
    let second = world.commit(&mei(), &brief(&world));
    assert_ne!(first.memory_id, second.memory_id);
    assert_eq!(world.contents(&mei(), "release branch").len(), 1);
    world.assert_sound();
}
