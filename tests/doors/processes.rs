//! Several processes, and one that is stopped halfway.

use std::io::Write;
use std::process::Command;

use serde_json::json;

use crate::door::{Answer, Door, piped, text};

fn lines(who: &str, from: usize, upto: usize) -> String {
    (from..upto)
        .map(|n| {
            let line = json!({ "content": format!("{who} noted item {n}"), "source": format!("{who}#{n}"), "authority": "user_explicit", "observed_at": "2026-03-01T10:00:00Z" });
            format!("{line}\n")
        })
        .collect()
}

#[test]
fn two_processes_write_at_the_same_time() {
    let door = Door::new();
    let import = |who: &str| {
        let file = door.write(&format!("{who}.jsonl"), lines(who, 0, 180));
        piped(door.command(&["import", &file, "--json"]))
    };
    let imports = [import("ann"), import("bob")];
    for n in 0..20 {
        let say = |who: &str| piped(door.command(&["remember", &format!("{who} said item {n}")]));
        for child in [say("ann"), say("bob")] {
            let answer = Answer::of(child.wait_with_output().unwrap());
            assert_eq!(answer.code, 0, "{}", answer.stderr);
        }
    }
    for child in imports {
        let answer = Answer::of(child.wait_with_output().unwrap());
        assert_eq!(answer.code, 0, "{}{}", answer.stdout, answer.stderr);
    }
    let list = door.done(&["list", "--json", "--limit", "1"]).lines();
    assert_eq!(list.last().unwrap()["total"], 400);
    door.done(&["verify"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_import_leaves_a_sound_store_and_can_be_repeated() {
    let door = Door::new();
    let all = lines("ann", 0, 1000);
    let mut child = piped(door.command(&["import", "-", "--json"]));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(all.as_bytes()).unwrap();
    // The program has begun once the first batch is stored.
    let store = door.home.path().join(".local/share/recordari/recordari.db");
    while !store.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    std::thread::sleep(std::time::Duration::from_millis(50));
    // It waits for a line; the next one lets it see that it was asked to stop.
    let _ = stdin.write_all(lines("ann", 1000, 1001).as_bytes());
    drop(stdin);
    let answer = Answer::of(child.wait_with_output().unwrap());
    assert_eq!(answer.code, 130, "{}{}", answer.stdout, answer.stderr);
    let done = answer.only_json();
    assert_eq!(text(&done, "outcome"), "interrupted");
    door.done(&["verify"]);
    let stored =
        door.done(&["list", "--json", "--limit", "1"]).lines().pop().unwrap()["total"].as_u64().unwrap();
    assert_eq!(done["counts"]["committed"].as_u64().unwrap(), stored);
    assert!(stored < 1001, "{stored}");
    let file = door.write("all.jsonl", all);
    assert_eq!(door.json(&["import", &file]).1["counts"]["idempotent"], stored);
}
