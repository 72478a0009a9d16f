//! Many candidates at once: embedded together, written in one transaction, each judged by itself.

use rayon::prelude::*;

use super::{Embedded, Outcome, Sources, embed, judge_first, settle};
use crate::error::Result;
use crate::gate::{Admitted, Proposal, Reading, Verdict};
use crate::namespace::Principal;
use crate::record::Candidate;

/// How many texts a thread reads at a time: waking one for fewer takes longer.
const READ_TOGETHER: usize = 64;

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
    let read = |(_, candidate): &(&Principal, &Candidate)| Reading::of(candidate, sources.policy);
    let readings: Vec<Result<Reading>> =
        candidates.par_iter().with_min_len(READ_TOGETHER).map(read).collect();
    let mut admitted: Vec<(usize, Box<Admitted>)> = Vec::new();
    let snapshot = sources.store.snapshot()?;
    for (place, (candidate, reading)) in candidates.iter().zip(&readings).enumerate() {
        let Ok(reading) = reading else { continue };
        if let Ok(Verdict::Allow(one)) = judge_first(sources, &snapshot, proposal(*candidate), *reading) {
            admitted.push((place, one));
        }
    }
    drop(snapshot);
    let mut embedded: Vec<Option<Embedded>> = candidates.iter().map(|_| None).collect();
    let texts: Vec<&Admitted> = admitted.iter().map(|(_, one)| one.as_ref()).collect();
    for ((place, _), vectors) in admitted.iter().zip(embed(sources.embedder, &texts)?) {
        embedded[*place] = vectors;
    }
    sources.store.write(sources.now, |writing| {
        let mut outcomes = Vec::with_capacity(candidates.len());
        for ((candidate, reading), vectors) in candidates.iter().zip(readings).zip(&embedded) {
            let settled =
                |reading| settle(writing, sources.policy, proposal(*candidate), reading, vectors.as_ref());
            match reading.and_then(settled) {
                // What is wrong with one candidate is that candidate's; what is wrong with the store is everyone's.
                Err(error) if error.kind() != crate::error::ErrorKind::Caller => return Err(error),
                outcome => outcomes.push(outcome),
            }
        }
        Ok(outcomes)
    })
}
