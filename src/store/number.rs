//! Where a record lies: the table's ids put its namespace first, the numbers that the rest of the program
//! uses put the write first, and both say the same. Knows no SQL.

use crate::change::{DocId, NamespaceId, Seq};
use crate::error::{Error, Result};

/// How many bits of an id are the seq of the event that made the record; see the schema.
pub(super) const SEQ_BITS: u32 = 36;
const SEQ_MAX: u64 = (1 << SEQ_BITS) - 1;

/// The id of a document's row.
pub(super) fn row_of(doc: DocId) -> i64 {
    (i64::from(doc.namespace().0) << SEQ_BITS) | doc.made_by().0 as i64
}

/// The document of a row.
pub(super) fn doc_of(row: i64) -> DocId {
    DocId::new(Seq(row as u64 & SEQ_MAX), NamespaceId((row >> SEQ_BITS) as u32))
}

/// The ids that the rows of a namespace lie between, both included.
pub(super) fn rows_of(namespace: NamespaceId) -> (i64, i64) {
    let first = i64::from(namespace.0) << SEQ_BITS;
    (first, first | SEQ_MAX as i64)
}

/// A new document, if its numbers fit into an id.
pub(super) fn new_doc(made_by: Seq, namespace: NamespaceId) -> Result<DocId> {
    if made_by.0 > SEQ_MAX || namespace.0 > NamespaceId::MAX {
        let full = format!("the store is full: {SEQ_MAX} writes and {} namespaces", NamespaceId::MAX);
        return Err(Error::Database(full.into()));
    }
    Ok(DocId::new(made_by, namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_documents_say_the_same() {
        for (seq, namespace) in [(1, 1), (SEQ_MAX, NamespaceId::MAX), (7, 0)] {
            let doc = new_doc(Seq(seq), NamespaceId(namespace)).unwrap();
            assert_eq!(doc_of(row_of(doc)), doc);
            let (first, last) = rows_of(NamespaceId(namespace));
            assert!((first..=last).contains(&row_of(doc)));
        }
        assert!(rows_of(NamespaceId(1)).1 < rows_of(NamespaceId(2)).0);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(new_doc(Seq(SEQ_MAX + 1), NamespaceId(1)).is_err());
        assert!(new_doc(Seq(1), NamespaceId(NamespaceId::MAX + 1)).is_err());
    }
}
