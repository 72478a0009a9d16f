use super::*;
use crate::embed::HashingEmbedder;

const CORPUS: &str = r#"{"id":"a1","namespace":{"tenant":"t","user":"ann","project":"default"},"text":"My sister Ida moved to Lisbon.","timestamp":"2024-03-01T10:00:00Z","speaker":"Ann","kind":"turn","session":"1","seq":0,"source":"tiny"}
{"id":"a2","namespace":{"tenant":"t","user":"ann","project":"default"},"text":"Hello!","timestamp":"2024-03-01T10:00:01Z","speaker":"Bo","kind":"turn","session":"1","seq":1,"source":"tiny"}
{"id":"a3","namespace":{"tenant":"t","user":"ann","project":"default"},"text":"hello!","timestamp":"2024-03-02T10:00:01Z","speaker":"Bo","kind":"turn","session":"2","seq":0,"source":"tiny"}
{"id":"a4","namespace":{"tenant":"t","user":"ann","project":"default"},"text":"The token is ghp_2bK7mQx9VtZr4LsW8nYcD1fGhJ3kPq5RaEuX","timestamp":null,"speaker":null,"kind":"turn","session":null,"seq":null,"source":"tiny"}
{"id":"b1","namespace":{"tenant":"t","user":"bo","project":"default"},"text":"My sister lives in Lisbon too.","timestamp":"2024-03-01T10:00:00Z","speaker":"Bo","kind":"turn","session":"1","seq":0,"source":"tiny"}
"#;
const QUERIES: &str = r#"{"id":"q1","namespace":{"tenant":"t","user":"ann","project":"default"},"text":"Where did my sister move?","category":"single","timestamp":null}
{"id":"q2","namespace":{"tenant":"t","user":"ann","project":"default"},"text":"hello","category":"greeting","timestamp":null}
{"id":"q3","namespace":{"tenant":"t","user":"ann","project":"default"},"text":"Which zebra sings?","category":"none","timestamp":null}
"#;
const QRELS: &str = "query-id\tcorpus-id\trelevance\nq1\ta1\t1\nq2\ta2\t1\nq2\ta3\t1\nq2\ta4\t1\n";

fn tiny() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("tiny");
    std::fs::create_dir(&set).unwrap();
    for (name, text) in [("corpus.jsonl", CORPUS), ("queries.jsonl", QUERIES), ("qrels.tsv", QRELS)] {
        std::fs::write(set.join(name), text).unwrap();
    }
    (folder, set)
}

fn options(folder: &Path) -> Options {
    Options {
        embedder: Some(Arc::new(HashingEmbedder::new(64).unwrap())),
        ..Options::new(folder.join("store"))
    }
}

#[test]
fn what_is_forgotten_expired_or_secret_is_put_in_and_counted_if_it_ever_comes_back() {
    let (folder, set) = tiny();
    let trap = |id: &str, text: &str, more: &str| {
        format!(
            r#"{{"id":"{id}","namespace":{{"tenant":"t","user":"ann","project":"default"}},"text":"{text}","timestamp":"2024-03-01T10:00:00Z","speaker":null,"kind":"turn","session":null,"seq":null,"source":"traps"{more}}}"#
        ) + "\n"
    };
    let traps = trap("x1", "My sister had moved to Porto.", r#","expires_at":"2024-03-01T12:00:00Z""#)
        + &trap("x2", "My sister wants to move to Faro.", r#","forgotten":true"#);
    std::fs::write(set.join("corpus.jsonl"), CORPUS.to_owned() + &traps).unwrap();
    for _ in 0..2 {
        let report = run(&set, &options(folder.path()), &mut |_, _, _| {}).unwrap();
        assert_eq!(report.wrongly_seen(), 0, "{report:?}");
        assert!(report.modes.iter().all(|mode| mode.name != "hybrid" || mode.mean().unwrap().recall_5 > 0.4));
    }
    // They are counted: a report of one that came back is not clean.
    let mut mode = ModeReport::new(Mode::Hybrid, None);
    assert_eq!(mode.wrongly_seen(), 0);
    (mode.foreign, mode.forgotten, mode.expired, mode.secrets) = (1, 2, 4, 8);
    assert_eq!(mode.wrongly_seen(), 15);
}

#[test]
fn a_run_is_compared_with_itself_its_parts_and_an_earlier_one() {
    let (folder, set) = tiny();
    let options = Options { ablate: true, ..options(folder.path()) };
    let report = run(&set, &options, &mut |_, _, _| {}).unwrap();
    let names: Vec<&str> = report.modes.iter().map(|mode| mode.name.as_str()).collect();
    assert!(names.starts_with(&["keyword", "vector", "hybrid", "hybrid without semantic"]), "{names:?}");
    let differences = report.differences();
    assert_eq!(differences.len(), names.len() - 1);
    assert!(differences.iter().all(|one| one.mode == "hybrid" && one.queries == 2));
    let saved = serde_json::json!({ "sets": [report.to_json()] });
    let since = report.since(&saved).unwrap();
    assert_eq!(since.len(), names.len());
    // What is saved has four decimals.
    assert!(since.iter().flat_map(|one| one.figures).all(|(_, of)| of.mean.abs() < 1e-4), "{since:?}");
    assert_eq!(report.since(&serde_json::json!({ "sets": [] })).unwrap(), []);
    assert!(report.since(&serde_json::json!({})).is_err());
}

#[test]
fn a_set_goes_through_the_product_and_is_measured() {
    let (folder, set) = tiny();
    let report = run(&set, &options(folder.path()), &mut |_, _, _| {}).unwrap();
    assert_eq!((report.lines, report.duplicates, report.queries), (5, 0, 3));
    assert_eq!(report.refused.values().sum::<usize>(), 1, "{:?}", report.refused);
    assert_eq!(report.wrongly_seen(), 0);
    for mode in &report.modes {
        let of = |id: &str| mode.each.iter().find(|(query, _)| query == id).unwrap().1;
        assert_eq!(of("q1").mrr_10, 1.0, "{:?}", mode.name);
        // One greeting is folded into the other, which says the same; the secret was refused and can't be found.
        assert_eq!(of("q2").recall_10, 1.0 / 3.0, "{:?}", mode.name);
        assert_eq!(mode.unanswerable, 1);
    }
    let keyword = &report.to_json()["modes"]["keyword"];
    assert_eq!(keyword["unanswerable_empty"], 1);
    assert!(report.to_string().contains("R@10"), "{report}");
}

#[test]
fn a_store_that_is_there_is_used_again() {
    let (folder, set) = tiny();
    let first = run(&set, &options(folder.path()), &mut |_, _, _| {}).unwrap();
    let second = run(&set, &options(folder.path()), &mut |_, _, _| {}).unwrap();
    let figures = |report: &Report| report.modes.iter().map(|mode| mode.each.clone()).collect::<Vec<_>>();
    assert_eq!(figures(&first), figures(&second));
    assert_eq!((first.duplicates, &first.refused), (second.duplicates, &second.refused));
}

#[test]
fn categories_and_queries_can_be_left_out() {
    let (folder, set) = tiny();
    let options = Options {
        modes: vec![Mode::Keyword],
        without: vec!["none".to_owned()],
        queries: Some(1),
        ..options(folder.path())
    };
    let report = run(&set, &options, &mut |_, _, _| {}).unwrap();
    assert_eq!(report.queries, 1);
    assert_eq!(report.modes[0].unanswerable, 0);
}

#[test]
fn a_malformed_set_is_named_by_line_and_not_quoted() {
    let (folder, set) = tiny();
    std::fs::write(set.join("corpus.jsonl"), format!("{CORPUS}{{\"id\":\"private\"}}\n")).unwrap();
    let error = run(&set, &options(folder.path()), &mut |_, _, _| {}).unwrap_err().to_string();
    assert!(error.contains("corpus.jsonl, line 6") && !error.contains("private"), "{error}");
}
