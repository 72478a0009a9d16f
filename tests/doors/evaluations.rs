//! `eval`: tables, JSON, Markdown and pictures of a small set, and the comparison with an earlier run.

use serde_json::{Value, json};

use crate::door::Door;
use crate::xml;

/// A set of ten memories of one person, half of which a query names.
fn set(door: &Door) -> &'static str {
    let place = json!({ "tenant": "t", "user": "ann", "project": "home" });
    let folder = door.home.path().join("small|set");
    std::fs::create_dir(&folder).unwrap();
    let (mut corpus, mut queries) = (String::new(), String::new());
    let mut judgements = "query\tmemory\trelevance\n".to_owned();
    for (number, thing) in ["tea", "coffee", "cocoa", "water", "mate"].into_iter().enumerate() {
        let texts = [format!("drinks {thing} at breakfast"), format!("the weather was fine on day {number}")];
        for (at, text) in texts.into_iter().enumerate() {
            let line = json!({ "id": format!("m{number}-{at}"), "namespace": place, "text": text,
                "timestamp": "2026-01-02T08:00:00Z", "speaker": "Ann", "session": format!("s{number}"), "seq": at,
                "source": "diary" });
            corpus += &format!("{line}\n");
        }
        let query = json!({ "id": format!("q{number}"), "namespace": place, "text": format!("who drinks {thing}?"),
            "category": if number < 2 { "hot" } else { "other" }, "timestamp": null });
        queries += &format!("{query}\n");
        judgements += &format!("q{number}\tm{number}-0\t1\n");
    }
    for (name, text) in [("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels.tsv", judgements)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    "small|set"
}

#[test]
fn an_evaluation_is_a_table_json_markdown_and_pictures() {
    let door = Door::new();
    let set = set(&door);
    let told = door.done(&["eval", set, "--mode", "keyword", "--markdown", "eval.md", "--plots", "plots"]);
    assert!(told.stdout.contains("R@10") && told.stdout.contains("keyword   1.000"), "{}", told.stdout);
    assert!(told.stderr.contains("3 pictures"), "{}", told.stderr);
    let markdown = std::fs::read_to_string(door.home.path().join("eval.md")).unwrap();
    assert!(markdown.contains("| small\\|set | keyword | 5 | 1.000 |"), "{markdown}");
    assert!(markdown.contains("| hot | 2 | 1.000 |"), "{markdown}");
    for name in ["recall-5", "recall-10", "ndcg-10"] {
        let file = door.home.path().join(format!("plots/eval-{name}.svg"));
        let titles = xml::titles(&std::fs::read_to_string(file).unwrap());
        assert!(titles.iter().any(|title| title.contains("small|set, keyword: 1.000")), "{titles:?}");
    }
    let (code, report) = door.json(&["eval", set, "--mode", "keyword"]);
    let mode = &report["sets"][0]["modes"]["keyword"];
    assert_eq!((code, &mode["recall@5"], &mode["all@10"]), (0, &json!(1.0), &json!(1.0)), "{report}");
    assert_eq!(mode["interval"]["recall@10"], json!([1.0, 1.0]));
    for wrong in ["outside_namespace", "forgotten", "expired", "secrets"] {
        assert_eq!(mode[wrong], 0);
    }
}

#[test]
fn weights_are_tuned_checked_and_written_as_a_policy() {
    let door = Door::new();
    let set = set(&door);
    let tune = ["eval", "tune", set, "--check", set, "--figure", "mrr@10", "--write", "tuned.toml"];
    let told = door.done(&tune);
    assert!(
        told.stdout.contains("tuned on the others") && told.stdout.contains("only checked"),
        "{}",
        told.stdout
    );
    let policy = std::fs::read_to_string(door.home.path().join("tuned.toml")).unwrap();
    for part in
        ["chosen by `recordari eval tune`", "small|set", "5 queries", "[recall.weights]", "keyword = 0."]
    {
        assert!(policy.contains(part), "{part} is missing in {policy}");
    }
    // It is a policy.
    door.done(&["eval", set, "--mode", "keyword", "--policy", "tuned.toml"]);
    let (code, tuned) = door.json(&["eval", "tune", set]);
    assert_eq!((code, &tuned["figure"], &tuned["sets"][0]["queries"]), (0, &json!("recall@10"), &json!(5)));
    let sum: f64 =
        tuned["weights"].as_object().unwrap().values().map(|weight| weight.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{tuned}");
    for wrong in [
        &["eval", "tune", set, "--figure", "recall@7"][..],
        &["eval", "tune"],
        &["eval", "tune", "nowhere", "--write", "new.toml"],
        &["eval", "tune", set, "--write", "nowhere/new.toml"],
    ] {
        let refused = door.run(wrong);
        assert!(refused.code != 0 && !refused.stderr.is_empty(), "{wrong:?}");
    }
    assert!(!door.home.path().join("new.toml").exists());
}

#[test]
fn a_run_is_compared_with_a_saved_report() {
    let door = Door::new();
    let set = set(&door);
    let saved = door.done(&["eval", set, "--mode", "keyword", "--json"]).stdout;
    std::fs::write(door.home.path().join("before.json"), &saved).unwrap();
    let same = door.done(&["eval", set, "--mode", "keyword", "--against", "before.json"]);
    assert!(same.stdout.contains("recall@10 +0.000 (+0.000 to +0.000)"), "{}", same.stdout);
    // One in which nothing was found.
    let mut worse: Value = serde_json::from_str(&saved).unwrap();
    let each = worse["sets"][0]["modes"]["keyword"]["each"].as_object_mut().unwrap();
    each.values_mut().for_each(|values| *values = json!([0, 0, 0, 0, 0, 0]));
    std::fs::write(door.home.path().join("worse.json"), worse.to_string()).unwrap();
    let (_, better) = door.json(&["eval", set, "--mode", "keyword", "--against", "worse.json"]);
    let figures = &better["since"][0]["figures"];
    assert_eq!(figures["recall@10"], json!({ "mean": 1.0, "low": 1.0, "high": 1.0 }), "{better}");
    for (name, text) in [("none.json", None), ("torn.json", Some("{")), ("other.json", Some("{}"))] {
        if let Some(text) = text {
            std::fs::write(door.home.path().join(name), text).unwrap();
        }
        let refused = door.run(&["eval", set, "--mode", "keyword", "--against", name]);
        assert!(refused.code != 0 && refused.code != 1, "{name}: {}", refused.stderr);
    }
}

const CUTS: [&str; 6] =
    ["memorybank-en", "memorybank-zh", "madial-en", "madial-zh", "cmrc2018-zh", "beam128k"];

/// What the command measures on the cuts, to three decimals, by set, mode and figure.
#[cfg(feature = "embedded-model")]
fn measured(folder: &std::path::Path) -> Value {
    let door = Door::new();
    let sets: Vec<String> = CUTS.iter().map(|cut| folder.join(cut).display().to_string()).collect();
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let told = door.done(&[&["eval", "--json", "--model", "embedded"], sets.as_slice()].concat());
    let report = told.only_json();
    let mut measured = serde_json::Map::new();
    for set in report["sets"].as_array().unwrap() {
        let mut modes = serde_json::Map::new();
        for (mode, of) in set["modes"].as_object().unwrap() {
            for wrong in ["outside_namespace", "forgotten", "expired", "secrets"] {
                assert_eq!(of[wrong], 0, "{} {mode} {wrong}", set["name"]);
            }
            let figures = ["recall@5", "recall@10", "mrr@10", "ndcg@10"];
            let rounded = |figure: &str| json!((of[figure].as_f64().unwrap() * 1e3).round() / 1e3);
            let figures: serde_json::Map<String, Value> =
                figures.map(|figure| (figure.to_owned(), rounded(figure))).into_iter().collect();
            modes.insert(mode.clone(), Value::Object(figures));
        }
        measured.insert(set["name"].as_str().unwrap().to_owned(), Value::Object(modes));
    }
    Value::Object(measured)
}

#[cfg(feature = "embedded-model")]
#[test]
fn the_cuts_measure_as_recorded_and_the_hybrid_recall_is_nowhere_worse_than_words_alone() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join("eval");
    let measured = measured(&folder);
    let recorded = folder.join("recorded.json");
    if std::env::var_os("RECORDARI_RECORD").is_some() {
        std::fs::write(&recorded, serde_json::to_string_pretty(&measured).unwrap() + "\n").unwrap();
    }
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(recorded).unwrap()).unwrap();
    for cut in CUTS {
        for mode in ["keyword", "vector", "hybrid"] {
            for (figure, expected) in recorded[cut][mode].as_object().unwrap() {
                assert_eq!(measured[cut][mode][figure], *expected, "{cut}, {mode}, {figure}");
            }
        }
        let of = |mode: &str| measured[cut][mode]["recall@10"].as_f64().unwrap();
        assert!(of("hybrid") >= of("keyword"), "{cut}: {} and {}", of("hybrid"), of("keyword"));
    }
}
