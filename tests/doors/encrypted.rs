//! Encrypted stores through the command line.

use std::fs;

use crate::door::{Door, text};

fn path(door: &Door, name: &str) -> String {
    door.home.path().join(name).display().to_string()
}

#[cfg(feature = "sqlcipher")]
#[test]
fn a_store_is_begun_encrypted_used_moved_to_another_key_and_decrypted() {
    let door = Door::new();
    let [store, key, other, backup] =
        ["memory", "memory.key", "other.key", "backup"].map(|name| path(&door, name));
    let (code, made) = door.json(&["init", "--store", &store, "--new-cipher-key", &key]);
    assert_eq!((code, text(&made, "outcome")), (0, "created"));
    assert_eq!(text(&made, "cipher_key_file"), key);
    let digits = fs::read_to_string(&key).unwrap();
    assert_eq!(digits.trim().len(), 64);
    // Its settings name the key file from here on.
    door.done(&["remember", "orders marzipan trout", "--source", "chat-1", "--store", &store]);
    assert!(door.done(&["recall", "marzipan", "--store", &store]).stdout.contains("orders marzipan trout"));
    assert_eq!(door.json(&["stats", "--store", &store]).1["encrypted"], true);
    let shown = |folder: &str| {
        let files =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        files
            .map(|file| fs::read(file).unwrap())
            .any(|bytes| bytes.windows(8).any(|part| part == b"marzipan"))
    };
    assert!(!shown(&store));
    assert_eq!(door.run(&["doctor", "--store", &store]).code, 0);
    // Another begin would lose the key.
    for file in [&key, &other] {
        let again = door.run(&["init", "--store", &store, "--new-cipher-key", file]);
        assert_eq!(again.code, 2, "{}", again.stderr);
        assert!(again.stderr.contains("restore the copy with --new-cipher-key"), "{}", again.stderr);
        assert_eq!((fs::read_to_string(&key).unwrap(), fs::exists(&other).unwrap()), (digits.clone(), false));
    }

    door.done(&["backup", &backup, "--store", &store]);
    assert!(!shown(&backup));
    fs::write(&other, "5a".repeat(32)).unwrap();
    let strange = door.run(&["list", "--store", &store, "--cipher-key-file", &other]);
    assert_eq!(strange.code, 65, "{}", strange.stderr);
    assert!(strange.stderr.contains("not with this cipher key"), "{}", strange.stderr);
    let (moved, plain) = (path(&door, "moved"), path(&door, "plain"));
    let of_backup =
        ["restore", backup.as_str(), "--ledger", store.as_str(), "--backup-cipher-key-file", key.as_str()];
    let told =
        door.done(&[&of_backup[..], &["--store", &moved, "--cipher-key-file", &other]].concat()).stdout;
    assert!(told.contains(&format!("encrypted with the key in {other}")), "{told}");
    // What was encrypted stays so, unless that is said.
    let unsaid = door.run(&[&of_backup[..], &["--store", &plain]].concat());
    assert_eq!(unsaid.code, 2, "{}", unsaid.stderr);
    assert!(unsaid.stderr.contains("--decrypt") && !fs::exists(&plain).unwrap(), "{}", unsaid.stderr);
    let told = door.done(&[&of_backup[..], &["--store", &plain, "--decrypt"]].concat()).stdout;
    assert!(told.contains("  not encrypted\n"), "{told}");
    // A store that is not encrypted is encrypted by way of a copy, with a key that is made for it.
    let (copy, again, third) = (path(&door, "copy"), path(&door, "again"), path(&door, "third.key"));
    door.done(&["backup", &copy, "--store", &plain]);
    let (code, told) =
        door.json(&["restore", &copy, "--ledger", &plain, "--store", &again, "--new-cipher-key", &third]);
    assert_eq!((code, &told["encrypted"]), (0, &serde_json::json!(true)), "{told}");
    assert!(
        !shown(&again)
            && door.done(&["recall", "marzipan", "--store", &again]).stdout.contains("marzipan trout")
    );
    for (folder, is_encrypted) in [(&moved, true), (&plain, false)] {
        // With the settings that it has from the restore.
        assert!(
            door.done(&["recall", "marzipan", "--store", folder]).stdout.contains("orders marzipan trout")
        );
        assert_eq!(door.json(&["stats", "--store", folder]).1["encrypted"], is_encrypted);
        assert_eq!(shown(folder), !is_encrypted);
        assert_eq!(door.run(&["verify", "--store", folder]).code, 0);
    }
    // A ledger under a third key is named with it.
    let [newest, fourth] = ["newest", "fourth.key"].map(|name| path(&door, name));
    let oldest =
        ["restore", backup.as_str(), "--backup-cipher-key-file", key.as_str(), "--ledger", again.as_str()];
    let oldest = [&oldest[..], &["--store", &newest, "--new-cipher-key", &fourth]].concat();
    door.done(&["forget", "--source", "chat-1", "--store", &again]);
    let strange = door.run(&oldest);
    assert_eq!(strange.code, 65, "{}", strange.stderr);
    assert!(strange.stderr.contains("ledger.db") && !fs::exists(&newest).unwrap(), "{}", strange.stderr);
    fs::remove_file(&fourth).unwrap();
    let (code, told) = door.json(&[&oldest[..], &["--ledger-cipher-key-file", &third]].concat());
    assert_eq!(
        (code, text(&told, "ledger"), told["removed"].as_array().unwrap().len()),
        (0, "newer", 1),
        "{told}"
    );
    // What is not encrypted says so to who gives a key, and so does a key beside what it protects.
    let wrong = door.run(&["list", "--store", &plain, "--cipher-key-file", &key]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("is not encrypted"), "{}", wrong.stderr);
    let inside = format!("{store}/memory.key");
    fs::copy(&key, &inside).unwrap();
    let wrong = door.run(&["list", "--store", &store, "--cipher-key-file", &inside]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("must not lie in the store's folder"), "{}", wrong.stderr);
    let wrong =
        door.run(&["init", "--store", &path(&door, "new"), "--new-cipher-key", &path(&door, "new/key")]);
    assert!(wrong.code != 0 && !fs::exists(path(&door, "new")).unwrap(), "{}", wrong.stderr);
}

#[cfg(not(feature = "sqlcipher"))]
#[test]
fn a_build_that_cannot_encrypt_says_so_and_makes_nothing() {
    let door = Door::new();
    let store = path(&door, "memory");
    let key = door.write("memory.key", "5a".repeat(32));
    let new = path(&door, "new.key");
    for arguments in [
        vec!["init", "--store", &store, "--new-cipher-key", &new],
        vec!["remember", "walks home", "--store", &store, "--cipher-key-file", &key],
    ] {
        let refused = door.run(&arguments);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        let said = refused.stderr;
        assert!(said.contains("build recordari with the feature sqlcipher"), "{said}");
        assert!(!fs::exists(format!("{store}/recordari.db")).unwrap() && !fs::exists(&new).unwrap());
    }
}

#[test]
fn an_empty_name_of_a_key_file_is_refused_with_the_word_for_no_key() {
    let door = Door::new();
    let mut from_variable = door.command(&["list"]);
    from_variable.env("RECORDARI_CIPHER_KEY_FILE", "");
    let by_variable = crate::door::Answer::of(from_variable.output().unwrap());
    for refused in [door.run(&["list", "--cipher-key-file", ""]), by_variable] {
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
        let said = "it must name a file; none stands for no key";
        assert!(
            refused.stderr.contains("--cipher-key-file") && refused.stderr.contains(said),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(door.run(&["list", "--cipher-key-file", "none"]).code, 0);
}

#[test]
fn a_key_file_that_is_none_is_named_and_not_shown() {
    let door = Door::new();
    let key = door.write("memory.key", "hunter2");
    let refused =
        door.run(&["remember", "walks home", "--store", &path(&door, "memory"), "--cipher-key-file", &key]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("64 hexadecimal digits") && refused.stderr.contains(&key),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
    let (code, answer) = door.json(&["list", "--cipher-key-file", &path(&door, "none")]);
    assert_eq!(code, 78, "{answer}");
    assert!(text(&answer["error"], "message").contains("none"), "{answer}");
}
