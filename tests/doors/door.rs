//! A home of its own for each test, and the command in it.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A home folder in which the command runs, with no other settings.
pub struct Door {
    pub home: tempfile::TempDir,
}

/// What a command answered.
pub struct Answer {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Door {
    pub fn new() -> Door {
        Door { home: tempfile::tempdir().unwrap() }
    }

    /// The command, without a model: vectors matter where a test says so.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_recordari"));
        command.args(arguments).current_dir(self.home.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("RECORDARI_") || name.starts_with("XDG_") {
                command.env_remove(&*name);
            }
        }
        command.env("HOME", self.home.path()).env("USER", "mei").env("RECORDARI_MODEL", "none");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed.
    pub fn done(&self, arguments: &[&str]) -> Answer {
        let answer = self.run(arguments);
        assert_eq!(answer.code, 0, "{arguments:?}: {}{}", answer.stdout, answer.stderr);
        answer
    }

    /// Runs a command with `--json`, for its code and the one object that it answers.
    pub fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let answer = self.run(&[arguments, &["--json"]].concat());
        (answer.code, answer.only_json())
    }

    pub fn with_stdin(&self, arguments: &[&str], stdin: &[u8]) -> Answer {
        let mut child = piped(self.command(arguments));
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        Answer::of(child.wait_with_output().unwrap())
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

pub fn piped(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

impl Answer {
    pub fn of(output: Output) -> Answer {
        Answer {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn only_json(&self) -> Value {
        let mut lines = self.lines();
        assert_eq!(lines.len(), 1, "{}{}", self.stdout, self.stderr);
        lines.remove(0)
    }
}

pub fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no text {key} in {value}"))
}
