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

#[cfg(feature = "embedded-model")]
#[test]
fn what_any_surface_writes_is_found_by_meaning_at_once() {
    // B23: as far as there are surfaces; later ones join here.
    use recordari::embed::ModelSpec;
    use recordari::{Memory, Mode, Namespace, Options, Principal, Query};

    let door = Door::new();
    let run = |arguments: &[&str]| {
        let answer = Answer::of(door.command(arguments).env_remove("RECORDARI_MODEL").output().unwrap());
        assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.stderr);
        answer
    };
    let store = door.home.path().join("memory").display().to_string();
    run(&["init", "--store", &store]);
    let embedder = ModelSpec::Embedded.open(None).unwrap();
    let options = Options { embedder, background: false, ..Options::new(&store) };
    // Open from before the first write to after the last.
    let (memory, _) = Memory::open(options).unwrap();
    let mei = Principal::new(Namespace::new("local").unwrap().user("mei").unwrap());
    let candidate = recordari::Candidate {
        source: Some(recordari::Source::parse("chat-1")),
        observed_at: Some(memory.now()),
        authority: recordari::Authority::UserExplicit,
        ..recordari::Candidate::new(recordari::Kind::Semantic, "She is allergic to peanuts")
    };
    assert!(memory.remember(&mei, &candidate).unwrap().written().is_some());
    run(&["remember", "The meeting was moved to Thursday", "--store", &store]);
    let file = door.write("lines.jsonl", {
        let line = json!({ "content": "His bicycle was stolen in Hamburg", "source": "diary", "authority": "user_explicit", "observed_at": "2026-03-01T10:00:00Z" });
        line.to_string()
    });
    run(&["import", &file, "--store", &store]);
    for (question, said) in [
        ("which food makes her ill?", "She is allergic to peanuts"),
        ("when do we get together?", "The meeting was moved to Thursday"),
        ("who took his bike?", "His bicycle was stolen in Hamburg"),
    ] {
        let query = Query { mode: Mode::Vector, ..Query::new(question) };
        let here = memory.recall(&mei, &query).unwrap();
        assert_eq!(here.hits.first().map(|hit| hit.record.content.as_str()), Some(said), "{question}");
        let there = run(&["recall", question, "--mode", "vector", "--json", "--store", &store]).only_json();
        assert_eq!(there["hits"][0]["content"], said, "{there}");
    }
}
