//! The measurement itself, on a workload so small that a test can work out what it must find.

use serde_json::json;

use crate::door::{Door, keys};
use crate::workload::{DIMS, NOW, workload};

const ROWS: usize = 240;

#[test]
fn a_workload_is_measured_and_everything_in_it_is_found() {
    let door = Door::new();
    let folder = workload(&door, "workload", ROWS);
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
    let folder = workload(&door, "workload", ROWS);
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
