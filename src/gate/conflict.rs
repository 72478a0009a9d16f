//! Does it contradict what is in force? A single-valued subject changes by correction only, and a
//! correction names the record that it saw.

use super::{Facts, Gate, Proposal, Stop};
use crate::reason::Reason;

pub(super) fn pass(proposal: Proposal<'_>, facts: &Facts) -> Gate {
    let Some(current) = &facts.current else {
        return Ok(());
    };
    match proposal.corrects {
        None if facts.replaced(proposal).is_some() => Ok(()),
        None => Err(Stop::Conflict(Reason::ConflictRequiresCorrection, Box::new(current.clone()))),
        Some(expected) if *expected != current.record_id => {
            Err(Stop::Conflict(Reason::StaleExpectedRecord, Box::new(current.clone())))
        }
        Some(_) if proposal.candidate.authority < current.authority => {
            Err(Stop::Review(Reason::LowerAuthority))
        }
        Some(_) => Ok(()),
    }
}
