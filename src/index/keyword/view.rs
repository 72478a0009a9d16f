//! What did the index hold at one commit? A snapshot: what is written later doesn't change it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

use crate::error::{Error, Result};

use super::contain::contained;
use super::partition::Partition;
use super::payload::Payload;
use super::segment::Segment;

/// A snapshot of the index, cheap to clone.
///
/// While a view lives, the files that it reads stay readable, and on disk, though a later
/// [`Writer::purge`](super::Writer::purge) has unlinked them: the words of removed documents can
/// be recovered from a process that holds an old view, until it drops it.
#[derive(Clone)]
pub struct View {
    state: Arc<State>,
}

struct State {
    payload: Payload,
    segments: Vec<Arc<Segment>>,
}

/// A snapshot that may be gone.
pub(super) struct WeakView(Weak<State>);

impl WeakView {
    /// The generation of the snapshot, while somebody has it open.
    pub(super) fn generation(&self) -> Option<u64> {
        Some(self.0.upgrade()?.payload.generation)
    }
}

impl View {
    pub(super) fn new(payload: Payload, segments: Vec<Arc<Segment>>) -> View {
        View { state: Arc::new(State { payload, segments }) }
    }

    /// A view of nothing, which claims nothing.
    pub(super) fn empty() -> View {
        View::new(Payload::default(), Vec::new())
    }

    /// The same snapshot, without keeping it open.
    pub(super) fn downgrade(&self) -> WeakView {
        WeakView(Arc::downgrade(&self.state))
    }

    pub(super) fn segments(&self) -> &[Arc<Segment>] {
        &self.state.segments
    }

    pub(super) fn payload(&self) -> Payload {
        self.state.payload
    }

    /// Returns how far the index had applied the changes.
    pub fn watermark(&self) -> u64 {
        self.state.payload.watermark
    }

    /// Returns the name of the history that the watermark is a point in, as the committer gave it.
    pub fn history(&self) -> u64 {
        self.state.payload.history
    }

    /// Returns the generation of the commit.
    pub fn generation(&self) -> u64 {
        self.state.payload.generation
    }

    /// Gives every term of a namespace, in all its partitions, with id and frequency of each document that holds
    /// it, in no order that means anything. Removed documents are not among them.
    pub fn words_of(&self, namespace: u32, mut each: impl FnMut(&[u8], u64, u32)) -> Result<()> {
        let (from, until) = Partition::range_of_namespace(namespace);
        for segment in self.segments() {
            contained(|| segment.postings_between((&from, &until), from.len(), &mut each))?;
        }
        Ok(())
    }

    /// Returns the id of every document that is not removed, ascending.
    pub fn documents(&self) -> Result<Vec<u64>> {
        let mut documents = Vec::new();
        for segment in self.segments() {
            contained(|| {
                segment.documents(&mut documents);
                Ok(())
            })?;
        }
        documents.sort_unstable();
        Ok(documents)
    }

    /// Returns a fingerprint of what each document that is not removed holds: the sum of the fingerprints of
    /// its terms, see [`fingerprint`].
    pub fn fingerprints(&self) -> Result<HashMap<u64, u64>> {
        let mut sums = HashMap::new();
        for segment in self.segments() {
            contained(|| {
                segment.each_posting(|key, doc, frequency| {
                    let sum = sums.entry(doc).or_insert(0u64);
                    *sum = sum.wrapping_add(of_key(key, frequency));
                })
            })?;
        }
        Ok(sums)
    }

    /// Returns how many removed documents still have their terms in the files of this view.
    pub fn dead(&self) -> u64 {
        self.segments().iter().map(|segment| segment.dead()).sum()
    }

    /// Gives every term that the files of this view hold, those of removed documents included; a term
    /// may come several times, once for each segment.
    ///
    /// This is the decoder that a search for forgotten words needs: files hold terms prefix-shared and
    /// bit-packed, so that a search of their bytes proves nothing.
    pub fn for_each_term(&self, mut each: impl FnMut(Partition, &[u8])) -> Result<()> {
        for segment in self.segments() {
            let mut keys = Vec::new();
            contained(|| segment.keys(|key| keys.push(Box::<[u8]>::from(key))))?;
            for key in keys {
                let (partition, term) = Partition::split(&key)
                    .ok_or_else(|| Error::Index("a term without a partition".to_owned()))?;
                each(partition, term);
            }
        }
        Ok(())
    }
}

/// A number for a term of a document and its frequency there. Sums of it tell documents with other terms
/// apart, within one run of a program; it is not for storing.
pub fn fingerprint(partition: Partition, term: &str, frequency: u32) -> u64 {
    of_key(partition.key(term).as_bytes(), frequency)
}

fn of_key(key: &[u8], frequency: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    frequency.hash(&mut hasher);
    hasher.finish()
}
