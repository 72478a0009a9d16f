//! On a full disk a store is opened and read as ever, and forgets: it has kept room for that. The disk is a small one of
//! the test's own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use recordari::{
    ErrorKind, Filter, Forget, HashingEmbedder, ManualClock, Memory, MemoryId, Mode, Options, PageRequest,
    Selector, StateFilter,
};

use crate::child::{MARK, candidate, folder, letter, say, writer};
use crate::numbers::Numbers;
use crate::remains::Canary;
use crate::world::{at, by, contents};

/// How large the disk is.
const DISK: &str = "size=128m,mode=700";
const RECORDS: u8 = 30;

/// Runs a test of this binary on a disk of its own, which goes with it. What it says; none where that is not allowed.
fn on_a_disk(test: &str) -> Option<String> {
    let place = tempfile::tempdir().unwrap();
    let mounted = format!("mount -t tmpfs -o {DISK} tmpfs \"$0\" && exec \"$@\"");
    let unshared = |command: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--map-root-user", "--mount", "sh", "-c", &mounted]).arg(place.path()).args(command);
        unshare.env("RECORDARI_TEST_FOLDER", place.path());
        unshare.output()
    };
    if !unshared(&["true"]).is_ok_and(|tried| tried.status.success()) {
        return None;
    }
    let own = std::env::current_exe().unwrap();
    let run = unshared(&[own.to_str().unwrap(), "--exact", test, "--ignored", "--nocapture"]).unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && told.contains(MARK), "{told}");
    Some(told)
}

fn open(disk: &Path) -> recordari::Result<Memory> {
    let options = Options {
        embedder: Some(Arc::new(HashingEmbedder::new(256).unwrap())),
        clock: Arc::new(ManualClock::at(at("2026-03-01T10:00:00Z"))),
        background: false,
        cipher: crate::world::cipher(),
        ..Options::new(disk.join("store"))
    };
    Memory::open(options).map(|(memory, _)| memory)
}

/// Fills the disk to the last byte.
fn fill(disk: &Path) -> PathBuf {
    let path = disk.join("filler");
    let mut file = fs::OpenOptions::new().append(true).create(true).open(&path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    path
}

fn kept(memory: &Memory) -> (u64, u64) {
    let stats = memory.stats(&writer()).unwrap();
    let number = |name: &str| stats["slack"][name].as_u64().unwrap();
    (number("bytes"), number("of"))
}

/// What is there is found, read and listed.
fn assert_readable(memory: &Memory, ids: &[MemoryId]) {
    for mode in [Mode::Keyword, Mode::Hybrid] {
        assert!(!contents(&memory.recall(&writer(), &by(mode, "walks the dog")).unwrap()).is_empty());
    }
    for id in ids {
        assert!(memory.get(&writer(), id).unwrap().is_some());
    }
    let page = PageRequest { limit: 100, cursor: None };
    let listed = memory.list(&writer(), &Filter::All(Vec::new()), &StateFilter::Current, &page).unwrap();
    assert_eq!(listed.records.len(), ids.len());
}

fn forget(memory: &Memory, id: &MemoryId) -> recordari::Result<&'static str> {
    let request = Forget::new(Selector::Memory(id.clone()), "asked for");
    memory.forget(&writer(), &request).map(|forgotten| forgotten.code())
}

/// The word that one record has alone.
fn word(number: u8) -> String {
    format!("quartz{}{}", letter(number / 10), letter(number % 10))
}

fn begin(disk: &Path) -> (Memory, Vec<MemoryId>) {
    let memory = open(disk).unwrap();
    let mut ids = Vec::new();
    for number in 0..RECORDS {
        let content = format!("walks the dog and finds {}", word(number));
        let outcome = memory.remember(&writer(), &candidate(None, &content, "child")).unwrap();
        ids.push(outcome.written().unwrap().memory_id);
    }
    assert!(memory.catch_up(&mut |_, _| {}).unwrap());
    (memory, ids)
}

/// The command says that it keeps nothing, on a disk with just enough room to open a store.
fn assert_told(disk: &Path, filler: &Path) {
    if crate::world::cipher().is_some() {
        return;
    }
    let filled = fs::OpenOptions::new().write(true).open(filler).unwrap();
    filled.set_len(fs::metadata(filler).unwrap().len() - (1 << 20)).unwrap();
    for (command, said) in
        [("stats", "kept for forgetting 0.0 of 4.2 MB"), ("doctor", "0 of 4194304 bytes are kept")]
    {
        let mut asked = Command::new(env!("CARGO_BIN_EXE_recordari"));
        asked.args([command, "--model", "none", "--store"]).arg(disk.join("store"));
        let told = asked.env("HOME", disk).output().unwrap();
        let told =
            format!("{}{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
        assert!(told.contains(said), "{told}");
    }
}

#[test]
fn a_store_on_a_full_disk_is_read_and_forgets() {
    if on_a_disk("full_disk::filled_and_emptied").is_none() {
        eprintln!("SKIPPED: a file system can't be mounted here, so no disk was full");
    }
}

#[test]
#[ignore = "run by another test, on a disk of its own"]
fn filled_and_emptied() {
    let Some(disk) = folder() else { return };
    let (memory, mut ids) = begin(&disk);
    let (bytes, of) = kept(&memory);
    assert!(bytes == of && of > 0);
    let filler = fill(&disk);
    // One that was open before, and then ones that are opened.
    assert_readable(&memory, &ids);
    assert_eq!(forget(&memory, &ids.pop().unwrap()).unwrap(), "forgotten");
    drop(memory);
    for _ in 0..3 {
        fill(&disk);
        let memory = open(&disk).unwrap();
        assert_readable(&memory, &ids);
        // Who writes does not get what is kept.
        let long = candidate(None, &"walks and walks ".repeat(4000), "child");
        let refused = memory.remember(&writer(), &long).unwrap_err();
        assert!(
            refused.kind() == ErrorKind::Environment && refused.to_string().contains("full"),
            "{refused}"
        );
        for _ in 0..4 {
            assert_eq!(forget(&memory, &ids.pop().unwrap()).unwrap(), "forgotten");
            fill(&disk);
        }
        assert_readable(&memory, &ids);
        assert!(kept(&memory).0 > of / 2, "{:?}", kept(&memory));
        assert_eq!(memory.count_deletions(&writer()).unwrap().open, 0);
    }
    for number in 0..RECORDS {
        let remains = Canary::new(&[&word(number)]).remains(&disk.join("store"));
        // An encrypted store shows none.
        let is_there = usize::from(number) < ids.len() && crate::world::cipher().is_none();
        assert_eq!(remains.is_empty(), !is_there, "{number}: {remains:?}");
    }
    fs::remove_file(filler).unwrap();
    let memory = open(&disk).unwrap();
    assert_eq!(kept(&memory), (of, of));
    assert_eq!(memory.verify().unwrap(), []);
    memory.remember(&writer(), &candidate(None, "walks home", "child")).unwrap();
    say("done");
}

#[test]
fn where_more_is_needed_than_is_kept_a_deletion_is_finished_when_there_is_room() {
    for test in ["full_disk::with_a_large_journal", "full_disk::with_a_large_index"] {
        if on_a_disk(test).is_none() {
            eprintln!("SKIPPED: a file system can't be mounted here, so no disk was full");
        }
    }
}

#[test]
#[ignore = "run by another test, on a disk of its own"]
fn with_a_large_journal() {
    let Some(disk) = folder() else { return };
    let (memory, ids) = begin_large(&disk);
    let size = |name: &str| fs::metadata(disk.join("store").join(name)).unwrap().len();
    assert!(size("recordari.db-wal") > size("recordari.db") + kept(&memory).1);
    is_finished_later(&disk, memory, &ids, "store_failed");
}

#[test]
#[ignore = "run by another test, on a disk of its own"]
fn with_a_large_index() {
    let Some(disk) = folder() else { return };
    let (memory, ids) = begin_large(&disk);
    // All of it in one segment, and the journal empty.
    assert!(memory.rebuild(&mut |_, _| {}).unwrap());
    drop(memory);
    let memory = open(&disk).unwrap();
    let size = |file: &PathBuf| fs::metadata(file).unwrap().len();
    let index: u64 = crate::remains::files(&disk.join("store/derived")).iter().map(size).sum();
    assert!(index > kept(&memory).1, "{index}");
    is_finished_later(&disk, memory, &ids, "index_failed");
}

/// A store of many words that no two records share, besides the usual ones.
fn begin_large(disk: &Path) -> (Memory, Vec<MemoryId>) {
    let (memory, ids) = begin(disk);
    let mut numbers = Numbers::new(7);
    let mut word = || (0..9).map(|_| char::from(b'a' + numbers.below(26) as u8)).collect::<String>();
    for batch in 0..24 {
        let many: Vec<_> = (0..250)
            .map(|_| (0..60).map(|_| word()).collect::<Vec<_>>().join(" "))
            .map(|content| candidate(None, &content, &format!("many-{batch}")))
            .collect();
        assert!(memory.remember_all(&writer(), &many).unwrap().iter().all(Result::is_ok));
    }
    assert!(memory.catch_up(&mut |_, _| {}).unwrap());
    (memory, ids)
}

/// Forgets on a full disk what can't be cleaned up after there, for that reason, tries again and again, and ends it when
/// there is room.
fn is_finished_later(disk: &Path, memory: Memory, ids: &[MemoryId], why: &str) {
    let filler = fill(disk);
    let gone = ids.last().unwrap();
    let request = Forget::new(Selector::Memory(gone.clone()), "asked for");
    let forgotten = memory.forget(&writer(), &request).unwrap();
    assert_eq!(forgotten.code(), "incomplete");
    let left: Vec<&str> = forgotten.receipt().unwrap().left.iter().map(|(reason, _)| reason.code()).collect();
    assert_eq!(left, [why]);
    let mut memory = Some(memory);
    for round in 0..6 {
        // What a try has begun does not use up what is kept, so that the store opens still.
        if round % 2 == 1 {
            drop(memory.take());
            fill(disk);
            memory = Some(open(disk).unwrap());
        }
        let memory = memory.as_ref().unwrap();
        assert_eq!(memory.resume_deletions().unwrap(), 1);
        assert!(kept(memory).0 > kept(memory).1 / 2, "{round}: {:?}", kept(memory));
        assert!(memory.get(&writer(), gone).unwrap().is_none());
        assert!(
            !contents(&memory.recall(&writer(), &by(Mode::Keyword, "walks the dog")).unwrap()).is_empty()
        );
    }
    fs::remove_file(filler).unwrap();
    let memory = memory.unwrap();
    assert_eq!(memory.resume_deletions().unwrap(), 0);
    assert_eq!(Canary::new(&[&word(RECORDS - 1)]).remains(&disk.join("store")), [].into());
    assert_eq!(memory.verify().unwrap(), []);
    say("done");
}

#[test]
fn without_what_is_kept_a_full_disk_refuses_and_says_so_and_nothing_is_by_half() {
    if on_a_disk("full_disk::without_slack").is_none() {
        eprintln!("SKIPPED: a file system can't be mounted here, so no disk was full");
    }
}

#[test]
#[ignore = "run by another test, on a disk of its own"]
fn without_slack() {
    let Some(disk) = folder() else { return };
    let (memory, ids) = begin(&disk);
    fs::remove_file(disk.join("store/slack")).unwrap();
    assert_eq!(kept(&memory).0, 0);
    let filler = fill(&disk);
    assert_told(&disk, &filler);
    fill(&disk);
    assert_readable(&memory, &ids);
    let refused = open(&disk).err().expect("there is no room to open it");
    assert_eq!(refused.kind(), ErrorKind::Environment, "{refused}");
    // What fits into the journal as it is may go through; sooner or later it is refused, or left to be cleaned up.
    let told: Vec<String> = ids
        .iter()
        .map(|id| forget(&memory, id).map_or_else(|error| error.to_string(), str::to_owned))
        .collect();
    let is_honest =
        |told: &String| told.contains("full") || ["incomplete", "forgotten"].contains(&told.as_str());
    assert!(told.iter().all(is_honest) && told.iter().any(|told| told != "forgotten"), "{told:?}");
    fs::remove_file(filler).unwrap();
    memory.resume_deletions().unwrap();
    for (id, before) in ids.iter().zip(&told) {
        let now = forget(&memory, id).unwrap();
        assert!(
            now == if before.contains("full") { "forgotten" } else { "already_forgotten" },
            "{before}: {now}"
        );
    }
    assert_eq!(memory.verify().unwrap(), []);
    for number in 0..RECORDS {
        assert_eq!(Canary::new(&[&word(number)]).remains(&disk.join("store")), [].into(), "{number}");
    }
    drop(memory);
    assert_eq!(kept(&open(&disk).unwrap()).0, kept(&open(&disk).unwrap()).1, "kept again");
    say("done");
}
