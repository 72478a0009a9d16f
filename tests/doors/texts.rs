//! Odd texts, times and arguments: taken or refused with a reason, never a crash.

use crate::door::{Answer, Door, piped, text};

#[test]
fn a_time_without_an_offset_is_refused_and_the_message_says_so() {
    let door = Door::new();
    for arguments in [
        ["remember", "x y z", "--valid-from", "2025-03-01T10:00"],
        ["recall", "x", "--as-of", "2025-03-01T10:00"],
        ["history", "mem_x", "--known-at", "2025-03-01"],
    ] {
        let answer = door.run(&arguments);
        assert!(answer.code == 2 && answer.stderr.contains("offset"), "{arguments:?}: {}", answer.stderr);
        let (_, error) = door.json(&arguments);
        assert_eq!((text(&error, "outcome"), text(&error["error"], "kind")), ("error", "caller"));
    }
    door.done(&["remember", "tokyo", "--valid-from", "2025-03-01T10:00+09:00"]);
}

#[test]
fn all_languages_and_odd_words_are_kept_and_found() {
    let door = Door::new();
    let texts = [
        ("你好，我是 Foy，喜欢乌龙茶", "乌龙茶"),
        ("👩‍👩‍👧‍👦 means the family account", "👩‍👩‍👧‍👦"),
        ("Zürich is the office", "zurich"),
        ("constructor", "constructor"),
        ("__proto__", "__proto__"),
        ("gpt-4o is the model", "gpt-4o"),
        ("-0", "-0"),
        ("<|endoftext|> ends a text", "<|endoftext|>"),
        ("TODO: fix the build", "TODO: fix"),
    ];
    for (content, _) in texts {
        door.done(&["remember", "--content", content]);
    }
    for (content, query) in texts {
        let (_, found) = door.json(&["recall", query]);
        let hits = found["hits"].as_array().unwrap();
        assert!(hits.iter().any(|hit| hit["content"] == content), "{query}: {found}");
    }
    for query in ["", "   ", "?!", "十万年前", "last Feb 30"] {
        let (code, answer) = door.json(&["recall", query, "--min-score", "0.5"]);
        assert!(code == 0 && answer["reason"].is_string(), "{query}: {answer}");
    }
}

#[test]
fn standard_input_is_a_text_without_its_last_line_end() {
    let door = Door::new();
    let answer = door.with_stdin(&["remember", "--json", "--content", "-"], "zwei\nZeilen\n".as_bytes());
    let got = door.json(&["get", text(&answer.only_json(), "memory_id")]).1;
    assert_eq!(got["record"]["content"], "zwei\nZeilen");
    let broken = door.with_stdin(&["remember", "--content", "-"], b"\xff\xfe");
    assert!(broken.code == 2 && broken.stderr.contains("UTF-8"), "{}", broken.stderr);
}

#[test]
fn nothing_in_a_memory_acts_on_a_terminal() {
    let door = Door::new();
    let evil = "evil \u{1b}[2J\u{9b}31m \u{202e}txt \u{7f}";
    let (_, kept) = door.json(&["remember", evil]);
    let id = text(&kept, "memory_id");
    for arguments in
        [vec!["recall", "evil"], vec!["list"], vec!["get", id], vec!["history", id], vec!["list", "--json"]]
    {
        let answer = door.done(&arguments);
        assert!(answer.stdout.contains("evil"), "{arguments:?}");
        assert!(!answer.stdout.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7f}']), "{arguments:?}");
    }
    assert_eq!(door.json(&["get", id]).1["record"]["content"], evil);
}

#[test]
fn errors_do_not_repeat_what_was_to_be_remembered() {
    let door = Door::new();
    for arguments in [
        vec!["remember", "unquoted", "bluebird"],
        vec!["remember", "bluebird", "--confidence", "7"],
        vec!["remember", "--subject", "x", "--content", "bluebird", "--store", "/dev/null/x"],
    ] {
        let answer = door.run(&[arguments.clone(), vec!["--json"]].concat());
        assert!(answer.code > 1, "{arguments:?}");
        assert!(
            !format!("{}{}", answer.stdout, answer.stderr).contains("bluebird"),
            "{}{}",
            answer.stdout,
            answer.stderr
        );
        assert_eq!(answer.only_json()["outcome"], "error");
    }
}

#[test]
fn a_closed_pipe_is_success() {
    let door = Door::new();
    door.done(&["remember", "prefers Python"]);
    for arguments in [
        vec!["reason"],
        vec!["list"],
        vec!["policy", "show"],
        vec!["recall", "python"],
        vec!["completions", "zsh"],
    ] {
        let mut child = piped(door.command(&arguments));
        drop(child.stdout.take());
        drop(child.stdin.take());
        let answer = Answer::of(child.wait_with_output().unwrap());
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{arguments:?}");
    }
}
