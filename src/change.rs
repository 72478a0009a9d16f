//! The one sentence that passes from the store to whatever follows it: at this point in the order
//! of writes, this document came into force and that one went out of it. It carries no text.

use crate::clock::Timestamp;
use crate::record::{Form, Kind};
use crate::trust::{Authority, Sensitivity};

/// A position in the one order of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// The number under which stores and indexes know a record: assigned once, ascending in the order of writes.
/// It says where the record lives: the high bits are the write that made it, the low ones its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(pub u64);

impl DocId {
    /// The record that a write made in a namespace.
    pub const fn new(made_by: Seq, namespace: NamespaceId) -> DocId {
        DocId(made_by.0 << NamespaceId::BITS | namespace.0 as u64)
    }

    /// The write that made it.
    pub const fn made_by(self) -> Seq {
        Seq(self.0 >> NamespaceId::BITS)
    }

    /// Where it lives.
    pub const fn namespace(self) -> NamespaceId {
        NamespaceId((self.0 & NamespaceId::MAX as u64) as u32)
    }
}

/// The number under which the store knows a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceId(pub u32);

impl NamespaceId {
    /// How many bits a namespace's number has.
    pub const BITS: u32 = 27;
    /// The greatest number of a namespace.
    pub const MAX: u32 = (1 << NamespaceId::BITS) - 1;
}

/// What one write did to what is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When in the order of writes.
    pub seq: Seq,
    /// Where.
    pub namespace: NamespaceId,
    /// The record that came into force.
    pub added: Option<DocId>,
    /// The record that went out of force.
    pub removed: Option<DocId>,
}

/// What must be known of a record in force to decide whether it may be considered, and to weigh it;
/// no text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Columns {
    /// The document.
    pub doc: DocId,
    /// What sort of knowledge it is.
    pub kind: Kind,
    /// In which form it came.
    pub form: Form,
    /// What happened to the evidence.
    pub authority: Authority,
    /// Who may read it.
    pub sensitivity: Sensitivity,
    /// When it was seen or said.
    pub observed_at: Timestamp,
    /// From when it holds.
    pub valid_from: Timestamp,
    /// Until when it holds.
    pub expires_at: Option<Timestamp>,
    /// How sure the writer was.
    pub confidence: f64,
    /// How much it matters.
    pub importance: f64,
    /// How many terms the analysis finds in it.
    pub terms: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_where_it_lives_and_sorts_by_its_write() {
        for (seq, namespace) in [(1, 0), (1, NamespaceId::MAX), (2, 1), ((1 << 36) - 1, 77)] {
            let doc = DocId::new(Seq(seq), NamespaceId(namespace));
            assert_eq!((doc.made_by(), doc.namespace()), (Seq(seq), NamespaceId(namespace)));
        }
        assert!(DocId::new(Seq(1), NamespaceId(NamespaceId::MAX)) < DocId::new(Seq(2), NamespaceId(0)));
    }
}
