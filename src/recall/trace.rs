//! What is kept of a recall: ids, reasons, parts, plan and timings. No text of a memory or a query.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Hit, Looked, Part, Query, Recalled, Timings};
use crate::json::NamespaceText;
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
        standing: answer.standing.iter().map(HitLine::of).collect(),
        left_out: answer.left_out.iter().map(LeftOut::of).collect(),
        plan: PlanLine::of(answer),
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
    standing: Vec<HitLine<'a>>,
    left_out: Vec<LeftOut<'a>>,
    plan: PlanLine<'a>,
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
    serde_json::to_value(PlanLine::of(answer)).expect("strings and numbers can be written")
}

#[derive(Serialize)]
struct PlanLine<'a> {
    mode: &'static str,
    searches: &'a [&'static str],
    vectors: Vec<VectorsLine>,
    namespaces: Vec<NamespaceText<'a>>,
    allowed: u64,
    kept_out: KeptOut<'a>,
    model: Option<&'a str>,
    policy_version: &'a str,
    degraded: Vec<&'static str>,
    timings: Timings,
}

#[derive(Serialize)]
struct VectorsLine {
    how: &'static str,
    rows: u64,
    allowed: u64,
    compared: u64,
    cost: u64,
    instead: Option<Instead>,
    graph: Option<OfGraph>,
}

#[derive(Serialize)]
struct Instead {
    how: &'static str,
    cost: u64,
}

#[derive(Serialize)]
struct OfGraph {
    rows: u64,
    tail: u64,
}

impl VectorsLine {
    fn of(looked: &Looked) -> VectorsLine {
        let Looked { how, rows, allowed, compared, cost, .. } = *looked;
        let instead = looked.instead.map(|(how, cost)| Instead { how, cost });
        let graph = looked.graph.map(|(rows, tail)| OfGraph { rows, tail });
        VectorsLine { how, rows, allowed, compared, cost, instead, graph }
    }
}

/// Counts by the words for their reasons.
struct KeptOut<'a>(&'a BTreeMap<Reason, u64>);

impl Serialize for KeptOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(reason, count)| (reason.code(), count)))
    }
}

impl PlanLine<'_> {
    fn of(answer: &Recalled) -> PlanLine<'_> {
        let plan = &answer.plan;
        PlanLine {
            mode: plan.mode.code(),
            searches: &plan.searches,
            vectors: plan.vectors.iter().map(VectorsLine::of).collect(),
            namespaces: plan.namespaces.iter().map(NamespaceText).collect(),
            allowed: plan.allowed,
            kept_out: KeptOut(&plan.kept_out),
            model: plan.model.as_deref(),
            policy_version: &plan.policy_version,
            degraded: plan.degraded.iter().map(|reason| reason.code()).collect(),
            timings: plan.timings,
        }
    }
}
