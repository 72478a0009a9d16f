//! What went wrong in other memory systems, tried on ours. The id of each scenario stands in a comment.

mod concurrent;
mod embedding;
mod filters;
mod forgetting;
mod languages;
mod meaning;
mod odd;
mod repeated;
mod times;

use recordari::{Mode, Principal};

use crate::world::{World, by, contents, someone};

fn mei() -> Principal {
    someone("acme", "mei", None)
}

/// Remembers each text by itself and asks each question: the text expected must come first by words.
fn found_first(texts: &[&str], questions: &[(&str, &str)]) {
    let world = World::new();
    for (number, text) in texts.iter().enumerate() {
        world.say(&mei(), None, text, &format!("chat-{number}"));
    }
    for drained in [false, true] {
        if drained {
            world.drain();
        }
        for (question, expected) in questions {
            let found = contents(&world.recall(&mei(), &by(Mode::Keyword, question)));
            assert_eq!(found.first().map(String::as_str), Some(*expected), "{question}: {found:?}");
        }
    }
}

/// Remembers each text and asks for it in its own words.
fn each_found_by_itself(texts: &[&str]) {
    let questions: Vec<(&str, &str)> = texts.iter().map(|text| (*text, *text)).collect();
    found_first(texts, &questions);
}
