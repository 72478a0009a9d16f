//! What is kept of a recall: ids, reasons, parts, plan and timings. No text of a memory or a query.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Hit, Looked, Part, Query, Recalled};
use crate::json::namespace_to_json;
use crate::reason::Reason;
use crate::record::RecordId;

/// The body of a recall's trace as JSON; the projection stands in it as a keyed digest.
pub fn trace_body(answer: &Recalled, query: &Query, projection_digest: &str) -> String {
    let body = Body {
        outcome: if answer.hits.is_empty() { "empty" } else { "found" },
        reason: answer.reason.map(Reason::code),
        task: query.task.as_deref(),
        query_characters: query.text.chars().count(),
        hits: answer.hits.iter().map(HitLine::of).collect(),
        left_out: answer.left_out.iter().map(LeftOut::of).collect(),
        plan: plan(answer),
        projection_digest,
    };
    serde_json::to_string(&body).expect("strings and numbers can be written")
}

// Written straight to text: a recall makes one each time, and a tree of values would cost more than the rest.
#[derive(Serialize)]
struct Body<'a> {
    outcome: &'static str,
    reason: Option<&'static str>,
    task: Option<&'a str>,
    query_characters: usize,
    hits: Vec<HitLine<'a>>,
    left_out: Vec<LeftOut<'a>>,
    plan: Value,
    projection_digest: &'a str,
}

#[derive(Serialize)]
struct HitLine<'a> {
    record_id: &'a str,
    score: f64,
    parts: Parts<'a>,
}

#[derive(Serialize)]
struct LeftOut<'a> {
    record_id: &'a str,
    reason: &'static str,
}

/// The parts as one object, by name.
struct Parts<'a>(&'a [Part]);

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|part| (part.name, part.contribution)))
    }
}

impl HitLine<'_> {
    fn of(hit: &Hit) -> HitLine<'_> {
        HitLine { record_id: hit.record.record_id.as_str(), score: hit.score, parts: Parts(&hit.parts) }
    }
}

impl LeftOut<'_> {
    fn of((id, reason): &(RecordId, Reason)) -> LeftOut<'_> {
        LeftOut { record_id: id.as_str(), reason: reason.code() }
    }
}

/// What was done to answer, as JSON.
pub fn plan(answer: &Recalled) -> Value {
    let plan = &answer.plan;
    let kept_out: serde_json::Map<String, Value> =
        plan.kept_out.iter().map(|(reason, count)| (reason.code().to_owned(), (*count).into())).collect();
    json!({
        "mode": plan.mode.code(),
        "searches": plan.searches,
        "vectors": plan.vectors.iter().map(vectors).collect::<Vec<_>>(),
        "namespaces": plan.namespaces.iter().map(namespace_to_json).collect::<Vec<_>>(),
        "allowed": plan.allowed,
        "kept_out": kept_out,
        "model": plan.model,
        "policy_version": plan.policy_version,
        "degraded": plan.degraded.iter().map(|reason| reason.code()).collect::<Vec<_>>(),
        "timings": { "embed_us": plan.timings.embed_us, "gather_us": plan.timings.gather_us, "rank_us": plan.timings.rank_us },
    })
}

fn vectors(looked: &Looked) -> Value {
    json!({ "how": looked.how, "rows": looked.rows, "allowed": looked.allowed, "compared": looked.compared })
}
