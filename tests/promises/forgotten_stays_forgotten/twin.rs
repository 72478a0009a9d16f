//! A store that forgot answers like a store that never knew: the same memories, in the same order, with the
//! same scores to the last bit, and the same counts.

use recordari::{Candidate, Filter, Mode, PageRequest, Principal, Query, Selector, StateFilter};

use crate::world::{World, by, comparable, someone};

const QUERIES: [&str; 9] = [
    "orders Marzipanforelle every Tuesday",
    "Marzipanforelle",
    "who orders fish",
    "garden note",
    "note 7 about the garden",
    "Tuesday market",
    "lunch",
    "something that nobody ever wrote",
    "the of and",
];

/// The same life twice; with the canaries in one of them, forgotten in each of the four ways.
fn live(with_canaries: bool, drained: bool) -> (World, Principal) {
    let world = World::new();
    let mei = someone("acme", "mei", Some("home"));
    let drain = || {
        if drained {
            world.drain()
        }
    };
    let canary = |subject: Option<&str>, text: &str, source: &str| {
        if with_canaries {
            world.say(&mei, subject, text, source);
        }
    };
    canary(Some("lunch"), "orders Marzipanforelle every Tuesday", "chat-1#1");
    drain();
    for number in 0..25 {
        let text = format!("note {number} about the {}", ["garden", "market", "fish pond"][number % 3]);
        let written = world.say(&mei, None, &text, &format!("diary-{}", number % 5));
        canary(None, &format!("Marzipanforelle is on sale at stand {number}"), "flyer");
        if number % 6 == 1 {
            world.correct(&mei, &written, &format!("{text} on a Tuesday"), "letter");
        }
        if number == 12 {
            drain();
        }
    }
    canary(Some("secret dish"), "Marzipanforelle with mustard", "chat-1#3");
    if with_canaries {
        world.ask(&mei, "Marzipanforelle");
        world.forget(&mei, Selector::Subject("lunch".to_owned()));
        world.forget(&mei, Selector::Source("flyer".to_owned()));
        let memory = world.listed(&mei)[0].memory_id.clone();
        assert_eq!(world.forget_memory(&mei, &memory).code(), "forgotten");
    }
    // Life goes on after the forget.
    for number in 0..5 {
        world.say(&mei, None, &format!("late note {number} from the market"), "diary-9");
    }
    drain();
    (world, mei)
}

fn answers(world: &World, mei: &Principal) -> Vec<String> {
    let mut answers = Vec::new();
    for text in QUERIES {
        for mode in Mode::ALL {
            answers.push(comparable(&world.recall(mei, &Query { explain: true, ..by(*mode, text) })));
            answers.push(comparable(
                &world.recall(mei, &Query { explain: true, mode: *mode, ..Query::new(text) }),
            ));
        }
    }
    for filter in [
        Filter::All(Vec::new()),
        Filter::Contains("Marzipan".to_owned()),
        Filter::Source("flyer".to_owned()),
        Filter::SubjectPrefix("l".to_owned()),
    ] {
        for states in [StateFilter::Current, StateFilter::Only(recordari::State::ALL.to_vec())] {
            let request = PageRequest { limit: 7, cursor: None };
            let page = world.memory().list(mei, &filter, &states, &request).unwrap();
            let contents: Vec<String> = page.records.into_iter().map(|record| record.content).collect();
            answers.push(format!("{} {contents:?} {}", page.total, page.cursor.is_some()));
        }
    }
    answers.push(format!("{:?}", world.memory().waiting(mei, 10).unwrap()));
    let stats = world.memory().stats(mei).unwrap();
    answers.push(format!("{} {} {}", stats["namespaces"], stats["embedded"], stats["waiting_for_review"]));
    answers
}

#[test]
fn a_store_that_forgot_answers_like_one_that_never_knew() {
    for drained in [false, true] {
        let (mut forgot, mei) = live(true, drained);
        let (never, _) = live(false, drained);
        let expected = answers(&never, &mei);
        for (answer, expected) in answers(&forgot, &mei).iter().zip(&expected) {
            assert_eq!(answer, expected);
        }
        forgot.reopen();
        assert_eq!(answers(&forgot, &mei), expected, "after opening again");
        forgot.memory().rebuild(&mut |_, _| {}).unwrap();
        assert_eq!(answers(&forgot, &mei), expected, "after a rebuild");
        forgot.assert_sound();
    }
}

#[test]
fn the_comparison_would_see_a_memory_that_was_not_forgotten() {
    let (world, mei) = live(false, false);
    let before = answers(&world, &mei);
    let candidate = Candidate { importance: 0.0, ..world.said(None, "one more word on fish", "x") };
    world.commit(&mei, &candidate);
    assert_ne!(answers(&world, &mei), before);
}
