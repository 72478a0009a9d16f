//! What the filters and the words look at, column by column: every recall reads all of it, so it is a fifth of
//! what the entries take.

use crate::change::Columns;
use crate::clock::Timestamp;
use crate::record::Kind;
use crate::trust::Sensitivity;

/// Marks a slot that is out of force.
const ENDED: u8 = 1 << 7;
/// Where the kind stands; below it stands the sensitivity.
const KIND_BITS: u32 = 2;

/// The columns of a partition's slots that decide which may be considered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sieve {
    from: Vec<i64>,
    until: Vec<i64>,
    class: Vec<u8>,
    lengths: Vec<u32>,
}

impl Sieve {
    pub(super) fn push(&mut self, columns: &Columns) {
        self.from.push(columns.valid_from.as_micros());
        self.until.push(columns.expires_at.map_or(i64::MAX, Timestamp::as_micros));
        self.class.push(class(columns.kind, columns.sensitivity));
        self.lengths.push(columns.terms);
    }

    pub(super) fn end(&mut self, slot: usize) {
        self.class[slot] |= ENDED;
    }

    /// Which slots are in force, of one of these kinds (of none: of any), within the clearance, and hold at
    /// that instant; and how many.
    pub fn pass(&self, at: Timestamp, clearance: Sensitivity, kinds: &[Kind]) -> (Vec<bool>, usize) {
        let mut passes = [false; 256];
        for kind in Kind::ALL.iter().filter(|kind| kinds.is_empty() || kinds.contains(kind)) {
            for sensitivity in Sensitivity::ALL.iter().filter(|sensitivity| **sensitivity <= clearance) {
                passes[usize::from(class(*kind, *sensitivity))] = true;
            }
        }
        let at = at.as_micros();
        let rows = self.class.iter().zip(self.from.iter().zip(&self.until));
        let allowed: Vec<bool> = rows
            .map(|(class, (from, until))| passes[usize::from(*class)] & (*from <= at) & (at < *until))
            .collect();
        let count = allowed.iter().map(|allowed| usize::from(*allowed)).sum();
        (allowed, count)
    }

    /// Whether a slot counts in the statistics of a caller with that clearance: those of what is in force and may
    /// be read, whatever else is filtered.
    pub fn counts(&self, slot: usize, clearance: Sensitivity) -> bool {
        let class = self.class[slot];
        class & ENDED == 0 && class & ((1 << KIND_BITS) - 1) <= clearance as u8
    }

    /// How many terms a slot's record has.
    pub fn length(&self, slot: usize) -> u32 {
        self.lengths[slot]
    }

    pub(super) fn bytes(&self) -> usize {
        self.class.len() * 21
    }
}

fn class(kind: Kind, sensitivity: Sensitivity) -> u8 {
    (kind as u8) << KIND_BITS | sensitivity as u8
}

#[cfg(test)]
mod tests {
    use super::*;

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
