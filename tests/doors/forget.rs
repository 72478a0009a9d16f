//! Forgetting: what is named is what is erased, and what is not erased is not said to be.

use std::io::{BufRead, BufReader};

use serde_json::json;

use crate::door::{Answer, Door, piped, text};

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
fn a_dry_run_lists_ids_and_its_token_forgets_exactly_that() {
    let door = Door::new();
    for number in 0..25 {
        door.done(&["remember", &format!("note {number} about trains"), "--source", "chat-9"]);
    }
    let first = door.done(&["forget", "--source", "chat-9", "--dry-run"]).stdout;
    assert!(first.starts_with("Would be forgotten in "), "{first}");
    assert!(first.contains("25 memories, 25 versions. Nothing was."), "{first}");
    assert!(first.contains("and 5 more: --json lists all"), "{first}");
    assert!(first.contains("the source could not come back"), "{first}");
    let (code, seen) = door.json(&["forget", "--source", "chat-9", "--dry-run"]);
    assert_eq!((code, text(&seen, "outcome")), (0, "preview"));
    assert_eq!(seen["memory_ids"].as_array().unwrap().len(), 25);
    let token = text(&seen, "token");
    assert!(first.ends_with(&format!("--apply {token}\n")), "{first}");
    assert_eq!(total(&door), 25);
    door.done(&["remember", "note 25 about trains", "--source", "chat-9"]);
    let (code, stale) = door.json(&["forget", "--source", "chat-9", "--apply", token]);
    assert_eq!(
        (code, text(&stale, "outcome"), text(&stale, "reason")),
        (1, "stale_preview", "stale_preview")
    );
    assert_eq!(total(&door), 26);
    // A namespace that was looked at needs no --yes, with the token alone.
    let (_, all) = door.json(&["forget", "--namespace", "--dry-run"]);
    let done = door.done(&["forget", "--namespace", "--apply", text(&all, "token")]).stdout;
    assert!(done.starts_with("Forgotten: 26 memories, 26 versions."), "{done}");
    assert_eq!(total(&door), 0);
    let (code, nothing) = door.json(&["forget", "--namespace", "--dry-run"]);
    assert_eq!((code, text(&nothing, "outcome"), text(&nothing, "reason")), (1, "not_found", "not_found"));
    assert_eq!(door.run(&["forget", "--namespace", "--dry-run", "--apply", token]).code, 2);
}

#[test]
fn a_receipt_is_checked_by_whoever_has_the_key() {
    let door = Door::new();
    door.done(&["remember", "prefers Marzipanforelle", "--source", "chat-1"]);
    let printed = door.done(&["forget", "--source", "chat-1", "--json"]).stdout;
    let file = door.write("receipt.json", &printed);
    let (code, checked) = door.json(&["receipt", "verify", &file]);
    assert_eq!((code, text(&checked, "outcome")), (0, "valid"));
    let key = door.done(&["receipt", "key"]).stdout.trim().to_owned();
    assert_eq!(
        (checked["key"].as_str(), door.json(&["receipt", "key"]).1["key"].as_str()),
        (Some(&*key), Some(&*key))
    );
    let receipt = text(&checked, "receipt_id");
    // Printed anew it is the same, and repeated too.
    let shown = door.done(&["receipt", "show", receipt, "--json"]);
    assert_eq!(
        shown.only_json()["receipt"],
        serde_json::from_str::<serde_json::Value>(&printed).unwrap()["receipt"]
    );
    assert_eq!(door.with_stdin(&["receipt", "verify", "-"], shown.stdout.as_bytes()).code, 0);
    let again = door.done(&["forget", "--source", "chat-1", "--json"]).stdout;
    assert_eq!(door.with_stdin(&["receipt", "verify", "-"], again.as_bytes()).code, 0);
    let told = door.done(&["receipt", "show", receipt]).stdout;
    assert!(told.contains("erased") && told.contains(&format!("signed with {key}")), "{told}");

    // Whoever has no store needs the key alone.
    let elsewhere = Door::new();
    let nowhere = elsewhere.write("unused", "") + "-store";
    let without = ["receipt", "verify", &file, "--key", &key, "--store", &nowhere];
    assert_eq!(elsewhere.run(&without).code, 0);
    assert!(!std::path::Path::new(&nowhere).exists());
    assert_eq!(
        elsewhere.run(&without[..3].iter().chain(&without[5..]).copied().collect::<Vec<_>>()).code,
        78
    );

    let (code, other) = elsewhere.json(&["remember", "makes a store", "--source", "chat-1"]);
    assert_eq!((code, text(&other, "outcome")), (0, "committed"));
    let (code, refused) = elsewhere.json(&["receipt", "verify", &file]);
    assert_eq!((code, text(&refused, "reason")), (1, "receipt_other_key"));
    let altered = door.write("altered.json", printed.replace("\"memories\":1", "\"memories\":2"));
    let (code, refused) = door.json(&["receipt", "verify", &altered]);
    assert_eq!(
        (code, text(&refused, "outcome"), text(&refused, "reason")),
        (1, "invalid", "receipt_altered")
    );
    assert_eq!(door.run(&["receipt", "verify", &file, "--key", "00"]).code, 2);
    assert_eq!(door.run(&["receipt", "verify", "/nowhere/receipt.json"]).code, 78);
    assert_eq!(door.run(&["receipt", "show", "rcp_nothing"]).code, 1);
    assert_eq!(door.run(&["receipt", "show", receipt, "--user", "tom"]).code, 1, "not of another's scope");
}

#[test]
fn jobs_lists_deletions_and_check_is_an_alarm() {
    let door = Door::new();
    assert_eq!(door.done(&["jobs"]).stdout, "Nothing was forgotten yet.\n");
    door.done(&["remember", "prefers Marzipanforelle", "--source", "chat-1"]);
    let (_, done) = door.json(&["forget", "--source", "chat-1"]);
    let receipt = text(&done["receipt"], "receipt_id").to_owned();
    let told = door.done(&["jobs"]).stdout;
    assert!(told.starts_with(&format!("{receipt} · asked for ")), "{told}");
    assert!(told.ends_with("1 memory, 1 version\n1 deletion, 0 open\n"), "{told}");
    let lines = door.done(&["jobs", "--json"]).lines();
    assert_eq!(lines[0]["receipt_id"], receipt.as_str());
    assert_eq!((&lines[0]["overdue"], &lines[0]["left"]), (&json!(false), &json!([])));
    assert_eq!(lines[1], json!({ "total": 1, "open": 0, "overdue": 0 }));
    assert_eq!(door.done(&["jobs", "--open", "--check", "--json"]).lines().len(), 1);
    assert_eq!(door.done(&["jobs", "--user", "tom"]).stdout, "Nothing was forgotten yet.\n");
    assert!(!told.contains("Marzipanforelle") && !told.contains("chat-1"), "{told}");
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
    assert_eq!(
        receipt["counts"],
        json!({ "namespaces": 1, "memories": 0, "records": 0, "candidates": 0, "namespaces_elsewhere": 0 })
    );
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
fn everything_of_a_user_goes_with_all_projects_and_nothing_of_others() {
    let door = Door::new();
    let mei = ["--tenant", "acme", "--user", "mei"];
    let tom = ["--tenant", "acme", "--user", "tom"];
    let run = |who: &[&str], arguments: &[&str]| door.run(&[arguments, who].concat());
    for project in ["website", "garden"] {
        for who in [&mei, &tom] {
            assert_eq!(
                run(who, &["remember", &format!("likes the {project}"), "--project", project]).code,
                0
            );
        }
    }
    let refused = run(&mei, &["forget", "--everything"]);
    assert!(refused.code == 2 && refused.stderr.contains("--yes"), "{}", refused.stderr);
    let seen = run(&mei, &["forget", "--everything", "--dry-run"]).stdout;
    assert!(seen.contains(": 2 memories, 2 versions. Nothing was."), "{seen}");
    let above = run(&mei, &["forget", "--everything", "--in", "tenant", "--yes"]);
    assert!(above.code == 2 && above.stderr.contains("sees everything below it"), "{}", above.stderr);
    let done = run(&mei, &["forget", "--everything", "--yes"]).stdout;
    assert!(done.starts_with("Forgotten: 2 memories, 2 versions."), "{done}");
    assert!(done.contains("looked for 2 versions in the database and the index, found 0"), "{done}");
    let all = ["--tenant", "acme", "--no-user", "--below"];
    let left = run(&all, &["list"]).stdout;
    assert_eq!((left.matches("likes the").count(), left.contains("mei")), (2, false), "{left}");
}

#[test]
fn waiting_ends_when_the_last_copy_is_gone() {
    let door = Door::new();
    door.done(&["remember", "prefers Python"]);
    door.done(&["remember", "prefers tea", "--subject", "drink"]);
    let file = door.home.path().join(".local/share/recordari/recordari.db");
    let reading = rusqlite::Connection::open(file).unwrap();
    reading.execute_batch("BEGIN; SELECT count(*) FROM records").unwrap();
    // Somebody reads an old state of the database, which its journal must keep for them.
    let told = door.run(&["forget", "--subject", "drink"]);
    assert_eq!(told.code, 75, "{}{}", told.stdout, told.stderr);
    let mut child = piped(door.command(&["forget", "--subject", "drink", "--wait"]));
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(told.any(|line| line.contains("waiting for the clean-up: Another process reads the database")));
    drop(reading);
    let waited = Answer::of(child.wait_with_output().unwrap());
    assert_eq!(waited.code, 0, "{}", waited.stdout);
    assert!(waited.stdout.starts_with("Forgotten: 1 memory, 1 version."), "{}", waited.stdout);
    let (code, again) = door.json(&["forget", "--subject", "drink", "--wait"]);
    assert_eq!((code, text(&again, "outcome")), (0, "already_forgotten"));
    assert_eq!(
        (text(&again["receipt"], "state"), text(&again["receipt"], "promise")),
        ("completed", "erased")
    );
    let receipt = door.write("receipt.json", again.to_string());
    door.done(&["receipt", "verify", &receipt]);
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
