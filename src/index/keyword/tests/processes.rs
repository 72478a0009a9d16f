//! Several processes, or several openings, on one folder.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::*;

const FOLDER: &str = "RECORDARI_TEST_KEYWORD_FOLDER";

/// Not a test by itself: what the process does that other tests start.
#[test]
#[ignore = "run by other tests, as a process of its own"]
fn hold_the_writer() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let mut writer = Writer::open(std::path::Path::new(&folder)).unwrap().unwrap();
    writer.apply([add(1, HOME, "committed")]).unwrap();
    writer.commit(1, 0).unwrap();
    // Enough that segments of it reach the disk.
    writer.apply((2..20_000).map(|doc| add(doc, HOME, &format!("lost {doc} {doc}x {doc}y {doc}z")))).unwrap();
    println!("\nready");
    std::thread::sleep(Duration::from_secs(60));
}

/// Starts the process above and waits until it has written.
fn start(folder: &Path) -> Child {
    let module = module_path!().split_once("::").unwrap().1;
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::hold_the_writer"), "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"), "the process ended early");
    child
}

#[test]
fn a_second_writer_is_refused_and_a_killed_one_leaves_its_last_commit() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path());
    assert!(Writer::open(folder.path()).unwrap().is_none());
    let index = open(folder.path());
    assert_eq!(index.watermark(), 1);

    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!index.reload().unwrap());
    assert_eq!(postings(&index.view(), HOME, "committed").len(), 1);
    assert!(postings(&index.view(), HOME, "lost").is_empty());

    let mut writer = Writer::open(folder.path()).unwrap().unwrap();
    assert_eq!(writer.watermark(), 1);
    writer.purge().unwrap();
    let segments = std::fs::read_dir(folder.path()).unwrap().filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "term")
    });
    assert_eq!(segments.count(), 1);
}

#[test]
fn a_second_writer_in_the_same_process_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = Writer::open(folder.path()).unwrap().unwrap();
    assert!(Writer::open(folder.path()).unwrap().is_none());
    drop(first);
    assert!(Writer::open(folder.path()).unwrap().is_some());
}

#[test]
fn two_openings_see_each_others_commits() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (open(folder.path()), open(folder.path()));
    for round in 1..5 {
        write(folder.path(), round, vec![add(round, HOME, "word")]);
        for index in [&one, &two] {
            assert!(index.reload().unwrap());
            assert_eq!(index.watermark(), round);
            assert_eq!(postings(&index.view(), HOME, "word").len() as u64, round);
        }
    }
}
