//! A dry run names what would go; its token forgets exactly that, or nothing.

use recordari::{Candidate, Forget, Forgotten, Mode, Preview, Principal, Selector};

use crate::remains::Canary;
use crate::world::{World, correction, someone};

fn preview(world: &World, who: &Principal, selector: &Selector) -> Preview {
    let request = Forget::new(selector.clone(), "asked for");
    world.memory().preview_forget(who, &request).unwrap().expect("there is something to forget")
}

fn apply(world: &World, who: &Principal, selector: &Selector, token: &str) -> Forgotten {
    let request = Forget { preview: Some(token.to_owned()), ..Forget::new(selector.clone(), "asked for") };
    world.memory().forget(who, &request).unwrap()
}

fn ids<T: AsRef<str>>(ids: impl IntoIterator<Item = T>) -> Vec<String> {
    ids.into_iter().map(|id| id.as_ref().to_owned()).collect()
}

#[test]
fn a_preview_changes_nothing_and_its_token_forgets_exactly_what_it_named() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let first = world.say(&mei, Some("lunch"), "orders Marzipanforelle", "chat-1");
    world
        .memory()
        .correct(&mei, &correction(&first, "orders Holunderknödel", "chat-1", world.memory().now()))
        .unwrap();
    let summary = Candidate {
        derived_from: vec![first.record_id.clone()],
        ..world.said(Some("summary"), "eats something sweet", "chat-2")
    };
    let selectors = [
        Selector::Memory(first.memory_id.clone()),
        Selector::Subject("lunch".to_owned()),
        Selector::Source("chat-1".to_owned()),
        Selector::Everything,
    ];
    let _ = world.memory().remember(&mei, &summary).unwrap();
    world.drain();
    let before = bytes_of(world.path());
    let seen: Vec<Preview> = selectors.iter().map(|selector| preview(&world, &mei, selector)).collect();
    let again: Vec<Preview> = selectors.iter().map(|selector| preview(&world, &mei, selector)).collect();
    assert_eq!(seen, again, "the same store, the same preview");
    assert_eq!(bytes_of(world.path()), before, "a preview writes nothing");
    let mut tokens: Vec<&str> = seen.iter().map(|preview| preview.token.as_str()).collect();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), selectors.len(), "a token is of one selector");
    assert!(seen.iter().all(|preview| !preview.token.contains("lunch")));

    // The token of another selector is not taken, and nothing is gone.
    assert_eq!(apply(&world, &mei, &selectors[1], &seen[0].token), Forgotten::StalePreview);
    assert_eq!(world.found(&mei, Mode::Keyword, "Holunderknödel"), ["orders Holunderknödel"]);

    let done = apply(&world, &mei, &selectors[0], &seen[0].token);
    let Forgotten::Done(receipt) = &done else { panic!("{done:?}") };
    let named =
        |key: &str| ids(receipt.details[key].as_array().unwrap().iter().map(|id| id.as_str().unwrap()));
    assert_eq!(named("memory_ids"), ids(seen[0].memories.iter().map(|id| id.as_str())));
    assert_eq!(named("record_ids"), ids(seen[0].records.iter().map(|id| id.as_str())));
    assert_eq!(receipt.details["preview"], seen[0].token.as_str());
    assert_eq!(Canary::new(&["Marzipanforelle", "Holunderknödel"]).remains(world.path()), [].into());
    // Repeated it is the same deletion.
    let repeated = apply(&world, &mei, &selectors[0], &seen[0].token);
    assert_eq!(repeated.code(), "already_forgotten");
    assert_eq!(repeated.receipt().unwrap().receipt_id, receipt.receipt_id);
    world.assert_sound();
}

fn bytes_of(folder: &std::path::Path) -> Vec<u8> {
    let database = std::fs::read(folder.join("recordari.db")).unwrap();
    let journal = std::fs::read(folder.join("recordari.db-wal")).unwrap_or_default();
    [database, journal, std::fs::read(folder.join("ledger.db")).unwrap()].concat()
}

#[test]
fn whatever_changes_what_would_go_makes_a_preview_stale_and_forgets_nothing() {
    type Change = fn(&World, &Principal);
    let changes: [(&str, Change); 4] = [
        ("another memory", |world, mei| drop(world.say(mei, None, "walks home afterwards", "chat-3"))),
        ("a new version", |world, mei| {
            let listed = world.listed(mei);
            let lunch = listed.iter().find(|record| record.subject.as_deref() == Some("lunch")).unwrap();
            let written = recordari::Written {
                memory_id: lunch.memory_id.clone(),
                record_id: lunch.record_id.clone(),
                version: lunch.version,
            };
            world
                .memory()
                .correct(mei, &correction(&written, "orders Holunderknödel", "chat-1", world.memory().now()))
                .unwrap();
        }),
        ("one of them gone", |world, mei| {
            let request = Forget::new(Selector::Subject("tea".to_owned()), "asked for");
            assert!(matches!(world.memory().forget(mei, &request).unwrap(), Forgotten::Done(_)));
        }),
        ("all of it gone", |world, mei| {
            let request = Forget::new(Selector::Everything, "asked for");
            assert!(matches!(world.memory().forget(mei, &request).unwrap(), Forgotten::Done(_)));
        }),
    ];
    for (what, change) in changes {
        let world = World::new();
        let mei = someone("acme", "mei", None);
        world.say(&mei, Some("lunch"), "orders Marzipanforelle", "chat-1");
        world.say(&mei, Some("tea"), "drinks Sencha", "chat-2");
        let token = preview(&world, &mei, &Selector::Everything).token;
        change(&world, &mei);
        let left = world.listed(&mei).len();
        let chain = world.memory().stats(&mei).unwrap()["writes"].clone();
        assert_eq!(apply(&world, &mei, &Selector::Everything, &token), Forgotten::StalePreview, "{what}");
        assert_eq!(world.listed(&mei).len(), left, "{what}");
        assert_eq!(world.memory().stats(&mei).unwrap()["writes"], chain, "{what}");
        world.assert_sound();
        // The store goes on: what is written after a preview that was refused joins the same chain.
        world.say(&mei, None, "likes long walks", "chat-9");
        world.assert_sound();
    }
}

#[test]
fn nothing_of_others_is_previewed_and_a_made_up_token_forgets_nothing() {
    let world = World::new();
    let (mei, tom) = (someone("acme", "mei", None), someone("acme", "tom", None));
    let written = world.say(&mei, Some("lunch"), "orders Marzipanforelle", "chat-1");
    let of_mei = Forget::new(Selector::Memory(written.memory_id.clone()), "asked for");
    assert_eq!(world.memory().preview_forget(&tom, &of_mei).unwrap(), None);
    assert_eq!(world.memory().preview_forget(&tom, &Forget::new(Selector::Everything, "x")).unwrap(), None);
    let token = preview(&world, &mei, &Selector::Everything).token;
    assert_eq!(apply(&world, &tom, &Selector::Everything, &token), Forgotten::StalePreview);
    assert_eq!(apply(&world, &mei, &Selector::Everything, "pre_0"), Forgotten::StalePreview);
    assert_eq!(world.listed(&mei).len(), 1);
    // Of several requests in one transaction each has its own fate.
    let stale =
        Forget { preview: Some("pre_0".to_owned()), ..Forget::new(Selector::Everything, "asked for") };
    let other = Forget::new(Selector::Subject("lunch".to_owned()), "asked for");
    let done = world.memory().forget_all(&[(&mei, &stale), (&mei, &other)]).unwrap();
    let codes: Vec<&str> = done.iter().map(|done| done.as_ref().unwrap().code()).collect();
    assert_eq!(codes, ["stale_preview", "forgotten"]);
    world.assert_sound();
}
