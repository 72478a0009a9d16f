//! Would it be seen more widely than where it was learned? Only what the user said themselves, or a
//! person approved, may widen.

use super::{Facts, Gate, Proposal, Stop};
use crate::error::{Error, Result};
use crate::reason::Reason;
use crate::trust::Authority;

/// Refuses a namespace that the caller does not see. The message is the same whether it exists.
pub(super) fn check(proposal: Proposal<'_>) -> Result<()> {
    if proposal.principal.sees(proposal.namespace()) {
        return Ok(());
    }
    Err(Error::invalid("namespace", "must be the caller's own or a wider one of the same tenant"))
}

pub(super) fn pass(proposal: Proposal<'_>, facts: &Facts) -> Gate {
    let namespace = proposal.namespace();
    let learned_in =
        std::iter::once(&proposal.principal.namespace).chain(facts.derived_from.iter().map(|r| &r.namespace));
    let widens = learned_in.into_iter().any(|learned_in| namespace.is_wider_than(learned_in));
    if widens && proposal.candidate.authority < Authority::HumanReviewed {
        return Err(Stop::Review(Reason::ScopePromotion));
    }
    Ok(())
}
