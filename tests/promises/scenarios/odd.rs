//! TXT: odd ids, odd files, and fields that claim what they may not.

use recordari::{MetaValue, Namespace, Outcome};

use super::mei;
use crate::world::{World, correction, someone};

#[test]
fn a_namespace_has_a_stated_length_that_is_checked_when_it_is_named() {
    // B93
    let error = Namespace::new("acme").unwrap().user("u".repeat(300)).unwrap_err().to_string();
    assert!(error.contains("200"), "{error}");
    let longest = Namespace::new("acme").unwrap().user("u".repeat(200)).unwrap();
    let world = World::new();
    let who = recordari::Principal::new(longest);
    world.say(&who, None, "a note under a long name", "chat");
    assert_eq!(world.contents(&who, "note"), ["a note under a long name"]);
}

#[test]
fn a_correction_cannot_move_a_memory_to_someone_else() {
    // B33
    let world = World::new();
    let written = world.say(&mei(), None, "mine", "chat");
    let user = MetaValue::Text("tom".to_owned());
    let change = recordari::Correction {
        metadata: Some([("user_id".to_owned(), user)].into()),
        ..correction(&written, "still mine", "chat", world.memory().now())
    };
    let outcome = world.memory().correct(&mei(), &change).unwrap().unwrap();
    assert!(matches!(&outcome, Outcome::Corrected(next) if next.memory_id == written.memory_id));
    let record = world.memory().get(&mei(), &written.memory_id).unwrap().unwrap();
    assert_eq!(record.namespace, mei().namespace);
    assert!(world.listed(&someone("acme", "tom", None)).is_empty());
}

/// A power cut may damage the file of traces, which is not synced: that once kept the store from opening.
#[test]
fn a_damaged_file_of_traces_is_begun_anew() {
    let mut world = World::new();
    world.say(&mei(), None, "worth keeping", "chat");
    world.close();
    std::fs::write(world.path().join("traces.db"), b"this is no database, however long it may be".repeat(99))
        .unwrap();
    let notices = world.reopen();
    assert!(notices.iter().any(|notice| notice.contains("traces")), "{notices:?}");
    assert!(world.ask(&mei(), "worth keeping").trace_id.is_some());
    assert_eq!(world.reopen(), Vec::<String>::new());
}

#[test]
fn what_waits_for_a_person_comes_in_the_order_in_which_it_came() {
    let world = World::new();
    let texts: Vec<String> = (0..12).map(|number| format!("rumour number {number}")).collect();
    for text in &texts {
        let doubt = recordari::Candidate { confidence: 0.2, ..world.said(None, text, "rumours") };
        assert_eq!(world.remember(&mei(), &doubt).code(), "review");
    }
    let (waiting, total) = world.memory().waiting(&mei(), 100).unwrap();
    assert_eq!(waiting.iter().map(|waiting| waiting.content.as_str()).collect::<Vec<_>>(), texts);
    assert_eq!(total, 12);
    assert_eq!(world.memory().waiting(&mei(), 5).unwrap().0[..], waiting[..5]);
}
