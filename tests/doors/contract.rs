//! The JSON of each command and its exit codes: names, nesting, outcomes.

use serde_json::json;

use crate::door::{Answer, Door, keys, text};

#[test]
fn remember_answers_its_five_fields_and_its_outcomes() {
    let door = Door::new();
    let say = |more: &[&str]| door.json(&[&["remember"], more].concat());
    let (code, first) =
        say(&["--subject", "language", "--content", "prefers Python", "--source", "chat-7#12"]);
    assert_eq!(code, 0, "{first}");
    assert_eq!(keys(&first), ["outcome", "reason", "memory_id", "record_id", "version"]);
    assert_eq!(
        (text(&first, "outcome"), &first["reason"], &first["version"]),
        ("committed", &json!(null), &json!(1))
    );
    let (code, again) = say(&["--subject", "language", "prefers Python", "--source", "chat-7#12"]);
    assert_eq!((code, text(&again, "outcome")), (0, "idempotent"));
    assert_eq!(again["record_id"], first["record_id"]);
    let (code, more) = say(&["--subject", "language", "prefers Python", "--source", "chat-8"]);
    assert_eq!((code, text(&more, "outcome"), text(&more, "reason")), (0, "idempotent", "duplicate_memory"));
    let (code, conflict) = say(&["--subject", "language", "prefers Rust"]);
    assert_eq!((code, text(&conflict, "outcome")), (1, "conflict"));
    assert_eq!(text(&conflict, "reason"), "conflict_requires_correction");
    assert_eq!(conflict["current"]["record_id"], first["record_id"]);
    let (code, rejected) = say(&["thanks!"]);
    assert_eq!(
        (code, text(&rejected, "outcome"), text(&rejected, "reason")),
        (1, "rejected", "no_reuse_value")
    );
    assert_eq!(rejected["memory_id"], json!(null));
    let (code, review) = say(&["the build takes 9 minutes", "--authority", "tool_observed"]);
    assert_eq!(
        (code, text(&review, "outcome"), text(&review, "reason")),
        (0, "review", "needs_confirmation")
    );
    let waiting = door.done(&["review", "list", "--json"]).only_json();
    assert_eq!(waiting["candidate_id"], review["candidate_id"]);
    assert_eq!(text(&waiting, "content"), "the build takes 9 minutes");
    let (code, dry) = say(&["likes tea", "--dry-run"]);
    assert_eq!((code, text(&dry, "outcome"), &dry["record_id"]), (0, "committed", &json!(null)));
    assert_eq!(door.done(&["list", "--json"]).lines().last().unwrap()["total"], 1);
}

#[test]
fn a_key_makes_a_request_repeatable() {
    let door = Door::new();
    let (_, first) = door.json(&[
        "remember",
        "likes tea",
        "--observed-at",
        "2026-03-01T10:00:00Z",
        "--idempotency-key",
        "k",
    ]);
    let (_, again) = door.json(&[
        "remember",
        "likes tea",
        "--observed-at",
        "2026-03-01T10:00:00Z",
        "--idempotency-key",
        "k",
    ]);
    assert_eq!(text(&again, "outcome"), "idempotent");
    for id in ["memory_id", "record_id", "version"] {
        assert_eq!(first[id], again[id], "{id}");
    }
    let (code, other) = door.json(&["remember", "likes milk", "--idempotency-key", "k"]);
    assert_eq!((code, text(&other, "reason")), (1, "idempotency_conflict"));
}

#[test]
fn recall_answers_hits_whose_parts_add_up() {
    let door = Door::new();
    let (code, none) = door.json(&["recall", "python"]);
    assert_eq!((code, text(&none, "outcome"), text(&none, "reason")), (0, "empty", "no_memories"));
    door.done(&["remember", "prefers Python in examples", "--subject", "language", "--meta", "team=db"]);
    let (code, found) = door.json(&["recall", "python examples"]);
    assert_eq!((code, text(&found, "outcome"), &found["reason"]), (0, "found", &json!(null)));
    assert_eq!(
        keys(&found),
        ["outcome", "reason", "hits", "standing", "left_out", "projection", "trace_id", "plan"]
    );
    assert_eq!(found["standing"], json!([]));
    let hit = &found["hits"][0];
    for name in [
        "memory_id",
        "record_id",
        "version",
        "namespace",
        "kind",
        "confidence",
        "subject",
        "content",
        "source",
        "authority",
        "observed_at",
        "score",
        "parts",
        "group",
    ] {
        assert!(hit.get(name).is_some(), "{name} is missing in {hit}");
    }
    let sum: f64 = hit["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| {
            assert_eq!(keys(part), ["name", "value", "weight", "contribution"]);
            part["contribution"].as_f64().unwrap()
        })
        .sum();
    assert_eq!(sum, hit["score"].as_f64().unwrap());
    let (_, trace) = door.json(&["trace", "show", text(&found, "trace_id")]);
    assert_eq!(trace["trace"]["body"]["hits"][0]["record_id"], hit["record_id"]);
    assert!(!trace.to_string().contains("Python"), "{trace}");
    let (code, why) = door.json(&["why", text(hit, "record_id"), "python examples"]);
    assert_eq!((code, text(&why, "outcome"), &why["position"]), (0, "returned", &json!(1)));
    let (code, why) = door.json(&["why", text(hit, "record_id"), "python examples", "--meta", "team=web"]);
    assert_eq!((code, text(&why, "outcome"), text(&why, "reason")), (0, "left_out", "outside_filter"));
    assert_eq!(door.run(&["recall", "python", "--quiet"]).code, 0);
    let nothing = door.run(&["recall", "python", "--quiet", "--kind", "episodic"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (1, ""));
    let (_, strict) = door.json(&["recall", "python", "--min-score", "0.99"]);
    assert_eq!(text(&strict, "outcome"), "empty");
    assert_eq!(door.run(&["recall", "python", "--page", "2"]).code, 2);
}

#[test]
fn correct_needs_the_version_that_is_in_force() {
    let door = Door::new();
    let (_, first) = door.json(&["remember", "prefers Python", "--subject", "language"]);
    let (memory, record) = (text(&first, "memory_id"), text(&first, "record_id"));
    let correct = |content: &str| {
        door.json(&["correct", "--memory", memory, "--expected", record, "--content", content])
    };
    let (code, second) = correct("prefers TypeScript");
    assert_eq!((code, text(&second, "outcome"), &second["version"]), (0, "corrected", &json!(2)));
    let (code, stale) = correct("prefers Rust");
    assert_eq!((code, text(&stale, "outcome")), (1, "stale_expected_record"));
    assert_eq!(stale["record_id"], second["record_id"]);
    let (code, none) = door.json(&["correct", "--memory", "mem_x", "--expected", record, "--content", "x"]);
    assert_eq!((code, text(&none, "outcome")), (1, "not_found"));
    let history = door.done(&["history", memory, "--json"]).lines();
    assert_eq!(history.len(), 2);
    assert_eq!((text(&history[0], "state"), text(&history[1], "state")), ("superseded", "current"));
    let (code, past) = door.json(&["history", memory, "--known-at", text(&history[0], "recorded_at")]);
    assert_eq!((code, &past["record"]["content"]), (0, &json!("prefers Python")));
    let (code, before) = door.json(&["history", memory, "--valid-at", "2020-01-01T00:00:00Z"]);
    assert_eq!((code, text(&before, "outcome")), (1, "not_found"));
}

#[test]
fn forget_hands_out_one_receipt() {
    let door = Door::new();
    let (_, first) = door.json(&["remember", "prefers Python", "--subject", "language"]);
    let request = ["forget", "--subject", "language", "--reason", "asked for", "--request-id", "r1"];
    let (code, done) = door.json(&request);
    assert_eq!((code, text(&done, "outcome"), &done["reason"]), (0, "forgotten", &json!(null)));
    assert_eq!(done["receipt"]["promise"], "erased");
    let (code, again) = door.json(&request);
    assert_eq!((code, text(&again, "outcome")), (0, "already_forgotten"));
    assert_eq!(again["receipt"]["receipt_id"], done["receipt"]["receipt_id"]);
    let (code, other) = door.json(&["forget", "--subject", "else", "--request-id", "r1"]);
    assert_eq!((code, text(&other, "outcome")), (1, "request_id_conflict"));
    let (code, none) = door.json(&["forget", "--memory", "mem_x"]);
    assert_eq!((code, text(&none, "outcome"), &none["receipt"]), (1, "not_found", &json!(null)));
    let (code, gone) = door.json(&["get", text(&first, "memory_id")]);
    assert_eq!((code, text(&gone, "outcome")), (1, "forgotten"));
    assert_eq!(gone["receipt_id"], done["receipt"]["receipt_id"]);
    assert_eq!(door.run(&["forget", "--subject", "a", "--source", "b"]).code, 2);
    assert_eq!(door.run(&["forget"]).code, 2);
    door.done(&["remember", "a thing"]);
    let (code, all) = door.json(&["forget", "--namespace", "--reason", "moving out"]);
    assert_eq!((code, text(&all, "outcome")), (0, "forgotten"));
    assert_eq!(door.json(&["recall", "thing"]).1["reason"], "no_memories");
}

#[test]
fn an_id_of_somebody_else_looks_unknown() {
    let door = Door::new();
    let (_, first) = door.json(&["remember", "prefers Python"]);
    let theirs = text(&first, "memory_id");
    for id in [theirs, "mem_x", "%", "_______", "ab%"] {
        let (code, answer) = door.json(&["get", id, "--tenant", "other"]);
        assert_eq!((code, answer), (1, json!({ "outcome": "not_found", "reason": "not_found" })), "{id}");
        assert_eq!(door.json(&["history", id, "--tenant", "other"]).0, 1);
        assert_eq!(door.json(&["forget", "--memory", id, "--tenant", "other"]).0, 1);
    }
}

#[test]
fn list_pages_filters_and_counts() {
    let door = Door::new();
    for (n, tags) in [("1", "[\"wanted\"]"), ("2", "[]"), ("3", "[\"other\",\"wanted\"]"), ("4", "null")] {
        let (n, tags) = (format!("n={n}"), format!("tags={tags}"));
        door.done(&["remember", &format!("thing {n}"), "--source", "doc", "--meta", &n, "--meta", &tags]);
    }
    door.done(&["remember", "100% a_b", "--kind", "episodic", "--expires-at", "2999-01-01T00:00:00Z"]);
    let total = |flags: &[&str]| {
        let lines = door.done(&[&["list", "--json"], flags].concat()).lines();
        lines.last().unwrap()["total"].as_u64().unwrap()
    };
    let cases: &[(&[&str], u64)] = &[
        (&[], 5),
        (&["--source", "doc"], 4),
        (&["--meta", "tags~wanted"], 2),
        (&["--meta", "tags=[]", "--source", "doc"], 2),
        (&["--meta", "n>=2", "--meta", "n<4"], 2),
        (&["--meta", "n!=2", "--source", "doc"], 3),
        (&["--meta", "n='; DROP TABLE memories; --"], 0),
        (&["--kind", "episodic"], 1),
        (&["--contains", "a_b"], 1),
        (&["--contains", "100%"], 1),
        (&["--expiring-before", "3000-01-01T00:00:00Z"], 1),
        (&["--where", r#"{"any":[{"kind":"episodic"},{"metadata":{"key":"n","value":1}}]}"#], 2),
        (&["--where", r#"{"not":{"source":"doc"}}"#], 1),
        (&["--state", "superseded"], 0),
    ];
    for (flags, expected) in cases {
        assert_eq!(total(flags), *expected, "{flags:?}");
    }
    let (mut cursor, mut seen) = (None::<String>, Vec::new());
    loop {
        let mut flags = vec!["list", "--json", "--limit", "2"];
        flags.extend(cursor.iter().flat_map(|cursor| ["--cursor", cursor.as_str()]));
        let mut lines = door.done(&flags).lines();
        let last = lines.pop().unwrap();
        assert_eq!(keys(&last), ["total", "cursor", "damaged", "unreadable"]);
        seen.extend(lines.iter().map(|line| text(line, "record_id").to_owned()));
        match last["cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen.len(), 5);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5);
    assert!(door.run(&["list", "--where", r#"{"$ne":null}"#]).stderr.contains("$ne"));
}

#[test]
fn a_filter_that_nothing_meets_is_not_an_empty_scope() {
    let door = Door::new();
    let narrowed = ["list", "--state", "superseded"];
    assert!(door.done(&narrowed).stdout.contains("no_memories"));
    door.done(&["remember", "prefers Python"]);
    for flags in [&narrowed[..], &["list", "--kind", "episodic"]] {
        let answer = door.done(flags).stdout;
        assert!(answer.starts_with("Nothing meets the filter."), "{answer}");
    }
}

#[test]
fn a_time_before_the_first_version_is_not_an_unknown_memory() {
    let door = Door::new();
    let (_, first) = door.json(&["remember", "prefers Python"]);
    let at = |id: &str, flag: &str| door.run(&["history", id, flag, "2020-01-01T00:00:00Z"]);
    for flag in ["--valid-at", "--known-at"] {
        let before = at(text(&first, "memory_id"), flag);
        assert_eq!(
            (before.code, before.stdout.as_str()),
            (1, "No version of this memory held at that time.\n")
        );
        assert!(at("mem_x", flag).stdout.contains("not_found"));
    }
}

#[test]
fn keeping_house_answers_in_json_too() {
    let door = Door::new();
    door.done(&["remember", "prefers Python"]);
    assert_eq!(door.json(&["rebuild"]).1["outcome"], "rebuilt");
    assert_eq!(door.json(&["verify"]).1, json!({ "outcome": "sound", "reason": null, "findings": [] }));
    assert_eq!(door.json(&["stats"]).1["namespaces"][0]["memories"], 1);
    assert_eq!(door.json(&["model", "show"]).1["model"], json!(null));
    assert!(door.done(&["model", "list"]).stdout.contains("multilingual-e5-small"));
    assert_eq!(door.json(&["reason", "expired"]).1["code"], "expired");
    assert!(door.done(&["reason", "--json"]).lines().len() > 40);
    assert_eq!(door.json(&["reason", "nonsense"]).0, 2);
    assert!(door.done(&["completions", "bash"]).stdout.contains("recordari"));
    assert_eq!(door.json(&["reembed"]).0, 78);
    let policy = door.done(&["policy", "show"]).stdout;
    assert!(policy.contains("minimum_confidence = 0.75"));
    let file = door.write("policy.toml", policy.replace("0.75", "7.5"));
    assert_eq!(door.json(&["policy", "check", &file]).1["outcome"], "invalid");
    let (code, refused) = door.json(&["remember", "prefers tea", "--policy", &file]);
    assert_eq!((code, text(&refused["error"], "kind")), (78, "environment"));
    assert_eq!(door.run(&["recall", "python", "--policy", &file, "--quiet"]).code, 0);
}

#[test]
fn what_was_forgotten_can_be_said_anew_at_the_same_keyboard() {
    let door = Door::new();
    let say = ["remember", "prefers Python", "--subject", "language", "--json"];
    assert_eq!(text(&door.run(&say).only_json(), "outcome"), "committed");
    door.done(&["forget", "--subject", "language", "--reason", "asked for"]);
    // On purpose: the same words alone are not enough.
    assert_eq!(text(&door.run(&say).only_json(), "reason"), "blocked_by_tombstone");
    let say = [&say[..], &["--renew-consent"]].concat();
    let anew = door.run(&say).only_json();
    assert_eq!((text(&anew, "outcome"), &anew["version"]), ("committed", &1.into()), "{anew}");
    let old = [&say[..], &["--source", "chat-7"]].concat();
    door.done(&["forget", "--subject", "language", "--reason", "asked for"]);
    assert_eq!(text(&door.run(&old).only_json(), "outcome"), "committed");
    door.done(&["forget", "--subject", "language", "--reason", "asked for"]);
    assert_eq!(text(&door.run(&old).only_json(), "reason"), "memory_deleted");
}

#[test]
fn a_key_makes_the_same_words_at_a_later_moment_the_same_request() {
    let door = Door::new();
    let say = |words: &str| door.run(&["remember", words, "--idempotency-key", "k-1", "--json"]).only_json();
    let first = say("likes tea");
    let again = say("likes tea");
    assert_eq!(
        (text(&again, "outcome"), &again["record_id"]),
        ("idempotent", &first["record_id"]),
        "{again}"
    );
    assert_eq!(text(&say("likes coffee"), "reason"), "idempotency_conflict");
}

#[test]
fn the_sample_query_finds_its_memory_in_both_languages() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let query = readme.split("recordari recall \"").nth(1).unwrap().split('"').next().unwrap();
    for file in ["memories.en.jsonl", "memories.zh.jsonl"] {
        let door = Door::new();
        let with_model = |arguments: &[&str]| {
            let mut command = door.command(arguments);
            Answer::of(command.env_remove("RECORDARI_MODEL").output().unwrap())
        };
        with_model(&["import", root.join(file).to_str().unwrap()]);
        let answer = with_model(&["recall", query, "--json"]).only_json();
        assert_eq!(answer["hits"][0]["subject"], "release_day", "{answer}");
    }
}

#[test]
fn the_sample_memories_are_all_taken_in_both_languages() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for (file, query) in
        [("memories.en.jsonl", "dashboard for the board"), ("memories.zh.jsonl", "董事会 仪表盘")]
    {
        let door = Door::new();
        let file = root.join(file).display().to_string();
        let report = door.run(&["import", &file, "--json"]);
        assert!(report.code == 0 && report.stdout.contains("\"committed\":12"), "{}", report.stdout);
        let answer = door.run(&["recall", query, "--json"]).only_json();
        assert_eq!(answer["hits"][0]["source"]["id"], "meeting-04", "{answer}");
    }
}
