//! The measurement itself, on a workload so small that a test can work out what it must find.

use serde_json::{Value, json};

use crate::door::{Door, keys};

const ROWS: usize = 240;
const DIMS: usize = 8;
const NOW: i64 = 1_767_225_600;

/// A vector of unit length, another for every number.
fn vector(number: usize) -> Vec<f32> {
    let mut state = number as u64 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f32 / (1u64 << 31) as f32 - 0.5
    };
    let raw: Vec<f32> = (0..DIMS + 4).map(|_| next()).skip(4).collect();
    let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
    raw.iter().map(|x| x / length).collect()
}

fn row(number: usize) -> Value {
    let kind = ["fact", "event", "procedure", "preference"][number % 4];
    json!({
        "id": number,
        "tenant": format!("t{}", number % 3),
        "user": format!("t{}u{}", number % 3, number % 6 / 3),
        "project": format!("p{}", number % 12 / 6),
        "agent": "a0",
        "kind": kind,
        "sensitivity": number % 4,
        "created_at": NOW - 1000 - number as i64,
        "expires_at": if number % 10 == 9 { Some(NOW - 5) } else { None },
        "deleted": number % 50 == 7,
        "text": format!("word{} thing{} number{number}", number % 13, number % 29),
    })
}

fn is_live(row: &Value) -> bool {
    row["deleted"] == false && row["expires_at"].is_null()
}

/// Writes the workload, with the truth worked out row by row.
fn workload(door: &Door) -> String {
    let rows: Vec<Value> = (0..ROWS).map(row).collect();
    let filters = [
        ("s10rows", json!({ "tenant": "t1", "user": "t1u0", "project": "p1" })),
        ("s01pct", json!({ "tenant": "t1", "user": "t1u0" })),
        ("s10pct", json!({ "tenant": "t1" })),
        ("none", Value::Null),
    ];
    let (mut queries, mut vectors) = (Vec::new(), Vec::new());
    for (class, filter) in &filters {
        for number in 0..15 {
            let asked = vector(1000 + number * 13 + queries.len());
            let passes = |row: &&Value| {
                let all = filter.as_object().into_iter().flatten();
                filter.is_null() || is_live(row) && all.into_iter().all(|(key, value)| row[key] == *value)
            };
            let mut scope: Vec<(f32, usize)> = rows
                .iter()
                .filter(passes)
                .map(|row| row["id"].as_u64().unwrap() as usize)
                .map(|id| (vector(id).iter().zip(&asked).map(|(a, b)| a * b).sum(), id))
                .collect();
            scope.sort_by(|a, b| b.0.total_cmp(&a.0));
            let truth: Vec<usize> = scope.iter().take(10).map(|(_, id)| *id).collect();
            queries.push(json!({
                "qid": queries.len(), "class": class, "filter": filter, "now": NOW, "k": 10,
                "keywords": [format!("word{}", number % 13), format!("thing{}", number % 29)],
                "scope_rows": scope.len(), "target": truth.first(), "truth_vec": truth,
            }));
            vectors.push(asked);
        }
    }
    let lines = |values: &[Value]| values.iter().map(|value| format!("{value}\n")).collect::<String>();
    let bytes =
        |vectors: &[Vec<f32>]| vectors.iter().flatten().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    std::fs::create_dir(door.home.path().join("workload")).unwrap();
    door.write("workload/meta.json", json!({ "format": 1, "n": ROWS, "dim": DIMS, "now": NOW }).to_string());
    door.write("workload/memories.jsonl", lines(&rows));
    door.write("workload/vectors.bin", bytes(&(0..ROWS).map(vector).collect::<Vec<_>>()));
    door.write("workload/queries.jsonl", lines(&queries));
    door.write("workload/queries.bin", bytes(&vectors));
    door.write(
        "workload/deletes.bin",
        [4u32, 40, 100].iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>(),
    );
    door.home.path().join("workload").to_str().unwrap().to_owned()
}

#[test]
fn a_workload_is_measured_and_everything_in_it_is_found() {
    let door = Door::new();
    let folder = workload(&door);
    let work = door.home.path().join("work").to_str().unwrap().to_owned();
    std::fs::create_dir(&work).unwrap();
    let own = door.write("work/thesis.txt", "three years of work");
    let answer = door.done(&["bench", &folder, "--work", &work, "--keep", "--json", "--batch", "100"]);
    let found = answer.only_json();
    for part in ["build", "query", "reopen"] {
        assert!(keys(&found).contains(&part), "{found}");
    }
    let classes = found["query"]["classes"].as_object().unwrap();
    assert_eq!(classes.len(), 8);
    for (class, measured) in classes {
        assert_eq!(measured["recall10"], 1.0, "{class}: {measured}");
        assert_eq!(
            (&measured["out_of_scope_rows"], &measured["short_answers"]),
            (&0.into(), &0.into()),
            "{class}"
        );
        assert_eq!(measured["queries_scored"], 15, "{class}");
        assert!(measured["p50_ms"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(found["query"]["insert_one"]["visible_at_once"], 50);
    assert_eq!(found["reopen"]["deleted_rows_returned_after_reopen"], 0);
    assert_eq!(found["build"]["load"]["refused"], 0);
    // Again from the stores as they were built, for a person.
    let again =
        door.done(&["bench", &folder, "--work", &work, "--reuse", "--class", "s10rows", "--reps", "1"]);
    assert!(
        again.stdout.contains("240 memories") && again.stdout.contains("s10rows/hybrid"),
        "{}",
        again.stdout
    );
    assert!(!again.stdout.contains("s10pct/hybrid"), "{}", again.stdout);
    // Without --keep what was made goes, and nothing else.
    door.done(&["bench", &folder, "--work", &work, "--class", "s10rows", "--reps", "1"]);
    let left: Vec<_> = std::fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [std::path::PathBuf::from(own)]);
}

#[test]
fn a_workload_that_is_none_is_refused_by_name() {
    let door = Door::new();
    let folder = workload(&door);
    let run = || door.run(&["bench", &folder]);
    door.write("workload/meta.json", "{\"format\":2,\"n\":1,\"dim\":8,\"now\":0}");
    assert!(run().stderr.contains("meta.json"), "{}", run().stderr);
    door.write("workload/meta.json", "{");
    assert!(run().stderr.contains("meta.json"));
    std::fs::remove_file(door.home.path().join("workload/queries.bin")).unwrap();
    door.write("workload/meta.json", json!({ "format": 1, "n": ROWS, "dim": DIMS, "now": NOW }).to_string());
    let refused = run();
    assert!(refused.code != 0 && refused.stderr.contains("queries.bin"), "{}", refused.stderr);
}
