//! Does the same statement come again, and hold more firmly? Then it is no mere repetition: what it adds
//! must not be lost, so a new version takes the place of the one that is there.

use super::Proposal;
use crate::clock::Timestamp;
use crate::record::{Candidate, Lifetime, Record};

/// Whether the candidate says of itself what the record with the same text does not have: a higher
/// authority, a higher sensitivity, a longer life, or that it holds already.
pub(super) fn is_stronger(proposal: Proposal<'_>, record: &Record) -> bool {
    let candidate = proposal.candidate;
    // A session's end moves on with every repetition, which makes nothing more lasting.
    let lasts = candidate.lifetime == Lifetime::CrossTask || candidate.expires_at.is_some();
    let outlives = lasts
        && record.expires_at.is_some_and(|end| candidate.expires_at.is_none_or(|candidate| candidate > end));
    let begins = candidate.valid_from.or(candidate.observed_at);
    let is_sooner =
        record.valid_from > proposal.now && begins.is_some_and(|begins| begins < record.valid_from);
    candidate.authority > record.authority
        || candidate.sensitivity > record.sensitivity
        || outlives
        || is_sooner
}

/// The two as one: the record as it is, and whatever the candidate adds to it.
pub(super) fn joined(
    candidate: &Candidate,
    expires_at: Option<Timestamp>,
    record: &Record,
) -> (Candidate, Option<Timestamp>) {
    let expires_at = record.expires_at.zip(expires_at).map(|(one, other)| one.max(other));
    let begins = candidate.valid_from.or(candidate.observed_at);
    let or = |own: &Option<String>, other: &Option<String>| own.clone().or_else(|| other.clone());
    let joined = Candidate {
        content: record.content.clone(),
        subject: record.subject.clone(),
        metadata: match candidate.metadata.is_empty() {
            true => record.metadata.clone(),
            false => candidate.metadata.clone(),
        },
        authority: candidate.authority.max(record.authority),
        confidence: candidate.confidence.max(record.confidence),
        importance: candidate.importance.max(record.importance),
        sensitivity: candidate.sensitivity.max(record.sensitivity),
        lifetime: if expires_at.is_none() { Lifetime::CrossTask } else { record.lifetime },
        observed_at: candidate.observed_at.max(Some(record.observed_at)),
        valid_from: Some(begins.map_or(record.valid_from, |begins| begins.min(record.valid_from))),
        expires_at,
        write_reason: or(&candidate.write_reason, &record.write_reason),
        read_trigger: or(&candidate.read_trigger, &record.read_trigger),
        revision_path: or(&candidate.revision_path, &record.revision_path),
        reverify_before_effect: candidate.reverify_before_effect || record.reverify_before_effect,
        derived_from: record.derived_from.clone(),
        ..candidate.clone()
    };
    (joined, expires_at)
}
