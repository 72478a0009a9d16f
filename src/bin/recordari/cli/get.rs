//! `recordari get ID`: one memory, or one version of it.

use clap::Args;
use recordari::{MemoryId, Reason, Record, RecordId};
use serde_json::json;

use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out, show};
use crate::wire;

#[derive(Args)]
#[command(
    after_help = "Exit code 1 when there is no such memory, or it was forgotten.\n\nExample:\n  recordari get mem_01K6GZ5V0Q3S8TXWN4D7E2B9FA"
)]
pub struct Arguments {
    /// The id of a memory (mem_…) or of one version (rec_…)
    id: String,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::reading(common, out)?;
    let (memory, principal) = (&session.memory, &session.principal);
    let record_id = RecordId::new(&arguments.id);
    let found = match memory.get(principal, &MemoryId::new(&arguments.id))? {
        Some(record) => Some(record),
        None => memory.get_record(principal, &record_id)?,
    };
    if let Some(record) = found {
        if out.is_json() {
            out.json(&wire::found(&record))?;
        } else {
            print(&record, out)?;
        }
        return Ok(0);
    }
    let of_memory = memory.memory_of(principal, &record_id)?.unwrap_or(MemoryId::new(&arguments.id));
    missing(memory.forgotten(principal, &of_memory)?, out)
}

/// Says that there is nothing to show: unknown, or forgotten with that receipt.
pub fn missing(receipt: Option<String>, out: &mut Out) -> Result<u8, Failure> {
    let (outcome, reason) = match &receipt {
        Some(_) => ("forgotten", Reason::Forgotten),
        None => ("not_found", Reason::NotFound),
    };
    if out.is_json() {
        let mut answer = wire::only_reason(outcome, reason);
        if let Some(receipt) = receipt {
            answer["receipt_id"] = json!(receipt);
        }
        out.json(&answer)?;
    } else {
        out.line(show::reason(reason))?;
        if let Some(receipt) = receipt {
            out.line(format!("  receipt {receipt}"))?;
        }
    }
    Ok(1)
}

/// Everything about a record.
pub fn print(record: &Record, out: &mut Out) -> Result<(), Failure> {
    for line in record.content.split('\n') {
        out.line(shown(line.strip_suffix('\r').unwrap_or(line)))?;
    }
    out.line("")?;
    let serde_json::Value::Object(fields) = recordari::json::record_to_json(record) else {
        return Ok(());
    };
    for (name, value) in fields.iter().filter(|(name, _)| *name != "content" && *name != "evidence") {
        let empty = value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty)
            || *value == json!(false);
        if !empty {
            let text = match name.as_str() {
                "namespace" => record.namespace.to_string(),
                "source" => record.evidence.first().map(|first| first.source.to_string()).unwrap_or_default(),
                _ => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            };
            out.line(format!("{name:<14} {}", shown(&text)))?;
        }
    }
    for evidence in record.evidence.iter().skip(1) {
        let source = shown(&evidence.source.to_string());
        out.line(format!(
            "{:<14} {source}, {}, {}",
            "also said by", evidence.authority, evidence.observed_at
        ))?;
    }
    Ok(())
}
