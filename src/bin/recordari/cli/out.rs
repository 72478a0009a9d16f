//! Where answers and errors go: answers to standard output, as JSON or for people; notices and errors to
//! standard error. Nothing from a memory acts on a terminal.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Stdout, Write};
use std::path::PathBuf;

use recordari::text::escape_control;
use recordari::{Error, ErrorKind};
use serde_json::Value;

use crate::wire;

/// Why a command did not come to its end.
pub enum Failure {
    /// The library could not do it.
    Library(Error),
    /// The library could not open the store.
    Unopened(Error),
    /// A store that was named, and only to be read, is not there.
    NoStore(PathBuf),
    /// The arguments don't fit together.
    Usage(String),
    /// Nobody reads the output any more.
    Pipe,
    /// The output could not be written.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Library(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe { Failure::Pipe } else { Failure::Output(error) }
    }
}

impl Failure {
    /// Arguments that don't fit together.
    pub fn usage(what: impl Into<String>) -> Failure {
        Failure::Usage(what.into())
    }

    /// Who has to act.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Failure::Library(error) | Failure::Unopened(error) => error.kind(),
            Failure::Usage(_) => ErrorKind::Caller,
            Failure::NoStore(_) | Failure::Pipe | Failure::Output(_) => ErrorKind::Environment,
        }
    }

    /// What happened.
    pub fn message(&self) -> String {
        match self {
            Failure::Library(error) | Failure::Unopened(error) => error.to_string(),
            Failure::NoStore(store) => {
                format!("there is no store at {}; recordari init or remember makes one", store.display())
            }
            Failure::Usage(what) => what.clone(),
            Failure::Pipe => "nobody reads the output".to_owned(),
            Failure::Output(error) => format!("the output can't be written: {error}"),
        }
    }

    /// What to do about it, in one sentence.
    fn remedy(&self) -> &'static str {
        match self {
            Failure::Usage(_) => "See --help.",
            // What can't be opened can't be verified either.
            Failure::Unopened(Error::Corrupt(_)) => "",
            Failure::Library(error) | Failure::Unopened(error) => remedy(error),
            Failure::NoStore(_) | Failure::Pipe | Failure::Output(_) => "",
        }
    }
}

fn remedy(error: &Error) -> &'static str {
    match error {
        Error::Locked(_) => "Try again.",
        Error::Policy(_) => "Mend the policy file (recordari policy check); until then nothing is written.",
        Error::Index(_) => "Run recordari rebuild.",
        Error::Corrupt(_) => "Run recordari verify.",
        Error::Embed(_) => "See recordari model show; --model none goes on by keyword alone.",
        _ => "",
    }
}

/// The output of one command.
pub struct Out {
    json: bool,
    stdout: BufWriter<Stdout>,
}

impl Out {
    /// Output as JSON or for people.
    pub fn new(json: bool) -> Out {
        Out { json, stdout: BufWriter::new(io::stdout()) }
    }

    /// Whether programs read this.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Writes one JSON value on one line.
    pub fn json(&mut self, value: &Value) -> Result<(), Failure> {
        Ok(writeln!(self.stdout, "{}", line_of(value))?)
    }

    /// Writes a line for people. What comes from memories must have gone through [`shown`].
    pub fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        Ok(writeln!(self.stdout, "{}", text.as_ref())?)
    }

    /// Writes bytes as they are, such as a policy or a completion script.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.stdout.write_all(bytes)?)
    }

    /// Hands over what was written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.stdout.flush()?)
    }

    /// Tells the person something that is not the answer.
    pub fn notice(&self, text: impl AsRef<str>) {
        // A closed standard error is nobody's loss.
        let _ = writeln!(io::stderr(), "recordari: {}", escape_control(text.as_ref()));
    }

    /// Reports a failure: to standard error, and as JSON if programs read.
    pub fn failure(&mut self, failure: &Failure) {
        let (message, remedy) = (failure.message(), failure.remedy());
        let full = if remedy.is_empty() { message.clone() } else { format!("{message}. {remedy}") };
        for line in full.lines() {
            self.notice(line);
        }
        if self.json {
            let _ = self.json(&wire::error(failure.kind(), &message)).and_then(|()| self.flush());
        }
    }
}

/// Text of a memory on one line, with nothing in it that acts on a terminal.
pub fn shown(text: &str) -> String {
    escape_control(text).into_owned()
}

/// A JSON value as it is printed.
pub fn line_of(value: &Value) -> String {
    inert(&value.to_string())
}

/// Writes the characters that could act on a terminal and that JSON leaves alone as JSON escapes.
fn inert(json: &str) -> String {
    if matches!(escape_control(json), std::borrow::Cow::Borrowed(_)) {
        return json.to_owned();
    }
    let mut text = String::with_capacity(json.len() + 16);
    let mut one = [0; 4];
    for c in json.chars() {
        let active = matches!(escape_control(c.encode_utf8(&mut one)), std::borrow::Cow::Owned(_));
        if active {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_the_same_value_and_holds_nothing_active() {
        let value = Value::from("a\u{9b}2J\u{202e}\u{e0041}é中\u{1b}\u{7f}");
        let line = inert(&value.to_string());
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
        assert!(!line.contains(['\u{9b}', '\u{202e}', '\u{e0041}', '\u{7f}']), "{line}");
    }
}
