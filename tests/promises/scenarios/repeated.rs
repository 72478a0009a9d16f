//! DUP: what is said twice is one memory, and what only looks alike is not.

use recordari::{
    Authority, Candidate, Cardinality, Lifetime, Namespace, Outcome, Query, Reason, Selector, Sensitivity,
};

use super::mei;
use crate::world::{World, at};

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

/// What is said again and holds more firmly is a new version, and nothing of it is lost.
fn said_again(
    first: impl Fn(Candidate) -> Candidate,
    again: impl Fn(Candidate) -> Candidate,
) -> (World, Candidate) {
    let world = World::new();
    let cleared = mei().with_clearance(Sensitivity::Sensitive);
    let said = |source| world.said(None, "likes the opera", source);
    let before = world.commit(&cleared, &first(said("chat-1")));
    let stronger = again(said("chat-2"));
    let after = world.commit(&cleared, &stronger);
    assert_eq!((&after.memory_id, after.version), (&before.memory_id, 2));
    assert!(matches!(world.remember(&cleared, &stronger), Outcome::Idempotent(..)), "only once");
    world.assert_sound();
    (world, stronger)
}

#[test]
fn a_statement_that_comes_again_with_more_behind_it_is_not_swallowed_as_a_duplicate() {
    let cleared = mei().with_clearance(Sensitivity::Sensitive);
    let only = |world: &World| {
        let mut all = world.listed(&cleared);
        assert_eq!(all.len(), 1);
        all.remove(0)
    };
    // For this session first, then for good.
    let session = |c: Candidate| Candidate { lifetime: Lifetime::Session, ..c };
    let (world, _) = said_again(session, |c| c);
    assert_eq!(only(&world).expires_at, None);
    assert_eq!(only(&world).lifetime, Lifetime::CrossTask);
    // From a later time first, then from now.
    let later = Some(at("2031-01-01T00:00:00Z"));
    let (world, _) = said_again(|c| Candidate { valid_from: later, ..c }, |c| c);
    assert_eq!(world.contents(&cleared, "opera"), ["likes the opera"]);
    // For everyone's eyes first, then for few.
    let (world, _) = said_again(|c| c, |c| Candidate { sensitivity: Sensitivity::Sensitive, ..c });
    assert!(world.contents(&mei(), "opera").is_empty());
    assert_eq!(world.contents(&cleared, "opera").len(), 1);
    // Inferred first, then said outright; what it rested on stays, and each can be withdrawn.
    let inferred = |c: Candidate| Candidate { authority: Authority::ModelInferred, ..c };
    let (world, _) = said_again(inferred, |c| c);
    let record = only(&world);
    assert_eq!(record.authority, Authority::UserExplicit);
    assert_eq!(record.evidence.len(), 2);
    world.forget(&cleared, Selector::Source("chat-2".to_owned()));
    assert_eq!(only(&world).evidence.len(), 1);
}

#[test]
fn a_repetition_that_adds_nothing_stays_a_duplicate() {
    let world = World::new();
    let first = world.say(&mei(), None, "likes the opera", "chat-1");
    let weaker: [fn(Candidate) -> Candidate; 4] = [
        |c| Candidate { lifetime: Lifetime::Session, ..c },
        |c| Candidate { authority: Authority::ModelInferred, ..c },
        |c| Candidate { sensitivity: Sensitivity::Public, ..c },
        |c| Candidate { valid_from: Some(at("2031-01-01T00:00:00Z")), ..c },
    ];
    for (number, weaken) in weaker.iter().enumerate() {
        let said = weaken(world.said(None, "likes the opera", &format!("log-{number}")));
        assert_eq!(world.remember(&mei(), &said).written(), Some(first.clone()), "{number}");
    }
}

#[test]
fn a_subject_has_one_value_or_several_and_not_both() {
    let world = World::new();
    let multi = |subject, content| Candidate {
        cardinality: Cardinality::Multi,
        ..world.said(Some(subject), content, "chat")
    };
    let home = world.say(&mei(), Some("home"), "lives in Oslo", "chat");
    let in_the_way = |outcome: Outcome| match outcome {
        Outcome::Conflict(Reason::ConflictRequiresCorrection, Some(record)) => record.record_id,
        other => panic!("{other:?}"),
    };
    assert_eq!(in_the_way(world.remember(&mei(), &multi("home", "lives in Rome"))), home.record_id);
    world.commit(&mei(), &multi("lang", "speaks Norwegian"));
    let second = world.commit(&mei(), &multi("lang", "speaks Italian"));
    let single = world.said(Some("lang"), "speaks nothing else", "chat");
    assert_eq!(in_the_way(world.remember(&mei(), &single)), second.record_id);
}

#[test]
fn what_has_expired_stands_in_nobodys_way() {
    let world = World::new();
    let soon = Candidate {
        expires_at: Some(at("2026-03-02T00:00:00Z")),
        ..world.said(Some("meeting"), "the meeting is at 3", "chat-1")
    };
    let first = world.commit(&mei(), &soon);
    world.day("2026-03-03T00:00:00Z");
    let next = world.say(&mei(), Some("meeting"), "the meeting is at 5", "chat-2");
    assert_eq!((&next.memory_id, next.version), (&first.memory_id, 2));
    assert_eq!(world.contents(&mei(), "meeting"), ["the meeting is at 5"]);
    world.assert_sound();
}

#[test]
fn a_query_without_a_word_is_told_so() {
    let world = World::new();
    world.say(&mei(), None, "likes the opera", "chat");
    for text in ["\"", "* , ...", "。！", "  "] {
        assert_eq!(world.ask(&mei(), text).reason, Some(Reason::EmptyQuery), "{text}");
    }
    assert_eq!(world.recall(&mei(), &Query::new("🎭")).reason, Some(Reason::NoRelevantMemory));
}

#[test]
fn triggers_and_observations_are_compared_by_words() {
    let world = World::new();
    let rule = Candidate {
        read_trigger: Some("ci".to_owned()),
        ..world.said(None, "rotate the pager first", "chat")
    };
    world.commit(&mei(), &rule);
    assert!(world.contents(&mei(), "decide on the pager").is_empty());
    assert_eq!(world.contents(&mei(), "pager for CI").len(), 1);
    world.say(&mei(), Some("database"), "the database is PostgreSQL 17", "chat");
    let observed = |value: &str| {
        let query = Query {
            observed: vec![("database".to_owned(), value.to_owned())],
            ..Query::new("which database")
        };
        world.recall(&mei(), &query).hits[0].refresh_required
    };
    for (value, contradicts) in [
        ("PostgreSQL 1", true),
        ("MySQL", true),
        ("PostgreSQL 17", false),
        ("today the database is PostgreSQL 17", false),
    ] {
        assert_eq!(observed(value), contradicts, "{value}");
    }
}
