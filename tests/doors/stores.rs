//! Stores that are not there, not whole, or not to be written: told as what they are.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::door::{Door, text};

fn store(door: &Door) -> PathBuf {
    door.home.path().join(".local/share/recordari")
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_lost_database_is_an_error_and_no_empty_store() {
    let door = Door::new();
    door.done(&["remember", "prefers Python"]);
    let (folder, saved) = (store(&door), door.home.path().join("saved.db"));
    let database = folder.join("recordari.db");
    fs::rename(&database, &saved).unwrap();
    let before = names(&folder);
    let refused = |what: &str| {
        for arguments in [&["list"][..], &["remember", "likes tea"], &["verify"]] {
            let (code, error) = door.json(arguments);
            let message = text(&error["error"], "message");
            assert_eq!((code, text(&error["error"], "kind")), (65, "data"), "{what}: {error}");
            for part in [folder.to_str().unwrap(), "restore recordari.db", "store.key and ledger.db away"] {
                assert!(message.contains(part), "{what}: {message}");
            }
        }
        assert!(!door.run(&["list"]).stderr.contains("recordari verify"));
    };
    refused("missing");
    assert_eq!(names(&folder), before);
    fs::write(&database, "").unwrap();
    refused("empty");
    assert_eq!(fs::metadata(&database).unwrap().len(), 0);
    fs::copy(&saved, &database).unwrap();
    assert_eq!(door.done(&["list", "--json"]).lines().len(), 2);
    fs::remove_file(&database).unwrap();
    fs::remove_file(folder.join("store.key")).unwrap();
    fs::remove_file(folder.join("ledger.db")).unwrap();
    door.done(&["remember", "likes tea"]);
}

#[test]
fn a_replaced_key_is_noticed_once() {
    let door = Door::new();
    door.done(&["remember", "prefers Python"]);
    fs::write(store(&door).join("store.key"), [7; 32]).unwrap();
    let first = door.done(&["list"]);
    assert!(first.stderr.contains("key was missing or replaced"), "{}", first.stderr);
    assert_eq!(door.done(&["list"]).stderr, "");
    fs::remove_file(store(&door).join("store.key")).unwrap();
    assert!(door.done(&["list"]).stderr.contains("key was missing or replaced"));
}

#[test]
fn what_only_reads_makes_no_store_where_one_was_named() {
    let door = Door::new();
    for command in [
        &["recall", "x"][..],
        &["get", "mem_x"],
        &["list"],
        &["history", "mem_x"],
        &["export"],
        &["verify"],
        &["stats"],
        &["why", "rec_x", "x"],
        &["trace", "list"],
        &["trace", "show", "trc_x"],
        &["review", "list"],
    ] {
        let (code, error) = door.json(&[command, &["--store", "nowhere"]].concat());
        assert_eq!((code, text(&error["error"], "kind")), (78, "environment"), "{command:?}: {error}");
        assert_eq!(
            text(&error["error"], "message"),
            "there is no store at nowhere; recordari init or remember makes one"
        );
    }
    let mut command = door.command(&["list"]);
    assert_eq!(command.env("RECORDARI_STORE", "nowhere").output().unwrap().status.code(), Some(78));
    assert!(!door.home.path().join("nowhere").exists());
    door.done(&["remember", "prefers Python", "--store", "nowhere"]);
    door.done(&["list", "--store", "nowhere"]);
    // Where nothing was named, an empty scope is an answer.
    assert_eq!(text(&door.json(&["recall", "x"]).1, "reason"), "no_memories");
}

#[cfg(unix)]
#[test]
fn a_store_that_cannot_be_written_says_why_it_should_be() {
    use std::os::unix::fs::PermissionsExt;
    let door = Door::new();
    door.done(&["remember", "prefers Python", "--store", "mine"]);
    let folder = door.home.path().join("mine");
    let allow = |files: u32, folders: u32| {
        for name in names(&folder) {
            let path = folder.join(name);
            let mode = if path.is_dir() { folders } else { files };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(folders)).unwrap();
    };
    allow(0o444, 0o555);
    // Permissions do not bind everybody.
    if fs::write(folder.join("probe"), "").is_err() {
        let refused = door.run(&["list", "--store", "mine"]);
        assert_eq!(refused.code, 78, "{}", refused.stdout);
        assert!(refused.stderr.contains("mine: "), "{}", refused.stderr);
        assert!(refused.stderr.contains("needs to write there, even to read"), "{}", refused.stderr);
    }
    allow(0o644, 0o755);
}

#[test]
fn what_opening_had_to_repair_is_a_finding() {
    let door = Door::new();
    door.done(&["remember", "prefers Python"]);
    let folder = store(&door);
    let damage = |name: &str| match name {
        "the keyword index" => fs::remove_dir_all(folder.join("derived")).unwrap(),
        "the store's key" => fs::write(folder.join("store.key"), [7; 32]).unwrap(),
        _ => fs::write(folder.join("traces.db"), "no database at all, but long enough to be looked at")
            .unwrap(),
    };
    for name in ["the keyword index", "the store's key", "the file of traces"] {
        damage(name);
        let (code, found) = door.json(&["verify"]);
        assert_eq!((code, text(&found, "outcome")), (1, "unsound"), "{name}: {found}");
        let finding = &found["findings"][0];
        assert_eq!(text(finding, "check"), "opening");
        assert!(text(finding, "detail").starts_with(name), "{found}");
        assert_eq!(found["findings"].as_array().unwrap().len(), 1, "{found}");
        assert_eq!(
            door.json(&["verify"]),
            (0, json!({ "outcome": "sound", "reason": null, "findings": [] }))
        );
    }
    damage("the keyword index");
    let told = door.run(&["verify"]);
    assert!(told.stdout.contains("verify again") && told.stderr.is_empty(), "{}{}", told.stdout, told.stderr);
}

#[test]
fn a_notice_about_the_index_names_it() {
    let door = Door::new();
    door.done(&["remember", "prefers Python"]);
    let keyword = store(&door).join("derived/keyword");
    door.done(&["rebuild"]);
    let segment = names(&keyword).into_iter().find(|name| name.ends_with(".store")).unwrap();
    let mut bytes = fs::read(keyword.join(&segment)).unwrap();
    bytes[0] ^= 0xff;
    let path = keyword.join(segment);
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    let notice = door.done(&["list"]).stderr;
    assert!(
        notice.starts_with("recordari: the keyword index: ") && notice.ends_with("built again\n"),
        "{notice}"
    );
}

#[test]
fn one_memory_is_spoken_of_as_one() {
    let door = Door::new();
    let (_, kept) = door.json(&["remember", "prefers Python"]);
    let (database, saved) = (store(&door).join("recordari.db"), door.home.path().join("saved.db"));
    fs::copy(&database, &saved).unwrap();
    door.done(&["forget", "--memory", text(&kept, "memory_id")]);
    fs::copy(&saved, &database).unwrap();
    let notice = door.done(&["list"]).stderr;
    assert!(notice.contains("1 memory was forgotten again"), "{notice}");
    assert_eq!(door.json(&["list"]).1["total"], Value::from(0));
}
