//! The one sentence that passes from the store to whatever follows it: at this point in the order
//! of writes, this document came into force and that one went out of it. It carries no text.

use crate::clock::Timestamp;
use crate::record::{Form, Kind};
use crate::trust::{Authority, Sensitivity};

/// A position in the one order of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// The number under which indexes know a record: assigned once, in the order of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(pub u64);

/// The number under which the store knows a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceId(pub u32);

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
