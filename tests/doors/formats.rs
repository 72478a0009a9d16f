//! Stores as this and earlier versions wrote them: opened, brought to the present format, and nothing lost or come back.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::door::{Answer, Door, text};

const TENANT: &[&str] = &["--tenant", "acme", "--no-user", "--below", "--clearance", "sensitive"];
const ANA: &[&str] = &["--tenant", "acme", "--user", "ana"];

/// The formats of which there is a fixture.
const FORMATS: [u32; 2] = [1, 2];

/// A copy of the fixture of a format.
struct Old {
    door: Door,
    store: PathBuf,
}

impl Old {
    fn new(format: u32) -> Old {
        let door = Door::new();
        let store = door.home.path().join("store");
        copy(&fixture(&format!("store-{format}")), &store);
        Old { door, store }
    }

    fn run(&self, who: &[&str], arguments: &[&str]) -> Answer {
        let store = ["--store", self.store.to_str().unwrap()];
        // The model that made the fixture's vectors.
        let model = ["--model", "embedded"];
        self.door.run(&[arguments, who, &store, &model].concat())
    }

    fn done(&self, who: &[&str], arguments: &[&str]) -> Answer {
        let answer = self.run(who, arguments);
        assert_eq!(answer.code, 0, "{arguments:?}: {}{}", answer.stdout, answer.stderr);
        answer
    }

    fn listed(&self) -> Vec<Value> {
        let mut lines = self.done(TENANT, &["list", "--limit", "200", "--json"]).lines();
        // Earlier versions did not tell of any.
        let last = lines.last_mut().and_then(Value::as_object_mut).unwrap();
        assert_eq!(last.remove("damaged"), Some(Value::Array(Vec::new())));
        assert_eq!(last.remove("unreadable"), Some(Value::Bool(false)));
        lines
    }

    /// Whether any file of the store holds these bytes.
    fn holds(&self, bytes: &str) -> bool {
        files(&self.store).iter().any(|file| {
            let content = fs::read(file).unwrap();
            content.windows(bytes.len()).any(|window| window == bytes.as_bytes())
        })
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, target) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        match path.is_dir() {
            true => copy(&path, &target),
            false => assert!(fs::copy(&path, &target).is_ok(), "{}", path.display()),
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_store_of_each_format_is_read_as_its_own_version_read_it() {
    for format in FORMATS {
        let old = Old::new(format);
        let expected = fs::read_to_string(fixture(&format!("store-{format}.list.jsonl"))).unwrap();
        let expected: Vec<Value> = expected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let listed = old.listed();
        assert_eq!(listed.len(), expected.len());
        for (listed, expected) in listed.iter().zip(&expected) {
            assert_eq!(listed, expected);
        }
        old.done(ANA, &["verify"]);
        assert_eq!(old.listed(), expected, "opened once more");
        let stats: Value = old.done(ANA, &["stats", "--json"]).only_json();
        assert_eq!(stats["embedded"]["records"], stats["embedded"]["of"], "{stats}");
        assert_eq!(stats["waiting_for_review"], 1);
    }
}

#[test]
fn what_was_found_in_a_store_of_each_format_is_found_after() {
    for format in FORMATS {
        let old = Old::new(format);
        let best = |who: &[&str], arguments: &[&str]| -> Value {
            let answer = old.done(who, &[&["recall"], arguments, &["--json"]].concat()).only_json();
            answer["hits"][0].clone()
        };
        let office = best(ANA, &["when can I still get into the office on Friday?"]);
        assert_eq!(text(&office, "content"), "The office closes at six on Fridays");
        let whole = old.done(ANA, &["get", text(&office, "record_id"), "--json"]).only_json();
        assert_eq!(whole["record"]["evidence"].as_array().unwrap().len(), 2, "{whole}");
        let project = [ANA, &["--project", "atlas"]].concat();
        let deploy = best(&project, &["which branch do we deploy from?", "--mode", "vector"]);
        assert_eq!(text(&deploy, "subject"), "deploy_branch");
        let mei = ["--tenant", "acme", "--user", "mei"];
        assert!(best(&mei, &["什么时候发布？"])["content"].is_string());
        let go = best(ANA, &["indentation in Go"]);
        let said = old.done(ANA, &["history", text(&go, "memory_id"), "--json"]).stdout;
        assert!(said.contains("tabs in Go") && said.contains("four spaces in Go"), "{said}");
    }
}

#[test]
fn what_was_forgotten_in_each_format_stays_forgotten() {
    for format in FORMATS {
        let old = Old::new(format);
        let refused = |arguments: &[&str], reason: &str| {
            let answer = old.run(ANA, &[&["remember"], arguments, &["--json"]].concat()).only_json();
            assert_eq!(answer["reason"], reason, "{answer}");
        };
        refused(
            &[
                "The spare key lies under the third flowerpot",
                "--source",
                "chat-4#2",
                "--observed-at",
                "2026-03-09T11:00:00Z",
            ],
            "memory_deleted",
        );
        refused(&["Project Kestrel starts in July", "--source", "leak.txt"], "source_withdrawn");
        let again =
            old.done(ANA, &["forget", "--subject", "spare_key", "--request-id", "fixture-1", "--json"]);
        assert!(again.stdout.contains("receipt"), "{}", again.stdout);
    }
}

#[test]
fn a_store_of_each_format_is_written_on_and_forgets_without_a_trace() {
    for format in FORMATS {
        let old = Old::new(format);
        let rule = "Ask before changing a public API";
        assert!(old.holds(rule), "the fixture must hold it");
        let same = old.done(
            ANA,
            &["remember", "The office closes at six on Fridays", "--source", "sign#door", "--json"],
        );
        assert_eq!(same.only_json()["reason"], "duplicate_memory", "{}", same.stdout);
        old.done(ANA, &["remember", "The coffee machine wants descaling in May"]);
        old.done(ANA, &["forget", "--subject", "public_api"]);
        assert!(!old.holds(rule), "pages of the earlier tables must be empty");
        old.done(ANA, &["forget", "--source", "wiki"]);
        let office = old
            .listed()
            .into_iter()
            .find(|record| text(record, "content").contains("closes at six"))
            .unwrap();
        assert_eq!(office["evidence"].as_array().unwrap().len(), 2, "the other two: {office}");
        old.done(ANA, &["verify"]);
    }
}

#[test]
fn a_store_from_the_future_is_refused_and_not_touched() {
    for file in ["recordari.db", "ledger.db", "traces.db"] {
        let old = Old::new(2);
        let database = rusqlite::Connection::open(old.store.join(file)).unwrap();
        database.pragma_update(None, "user_version", 99).unwrap();
        database.close().unwrap();
        let bytes = || -> Vec<(PathBuf, Vec<u8>)> {
            let mut all: Vec<PathBuf> = files(&old.store);
            // Locks and leases are no part of what is kept.
            all.retain(|path| {
                ["recordari.db", "ledger.db", "traces.db", "store.key"]
                    .iter()
                    .any(|name| path.ends_with(name))
            });
            all.sort();
            all.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
        };
        let before = bytes();
        for arguments in
            [&["list"][..], &["remember", "the office moves"], &["forget", "--subject", "indentation"]]
        {
            let refused = old.run(ANA, arguments);
            assert_ne!(refused.code, 0, "{file}: {}", refused.stdout);
            assert!(refused.stderr.contains("99"), "{file}: {}", refused.stderr);
        }
        assert_eq!(bytes(), before, "{file}");
    }
}
