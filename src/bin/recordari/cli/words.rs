//! The words of the command line: texts that begin with a hyphen are told from options before clap reads
//! them, and no error repeats what may be a memory.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::Cli;

/// A longer word is more than a name or a number, so it is not repeated.
const REPEATED_BYTES_MAX: usize = 40;

/// Puts texts that begin with a hyphen, such as a bullet item, where clap takes them as texts: behind `--`,
/// or after the `=` of the option whose value they are.
pub fn with_texts_apart(words: Vec<OsString>) -> Vec<OsString> {
    if !words.iter().any(|word| is_text(word)) {
        return words;
    }
    let mut root = Cli::command();
    root.build();
    let mut command = &root;
    let mut words = words.into_iter();
    let (mut front, mut behind) = (Vec::from_iter(words.next()), Vec::new());
    while let Some(word) = words.next() {
        if word == "--" {
            behind.extend(words);
            break;
        }
        if takes_value(command, &word) {
            match words.next() {
                Some(value) if is_text(&value) => front.push(joined(word, &value)),
                value => front.extend([word].into_iter().chain(value)),
            }
            continue;
        }
        // What follows a text stays behind it, so that the order is kept.
        let follows = !behind.is_empty() && !word.to_string_lossy().starts_with('-');
        if command.get_positionals().next().is_some() && (follows || is_text(&word)) {
            behind.push(word);
            continue;
        }
        command = command.find_subcommand(&word).unwrap_or(command);
        front.push(word);
    }
    if !behind.is_empty() {
        front.push("--".into());
    }
    front.extend(behind);
    front
}

/// Whether a word begins with a hyphen and is no option: the name of an option holds no white space.
fn is_text(word: &OsStr) -> bool {
    let word = word.to_str().unwrap_or_default();
    let name = match word.strip_prefix("--") {
        Some(long) => long.split('=').next().unwrap_or_default(),
        None => word,
    };
    word.starts_with('-') && name.contains(char::is_whitespace)
}

/// Whether the next word is the value of this one. Short options are flags; a test holds that.
fn takes_value(command: &Command, word: &OsStr) -> bool {
    let long = word.to_str().and_then(|word| word.strip_prefix("--"));
    long.is_some_and(|long| {
        command
            .get_arguments()
            .any(|argument| argument.get_long() == Some(long) && argument.get_action().takes_values())
    })
}

fn joined(mut option: OsString, value: &OsStr) -> OsString {
    option.push("=");
    option.push(value);
    option
}

/// Takes out of an error what may be a part of a memory.
pub fn hide_texts(error: &mut clap::Error) {
    hide(error, ContextKind::InvalidValue, is_long, "…");
    hide(error, ContextKind::InvalidSubcommand, is_long, "…");
    // In other errors that argument is one of this program's own.
    if error.kind() == ErrorKind::UnknownArgument {
        hide(error, ContextKind::InvalidArg, |word| word.starts_with('-') && is_long(word), "…");
        let too_many = "… (one word too many: quote a text with spaces)";
        hide(error, ContextKind::InvalidArg, |word| !word.starts_with(['-', '…']), too_many);
    }
}

fn hide(error: &mut clap::Error, kind: ContextKind, is_hidden: fn(&str) -> bool, instead: &str) {
    if let Some(ContextValue::String(word)) = error.get(kind)
        && is_hidden(word)
    {
        error.insert(kind, ContextValue::String(instead.to_owned()));
        // The tip repeats the word.
        error.remove(ContextKind::Suggested);
    }
}

fn is_long(word: &str) -> bool {
    word.len() > REPEATED_BYTES_MAX || word.contains(char::is_whitespace)
}

/// What is wrong, on one line: everything that clap says before it shows the usage.
pub fn message(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let said = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty());
    said.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(words: &[&str]) -> Vec<String> {
        let words = with_texts_apart(words.iter().map(OsString::from).collect());
        words.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn texts_that_begin_with_a_hyphen_are_told_from_options() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["r", "remember", "- a b", "--json"], &["r", "remember", "--json", "--", "- a b"]),
            (&["r", "recall", "-q a", "-q"], &["r", "recall", "-q", "--", "-q a"]),
            (&["r", "--store", "s", "recall", "-- a"], &["r", "--store", "s", "recall", "--", "-- a"]),
            (
                &["r", "why", "rec_x", "-a b", "--tag", "t"],
                &["r", "why", "rec_x", "--tag", "t", "--", "-a b"],
            ),
            (&["r", "why", "-a b", "c"], &["r", "why", "--", "-a b", "c"]),
            (&["r", "forget", "--reason", "- a b", "-y"], &["r", "forget", "--reason=- a b", "-y"]),
            (&["r", "forget", "- a b"], &["r", "forget", "- a b"]),
            (&["r", "remember", "--contnet=a b"], &["r", "remember", "--contnet=a b"]),
            (&["r", "remember", "--multi", "--", "- a b"], &["r", "remember", "--multi", "--", "- a b"]),
            (&["r", "- a b"], &["r", "- a b"]),
        ];
        for (given, expected) in cases {
            assert_eq!(apart(given), *expected);
        }
    }
}
