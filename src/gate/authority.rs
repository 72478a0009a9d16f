//! How much is it worth? Nobody claims more authority than granted, and what was only observed or
//! inferred waits for a person where the policy says so.

use super::{Gate, Policy, Proposal, Stop};
use crate::reason::Reason;
use crate::record::Kind;
use crate::trust::Authority;

pub(super) fn pass(proposal: Proposal<'_>, policy: &Policy) -> Gate {
    let candidate = proposal.candidate;
    if candidate.authority > proposal.principal.authority {
        return Err(Stop::Reject(Reason::AuthorityAboveGrant));
    }
    let inferred = candidate.authority == Authority::ModelInferred;
    if inferred
        && candidate.subject.as_deref().is_some_and(|subject| listed(subject, &policy.gates.never_inferred))
    {
        return Err(Stop::Reject(Reason::NeverInferred));
    }
    let procedure = inferred && candidate.kind == Kind::Procedural && policy.gates.review_inferred_procedures;
    let observed = candidate.authority == Authority::ToolObserved && policy.gates.review_tool_observed;
    if procedure || observed {
        return Err(Stop::Review(Reason::NeedsConfirmation));
    }
    if candidate.confidence < policy.gates.minimum_confidence {
        return Err(Stop::Review(Reason::LowConfidence));
    }
    Ok(())
}

/// Whether the subject is on the list, or lies under one that is (`health` covers `health.allergy`).
fn listed(subject: &str, list: &[String]) -> bool {
    let subject = subject.to_lowercase();
    list.iter().any(|entry| {
        subject
            .strip_prefix(entry.as_str())
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_subject_covers_what_lies_under_it_and_nothing_else() {
        let list = ["health".to_owned()];
        for subject in ["health", "Health", "health.allergy", "health/allergy", "health_record"] {
            assert!(listed(subject, &list), "{subject}");
        }
        assert!(!listed("healthcheck_url", &list));
    }
}
