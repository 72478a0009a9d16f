//! Where settings come from, and what a stranger meets first.

use crate::door::{Answer, Door, text};

#[test]
fn the_first_command_just_works() {
    let door = Door::new();
    let answer = door.done(&["remember", "prefers Python in code examples"]);
    assert!(answer.stdout.starts_with("remembered: mem_"), "{}", answer.stdout);
    let list = door.done(&["list", "--json"]).lines();
    assert_eq!(list[0]["namespace"], serde_json::json!({ "tenant": "local", "user": "mei" }));
    assert_eq!((text(&list[0], "authority"), text(&list[0]["source"], "id")), ("user_explicit", "cli"));
    assert!(door.home.path().join(".local/share/recordari/recordari.db").exists());
}

#[test]
fn flags_come_before_the_environment_and_that_before_files() {
    let door = Door::new();
    let who = |arguments: &[&str], user: Option<&str>| {
        let mut command = door.command(&[arguments, &["list"]].concat());
        if let Some(user) = user {
            command.env("RECORDARI_USER", user);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    door.done(&["init", "--store", "mine", "--tenant", "acme", "--user", "file", "--default"]);
    assert!(who(&[], None).contains("tenant=acme user=file"));
    assert!(who(&[], Some("env")).contains("tenant=acme user=env"));
    assert!(who(&["--user", "flag"], Some("env")).contains("tenant=acme user=flag"));
    assert!(who(&["--no-user"], None).contains("tenant=acme\n"));
    assert!(!door.home.path().join(".local/share/recordari").exists());
    door.write("mine/config.toml", "usr = \"x\"");
    let wrong = door.run(&["list"]);
    assert!(wrong.code == 78 && wrong.stderr.contains("\"usr\""), "{}", wrong.stderr);
}

#[test]
fn a_model_that_cannot_be_used_loses_no_write() {
    let door = Door::new();
    let with = |arguments: &[&str]| door.run(&[arguments, &["--model", "nowhere"]].concat());
    let kept = with(&["remember", "prefers Python"]);
    assert!(kept.code == 0 && kept.stderr.contains("nowhere"), "{}", kept.stderr);
    let found = with(&["recall", "python", "--json"]).only_json();
    assert_eq!(
        (text(&found, "outcome"), &found["plan"]["degraded"][0]),
        ("found", &"embedder_unavailable".into())
    );
    assert_eq!(with(&["reembed"]).code, 78);
    assert_eq!(with(&["model", "show"]).code, 2);
    let mut reembed = door.command(&["reembed", "--json"]);
    let answer = Answer::of(reembed.env_remove("RECORDARI_MODEL").output().unwrap()).only_json();
    assert_eq!((text(&answer, "outcome"), &answer["embedded"]), ("reembedded", &1.into()));
}

#[test]
fn a_write_names_one_namespace_and_wider_ones_are_seen() {
    let door = Door::new();
    let website = ["--tenant", "acme", "--project", "website"];
    let say = |more: &[&str]| door.done(&[&["remember"], more, &website].concat());
    say(&["the rule of the project", "--in", "project"]);
    say(&["a wish of mei", "--in", "user"]);
    say(&["a note of mei in the project"]);
    let seen = |flags: &[&str]| {
        let lines = door.done(&[&["list", "--json"], flags].concat()).lines();
        lines.last().unwrap()["total"].as_u64().unwrap()
    };
    assert_eq!(seen(&website), 3);
    assert_eq!(seen(&["--tenant", "acme"]), 1);
    assert_eq!(seen(&["--tenant", "acme", "--user", "tom", "--project", "website"]), 1);
    assert_eq!(seen(&["--tenant", "globex", "--project", "website"]), 0);
    assert_eq!(door.run(&["remember", "x", "--in", "project"]).code, 2);
    let (_, found) =
        door.json(&["recall", "rule of the project", "--tenant", "acme", "--project", "website"]);
    let memory = text(&found["hits"][0], "memory_id");
    let (code, done) = door.json(&["forget", "--memory", memory, "--tenant", "acme", "--project", "website"]);
    assert_eq!((code, text(&done, "outcome")), (0, "forgotten"));
}

#[test]
fn every_command_has_help_with_an_example() {
    let door = Door::new();
    let commands = [
        "demo",
        "init",
        "remember",
        "import",
        "export",
        "recall",
        "get",
        "list",
        "history",
        "correct",
        "forget",
        "review",
        "review list",
        "policy",
        "policy show",
        "policy check",
        "rebuild",
        "reembed",
        "verify",
        "trace",
        "trace show",
        "why",
        "reason",
        "stats",
        "model",
        "model show",
        "model list",
        "completions",
    ];
    for command in commands {
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.push("--help");
        let help = door.done(&arguments).stdout;
        assert!(help.contains("Example") && help.contains(&format!("recordari {command}")), "{help}");
    }
}

#[test]
fn examples_in_the_help_run() {
    let door = Door::new();
    door.done(&["remember", "prefers Python in code examples"]);
    let runnable = [
        "remember",
        "recall",
        "list",
        "review list",
        "policy show",
        "rebuild",
        "verify",
        "stats",
        "reason",
        "export",
        "model show",
    ];
    for command in runnable {
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.push("--help");
        let help = door.done(&arguments).stdout.replace("\\\n", "");
        let examples = help.split("Example").last().unwrap();
        for line in examples.lines().filter(|line| line.trim_start().starts_with("recordari ")) {
            let path = format!("{}:{}", target(), std::env::var("PATH").unwrap());
            let mut shell = std::process::Command::new("sh");
            shell.args(["-ec", line]).current_dir(door.home.path()).env("PATH", path);
            shell.env("HOME", door.home.path()).env("RECORDARI_MODEL", "none").env("USER", "mei");
            let output = shell.output().unwrap();
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn a_policy_that_cannot_be_read_is_told_on_one_line() {
    let door = Door::new();
    let cases = [
        ("[gates]\nminimum_confidence = \"high\"\n", "gates.minimum_confidence"),
        ("[gates]\nminimum_confidence 1\n", "line 2"),
    ];
    for (policy, expected) in cases {
        let file = door.write("policy.toml", policy);
        let checked = door.run(&["policy", "check", &file]);
        assert_eq!((checked.code, checked.stdout.lines().count()), (1, 1), "{}", checked.stdout);
        assert!(checked.stdout.contains(expected), "{}", checked.stdout);
        let refused = door.run(&["remember", "prefers tea", "--policy", &file]);
        assert_eq!((refused.code, refused.stderr.lines().count()), (78, 1), "{}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

fn target() -> String {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_recordari"));
    binary.parent().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_reach_below_sees_all_projects_of_the_user_and_nobody_else() {
    let door = Door::new();
    door.done(&["remember", "the website is written in Elm", "--project", "website"]);
    door.done(&["remember", "the blog is written in Nim", "--project", "blog"]);
    door.done(&["remember", "the shop is written in Ada", "--project", "shop", "--user", "tom"]);
    let found = |extra: &[&str]| {
        let arguments = [&["recall", "what is it written in?", "--json"], extra].concat();
        let answer = door.run(&arguments).only_json();
        let hits = answer["hits"].as_array().unwrap().iter();
        let mut contents: Vec<String> = hits.map(|hit| text(hit, "content").to_owned()).collect();
        contents.sort();
        contents
    };
    let (blog, website) = ("the blog is written in Nim", "the website is written in Elm");
    assert!(found(&[]).is_empty());
    assert_eq!(found(&["--project", "blog"]), [blog]);
    assert_eq!(found(&["--below"]), [blog, website]);
    assert_eq!(found(&["--no-user", "--below"]), [blog, "the shop is written in Ada", website]);
    assert_eq!(door.done(&["list", "--json", "--below"]).lines().pop().unwrap()["total"], 2);
    let elsewhere = door.json(&["remember", "hers", "--user", "tom", "--project", "x"]);
    assert_eq!(elsewhere.0, 0);
}
