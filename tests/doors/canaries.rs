//! What came in through the command line, by any of its ways, is in no file once it was forgotten.

use serde_json::{Value, json};

use crate::door::{Door, text};

/// Words that nobody else says, one for each way in.
const TYPED: &str = "Marzipanforelle";
const PIPED: &str = "Zwetschgenorgel";
const PIPED_LINES: &str = "Holunderknödel";
const IMPORTED: [&str; 4] = ["Quittenschwan", "薄荷鲸鱼骑士", "Mirabellenuhr", "Rhabarberturm"];
const CORRECTED: &str = "Pfefferminzkran";

fn candidate(content: &str, source: &str, more: Value) -> String {
    let mut candidate = json!({
        "content": content, "kind": "semantic", "source": source,
        "observed_at": "2026-03-01T10:00:00Z", "authority": "user_explicit",
    });
    candidate.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    candidate.to_string()
}

/// The exit code of a probe, and how many copies of the texts it found.
fn probe(door: &Door, about: &[&str], texts: &str) -> (i32, u64) {
    let answer = door.with_stdin(&[&["probe", "--json"], about].concat(), texts.as_bytes());
    let found = answer.only_json();
    assert!(!answer.stdout.contains("Marzipan"), "{}", answer.stdout);
    assert!(!found["control"].as_array().unwrap().is_empty() && found["blind"] == false, "{found}");
    // That the memory is still there is no copy of its text.
    let places = found["places"].as_array().unwrap().iter();
    let places = places.filter(|place| !text(place, "name").contains("by its id"));
    (answer.code, places.map(|place| place["copies"].as_u64().unwrap()).sum())
}

#[test]
fn canaries_of_every_way_in_are_found_before_they_are_forgotten_and_nowhere_after() {
    let door = Door::new();
    door.done(&["remember", "walks home in the evening", "--source", "diary"]);
    let typed = format!("orders {TYPED} on Fridays");
    let (_, typed) = door.json(&["remember", &typed, "--source", "talk", "--subject", "lunch"]);
    let from_stdin = |arguments: &[&str], stdin: String| {
        let answer = door.with_stdin(&[arguments, &["--json"]].concat(), stdin.as_bytes());
        assert_eq!(answer.code, 0, "{}{}", answer.stdout, answer.stderr);
        text(&answer.only_json(), "memory_id").to_owned()
    };
    let piped = from_stdin(&["remember", "-", "--source", "pipe"], format!("plays the {PIPED} by ear\n"));
    let line = candidate(&format!("cooks {PIPED_LINES}"), "pipe", json!({}));
    let answer = door.with_stdin(&["import", "-"], line.as_bytes());
    assert_eq!(answer.code, 0, "{}{}", answer.stdout, answer.stderr);
    let [goose, han, tag, place] = IMPORTED;
    let file = [
        candidate(&format!("feeds the {goose}"), "handbook#1", json!({ "subject": "pets" })),
        candidate(&format!("每天看{han}的表演"), "handbook#2", json!({})),
        candidate("winds up the clocks", "handbook#3", json!({ "metadata": { "tag": tag } })),
        candidate("climbs every tower", &format!("handbook#https://example.org/{place}"), json!({})),
    ]
    .join("\n");
    let file = door.write("memories.jsonl", file);
    door.done(&["import", &file]);
    let (memory, seen) = (text(&typed, "memory_id"), text(&typed, "record_id"));
    let corrected = format!("orders {CORRECTED} instead");
    door.done(&[
        "correct",
        "--memory",
        memory,
        "--expected",
        seen,
        "--content",
        &corrected,
        "--source",
        "talk",
    ]);
    door.done(&["recall", &format!("{TYPED} {goose}")]);
    door.done(&["rebuild"]);

    let words = [&[TYPED, PIPED, PIPED_LINES, CORRECTED], &IMPORTED[..]].concat();
    for word in &words {
        let (code, copies) = probe(&door, &["--memory", memory], word);
        assert!(code == 1 && copies > 0, "{word} is seen while it is there: {code}, {copies}");
    }

    let mut receipts = Vec::new();
    for (number, what) in
        [&["--memory", &piped][..], &["--subject", "lunch"], &["--source", "pipe"], &["--source", "handbook"]]
            .iter()
            .enumerate()
    {
        let receipt = door.done(&[&["forget", "--wait", "--json"], *what].concat()).stdout;
        receipts.push(door.write(&format!("receipt-{number}.json"), receipt));
    }
    for receipt in &receipts {
        assert_eq!(probe(&door, &["--receipt", receipt], &words.join("\n")), (0, 0));
    }
    let left = door.done(&["list", "--json"]).lines();
    assert_eq!((left.len(), text(&left[0], "content")), (2, "walks home in the evening"));
    // The file that they came from brings none of them back.
    let again = door.run(&["import", &file]);
    assert_eq!(again.code, 1, "{}", again.stdout);
    assert_eq!(probe(&door, &["--receipt", &receipts[3]], &words.join("\n")), (0, 0));
}
