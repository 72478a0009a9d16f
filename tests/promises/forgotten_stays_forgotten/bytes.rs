//! After a finished forget the bytes are in no file of the store, raw or decoded. Each class of place is
//! first shown to hold them, so that a search that sees nothing fails.

use std::path::Path;

use recordari::{
    Candidate, Embedder, Episode, Forgotten, HashingEmbedder, MetaValue, Outcome, Principal, Selector,
    Source, Written,
};

use crate::remains::Canary;
use crate::world::{World, someone};

/// Words of the canary: each in another place of the record.
const WORDS: [&str; 10] = [
    "Marzipanforelle",
    "Quittenbroetchen",
    "Walzerkomet",
    "Nebelhornfisch",
    "Kupferlibelle",
    "Zimtorakel",
    "Moosgondel",
    "Perlhuhntango",
    "Lavendelanker",
    "Rübenkathedrale鹀",
];

fn planted(world: &World, mei: &Principal) -> (Written, Canary) {
    let [content, subject, metadata, locator, speaker, session, reason, revision, corrected, waiting] = WORDS;
    let candidate = Candidate {
        subject: Some(format!("{subject} habit")),
        metadata: [("note".to_owned(), MetaValue::Text(metadata.to_owned()))].into(),
        source: Some(Source {
            id: "chat-1".to_owned(),
            locator: Some(locator.to_owned()),
            speaker: Some(speaker.to_owned()),
        }),
        episode: Some(Episode { session: session.to_owned(), position: 4 }),
        write_reason: Some(format!("since {reason}")),
        revision_path: Some(format!("ask {revision}")),
        ..world.said(
            None,
            &format!("orders {content} every Tuesday, {}", "with a long tail ".repeat(900)),
            "-",
        )
    };
    let memory = world.memory();
    let first = memory.remember_once(mei, &candidate, Some("key-1")).unwrap().written().unwrap();
    let query = recordari::Query { limit: Some(5), ..recordari::Query::new(format!("who orders {content}")) };
    assert_eq!(memory.recall(mei, &query).unwrap().hits.len(), 1);
    world.drain();
    // A second version, and a third that waits for review.
    let text = format!("orders {corrected} instead of {content}");
    let Outcome::Corrected(second) = world.correct(mei, &first, &text, "chat-1#9") else { panic!() };
    let guess = recordari::Correction {
        authority: recordari::Authority::HumanReviewed,
        ..crate::world::correction(&second, &format!("perhaps orders {waiting}"), "chat-1#11", memory.now())
    };
    let outcome = memory.correct(mei, &guess).unwrap().unwrap();
    assert!(matches!(outcome, Outcome::Review(..)), "{outcome:?}");

    let embedder = HashingEmbedder::new(256).unwrap();
    let indexed = format!("{subject} habit: {text}");
    let vectors = embedder.embed_passages(&[&indexed]).unwrap().concat();
    (second, Canary { vectors, ..Canary::new(&WORDS) })
}

fn others(world: &World, mei: &Principal) {
    for number in 0..30 {
        world.say(mei, None, &format!("ordinary note {number} about the garden"), &format!("diary-{number}"));
    }
}

/// The places that must have been seen to hold the canary before it is forgotten.
fn assert_seen(canary: &Canary, folder: &Path) {
    let seen = canary.remains(folder);
    for place in ["recordari.db-wal", "terms", "vectors"] {
        assert!(seen.contains_key(place), "the search is blind for {place}: {seen:?}");
    }
    // Every word by itself.
    for word in WORDS {
        assert!(!Canary::new(&[word]).remains(folder).is_empty(), "the search is blind for {word}");
    }
}

#[test]
fn no_file_of_the_store_holds_a_byte_of_it() {
    let selectors: [fn(&Written) -> Selector; 4] = [
        |written| Selector::Memory(written.memory_id.clone()),
        |_| Selector::Subject("quittenbroetchen Habit".to_owned()),
        |_| Selector::Source("chat-1".to_owned()),
        |_| Selector::Everything,
    ];
    for selector in selectors {
        let mut world = World::new();
        let mei = someone("acme", "mei", None);
        others(&world, &mei);
        let (written, canary) = planted(&world, &mei);
        assert_seen(&canary, world.path());
        let selector = selector(&written);
        let done = world.forget(&mei, selector.clone());
        assert!(matches!(done, Forgotten::Done(_)), "{done:?}");
        assert_eq!(canary.remains(world.path()), [].into(), "after forgetting {selector:?}");
        world.assert_sound();
        world.reopen();
        assert_eq!(canary.remains(world.path()), [].into(), "after opening again");
        assert_eq!(world.forget(&mei, selector).code(), "already_forgotten");
    }
}

#[test]
fn a_database_that_was_checkpointed_before_is_searched_too() {
    let mut world = World::new();
    let mei = someone("acme", "mei", None);
    others(&world, &mei);
    let (written, canary) = planted(&world, &mei);
    world.reopen();
    let seen = canary.remains(world.path());
    assert!(seen.contains_key("recordari.db"), "{seen:?}");
    world.forget_memory(&mei, &written.memory_id);
    assert_eq!(canary.remains(world.path()), [].into());
}

#[test]
fn what_was_merged_and_rebuilt_meanwhile_is_cleaned_as_well() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let (written, canary) = planted(&world, &mei);
    for round in 0..12 {
        world.say(&mei, None, &format!("filler number {round}"), "filler");
        world.drain();
    }
    world.memory().rebuild(&mut |_, _| {}).unwrap();
    world.forget_memory(&mei, &written.memory_id);
    assert_eq!(canary.remains(world.path()), [].into());
}

/// The index and the vectors knew who spoke by the first source. When that source was withdrawn and another
/// kept the record, the name stayed in them.
#[test]
fn a_withdrawn_source_takes_its_speaker_along_from_a_record_that_another_source_keeps() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    others(&world, &mei);
    let said_by = |speaker: Option<&str>, source: &str| Candidate {
        source: Some(Source { id: source.to_owned(), locator: None, speaker: speaker.map(str::to_owned) }),
        ..world.said(None, "the greenhouse needs a new pane", source)
    };
    world.commit(&mei, &said_by(Some("Nebelhornfisch"), "call-1"));
    world.remember(&mei, &said_by(None, "call-2"));
    world.drain();
    let canary = Canary::new(&["Nebelhornfisch"]);
    assert!(canary.remains(world.path()).contains_key("terms"));
    world.forget(&mei, Selector::Source("call-1".to_owned()));
    assert_eq!(canary.remains(world.path()), [].into());
    assert_eq!(world.found(&mei, recordari::Mode::Keyword, "greenhouse pane").len(), 1);
    // The same answers as a store that heard it from the second source alone.
    let twin = World::new();
    others(&twin, &mei);
    twin.commit(&mei, &said_by(None, "call-2"));
    for world in [&world, &twin] {
        world.memory().reembed(&mut |_, _| {}).unwrap();
    }
    for text in ["who needs a pane", "greenhouse", "Nebelhornfisch"] {
        for mode in recordari::Mode::ALL {
            let answer =
                |world: &World| crate::world::comparable(&world.recall(&mei, &crate::world::by(*mode, text)));
            assert_eq!(answer(&world), answer(&twin), "{text} {mode}");
        }
    }
    world.assert_sound();
}
