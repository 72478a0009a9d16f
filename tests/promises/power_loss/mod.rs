//! The power fails: whatever a disk may hold then, nothing acknowledged is lost and nothing is by half. What a workday does
//! to its files is recorded once; then states that the disk may be in at some moment of it are made, opened and asked.

mod disk;
mod recording;
mod strace;
mod verdict;
pub mod workday;

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use tempfile::TempDir;

use crate::child::Child;
use crate::numbers::Numbers;
use crate::remains::files;
use crate::system_calls::can_trace;
use disk::{Disk, is_shared_memory};
use recording::{Recording, Step};
use strace::{CALLS, Recorder, STRANGE};
use verdict::Expected;
use workday::{DAYS, STORE};

/// How many states are looked at, unless `RECORDARI_POWER_LOSSES` says another number.
const LOSSES: usize = 60;
/// How many states it may take until a sync that is missing is found to be missing.
const TRIES: u64 = 2000;
/// How many steps before a loss are told of one that fails.
const STEPS_TOLD: usize = 12;

/// Of which files and folders no sync counts.
type Ignored<'a> = &'a dyn Fn(&Path) -> bool;

/// The recording of a workday; none where nothing can be traced. `RECORDARI_RECORDING` names a folder to keep it in, and to
/// take it from: only of the same recording the same seed makes the very same state.
fn recording() -> Option<&'static Recording> {
    static RECORDING: OnceLock<Option<Recording>> = OnceLock::new();
    RECORDING.get_or_init(|| can_trace().then(record)).as_ref()
}

fn record() -> Recording {
    let mut temporary = None;
    let logs = match std::env::var_os("RECORDARI_RECORDING") {
        Some(folder) => PathBuf::from(folder),
        None => temporary.insert(tempfile::tempdir().unwrap()).path().to_owned(),
    };
    let log = |day: u8| logs.join(format!("day-{day}"));
    if let Ok(base) = fs::read_to_string(logs.join("base")) {
        let mut recorder = Recorder::new(Path::new(&base));
        (0..DAYS).for_each(|day| recorder.read(&log(day)));
        return recorder.finish();
    }
    fs::create_dir_all(&logs).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    // Not every kind of machine has each of them.
    let calls = format!("?{}", [CALLS, STRANGE].join(",").replace(',', ",?"));
    let mut recorder = Recorder::new(&base);
    for day in 0..DAYS {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-q", "-xx", "-s", "100000000", "-e", &format!("trace={calls}")]);
        strace.arg("-o").arg(log(day));
        let mut child = Child::start_under(strace, &base.join(STORE));
        child.send(&["workday", &day.to_string(), base.to_str().unwrap()]);
        let mut last = String::new();
        while last != "end" {
            last = child.next().unwrap_or_else(|| panic!("day {day} ended after {last:?}"));
        }
        child.leave();
        recorder.read(&log(day));
    }
    let recording = recorder.finish();
    // What was recorded is all that happened: the files that it makes are those that are there.
    let mut made = Disk::whole(&recording).files;
    made.retain(|path, _| !is_shared_memory(path));
    let there: Vec<PathBuf> = files(&base).into_iter().filter(|path| !is_shared_memory(path)).collect();
    assert_eq!(made.len(), there.len(), "{:?} {there:?}", made.keys());
    for path in there {
        let name = path.strip_prefix(&base).unwrap();
        assert!(made[name] == fs::read(&path).unwrap(), "{} is not as it was recorded", path.display());
    }
    fs::write(logs.join("base"), base.to_str().unwrap()).unwrap();
    recording
}

/// A moment at which the power fails: any, or just after something was acknowledged, or about a sync.
fn moment(recording: &Recording, numbers: &mut Numbers) -> usize {
    let steps = &recording.steps;
    let sort = numbers.below(3);
    let from = numbers.below(steps.len());
    let is_met = |step: &Step| match sort {
        0 => matches!(step, Step::Said(_)),
        1 => matches!(step, Step::Sync { .. }),
        _ => true,
    };
    let met = (from..steps.len()).find(|at| is_met(&steps[*at])).unwrap_or(steps.len() - 1);
    met + usize::from(sort == 0 || numbers.below(2) == 0)
}

/// Memory, where there is some to put files in: what is made there is not synced to a disk.
fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap()
}

/// Makes the state of a seed, and looks at it unless it was `seen`. None if it was, or what is wrong with it.
fn lose_power(
    recording: &Recording,
    seed: u64,
    is_ignored: Ignored<'_>,
    seen: &Mutex<HashSet<u64>>,
) -> Option<Result<(), String>> {
    let mut numbers = Numbers::new(seed);
    let cut = moment(recording, &mut numbers);
    let disk = Disk::after_loss(recording, cut, is_ignored, &mut numbers);
    let expected = Expected::before(recording, cut);
    let mut hasher = DefaultHasher::new();
    disk.hash(&mut hasher);
    expected.said.hash(&mut hasher);
    if !seen.lock().unwrap().insert(hasher.finish()) {
        return None;
    }
    let folder = scratch();
    disk.write(folder.path());
    let verdict = expected.check(folder.path());
    Some(verdict.map_err(|what| {
        let last = cut.saturating_sub(STEPS_TOLD)..cut;
        let steps: String = last.map(|step| format!("\n  {step} {}", recording.tell(step))).collect();
        format!("RECORDARI_SEED={seed}: {what}\nlost power after{steps}")
    }))
}

#[test]
fn whatever_a_power_loss_leaves_nothing_acknowledged_is_lost_and_nothing_is_by_half() {
    let Some(recording) = recording() else {
        eprintln!(
            "SKIPPED: strace is not there or may not trace, so no power loss was made of what it records"
        );
        return;
    };
    let seed = std::env::var("RECORDARI_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let losses =
        std::env::var("RECORDARI_POWER_LOSSES").ok().map_or(LOSSES, |losses| losses.parse().unwrap());
    let losses = if seed.is_some() { 1 } else { losses };
    let first = seed.unwrap_or(u64::from(std::process::id()) << 24);
    let started = Instant::now();
    let (next, failed) = (AtomicU64::new(first), AtomicBool::new(false));
    let (seen, wrong) = (Mutex::new(HashSet::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads.min(losses) {
            scope.spawn(|| {
                while seen.lock().unwrap().len() < losses && !failed.load(Ordering::SeqCst) {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if let Some(Err(what)) = lose_power(recording, seed, &|_| false, &seen) {
                        failed.store(true, Ordering::SeqCst);
                        wrong.lock().unwrap().push(what);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let syncs = recording.steps.iter().filter(|step| matches!(step, Step::Sync { .. })).count();
    println!(
        "{} losses of power, each another state, from seed {first}, in {} steps with {syncs} syncs; nothing lost, nothing by half; {:?}",
        seen.into_inner().unwrap().len(),
        recording.steps.len(),
        started.elapsed()
    );
}

/// Syncs that are missing are found to be missing, so none that is there is there for nothing.
#[test]
fn a_sync_that_is_left_out_is_missed() {
    let Some(recording) = recording() else {
        eprintln!("SKIPPED: strace is not there or may not trace, so no sync was left out");
        return;
    };
    let journal = |path: &Path| path.ends_with("recordari.db-wal");
    let database = |path: &Path| path.ends_with("recordari.db");
    let above = |path: &Path| path == Path::new("");
    let store = |path: &Path| path == Path::new(STORE);
    let derived = |path: &Path| path.ends_with("derived");
    let index = |path: &Path| path.ends_with("derived/keyword");
    let left_out: [(&str, Ignored<'_>, &str); 6] = [
        ("the journal", &journal, "acknowledged"),
        ("the database", &database, ""),
        ("the folder above the store", &above, "acknowledged"),
        ("the store's folder", &store, "acknowledged"),
        ("the folder of what is derived", &derived, "remains"),
        ("the index's folder", &index, "remains"),
    ];
    for (name, is_ignored, expected) in left_out {
        let (seen, seen_whole) = (Mutex::new(HashSet::new()), Mutex::new(HashSet::new()));
        let missed = (0..TRIES).find_map(|seed| {
            let wrong = lose_power(recording, seed, is_ignored, &seen)?.err()?;
            let is_right = lose_power(recording, seed, &|_| false, &seen_whole)?.is_ok();
            (is_right && wrong.contains(expected)).then_some((seed, wrong))
        });
        let (seed, wrong) = missed.unwrap_or_else(|| panic!("syncs of {name} are not missed"));
        println!("without syncs of {name}: state {seed}: {}", wrong.lines().next().unwrap_or_default());
    }
}
