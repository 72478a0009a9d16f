//! What the command alone reads: lines to import, conditions, settings, printed receipts and reports. Each input is a
//! process, so there are few.

use serde_json::{Value, json};

use crate::Target;
use crate::door::{Answer, Door};
use crate::numbers::Numbers;

/// The exit codes that are documented.
const CODES: [i32; 6] = [0, 1, 2, 65, 75, 78];
/// No argument of a process is longer on Linux.
const ARGUMENT_MAX: usize = 100_000;

pub fn targets() -> Vec<Target> {
    let lines = include_bytes!("../../fixtures/memories.en.jsonl").to_vec();
    let memory = json!({
        "content": "prefers Python", "source": "a", "authority": "user_explicit", "observed_at": "2026-03-01T10:00:00Z",
    });
    let document = json!({ "memories": [memory] }).to_string();
    let export = [&br#"{"recordari_export":1,"records":12,"excluded":[]}"#[..], &lines].join(&b'\n');
    let trees: Vec<Vec<u8>> = [
        r#"{"any":[{"kind":"semantic"},{"not":{"metadata":{"key":"n","is":"at_least","value":5}}}]}"#,
        r#"{"all":[{"subject_prefix":"a"},{"source":"b"},{"observed_from":"2026-03-01T10:00:00Z"}],"contains":"x"}"#,
        r#"{"metadata":{"key":"tags","is":"holds","value":"a"}}"#,
    ]
    .map(|tree| tree.as_bytes().to_vec())
    .into();
    let conditions: Vec<Vec<u8>> =
        ["n>=5", "tags~a", "team!=\"db\"", "x=null", "tags=[]"].map(|text| text.as_bytes().to_vec()).into();
    let settings = b"tenant = \"acme\"\nuser = \"mei\"\nclearance = \"internal\"\n".to_vec();
    vec![
        target("import", vec![lines, document.into_bytes(), export], |door, input, numbers| {
            let file = door.write("lines", input);
            let dry: &[&str] = if numbers.below(4) > 0 { &["--dry-run"] } else { &[] };
            door.run(&[&["import", &file, "--json"], dry].concat())
        }),
        target("where", trees, |door, input, _| door.run(&["list", "--json", "--where", &argument(input)])),
        target("condition", conditions, |door, input, _| {
            door.run(&["list", "--json", &format!("--meta={}", argument(input))])
        }),
        target("settings", vec![settings], |door, input, _| {
            let folder = door.home.path().join("store");
            let store = ["--store", folder.to_str().unwrap()];
            if !folder.exists() {
                door.done(&[&["remember", "prefers Python", "--source", "chat"][..], &store].concat());
            }
            std::fs::write(folder.join("config.toml"), input).unwrap();
            door.run(&[&["list", "--json"][..], &store].concat())
        }),
        target("report", vec![report().to_string().into_bytes()], |door, input, _| {
            let file = door.write("report.json", input);
            door.run(&["bench", "--from", &file, "--json"])
        }),
        printed_receipt(),
    ]
}

fn target(
    name: &'static str,
    seeds: Vec<Vec<u8>>,
    mut run: impl FnMut(&Door, &[u8], &mut Numbers) -> Answer + Send + 'static,
) -> Target {
    let door = Door::new();
    door.done(&["remember", "prefers Python in code examples", "--source", "chat"]);
    Target::new(name, 4, seeds, move |input, numbers| {
        let answer = run(&door, input, numbers);
        assert!(CODES.contains(&answer.code), "exit code {}: {}", answer.code, answer.stderr);
        for line in answer.stdout.lines() {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "no JSON: {line}");
        }
        for text in [&answer.stdout, &answer.stderr] {
            let acts = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!text.contains(acts), "a terminal would act on it: {text:?}");
        }
        answer.code == 0
    })
}

fn argument(input: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(input).replace('\0', "0");
    let end = (0..=ARGUMENT_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or(0));
    text
}

/// Only what was printed is valid, to the last byte but the end of the line.
fn printed_receipt() -> Target {
    let door = Door::new();
    door.done(&["remember", "orders dumplings", "--subject", "lunch", "--source", "chat"]);
    let printed = door.done(&["forget", "--subject", "lunch", "--json"]).stdout.into_bytes();
    let key = door.done(&["receipt", "key", "--json"]).only_json()["key"].as_str().unwrap().to_owned();
    let sound = printed.clone();
    target("printed-receipt", vec![printed], move |door, input, _| {
        let file = door.write("receipt.json", input);
        let answer = door.run(&["receipt", "verify", &file, "--key", &key, "--json"]);
        let is_sound = input.trim_ascii_end() == sound.trim_ascii_end();
        assert!(
            answer.code != 0 || is_sound || alone(&sound) == input.trim_ascii_end(),
            "a changed receipt is valid"
        );
        answer
    })
}

/// The receipt without the answer that it came in.
fn alone(printed: &[u8]) -> Vec<u8> {
    let answer: Value = serde_json::from_slice(printed).unwrap();
    answer["receipt"].to_string().into_bytes()
}

fn report() -> Value {
    let found = json!({
        "cpu": { "p50_ms": 0.5, "p95_ms": 5.0, "p99_ms": 9.0 }, "p50_ms": 0.5, "p99_ms": 9.0, "recall10": 0.99,
        "scope_rows_median": 10,
    });
    json!({
        "peer": "recordari", "n": 1000, "date": "2026-01-02", "cpus_used": "1",
        "build": { "version": "recordari 0", "timers": { "insert_s": 2 }, "disk_bytes": 4_000_000 },
        "query": {
            "classes": { "none/vec": found, "none/hybrid": found }, "cold_open_ms": 0,
            "rss_mb": { "engine_total": 10 },
        },
        "reopen": { "deleted_rows_returned_after_reopen": 0 },
    })
}
