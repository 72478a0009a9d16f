//! `recordari history MEMORY`: its versions, or the one that held at a moment.

use clap::Args;
use recordari::{AsOf, MemoryId, RecordId, Timestamp};

use super::get;
use super::open::Session;
use super::values::time;
use super::{Common, Failure, Out, show};
use crate::wire;

#[derive(Args)]
#[command(
    after_help = "With --json: one version a line, oldest first. Exit code 1 when there is no such memory, or none at that time.\n\nExamples:\n  recordari history mem_01K6GZ5V0Q3S8TXWN4D7E2B9FA\n  recordari history mem_01K6GZ5V0Q3S8TXWN4D7E2B9FA --valid-at 2026-03-02T00:00:00Z"
)]
pub struct Arguments {
    /// The id of a memory, or of one of its versions
    memory: String,
    /// Only the version that was true at that time
    #[arg(long, value_name = "TIME", value_parser = time)]
    valid_at: Option<Timestamp>,
    /// Only the version that the store believed at that time
    #[arg(long, value_name = "TIME", value_parser = time)]
    known_at: Option<Timestamp>,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::reading(common, out)?;
    let (memory, principal) = (&session.memory, &session.principal);
    let named = memory.memory_of(principal, &RecordId::new(&arguments.memory))?;
    let id = named.unwrap_or(MemoryId::new(&arguments.memory));
    let as_of = AsOf { valid_at: arguments.valid_at, known_at: arguments.known_at };
    if as_of != AsOf::default() {
        return match memory.as_of(principal, &id, as_of)? {
            Some(record) => {
                if out.is_json() {
                    out.json(&wire::found(&record))?;
                } else {
                    get::print(&record, out)?;
                }
                Ok(0)
            }
            None => none_then(&session, &id, out),
        };
    }
    let entries = memory.history(principal, &id)?;
    if entries.is_empty() {
        return get::missing(None, out);
    }
    for entry in &entries {
        if out.is_json() {
            out.json(&wire::history_entry(entry))?;
            continue;
        }
        let ended = entry.ended_at.map(|at| format!(" until {at}")).unwrap_or_default();
        out.line(format!(
            "version {} · {} · {} · recorded {}{ended}",
            entry.version, entry.state, entry.record_id, entry.recorded_at
        ))?;
        match &entry.record {
            Some(record) => {
                out.line(format!("  {}", show::content(record)))?;
                out.line(format!("  {}", show::facts(record)))?;
            }
            None => out.line("  (its content is gone)")?,
        }
    }
    Ok(0)
}

/// Says that no version held at a time: the memory was forgotten, is unknown, or began later.
fn none_then(session: &Session, id: &MemoryId, out: &mut Out) -> Result<u8, Failure> {
    let receipt = session.memory.forgotten(&session.principal, id)?;
    let is_known = receipt.is_none() && !session.memory.history(&session.principal, id)?.is_empty();
    if is_known && !out.is_json() {
        out.line("No version of this memory held at that time.")?;
        return Ok(1);
    }
    get::missing(receipt, out)
}
