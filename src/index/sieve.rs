//! What the filters and the words look at, column by column: every recall reads all of it, so it is a fifth of
//! what the entries take.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::change::Columns;
use crate::clock::Timestamp;
use crate::record::Kind;
use crate::trust::Sensitivity;

/// Marks a slot that is out of force.
const ENDED: u8 = 1 << 7;
/// Where the kind stands; below it stands the sensitivity.
const KIND_BITS: u32 = 2;

/// The columns of a partition's slots that decide which may be considered.
#[derive(Clone, Debug, Default)]
pub struct Sieve {
    from: Vec<i64>,
    until: Vec<i64>,
    class: Vec<u8>,
    lengths: Vec<u32>,
    /// The slots that went out of force, ascending.
    ended: Vec<u32>,
    last: Last,
}

/// What passed the last time. The next query mostly asks the same, and the answer to it holds until some record
/// begins or ends to be valid.
#[derive(Debug, Default)]
struct Last(Mutex<Option<Passed>>);

#[derive(Clone, Debug)]
struct Passed {
    /// The instants for which it is the same.
    at: Range<i64>,
    clearance: Sensitivity,
    kinds: Vec<Kind>,
    allowed: Arc<Vec<bool>>,
    count: usize,
}

impl Last {
    fn set(&self, passed: Option<Passed>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = passed;
    }

    fn get(&self, at: i64, clearance: Sensitivity, kinds: &[Kind]) -> Option<Passed> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |passed: &&Passed| {
            passed.at.contains(&at) && passed.clearance == clearance && passed.kinds == kinds
        };
        last.as_ref().filter(is_same).cloned()
    }
}

impl Clone for Last {
    /// A copy is made to be changed, so it begins without.
    fn clone(&self) -> Last {
        Last::default()
    }
}

impl Sieve {
    pub(super) fn push(&mut self, columns: &Columns) {
        self.last.set(None);
        self.from.push(columns.valid_from.as_micros());
        self.until.push(columns.expires_at.map_or(i64::MAX, Timestamp::as_micros));
        self.class.push(class(columns.kind, columns.sensitivity));
        self.lengths.push(columns.terms);
    }

    pub(super) fn end(&mut self, slot: usize) {
        self.last.set(None);
        self.class[slot] |= ENDED;
        if let Err(place) = self.ended.binary_search(&(slot as u32)) {
            self.ended.insert(place, slot as u32);
        }
    }

    /// The slots that went out of force, ascending.
    pub fn ended(&self) -> &[u32] {
        &self.ended
    }

    /// Which slots are in force, of one of these kinds (of none: of any), within the clearance, and hold at
    /// that instant; and how many.
    pub fn pass(&self, at: Timestamp, clearance: Sensitivity, kinds: &[Kind]) -> (Arc<Vec<bool>>, usize) {
        let at = at.as_micros();
        let passed = self.last.get(at, clearance, kinds).unwrap_or_else(|| {
            let passed = self.sift(at, clearance, kinds);
            self.last.set(Some(passed.clone()));
            passed
        });
        (passed.allowed, passed.count)
    }

    fn sift(&self, at: i64, clearance: Sensitivity, kinds: &[Kind]) -> Passed {
        let mut passes = [false; 256];
        for kind in Kind::ALL.iter().filter(|kind| kinds.is_empty() || kinds.contains(kind)) {
            for sensitivity in Sensitivity::ALL.iter().filter(|sensitivity| **sensitivity <= clearance) {
                passes[usize::from(class(*kind, *sensitivity))] = true;
            }
        }
        // The instants at which something changes: the last until now, and the next.
        let (mut since, mut before) = (i64::MIN, i64::MAX);
        let rows = self.class.iter().zip(self.from.iter().zip(&self.until));
        let allowed: Vec<bool> = rows
            .map(|(class, (from, until))| {
                for change in [*from, *until] {
                    if change <= at {
                        since = since.max(change);
                    } else {
                        before = before.min(change);
                    }
                }
                passes[usize::from(*class)] & (*from <= at) & (at < *until)
            })
            .collect();
        let count = allowed.iter().map(|allowed| usize::from(*allowed)).sum();
        Passed { at: since..before, clearance, kinds: kinds.to_vec(), allowed: Arc::new(allowed), count }
    }

    /// Whether a slot counts in the statistics of a caller with that clearance: those of what is in force and may
    /// be read, whatever else is filtered.
    pub fn counts(&self, slot: usize, clearance: Sensitivity) -> bool {
        let class = self.class[slot];
        class & ENDED == 0 && self.sensitivity(slot) <= clearance as usize
    }

    /// The number of the class of sensitivity of a slot's record, in force or not.
    pub fn sensitivity(&self, slot: usize) -> usize {
        usize::from(self.class[slot] & ((1 << KIND_BITS) - 1))
    }

    /// How many terms each slot's record has.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    pub(super) fn bytes(&self) -> usize {
        // What passed the last time takes another byte.
        self.class.len() * 22
    }
}

fn class(kind: Kind, sensitivity: Sensitivity) -> u8 {
    (kind as u8) << KIND_BITS | sensitivity as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::DocId;
    use crate::record::Form;
    use crate::trust::Authority;

    fn columns(doc: u64, from: i64, expires: Option<i64>) -> Columns {
        let at = |micros| Timestamp::from_micros(micros).unwrap();
        Columns {
            doc: DocId(doc),
            kind: if doc.is_multiple_of(2) { Kind::Semantic } else { Kind::Episodic },
            form: Form::Observation,
            authority: Authority::UserExplicit,
            sensitivity: Sensitivity::Internal,
            observed_at: at(0),
            valid_from: at(from),
            expires_at: expires.map(at),
            confidence: 1.0,
            importance: 0.5,
            terms: 3,
        }
    }

    #[test]
    fn what_passed_the_last_time_is_never_told_of_another_question() {
        let mut sieve = Sieve::default();
        let all = [(0, None), (10, Some(20)), (15, None), (0, Some(15)), (30, Some(40))];
        for (doc, (from, expires)) in (0..).zip(all) {
            sieve.push(&columns(doc, from, expires));
        }
        let at = |micros| Timestamp::from_micros(micros).unwrap();
        let kinds: [&[Kind]; 3] = [&[], &[Kind::Semantic], &[Kind::Episodic, Kind::Semantic]];
        // Each twice, and in an order in which what was kept is now right and now wrong.
        for micros in [9, 9, 10, 12, 14, 15, 19, 20, 29, 30, 39, 40, 41, 5, 15, 15, 0, 50] {
            for clearance in [Sensitivity::Internal, Sensitivity::Public, Sensitivity::Internal] {
                for kinds in kinds {
                    let (allowed, count) = sieve.pass(at(micros), clearance, kinds);
                    let fresh = sieve.sift(micros, clearance, kinds);
                    assert_eq!((&*allowed, count), (&*fresh.allowed, fresh.count), "{micros} {kinds:?}");
                }
            }
        }
        let of_two = || sieve.pass(at(18), Sensitivity::Internal, &[]).1;
        assert_eq!(of_two(), 3);
        sieve.end(0);
        assert_eq!(sieve.pass(at(18), Sensitivity::Internal, &[]).1, 2);
        sieve.push(&columns(9, 0, None));
        assert_eq!(sieve.pass(at(18), Sensitivity::Internal, &[]).1, 3);
        let copy = sieve.clone();
        sieve.end(5);
        assert_eq!(copy.pass(at(18), Sensitivity::Internal, &[]).1, 3);
    }

    #[test]
    fn every_kind_and_sensitivity_has_a_class_of_its_own() {
        let mut classes: Vec<u8> = Vec::new();
        for kind in Kind::ALL {
            classes.extend(Sensitivity::ALL.iter().map(|sensitivity| class(*kind, *sensitivity)));
        }
        classes.sort_unstable();
        classes.dedup();
        assert_eq!(classes.len(), Kind::ALL.len() * Sensitivity::ALL.len());
        assert!(classes.iter().all(|class| *class < ENDED));
    }
}
