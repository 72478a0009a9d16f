//! A workload so small that a test can work out what must be found in it.

use serde_json::{Value, json};

use crate::door::Door;

/// The width of the vectors.
pub const DIMS: usize = 8;
/// The clock of every query, in seconds.
pub const NOW: i64 = 1_767_225_600;

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

/// Writes a workload of so many rows into a folder, with the truth worked out row by row; its path.
pub fn workload(door: &Door, folder: &str, count: usize) -> String {
    let rows: Vec<Value> = (0..count).map(row).collect();
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
    std::fs::create_dir(door.home.path().join(folder)).unwrap();
    let file = |name: &str| format!("{folder}/{name}");
    door.write(&file("meta.json"), json!({ "format": 1, "n": count, "dim": DIMS, "now": NOW }).to_string());
    door.write(&file("memories.jsonl"), lines(&rows));
    door.write(&file("vectors.bin"), bytes(&(0..count).map(vector).collect::<Vec<_>>()));
    door.write(&file("queries.jsonl"), lines(&queries));
    door.write(&file("queries.bin"), bytes(&vectors));
    door.write(
        &file("deletes.bin"),
        [4u32, 40, 100].iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>(),
    );
    door.home.path().join(folder).to_str().unwrap().to_owned()
}
