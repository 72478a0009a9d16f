//! Delete the derived folder: the store opens, says so, rebuilds, and recalls the same.

use std::fs;

use recordari::{Mode, Selector};

use crate::child::writer;
use crate::world::{World, by, comparable};

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
