//! The story that a stranger sees first.

use std::process::Output;

use crate::door::{Answer, Door};

fn demo(arguments: &[&str]) -> Answer {
    let door = Door::new();
    let mut command = door.command(&[&["demo"], arguments].concat());
    let output: Output =
        command.env("TMPDIR", door.home.path()).env_remove("RECORDARI_MODEL").output().unwrap();
    let left: Vec<_> = std::fs::read_dir(door.home.path()).unwrap().collect();
    assert!(left.is_empty(), "the demo left something behind: {left:?}");
    Answer::of(output)
}

#[test]
fn the_story_holds_in_both_languages_and_is_the_same_every_time() {
    for (lang, words) in
        [("en", ["Python", "receipt", "memory_deleted"]), ("zh", ["小梅", "回执", "memory_deleted"])]
    {
        let first = demo(&["--lang", lang]);
        assert_eq!(first.code, 0, "{}{}", first.stdout, first.stderr);
        assert!(words.iter().all(|word| first.stdout.contains(word)), "{}", first.stdout);
        assert!(!first.stdout.contains('✗'));
        assert_eq!(first.stdout, demo(&["--lang", lang]).stdout);
    }
}

#[test]
fn the_claims_are_there_for_programs_too() {
    let answer = demo(&["--json"]).only_json();
    assert_eq!(answer["outcome"], "shown");
    assert!(answer["claims"].as_array().unwrap().iter().all(|claim| claim["holds"] == true));
}
