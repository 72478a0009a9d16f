//! Is it meant to last? What is said for this once is not kept, and what is said for this session
//! ends with it.

use super::{Gate, Policy, Proposal, Stop};
use crate::clock::Timestamp;
use crate::reason::Reason;
use crate::record::Lifetime;

pub(super) fn pass(proposal: Proposal<'_>) -> Gate {
    match proposal.candidate.lifetime {
        Lifetime::OneTime => Err(Stop::Reject(Reason::OneTimeContent)),
        Lifetime::Session | Lifetime::CrossTask => Ok(()),
    }
}

/// The candidate's own expiry; a session's content without one ends after the policy's hours.
pub(super) fn expiry(proposal: Proposal<'_>, policy: &Policy) -> Option<Timestamp> {
    let session_end = || match proposal.candidate.lifetime {
        Lifetime::Session => Some(proposal.now.plus_seconds(i64::from(policy.gates.session_hours) * 3600)),
        Lifetime::OneTime | Lifetime::CrossTask => None,
    };
    proposal.candidate.expires_at.or_else(session_end)
}
