//! Many candidates at once: embedded together, written in one transaction, each judged by itself.

use super::{Embedded, Outcome, Sources, embed, judge_first, settle};
use crate::error::Result;
use crate::gate::{Admitted, Proposal, Verdict};
use crate::namespace::Principal;
use crate::record::Candidate;

/// Remembers many candidates of one or several callers durably in one transaction. Each has its own
/// outcome or its own error; one that is refused does not touch the others.
///
/// # Errors
/// Only what keeps the whole transaction from being written; nothing of it is stored then.
pub fn remember_all(
    sources: Sources<'_>,
    candidates: &[(&Principal, &Candidate)],
) -> Result<Vec<Result<Outcome>>> {
    let proposal =
        |(principal, candidate)| Proposal { candidate, principal, corrects: None, now: sources.now };
    let mut admitted: Vec<(usize, Box<Admitted>)> = Vec::new();
    for (place, candidate) in candidates.iter().enumerate() {
        if let Ok(Verdict::Allow(one)) = judge_first(sources, proposal(*candidate)) {
            admitted.push((place, one));
        }
    }
    let mut embedded: Vec<Option<Embedded>> = candidates.iter().map(|_| None).collect();
    let texts: Vec<&Admitted> = admitted.iter().map(|(_, one)| one.as_ref()).collect();
    for ((place, _), vectors) in admitted.iter().zip(embed(sources.embedder, &texts)?) {
        embedded[*place] = vectors;
    }
    sources.store.write(sources.now, |writing| {
        let mut outcomes = Vec::with_capacity(candidates.len());
        for (candidate, vectors) in candidates.iter().zip(&embedded) {
            let outcome = settle(writing, sources.policy, proposal(*candidate), vectors.as_ref());
            match outcome {
                // What is wrong with one candidate is that candidate's; what is wrong with the store is everyone's.
                Err(error) if error.kind() != crate::error::ErrorKind::Caller => return Err(error),
                outcome => outcomes.push(outcome),
            }
        }
        Ok(outcomes)
    })
}
