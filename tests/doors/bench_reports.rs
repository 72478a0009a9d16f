//! What the measurement says of several sizes and of other engines: tables, JSON, plots, and what is wrong
//! with its files.

use serde_json::{Value, json};

use crate::door::{Door, keys};
use crate::workload::workload;
use crate::xml;

const CLASSES: [&str; 4] = ["s10rows", "s01pct", "s10pct", "none"];

/// A report as the command prints it, with times that grow as the square root of the number of records.
fn report(peer: &str, n: u64) -> Value {
    let time = (n as f64).sqrt() / 100.0;
    let of_class = |at: usize| {
        let cpu = json!({ "p50_ms": time * (at + 1) as f64, "p95_ms": time * 10.0, "p99_ms": time * 20.0 });
        json!({ "cpu": cpu, "p50_ms": time, "p99_ms": time, "recall10": 0.99, "scope_rows_median": 10 })
    };
    let classes = CLASSES
        .iter()
        .enumerate()
        .flat_map(|(at, class)| ["hybrid", "vec"].map(|mode| (format!("{class}/{mode}"), of_class(at))));
    let classes: serde_json::Map<String, Value> = classes.collect();
    json!({
        "peer": peer, "n": n, "date": "2026-01-02", "cpus_used": "1",
        "build": { "version": "recordari 0", "timers": { "insert_s": 2 }, "disk_bytes": n * 4000 },
        "query": { "classes": classes, "cold_open_ms": 0, "rss_mb": { "engine_total": 10 } },
        "reopen": { "deleted_rows_returned_after_reopen": 0 },
    })
}

/// Whether two values are the same but for the last digits of numbers, which reading and writing may change.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= 1e-9 * one.abs().max(1.0)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.keys().eq(other.keys()) && one.iter().all(|(key, value)| alike(value, &other[key]))
        }
        _ => one == other,
    }
}

/// The titles of each file in a folder, by its name; all are well-formed.
fn plots(folder: &std::path::Path) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            (entry.file_name().into_string().unwrap(), xml::titles(&text))
        })
        .collect();
    found.sort();
    found
}

#[test]
fn two_sizes_are_measured_tabled_and_drawn() {
    let door = Door::new();
    let (large, small) = (workload(&door, "large", 240), workload(&door, "small", 120));
    let plain = door.done(&["bench", &large, &small, "--reps", "1", "--json", "--plots", "plots"]);
    let found = plain.only_json();
    assert_eq!(keys(&found), ["n", "reports", "scaling"]);
    assert_eq!(found["n"], json!([120, 240]), "by size, whatever order they were named in");
    assert_eq!(found["reports"][1]["n"], 240);
    let p50 =
        |at: usize| found["reports"][at]["query"]["classes"]["none/vec"]["cpu"]["p50_ms"].as_f64().unwrap();
    let figure = |name: &str| {
        let scaling = found["scaling"].as_array().unwrap();
        scaling
            .iter()
            .find(|figure| figure["figure"] == name)
            .unwrap_or_else(|| panic!("{name} in {scaling:?}"))
    };
    let asked = figure("none/vec, CPU p50");
    assert_eq!((&asked["unit"], &asked["values"]), (&"ms".into(), &json!([p50(0), p50(1)])));
    let slope = (p50(1) / p50(0)).ln() / 2f64.ln();
    assert!((asked["exponent"].as_f64().unwrap() - slope).abs() < 1e-9, "{asked} is not {slope}");
    assert!(figure("written")["values"][0].as_f64().unwrap() > 0.0);
    let drawn = plots(&door.home.path().join("plots"));
    let names: Vec<&str> = drawn.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "growth-hybrid.svg",
            "growth-open.svg",
            "growth-rate.svg",
            "growth-space.svg",
            "growth-vec.svg",
            "n120-hybrid.svg",
            "n120-recall.svg",
            "n120-vec.svg",
            "n240-hybrid.svg",
            "n240-recall.svg",
            "n240-vec.svg",
        ]
    );
    // The same again from what was printed, without measuring.
    let printed = door.write("printed.json", &plain.stdout);
    let again = door.done(&["bench", "--from", &printed, "--json"]).only_json();
    assert!(alike(&again, &found), "{again} is not {found}");
    let text = door.done(&["bench", "--from", &printed]).stdout;
    for said in ["120 memories", "240 memories", "exponent", "none/vec, CPU p50, ms", "records/s"] {
        assert!(text.contains(said), "{said} in {text}");
    }
}

#[test]
fn reports_are_shown_beside_others_of_the_same_size() {
    let door = Door::new();
    let ours: Vec<String> =
        [1000, 4000].map(|n| door.write(&format!("{n}.json"), report("recordari", n).to_string())).into();
    let mut fast = report("<fast> & \"small\"", 4000);
    for (_, found) in fast["query"]["classes"].as_object_mut().unwrap() {
        found["cpu"] = json!({ "p50_ms": 0.25, "p99_ms": 0 });
    }
    let (fast, other) = (
        door.write("fast.json", fast.to_string()),
        door.write("other.json", report("other size", 77).to_string()),
    );
    let shown = ["bench", "--from", &ours[1], &ours[0], "--beside", &fast, &other, "--plots", "a"];
    let answer = door.done(&shown);
    assert!(answer.stderr.contains("other.json is left out"), "{}", answer.stderr);
    let lines: Vec<&str> = answer.stdout.lines().collect();
    let at = lines.iter().position(|line| line.contains("beside <fast> & \"small\"")).unwrap();
    // sqrt(4000)/100 = 0.632 against 0.25; no ratio to a time of zero.
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        words(lines[at + 2]),
        ["s10rows/hybrid", "0.632", "0.250", "2.53", "12.649", "0.000", "-", "0.9900", "0.9900"]
    );
    let row = |name: &str| words(lines.iter().find(|line| line.trim_start().starts_with(name)).unwrap());
    assert_eq!(row("s10rows/vec, CPU p50, ms")[4..], ["0.316", "0.632", "0.50"].map(str::to_owned));
    assert_eq!(row("written, records/s")[2..], ["500", "2,000", "1.00"].map(str::to_owned));
    assert_eq!(row("cold open, ms")[3..], ["0", "0", "-"].map(str::to_owned));

    let drawn = plots(&door.home.path().join("a"));
    let titles = |name: &str| &drawn.iter().find(|(file, _)| file == name).unwrap().1;
    for percentile in ["p50", "p95", "p99"] {
        let series = format!("Recordari, {percentile}");
        assert!(titles("n4000-hybrid.svg").contains(&series) && titles("n1000-vec.svg").contains(&series));
    }
    assert!(titles("n4000-hybrid.svg").contains(&"<fast> & \"small\", p50".to_owned()));
    assert!(!titles("n1000-hybrid.svg").iter().any(|title| title.contains("fast")));
    assert!(titles("n4000-hybrid.svg").contains(&"<fast> & \"small\" p50, none: 0.250 ms".to_owned()));
    assert!(titles("n4000-recall.svg").contains(&"Recordari, vectors alone".to_owned()));
    assert!(titles("growth-hybrid.svg").contains(&"everything ~ n^0.50".to_owned()));
    assert!(titles("growth-space.svg").contains(&"on the disk, each record ~ n^0.00".to_owned()));
    assert!(titles("growth-rate.svg").contains(&"written ~ n^1.00".to_owned()));
    assert!(!drawn.iter().any(|(name, _)| name == "growth-open.svg"), "zeros alone make no plot");
    // The same figures are the same bytes.
    door.done(&["bench", "--from", &ours[0], &ours[1], "--beside", &fast, "--plots", "b"]);
    for (name, _) in &drawn {
        let bytes = |folder: &str| std::fs::read(door.home.path().join(folder).join(name)).unwrap();
        assert_eq!(bytes("a"), bytes("b"), "{name}");
    }
}

#[test]
fn one_report_is_printed_as_it_was_and_wrongs_fail_it() {
    let door = Door::new();
    let mut one = report("recordari", 1000);
    let path = door.write("one.json", one.to_string());
    assert_eq!(door.json(&["bench", "--from", &path]), (0, one.clone()));
    assert!(!door.done(&["bench", "--from", &path]).stdout.contains("exponent"));
    one["reopen"]["deleted_rows_returned_after_reopen"] = json!(1);
    door.write("one.json", one.to_string());
    assert_eq!(door.json(&["bench", "--from", &path]), (1, one));
}

#[test]
fn files_that_are_no_reports_are_refused_by_name_with_what_to_do() {
    let door = Door::new();
    let good = door.write("good.json", report("recordari", 1000).to_string());
    let rival = door.write("rival.json", report("rival", 1000).to_string());
    let write = |value: &Value| door.write("bad.json", value.to_string());
    let refused = |arguments: &[&str], code: i32, said: &[&str]| {
        let answer = door.run(&[&["bench"], arguments].concat());
        assert_eq!(answer.code, code, "{arguments:?}: {}", answer.stderr);
        for said in said {
            assert!(answer.stderr.contains(said), "{said} in {}", answer.stderr);
        }
        assert!(answer.stdout.is_empty(), "{}", answer.stdout);
    };
    refused(&[], 2, &["FOLDER"]);
    let hint = "what recordari bench FOLDER --json printed";
    refused(&["--from", "gone.json"], 78, &["gone.json", hint]);
    refused(&["--from", &good, "--beside", "gone.json"], 78, &["gone.json", "--beside takes"]);
    refused(&["--from", "."], 2, &[".: a folder", "before --from"]);
    let bad = door.write("bad.json", "{\"n\": 10,");
    refused(&["--from", &bad], 2, &["bad.json", "not one JSON value", hint]);
    refused(&["--from", &good, "--beside", &bad], 2, &["bad.json", "not one JSON value"]);
    write(&json!({ "sets": [] }));
    refused(&["--from", &bad], 2, &["bad.json", "`n`", hint]);
    write(&json!({ "reports": [] }));
    refused(&["--from", &bad], 2, &["bad.json", "no report"]);
    write(&json!([1, "2", null]));
    refused(&["--from", &bad], 2, &["bad.json", "`n`"]);
    let mut failed = report("rival", 1000);
    failed["error"] = json!("build: exit 9");
    write(&failed);
    refused(&["--from", &good, "--beside", &bad], 2, &["bad.json", "build: exit 9"]);
    let mut without = report("rival", 1000);
    without["query"]["classes"]["none/vec"].as_object_mut().unwrap().remove("cpu");
    write(&without);
    refused(&["--from", &good, "--beside", &bad], 2, &["bad.json", "none/vec", "cpu"]);
    refused(&["--from", &rival], 2, &["rival.json", "after --beside"]);
    refused(&["--from", &good, &good], 2, &["good.json", "one of each size"]);
    refused(&["--from", &good, "--beside", &rival, &rival], 2, &["rival.json", "one of each engine"]);
    refused(&["--from", &good, "--plots", &rival], 78, &["rival.json"]);
    // As JSON, for programs.
    let (code, error) = door.json(&["bench", "--from", &bad]);
    assert_eq!((code, &error["error"]["kind"]), (2, &"caller".into()), "{error}");
}
