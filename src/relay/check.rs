//! Do the derived indexes agree with the store? Compares documents both ways; changes nothing.

use std::collections::BTreeSet;

use super::Relay;
use crate::change::{DocId, Seq};
use crate::error::Result;
use crate::store::{Finding, Snapshot};

impl Relay {
    /// Everything in which the indexes differ from the store. What the keyword index has yet to apply is
    /// no difference: it is searched directly.
    pub fn check(&self, snapshot: &Snapshot<'_>) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let view = self.view();
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
