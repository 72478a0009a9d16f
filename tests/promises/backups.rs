//! A backup is whole or none, a restore overwrites nothing and brings back nothing that was forgotten.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use recordari::{
    Candidate, Error, ErrorKind, Forgotten, Memory, MemoryId, Mode, Options, Outcome, Principal, RestoreFrom,
    Restored, Selector, Written, restore,
};

use crate::remains::Canary;
use crate::world::{World, at, by, comparable, someone};

const CANARY: &str = "Marzipanforelle";

/// A store with something of every kind, and who it belongs to.
fn lived_in() -> (World, Principal, Vec<Written>) {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    fs::write(world.path().join("policy.toml"), "[recall]\nlimit = 7\n").unwrap();
    let lunch = world.say(&mei, Some("lunch"), &format!("orders {CANARY} for lunch"), "chat-1#4");
    let tea = world.say(&mei, Some("tea"), "drinks Sencha 🍵 in the afternoon", "chat-2");
    assert_eq!(world.correct(&mei, &tea, "trinkt nachmittags Hojicha", "chat-3").code(), "corrected");
    let gone = world.say(&mei, None, "sold the bicycle", "chat-4");
    assert!(matches!(world.forget_memory(&mei, &gone.memory_id), Forgotten::Done(_)));
    assert!(matches!(world.forget(&mei, Selector::Source("chat-9".to_owned())), Forgotten::Done(_)));
    let guess = Candidate {
        authority: recordari::Authority::ModelInferred,
        confidence: 0.4,
        ..world.said(Some("pets"), "might own a cat", "chat-5")
    };
    assert!(matches!(world.remember(&mei, &guess), Outcome::Review(..)));
    let walk = world.say(&mei, None, "walks home afterwards", "chat-6");
    world.drain();
    (world, mei, vec![lunch, tea, walk])
}

fn open(world: &World, folder: &Path) -> Memory {
    Memory::open(Options { folder: folder.to_owned(), ..world.options() }).unwrap().0
}

/// How many rows each table of a database has, and their hash; without what was noted after the copy.
fn rows(database: &Path) -> BTreeMap<String, (usize, String)> {
    let connection = crate::world::database(database);
    let mut tables = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let all = |table: String| {
        let noted = if table == "meta" { "WHERE key <> 'backups'" } else { "" };
        let mut statement = connection.prepare(&format!("SELECT * FROM {table} {noted}")).unwrap();
        let columns = statement.column_count();
        let (mut count, mut hasher) = (0, blake3::Hasher::new());
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            count += 1;
            for at in 0..columns {
                hasher.update(format!("{:?}|", row.get_ref(at).unwrap()).as_bytes());
            }
        }
        (table, (count, hasher.finalize().to_hex().to_string()))
    };
    tables.into_iter().map(all).collect()
}

fn free(folder: &tempfile::TempDir, name: &str) -> std::path::PathBuf {
    folder.path().join(name)
}

fn newest(world: &World) -> RestoreFrom {
    RestoreFrom { ledger: Some(world.path().to_owned()), ..crate::world::restoring() }
}

#[test]
fn a_restored_store_holds_every_row_and_answers_as_the_one_that_was_backed_up() {
    // B147
    let (mut world, mei, written) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let (backup, new) = (free(&elsewhere, "backup"), free(&elsewhere, "new"));
    let manifest = world.memory().backup(&backup).unwrap();
    assert_eq!((manifest.records, manifest.tombstones), (4, 1));
    let questions = ["what is for lunch", CANARY, "tea in the afternoon", "bicycle", "walks"];
    let answers = |memory: &Memory| -> Vec<String> {
        let modes = Mode::ALL.iter().flat_map(|mode| questions.map(|text| by(*mode, text)));
        modes.map(|query| comparable(&memory.recall(&mei, &query).unwrap())).collect()
    };
    let before = answers(world.memory());
    let history = world.memory().history(&mei, &written[1].memory_id).unwrap();
    let receipts = world.memory().deletions(&mei, false, 10).unwrap();
    let restored = restore(&backup, &new, &newest(&world), at("2026-03-01T11:00:00Z")).unwrap();
    let nothing: Vec<MemoryId> = Vec::new();
    assert_eq!((restored.newer_in_ledger, &restored.removed, restored.new_key), (Some(0), &nothing, false));
    world.close();
    for name in ["recordari.db", "ledger.db"] {
        assert_eq!(rows(&new.join(name)), rows(&world.path().join(name)), "{name}");
        assert_eq!(rows(&new.join(name)), rows(&backup.join(name)), "{name}");
    }
    assert_eq!(fs::read(new.join("policy.toml")).unwrap(), b"[recall]\nlimit = 7\n");
    let memory = open(&world, &new);
    assert_eq!(memory.verify().unwrap(), []);
    assert_eq!(answers(&memory), before);
    assert_eq!(memory.history(&mei, &written[1].memory_id).unwrap(), history);
    assert_eq!(memory.deletions(&mei, false, 10).unwrap(), receipts, "signed by the same key");
    assert_eq!(memory.waiting(&mei, 10).unwrap().1, 1);
    // What was forgotten before the backup does not come back either.
    world.reopen();
    let again = Candidate {
        observed_at: Some(at("2026-02-01T10:00:00Z")),
        ..world.said(None, "sold the bicycle", "chat-4")
    };
    assert_eq!(memory.remember(&mei, &again).unwrap().code(), world.remember(&mei, &again).code());
}

#[test]
fn what_was_forgotten_since_is_forgotten_again_before_anybody_can_read_it() {
    for with_key in [true, false] {
        let (world, mei, written) = lived_in();
        let elsewhere = tempfile::tempdir().unwrap();
        let (backup, new) = (free(&elsewhere, "backup"), free(&elsewhere, "new"));
        world.memory().backup(&backup).unwrap();
        let found = Canary::new(&[CANARY]).remains(&backup);
        assert!(found["recordari.db"] > 0, "the probe sees it in the backup");
        world.day("2026-03-02T10:00:00Z");
        assert!(matches!(world.forget_memory(&mei, &written[0].memory_id), Forgotten::Done(_)));
        assert!(matches!(world.forget(&mei, Selector::Source("chat-6".to_owned())), Forgotten::Done(_)));
        // What came and went since is no business of the restored store's owner.
        let after = world.say(&mei, None, "written after the backup", "letter");
        assert!(matches!(world.forget_memory(&mei, &after.memory_id), Forgotten::Done(_)));
        let file = RestoreFrom { ledger: Some(world.path().join("ledger.db")), ..crate::world::restoring() };
        let from = if with_key { newest(&world) } else { file };
        let restored = restore(&backup, &new, &from, at("2026-03-03T10:00:00Z")).unwrap();
        let mut gone = vec![written[0].memory_id.clone(), written[2].memory_id.clone()];
        gone.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        // Three memories, one of which was not in the backup, and the source that may not come back.
        assert_eq!((restored.newer_in_ledger, &restored.removed), (Some(4), &gone));
        assert_eq!(restored.new_key, !with_key);
        // Nobody has opened it yet.
        assert_eq!(Canary::new(&[CANARY]).remains(&new), [].into());
        let memory = open(&world, &new);
        assert_eq!(memory.verify().unwrap(), []);
        for mode in Mode::ALL {
            let answer = memory.recall(&mei, &by(*mode, &format!("who orders {CANARY} and walks"))).unwrap();
            let texts: Vec<&str> = answer.hits.iter().map(|hit| hit.record.content.as_str()).collect();
            assert!(!texts.iter().any(|text| text.contains(CANARY) || text.contains("walks")), "{texts:?}");
        }
        assert_eq!(memory.count_deletions(&mei).unwrap().open, 0);
        let replayed = memory.deletions(&mei, false, 1).unwrap().remove(0);
        assert_eq!(replayed.details["backups"].as_array().unwrap().len(), 1, "the one that was restored");
        let late = Candidate {
            observed_at: Some(at("2026-03-01T10:00:00Z")),
            ..world.said(Some("lunch"), &format!("orders {CANARY} for lunch"), "chat-1#4")
        };
        assert!(matches!(memory.remember(&mei, &late).unwrap(), Outcome::Rejected(_)));
        assert_eq!(Canary::new(&[CANARY]).remains(&new), [].into());
    }
}

#[test]
fn without_a_ledger_the_report_says_that_none_was_named() {
    let (world, mei, written) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let (backup, new) = (free(&elsewhere, "backup"), free(&elsewhere, "new"));
    world.memory().backup(&backup).unwrap();
    world.forget_memory(&mei, &written[0].memory_id);
    let restored = restore(&backup, &new, &crate::world::restoring(), at("2026-03-02T10:00:00Z")).unwrap();
    let Restored { newer_in_ledger: None, new_key: true, removed, .. } = restored else { panic!() };
    assert_eq!(removed, []);
    assert!(open(&world, &new).get(&mei, &written[0].memory_id).unwrap().is_some());
}

#[test]
fn the_receipt_of_what_a_backup_may_hold_lists_it() {
    let (world, mei, written) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    world.day("2026-03-02T10:00:00Z");
    let manifest = world.memory().backup(&free(&elsewhere, "backup")).unwrap();
    // One that came to nothing is not listed.
    world.day("2026-03-02T11:00:00Z");
    fs::write(world.path().join("policy.toml"), vec![b'#'; 2 << 20]).unwrap();
    let refused = world.memory().backup(&free(&elsewhere, "broken")).unwrap_err();
    assert!(refused.to_string().contains("policy.toml is too large"), "{refused}");
    assert_eq!(names(elsewhere.path()), ["backup"], "nothing is left of it");
    assert!(world.memory().backup(Path::new("/proc/nowhere")).is_err());
    fs::remove_file(world.path().join("policy.toml")).unwrap();
    let done = world.forget_memory(&mei, &written[0].memory_id);
    let backups = &done.receipt().unwrap().details["backups"];
    assert_eq!(*backups, serde_json::json!([manifest.made_at]));
    // Of very many the older ones are counted.
    let many: Vec<String> = (0..100).map(|day| format!("2025-01-01T00:00:{:02}Z", day % 60)).collect();
    let many = serde_json::json!(many).to_string();
    crate::world::database(&world.path().join("recordari.db"))
        .execute("UPDATE meta SET value = ?1 WHERE key = 'backups'", [many])
        .unwrap();
    world.day("2026-03-03T10:00:00Z");
    for name in ["another", "one more"] {
        world.memory().backup(&free(&elsewhere, name)).unwrap();
    }
    let done = world.forget_memory(&mei, &written[1].memory_id);
    let details = &done.receipt().unwrap().details;
    assert_eq!(
        (details["backups"].as_array().unwrap().len(), &details["older_backups"]),
        (100, &serde_json::json!(2))
    );
}

#[test]
fn nothing_is_overwritten_and_what_is_refused_leaves_nothing() {
    let (world, ..) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let backup = free(&elsewhere, "backup");
    fs::create_dir(&backup).unwrap();
    fs::write(backup.join("notes"), "mine").unwrap();
    let refused = world.memory().backup(&backup).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Caller);
    assert!(refused.to_string().contains("nothing is overwritten"), "{refused}");
    assert_eq!(fs::read_dir(&backup).unwrap().count(), 1);
    fs::remove_file(backup.join("notes")).unwrap();
    world.memory().backup(&backup).unwrap();
    let refused =
        restore(&backup, world.path(), &crate::world::restoring(), at("2026-03-02T10:00:00Z")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Caller);
    world.assert_sound();
    let wrong = free(&elsewhere, "wrong.key");
    fs::write(&wrong, [7; 32]).unwrap();
    let from = RestoreFrom { ledger: None, key: Some(wrong), ..crate::world::restoring() };
    let new = free(&elsewhere, "new");
    let refused = restore(&backup, &new, &from, at("2026-03-02T10:00:00Z")).unwrap_err();
    assert!(refused.to_string().contains("store.key"), "{refused}");
    let (stranger, ..) = lived_in();
    let refused = restore(&backup, &new, &newest(&stranger), at("2026-03-02T10:00:00Z")).unwrap_err();
    assert!(refused.to_string().contains("must be of the store that was backed up"), "{refused}");
    // One that has forgotten nothing can't be told apart by what is in it.
    let apart = tempfile::tempdir().unwrap();
    let (innocent, backup_of_it) = (World::new(), free(&apart, "innocent"));
    innocent.say(&someone("acme", "mei", None), None, "walks home", "chat-1");
    innocent.memory().backup(&backup_of_it).unwrap();
    let refused =
        restore(&backup_of_it, &new, &newest(&stranger), at("2026-03-02T10:00:00Z")).unwrap_err().to_string();
    assert!(refused.contains("must be of the store that was backed up"), "{refused}");
    let empty = free(&apart, "empty.db");
    fs::write(&empty, "").unwrap();
    let of_nothing = RestoreFrom { ledger: Some(empty.clone()), ..crate::world::restoring() };
    let refused = restore(&backup, &new, &of_nothing, at("2026-03-02T10:00:00Z")).unwrap_err().to_string();
    assert!(refused.contains("is empty") && fs::read(&empty).unwrap().is_empty(), "{refused}");
    let nowhere = RestoreFrom { ledger: Some(free(&elsewhere, "nowhere")), ..crate::world::restoring() };
    let refused = restore(&backup, &new, &nowhere, at("2026-03-02T10:00:00Z")).unwrap_err();
    assert!(matches!(refused, Error::Io { .. }), "{refused}");
    assert_eq!(names(elsewhere.path()), ["backup", "wrong.key"], "no draft is left");
    // What holds something else is nobody's draft.
    let left = free(&elsewhere, "new.restoring");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("recordari.db"), "half").unwrap();
    fs::write(left.join("holiday.jpg"), "photo").unwrap();
    let refused = restore(&backup, &new, &crate::world::restoring(), at("2026-03-02T10:00:00Z")).unwrap_err();
    assert!(refused.to_string().contains("new.restoring holds something"), "{refused}");
    fs::remove_file(left.join("holiday.jpg")).unwrap();
    // What a restore that was killed has left behind is taken away, but not from under one that runs.
    let lock = fs::File::create(free(&elsewhere, "new.restoring.lock")).unwrap();
    lock.lock().unwrap();
    let refused = restore(&backup, &new, &crate::world::restoring(), at("2026-03-02T10:00:00Z")).unwrap_err();
    assert!(refused.to_string().contains("being restored by another process"), "{refused}");
    drop(lock);
    // An empty folder is as good as none.
    fs::create_dir(&new).unwrap();
    restore(&backup, &new, &crate::world::restoring(), at("2026-03-02T10:00:00Z")).unwrap();
    assert_eq!(names(elsewhere.path()), ["backup", "new", "wrong.key"]);
}

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn what_a_killed_backup_left_is_no_backup_and_is_taken_away_by_the_next() {
    let (world, ..) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let (whole, killed) = (free(&elsewhere, "whole"), free(&elsewhere, "killed"));
    world.memory().backup(&whole).unwrap();
    let mark = killed.join("backup.json.unfinished");
    let leave = |names: &[&str]| {
        let _ = fs::remove_dir_all(&killed);
        fs::create_dir(&killed).unwrap();
        for name in names {
            fs::copy(whole.join("recordari.db"), killed.join(name)).unwrap();
        }
    };
    leave(&["backup.json.unfinished", "recordari.db", "recordari.db-journal"]);
    let refused =
        restore(&killed, &free(&elsewhere, "new"), &crate::world::restoring(), world.memory().now());
    assert!(refused.unwrap_err().to_string().contains("no whole backup"));
    // Not from under one that is being written.
    let held = fs::File::options().write(true).open(&mark).unwrap();
    held.lock().unwrap();
    let refused = world.memory().backup(&killed).unwrap_err().to_string();
    assert!(refused.contains("is being backed up to by another process"), "{refused}");
    assert_eq!(names(&killed).len(), 3);
    drop(held);
    world.memory().backup(&killed).unwrap();
    assert_eq!(names(&killed), names(&whole));
    // What anybody else put there is left alone, and so is a backup.
    for others in [&["backup.json.unfinished", "holiday.jpg"][..], &["recordari.db"], &["backup.json"]] {
        leave(others);
        let refused = world.memory().backup(&killed).unwrap_err().to_string();
        assert!(refused.contains("nothing is overwritten"), "{refused}");
        assert_eq!(names(&killed), others);
    }
}

#[test]
fn a_backup_that_is_killed_at_a_system_call_is_whole_or_made_by_the_next_try() {
    if !crate::system_calls::can_trace() {
        eprintln!("SKIPPED: strace is not there or may not trace, so no backup was killed");
        return;
    }
    let (mut world, ..) = lived_in();
    world.close();
    let elsewhere = tempfile::tempdir().unwrap();
    let (backup, new) = (free(&elsewhere, "backup"), free(&elsewhere, "new"));
    let calls = "openat,pwrite64,write,fsync,fdatasync,rename,unlink,mkdir";
    let (mut unfinished, mut nth) = (0, 1);
    loop {
        let mut strace = std::process::Command::new("strace");
        strace.args(["-f", "-q", "-o", "/dev/null", "-e", &format!("trace={calls}")]);
        strace.args(["-e", &format!("inject={calls}:signal=KILL:when={nth}")]);
        for name in
            ["", "backup.json.unfinished", "backup.json", "recordari.db", "recordari.db-journal", "ledger.db"]
        {
            strace.arg("-P").arg(if name.is_empty() { backup.clone() } else { backup.join(name) });
        }
        let mut child = crate::child::Child::start_under(strace, world.path());
        child.send(&["backup", backup.to_str().unwrap()]);
        let said = child.next();
        child.leave();
        if said.is_some() {
            assert_eq!(said.as_deref(), Some("ok"), "at call {nth}");
            break;
        }
        world.reopen();
        if backup.join("backup.json").exists() {
            restore(&backup, &new, &newest(&world), world.memory().now()).unwrap();
            fs::remove_dir_all(&new).unwrap();
        } else {
            unfinished += 1;
            world.memory().backup(&backup).unwrap_or_else(|error| panic!("after call {nth}: {error}"));
        }
        world.close();
        fs::remove_dir_all(&backup).unwrap();
        nth += 1;
    }
    assert!(unfinished > 10, "killed at {nth} calls, {unfinished} were unfinished");
}

#[test]
fn a_restore_that_failed_holds_its_lock_until_nothing_of_it_is_left() {
    if !crate::system_calls::can_trace() {
        eprintln!("SKIPPED: strace is not there or may not trace, so the order was not seen");
        return;
    }
    let ((mut world, ..), (stranger, ..)) = (lived_in(), lived_in());
    let elsewhere = tempfile::tempdir().unwrap();
    let [backup, new, log] = ["backup", "new", "log"].map(|name| free(&elsewhere, name));
    world.memory().backup(&backup).unwrap();
    world.close();
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-q", "-y", "-e", "trace=unlink,unlinkat,rmdir", "-o"]).arg(&log);
    let mut child = crate::child::Child::start_under(strace, world.path());
    let words = [&backup, &new, stranger.path()].map(|path: &Path| path.to_str().unwrap());
    let said = child.ask(&[&["restore"][..], &words].concat());
    assert!(said.contains("must be of the store that was backed up"), "{said}");
    child.leave();
    let log = fs::read_to_string(log).unwrap();
    let removals: Vec<&str> = log.lines().filter(|line| line.contains("new.restoring")).collect();
    let is_lock = |line: &&str| line.contains("new.restoring.lock");
    let (last, before) = removals.split_last().unwrap();
    assert!(before.len() > 3 && is_lock(last) && !before.iter().any(is_lock), "{removals:#?}");
    assert_eq!(names(elsewhere.path()), ["backup", "log"]);
}

#[test]
fn a_damaged_backup_is_refused_by_the_name_of_the_file() {
    let (world, ..) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let whole = free(&elsewhere, "backup");
    world.memory().backup(&whole).unwrap();
    assert_eq!(names(&whole), ["backup.json", "ledger.db", "policy.toml", "recordari.db"]);
    let new = free(&elsewhere, "new");
    let refused = |damage: &dyn Fn(&Path)| -> String {
        let copy = tempfile::tempdir().unwrap();
        for name in names(&whole) {
            fs::copy(whole.join(&name), copy.path().join(&name)).unwrap();
        }
        damage(copy.path());
        let error =
            restore(copy.path(), &new, &crate::world::restoring(), at("2026-03-02T10:00:00Z")).unwrap_err();
        assert_eq!(names(elsewhere.path()), ["backup"], "nothing is left");
        error.to_string()
    };
    for name in ["recordari.db", "ledger.db", "policy.toml"] {
        for place in [0, 1, 2] {
            let said = refused(&|folder| {
                let mut bytes = fs::read(folder.join(name)).unwrap();
                let at = (bytes.len() - 1) * place / 2;
                bytes[at] ^= 1;
                fs::write(folder.join(name), bytes).unwrap();
            });
            assert!(said.contains(name) && said.contains("not as it was backed up"), "{said}");
        }
        let cut = refused(&|folder| {
            let bytes = fs::read(folder.join(name)).unwrap();
            fs::write(folder.join(name), &bytes[..bytes.len() / 2]).unwrap();
        });
        assert!(cut.contains(name), "{cut}");
        let missing = refused(&|folder| fs::remove_file(folder.join(name)).unwrap());
        assert!(missing.contains(name), "{missing}");
    }
    let manifest = fs::read_to_string(whole.join("backup.json")).unwrap();
    let with = |text: String| refused(&|folder| fs::write(folder.join("backup.json"), &text).unwrap());
    for wrong in [
        String::new(),
        "{}".to_owned(),
        manifest.replace("\"ledger.db\"", "\"../ledger.db\""),
        manifest.replace("\"ledger.db\"", "\"recordari.db\""),
        manifest.replace("\"policy.toml\"", "\"store.key\""),
        manifest.replace("\"key\"", "\"kye\""),
    ] {
        assert!(with(wrong).contains("backup.json"));
    }
    assert!(with(manifest.replace("\"recordari_backup\": 1", "\"recordari_backup\": 2")).contains('2'));
    let partial = refused(&|folder| fs::remove_file(folder.join("backup.json")).unwrap());
    assert!(partial.contains("no whole backup"), "{partial}");
}

#[test]
fn a_backup_holds_no_key_and_is_for_nobody_else_to_read() {
    let (world, ..) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let (backup, new) = (free(&elsewhere, "deep/backup"), free(&elsewhere, "deep/new"));
    world.memory().backup(&backup).unwrap();
    let key = fs::read(world.path().join("store.key")).unwrap();
    for name in names(&backup) {
        let bytes = fs::read(backup.join(&name)).unwrap();
        assert!(!bytes.windows(key.len()).any(|window| window == key), "{name}");
    }
    restore(&backup, &new, &newest(&world), at("2026-03-02T10:00:00Z")).unwrap();
    assert_eq!(fs::read(new.join("store.key")).unwrap(), key);
    #[cfg(unix)]
    for folder in [&backup, &new] {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder), 0o700);
        for name in names(folder) {
            let path = folder.join(&name);
            if path.is_file() {
                assert_eq!(mode(&path), 0o600, "{name}");
            }
        }
    }
}

#[test]
fn a_backup_beside_a_writer_is_one_moment_and_holds_what_was_acknowledged_before() {
    let (world, mei, _) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let writer = world.open_another();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let acknowledged = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::sync::atomic::Ordering::SeqCst;
            for number in 0.. {
                if stop.load(SeqCst) {
                    break;
                }
                let said = world.said(None, &format!("note {number} from the other side"), "chat-7");
                assert!(matches!(writer.remember(&mei, &said).unwrap(), Outcome::Committed(_)));
                acknowledged.store(number + 1, SeqCst);
            }
        });
        for round in 0..5 {
            let (backup, new) =
                (free(&elsewhere, &format!("b{round}")), free(&elsewhere, &format!("n{round}")));
            while acknowledged.load(std::sync::atomic::Ordering::SeqCst) < 5 * (round + 1) {
                std::thread::yield_now();
            }
            let before = acknowledged.load(std::sync::atomic::Ordering::SeqCst);
            world.memory().backup(&backup).unwrap();
            restore(&backup, &new, &newest(&world), at("2026-03-02T10:00:00Z")).unwrap();
            let memory = open(&world, &new);
            assert_eq!(memory.verify().unwrap(), []);
            let held = memory.list(
                &mei,
                &recordari::Filter::Source("chat-7".to_owned()),
                &recordari::StateFilter::Current,
                &recordari::PageRequest { limit: 1, cursor: None },
            );
            assert!(held.unwrap().total as usize >= before);
        }
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}

#[test]
fn a_replay_keeps_what_the_ledger_knows_of_what_was_derived_and_lists_its_deletions() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let source = world.say(&mei, None, "orders Marzipanforelle", "chat-1");
    let derived = Candidate {
        derived_from: vec![source.record_id.clone()],
        ..world.said(None, "likes fish", "summary")
    };
    let derived = world.commit(&mei, &derived);
    let folder = tempfile::tempdir().unwrap();
    let (backup, new) = (free(&folder, "backup"), free(&folder, "new"));
    world.memory().backup(&backup).unwrap();
    // A later version of it, which the backup has not, is forgotten before what it was derived from.
    world.correct(&mei, &derived, "likes Holunderknödel", "chat-7#2");
    world.forget_memory(&mei, &derived.memory_id);
    world.forget_memory(&mei, &source.memory_id);
    let from = RestoreFrom { key: Some(world.path().join("store.key")), ..newest(&world) };
    restore(&backup, &new, &from, world.memory().now()).unwrap();
    let options = recordari::Options { folder: new.clone(), ..world.options() };
    let (restored, _) = recordari::Memory::open(options).unwrap();
    let again = world.said(None, "likes Holunderknödel", "chat-7#2");
    assert_eq!(restored.remember(&mei, &again).unwrap().code(), "rejected");
    let listed = restored.deletions(&mei, false, 10).unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|receipt| receipt.details["counts"]["memories"] == 1), "{listed:?}");
    assert_eq!(restored.count_deletions(&mei).unwrap().all, 2);
    assert_eq!(restored.verify().unwrap(), []);
}
