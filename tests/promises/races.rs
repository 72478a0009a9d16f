//! Several writers at once: exactly one of racing corrections wins, nothing is lost, nothing is doubled.

use std::sync::Barrier;

use recordari::{Memory, Outcome, Reason};

use crate::child::{Child, writer};
use crate::world::{World, correction};

#[test]
fn of_racing_corrections_exactly_one_wins_and_the_others_are_shown_the_winner() {
    let world = World::new();
    let mei = writer();
    let other = world.open_another();
    let handles = [world.memory(), &other, world.memory(), &other];
    for round in 0..6 {
        let written = world.say(&mei, Some(&format!("race {round}")), "at the start", "chat");
        let barrier = Barrier::new(handles.len());
        let race = |(number, memory): (usize, &Memory)| {
            let text = format!("runner {number} of round {round}");
            let correction = correction(&written, &text, &format!("chat-{number}"), memory.now());
            barrier.wait();
            (number, memory.correct(&mei, &correction).unwrap().unwrap())
        };
        let race = &race;
        let outcomes: Vec<(usize, Outcome)> = std::thread::scope(|scope| {
            let runners: Vec<_> =
                handles.into_iter().enumerate().map(|runner| scope.spawn(move || race(runner))).collect();
            runners.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winners: Vec<_> =
            outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Corrected(_))).collect();
        assert_eq!(winners.len(), 1, "{outcomes:?}");
        let expected = format!("runner {} of round {round}", winners[0].0);
        for (_, outcome) in &outcomes {
            if let Outcome::Conflict(reason, current) = outcome {
                assert_eq!(*reason, Reason::StaleExpectedRecord);
                assert_eq!(current.as_ref().unwrap().content, expected);
            } else {
                assert!(matches!(outcome, Outcome::Corrected(_)), "{outcome:?}");
            }
        }
        assert_eq!(world.memory().get(&mei, &written.memory_id).unwrap().unwrap().content, expected);
        assert_eq!(world.memory().history(&mei, &written.memory_id).unwrap().len(), 2);
    }
    world.assert_sound();
}

#[test]
fn losers_that_read_and_try_again_all_get_their_turn() {
    let world = World::new();
    let mei = writer();
    let written = world.say(&mei, Some("list"), "milk", "chat");
    std::thread::scope(|scope| {
        for item in ["bread", "salt", "tea"] {
            let (world, mei, memory_id) = (&world, &mei, written.memory_id.clone());
            scope.spawn(move || {
                loop {
                    let seen = world.memory().get(mei, &memory_id).unwrap().unwrap();
                    let text = format!("{}, {item}", seen.content);
                    let outcome = world.correct(
                        mei,
                        &recordari::Written {
                            record_id: seen.record_id,
                            memory_id: memory_id.clone(),
                            version: seen.version,
                        },
                        &text,
                        "chat",
                    );
                    match outcome {
                        Outcome::Corrected(_) => break,
                        Outcome::Conflict(Reason::StaleExpectedRecord, Some(_)) => {}
                        other => panic!("{other:?}"),
                    }
                }
            });
        }
    });
    let last = world.memory().get(&mei, &written.memory_id).unwrap().unwrap();
    assert_eq!(last.version, 4);
    assert!(
        ["milk", "bread", "salt", "tea"].iter().all(|item| last.content.contains(item)),
        "{}",
        last.content
    );
}

#[test]
fn the_same_text_at_the_same_time_is_one_memory() {
    let world = World::new();
    let mei = writer();
    let other = world.open_another();
    let barrier = Barrier::new(6);
    let write = |number: usize| {
        let memory = [world.memory(), &other][number % 2];
        let candidate = world.said(None, "the gate code changed", &format!("chat-{}", number % 3));
        barrier.wait();
        memory.remember(&mei, &candidate).unwrap()
    };
    let write = &write;
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|number| scope.spawn(move || write(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let committed = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Committed(_))).count();
    assert_eq!(committed, 1, "{outcomes:?}");
    let listed = world.listed(&mei);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].evidence.len(), 3);
}

#[test]
fn two_processes_lose_no_write_of_the_other() {
    let mut world = World::new();
    // Both begin with a folder that is not there yet.
    world.close();
    let folder = world.path().join("new");
    let (mut one, mut two) = (Child::start(&folder), Child::start(&folder));
    one.send(&["write", "200", "one"]);
    two.send(&["write", "200", "two"]);
    assert_eq!((one.next().as_deref(), two.next().as_deref()), (Some("done"), Some("done")));
    let options = recordari::Options { folder, ..world.options() };
    world.memory = Some(Memory::open(options).unwrap().0);
    assert_eq!(world.listed(&writer()).len(), 400);
    world.assert_sound();
}

#[test]
fn a_store_that_several_open_at_once_is_created_once() {
    let world = World::new();
    let folder = world.path().join("new");
    let barrier = Barrier::new(8);
    let open = || {
        let options = recordari::Options { folder: folder.clone(), ..world.options() };
        barrier.wait();
        Memory::open(options).unwrap().0
    };
    let open = &open;
    let memories: Vec<Memory> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mei = writer();
    for (number, memory) in memories.iter().enumerate() {
        // With another key than the others', one of them would not know the text again.
        let candidate = world.said(None, "the same words", &format!("chat-{number}"));
        let outcome = memory.remember(&mei, &candidate).unwrap();
        assert_eq!(outcome.code(), if number == 0 { "committed" } else { "idempotent" });
    }
    assert_eq!(memories[7].verify().unwrap(), []);
}

#[test]
fn half_of_many_writers_may_fail_and_the_other_half_is_all_there() {
    let world = World::new();
    let mei = writer();
    std::thread::scope(|scope| {
        for number in 0..40 {
            let (world, mei) = (&world, &mei);
            scope.spawn(move || {
                let mut candidate = world.said(None, &format!("writer {number} was here"), "chat");
                if number % 2 == 1 {
                    candidate.confidence = f64::NAN;
                }
                assert_eq!(world.memory().remember(mei, &candidate).is_ok(), number % 2 == 0);
            });
        }
    });
    assert_eq!(world.listed(&mei).len(), 20);
    world.assert_sound();
}
