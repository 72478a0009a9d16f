//! How is a pattern of the rule file read? As its own engine, Go's, would. Knows no rule.

use regex::bytes::{Regex, RegexBuilder};

/// Bounds what one pattern's automaton may take while it runs; past it, matching is slower, not wrong.
const AUTOMATON_BYTES: usize = 1 << 20;

/// How most rules of the file say that a secret ends, as it does in source code.
const CODE_END: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;
/// The same for prose, where punctuation, brackets and markup end it too.
const PROSE_END: &str = r#"(?:[\x60'"\s;,.!?:()<>\[\]{}|*&/]|\\[nr]|$)"#;

/// Lets a secret end as it does in prose; a pattern with another end stays as it is.
pub(super) fn ending_as_in_prose(pattern: &str) -> String {
    pattern.replace(CODE_END, PROSE_END)
}

/// Compiles a pattern with ASCII classes and word boundaries, which are the only ones that Go has.
pub(super) fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(&with_plain_braces(pattern))
        .unicode(false)
        .dfa_size_limit(AUTOMATON_BYTES)
        .build()
        .expect("a test compiles every pattern of the rule files")
}

/// Escapes each brace that doesn't begin a repetition: Go takes it as itself, the engine here refuses it.
fn with_plain_braces(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut escaped = false;
    for (at, character) in pattern.char_indices() {
        if character == '{' && !escaped && !begins_repetition(&pattern[at + 1..]) {
            out.push('\\');
        }
        escaped = character == '\\' && !escaped;
        out.push(character);
    }
    out
}

/// Whether what follows a brace is `3}`, `3,}` or `3,7}`.
fn begins_repetition(rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    !least.is_empty() && least.bytes().chain(most.bytes()).all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{compile, ending_as_in_prose, with_plain_braces};

    #[test]
    fn a_brace_is_a_repetition_only_where_go_has_it_so() {
        for (pattern, read) in [
            (r"a{3}b{3,}c{3,7}", r"a{3}b{3,}c{3,7}"),
            (r"^\$(?:\d+|{\d+})$", r"^\$(?:\d+|\{\d+})$"),
            (r"\{\d{0,2}}", r"\{\d{0,2}}"),
            (r"{{[^}]+}}", r"\{\{[^}]+}}"),
            (r"[\w${}@.-]+", r"[\w$\{}@.-]+"),
        ] {
            assert_eq!(with_plain_braces(pattern), read);
            compile(pattern);
        }
    }

    #[test]
    fn words_are_ascii_words() {
        assert!(compile(r"\bkey\b").is_match("是key的".as_bytes()));
    }

    #[test]
    fn a_secret_ends_at_punctuation_where_the_rule_names_the_end_of_code() {
        let pattern = r#"(x\d)(?:[\x60'"\s;]|\\[nr]|$)"#;
        assert!(!compile(pattern).is_match(b"x1, and"));
        assert!(compile(&ending_as_in_prose(pattern)).is_match(b"x1, and"));
        assert_eq!(ending_as_in_prose(r"x\b"), r"x\b");
    }
}
