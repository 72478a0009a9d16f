//! What a deletion hands back: which records, when, why, how far the clean-up has come. Never content.

use serde_json::{Value, json};

use super::{Forget, Left, Sources};
use crate::clock::Timestamp;
use crate::json::namespace_to_json;
use crate::namespace::Namespace;
use crate::reason::Reason;
use crate::record::MemoryId;
use crate::store::{BELOW, DERIVED, Erased, Job, JobState, PublicKey, Selector, Store};
use crate::words::words;

/// How receipts are signed.
const ALGORITHM: &str = "ed25519";

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
    /// How far it has come.
    pub state: JobState,
    /// How much it promises.
    pub promise: Promise,
    /// What has not been cleaned up yet, and who is in the way.
    pub left: Vec<Left>,
    /// Namespace, selector, reason, ids, generations, when each step was done, counts by place, what was looked for
    /// in the end, and a keyed digest of the texts and sources.
    pub details: Value,
    /// Who signed it.
    pub key: PublicKey,
    /// The signature, in hexadecimal digits, of everything else: of [`Receipt::to_json`] without the signature, on
    /// one line without spaces between.
    pub signature: String,
}

impl Receipt {
    pub(super) fn of(store: &Store, job: &Job, left: Vec<Left>) -> Receipt {
        let mut details = job.body.clone();
        // It is said beside, from what is known now.
        if let Value::Object(details) = &mut details {
            details.remove("left");
        }
        let promise = if job.state == JobState::Completed { Promise::Erased } else { Promise::Unreadable };
        let mut receipt = Receipt {
            receipt_id: job.receipt_id.clone(),
            request_id: job.request_id.clone(),
            requested_at: job.requested_at,
            finished_at: job.finished_at,
            state: job.state,
            promise,
            left,
            details,
            key: store.public_key(),
            signature: String::new(),
        };
        receipt.signature = store.sign(receipt.unsigned().to_string().as_bytes());
        receipt
    }

    /// As the store knows it: with what kept the last try from ending the clean-up.
    pub(super) fn as_it_stands(store: &Store, job: &Job) -> Receipt {
        let one = |one: &Value| {
            let reason = Reason::from_code(one["reason"].as_str()?)?;
            Some((reason, one["detail"].as_str().unwrap_or_default().to_owned()))
        };
        let left = job.body["left"].as_array().into_iter().flatten().filter_map(one).collect();
        Receipt::of(store, job, left)
    }

    /// The receipt as JSON, signature included.
    pub fn to_json(&self) -> Value {
        let mut receipt = self.unsigned();
        receipt["signature"] =
            json!({ "algorithm": ALGORITHM, "key": self.key.to_string(), "value": self.signature });
        receipt
    }

    fn unsigned(&self) -> Value {
        let mut receipt = json!({
            "receipt_id": self.receipt_id,
            "request_id": self.request_id,
            "requested_at": self.requested_at.to_string(),
            "finished_at": self.finished_at.map(|at| at.to_string()),
            "state": self.state.code(),
            "promise": self.promise.code(),
            "left": left_to_json(&self.left),
        });
        if let (Value::Object(receipt), Value::Object(details)) = (&mut receipt, &self.details) {
            receipt.extend(details.clone());
        }
        receipt
    }
}

/// Whether a receipt, as [`Receipt::to_json`] has it, is as the holder of that key handed it out.
///
/// # Errors
/// The reason why it is not: `receipt_altered`, or `receipt_other_key` where another key is named in it.
pub fn verify_receipt(receipt: &Value, key: &PublicKey) -> std::result::Result<(), Reason> {
    let mut unsigned = receipt.clone();
    let signature = unsigned.as_object_mut().and_then(|receipt| receipt.remove("signature"));
    let signature = signature.ok_or(Reason::ReceiptAltered)?;
    let named = |name: &str| signature[name].as_str().unwrap_or_default();
    let is_whole = signature.as_object().is_some_and(|parts| parts.len() == 3);
    if !is_whole || named("algorithm") != ALGORITHM {
        return Err(Reason::ReceiptAltered);
    }
    let by_them = PublicKey::parse(named("key")).map_err(|_| Reason::ReceiptAltered)?;
    if by_them != *key {
        return Err(Reason::ReceiptOtherKey);
    }
    match key.has_signed(unsigned.to_string().as_bytes(), named("value")) {
        true => Ok(()),
        false => Err(Reason::ReceiptAltered),
    }
}

pub(super) fn left_to_json(left: &[Left]) -> Value {
    let one = |(reason, detail): &Left| json!({ "reason": reason.code(), "detail": detail });
    left.iter().map(one).collect()
}

/// What the job keeps for the receipt. A subject is content, and so is a source's name: the selector is
/// named by its sort alone, unless it is an id. No request: it was derived from what was asked for in another
/// namespace, and knows nothing of that.
pub(super) fn body(
    sources: Sources<'_>,
    request: Option<&Forget>,
    namespace: &Namespace,
    digest: &str,
    (backups, older_backups): &(Vec<String>, u64),
    erased: &Erased,
) -> Value {
    let target = match request.map(|request| &request.selector) {
        None => json!("derived"),
        Some(Selector::Memory(id)) => json!({ "memory": id.as_str() }),
        Some(Selector::Subject(_)) => json!("subject"),
        Some(Selector::Source(_)) => json!("source"),
        Some(Selector::Everything) => json!("namespace"),
        Some(Selector::Below) => json!(BELOW),
    };
    let now = sources.now.to_string();
    json!({
        "namespace": namespace_to_json(namespace),
        "selector": target,
        "reason": request.map_or(DERIVED, |request| &request.reason),
        "memory_ids": erased.memories.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        "generations": erased.generations(),
        "record_ids": erased.records.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        "kept_with_other_sources": erased.kept.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        "held": erased.held.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        "counts": {
            "namespaces": erased.namespaces.len(),
            "memories": erased.memories.len(),
            "records": erased.records.len(),
            "candidates": erased.candidates(),
            // Their ids are in receipts of their own.
            "namespaces_elsewhere": erased.elsewhere.len(),
        },
        "source_blocked": erased.blocked,
        "preview": request.and_then(|request| request.preview.as_deref()),
        "digest": digest,
        // They may hold it until they are deleted; a store that is made of one forgets it again.
        "backups": backups,
        "older_backups": older_backups,
        "steps": { "requested": now, "revoked": now },
        "deadline": sources.now.plus_seconds(60 * i64::from(sources.deadline_minutes)).to_string(),
        "places": places(erased, backups.len() as u64 + older_backups),
        "probe": null,
    })
}

/// How much there was in each place, and what has become of it: deleted, never there, kept on purpose, or not cleaned
/// up yet.
fn places(erased: &Erased, backups: u64) -> Value {
    let versions = erased.records.len() as u64;
    let place = |deleted: u64, absent: u64, retained: u64, failed: u64| json!({ "deleted": deleted, "absent": absent, "retained": retained, "failed": failed });
    json!({
        "records": place(versions, 0, 0, 0),
        "vectors": place(erased.vectors, versions - erased.vectors, 0, 0),
        "keyword_index": place(0, versions - erased.in_force, 0, erased.in_force),
        "graphs": place(0, 0, 0, 0),
        "traces": place(0, 0, 0, 0),
        "candidates": place(erased.candidates(), 0, 0, 0),
        "idempotency_keys": place(erased.idempotency_keys, 0, 0, 0),
        // Ids, times and states, without anything that was said: so that it can be told what was done.
        "history": place(0, 0, versions, 0),
        // Keyed digests, so that it stays forgotten.
        "tombstones": place(0, 0, erased.memories.len() as u64 + erased.candidates(), 0),
        "backups": place(0, 0, backups, 0),
    })
}

/// What of a deletion is told to somebody who knows its receipt, or asks for one memory of it, and does not see its
/// namespace with all that it reached.
pub(super) fn narrowed(job: Job, memory: Option<&MemoryId>) -> Job {
    let memories: Vec<&str> = memory.into_iter().map(MemoryId::as_str).collect();
    let body = json!({
        "selector": job.body["selector"],
        "counts": { "memories": memories.len() },
        "memory_ids": memories,
        "steps": job.body["steps"],
        "deadline": job.body["deadline"],
    });
    Job { body, request_id: None, ..job }
}
