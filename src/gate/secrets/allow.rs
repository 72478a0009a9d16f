//! Which matches are known not to be secrets? Placeholders, examples and names, as the rule files list them.
//!
//! Knows no path: an allowance that needs one never applies to a memory.

use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;

use super::pattern::compile;

/// What an allowance's patterns look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The secret alone.
    Secret,
    /// The whole match, with the name that the secret is given.
    Match,
    /// The lines on which the match lies.
    Line,
}

/// One list of allowances; any entry of it is enough.
pub(super) struct Allowance {
    target: Target,
    patterns: Vec<String>,
    compiled: OnceLock<Vec<Regex>>,
    stopwords: Vec<String>,
    stopword_finder: OnceLock<AhoCorasick>,
}

impl Allowance {
    pub(super) fn new(target: Target, patterns: Vec<String>, stopwords: Vec<String>) -> Allowance {
        Allowance { target, patterns, compiled: OnceLock::new(), stopwords, stopword_finder: OnceLock::new() }
    }

    /// What [`Allowance::lets_pass`] wants to see.
    pub(super) fn target(&self) -> Target {
        self.target
    }

    /// Whether what the patterns look at, or a word inside the secret, tells that it is none.
    pub(super) fn lets_pass(&self, seen: &[u8], secret: &[u8]) -> bool {
        self.compiled().iter().any(|pattern| pattern.is_match(seen))
            || (!self.stopwords.is_empty() && self.stopword_finder().is_match(secret))
    }

    fn compiled(&self) -> &[Regex] {
        self.compiled.get_or_init(|| self.patterns.iter().map(|pattern| compile(pattern)).collect())
    }

    fn stopword_finder(&self) -> &AhoCorasick {
        self.stopword_finder.get_or_init(|| {
            AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(&self.stopwords)
                .expect("a rule file's stop words fit into one automaton")
        })
    }
}
