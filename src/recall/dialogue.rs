//! Is the query a conversation? An agent that asks before every step may ask with the last turns as they are. What a person
//! says in them tells more of what is wanted than what an assistant answers.

use crate::index::Role;

/// The longest name of a speaker before a colon, in characters.
const NAME_CHARS: usize = 40;

/// What persons say in a text of lines that begin with a name and a colon, one of them an assistant's at least; none for any
/// other text. A line without a name goes on with what was said before.
pub(super) fn said_by_persons(text: &str) -> Option<String> {
    let (mut of_persons, mut by_person, mut by_assistant) = (Vec::new(), false, false);
    let mut role = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let said = match named(line) {
            Some((name, said)) => {
                role = Some(Role::of(name));
                said
            }
            None => line,
        };
        match role? {
            Role::Assistant => by_assistant = true,
            Role::Person | Role::User => {
                by_person = true;
                of_persons.push(said);
            }
        }
    }
    (by_person && by_assistant).then(|| of_persons.join("\n"))
}

/// The name that a line begins with, and what follows it.
fn named(line: &str) -> Option<(&str, &str)> {
    let (name, said) = line.split_once([':', '：'])?;
    let is_name =
        !name.is_empty() && name.chars().count() <= NAME_CHARS && name.chars().any(char::is_alphabetic);
    is_name.then(|| (name, said.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_persons_say_is_told_from_what_an_assistant_answers() {
        let talk = "Bart: I dance tonight!\nAssistant: How fine.\nDo breathe.\nBart: What should I wear?\nSomething red?";
        assert_eq!(said_by_persons(talk).unwrap(), "I dance tonight!\nWhat should I wear?\nSomething red?");
        assert_eq!(said_by_persons("小明：我今晚跳舞\n助手：真好").unwrap(), "我今晚跳舞");
        for text in [
            "",
            "Which tea?",
            "Bart: I dance",
            "Note: a list\nTea: green",
            "Assistant: hello",
            "so\nAssistant: hello\nBart: hi",
            "::\n:",
        ] {
            assert_eq!(said_by_persons(text), None, "{text}");
        }
    }
}
