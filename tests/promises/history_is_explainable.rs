//! What was current at any past moment can be told, except the content of what was forgotten.

use recordari::{AsOf, Correction, Mode, Query, Reason, State, Timestamp, Why};

use crate::world::{World, at, by, contents, correction, someone};

/// The versions of one memory: said on day 1, corrected on day 3 as of day 2, corrected on day 5 for a future
/// that begins on day 8 and ends on day 9.
fn three_versions() -> (World, recordari::Principal, recordari::Written) {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    world.day("2026-03-01T10:00:00Z");
    let first = world.say(&mei, Some("office"), "works in Bern", "chat-1");
    world.day("2026-03-03T10:00:00Z");
    let second = Correction {
        valid_from: Some(at("2026-03-02T10:00:00Z")),
        ..correction(&first, "works in Lyon", "chat-2", world.memory().now())
    };
    let second = world.memory().correct(&mei, &second).unwrap().unwrap().written().unwrap();
    world.day("2026-03-05T10:00:00Z");
    let third = Correction {
        valid_from: Some(at("2026-03-08T10:00:00Z")),
        expires_at: Some(at("2026-03-09T10:00:00Z")),
        ..correction(&second, "works in Porto", "chat-3", world.memory().now())
    };
    let third = world.memory().correct(&mei, &third).unwrap().unwrap().written().unwrap();
    world.day("2026-03-20T10:00:00Z");
    (world, mei, third)
}

fn day(day: u32) -> Option<Timestamp> {
    Some(at(&format!("2026-03-{day:02}T12:00:00Z")))
}

#[test]
fn what_was_true_and_what_was_believed_can_be_told_apart() {
    let (world, mei, written) = three_versions();
    // Believed on that day, about that day: what was in force then.
    let table: [(Option<Timestamp>, Option<Timestamp>, Option<&str>); 14] = [
        // known_at, valid_at
        (day(1), day(1), Some("works in Bern")),
        (day(2), day(2), Some("works in Bern")),
        (day(3), day(1), Some("works in Bern")),
        (day(3), day(2), Some("works in Lyon")),
        (day(3), day(3), Some("works in Lyon")),
        (day(5), day(5), Some("works in Lyon")),
        (day(5), day(8), Some("works in Porto")),
        (day(10), day(1), Some("works in Bern")),
        (day(10), day(9), None),
        (day(4), day(9), Some("works in Lyon")),
        (day(1), None, Some("works in Bern")),
        (None, day(2), Some("works in Lyon")),
        (None, None, None),
        (Some(at("2026-02-20T00:00:00Z")), None, None),
    ];
    for (known_at, valid_at, expected) in table {
        let as_of = AsOf { valid_at, known_at };
        let found = world.memory().as_of(&mei, &written.memory_id, as_of).unwrap();
        assert_eq!(found.as_ref().map(|record| record.content.as_str()), expected, "{as_of:?}");
    }
}

#[test]
fn the_versions_follow_one_another_without_gaps() {
    let (world, mei, written) = three_versions();
    let history = world.memory().history(&mei, &written.memory_id).unwrap();
    let versions: Vec<u32> = history.iter().map(|entry| entry.version).collect();
    assert_eq!(versions, [1, 2, 3]);
    assert_eq!(
        history.iter().map(|entry| entry.state).collect::<Vec<_>>(),
        [State::Superseded, State::Superseded, State::Current]
    );
    for pair in history.windows(2) {
        assert_eq!(pair[0].ended_at, Some(pair[1].recorded_at));
        assert_eq!(pair[1].record.as_ref().unwrap().supersedes.as_ref(), Some(&pair[0].record_id));
    }
    for (entry, why) in history.iter().zip([Reason::Superseded, Reason::Superseded, Reason::Expired]) {
        let found = world.memory().why(&mei, &Query::new("works in"), &entry.record_id).unwrap();
        assert_eq!(found, Why::LeftOut(why, None));
        assert!(world.memory().get_record(&mei, &entry.record_id).unwrap().is_some());
    }
    assert!(world.contents(&mei, "where does she work").is_empty());
}

#[test]
fn recall_answers_for_a_past_moment_what_held_then() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let candidate = recordari::Candidate {
        expires_at: Some(at("2026-03-04T10:00:00Z")),
        ..world.said(None, "the bridge is closed", "news")
    };
    let written = world.commit(&mei, &candidate);
    world.day("2026-03-05T10:00:00Z");
    let then = Query { valid_at: Some(at("2026-03-03T10:00:00Z")), ..by(Mode::Hybrid, "bridge") };
    assert!(world.contents(&mei, "bridge").is_empty());
    assert_eq!(contents(&world.recall(&mei, &then)), ["the bridge is closed"]);
    world.forget_memory(&mei, &written.memory_id);
    assert!(contents(&world.recall(&mei, &then)).is_empty());
}

#[test]
fn of_what_was_forgotten_only_the_skeleton_is_told() {
    let (mut world, mei, written) = three_versions();
    let before = world.memory().history(&mei, &written.memory_id).unwrap();
    world.forget_memory(&mei, &written.memory_id);
    for _ in 0..2 {
        let after = world.memory().history(&mei, &written.memory_id).unwrap();
        for (after, before) in after.iter().zip(&before) {
            assert_eq!((&after.record_id, after.version), (&before.record_id, before.version));
            assert_eq!((after.recorded_at, after.state), (before.recorded_at, State::Forgotten));
            assert_eq!(after.record, None);
        }
        for known_at in 1..21 {
            let as_of = AsOf { valid_at: None, known_at: day(known_at) };
            assert_eq!(world.memory().as_of(&mei, &written.memory_id, as_of).unwrap(), None);
        }
        world.reopen();
    }
}

#[test]
fn a_retired_record_ends_once_and_keeps_its_history() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let written = world.say(&mei, None, "the kiosk sells stamps", "list");
    world.day("2026-03-02T10:00:00Z");
    assert!(world.memory().retire(&mei, &written.record_id, "not on the list any more").unwrap());
    assert!(world.contents(&mei, "kiosk").is_empty());
    // Retiring it again, or what was superseded, changes nothing and breaks nothing.
    assert!(!world.memory().retire(&mei, &written.record_id, "again").unwrap());
    let old = world.say(&mei, None, "the kiosk sells papers", "list");
    world.correct(&mei, &old, "the kiosk sells maps", "list");
    assert!(!world.memory().retire(&mei, &old.record_id, "old").unwrap());
    let before = AsOf { valid_at: None, known_at: Some(at("2026-03-01T12:00:00Z")) };
    let found = world.memory().as_of(&mei, &written.memory_id, before).unwrap().unwrap();
    assert_eq!(found.content, "the kiosk sells stamps");
    world.assert_sound();
}
