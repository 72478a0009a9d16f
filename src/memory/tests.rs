//! Each step of forgetting is broken on purpose, in this thread, and the probe must catch it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{Memory, Options};
use crate::broken::{Step, with_broken};
use crate::clock::{ManualClock, Timestamp};
use crate::embed::HashingEmbedder;
use crate::forget::{Forget, Forgotten};
use crate::gate::Policy;
use crate::namespace::{Namespace, Principal};
use crate::record::{Candidate, Kind, MemoryId, RecordId, Source};
use crate::remember::{Correction, Outcome};
use crate::store::{RestoreFrom, Selector, Written, restore};
use crate::trust::Authority;

const TEXT: &str = "orders Marzipanforelle 杏仁鳟鱼 with extra almonds";
const OLDER: &str = "orders Zitronenkrapfen 柠檬油炸饼 every Thursday";

/// What is broken, and what the name of a place begins or ends with where it must be found.
const BROKEN: &[(Step, &str)] = &[
    (Step::SecureDelete, "recordari.db"),
    (Step::Journal, "recordari.db-wal"),
    (Step::Content, "recordari.db"),
    (Step::OlderVersions, "recordari.db"),
    (Step::Vectors, "what forgotten records still hold"),
    (Step::ComingVectors, "what forgotten records still hold"),
    (Step::Evidence, "what forgotten records still hold"),
    (Step::Candidates, "recordari.db"),
    (Step::Derived, "recordari.db"),
    (Step::Reason, "recordari.db"),
    (Step::Removal, "keyword index, decoded: words that no memory has"),
    (Step::Merge, "keyword index, decoded: words that no memory has"),
    (Step::Sweep, ".term, decoded: words that no memory has"),
    (Step::Readers, "deleted files that a process still has open"),
    #[cfg(feature = "graph")]
    (Step::Graphs, "graphs, decoded: vectors of what is not there"),
    (Step::Replay, "recordari.db"),
];

fn opened(folder: &Path) -> Memory {
    let clock = ManualClock::at(Timestamp::parse("at", "2026-03-01T10:00:00Z").unwrap());
    let options = Options {
        embedder: Some(Arc::new(HashingEmbedder::new(256).unwrap())),
        policy: Ok(Policy::parse("[recall]\ngraph_from = 100\n").unwrap()),
        clock: Arc::new(clock),
        background: false,
        ..Options::new(folder)
    };
    Memory::open(options).unwrap().0
}

fn said(memory: &Memory, content: &str, source: &str) -> Candidate {
    Candidate {
        source: Some(Source::parse(source)),
        observed_at: Some(memory.now()),
        authority: Authority::UserExplicit,
        ..Candidate::new(Kind::Semantic, content)
    }
}

fn correction(memory: &Memory, of: &Written, content: &str, source: &str) -> Correction {
    Correction {
        expected: of.record_id.clone(),
        memory: of.memory_id.clone(),
        content: content.to_owned(),
        source: Source::parse(source),
        observed_at: memory.now(),
        authority: Authority::UserExplicit,
        confidence: 1.0,
        metadata: None,
        valid_from: None,
        expires_at: None,
        write_reason: None,
        renew_consent: false,
    }
}

fn committed(outcome: Outcome) -> Written {
    outcome.written().expect("it is committed")
}

/// Forgets a namespace with everything that can hold a text, and tells where the probe finds it afterwards.
fn found_after_forgetting(broken: Option<Step>) -> Vec<String> {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let memory = opened(folder.path());
    let mei = Principal::new(Namespace::new("acme").unwrap().user("mei").unwrap());
    let in_project = Namespace::from_parts("acme", Some("mei"), Some("menu"), None).unwrap();
    let project = Principal::new(in_project.clone());
    // What stays, in the same files.
    for number in 0..120 {
        let walk = said(&memory, &format!("walks home with extra almonds on day {number}"), "diary");
        memory.remember(&mei, &walk).unwrap();
    }
    let lunch = Candidate { subject: Some("lunch".to_owned()), ..said(&memory, OLDER, "chat-1#4") };
    let older = committed(memory.remember(&project, &lunch).unwrap());
    let correction = correction(&memory, &older, TEXT, "chat-1#9");
    let written = committed(memory.correct(&project, &correction).unwrap().unwrap());
    // Another source says the same, somebody guesses it, and something was made of it elsewhere.
    let again = Candidate { subject: Some("lunch".to_owned()), ..said(&memory, TEXT, "chat-5#2") };
    memory.remember(&project, &again).unwrap();
    let guess = Candidate {
        authority: Authority::ModelInferred,
        confidence: 0.5,
        ..said(&memory, &format!("perhaps {TEXT}"), "chat-6#1")
    };
    assert!(matches!(memory.remember(&project, &guess).unwrap(), Outcome::Review { .. }));
    let summary = Candidate {
        namespace: Some(mei.namespace.clone()),
        derived_from: vec![RecordId::new(written.record_id.as_str())],
        ..said(&memory, &format!("for lunch {TEXT}"), "summary-1")
    };
    committed(memory.remember(&project, &summary).unwrap());
    // In one segment of the index with what stays.
    assert!(memory.catch_up(&mut |_, _| {}).unwrap());
    #[cfg(feature = "graph")]
    {
        for number in 0..120 {
            let dish = said(&memory, &format!("dish number {number} of the menu"), "menu");
            memory.remember(&project, &dish).unwrap();
        }
        assert!(memory.catch_up(&mut |_, _| {}).unwrap());
        assert!(memory.build_graphs(&mut |_, _| true).unwrap() > 0);
    }
    if broken == Some(Step::ComingVectors) {
        let connection = rusqlite::Connection::open(folder.path().join("recordari.db")).unwrap();
        let sql = "INSERT INTO coming_vectors SELECT id, 1, x'00' FROM records WHERE record_id = ?1";
        assert_eq!(connection.execute(sql, [written.record_id.as_str()]).unwrap(), 1);
    }
    if broken == Some(Step::Sweep) {
        leave_a_segment(&folder.path().join("derived").join("keyword"));
    }
    let backup = elsewhere.path().join("backup");
    memory.backup(&backup).unwrap();
    let texts = [TEXT.to_owned(), OLDER.to_owned()];
    let before = memory.probe(&mei, &texts, &[], &mut |_, _| {}).unwrap();
    assert!(before.is_found() && !before.is_blind());

    let reason = if broken == Some(Step::Reason) { TEXT } else { "asked for" };
    let forget = Forget { namespace: Some(in_project), ..Forget::new(Selector::Everything, reason) };
    let forgotten = memory.forget(&project, &forget).unwrap();
    assert!(matches!(forgotten, Forgotten::Done(_) | Forgotten::Incomplete(_)), "{forgotten:?}");
    let (memory, folder) = match broken {
        Some(Step::Replay) => {
            let new = elsewhere.path().join("restored");
            let from = RestoreFrom { ledger: Some(folder.path().to_owned()), ..RestoreFrom::default() };
            restore(&backup, &new, &from, memory.now()).unwrap();
            (opened(&new), elsewhere)
        }
        _ => (memory, folder),
    };
    let after = memory.probe(&mei, &texts, &[], &mut |_, _| {}).unwrap();
    assert!(after.control.iter().any(|place| place.starts_with("recordari.db")), "{:?}", after.control);
    drop((memory, folder));
    let found = after.places.into_iter().filter(|place| place.copies + place.parts > 0);
    found.map(|place| place.name).collect()
}

/// Leaves a copy of each segment under another name, as a crash leaves one that was being written.
fn leave_a_segment(index: &Path) {
    for entry in fs::read_dir(index).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if let Some((stem, end)) = name.split_once('.').filter(|(stem, _)| stem.len() == 32) {
            let other: String = stem.chars().rev().collect();
            fs::copy(&path, index.join(format!("{other}.{end}"))).unwrap();
        }
    }
}

#[test]
fn every_broken_step_of_forgetting_is_caught_by_the_probe() {
    assert_eq!(with_broken(None, || found_after_forgetting(None)), [""; 0]);
    for (step, place) in BROKEN {
        let found = with_broken(Some(*step), || found_after_forgetting(Some(*step)));
        let is_there = |name: &String| name.starts_with(place) || name.ends_with(place);
        assert!(found.iter().any(is_there), "{step:?}: {found:?}");
    }
}

/// What many people say in turn, now in few words and now in many, so that the tree of records grows in its middle and its
/// pages are balanced often.
fn said_by_many(memory: &Memory, numbers: std::ops::Range<usize>) -> Vec<(Principal, String, MemoryId)> {
    let mut all = Vec::new();
    for number in numbers {
        let user = format!("user{}", number * 7 % 31);
        let who = Principal::new(Namespace::new("acme").unwrap().user(&user).unwrap());
        let content = format!("box {number:03} holds {}", "pegs ".repeat(1 + number * number % 151));
        let written = committed(memory.remember(&who, &said(memory, content.trim(), "diary")).unwrap());
        all.push((who, format!("box {number:03} holds pegs"), written.memory_id));
    }
    all
}

fn copies(folder: &Path, content: &str) -> usize {
    let database = fs::read(folder.join("recordari.db")).unwrap();
    aho_corasick::AhoCorasick::new([content]).unwrap().find_iter(&database).count()
}

#[test]
fn what_sqlite_leaves_in_the_unused_space_of_pages_goes_with_a_deletion_and_is_found_by_the_probe() {
    for broken in [Some(Step::Gaps), None] {
        with_broken(broken, || {
            let folder = tempfile::tempdir().unwrap();
            let mut said = said_by_many(&opened(folder.path()), 0..600);
            let is_twice = |said: &&(Principal, String, MemoryId)| copies(folder.path(), &said.1) > 1;
            let (who, content, memory_id) = said.iter().find(is_twice).expect("some are there twice").clone();
            let memory = opened(folder.path());
            let forget = Forget::new(Selector::Memory(memory_id), "asked for");
            let forgotten = memory.forget(&who, &forget).unwrap();
            assert!(matches!(forgotten, Forgotten::Done(_)), "{forgotten:?}");
            let probed = memory.probe(&who, &[content], &[], &mut |_, _| {}).unwrap();
            let found = probed.places.iter().filter(|place| place.copies > 0).map(|place| &*place.name);
            let expected: &[&str] = if broken.is_some() { &["recordari.db"] } else { &[] };
            assert_eq!(found.collect::<Vec<_>>(), expected);
            // So it is with what was written since: all gaps are emptied, whatever was in them, and the pages are sound.
            said.extend(said_by_many(&memory, 600..1000));
            let (who, _, memory_id) = said.pop().unwrap();
            let forgotten =
                memory.forget(&who, &Forget::new(Selector::Memory(memory_id), "asked for")).unwrap();
            assert!(matches!(forgotten, Forgotten::Done(_)), "{forgotten:?}");
            drop(memory);
            assert_eq!(said.iter().any(|said| is_twice(&said)), broken.is_some());
            assert_eq!(opened(folder.path()).verify().unwrap(), []);
        });
    }
}
