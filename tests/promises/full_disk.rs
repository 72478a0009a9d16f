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
use crate::remains::Canary;
use crate::world::{at, by, contents};

/// How large the disk is.
const DISK: &str = "size=16m,mode=700";
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
        assert_eq!(remains.is_empty(), usize::from(number) >= ids.len(), "{number}: {remains:?}");
    }
    fs::remove_file(filler).unwrap();
    let memory = open(&disk).unwrap();
    assert_eq!(kept(&memory), (of, of));
    assert_eq!(memory.verify().unwrap(), []);
    memory.remember(&writer(), &candidate(None, "walks home", "child")).unwrap();
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
