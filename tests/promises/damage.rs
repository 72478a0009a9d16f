//! Whatever is done to the files of a store, it never panics or hangs, and never serves a text that was not written.
//! What is derived mends itself; what is not is told.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use recordari::{ErrorKind, Memory, Mode, Options, Principal};

use crate::numbers::Numbers;
use crate::remains::files;
use crate::world::{World, by, someone};

/// How many damages are tried, unless `RECORDARI_DAMAGES` says another number.
const DAMAGES: u64 = 160;
/// Nothing that is asked of so small a store takes so long.
const HANGS: Duration = Duration::from_secs(20);

/// A store with some of everything, closed; what it says by id of each version; and its files as they were once.
fn whole() -> (World, Principal, BTreeMap<String, String>, tempfile::TempDir) {
    let once = tempfile::tempdir().unwrap();
    let mut world = World::new();
    let mei = someone("acme", "mei", None);
    for number in 0..30 {
        let written = world.say(&mei, None, &format!("keeps garnet number {number} in the drawer"), "chat-1");
        if number % 5 == 0 {
            world.correct(&mei, &written, &format!("moved garnet number {number} to the shelf"), "chat-2");
        }
        if number % 7 == 3 {
            world.forget_memory(&mei, &written.memory_id);
        }
        if number == 15 {
            world.drain();
            copy(world.path(), once.path());
        }
    }
    world.drain();
    let said =
        world.listed(&mei).into_iter().map(|record| (record.record_id.to_string(), record.content)).collect();
    world.ask(&mei, "garnet in the drawer");
    world.close();
    (world, mei, said, once)
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}

/// Damages one file; says which and how.
fn damage(folder: &Path, once: &Path, numbers: &mut Numbers) -> (PathBuf, String) {
    let all: Vec<PathBuf> =
        files(folder).into_iter().filter(|file| fs::metadata(file).unwrap().len() > 0).collect();
    let file = all[numbers.below(all.len())].clone();
    let mut bytes = fs::read(&file).unwrap();
    let at = numbers.below(bytes.len());
    // An old database is a restored one, which is no damage; what is beside it must catch up with it.
    let inside = file.strip_prefix(folder).unwrap();
    let stale = once.join(inside);
    let is_beside = !inside.starts_with("recordari.db") && !inside.starts_with("store.key");
    let how = match numbers.below(7) {
        6 if is_beside && stale.exists() => {
            bytes = fs::read(stale).unwrap();
            "as it was once".to_owned()
        }
        0 | 1 => {
            let bit = numbers.below(8);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} flipped")
        }
        2 => {
            let until = (at + 4096).min(bytes.len());
            bytes[at..until].fill(0);
            format!("bytes {at} to {until} zeroed")
        }
        3 => {
            bytes.truncate(at);
            format!("cut off at {at}")
        }
        4 => {
            let other = fs::read(&all[numbers.below(all.len())]).unwrap();
            bytes = other;
            "another file in its place".to_owned()
        }
        _ => {
            let until = (at + 64).min(bytes.len());
            (at..until).for_each(|at| bytes[at] = numbers.below(256) as u8);
            format!("bytes {at} to {until} made up")
        }
    };
    fs::write(&file, bytes).unwrap();
    (file.strip_prefix(folder).unwrap().to_owned(), how)
}

/// Opens the store and asks everything of it. Ok(true): it opened and all was as it should be.
fn ask(
    world: &World,
    folder: &Path,
    mei: &Principal,
    said: &BTreeMap<String, String>,
) -> Result<bool, recordari::Error> {
    let (memory, _) = Memory::open(Options { folder: folder.to_owned(), ..world.options() })?;
    let mut is_whole = true;
    let page = recordari::PageRequest { limit: 1000, cursor: None };
    let listed =
        memory.list(mei, &recordari::Filter::All(Vec::new()), &recordari::StateFilter::Current, &page);
    match &listed {
        Ok(listed) => {
            is_whole &= listed.records.len() == said.len();
            for record in &listed.records {
                assert_eq!(
                    said.get(record.record_id.as_str()),
                    Some(&record.content),
                    "a text that was not written"
                );
            }
        }
        Err(_) => is_whole = false,
    }
    for mode in Mode::ALL {
        match memory.recall(mei, &by(*mode, "garnet number in the drawer")) {
            Ok(answer) => {
                is_whole &= answer.hits.len() >= 10;
                for hit in &answer.hits {
                    let id = hit.record.record_id.as_str();
                    assert_eq!(said.get(id), Some(&hit.record.content), "a text that was not written");
                }
            }
            Err(_) => is_whole = false,
        }
    }
    is_whole &= memory.verify().is_ok_and(|findings| findings.is_empty());
    Ok(is_whole)
}

/// The index library panics over damaged files, which is caught where it is called. Thousands of such messages would hide
/// the one that a test fails with.
fn silence_what_is_caught() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|place| place.file().contains("tantivy")) {
                hook(panic);
            }
        }));
    });
}

#[test]
fn whatever_is_damaged_nothing_wrong_is_served_and_what_is_derived_mends_itself() {
    let damages = std::env::var("RECORDARI_DAMAGES").ok().map_or(DAMAGES, |damages| damages.parse().unwrap());
    let seed = std::env::var("RECORDARI_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    silence_what_is_caught();
    let (world, mei, said, once) = whole();
    let first = seed.unwrap_or(u64::from(std::process::id()) << 20);
    let (mut mended, mut told, mut whole_at_once) = (0, 0, 0);
    for number in 0..if seed.is_some() { 1 } else { damages } {
        let seed = first + number;
        let folder = tempfile::tempdir().unwrap();
        copy(world.path(), folder.path());
        let mut numbers = Numbers::new(seed);
        let (file, how) = damage(folder.path(), once.path(), &mut numbers);
        let what = format!("RECORDARI_SEED={seed}: {}: {how}", file.display());
        let is_derived = file.starts_with("derived") || file.starts_with("traces.db");
        let started = Instant::now();
        let asked = catch_unwind(AssertUnwindSafe(|| ask(&world, folder.path(), &mei, &said)));
        assert!(started.elapsed() < HANGS, "{what}: took {:?}", started.elapsed());
        match asked {
            Err(_) => panic!("{what}: panicked, see above"),
            Ok(Ok(true)) => whole_at_once += 1,
            Ok(Ok(false)) if is_derived => {
                // What mends itself does so when it is opened, or says what to do.
                let again = ask(&world, folder.path(), &mei, &said);
                let rebuilt = again.as_ref().is_ok_and(|whole| *whole) || {
                    let options = Options { folder: folder.path().to_owned(), ..world.options() };
                    let memory = Memory::open(options).unwrap_or_else(|error| panic!("{what}: {error}")).0;
                    let done =
                        memory.rebuild(&mut |_, _| {}).unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert!(done, "{what}: nobody else writes, and the index was not built anew");
                    drop(memory);
                    ask(&world, folder.path(), &mei, &said).is_ok_and(|whole| whole)
                };
                assert!(rebuilt, "{what}: derived, and not mended: {again:?}");
                mended += 1;
            }
            Ok(Ok(false)) => {
                // What is lost, or can't be shown, is told by whoever looks.
                let options = Options { folder: folder.path().to_owned(), ..world.options() };
                let is_told = Memory::open(options).map_or(true, |(memory, opening)| {
                    !opening.notices.is_empty()
                        || memory.verify().map_or(true, |findings| !findings.is_empty())
                });
                assert!(is_told, "{what}: nothing tells of it");
                told += 1;
            }
            Ok(Err(error)) => {
                assert!(!is_derived, "{what}: {error}");
                assert_ne!(error.kind(), ErrorKind::Caller, "{what}: {error}");
                told += 1;
            }
        }
    }
    println!(
        "{damages} damages: {whole_at_once} whole once opened, {mended} mended later, {told} told; nothing wrong served"
    );
}
