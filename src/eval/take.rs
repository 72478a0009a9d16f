//! Takes a set in, through the same gates and the same writes as everything else.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Step;
use super::set::Set;
use crate::error::{Error, Result};
use crate::forget::Forget;
use crate::memory::Memory;
use crate::namespace::Principal;
use crate::record::RecordId;
use crate::remember::Outcome;
use crate::store::Selector;

/// How many lines are remembered in one transaction.
const BATCH: usize = 64;

/// What became of the lines.
#[derive(Default)]
pub(super) struct Taken {
    /// The record of each line that was kept. Lines that say the same share one.
    pub records: HashMap<String, RecordId>,
    /// How many lines share the record of an earlier one.
    pub duplicates: usize,
    /// How many were not kept, by reason.
    pub refused: BTreeMap<String, usize>,
}

/// Remembers every line, and brings the index up to date.
pub(super) fn take(
    memory: &Memory,
    set: &Set,
    progress: &mut dyn FnMut(Step, usize, usize),
) -> Result<Taken> {
    let mut taken = Taken::default();
    let mut seen = BTreeSet::new();
    let batches = set.lines.chunk_by(|a, b| a.namespace == b.namespace).flat_map(|lines| lines.chunks(BATCH));
    for batch in batches {
        let Some(first) = batch.first() else { continue };
        let candidates: Vec<_> = batch.iter().map(|line| line.candidate.clone()).collect();
        let outcomes = memory.remember_all(&Principal::new(first.namespace.clone()), &candidates)?;
        for (line, outcome) in batch.iter().zip(outcomes) {
            match kept(outcome)? {
                Ok(record) => {
                    taken.duplicates += usize::from(!seen.insert(record.clone()));
                    taken.records.insert(line.id.clone(), record);
                }
                Err(reason) => *taken.refused.entry(reason).or_insert(0) += 1,
            }
        }
        let refused: usize = taken.refused.values().sum();
        progress(Step::Remember, taken.records.len() + refused, set.lines.len());
    }
    memory.catch_up(&mut |_, _| {})?;
    forget(memory, set, &taken)?;
    Ok(taken)
}

/// Forgets the lines that are to be forgotten, with everything that says the same.
fn forget(memory: &Memory, set: &Set, taken: &Taken) -> Result<()> {
    for line in set.lines.iter().filter(|line| line.forgotten) {
        let principal = Principal::new(line.namespace.clone());
        let Some(record) = taken.records.get(&line.id) else { continue };
        if let Some(id) = memory.memory_of(&principal, record)? {
            memory.forget(&principal, &Forget::new(Selector::Memory(id), "evaluation"))?;
        }
    }
    Ok(())
}

/// The record that holds a line now, or why none does.
fn kept(outcome: Result<Outcome>) -> Result<Result<RecordId, String>> {
    match outcome {
        Ok(outcome @ (Outcome::Committed(_) | Outcome::Idempotent(..))) => match outcome.written() {
            Some(written) => Ok(Ok(written.record_id)),
            None => Ok(Err(outcome.code().to_owned())),
        },
        Ok(outcome) => {
            Ok(Err(outcome.reason().map_or(outcome.code(), crate::reason::Reason::code).to_owned()))
        }
        Err(Error::Invalid { field, .. }) => Ok(Err(format!("invalid_{field}"))),
        Err(error) => Err(error),
    }
}
