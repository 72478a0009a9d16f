//! The partitions in memory: loaded on first use, brought up to each snapshot's revision, dropped when
//! they take too much. Equal to the store's own rows at that revision; a test compares them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::change::{DocId, NamespaceId};
use crate::error::{Error, Result};
use crate::index::{Entry, Partition, VectorBlock, subject_hash};
use crate::store::{ModelRow, Place, Snapshot};
use crate::text::terms;

/// How many bytes of partitions are kept. Beyond it the least recently used are dropped; the ones of the
/// running recall stay whatever they take.
const BYTES_MAX: usize = 1 << 30;
/// After so many changes a partition is loaded anew instead of followed.
const CHANGES_MAX: usize = 5000;

/// The terms of a document with their frequencies.
pub type TermCounts = Arc<HashMap<String, u32>>;

/// The partitions that this process has in memory.
#[derive(Default)]
pub struct Partitions {
    kept: Mutex<Kept>,
    tails: Mutex<HashMap<DocId, TermCounts>>,
}

#[derive(Default)]
struct Kept {
    by_namespace: HashMap<NamespaceId, (Partition, u64)>,
    uses: u64,
}

impl Partitions {
    /// The partition of a namespace at the revision of `place`, with its vectors if a model is named.
    pub fn at(&self, snapshot: &Snapshot<'_>, place: &Place, model: Option<&ModelRow>) -> Result<Partition> {
        let kept = self.lock().by_namespace.get(&place.id).map(|(partition, _)| partition.clone());
        let mut partition = match kept {
            // A newer one was made for a later snapshot; what this snapshot saw must be loaded.
            Some(kept) if kept.revision() > place.revision => return load(snapshot, place, model),
            Some(kept) => follow(snapshot, place, kept)?,
            None => load(snapshot, place, None)?,
        };
        if let Some(model) = model
            && partition.vectors().is_none_or(|block| block.model != model.id.0)
        {
            partition.set_vectors(load_vectors(snapshot, place.id, model)?);
        }
        self.keep(place.id, partition.clone());
        Ok(partition)
    }

    /// The terms of a document that the keyword index does not have yet.
    pub fn tail_terms(&self, snapshot: &Snapshot<'_>, doc: DocId) -> Result<TermCounts> {
        if let Some(counts) = self.tails().get(&doc) {
            return Ok(counts.clone());
        }
        let mut counts = HashMap::new();
        // A damaged record has no words that could be trusted; resolving it is what reports it.
        let record = match snapshot.record(doc) {
            Err(Error::Corrupt(_)) => None,
            other => other?,
        };
        if let Some(record) = record {
            for term in terms(&record.indexed_text()) {
                *counts.entry(term).or_insert(0) += 1;
            }
        }
        let counts = Arc::new(counts);
        let mut tails = self.tails();
        if tails.len() >= CHANGES_MAX {
            tails.clear();
        }
        tails.insert(doc, counts.clone());
        Ok(counts)
    }

    /// Drops everything, as after a rebuild or a forget: nothing of what was erased stays in memory.
    pub fn clear(&self) {
        self.lock().by_namespace.clear();
        self.tails().clear();
    }

    fn keep(&self, namespace: NamespaceId, partition: Partition) {
        let mut kept = self.lock();
        kept.uses += 1;
        let now = kept.uses;
        kept.by_namespace.insert(namespace, (partition, now));
        let mut bytes: usize = kept.by_namespace.values().map(|(partition, _)| partition.bytes()).sum();
        while bytes > BYTES_MAX {
            let oldest = kept
                .by_namespace
                .iter()
                .filter(|(id, _)| **id != namespace)
                .min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(id, _)| *id) else { return };
            bytes -= kept.by_namespace.remove(&oldest).map_or(0, |(partition, _)| partition.bytes());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tails(&self) -> std::sync::MutexGuard<'_, HashMap<DocId, TermCounts>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load(snapshot: &Snapshot<'_>, place: &Place, model: Option<&ModelRow>) -> Result<Partition> {
    let mut subjects = HashMap::new();
    snapshot.subjects(place.id, |doc, subject| {
        subjects.insert(doc, subject_hash(subject));
    })?;
    let entry = |columns: crate::change::Columns| Entry {
        subject: subjects.get(&columns.doc).copied().unwrap_or(0),
        columns,
    };
    let entries = snapshot.columns(place.id)?.into_iter().map(entry).collect();
    let mut partition = Partition::new(place.revision, entries);
    if let Some(model) = model {
        partition.set_vectors(load_vectors(snapshot, place.id, model)?);
    }
    Ok(partition)
}

fn load_vectors(snapshot: &Snapshot<'_>, namespace: NamespaceId, model: &ModelRow) -> Result<VectorBlock> {
    let mut block = VectorBlock { model: model.id.0, dims: model.dims, owners: Vec::new(), rows: Vec::new() };
    snapshot.vectors(model.id, namespace, |doc, bytes| {
        block.owners.push(doc);
        push_numbers(&mut block.rows, bytes, model.dims)
    })?;
    Ok(block)
}

fn follow(snapshot: &Snapshot<'_>, place: &Place, mut partition: Partition) -> Result<Partition> {
    if partition.revision() == place.revision {
        return Ok(partition);
    }
    let changes = snapshot.changes(place.id, partition.revision())?;
    if changes.len() > CHANGES_MAX {
        return load(snapshot, place, None);
    }
    let removed: BTreeSet<DocId> = changes.iter().filter_map(|change| change.removed).collect();
    let came: BTreeSet<DocId> = changes.iter().filter_map(|change| change.added).collect();
    let model = partition.vectors().map(|block| (block.model, block.dims));
    let (mut added, mut vectors) = (Vec::new(), Vec::new());
    for doc in came {
        let Some(columns) = snapshot.columns_of(doc)? else {
            continue;
        };
        let subject = snapshot.subject_of(doc)?.map_or(0, |subject| subject_hash(&subject));
        added.push(Entry { columns, subject });
        if let Some((model, dims)) = model {
            snapshot.vectors_of(crate::store::ModelId(model), place.id, doc, |doc, bytes| {
                let mut numbers = Vec::with_capacity(dims);
                push_numbers(&mut numbers, bytes, dims)?;
                vectors.push((doc, numbers));
                Ok(())
            })?;
        }
    }
    partition.advance(place.revision, &removed, &added, &vectors);
    Ok(partition)
}

fn push_numbers(numbers: &mut Vec<f32>, bytes: &[u8], dims: usize) -> Result<()> {
    let (words, rest) = bytes.as_chunks::<4>();
    if words.len() != dims || !rest.is_empty() {
        return Err(Error::Corrupt(format!("a vector of {} bytes is not {dims} numbers wide", bytes.len())));
    }
    numbers.extend(words.iter().map(|word| f32::from_le_bytes(*word)));
    Ok(())
}
