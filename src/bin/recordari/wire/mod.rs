//! What stands on the wire: answers as JSON with the library's own names, and who must act as an exit
//! code. Knows no command.

mod filter;

pub use filter::filter_from_json;

use recordari::json::{namespace_to_json, record_to_json};
use recordari::recall::plan_to_json;
use recordari::store::Waiting;
use recordari::{
    ErrorKind, Forgotten, Group, HistoryEntry, Hit, MemoryId, Outcome, Part, Preview, Reason, Recalled,
    Record, RecordId, Shown, Why,
};
use serde_json::{Value, json};

/// The exit code for an error, by who must act: 2 the caller, 75 nobody (try again), 65 the operator
/// (the store's data), 78 the operator (disk, permissions, configuration, model, policy).
pub fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Caller => 2,
        ErrorKind::Busy => 75,
        ErrorKind::Data => 65,
        _ => 78,
    }
}

/// The exit code for a write: what was refused is 1; what waits for review is done.
pub fn outcome_exit_code(outcome: &Outcome) -> u8 {
    u8::from(matches!(outcome, Outcome::Rejected(_) | Outcome::Conflict(..)))
}

/// An error, as `--json` shows it.
pub fn error(kind: ErrorKind, message: &str) -> Value {
    json!({ "outcome": "error", "error": { "kind": kind_code(kind), "message": message } })
}

fn kind_code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Caller => "caller",
        ErrorKind::Busy => "busy",
        ErrorKind::Data => "data",
        _ => "environment",
    }
}

/// An answer that is a reason and nothing else, such as `not_found`.
pub fn only_reason(outcome: &str, reason: Reason) -> Value {
    json!({ "outcome": outcome, "reason": reason.code() })
}

/// How a write went.
pub fn outcome(outcome: &Outcome) -> Value {
    let written = outcome.written().filter(|written| !written.record_id.as_str().is_empty());
    let mut answer = json!({
        "outcome": outcome.code(),
        "reason": outcome.reason().map(Reason::code),
        "memory_id": written.as_ref().map(|written| written.memory_id.as_str()),
        "record_id": written.as_ref().map(|written| written.record_id.as_str()),
        "version": written.as_ref().map(|written| written.version),
    });
    match outcome {
        Outcome::Review(_, candidate_id) => answer["candidate_id"] = json!(candidate_id),
        Outcome::Conflict(_, current) => {
            answer["current"] = current.as_ref().map_or(Value::Null, |record| record_to_json(record));
        }
        _ => {}
    }
    answer
}

/// How a deletion went.
pub fn forgotten(done: &Forgotten) -> Value {
    let receipt = done.receipt();
    let reason = match done {
        Forgotten::Done(_) => None,
        Forgotten::Incomplete(receipt) => receipt.left.first().map(|(reason, _)| *reason),
        Forgotten::Already(_) => Some(Reason::AlreadyForgotten),
        Forgotten::NotFound => Some(Reason::NotFound),
        Forgotten::RequestIdConflict => Some(Reason::RequestIdConflict),
        Forgotten::StalePreview => Some(Reason::StalePreview),
    };
    json!({
        "outcome": done.code(),
        "reason": reason.map(Reason::code),
        "receipt": receipt.map(recordari::Receipt::to_json),
    })
}

/// What would be forgotten; none: there is nothing like that.
pub fn preview(preview: Option<&Preview>) -> Value {
    let Some(preview) = preview else { return only_reason("not_found", Reason::NotFound) };
    let memories = |ids: &[MemoryId]| ids.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>();
    json!({
        "outcome": "preview",
        "reason": null,
        "token": preview.token,
        "namespace": namespace_to_json(&preview.namespace),
        "memory_ids": memories(&preview.memories),
        "record_ids": preview.records.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        "kept_with_other_sources": memories(&preview.kept),
        "held": memories(&preview.held),
        "counts": {
            "memories": preview.memories.len(),
            "records": preview.records.len(),
            "candidates": preview.candidates,
            "namespaces_elsewhere": preview.elsewhere,
        },
        "blocks_source": preview.blocks_source,
    })
}

/// The answer to a query.
pub fn recalled(answer: &Recalled) -> Value {
    let left_out =
        |(id, reason): &(RecordId, Reason)| json!({ "record_id": id.as_str(), "reason": reason.code() });
    json!({
        "outcome": if answer.hits.is_empty() { "empty" } else { "found" },
        "reason": answer.reason.map(Reason::code),
        "hits": answer.hits.iter().map(hit).collect::<Vec<_>>(),
        "standing": answer.standing.iter().map(hit).collect::<Vec<_>>(),
        "left_out": answer.left_out.iter().map(left_out).collect::<Vec<_>>(),
        "projection": answer.projection,
        "trace_id": answer.trace_id,
        "plan": plan_to_json(answer),
    })
}

/// One memory of an answer: the fields that say what it is, then those that say why it is here.
fn hit(hit: &Hit) -> Value {
    const OF_RECORD: &[&str] = &[
        "memory_id",
        "record_id",
        "version",
        "namespace",
        "kind",
        "form",
        "confidence",
        "subject",
        "content",
        "source",
        "authority",
        "observed_at",
        "valid_from",
        "expires_at",
        "sensitivity",
        "metadata",
        "reverify_before_effect",
    ];
    let record = record_to_json(&hit.record);
    let mut fields: serde_json::Map<String, Value> =
        OF_RECORD.iter().map(|name| ((*name).to_owned(), record[*name].clone())).collect();
    fields.insert("score".to_owned(), json!(hit.score));
    fields.insert("parts".to_owned(), hit.parts.iter().map(part).collect());
    fields.insert("group".to_owned(), hit.group.as_ref().map_or(Value::Null, group));
    fields.insert("refresh_required".to_owned(), json!(hit.refresh_required));
    let shown = match hit.shown {
        Shown::Full => "full",
        Shown::Short => "short",
        Shown::Reference => "reference",
    };
    fields.insert("shown".to_owned(), json!(shown));
    Value::Object(fields)
}

fn part(part: &Part) -> Value {
    json!({ "name": part.name, "value": part.value, "weight": part.weight, "contribution": part.contribution })
}

fn group(group: &Group) -> Value {
    json!({ "subject": group.subject, "size": group.size, "prevails": group.prevails, "why": group.why })
}

/// What became of one record in one recall.
pub fn why(record: &RecordId, why: &Why) -> Value {
    let (outcome, reason, position, score, hit_json) = match why {
        Why::Returned(place, one) => ("returned", None, Some(*place), Some(one.score), Some(hit(one))),
        Why::Standing(one) => ("standing", None, None, Some(one.score), Some(hit(one))),
        Why::LeftOut(reason, score) => ("left_out", Some(*reason), None, *score, None),
        Why::NotFound => ("not_found", Some(Reason::NotFound), None, None, None),
    };
    json!({
        "outcome": outcome,
        "reason": reason.map(Reason::code),
        "record_id": record.as_str(),
        "position": position,
        "score": score,
        "parts": hit_json.map(|hit| hit["parts"].clone()),
    })
}

/// A record that was asked for by its id.
pub fn found(record: &Record) -> Value {
    json!({ "outcome": "found", "reason": null, "record": record_to_json(record) })
}

/// One version in a history.
pub fn history_entry(entry: &HistoryEntry) -> Value {
    json!({
        "record_id": entry.record_id.as_str(),
        "version": entry.version,
        "generation": entry.generation,
        "state": entry.state.code(),
        "recorded_at": entry.recorded_at.to_string(),
        "ended_at": entry.ended_at.map(|at| at.to_string()),
        "record": entry.record.as_ref().map(record_to_json),
    })
}

/// A candidate that waits for a person.
pub fn waiting(waiting: &Waiting) -> Value {
    json!({
        "candidate_id": waiting.candidate_id,
        "namespace": namespace_to_json(&waiting.namespace),
        "queued_at": waiting.queued_at.to_string(),
        "reason": waiting.reason.code(),
        "conflict": waiting.conflict.as_ref().map(RecordId::as_str),
        "subject": waiting.subject,
        "content": waiting.content,
        "source": waiting.source,
        "authority": waiting.authority.code(),
        "confidence": waiting.confidence,
        "candidate": waiting.body,
    })
}

/// A reason code and what to do about it.
pub fn reason(reason: Reason) -> Value {
    json!({ "code": reason.code(), "meaning": reason.meaning(), "remedy": reason.remedy() })
}
