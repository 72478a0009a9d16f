//! One namespace in memory: the columns of every record in force, in the order of documents, and their
//! vectors. Knows how to follow changes, not where they come from.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::change::{Columns, DocId, Seq};
use crate::text::canonical;

/// A record in force: its columns, and a hash of its subject's words (0: no subject).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The columns.
    pub columns: Columns,
    /// See [`subject_hash`].
    pub subject: u64,
}

/// The vectors of a namespace, contiguous, in the order of documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorBlock {
    /// The number of the model that made them.
    pub model: u32,
    /// The width of each.
    pub dims: usize,
    /// Whose vector each row is; a long text has several rows.
    pub owners: Vec<DocId>,
    /// The rows.
    pub rows: Vec<f32>,
}

/// One namespace at one revision. Cloning is cheap: the parts are shared until one changes.
#[derive(Clone, Debug, Default)]
pub struct Partition {
    revision: Seq,
    entries: Arc<Vec<Entry>>,
    vectors: Option<Arc<VectorBlock>>,
}

impl Partition {
    /// A partition at that revision; entries in the order of documents.
    pub fn new(revision: Seq, entries: Vec<Entry>) -> Partition {
        debug_assert!(entries.is_sorted_by_key(|entry| entry.columns.doc));
        Partition { revision, entries: Arc::new(entries), vectors: None }
    }

    /// The last write that it has followed.
    pub fn revision(&self) -> Seq {
        self.revision
    }

    /// The records in force, in the order of documents. A position in this slice is a slot.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The vectors, once loaded.
    pub fn vectors(&self) -> Option<&VectorBlock> {
        self.vectors.as_deref()
    }

    /// Takes on the vectors of this same revision.
    pub fn set_vectors(&mut self, vectors: VectorBlock) {
        self.vectors = Some(Arc::new(vectors));
    }

    /// The slot of a document. `near` is where to look first: postings come mostly in order, so the
    /// next slot after the last one found is usually right.
    pub fn slot(&self, doc: DocId, near: usize) -> Option<usize> {
        let entries = &self.entries;
        match entries.get(near) {
            Some(entry) if entry.columns.doc == doc => Some(near),
            _ => entries.binary_search_by_key(&doc, |entry| entry.columns.doc).ok(),
        }
    }

    /// Follows the store to `revision`: these went out of force, those came into it. Vectors of what
    /// came are handed in for the model of the block, as rows in the order of `added`.
    pub fn advance(
        &mut self,
        revision: Seq,
        removed: &BTreeSet<DocId>,
        added: &[Entry],
        added_vectors: &[(DocId, Vec<f32>)],
    ) {
        self.revision = revision;
        if removed.is_empty() && added.is_empty() {
            return;
        }
        let replaced: BTreeSet<DocId> = added.iter().map(|entry| entry.columns.doc).collect();
        let gone = |doc: &DocId| removed.contains(doc) || replaced.contains(doc);
        let in_order = |last: Option<DocId>| {
            added.first().is_none_or(|first| last.is_none_or(|last| last < first.columns.doc))
        };
        let entries = Arc::make_mut(&mut self.entries);
        entries.retain(|entry| !gone(&entry.columns.doc));
        let appends = in_order(entries.last().map(|entry| entry.columns.doc));
        entries.extend_from_slice(added);
        if !appends {
            entries.sort_by_key(|entry| entry.columns.doc);
        }
        if let Some(vectors) = &mut self.vectors {
            let block = Arc::make_mut(vectors);
            block.remove(&gone);
            block.insert(added_vectors);
        }
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let vectors = self.vectors.as_ref().map_or(0, |block| block.rows.len() * 4 + block.owners.len() * 8);
        self.entries.len() * size_of::<Entry>() + vectors
    }
}

impl VectorBlock {
    fn remove(&mut self, gone: &dyn Fn(&DocId) -> bool) {
        if !self.owners.iter().any(gone) {
            return;
        }
        let mut kept = 0;
        for row in 0..self.owners.len() {
            if gone(&self.owners[row]) {
                continue;
            }
            self.owners[kept] = self.owners[row];
            self.rows.copy_within(row * self.dims..(row + 1) * self.dims, kept * self.dims);
            kept += 1;
        }
        self.owners.truncate(kept);
        // What a forgotten record meant stays in no memory of this process either.
        self.rows[kept * self.dims..].fill(0.0);
        self.rows.truncate(kept * self.dims);
    }

    fn insert(&mut self, added: &[(DocId, Vec<f32>)]) {
        for (doc, vector) in added {
            if vector.len() != self.dims {
                continue;
            }
            let at = self.owners.partition_point(|owner| owner <= doc);
            self.owners.insert(at, *doc);
            self.rows.splice(at * self.dims..at * self.dims, vector.iter().copied());
        }
    }
}

/// A hash of the words of a subject, so that `preferred_language`, `Preferred-Language` and the words
/// "preferred language" in a query meet. A collision costs a lookup, never a wrong answer: the subject is
/// compared again when the record is resolved. Never 0.
pub fn subject_hash(subject: &str) -> u64 {
    let words = canonical(subject).replace(|c: char| !c.is_alphanumeric(), " ");
    let joined = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let digest = blake3::hash(joined.as_bytes());
    let hash = u64::from_le_bytes(digest.as_bytes()[..8].try_into().expect("a digest has 32 bytes"));
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::record::{Form, Kind};
    use crate::trust::{Authority, Sensitivity};

    fn entry(doc: u64) -> Entry {
        let at = Timestamp::from_micros(0).unwrap();
        let columns = Columns {
            doc: DocId(doc),
            kind: Kind::Semantic,
            form: Form::Observation,
            authority: Authority::UserExplicit,
            sensitivity: Sensitivity::Internal,
            observed_at: at,
            valid_from: at,
            expires_at: None,
            confidence: 1.0,
            importance: 0.5,
            terms: 3,
        };
        Entry { columns, subject: 0 }
    }

    #[test]
    fn following_changes_equals_loading_anew() {
        let mut partition = Partition::new(Seq(1), vec![entry(1), entry(2), entry(5)]);
        let block = VectorBlock {
            model: 1,
            dims: 2,
            owners: vec![DocId(1), DocId(2), DocId(2), DocId(5)],
            rows: vec![1., 1., 2., 2., 2., 2., 5., 5.],
        };
        partition.set_vectors(block);
        partition.advance(
            Seq(4),
            &BTreeSet::from([DocId(2)]),
            &[entry(3), entry(7)],
            &[(DocId(3), vec![3., 3.]), (DocId(7), vec![7., 7.])],
        );
        let docs: Vec<u64> = partition.entries().iter().map(|entry| entry.columns.doc.0).collect();
        assert_eq!(docs, [1, 3, 5, 7]);
        let block = partition.vectors().unwrap();
        assert_eq!(block.owners, [1, 3, 5, 7].map(DocId));
        assert_eq!(block.rows, [1., 1., 3., 3., 5., 5., 7., 7.]);
        assert_eq!(partition.slot(DocId(5), 0), Some(2));
        assert_eq!(partition.slot(DocId(2), 1), None);
    }

    #[test]
    fn a_subject_meets_its_words() {
        assert_eq!(subject_hash("preferred_language"), subject_hash("Preferred-Language"));
        assert_eq!(subject_hash("preferred language"), subject_hash("preferred.language"));
        assert_ne!(subject_hash("preferred"), subject_hash("preferred language"));
    }
}
