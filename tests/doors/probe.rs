//! The probe through the command line: exit codes, what is read, what is shown.

use serde_json::json;

use crate::door::{Door, text};

const TEXT: &str = "orders Marzipanforelle with almonds";

#[test]
fn a_probe_finds_before_and_is_clean_after_and_shows_no_text() {
    let door = Door::new();
    let (_, written) = door.json(&["remember", TEXT, "--source", "chat-1"]);
    door.done(&["remember", "walks home in the evening", "--source", "chat-2"]);
    let id = text(&written, "memory_id");
    let lines = format!("\n  {TEXT}  \n");
    let before = door.with_stdin(&["probe", "--memory", id], lines.as_bytes());
    assert_eq!(before.code, 1, "{}", before.stderr);
    assert!(before.stdout.ends_with("Something is left.\n"), "{}", before.stdout);
    let backup = door.home.path().join("backup").display().to_string();
    door.done(&["backup", &backup]);
    let receipt = door.done(&["forget", "--source", "chat-1", "--json"]).stdout;
    let receipt = door.write("receipt.json", receipt);
    let after = door.with_stdin(&["probe", "--receipt", &receipt], lines.as_bytes());
    assert_eq!(after.code, 0, "{}{}", after.stdout, after.stderr);
    assert!(after.stdout.contains("the search sees."), "{}", after.stdout);
    assert!(after.stdout.contains("Nothing is left in "), "{}", after.stdout);
    let with_backup = ["probe", "--receipt", &receipt, "--folder", &backup, "--json"];
    let elsewhere = door.with_stdin(&with_backup, lines.as_bytes());
    assert_eq!((elsewhere.code, text(&elsewhere.only_json(), "outcome")), (1, "found"));
    let nowhere = door
        .with_stdin(&["probe", "--receipt", &receipt, "--folder", "/nowhere", "--json"], lines.as_bytes());
    assert_eq!((nowhere.code, text(&nowhere.only_json(), "outcome")), (2, "blind"));
    for answer in [&before, &after, &elsewhere, &nowhere] {
        assert!(!format!("{}{}", answer.stdout, answer.stderr).contains("Marzipan"));
    }
    let places = elsewhere.only_json()["places"].clone();
    let place = &places.as_array().unwrap()[0];
    assert_eq!(crate::door::keys(place), ["name", "looked_at", "copies", "parts", "unreadable"]);
    assert_eq!(place["unreadable"], json!(null));
}

#[test]
fn what_a_probe_cannot_use_is_refused() {
    let door = Door::new();
    door.done(&["remember", TEXT, "--source", "chat-1"]);
    assert_eq!(door.with_stdin(&["probe"], b"long enough").code, 2);
    assert_eq!(door.with_stdin(&["probe", "--memory", "mem_x"], b"").code, 2);
    assert_eq!(door.with_stdin(&["probe", "--memory", "mem_x"], b"\xff\xfe\xff\xfe").code, 2);
    let nobody = door.with_stdin(&["probe", "--memory", "mem_x"], b"long enough");
    assert!(nobody.code == 2 && nobody.stderr.contains("no such memory"), "{}", nobody.stderr);
    let (_, written) = door.json(&["remember", "walks home", "--source", "chat-2"]);
    let short = door.with_stdin(&["probe", "--memory", text(&written, "memory_id")], b"abc");
    assert!(short.code == 2 && short.stderr.contains("too short"), "{}", short.stderr);
    let receipt = door.done(&["source", "withdraw", "chat-2", "--json"]).stdout;
    let changed = door.write(
        "changed.json",
        receipt
            .replacen("\"generations\":{", "\"generations\":{ ", 1)
            .replace("withdraw", "x")
            .replacen("rcp_0", "rcp_1", 1),
    );
    let refused = door.with_stdin(&["probe", "--receipt", &changed], b"long enough");
    assert!(refused.code == 2 && refused.stderr.contains("was changed"), "{}", refused.stderr);
    let broken = door.write("receipt.json", "[]");
    assert_eq!(door.with_stdin(&["probe", "--receipt", &broken], b"long enough").code, 2);
    assert_eq!(door.with_stdin(&["probe", "--receipt", "/nowhere"], b"long enough").code, 78);
}
