//! TIME: order is by instant, expiry is not moved by reading, and only what is current answers.

use recordari::{Candidate, Filter, Mode, PageRequest, StateFilter, Timestamp};

use super::mei;
use crate::world::{World, at};

#[test]
fn a_time_without_an_offset_is_refused_and_others_are_ordered_by_instant() {
    // B105
    assert!(Timestamp::parse("valid_from", "2025-03-01T10:00").is_err());
    let world = World::new();
    for (text, from) in [("east", "2025-03-01T10:00+09:00"), ("west", "2025-03-01T10:00Z")] {
        let candidate = Candidate {
            observed_at: Some(at(from)),
            valid_from: Some(at(from)),
            ..world.said(None, &format!("it began in the {text}"), "chat")
        };
        world.commit(&mei(), &candidate);
    }
    let between = recordari::Query {
        valid_at: Some(at("2025-03-01T05:00:00Z")),
        ..crate::world::by(Mode::Keyword, "began")
    };
    let found = crate::world::contents(&world.recall(&mei(), &between));
    assert_eq!(found, ["it began in the east"]);
}

#[test]
fn only_current_versions_answer_unless_history_is_asked_for() {
    // B107
    let world = World::new();
    for number in 0..40 {
        let written = world.say(&mei(), None, &format!("fact {number} about the mill"), "chat");
        if number % 5 < 3 {
            world.correct(&mei(), &written, &format!("fact {number} about the old mill"), "chat");
        }
    }
    let answer =
        world.recall(&mei(), &recordari::Query { limit: Some(10), ..crate::world::by(Mode::Hybrid, "mill") });
    assert!(answer.hits.iter().all(|hit| hit.record.state == recordari::State::Current));
    assert_eq!(world.listed(&mei()).len(), 40);
    let superseded = StateFilter::Only(vec![recordari::State::Superseded]);
    let page = PageRequest { limit: 100, cursor: None };
    let page = world.memory().list(&mei(), &Filter::All(Vec::new()), &superseded, &page).unwrap();
    assert_eq!(page.total, 24);
}

#[test]
fn reading_does_not_move_an_expiry_and_the_expiry_can_be_filtered() {
    // B111, B113, B115
    let world = World::new();
    let week = at("2026-03-08T10:00:00Z");
    let candidate = Candidate { expires_at: Some(week), ..world.said(None, "the voucher is valid", "mail") };
    let written = world.commit(&mei(), &candidate);
    world.say(&mei(), None, "the shop is open", "mail");
    for day in 2..8 {
        world.day(&format!("2026-03-0{day}T10:00:00Z"));
        assert_eq!(world.contents(&mei(), "voucher"), ["the voucher is valid"]);
        let record = world.memory().get(&mei(), &written.memory_id).unwrap().unwrap();
        assert_eq!(record.expires_at, Some(week));
    }
    let ends = Filter::ExpiresBefore(week.plus_seconds(1));
    let page = PageRequest { limit: 10, cursor: None };
    let page = world.memory().list(&mei(), &ends, &StateFilter::Current, &page).unwrap();
    assert_eq!((page.total, page.records[0].content.as_str()), (1, "the voucher is valid"));
    world.day("2026-03-08T10:00:00Z");
    assert!(world.contents(&mei(), "voucher").is_empty());
}
