//! What do a candidate's texts say by themselves? Worked out once, before anything is asked of the store or
//! kept from it: reading takes longer than all other gates.

use super::{Policy, secrets, value};
use crate::error::Result;
use crate::record::{Candidate, MetaValue};

/// What the gates need to know of a candidate's texts, which are within their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// A credential stands in one of them.
    pub(super) has_secret: bool,
    /// Nothing is left of the content once small talk is taken away.
    pub(super) says_nothing: bool,
}

impl Reading {
    /// Reads a candidate.
    ///
    /// # Errors
    /// `Invalid` when the candidate breaks a bound.
    pub fn of(candidate: &Candidate, policy: &Policy) -> Result<Reading> {
        candidate.check()?;
        Ok(Reading {
            has_secret: texts(candidate).any(|text| secrets::find(text).is_some()),
            says_nothing: value::says_nothing(&candidate.content, &policy.gates.small_talk),
        })
    }
}

/// Every text of a candidate that could carry a secret: all of them reach the disk.
fn texts(candidate: &Candidate) -> impl Iterator<Item = &str> {
    let notes = [
        candidate.subject.as_deref(),
        candidate.write_reason.as_deref(),
        candidate.read_trigger.as_deref(),
        candidate.revision_path.as_deref(),
        candidate.episode.as_ref().map(|episode| episode.session.as_str()),
        candidate.source.as_ref().map(|source| source.id.as_str()),
        candidate.source.as_ref().and_then(|source| source.locator.as_deref()),
        candidate.source.as_ref().and_then(|source| source.speaker.as_deref()),
    ];
    let metadata = candidate.metadata.iter().flat_map(|(key, value)| {
        let texts: Vec<&str> = match value {
            MetaValue::Text(text) => vec![text],
            MetaValue::List(items) => items.iter().map(String::as_str).collect(),
            MetaValue::Null | MetaValue::Bool(_) | MetaValue::Number(_) => Vec::new(),
        };
        std::iter::once(key.as_str()).chain(texts)
    });
    std::iter::once(candidate.content.as_str()).chain(notes.into_iter().flatten()).chain(metadata)
}
