//! What a deletion hands back: which records, when, why, how far the clean-up has come. Never content.

use serde_json::{Value, json};

use crate::clock::Timestamp;
use crate::json::namespace_to_json;
use crate::namespace::Namespace;
use crate::reason::Reason;
use crate::store::{Erased, Job, Selector};
use crate::words::words;

words! {
    /// How much a receipt promises.
    Promise("promise") {
        /// No interface returns it; files may still hold bytes of it.
        Unreadable = "unreadable",
        /// No file of the store holds a byte of it. File-system snapshots, backups and copies that others
        /// took are not covered.
        Erased = "erased",
    }
}

/// The receipt of a deletion.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Its id.
    pub receipt_id: String,
    /// The caller's id of the request.
    pub request_id: Option<String>,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When the clean-up ended; none while it has not.
    pub finished_at: Option<Timestamp>,
    /// How much it promises.
    pub promise: Promise,
    /// What has not been cleaned up yet, and who is in the way.
    pub left: Vec<(Reason, String)>,
    /// Namespace, selector, reason, ids and counts.
    pub details: Value,
}

impl Receipt {
    pub(super) fn of(job: &Job, promise: Promise, left: Vec<(Reason, String)>) -> Receipt {
        Receipt {
            receipt_id: job.receipt_id.clone(),
            request_id: job.request_id.clone(),
            requested_at: job.requested_at,
            finished_at: job.finished_at,
            promise,
            left,
            details: job.body.clone(),
        }
    }

    /// The receipt as JSON.
    pub fn to_json(&self) -> Value {
        let left = |(reason, detail): &(Reason, String)| json!({ "reason": reason.code(), "detail": detail });
        let mut receipt = json!({
            "receipt_id": self.receipt_id,
            "request_id": self.request_id,
            "requested_at": self.requested_at.to_string(),
            "finished_at": self.finished_at.map(|at| at.to_string()),
            "promise": self.promise.code(),
            "left": self.left.iter().map(left).collect::<Vec<_>>(),
        });
        if let (Value::Object(receipt), Value::Object(details)) = (&mut receipt, &self.details) {
            receipt.extend(details.clone());
        }
        receipt
    }
}

/// What the job keeps for the receipt. A subject is content, and so is a source's name: the selector is
/// named by its sort alone, unless it is an id.
pub(super) fn body(namespace: &Namespace, selector: &Selector, reason: &str, erased: &Erased) -> Value {
    let target = match selector {
        Selector::Memory(id) => json!({ "memory": id.as_str() }),
        Selector::Subject(_) => json!("subject"),
        Selector::Source(_) => json!("source"),
        Selector::Everything => json!("namespace"),
    };
    json!({
        "namespace": namespace_to_json(namespace),
        "selector": target,
        "reason": reason,
        "memory_ids": erased.memories.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        "record_ids": erased.records.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        "kept_with_other_sources": erased.kept.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        "held": erased.held.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        "counts": {
            "memories": erased.memories.len(),
            "records": erased.records.len(),
            "candidates": erased.candidates,
        },
        "source_blocked": erased.blocked,
    })
}
