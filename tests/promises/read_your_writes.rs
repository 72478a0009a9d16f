//! A committed record can be recalled at once and a forgotten one cannot, in this process and in every
//! other, whatever the indexes have caught up with.

use recordari::{Forget, Memory, Mode, Policy, Reach, Selector};

use crate::child::{Child, writer};
use crate::world::{World, by, contents, correction, someone};

const MODES: [Mode; 3] = [Mode::Hybrid, Mode::Keyword, Mode::Vector];

/// What each way of searching finds; all must agree.
fn found(memory: &Memory, text: &str) -> Vec<String> {
    let answer = |mode| contents(&memory.recall(&writer(), &by(mode, text)).unwrap());
    let keyword = answer(Mode::Keyword);
    for mode in MODES {
        let all = answer(mode);
        assert!(
            keyword.iter().all(|content| all.contains(content)),
            "{mode}: {all:?} lacks some of {keyword:?}"
        );
    }
    keyword
}

#[test]
fn what_one_handle_writes_every_handle_finds_at_once() {
    let world = World::new();
    let (one, two) = (world.memory(), &world.open_another());
    let mei = writer();
    // Indexed by one, by the other, by neither.
    for (number, word) in ["quince", "medlar", "sorb"].into_iter().enumerate() {
        let candidate = world.said(None, &format!("the {word} tree bears late"), "chat");
        let written = one.remember(&mei, &candidate).unwrap().written().unwrap();
        if number < 2 {
            [one, two][number].catch_up(&mut |_, _| {}).unwrap();
        }
        for memory in [one, two] {
            assert_eq!(found(memory, word), [candidate.content.as_str()]);
        }
        let corrected = correction(&written, &format!("the {word} was felled"), "chat", one.now());
        two.correct(&mei, &corrected).unwrap().unwrap();
        for memory in [one, two] {
            assert_eq!(found(memory, word), [corrected.content.as_str()]);
            assert!(found(memory, "bears").is_empty());
        }
        one.forget(&mei, &Forget::new(Selector::Memory(written.memory_id), "asked for")).unwrap();
        for memory in [one, two] {
            assert!(found(memory, word).is_empty());
        }
    }
}

#[test]
fn what_another_process_writes_is_found_at_once_and_the_other_way_round() {
    let world = World::new();
    let mut child = Child::start(world.path());
    let mei = writer();
    let said = child.ask(&["remember", "-", "the ferry leaves from pier nine", "harbour"]);
    let ids: Vec<&str> = said.split('\t').collect();
    assert_eq!(ids[0], "committed");
    assert_eq!(found(world.memory(), "ferry"), ["the ferry leaves from pier nine"]);

    assert_eq!(child.ask(&["correct", ids[1], ids[2], "the ferry leaves from pier ten"]), "corrected");
    assert_eq!(found(world.memory(), "ferry"), ["the ferry leaves from pier ten"]);

    world.say(&mei, None, "the tram stops at the harbour", "plan");
    assert_eq!(child.ask(&["recall", "tram"]), "the tram stops at the harbour");
    world.drain();
    world.forget(&mei, Selector::Source("plan".to_owned()));
    assert_eq!(child.ask(&["recall", "tram"]), "");
    // The child indexes what this process wrote and the other way round.
    assert_eq!(child.ask(&["catch_up"]), "true");
    world.drain();
    world.assert_sound();
}

#[test]
fn a_reach_below_follows_every_write_below_and_no_other() {
    let world = World::with_policy(Policy::parse("[recall]\nnear_duplicate = 1.0").unwrap());
    let all = someone("acme", "mei", None).with_reach(Reach::Below);
    let project = |name| someone("acme", "mei", Some(name));
    let found = |memory: &recordari::Memory| {
        let mut contents = contents(&memory.recall(&all, &by(Mode::Hybrid, "boat")).unwrap());
        contents.sort();
        contents
    };
    assert!(found(world.memory()).is_empty());
    world.say(&project("a"), None, "boat of project a", "log");
    assert_eq!(found(world.memory()), ["boat of project a"]);
    // A project that is new, one that belongs to somebody else, and her own namespace above both.
    let second = world.say(&project("b"), None, "boat of project b", "log");
    world.say(&someone("acme", "tom", Some("a")), None, "boat of tom", "log");
    world.say(&someone("acme", "mei", None), None, "boat of all projects", "log");
    assert_eq!(found(world.memory()), ["boat of all projects", "boat of project a", "boat of project b"]);
    world.correct(&project("b"), &second, "boat of project b, sold", "log");
    assert_eq!(found(world.memory())[2], "boat of project b, sold");
    // As another process sees it, which loads what this one has followed; and after the index has caught up.
    assert_eq!(found(&world.open_another()), found(world.memory()));
    world.drain();
    assert_eq!(found(&world.open_another()), found(world.memory()));
    world.forget(&project("a"), recordari::Selector::Everything);
    assert_eq!(found(world.memory()), ["boat of all projects", "boat of project b, sold"]);
    for number in 0..40 {
        let name = format!("p{number}");
        world.say(&someone("acme", "mei", Some(&name)), None, &format!("boat number {number}"), "log");
    }
    assert_eq!(found(world.memory()).len(), 42);
    assert_eq!(found(&world.open_another()), found(world.memory()));
    world.assert_sound();
}

#[test]
fn every_number_that_is_taken_is_read_back() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    for (number, (confidence, importance)) in
        [(1.0, -0.0), (1.0, 0.0), (0.8, 5e-324), (0.750_000_000_000_000_1, 1.0 - f64::EPSILON), (1.0, 1.0)]
            .into_iter()
            .enumerate()
    {
        let text = format!("keeps opal number {number} in the drawer");
        let candidate = recordari::Candidate { confidence, importance, ..world.said(None, &text, "chat") };
        let written = world.commit(&mei, &candidate);
        let record = world.memory().get(&mei, &written.memory_id).unwrap().unwrap();
        assert_eq!((record.confidence, record.importance), (confidence, importance));
    }
    world.assert_sound();
}
