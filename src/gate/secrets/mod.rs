//! Does a text hold a credential, and where? Does not know what follows from it, and never copies one.
//!
//! The rules are those of gitleaks (`gate/rules/`, as published), read as gitleaks reads them, with
//! three differences that come from judging a memory and not a file of source code:
//!
//! - a memory has no path, so a rule that is bound to a file name is applied to every text, and a
//!   rule that knows only a file name to none;
//! - prose ends a secret by punctuation ("the key is …, and"), code by a quote or a blank: both count;
//! - a text can't excuse itself: the comment `gitleaks:allow` means nothing here.
//!
//! Every rule looks at ASCII only, as in gitleaks. What is not ASCII is folded to it where a person
//! would read the same letters (full-width forms, zero-width characters) and parts words where not,
//! so that a key between Chinese characters is seen. Secrets in encoded form (base64 of a key, say),
//! letters of other scripts that merely look alike, and secrets told in a sentence without the form
//! of a credential are not found, but for passwords that are told as one in English, Chinese, Japanese
//! or Korean.

mod allow;
mod entropy;
mod pattern;
mod rule;
mod set;
mod view;

use std::fmt;

use set::RuleSet;
use view::View;

/// Where a text holds a credential, and by which rule. Holds nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    /// The rule's name in the rule file, such as `github-pat`.
    pub rule: &'static str,
    /// The byte of the text at which the credential begins.
    pub start: usize,
    /// The byte after its last; a character boundary, as `start` is.
    pub end: usize,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at bytes {}..{}", self.rule, self.start, self.end)
    }
}

/// Finds one credential in `text`, if there is any; of several, the one that the rule file names first.
pub fn find(text: &str) -> Option<Finding> {
    View::all(text).iter().find_map(|view| findings(view).next())
}

/// Finds every credential in `text`, by position. Findings of different rules may overlap.
pub fn find_all(text: &str) -> Vec<Finding> {
    let mut all: Vec<Finding> = View::all(text).iter().flat_map(findings).collect();
    all.sort_unstable_by_key(|finding| (finding.start, finding.end, finding.rule));
    all.dedup();
    all
}

fn findings<'v>(view: &'v View<'_>) -> impl Iterator<Item = Finding> + 'v {
    RuleSet::get().secrets(view).map(|(rule, place)| Finding {
        rule,
        start: view.origin(place.start),
        end: view.origin_end(place.end),
    })
}

/// Writes `text` with each credential replaced by `[secret:<rule>]`, and the rest as it was.
///
/// For the text of records that were kept before the gate looked for secrets. `None` when there is
/// nothing to replace. Credentials that overlap become one mark, named for the most specific rule.
pub fn redact(text: &str) -> Option<String> {
    let findings = find_all(text);
    if findings.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut written = 0;
    for mark in merged(&findings) {
        out.push_str(&text[written..mark.start]);
        out.push_str("[secret:");
        out.push_str(mark.rule);
        out.push(']');
        written = mark.end;
    }
    out.push_str(&text[written..]);
    Some(out)
}

/// Joins findings that overlap; expects them by position.
fn merged(findings: &[Finding]) -> Vec<Finding> {
    let mut marks: Vec<Finding> = Vec::new();
    for &finding in findings {
        match marks.last_mut() {
            Some(mark) if finding.start < mark.end => {
                mark.end = mark.end.max(finding.end);
                if is_generic(mark.rule) {
                    mark.rule = finding.rule;
                }
            }
            _ => marks.push(finding),
        }
    }
    marks
}

/// Whether the rule says only that something is secret, not what it opens.
fn is_generic(rule: &str) -> bool {
    rule.starts_with("generic")
}

#[cfg(test)]
mod tests;
