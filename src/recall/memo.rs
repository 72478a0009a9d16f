//! What was worked out about the text of a record. A record never changes, so neither does this; it is kept
//! in memory for the next recall that reads the same one. Holds hashes, no text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::gate::secrets;
use crate::record::{Record, RecordId};
use crate::text::{Sketch, canonical, is_similar};

/// Of how many records something is kept; then it begins anew.
const KNOWN_MAX: usize = 8192;

/// What is known of records.
#[derive(Default)]
pub struct Memo {
    known: Mutex<HashMap<RecordId, Arc<Known>>>,
}

/// What a record says, as far as it takes to tell whether another says the same, and whether it may be shown
/// as it is.
pub(super) struct Known {
    sketch: Sketch,
    /// A digest of the statement, if it is one about a subject.
    value: Option<[u8; 32]>,
    /// Whether no credential stands in it: one from before the gates knew its kind may.
    pub is_clean: bool,
}

impl Memo {
    /// What is known of a record as it was just read.
    pub(super) fn of(&self, record: &Record) -> Arc<Known> {
        if let Some(known) = self.lock().get(&record.record_id) {
            return known.clone();
        }
        let known = Arc::new(Known::of(record));
        let mut all = self.lock();
        if all.len() >= KNOWN_MAX {
            all.clear();
        }
        all.insert(record.record_id.clone(), known.clone());
        known
    }

    /// Forgets everything, as when a record was forgotten.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RecordId, Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn of(record: &Record) -> Known {
        let value = || *blake3::hash(canonical(&record.content).as_bytes()).as_bytes();
        Known {
            sketch: Sketch::of(&record.content),
            value: record.subject.is_some().then(value),
            is_clean: secrets::find(&record.content).is_none(),
        }
    }

    /// Whether two records say nearly the same words. Two values of one subject are a difference to be shown,
    /// however alike they are.
    pub(super) fn is_the_same_as(&self, other: &Known, threshold: f64) -> bool {
        let differ = self.value.is_some() && other.value.is_some() && self.value != other.value;
        !differ && is_similar(&self.sketch, &other.sketch, threshold)
    }
}
