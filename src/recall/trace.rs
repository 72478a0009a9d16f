//! What is kept of a recall: ids, reasons, parts, plan and timings. No text of a memory or a query.

use serde_json::{Value, json};

use super::{Hit, Query, Recalled};
use crate::json::namespace_to_json;
use crate::reason::Reason;
use crate::record::RecordId;

/// The body of a recall's trace; the projection stands in it as a keyed digest.
pub fn trace_body(answer: &Recalled, query: &Query, projection_digest: &str) -> Value {
    json!({
        "outcome": if answer.hits.is_empty() { "empty" } else { "found" },
        "reason": answer.reason.map(Reason::code),
        "task": query.task,
        "query_characters": query.text.chars().count(),
        "hits": answer.hits.iter().map(hit).collect::<Vec<_>>(),
        "left_out": answer.left_out.iter().map(left_out).collect::<Vec<_>>(),
        "plan": plan(answer),
        "projection_digest": projection_digest,
    })
}

/// What was done to answer, as JSON.
pub fn plan(answer: &Recalled) -> Value {
    let plan = &answer.plan;
    let kept_out: serde_json::Map<String, Value> =
        plan.kept_out.iter().map(|(reason, count)| (reason.code().to_owned(), (*count).into())).collect();
    json!({
        "mode": plan.mode.code(),
        "searches": plan.searches,
        "namespaces": plan.namespaces.iter().map(namespace_to_json).collect::<Vec<_>>(),
        "allowed": plan.allowed,
        "kept_out": kept_out,
        "model": plan.model,
        "policy_version": plan.policy_version,
        "degraded": plan.degraded.iter().map(|reason| reason.code()).collect::<Vec<_>>(),
        "timings": { "embed_us": plan.timings.embed_us, "gather_us": plan.timings.gather_us, "rank_us": plan.timings.rank_us },
    })
}

fn hit(hit: &Hit) -> Value {
    let parts: serde_json::Map<String, Value> =
        hit.parts.iter().map(|part| (part.name.to_owned(), part.contribution.into())).collect();
    json!({ "record_id": hit.record.record_id.as_str(), "score": hit.score, "parts": parts })
}

fn left_out((id, reason): &(RecordId, Reason)) -> Value {
    json!({ "record_id": id.as_str(), "reason": reason.code() })
}
