//! Import and export: each line has its own outcome, and what goes out comes back in.

use serde_json::{Value, json};

use crate::door::{Door, keys, text};

fn line(content: &str, source: &str, more: Value) -> String {
    let mut line = json!({ "content": content, "source": source, "authority": "user_explicit", "observed_at": "2026-03-01T10:00:00Z" });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    line.to_string()
}

fn total(door: &Door, flags: &[&str]) -> u64 {
    let lines = door.done(&[&["list", "--json"], flags].concat()).lines();
    lines.last().unwrap()["total"].as_u64().unwrap()
}

#[test]
fn a_bad_line_costs_no_good_one_and_is_no_success() {
    let door = Door::new();
    let lines = [
        line("prefers Python", "a", json!({})),
        "{\"content\": \"secret bluebird\", \"source\"".to_owned(),
        line("bluebird", "a", json!({ "colour": "blue" })),
        "{\"content\":\"half an emoji \\ud83d bluebird\",\"source\":\"a\"}".to_owned(),
        line("naive bluebird", "a", json!({ "observed_at": "2026-03-01T10:00" })),
        line("nested bluebird", "a", json!({ "metadata": { "nested": { "a": 1 } } })),
        String::new(),
        line("a\0b", "a", json!({})),
        line("thanks", "a", json!({})),
        line("maybe tea", "a", json!({ "confidence": 0.1 })),
        line("prefers Python", "a", json!({})),
        line("这是中文 👩‍👩‍👧‍👦", "a", json!({})),
        "[]".to_owned(),
        line("not mine bluebird", "a", json!({ "namespace": { "tenant": "other" } })),
        line("last", "a", json!({})),
    ];
    let mut bytes = lines.join("\n").into_bytes();
    bytes.extend(b"\n{\"content\":\"\xff\xfe\"}");
    let file = door.write("lines.jsonl", bytes);
    let (code, done) = door.json(&["import", &file, "--report", "report.jsonl"]);
    assert_eq!((code, text(&done, "outcome"), &done["lines"]), (1, "incomplete", &json!(15)));
    let expected =
        json!({ "committed": 4, "idempotent": 1, "review": 1, "rejected": 1, "conflict": 0, "invalid": 8 });
    assert_eq!(done["counts"], expected, "{done}");
    let report = std::fs::read_to_string(door.home.path().join("report.jsonl")).unwrap();
    assert!(!report.contains("bluebird"), "{report}");
    let reported: Vec<Value> = report.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json!(reported), done["report"]);
    let message = |number: u64| {
        let line = reported.iter().find(|line| line["line"] == number).unwrap();
        line["message"].as_str().unwrap().to_owned()
    };
    assert!(message(3).contains("\"colour\""));
    assert!(message(4).contains("surrogate"));
    assert!(message(5).contains("offset"));
    assert!(message(6).contains("nested"));
    assert!(message(14).contains("namespace"));
    assert_eq!(total(&door, &[]), 4);
    let human = door.run(&["import", &file]);
    assert!(human.stdout.contains("line 3: invalid"), "{}", human.stdout);
    assert!(!human.stdout.contains("bluebird"), "{}", human.stdout);
    door.done(&["verify"]);
}

#[test]
fn a_dry_run_stores_nothing() {
    let door = Door::new();
    let file = door.write("x.jsonl", line("prefers Python", "a", json!({})));
    let (code, done) = door.json(&["import", &file, "--dry-run"]);
    assert_eq!((code, &done["counts"]["committed"], &done["dry_run"]), (0, &json!(1), &json!(true)));
    assert_eq!(total(&door, &[]), 0);
}

#[test]
fn a_wrong_shape_is_an_error_and_a_list_is_none() {
    // B189
    let door = Door::new();
    let items: Vec<Value> = ["one", "two", "three"]
        .iter()
        .map(|text| serde_json::from_str(&line(text, "a", json!({}))).unwrap())
        .collect();
    let both = json!({ "memories": [], "data": items, "version": 3 });
    for text in [both.to_string(), serde_json::to_string_pretty(&both).unwrap()] {
        let (code, done) = door.json(&["import", &door.write("x.json", text)]);
        assert_eq!((code, &done["lines"]), (0, &json!(3)), "{done}");
    }
    assert_eq!(total(&door, &[]), 3);
    for wrong in [
        "",
        "\n\n",
        "[]",
        "[{\"content\":\"x\"}]",
        "3",
        "\"text\"",
        "{\"items\":[]}",
        "{\n\"items\":[]\n}",
        "{\"memories\":3}",
        "{\"memories\":[],\"facts\":[1]}",
    ] {
        let (code, error) = door.json(&["import", &door.write("x.json", wrong)]);
        assert_eq!((code, text(&error, "outcome")), (2, "error"), "{wrong}");
    }
    let (code, error) = door.json(&["import", "nowhere.jsonl"]);
    assert_eq!((code, text(&error["error"], "kind")), (78, "environment"));
    let schema: Value = serde_json::from_str(&door.done(&["import", "--schema"]).stdout).unwrap();
    assert_eq!(schema["required"], json!(["content"]));
}

/// What a record is, without what belongs to the store that holds it.
fn essence(door: &Door, flags: &[&str]) -> Vec<Value> {
    let mut lines = door.done(&[&["list", "--json", "--limit", "1000"], flags].concat()).lines();
    lines.pop();
    for line in &mut lines {
        for name in ["memory_id", "record_id", "recorded_at", "version", "supersedes"] {
            line.as_object_mut().unwrap().remove(name);
        }
        let sources = line["derived_from"].as_array().unwrap().len();
        line["derived_from"] = json!(sources);
    }
    lines.reverse();
    lines
}

#[test]
fn what_is_exported_comes_back_whole_and_only_once() {
    // B183, B185, B187: three namespaces, one subject in two of them; what is not in the file is named.
    let door = Door::new();
    let who = ["--tenant", "acme", "--project", "website"];
    let run = |arguments: &[&str]| door.done(&[arguments, &who].concat());
    let first =
        run(&["remember", "prefers Python", "--subject", "language", "--in", "user", "--json"]).only_json();
    let second = run(&[
        "correct",
        "--memory",
        text(&first, "memory_id"),
        "--expected",
        text(&first, "record_id"),
        "--content",
        "prefers TypeScript",
        "--json",
    ])
    .only_json();
    run(&[
        "remember",
        "ask before changing a public API",
        "--kind",
        "procedural",
        "--form",
        "rule",
        "--in",
        "project",
        "--subject",
        "language",
    ]);
    run(&["remember", "prefers short answers", "--source", "a", "--meta", "tags=[\"x\"]", "--meta", "n=1"]);
    run(&["remember", "prefers short answers", "--source", "b#2", "--speaker", "mei"]);
    run(&[
        "remember",
        "writes TypeScript, briefly",
        "--form",
        "summary",
        "--derived-from",
        text(&second, "record_id"),
    ]);
    run(&["remember", "maybe likes tea", "--confidence", "0.2"]);
    let export = run(&["export"]);
    let lines = export.lines();
    assert_eq!(keys(&lines[0]), ["recordari_export", "records", "excluded"]);
    assert_eq!((&lines[0]["records"], lines.len()), (&json!(4), 5));
    let file = door.write("export.jsonl", &export.stdout);
    for _ in 0..2 {
        let again = run(&["import", &file, "--json"]).only_json();
        assert_eq!(
            again["counts"],
            json!({ "committed": 0, "idempotent": 4, "review": 0, "rejected": 0, "conflict": 0, "invalid": 0 })
        );
    }
    let other = Door::new();
    let imported = other.done(&[&["import", &file, "--json"], &who[..]].concat()).only_json();
    assert_eq!(imported["counts"]["committed"], 4, "{imported}");
    assert_eq!(essence(&other, &who), essence(&door, &who));
    let short =
        door.write("short.jsonl", lines[..3].iter().map(|line| format!("{line}\n")).collect::<String>());
    assert!(Door::new().done(&[&["import", &short], &who[..]].concat()).stderr.contains("cut short"));
}

#[test]
fn a_complete_file_retires_what_its_sources_do_not_say_any_more() {
    // B11
    let door = Door::new();
    let doc = |lines: &[String]| door.write("doc.jsonl", lines.join("\n"));
    let said = |text: &str| line(text, "D", json!({}));
    let valued = |text: &str| line(text, "D", json!({ "subject": "port" }));
    door.done(&[
        "import",
        &doc(&[
            said("alpha holds"),
            said("bravo holds"),
            said("charlie holds"),
            said("delta holds"),
            valued("port 80"),
        ]),
    ]);
    door.done(&["remember", "delta holds", "--source", "elsewhere"]);
    door.done(&["remember", "echo holds", "--source", "elsewhere"]);
    let shorter = doc(&[said("alpha holds"), said("bravo holds"), valued("port 8080")]);
    let (code, done) = door.json(&["import", &shorter, "--complete"]);
    assert_eq!((code, text(&done, "outcome")), (0, "imported"), "{done}");
    assert_eq!(done["retired"].as_array().unwrap().len(), 2, "{done}");
    assert_eq!(done["kept_with_other_sources"].as_array().unwrap().len(), 1, "{done}");
    assert_eq!(done["counts"]["committed"], 1, "{done}");
    let contents = |query: &str| {
        let found = door.json(&["recall", query]).1;
        found["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["content"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(!contents("charlie").contains(&"charlie holds".to_owned()));
    assert!(contents("delta").contains(&"delta holds".to_owned()));
    assert!(contents("port").contains(&"port 8080".to_owned()));
    let (_, again) = door.json(&["import", &shorter, "--complete"]);
    assert_eq!((&again["retired"], &again["counts"]["idempotent"]), (&json!([]), &json!(3)));
    door.done(&["verify"]);
    let broken = doc(&[said("alpha holds"), "{".to_owned()]);
    let (code, refused) = door.json(&["import", &broken, "--complete"]);
    assert_eq!((code, &refused["retired"]), (1, &json!([])), "{refused}");
}

#[test]
fn an_import_counts_what_was_forgotten_and_stays_out() {
    let door = Door::new();
    let trout = line("orders marzipan trout", "chat-1", json!({}));
    let file = door.write("old.jsonl", [trout, line("walks home", "chat-2", json!({}))].join("\n"));
    door.done(&["import", &file]);
    let listed = door.done(&["list", "--json"]).lines();
    let trout = listed.iter().find(|line| line["content"] == "orders marzipan trout").unwrap();
    door.done(&["forget", "--memory", text(trout, "memory_id"), "--reason", "asked for"]);
    // The old file, and one that says it again later and from elsewhere.
    let (code, again) = door.json(&["import", &file]);
    assert_eq!((code, again["blocked_by_tombstone"].as_u64()), (1, Some(1)), "{again}");
    assert_eq!(again["report"][0]["reason"], "memory_deleted", "{again}");
    let now = recordari::Clock::now(&recordari::SystemClock).to_string();
    let newer = line("orders marzipan trout", "chat-9", json!({ "observed_at": now }));
    let newer = door.write("newer.jsonl", newer);
    let told = door.run(&["import", &newer]).stdout;
    assert!(told.contains("blocked_by_tombstone"), "{told}");
    assert!(told.contains("1 line says what was forgotten here, and is kept out"), "{told}");
    assert_eq!(total(&door, &[]), 1);
}
