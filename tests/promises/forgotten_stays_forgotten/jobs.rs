//! How far a deletion has come, in every place; and deletions that reach all of a user, a project or a tenant.

use std::time::Duration;

use recordari::{
    ErrorKind, Forget, Forgotten, JobState, Mode, Namespace, Principal, Promise, Reach, Reason, Receipt,
    Selector,
};
use serde_json::{Value, json};

use crate::remains::Canary;
use crate::world::{World, by, someone};

const WORDS: [&str; 7] = [
    "Marzipanforelle",
    "Holunderknödel",
    "Quarkgeige",
    "Nebelhupe",
    "Zimtanker",
    "Pflaumenuhr",
    "Torfgitarre",
];

fn place(tenant: &str, user: Option<&str>, project: Option<&str>) -> Principal {
    Principal::new(Namespace::from_parts(tenant, user, project, None).unwrap())
}

fn done(forgotten: &Forgotten) -> &Receipt {
    match forgotten {
        Forgotten::Done(receipt) => receipt,
        other => panic!("{other:?}"),
    }
}

fn counts(receipt: &Receipt, place: &str) -> [u64; 4] {
    ["deleted", "absent", "retained", "failed"].map(|what| {
        receipt.details["places"][place][what].as_u64().unwrap_or_else(|| panic!("{place} {what}"))
    })
}

#[test]
fn everything_below_goes_and_nothing_beside() {
    let world = World::new();
    let all = [
        ("acme", Some("mei"), None),
        ("acme", Some("mei"), Some("website")),
        ("acme", Some("mei"), Some("garden")),
        ("acme", Some("tom"), Some("website")),
        ("acme", None, Some("website")),
        ("acme", None, None),
        ("other", Some("mei"), None),
    ];
    for (number, (tenant, user, project)) in all.into_iter().enumerate() {
        let who = place(tenant, user, project);
        world.say(&who, None, &format!("keeps {} in the drawer", WORDS[number]), "chat");
    }
    world.drain();
    let there = |number: usize| {
        let (tenant, user, project) = all[number];
        !world.found(&place(tenant, user, project), Mode::Keyword, WORDS[number]).is_empty()
    };
    let forget = |who: &Principal| world.memory().forget(who, &Forget::new(Selector::Below, "asked for"));

    // Who does not see what is below can't forget it.
    let mei = place("acme", Some("mei"), None);
    assert_eq!(forget(&mei).unwrap_err().kind(), ErrorKind::Caller);
    assert!((0..7).all(there));

    let preview = world
        .memory()
        .preview_forget(&mei.clone().with_reach(Reach::Below), &Forget::new(Selector::Below, "asked for"))
        .unwrap()
        .unwrap();
    let forgotten = forget(&mei.clone().with_reach(Reach::Below)).unwrap();
    let receipt = done(&forgotten);
    assert_eq!(receipt.details["selector"], "below");
    assert_eq!(receipt.details["counts"]["memories"], 3);
    let named: Vec<&str> = preview.memories.iter().map(|id| id.as_str()).collect();
    assert_eq!(receipt.details["memory_ids"], json!(named));
    assert_eq!((0..7).map(there).collect::<Vec<_>>(), [false, false, false, true, true, true, true]);
    assert_eq!(Canary::new(&WORDS[..3]).remains(world.path()), [].into());

    // A project goes with all its users, and a tenant with all.
    let website = place("acme", None, Some("website")).with_reach(Reach::Below);
    assert_eq!(done(&forget(&website).unwrap()).details["counts"]["memories"], 2);
    assert!(there(5) && there(6));
    let acme = place("acme", None, None).with_reach(Reach::Below);
    assert_eq!(done(&forget(&acme).unwrap()).details["counts"]["memories"], 1);
    assert!(!there(5) && there(6));
    assert_eq!(forget(&acme).unwrap().code(), "already_forgotten");

    // What was forgotten as a whole can be used again.
    world.day("2026-03-02T10:00:00Z");
    world.say(&mei, None, "drinks oat milk", "chat-9");
    assert_eq!(world.found(&mei, Mode::Keyword, "oat milk"), ["drinks oat milk"]);
    world.assert_sound();
}

#[test]
fn the_ids_of_a_deletion_below_are_for_those_who_see_below() {
    let world = World::new();
    let (mei, tom) = (someone("acme", "mei", None), someone("acme", "tom", None));
    let of_mei = world.say(&mei, None, "keeps a garnet in the drawer", "chat");
    let of_tom = world.say(&tom, None, "keeps an opal in the drawer", "chat");
    let acme = place("acme", None, None).with_reach(Reach::Below);
    let forgotten =
        world.memory().forget(&acme, &Forget::new(Selector::Below, "the contract ended")).unwrap();
    let receipt = done(&forgotten);
    assert_eq!(world.memory().deletions(&acme, false, 10).unwrap().len(), 1);

    // Mei sees what is of the whole tenant, but not Tom's.
    assert_eq!(world.memory().deletions(&mei, false, 10).unwrap(), []);
    assert_eq!(world.memory().count_deletions(&mei).unwrap().all, 0);
    assert_eq!(world.memory().receipt(&mei, &receipt.receipt_id).unwrap(), None);
    let told = world.forget_memory(&mei, &of_mei.memory_id);
    let told = match &told {
        Forgotten::Already(receipt) => receipt.to_json().to_string(),
        other => panic!("{other:?}"),
    };
    assert!(told.contains(of_mei.memory_id.as_str()) && told.contains(&receipt.receipt_id));
    // Who knows a receipt can wait for it, and is told no more.
    let waited = world.memory().await_deletion(&mei, &receipt.receipt_id, &mut || true).unwrap().unwrap();
    assert_eq!(waited.state, JobState::Completed);
    let told = format!("{told} {}", waited.to_json());
    for hidden in [of_tom.memory_id.as_str(), of_tom.record_id.as_str(), "the contract ended"] {
        assert!(!told.contains(hidden), "{hidden}");
    }
}

#[test]
fn a_receipt_says_what_became_of_each_place_and_that_nothing_was_found() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let kept = world.say(&mei, None, "keeps an opal in the drawer", "chat");
    let candidate = world.said(None, "keeps a garnet in the drawer", "chat");
    let outcome = world.memory().remember_once(&mei, &candidate, Some("key-1")).unwrap();
    let gone = outcome.written().unwrap().clone();
    world.correct(&mei, &gone, "keeps a garnet on the shelf", "chat-2");
    world.drain();
    world.ask(&mei, "garnet");
    let forgotten = world.forget_memory(&mei, &gone.memory_id);
    let receipt = done(&forgotten);
    assert_eq!((receipt.state, receipt.promise), (JobState::Completed, Promise::Erased));
    // Deleted, absent, retained, failed. Of two versions one was in force; a correction leaves the other no vectors.
    for (place, expected) in [
        ("records", [2, 0, 0, 0]),
        ("vectors", [1, 1, 0, 0]),
        ("keyword_index", [1, 1, 0, 0]),
        ("graphs", [0, 0, 0, 0]),
        // Of the writing, the correction and the question.
        ("traces", [3, 0, 0, 0]),
        ("candidates", [0, 0, 0, 0]),
        ("idempotency_keys", [1, 0, 0, 0]),
        ("history", [0, 0, 2, 0]),
        ("tombstones", [0, 0, 1, 0]),
        ("backups", [0, 0, 0, 0]),
    ] {
        assert_eq!(counts(receipt, place), expected, "{place}");
    }
    for step in ["requested", "revoked", "derived_cleanup", "verified", "completed"] {
        assert_eq!(receipt.details["steps"][step], "2026-03-01T10:00:00Z", "{step}");
    }
    let probe = &receipt.details["probe"];
    assert_eq!(
        (&probe["looked_for"], &probe["found"], &probe["control"]),
        (&json!(2), &json!(0), &json!("met"))
    );

    // Where nothing is left there is nothing to meet, and it says so.
    let last = world.forget_memory(&mei, &kept.memory_id);
    assert_eq!(done(&last).details["probe"]["control"], "nothing_is_there");
}

#[test]
fn a_deletion_that_is_held_up_says_where_and_waiting_ends_with_it() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    world.say(&mei, None, "keeps an opal in the drawer", "chat");
    let gone = world.say(&mei, None, "keeps a garnet in the drawer", "chat");
    world.drain();
    let other = world.open_another();
    assert_eq!(other.recall(&mei, &by(Mode::Keyword, "garnet")).unwrap().hits.len(), 1);
    let forgotten = world.forget_memory(&mei, &gone.memory_id);
    let Forgotten::Incomplete(receipt) = &forgotten else { panic!("{forgotten:?}") };
    assert_eq!((receipt.state, receipt.promise), (JobState::Revoked, Promise::Unreadable));
    assert_eq!(receipt.left[0].0, Reason::ReadersHoldFiles);
    assert_eq!(counts(receipt, "keyword_index"), [0, 0, 0, 1]);
    assert_eq!(receipt.details["deadline"], "2026-03-01T11:00:00Z");
    assert_eq!(receipt.details["probe"], Value::Null);
    let as_it_stands = world.memory().receipt(&mei, &receipt.receipt_id).unwrap().unwrap();
    assert_eq!(&as_it_stands, receipt);

    // Whoever does not want to wait is told how far it is.
    let told = world.memory().await_deletion(&mei, &receipt.receipt_id, &mut || false).unwrap().unwrap();
    assert_eq!(told.state, JobState::Revoked);
    let holder = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(other);
    });
    let ended = world.memory().await_deletion(&mei, &receipt.receipt_id, &mut || true).unwrap().unwrap();
    holder.join().unwrap();
    assert_eq!((ended.state, ended.promise), (JobState::Completed, Promise::Erased));
    assert_eq!(counts(&ended, "keyword_index"), [1, 0, 0, 0]);
    assert_eq!(Canary::new(&["garnet"]).remains(world.path()), [].into());
    assert_eq!(world.memory().await_deletion(&mei, "rcp_unknown", &mut || true).unwrap(), None);
}

#[test]
fn what_is_found_in_the_end_keeps_a_deletion_open() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    world.say(&mei, None, "keeps an opal in the drawer", "chat");
    let gone = world.say(&mei, None, "keeps a garnet in the drawer", "chat");
    world.drain();
    let other = world.open_another();
    let _ = other.recall(&mei, &by(Mode::Keyword, "garnet")).unwrap();
    let forgotten = world.forget_memory(&mei, &gone.memory_id);
    let receipt_id = forgotten.receipt().unwrap().receipt_id.clone();
    drop(other);
    // Something of it comes back while the clean-up waits.
    let set = |text: Option<&str>| {
        let database = crate::world::database(&world.path().join("recordari.db"));
        database.pragma_update(None, "secure_delete", "ON").unwrap();
        let sql = "UPDATE records SET speaker = ?1 WHERE record_id = ?2";
        assert_eq!(database.execute(sql, (text, gone.record_id.as_str())).unwrap(), 1);
    };
    set(Some("garnet"));
    assert_eq!(world.memory().resume_deletions().unwrap(), 1);
    let open = world.memory().receipt(&mei, &receipt_id).unwrap().unwrap();
    assert_eq!(open.state, JobState::DerivedCleanup);
    assert_eq!(open.left, [(Reason::NotVerified, "1 in the database, 0 in the index".to_owned())]);
    assert_eq!(open.details["probe"]["found"], 1);
    set(None);
    assert_eq!(world.memory().resume_deletions().unwrap(), 0);
    let ended = world.memory().receipt(&mei, &receipt_id).unwrap().unwrap();
    assert_eq!((ended.state, &ended.details["probe"]["found"]), (JobState::Completed, &json!(0)));
}
