//! Forgetting: what is named is what is erased, and what is not erased is not said to be.

use serde_json::json;

use crate::door::{Door, text};

fn total(door: &Door) -> u64 {
    door.done(&["list", "--json"]).lines().pop().unwrap()["total"].as_u64().unwrap()
}

#[test]
fn a_place_in_a_source_is_refused_and_the_source_named() {
    let door = Door::new();
    door.done(&["remember", "prefers Python", "--source", "chat-9#12"]);
    let refused = door.run(&["forget", "--source", "chat-9#12"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains("as a whole"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--source chat-9,"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--memory"), "{}", refused.stderr);
    for command in [&["list"][..], &["recall", "python"]] {
        let refused = door.run(&[command, &["--source", "chat-9#12"]].concat());
        assert_eq!(refused.code, 2, "{}", refused.stdout);
        assert!(refused.stderr.contains("--source chat-9 "), "{}", refused.stderr);
    }
    assert_eq!(total(&door), 1);
    door.done(&["forget", "--source", "chat-9"]);
    assert_eq!(total(&door), 0);
}

#[test]
fn a_source_whose_id_holds_a_hash_can_be_forgotten() {
    let door = Door::new();
    let line = json!({ "content": "prefers Python", "source": { "id": "page#intro" }, "authority": "user_explicit",
        "observed_at": "2026-03-01T10:00:00Z" });
    door.done(&["import", &door.write("page.jsonl", line.to_string())]);
    assert_eq!(door.json(&["forget", "--source", "page#intro"]).1["receipt"]["counts"]["memories"], 1);
    assert_eq!(total(&door), 0);
}

#[test]
fn a_source_on_which_nothing_rests_is_blocked_and_nothing_is_said_to_be_erased() {
    let door = Door::new();
    let first = door.done(&["forget", "--source", "chat-7"]).stdout;
    assert!(
        first.starts_with("Nothing rested on this source; it may not come back from now on.\n"),
        "{first}"
    );
    let again = door.done(&["forget", "--source", "chat-7"]).stdout;
    assert!(again.starts_with("Nothing rested on this source"), "{again}");
    assert!(!format!("{first}{again}").contains("erased"), "{first}{again}");
    let (code, done) = door.json(&["forget", "--source", "chat-8"]);
    assert_eq!((code, text(&done, "outcome")), (0, "forgotten"));
    let receipt = &done["receipt"];
    assert_eq!(receipt["counts"], json!({ "memories": 0, "records": 0, "candidates": 0 }));
    assert_eq!(receipt["source_blocked"], true);
    let (_, refused) = door.json(&["remember", "prefers Python", "--source", "chat-8#1"]);
    assert_eq!(text(&refused, "reason"), "source_withdrawn");
}

#[test]
fn what_is_typed_at_the_command_line_cannot_be_blocked() {
    let door = Door::new();
    for source in ["cli", "cli#2026-03-01T10:00:00Z"] {
        let refused = door.run(&["forget", "--source", source]);
        assert_eq!(refused.code, 2, "{}", refused.stdout);
        for way in ["--memory", "--subject", "--namespace"] {
            assert!(refused.stderr.contains(way), "{}", refused.stderr);
        }
    }
    door.done(&["remember", "prefers Python"]);
}

#[test]
fn a_script_must_say_yes_to_forget_a_whole_namespace() {
    let door = Door::new();
    door.done(&["remember", "prefers Python"]);
    let refused = door.run(&["forget", "--namespace"]);
    assert!(refused.code == 2 && refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_eq!(total(&door), 1);
    door.done(&["forget", "--namespace", "--yes"]);
    assert_eq!(total(&door), 0);
    door.done(&["remember", "prefers tea"]);
    assert_eq!(text(&door.json(&["forget", "--namespace"]).1, "outcome"), "forgotten");
}

#[test]
fn the_id_of_a_version_names_its_memory() {
    let door = Door::new();
    let (_, first) = door.json(&["remember", "prefers Python"]);
    let (memory, record) = (text(&first, "memory_id"), text(&first, "record_id"));
    let correct = ["correct", "--memory", memory, "--expected", record, "--content", "prefers Rust"];
    door.done(&correct);
    let (code, done) = door.json(&["forget", "--memory", record]);
    assert_eq!((code, &done["receipt"]["memory_ids"]), (0, &json!([memory])));
    assert_eq!(done["receipt"]["counts"]["records"], 2);
    let (code, again) = door.json(&["forget", "--memory", record]);
    assert_eq!((code, text(&again, "outcome")), (0, "already_forgotten"));
    let (_, other) = door.json(&["remember", "prefers tea"]);
    assert_eq!(door.json(&["forget", "--memory", text(&other, "record_id"), "--tenant", "other"]).0, 1);
    assert_eq!(total(&door), 1);
}
