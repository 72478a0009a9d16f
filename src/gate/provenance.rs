//! Where does it come from? Everything names its source and time; a withdrawn source and old
//! evidence for a forgotten memory stay out, and its words until the person brings them back.

use super::{Facts, Gate, Proposal, Stop};
use crate::reason::Reason;
use crate::trust::Authority;

/// How far ahead of this machine's clock an observation may lie, in seconds: two machines' clocks
/// differ a little, and that is no reason to refuse.
const CLOCK_SKEW_SECONDS: i64 = 300;

pub(super) fn pass(proposal: Proposal<'_>, facts: &Facts) -> Gate {
    let candidate = proposal.candidate;
    if candidate.source.is_none() {
        return Err(Stop::Reject(Reason::MissingSource));
    }
    let Some(observed_at) = candidate.observed_at else {
        return Err(Stop::Reject(Reason::MissingObservedAt));
    };
    if observed_at > proposal.now.plus_seconds(CLOCK_SKEW_SECONDS) {
        return Err(Stop::Reject(Reason::ObservedInFuture));
    }
    if facts.source_withdrawn {
        return Err(Stop::Reject(Reason::SourceWithdrawn));
    }
    // A late writer still holds evidence from before the deletion; only newer evidence, from
    // elsewhere, may bring the memory back.
    let late = facts.forgotten_at.is_some_and(|forgotten_at| observed_at <= forgotten_at);
    if late || facts.forgotten_source {
        return Err(Stop::Reject(Reason::MemoryDeleted));
    }
    // The same words come back by the person's own word alone; where they are in force that was given, or some other
    // memory says them.
    let renewed = candidate.renew_consent
        && matches!(facts.authority_of(candidate), Authority::UserExplicit | Authority::HumanReviewed);
    if facts.forgotten_words && !facts.words_in_force && !renewed {
        return Err(Stop::Reject(Reason::BlockedByTombstone));
    }
    if facts.derived_from.len() < candidate.derived_from.len() {
        return Err(Stop::Reject(Reason::SourceUnavailable));
    }
    Ok(())
}
