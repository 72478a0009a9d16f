//! The words of the command line: texts that look like options, and errors that say what is wrong.

use crate::door::{Door, text};

#[test]
fn a_text_may_begin_with_a_hyphen() {
    let door = Door::new();
    for content in ["- a bullet item", "-5 degrees outside", "-- two hyphens", "-q is a flag", "-a\n-b"] {
        let (code, kept) = door.json(&["remember", content]);
        assert_eq!(code, 0, "{kept}");
        assert_eq!(door.json(&["get", text(&kept, "memory_id")]).1["record"]["content"], content);
        assert_eq!(door.json(&["recall", content]).1["hits"][0]["content"], content);
        let record = text(&kept, "record_id");
        assert_eq!(text(&door.json(&["why", record, content, "--mode", "keyword"]).1, "record_id"), record);
    }
    door.done(&["remember", "--content", "- an option", "--subject", "- the subject"]);
    assert_eq!(door.done(&["list", "--subject-prefix", "- the", "--json"]).lines().len(), 2);
    let (_, done) = door.json(&["forget", "--subject", "- the subject", "--reason", "- asked for"]);
    assert_eq!((text(&done, "outcome"), text(&done["receipt"], "reason")), ("forgotten", "- asked for"));
    assert_eq!(door.run(&["forget", "--reason", "--subject", "x"]).code, 2);
}

#[test]
fn an_error_in_json_says_all_that_is_wrong() {
    let door = Door::new();
    let message = |arguments: &[&str]| {
        let (code, error) = door.json(arguments);
        assert_eq!(code, 2, "{error}");
        text(&error["error"], "message").to_owned()
    };
    let missing = message(&["correct", "--content", "x"]);
    assert!(missing.contains("--memory <ID>") && missing.contains("--expected <RECORD_ID>"), "{missing}");
    let wrong = message(&["list", "--kind", "zzz"]);
    assert!(wrong.contains("zzz") && wrong.contains("possible values: semantic"), "{wrong}");
    for message in [missing, wrong] {
        assert!(!message.contains('\n') && !message.contains("Usage") && !message.contains("--help"));
    }
}

#[test]
fn a_word_that_may_be_a_text_is_never_repeated() {
    let door = Door::new();
    let long = "bluebird".repeat(6);
    let hyphen = format!("-{long}");
    let option = format!("--{long}");
    for arguments in [
        &["forget", "- bluebird sings"][..],
        &["list", "--kind", "the bluebird"],
        &["list", "--limit", &long],
        &["list", &hyphen],
        &["remember", &option],
        &["remember", "x", "--meta", "the bluebird"],
        &["the bluebird"],
        &[&long],
        &["remember", "x", "- y", "the bluebird"],
    ] {
        let answer = door.run(&[arguments, &["--json"]].concat());
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert!(answer.code == 2 && !said.contains("bluebird"), "{arguments:?}: {said}");
    }
    assert!(door.run(&["list", "--colour"]).stderr.contains("--colour"));
}
