//! Backup and restore through the command line.

use std::fs;

use serde_json::json;

use crate::door::{Door, text};

/// Where the store of these commands lies.
fn store(door: &Door) -> String {
    let stats = door.json(&["stats"]).1;
    text(&stats, "store").to_owned()
}

#[test]
fn a_backup_is_restored_without_what_was_forgotten_since() {
    let door = Door::new();
    door.done(&["remember", "prefers Marzipanforelle", "--source", "chat-1", "--subject", "lunch"]);
    door.done(&["remember", "walks home", "--source", "chat-2"]);
    let folder = door.write("unused", "");
    let (backup, new) = (format!("{folder}-backup"), format!("{folder}-new"));
    let told = door.done(&["backup", &backup]).stdout;
    assert!(told.starts_with("Backed up to ") && told.contains("2 versions in "), "{told}");
    assert!(told.contains("keep store.key apart"), "{told}");
    let again = door.run(&["backup", &backup]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("nothing is overwritten"), "{}", again.stderr);
    let (_, done) = door.json(&["forget", "--subject", "lunch"]);
    assert_eq!(done["receipt"]["backups"].as_array().unwrap().len(), 1);
    let receipt = text(&done["receipt"], "receipt_id");
    assert!(door.done(&["receipt", "show", receipt]).stdout.contains("1 backup may hold it until deleted"));

    let store = store(&door);
    let told = door.done(&["restore", &backup, "--store", &new, "--ledger", &store]).stdout;
    assert!(told.contains("1 entry of the ledger is newer than the backup"), "{told}");
    assert!(told.contains("forgotten again: 1 memory\n"), "{told}");
    let listed = door.done(&["list", "--json", "--store", &new]).lines();
    assert_eq!(listed.last().unwrap()["total"], 1);
    assert_eq!(listed[0]["content"], "walks home");
    assert_eq!(door.run(&["verify", "--store", &new]).code, 0);
    assert_eq!(door.done(&["jobs", "--open", "--json", "--store", &new]).lines()[0]["open"], 0);
    assert!(!fs::read_dir(&new).unwrap().any(|file| {
        let path = file.unwrap().path();
        path.is_file() && fs::read(path).unwrap().windows(15).any(|part| part == b"Marzipanforelle")
    }));
    // Nothing is overwritten, whatever it is.
    let again = door.run(&["restore", &backup, "--store", &new]);
    assert_eq!(again.code, 2);
    assert_eq!(door.done(&["list", "--json", "--store", &new]).lines().last().unwrap()["total"], 1);
}

#[test]
fn restore_says_what_it_knew_and_what_is_no_backup_is_refused() {
    let door = Door::new();
    door.done(&["remember", "walks home", "--source", "chat-2"]);
    let folder = door.write("unused", "");
    let (backup, new) = (format!("{folder}-backup"), format!("{folder}-new"));
    let (code, made) = door.json(&["backup", &backup]);
    assert_eq!((code, text(&made, "outcome")), (0, "backed_up"));
    assert_eq!(made["backup"]["records"], 1);
    let (code, restored) = door.json(&["restore", &backup, "--store", &new]);
    assert_eq!((code, text(&restored, "outcome"), text(&restored, "ledger")), (0, "restored", "none"));
    assert_eq!((&restored["removed"], &restored["new_key"]), (&json!([]), &json!(true)));
    fs::remove_dir_all(&new).unwrap();
    let told = door.done(&["restore", &backup, "--store", &new]).stdout;
    assert!(told.contains("no ledger was named: what was forgotten after the backup is back"), "{told}");
    assert!(told.contains("new key"), "{told}");
    fs::remove_dir_all(&new).unwrap();
    let (_, restored) = door.json(&["restore", &backup, "--store", &new, "--ledger", &store(&door)]);
    assert_eq!((text(&restored, "ledger"), &restored["new_key"]), ("not_newer", &json!(false)));
    fs::remove_dir_all(&new).unwrap();
    fs::remove_file(format!("{backup}/backup.json")).unwrap();
    let refused = door.run(&["restore", &backup, "--store", &new]);
    assert_eq!(refused.code, 65);
    assert!(refused.stderr.contains("no whole backup"), "{}", refused.stderr);
    assert!(!std::path::Path::new(&new).exists());
    assert_eq!(door.run(&["restore", "/nowhere", "--store", &new]).code, 65);
    assert_eq!(door.run(&["backup", "/proc/nowhere/at/all"]).code, 78);
}
