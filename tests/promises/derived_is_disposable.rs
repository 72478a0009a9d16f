//! Delete the derived folder: the store opens, says so, rebuilds, and recalls the same.

use std::fs;

use recordari::{Candidate, Mode, Selector};

use crate::child::writer;
use crate::world::{World, by, comparable, someone};

fn aged_world() -> World {
    let world = World::new();
    let mei = writer();
    for number in 0..40 {
        let text =
            format!("fact {number}: the {} of lot {}", ["weight", "colour", "price"][number % 3], number / 3);
        let written = world.say(&mei, None, &text, &format!("list-{}", number % 4));
        match number % 10 {
            3 => drop(world.correct(&mei, &written, &format!("{text} is disputed"), "letter")),
            7 => drop(world.forget_memory(&mei, &written.memory_id)),
            5 => world.drain(),
            _ => {}
        }
    }
    world.forget(&mei, Selector::Source("list-3".to_owned()));
    world.say(&mei, None, "a fact that is not indexed yet about the colour", "late");
    world
}

fn answers(world: &World) -> Vec<String> {
    let queries = ["the colour of lot 4", "price", "disputed weight", "lot 11"];
    let modes = [Mode::Hybrid, Mode::Keyword, Mode::Vector];
    modes
        .into_iter()
        .flat_map(|mode| queries.map(|text| comparable(&world.recall(&writer(), &by(mode, text)))))
        .collect()
}

#[test]
fn a_store_without_its_derived_folder_opens_says_so_and_recalls_the_same() {
    let mut world = aged_world();
    let before = answers(&world);
    world.close();
    fs::remove_dir_all(world.path().join("derived")).unwrap();
    let notices = world.reopen();
    assert!(notices.iter().any(|notice| notice.contains("built again")), "{notices:?}");
    assert_eq!(answers(&world), before);
    world.assert_sound();
    // Once mended it is nothing to speak of.
    assert_eq!(world.reopen(), Vec::<String>::new());
}

#[test]
fn a_rebuild_changes_no_answer() {
    let world = aged_world();
    let before = answers(&world);
    assert!(world.memory().rebuild(&mut |_, _| {}).unwrap());
    assert_eq!(answers(&world), before);
    assert_eq!(answers(&World { memory: Some(world.open_another()), ..world }), before);
}

/// A process that is being started shares the locks of the one that starts it, until it runs its own program.
#[test]
fn a_lock_that_somebody_holds_for_a_moment_is_waited_for() {
    let world = aged_world();
    let mei = someone("acme", "mei", None);
    world.say(&mei, None, "a statement that the index has to catch up with", "chat");
    let lock = world.path().join("derived/keyword/.tantivy-writer.lock");
    let held = || {
        let file = fs::File::options().write(true).create(true).truncate(false).open(&lock).unwrap();
        file.lock().unwrap();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(150));
            drop(file);
        })
    };
    for work in [recordari::Memory::catch_up, recordari::Memory::rebuild] {
        let holder = held();
        assert!(work(world.memory(), &mut |_, _| {}).unwrap());
        holder.join().unwrap();
    }
    world.assert_sound();
}

/// One took the folder away in which another had begun.
#[test]
fn rebuilds_at_the_same_time_get_in_nobodys_way() {
    let world = aged_world();
    let before = answers(&world);
    let mei = writer();
    let other = world.open_another();
    let done: usize = std::thread::scope(|scope| {
        let rebuild =
            |memory: &recordari::Memory| (0..12).filter(|_| memory.rebuild(&mut |_, _| {}).unwrap()).count();
        let threads =
            [world.memory(), &other, world.memory()].map(|memory| scope.spawn(move || rebuild(memory)));
        // Clearing up takes what an interrupted rebuild has left, and nothing of one that runs.
        for number in 0..4 {
            let written = world.say(&mei, None, &format!("passing remark {number}"), "chat");
            world.forget_memory(&mei, &written.memory_id);
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(done > 0);
    drop(other);
    world.memory().resume_deletions().unwrap();
    assert_eq!(answers(&world), before);
    world.assert_sound();
}

#[test]
fn the_derived_folder_holds_no_content_that_an_answer_needs() {
    let world = aged_world();
    let before = answers(&world);
    // Gone while the store is open: what is open stays readable, and the next look mends it.
    fs::remove_dir_all(world.path().join("derived").join("keyword")).unwrap();
    assert_eq!(answers(&world), before);
    world.drain();
    assert_eq!(answers(&world), before);
    world.assert_sound();
}

/// More writes than one batch of a rebuild, in three projects, some of them corrected or forgotten.
fn large_world() -> World {
    const WORDS: [&str; 12] = [
        "harbour", "ledger", "meadow", "engine", "lantern", "orchard", "signal", "anvil", "compass",
        "quarry", "violet", "ferry",
    ];
    let world = World::new();
    let word = |number: usize| WORDS[number % WORDS.len()];
    let said = |number: usize| {
        let text = format!("{} {} of {} number {number}", word(number), word(number / 5), word(number / 31));
        world.said(None, &text, &format!("log-{}", number % 50))
    };
    for project in ["north", "south", "west"] {
        let mei = someone("acme", "mei", Some(project));
        let many: Vec<Candidate> = (0..3_000).map(said).collect();
        let outcomes = world.memory().remember_all(&mei, &many).unwrap();
        let written: Vec<_> =
            outcomes.iter().filter_map(|outcome| outcome.as_ref().unwrap().written()).collect();
        assert_eq!(written.len(), 3_000);
        world.forget_memory(&mei, &written[77].memory_id);
        world.correct(&mei, &written[78], "the compass was replaced by another", "letter");
    }
    world
}

/// The answers to that many questions.
fn thousand(world: &World, many: usize) -> Vec<String> {
    let ask = |number: usize| {
        let mei = someone("acme", "mei", Some(["north", "south", "west"][number % 3]));
        let mode = [Mode::Hybrid, Mode::Keyword, Mode::Vector][number / 3 % 3];
        comparable(
            &world.recall(&mei, &by(mode, &format!("ferry engine {} number {}", number % 7, number * 17))),
        )
    };
    (0..many).map(ask).collect()
}

#[test]
fn a_thousand_questions_have_the_same_answers_before_during_and_after_a_rebuild() {
    let world = large_world();
    world.drain();
    let before = thousand(&world, 1_000);
    let mut asked = 0;
    let mut ask = |_, _| {
        // The old index serves, for whoever opens the store now too.
        let fresh = World { memory: Some(world.open_another()), ..World::new() };
        assert_eq!(thousand(&fresh, 60), before[..60]);
        assert_eq!(thousand(&world, 60), before[..60]);
        asked += 1;
    };
    assert!(world.memory().rebuild(&mut ask).unwrap());
    assert!(asked > 1, "nothing was asked in between");
    assert_eq!(thousand(&world, 1_000), before);
    world.assert_sound();
    let fresh = World { memory: Some(world.open_another()), ..World::new() };
    assert_eq!(thousand(&fresh, 1_000), before);
}

#[test]
fn an_interrupted_rebuild_goes_on_where_it_was_and_keeps_nothing_that_is_forgotten() {
    let world = large_world();
    world.drain();
    let before = thousand(&world, 30);
    let beside = world.path().join("derived").join("keyword-new");
    let steps = |world: &World| {
        let mut steps = Vec::new();
        world.memory().rebuild(&mut |at, _| steps.push(at)).unwrap();
        steps
    };
    let interrupt = |world: &World| {
        let stop = std::panic::AssertUnwindSafe(|| world.memory().rebuild(&mut |_, _| panic!("stopped")));
        assert!(std::panic::catch_unwind(stop).is_err());
        assert!(beside.exists(), "nothing was left of it");
        assert_eq!(thousand(world, 30), before);
    };
    interrupt(&world);
    let first = steps(&world)[0];
    assert!(first > 8_192, "it began anew: {first}");
    assert!(!beside.exists());
    assert_eq!(thousand(&world, 30), before);

    interrupt(&world);
    let mei = someone("acme", "mei", Some("north"));
    let gone = world.ask(&mei, "ferry engine number 17").hits[0].record.memory_id.clone();
    world.forget_memory(&mei, &gone);
    assert!(!beside.exists(), "its files may hold the words");
    assert!(world.memory().rebuild(&mut |_, _| {}).unwrap());
    world.assert_sound();
}
