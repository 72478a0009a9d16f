//! `doctor` mends what can be mended, says what can't, and changes nothing that a memory says.

use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::Value;

use crate::door::{Door, text};

fn file(door: &Door, name: &str) -> PathBuf {
    door.home.path().join(".local/share/recordari").join(name)
}

fn database(door: &Door) -> Connection {
    Connection::open(file(door, "recordari.db")).unwrap()
}

/// A store with a memory, another that was forgotten, and a candidate that waits.
fn lived_in(model: &str) -> (Door, Value) {
    let door = Door::new();
    let remember = ["remember", "keeps an opal in the drawer", "--source", "chat-1", "--model", model];
    let (_, kept) = door.json(&remember);
    door.done(&["remember", "keeps a garnet in the drawer", "--subject", "garnet"]);
    door.done(&["forget", "--subject", "garnet"]);
    door.run(&["remember", "seems to like topaz", "--authority", "model_inferred", "--confidence", "0.4"]);
    door.done(&["rebuild"]);
    (door, kept)
}

/// What was mended, and what is left, by check.
fn checks(answer: &Value, list: &str) -> Vec<String> {
    answer[list].as_array().unwrap().iter().map(|one| text(one, "check").to_owned()).collect()
}

/// Breaks a store in one way.
type Sabotage = fn(&Door);

#[test]
fn what_contradicts_itself_is_mended_where_it_is_known_what_is_right() {
    let sabotages: [(&str, Sabotage); 6] = [
        ("keys", |door| {
            assert!(database(door).execute("DELETE FROM record_keys", []).unwrap() > 0);
        }),
        ("vectors", |door| {
            let changed =
                database(door).execute("UPDATE records SET vectors = x'00' WHERE vectors IS NOT NULL", []);
            assert_eq!(changed.unwrap(), 1);
        }),
        ("projection", |door| {
            let sql = "UPDATE records SET speaker = 'Lena' WHERE state = 'forgotten'";
            assert_eq!(database(door).execute(sql, []).unwrap(), 1);
        }),
        ("keyword", |door| {
            // The index of another time: it follows the database, and lacks what is in force.
            let sql = "UPDATE records SET content = content WHERE state = 'current'";
            assert_eq!(database(door).execute(sql, []).unwrap(), 1);
            let keyword = recordari::index::keyword::Writer::open(&file(door, "derived/keyword"));
            let mut writer = keyword.unwrap().unwrap();
            let (watermark, history) = (writer.watermark(), writer.history());
            writer.clear().unwrap();
            writer.commit(watermark, history).unwrap();
        }),
        ("database", |door| {
            // A row goes, and an index is not told.
            let name = "candidates_by_namespace";
            let connection = database(door);
            connection.pragma_update(None, "writable_schema", true).unwrap();
            let (root, sql): (i64, String) = connection
                .query_row("SELECT rootpage, sql FROM sqlite_schema WHERE name = ?1", [name], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .unwrap();
            connection.execute("DELETE FROM sqlite_schema WHERE name = ?1", [name]).unwrap();
            drop(connection);
            assert_eq!(database(door).execute("DELETE FROM candidates", []).unwrap(), 1);
            let connection = database(door);
            connection.pragma_update(None, "writable_schema", true).unwrap();
            connection
                .execute(
                    "INSERT INTO sqlite_schema VALUES ('index', ?1, 'candidates', ?2, ?3)",
                    rusqlite::params![name, root, sql],
                )
                .unwrap();
        }),
        ("ledger", |door| {
            std::fs::write(file(door, "ledger.db"), "this is no ledger any more ".repeat(200)).unwrap();
        }),
    ];
    for (check, sabotage) in sabotages {
        let model = if check == "vectors" { "embedded" } else { "none" };
        let (door, _) = lived_in(model);
        sabotage(&door);
        if check != "ledger" {
            let (code, unsound) = door.json(&["verify"]);
            assert_eq!((code, text(&unsound, "outcome")), (1, "unsound"), "{check}");
            assert!(checks(&unsound, "findings").iter().any(|found| found == check), "{check}: {unsound}");
        }
        let (code, mended) = door.json(&["doctor", "--model", model]);
        assert_eq!((code, text(&mended, "outcome")), (0, "mended"), "{check}: {mended}");
        assert!(checks(&mended, "done").iter().any(|done| done == check), "{check}: {mended}");
        assert_eq!(door.json(&["verify"]).1["outcome"], "sound", "{check}");
        let again = door.done(&["doctor"]).stdout;
        assert_eq!(again, "The store is sound: there was nothing to mend.\n", "{check}");
        let mode = if check == "vectors" { "vector" } else { "keyword" };
        let (_, found) =
            door.json(&["recall", "keeps an opal in the drawer", "--mode", mode, "--model", model]);
        assert_eq!(found["hits"][0]["content"], "keeps an opal in the drawer", "{check}: {found}");
        // What was forgotten is still known.
        let (_, refused) = door.json(&["forget", "--subject", "garnet"]);
        assert_eq!(text(&refused, "outcome"), "already_forgotten", "{check}");
    }
}

#[test]
fn a_damaged_record_stays_as_it_is_and_is_named() {
    let (door, kept) = lived_in("none");
    door.done(&["remember", "walks home at six"]);
    let sql = "UPDATE records SET content = 'keeps a bomb in the drawer' WHERE record_id = ?1";
    assert_eq!(database(&door).execute(sql, [text(&kept, "record_id")]).unwrap(), 1);
    let told = door.run(&["doctor"]);
    assert_eq!(told.code, 1, "{}", told.stdout);
    assert!(told.stdout.contains(text(&kept, "record_id")), "{}", told.stdout);
    assert!(told.stdout.contains("forget them by their ids"), "{}", told.stdout);
    assert!(!told.stdout.contains("bomb"), "{}", told.stdout);
    assert!(!door.run(&["list"]).stdout.contains("bomb"));
    // As it says.
    door.done(&["forget", "--memory", text(&kept, "memory_id")]);
    let mended = door.run(&["doctor"]);
    assert_eq!(mended.code, 0, "{}{}", mended.stdout, mended.stderr);
    assert!(door.done(&["list"]).stdout.contains("walks home at six"));
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let door = Door::new();
    let nowhere = door.home.path().join("nowhere");
    let refused = door.run(&["doctor", "--store", nowhere.to_str().unwrap()]);
    assert_eq!(refused.code, 78, "{}", refused.stderr);
    assert!(!nowhere.exists());
}
