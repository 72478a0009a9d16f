//! A store with a cipher key shows nothing in its files to who has not the key; and who has it can do all that can be done
//! with one that is not encrypted. Every other promise can be tried on encrypted stores with `RECORDARI_TEST_ENCRYPTED=1`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use recordari::{
    CipherKey, ErrorKind, HashingEmbedder, Memory, Mode, Options, Policy, Principal, RestoreFrom, restore,
    set_damaged_ledger_aside,
};

use crate::remains::{Canary, files};
use crate::world::{World, at, by, contents, someone};

const WORD: &str = "marzipantrout";

fn key(byte: u8) -> CipherKey {
    CipherKey::new([byte; 32])
}

fn options(world: &World, folder: &Path, cipher: Option<CipherKey>) -> Options {
    Options { folder: folder.to_owned(), cipher, ..world.options() }
}

/// A world whose store is encrypted with that key, or not, and who writes in it.
fn world(cipher: Option<CipherKey>) -> (World, Principal) {
    let mut world = World::new();
    world.close();
    let folder = tempfile::tempdir().unwrap();
    world.folder = folder;
    world.memory = Some(Memory::open(options(&world, world.path(), cipher)).unwrap().0);
    (world, someone("acme", "mei", None))
}

fn fill(world: &World, mei: &Principal) {
    let many: Vec<_> = (0..120)
        .map(|number| world.said(None, &format!("orders {WORD} number {number} on Fridays"), "chat-1"))
        .collect();
    world.memory().remember_all(mei, &many).unwrap();
    let first = world.say(mei, Some("lunch"), &format!("eats {WORD} at noon"), "chat-2");
    world.correct(mei, &first, &format!("eats no {WORD} any more"), "chat-3");
    let gone = world.say(mei, None, "keeps a basaltgecko at home", "chat-4");
    world.forget_memory(mei, &gone.memory_id);
    world.drain();
    world.ask(mei, WORD);
}

fn snapshot_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |file: &Path| file.strip_prefix(folder).unwrap().display().to_string();
    // The shared memory of a journal holds no content, and is made anew by whoever looks at it.
    let kept = files(folder).into_iter().filter(|file| !name(file).ends_with("-shm"));
    kept.map(|file| (name(&file), fs::read(&file).unwrap())).collect()
}

#[test]
fn no_file_of_an_encrypted_store_or_its_backup_shows_a_word_or_a_vector() {
    let model = HashingEmbedder::new(256).unwrap();
    let mut canary = Canary::new(&[WORD]);
    canary.vectors = vec![
        recordari::Embedder::embed_passages(&model, &[&format!("lunch: eats no {WORD} any more")])
            .unwrap()
            .remove(0)
            .remove(0),
    ];
    for (cipher, is_seen) in [(None, true), (Some(key(1)), false)] {
        let (mut world, mei) = world(cipher);
        fill(&world, &mei);
        let above = tempfile::tempdir().unwrap();
        let backup = above.path().join("backup");
        world.memory().backup(&backup).unwrap();
        for mode in Mode::ALL {
            assert!(!world.recall(&mei, &by(*mode, WORD)).hits.is_empty(), "{mode:?}");
        }
        let seen = |folder: &Path| canary.remains(folder);
        // As it lies there while it is open, journals included, and closed.
        let while_open = seen(world.path());
        world.close();
        for (what, remains) in
            [("open", while_open), ("closed", seen(world.path())), ("backup", seen(&backup))]
        {
            assert_eq!(!remains.is_empty(), is_seen, "{what}: {remains:?}");
        }
        let plain = |file: &Path| fs::read(file).unwrap().starts_with(b"SQLite format 3");
        for name in ["recordari.db", "ledger.db", "traces.db"] {
            assert_eq!(plain(&world.path().join(name)), is_seen, "{name}");
        }
        if is_seen {
            // The test sees vectors and packed words where they are.
            let remains = seen(world.path());
            assert!(remains.contains_key("vectors") && remains.contains_key("terms"), "{remains:?}");
        }
    }
}

#[test]
fn without_the_right_key_nothing_opens_and_nothing_changes() {
    let (mut encrypted, mei) = world(Some(key(1)));
    fill(&encrypted, &mei);
    encrypted.close();
    let (mut plain, mei) = world(None);
    fill(&plain, &mei);
    plain.close();
    for (world, wrong) in [(&encrypted, Some(key(2))), (&encrypted, None), (&plain, Some(key(1)))] {
        let before = snapshot_of(world.path());
        let refused = match Memory::open(options(world, world.path(), wrong.clone())) {
            Err(error) => error,
            Ok(_) => panic!("opened"),
        };
        let said = refused.to_string();
        assert!(said.contains("recordari.db") && said.contains("encrypted"), "{said}");
        assert_eq!(refused.kind() == ErrorKind::Caller, world.path() == plain.path(), "{said}");
        // Mending must not take what it can't read for damage either.
        assert!(set_damaged_ledger_aside(world.path(), wrong.as_ref(), at("2026-03-02T10:00:00Z")).is_err());
        assert!(before == snapshot_of(world.path()), "a file has changed");
    }
}

#[test]
fn a_key_that_does_not_fit_leaves_what_a_crash_has_left_and_no_ledger_is_taken_for_damaged() {
    let (mut encrypted, mei) = world(Some(key(1)));
    fill(&encrypted, &mei);
    // As a crash leaves it: with a journal.
    let crashed = tempfile::tempdir().unwrap();
    for file in files(encrypted.path()) {
        if let Some(name) = file.file_name().filter(|_| file.parent() == Some(encrypted.path())) {
            fs::copy(&file, crashed.path().join(name)).unwrap();
        }
    }
    encrypted.close();
    assert!(fs::metadata(crashed.path().join("recordari.db-wal")).unwrap().len() > 0);
    let before = snapshot_of(crashed.path());
    for wrong in [Some(key(2)), None] {
        assert!(Memory::open(options(&encrypted, crashed.path(), wrong)).is_err());
        assert!(before == snapshot_of(crashed.path()), "a file has changed");
    }
    // Without its database nobody can tell whether a ledger is damaged.
    fs::remove_file(crashed.path().join("recordari.db")).unwrap();
    for wrong in [None, Some(key(1)), Some(key(2))] {
        let now = at("2026-03-02T10:00:00Z");
        assert!(set_damaged_ledger_aside(crashed.path(), wrong.as_ref(), now).is_err());
        assert!(crashed.path().join("ledger.db").exists());
    }
    // Traces from before the store was encrypted may be lost, and keep nobody out.
    let (mut plain, other) = world(None);
    fill(&plain, &other);
    plain.close();
    fs::copy(plain.path().join("traces.db"), encrypted.path().join("traces.db")).unwrap();
    let (memory, opening) = Memory::open(options(&encrypted, encrypted.path(), Some(key(1)))).unwrap();
    assert!(opening.notices.iter().any(|notice| notice.contains("traces")), "{opening:?}");
    assert!(!memory.recall(&mei, &by(Mode::Keyword, WORD)).unwrap().hits.is_empty());
}

#[test]
fn a_restore_encrypts_decrypts_and_changes_the_key() {
    let (mut world, mei) = world(None);
    fill(&world, &mei);
    let want = world.listed(&mei);
    let history = |memory: &Memory| memory.history(&mei, &want[0].memory_id).unwrap();
    let histories = history(world.memory());
    let above = tempfile::tempdir().unwrap();
    let mut cipher: Option<CipherKey> = None;
    let mut store = world.path().to_owned();
    for (round, next) in [Some(key(1)), Some(key(1)), Some(key(2)), None].into_iter().enumerate() {
        let backup = above.path().join(format!("backup-{round}"));
        let new = above.path().join(format!("store-{round}"));
        let (memory, _) = Memory::open(options(&world, &store, cipher.clone())).unwrap();
        memory.backup(&backup).unwrap();
        drop(memory);
        let from = RestoreFrom {
            ledger: Some(store.clone()),
            key: None,
            cipher: cipher.clone(),
            ledger_cipher: None,
            new_cipher: next.clone(),
        };
        if cipher.is_some() {
            let blind = RestoreFrom { cipher: Some(key(9)), ..from.clone() };
            let refused = restore(&backup, &new, &blind, at("2026-03-02T10:00:00Z")).unwrap_err().to_string();
            assert!(refused.contains("encrypted") && !new.exists(), "{refused}");
        }
        let restored = restore(&backup, &new, &from, at("2026-03-02T10:00:00Z")).unwrap();
        assert!(!restored.new_key && restored.newer_in_ledger == Some(0) && restored.removed.is_empty());
        let (memory, opening) = Memory::open(options(&world, &new, next.clone())).unwrap();
        assert!(!opening.notices.iter().any(|notice| notice.contains("forgotten again")), "{opening:?}");
        assert_eq!(memory.verify().unwrap(), []);
        world.memory = Some(memory);
        assert_eq!(world.listed(&mei), want, "round {round}");
        assert_eq!(history(world.memory()), histories);
        for mode in Mode::ALL {
            assert!(!world.recall(&mei, &by(*mode, WORD)).hits.is_empty(), "{mode:?}");
        }
        // What was forgotten stays so, by its text too.
        let outcome = world.remember(&mei, &world.said(None, "keeps a basaltgecko at home", "chat-4"));
        assert!(outcome.written().is_none(), "{outcome:?}");
        world.close();
        let shown = Canary::new(&[WORD]).remains(&new);
        assert_eq!(shown.is_empty(), next.is_some(), "{shown:?}");
        (store, cipher) = (new, next);
    }
}

#[test]
fn a_ledger_under_a_key_of_its_own_is_read_with_that() {
    let (world, mei) = world(Some(key(1)));
    fill(&world, &mei);
    let above = tempfile::tempdir().unwrap();
    let [old, moved, backup, new] = ["old", "moved", "backup", "new"].map(|name| above.path().join(name));
    let now = at("2026-03-02T10:00:00Z");
    let restore_of = |from: RestoreFrom, backup: &Path, folder: &Path| restore(backup, folder, &from, now);
    // The store goes on under another key, and it is there that something is forgotten.
    world.memory().backup(&old).unwrap();
    let from = RestoreFrom {
        ledger: Some(world.path().to_owned()),
        cipher: Some(key(1)),
        new_cipher: Some(key(2)),
        ..RestoreFrom::default()
    };
    restore_of(from.clone(), &old, &moved).unwrap();
    let (memory, _) = Memory::open(options(&world, &moved, Some(key(2)))).unwrap();
    let lunch = &memory.recall(&mei, &by(Mode::Keyword, "noon eats any more")).unwrap().hits[0].record;
    let request = recordari::Forget::new(recordari::Selector::Memory(lunch.memory_id.clone()), "asked for");
    assert_eq!(memory.forget(&mei, &request).unwrap().code(), "forgotten");
    drop(memory);
    // The oldest backup becomes a store under a third.
    world.memory().backup(&backup).unwrap();
    let from = RestoreFrom { ledger: Some(moved.clone()), new_cipher: Some(key(3)), ..from };
    for wrong in [None, Some(key(9))] {
        let from = RestoreFrom { ledger_cipher: wrong, ..from.clone() };
        let refused = restore_of(from, &backup, &new).unwrap_err().to_string();
        assert!(refused.contains("ledger.db") && refused.contains("not with this cipher key"), "{refused}");
        assert!(!new.exists());
    }
    let from = RestoreFrom { ledger_cipher: Some(key(2)), ..from };
    let restored = restore_of(from, &backup, &new).unwrap();
    assert_eq!(restored.removed, std::slice::from_ref(&lunch.memory_id));
}

#[test]
fn the_probe_looks_through_encrypted_pages_free_ones_and_journals_included() {
    let (world, mei) = world(Some(key(1)));
    fill(&world, &mei);
    let texts = ["the basaltgecko sleeps under the stairs".to_owned()];
    let probe = |world: &World| world.memory().probe(&mei, &texts, &[], &mut |_, _| {}).unwrap();
    let before = probe(&world);
    assert!(!before.is_found() && !before.is_blind(), "{before:?}");
    assert!(before.control.iter().any(|place| place.starts_with("recordari.db")), "{:?}", before.control);

    let written = world.say(&mei, None, &texts[0], "chat-5");
    let there = probe(&world);
    let in_database = |probed: &recordari::Probed, part: &str| -> u64 {
        let places = probed.places.iter().filter(|place| place.name == format!("recordari.db{part}"));
        places.map(|place| place.copies).sum()
    };
    assert!(in_database(&there, "-wal") > 0, "{there:?}");
    world.forget_memory(&mei, &written.memory_id);
    let gone = probe(&world);
    assert!(!gone.is_found() && !gone.is_blind(), "{gone:?}");

    // What a page holds that is in no tree any more.
    let database = rusqlite::Connection::open(world.path().join("recordari.db")).unwrap();
    database.pragma_update(None, "key", format!("x'{}'", "01".repeat(32))).unwrap();
    database.pragma_update(None, "cipher_page_size", 8192).unwrap();
    database.pragma_update_and_check(None, "secure_delete", "OFF", |_| Ok(())).unwrap();
    database.execute_batch("CREATE TABLE scratch (text TEXT)").unwrap();
    database.execute("INSERT INTO scratch VALUES (?1)", [texts[0].repeat(400)]).unwrap();
    database.execute_batch("DROP TABLE scratch; PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
    drop(database);
    let left = probe(&world);
    assert!(in_database(&left, "") > 0, "{left:?}");

    // A copy under another name is read all the same, and what is no database is searched as it is.
    let copies = tempfile::tempdir().unwrap();
    fs::copy(world.path().join("recordari.db"), copies.path().join("recordari.db.bak")).unwrap();
    fs::write(copies.path().join("cache.db"), format!("…{}…", texts[0])).unwrap();
    let copied = world.memory().probe(&mei, &texts, &[copies.path().to_owned()], &mut |_, _| {}).unwrap();
    for name in ["recordari.db.bak", "cache.db"] {
        let place = copied.places.iter().find(|place| place.name.ends_with(name)).unwrap();
        assert!(place.copies > 0 && place.unreadable.is_none(), "{place:?}");
    }

    // With another key it sees nothing, and says so.
    let other = tempfile::tempdir().unwrap();
    let strange = other.path().join("strange");
    let (theirs, _) = Memory::open(options(&world, &strange, Some(key(2)))).unwrap();
    drop(theirs);
    let probed = world.memory().probe(&mei, &texts, &[strange], &mut |_, _| {}).unwrap();
    let unread: Vec<&str> = probed
        .places
        .iter()
        .filter(|place| place.unreadable.is_some())
        .map(|place| place.name.as_str())
        .collect();
    assert!(unread.iter().any(|name| name.ends_with("recordari.db")), "{unread:?}");
}

#[test]
fn an_index_under_another_key_is_built_anew_and_no_graph_is_written() {
    let policy = Policy::parse("[recall]\ngraph_from = 100\n").unwrap();
    let (mut world, mei) = world(Some(key(1)));
    world.close();
    world.policy = policy;
    let open = |world: &World| Memory::open(options(world, world.path(), Some(key(1)))).unwrap();
    world.memory = Some(open(&world).0);
    fill(&world, &mei);
    assert_eq!(world.memory().build_graphs(&mut |_, _| true).unwrap(), 0);
    {
        let in_background = Options { background: true, ..options(&world, world.path(), Some(key(1))) };
        let (memory, _) = Memory::open(in_background).unwrap();
        memory.recall(&mei, &by(Mode::Vector, WORD)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1500));
    }
    assert!(!world.path().join("derived").join("graphs").exists());
    let hits = contents(&world.recall(&mei, &by(Mode::Keyword, WORD)));
    world.close();
    // An index of another store, as plain as that is.
    let (mut plain, theirs) = self::world(None);
    fill(&plain, &theirs);
    plain.close();
    let index = world.path().join("derived").join("keyword");
    fs::remove_dir_all(&index).unwrap();
    fs::create_dir(&index).unwrap();
    for file in files(&plain.path().join("derived").join("keyword")) {
        fs::copy(&file, index.join(file.file_name().unwrap())).unwrap();
    }
    let (memory, opening) = open(&world);
    assert!(opening.notices.iter().any(|notice| notice.contains("built again")), "{opening:?}");
    world.memory = Some(memory);
    assert_eq!(contents(&world.recall(&mei, &by(Mode::Keyword, WORD))), hits);
    assert_eq!(world.memory().verify().unwrap(), []);
}

#[test]
fn several_threads_and_openings_share_an_encrypted_store() {
    let (world, mei) = world(Some(key(1)));
    let memory = Arc::new(Memory::open(options(&world, world.path(), Some(key(1)))).unwrap().0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (memory, mei, world) = (memory.clone(), &mei, &world);
            scope.spawn(move || {
                for number in 0..20 {
                    let said = format!("thread {thread} keeps {WORD} {number}");
                    let candidate = crate::child::candidate(None, &said, "chat");
                    let by_one = if number % 2 == 0 { &*memory } else { world.memory() };
                    assert!(by_one.remember(mei, &candidate).unwrap().written().is_some());
                    assert!(!by_one.recall(mei, &by(Mode::Hybrid, &said)).unwrap().hits.is_empty());
                }
            });
        }
    });
    assert_eq!(world.listed(&mei).len(), 80);
    assert_eq!(memory.verify().unwrap(), []);
}
