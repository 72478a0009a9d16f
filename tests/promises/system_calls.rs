//! A process that is killed at a system call, or whose disk fails at one, loses nothing that it has acknowledged and does
//! nothing by half. The calls are those that change files; strace makes them fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use recordari::{RestoreFrom, restore};

use crate::child::{Child, writer};
use crate::remains::Canary;
use crate::world::World;

/// The calls that change what is on the disk.
const CALLS: &str = "pwrite64,write,fsync,fdatasync,ftruncate,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,link,linkat";
/// What can happen at a call.
const FAULTS: [&str; 4] = ["signal=KILL", "error=EIO", "error=ENOSPC", "error=EINTR"];
/// How many places are tried of each fault, unless `RECORDARI_SYSTEM_CALLS` says that it is every so manieth, to the end or
/// for `RECORDARI_SYSTEM_CALLS_MINUTES`, the first of them `RECORDARI_SYSTEM_CALLS_FROM`.
const PLACES: usize = 7;
/// How long the short form may take.
const PATIENCE: Duration = Duration::from_secs(240);

/// Whether strace is there and may trace.
pub fn can_trace() -> bool {
    let traced =
        Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    traced.is_ok_and(|status| status.success())
}

/// What a run must have left.
#[derive(Default)]
struct Expected {
    there: BTreeSet<String>,
    gone: BTreeSet<String>,
    either: BTreeSet<String>,
    batches: BTreeMap<String, bool>,
    unfinished: BTreeSet<String>,
    /// What was tried, in order, and how it went.
    steps: Vec<(String, String)>,
}

/// Runs the work with a fault at the nth of the calls of each thread; what it must have left, and at how many calls the
/// fault came.
fn run(world: &World, calls: &str, of_file: Option<&str>, fault: &str, nth: usize) -> (Expected, usize) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-q", "-e", &format!("trace={calls}")]);
    strace.args(["-e", &format!("inject={calls}:{fault}:when={nth}")]).arg("-o").arg(log.path());
    // Only the calls in question are stopped at then; a signal must come before its call, for which it is too late there.
    if fault.starts_with("error=") {
        strace.arg("--seccomp-bpf");
    }
    if let Some(file) = of_file {
        strace.arg("-P").arg(world.path().join(file));
    }
    let mut child = Child::start_under(strace, world.path());
    child.send(&["work"]);
    let mut expected = Expected::default();
    let mut under_way: Option<(String, String)> = None;
    while let Some(line) = child.next() {
        let words: Vec<&str> = line.split('\t').collect();
        match words[0] {
            "end" | "unopened" => break,
            how @ ("ok" | "failed" | "later") => {
                if let Some((what, name)) = under_way.take() {
                    expected.steps.push((what.clone(), words.join(" ")));
                    settle(&mut expected, &what, name, how);
                }
            }
            what => under_way = Some((what.to_owned(), words.get(1).copied().unwrap_or_default().to_owned())),
        }
    }
    if let Some((what, name)) = under_way {
        settle(&mut expected, &what, name, "failed");
    }
    child.leave();
    let told = fs::read_to_string(log.path()).unwrap();
    let hits = told.matches("(INJECTED)").count() + told.matches("killed by SIGKILL").count();
    (expected, hits)
}

fn settle(expected: &mut Expected, what: &str, name: String, how: &str) {
    match (what, how) {
        ("remember", "ok") => drop(expected.there.insert(name)),
        ("remember", _) => drop(expected.either.insert(name)),
        ("batch", how) => drop(expected.batches.insert(name, how == "ok")),
        ("forget", how) => {
            expected.there.remove(&name);
            match how {
                "ok" => drop(expected.gone.insert(name)),
                "later" => drop(expected.unfinished.insert(name)),
                _ => drop(expected.either.insert(name)),
            }
        }
        _ => {}
    }
}

/// Opens the store without any fault and compares; and what was backed up and restored, if it came to that.
fn check(world: &mut World, expected: &Expected, what: &str) {
    world.reopen();
    check_one(world, expected, what);
    let [backup, restored, again] =
        ["backup", "restored", "again"].map(|name| world.path().with_extension(name));
    let came_to =
        |step: &str| expected.steps.iter().find(|(what, _)| what == step).map(|(_, how)| how == "ok");
    if came_to("backup") == Some(true) {
        let from = RestoreFrom { ledger: Some(world.path().to_owned()), ..crate::world::restoring() };
        restore(&backup, &again, &from, world.memory().now())
            .unwrap_or_else(|error| panic!("{what}: {error}"));
    } else if backup.exists() && !backup.join("backup.json").exists() {
        world.memory().backup(&backup).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    assert!(came_to("restore") != Some(true) || restored.exists(), "{what}");
    world.close();
    let own = std::mem::replace(&mut world.folder, tempfile::tempdir().unwrap());
    for copy in [&restored, &again] {
        if copy.exists() {
            // Whatever is there is whole.
            fs::remove_dir_all(world.path()).unwrap();
            fs::rename(copy, world.path()).unwrap();
            world.reopen();
            check_one(world, expected, &format!("{what}: {}", copy.display()));
            world.close();
        }
    }
    world.folder = own;
    for name in ["backup", "restoring"] {
        let _ = fs::remove_dir_all(world.path().with_extension(name));
    }
    let mut left = restored.into_os_string();
    left.push(".restoring");
    let _ = fs::remove_dir_all(&left);
    left.push(".lock");
    let _ = fs::remove_file(left);
}

fn check_one(world: &World, expected: &Expected, what: &str) {
    let contents: Vec<String> = world.listed(&writer()).into_iter().map(|record| record.content).collect();
    let count = |name: &str| contents.iter().filter(|text| text.contains(name)).count();
    for name in &expected.there {
        assert_eq!(count(name), 1, "{what}: {name} was acknowledged");
    }
    for name in expected.gone.iter().chain(&expected.unfinished) {
        assert_eq!(count(name), 0, "{what}: {name} was forgotten");
        assert_eq!(Canary::new(&[name]).remains(world.path()), [].into(), "{what}: {name}");
    }
    for name in &expected.either {
        assert!(count(name) <= 1, "{what}: {name} is there twice");
    }
    for (name, acknowledged) in &expected.batches {
        let there = count(name);
        assert!(there == 5 || there == 0 && !acknowledged, "{what}: {there} of {name}");
    }
    assert_eq!(world.memory().count_deletions(&writer()).unwrap().open, 0, "{what}");
    assert_eq!(world.memory().verify().unwrap(), [], "{what}");
}

#[test]
fn whatever_happens_at_a_system_call_nothing_acknowledged_is_lost_and_nothing_is_by_half() {
    if !can_trace() {
        eprintln!("SKIPPED: strace is not there or may not trace, so no system call was made to fail");
        return;
    }
    let told = |name: &str| std::env::var(name).ok().map(|told| told.parse::<usize>().unwrap());
    let every = told("RECORDARI_SYSTEM_CALLS");
    let patience = match (every, told("RECORDARI_SYSTEM_CALLS_MINUTES")) {
        (_, Some(minutes)) => Duration::from_secs(60 * minutes as u64),
        (Some(_), None) => Duration::MAX,
        (None, None) => PATIENCE,
    };
    let started = Instant::now();
    // Of each fault: at how many places it was tried, and how many calls it came to.
    let mut tried: BTreeMap<&str, (usize, usize)> = FAULTS.map(|fault| (fault, (0, 0))).into();
    let mut open = FAULTS.to_vec();
    let mut nth = told("RECORDARI_SYSTEM_CALLS_FROM").unwrap_or(1);
    for place in 1.. {
        open.retain(|fault| {
            let mut world = World::new();
            world.close();
            let (expected, hits) = run(&world, CALLS, None, fault, nth);
            check(&mut world, &expected, &format!("{fault} at call {nth}"));
            let of_fault = tried.get_mut(fault).unwrap();
            *of_fault = (of_fault.0 + usize::from(hits > 0), of_fault.1 + hits);
            hits > 0
        });
        // The short form looks at places that lie further and further apart.
        nth += every.unwrap_or(1 + place * place);
        if open.is_empty() || every.is_none() && place == PLACES || started.elapsed() > patience {
            break;
        }
    }
    assert!(tried.values().all(|tried| tried.0 > 0), "a fault came nowhere: {tried:?}");
    let summary: Vec<String> = tried
        .iter()
        .map(|(fault, (places, calls))| format!("{fault} at {places} places, {calls} calls"))
        .collect();
    let end = if open.is_empty() { "to the end".to_owned() } else { format!("next would be call {nth}") };
    println!("{}; {end}; nothing lost, nothing by half; {:?}", summary.join("; "), started.elapsed());
}

#[test]
fn after_a_failed_sync_every_write_is_refused_until_the_store_is_opened_again() {
    if !can_trace() {
        eprintln!("SKIPPED: strace is not there or may not trace, so no sync was made to fail");
        return;
    }
    let mut refused = 0;
    for nth in [1, 2, 3, 5, 8, 12] {
        let mut world = World::new();
        world.close();
        let journal = Some("recordari.db-wal");
        let (expected, hits) = run(&world, "fsync,fdatasync", journal, "error=EIO", nth);
        assert!(hits > 0, "there are so many syncs");
        let writes: Vec<&(String, String)> = expected
            .steps
            .iter()
            .filter(|(what, _)| ["remember", "batch", "forget"].contains(&&**what))
            .collect();
        let Some(first) = writes.iter().position(|(_, how)| how.starts_with("failed")) else {
            // The sync was one of a checkpoint: what it was to write is in the journal still.
            check(&mut world, &expected, &format!("EIO at sync {nth}"));
            continue;
        };
        for (what, how) in &writes[first + 1..] {
            assert!(how.contains("open the store again"), "{what} after a failed sync: {how}");
            refused += 1;
        }
        check(&mut world, &expected, &format!("EIO at sync {nth}"));
    }
    assert!(refused > 10, "only {refused} writes were refused");
}
