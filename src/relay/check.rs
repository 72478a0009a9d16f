//! Do the derived indexes agree with the store? Compares documents both ways; changes nothing.

use std::collections::{BTreeSet, HashMap};

use super::Relay;
use crate::change::{DocId, Seq};
use crate::error::{Error, Result};
use crate::index::keyword::{self, View};
use crate::store::{Finding, Snapshot};
use crate::text::index_terms;

impl Relay {
    /// Everything in which the indexes differ from the store. What the keyword index has yet to apply is
    /// no difference: it is taken from the store. The view must be no newer than the snapshot, so it is to be taken
    /// first.
    pub fn check(view: &View, snapshot: &Snapshot<'_>) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let indexed: BTreeSet<DocId> = view.documents()?.into_iter().map(DocId).collect();
        let (mut came, mut went) = (BTreeSet::new(), BTreeSet::new());
        for change in snapshot.changes_anywhere(Seq(view.watermark()), usize::MAX >> 1)? {
            came.extend(change.added);
            went.extend(change.removed);
        }
        let in_force: BTreeSet<DocId> = snapshot.docs_in_force()?.into_iter().collect();
        for doc in in_force.difference(&indexed).filter(|doc| !came.contains(doc)) {
            findings.push(Finding::new(
                "keyword",
                format!("document {} is in force and not in the index", doc.0),
            ));
        }
        for doc in indexed.difference(&in_force).filter(|doc| !went.contains(doc)) {
            findings.push(Finding::new(
                "keyword",
                format!("document {} is in the index and not in force", doc.0),
            ));
        }
        if view.history() != snapshot.history_at(Seq(view.watermark()))? {
            findings.push(Finding::new("keyword", "the index follows the history of another store"));
        }
        let fingerprints = view.fingerprints()?;
        for doc in indexed.intersection(&in_force).filter(|doc| !came.contains(doc)) {
            if words(snapshot, *doc)?.is_some_and(|words| fingerprints.get(&doc.0).copied() != words) {
                let detail = format!("document {} has other words in the index than in the store", doc.0);
                findings.push(Finding::new("keyword", detail));
            }
        }
        for model in snapshot.models()?.iter().filter(|model| model.in_use) {
            for (doc, width) in snapshot.odd_vectors(model)? {
                findings.push(Finding::new(
                    "vectors",
                    format!("document {} has a vector of {width} bytes", doc.0),
                ));
            }
        }
        Ok(findings)
    }
}

/// The fingerprint that a document should have in the index: none of it when it has no words. None at all
/// when it can't be told, since the record is gone or damaged, which other checks report.
fn words(snapshot: &Snapshot<'_>, doc: DocId) -> Result<Option<Option<u64>>> {
    let Some(sensitivity) = snapshot.sensitivity_of(doc)? else {
        return Ok(None);
    };
    let record = match snapshot.record(doc) {
        Ok(Some(record)) => record,
        Ok(None) | Err(Error::Corrupt(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let partition = keyword::Partition { namespace: doc.namespace().0, class: sensitivity as u8 };
    let mut counts: HashMap<String, u32> = HashMap::new();
    for term in index_terms(&record.indexed_text(), &record.content) {
        *counts.entry(term).or_insert(0) += 1;
    }
    let sum = counts.iter().map(|(term, count)| keyword::fingerprint(partition, term, *count));
    Ok(Some(sum.reduce(u64::wrapping_add)))
}
