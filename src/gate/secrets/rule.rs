//! Where does one rule find secrets in a view? Knows nothing of other rules, nor when it is worth asking.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Captures, Regex};

use super::allow::{Allowance, Target};
use super::entropy::shannon;
use super::pattern::compile;
use super::view::View;

/// A rule of the rule file; its pattern is compiled at the first use.
pub(super) struct Rule {
    id: &'static str,
    pattern: String,
    compiled: OnceLock<Regex>,
    /// The group that holds the secret; 0 for the first that took part, or else the whole match.
    group: usize,
    /// The secret must look more random than this; 0 when any will do.
    min_entropy: f64,
    allowances: Vec<Allowance>,
}

impl Rule {
    pub(super) fn new(
        id: &'static str,
        pattern: String,
        group: usize,
        min_entropy: f64,
        allowances: Vec<Allowance>,
    ) -> Rule {
        Rule { id, pattern, compiled: OnceLock::new(), group, min_entropy, allowances }
    }

    pub(super) fn id(&self) -> &'static str {
        self.id
    }

    /// Finds the secrets in `view` that neither the rule's own allowances nor `always` let pass, in
    /// order, as ranges of its bytes.
    pub(super) fn secrets<'v>(
        &'v self,
        view: &'v View<'_>,
        always: &'v Allowance,
    ) -> impl Iterator<Item = Range<usize>> + 'v {
        let bytes = view.bytes();
        self.regex().captures_iter(bytes).filter_map(move |captures| {
            let whole = captures.get(0)?.range();
            let place = self.secret(&captures)?;
            let secret = &bytes[place.clone()];
            if self.min_entropy > 0.0 && shannon(secret) <= self.min_entropy {
                return None;
            }
            let passes = |allowance: &Allowance| {
                allowance.lets_pass(
                    match allowance.target() {
                        Target::Secret => secret,
                        Target::Match => &bytes[whole.clone()],
                        Target::Line => &bytes[lines_around(bytes, &whole)],
                    },
                    secret,
                )
            };
            (!passes(always) && !self.allowances.iter().any(passes)).then_some(place)
        })
    }

    fn secret(&self, captures: &Captures<'_>) -> Option<Range<usize>> {
        if self.group > 0 {
            return captures.get(self.group).map(|group| group.range());
        }
        let group = captures.iter().skip(1).flatten().find(|group| !group.is_empty());
        group.or_else(|| captures.get(0)).map(|group| group.range())
    }

    fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| compile(&self.pattern))
    }
}

/// Widens `place` to whole lines.
fn lines_around(bytes: &[u8], place: &Range<usize>) -> Range<usize> {
    let start = bytes[..place.start].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let end = bytes[place.end..]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(bytes.len(), |newline| place.end + newline);
    start..end
}
