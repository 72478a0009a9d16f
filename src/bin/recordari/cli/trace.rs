//! `recordari trace`: how an answer or a write came about.

use clap::Subcommand;
use recordari::Reason;
use serde_json::{Value, json};

use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out, show};
use crate::wire;

#[derive(Subcommand)]
pub enum Command {
    /// Show a trace: ids, reasons, scores, plan and timings; no text of a memory or a query
    #[command(
        after_help = "Exit code 1 when there is no such trace of yours.\n\nExample:\n  recordari trace show trc_01K6GZ5V0Q3S8TXWN4D7E2B9FA"
    )]
    Show {
        /// The trace_id of an answer
        id: String,
    },
    /// List your latest traces, newest first
    #[command(after_help = "With --json: one trace a line.\n\nExample:\n  recordari trace list --limit 5")]
    List {
        /// How many
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: usize,
    },
}

pub fn run(common: &Common, command: Command, out: &mut Out) -> Result<u8, Failure> {
    match command {
        Command::Show { id } => show_one(common, &id, out),
        Command::List { limit } => list(common, limit, out),
    }
}

fn list(common: &Common, limit: usize, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::reading(common, out)?;
    let traces = session.memory.traces(&session.principal, limit)?;
    for trace in &traces {
        let (outcome, reason) = (trace.body["outcome"].as_str(), trace.body["reason"].as_str());
        if out.is_json() {
            out.json(&json!({
                "trace_id": trace.trace_id,
                "at": trace.at.to_string(),
                "what": trace.what,
                "outcome": outcome,
                "reason": reason,
            }))?;
        } else {
            let how: Vec<&str> = outcome.into_iter().chain(reason).collect();
            out.line(format!("{} · {} · {} · {}", trace.trace_id, trace.at, trace.what, how.join(", ")))?;
        }
    }
    if traces.is_empty() && !out.is_json() {
        out.line("No traces yet.")?;
    }
    Ok(0)
}

fn show_one(common: &Common, id: &str, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::reading(common, out)?;
    let Some(trace) = session.memory.trace(&session.principal, id)? else {
        if out.is_json() {
            out.json(&wire::only_reason("not_found", Reason::NotFound))?;
        } else {
            out.line(format!(
                "There is no such trace of {}.",
                show::namespace(&session.principal.namespace)
            ))?;
        }
        return Ok(1);
    };
    if out.is_json() {
        out.json(&json!({
            "outcome": "found",
            "reason": null,
            "trace": {
                "trace_id": trace.trace_id,
                "at": trace.at.to_string(),
                "what": trace.what,
                "asker": serde_json::from_str::<Value>(&trace.asker).unwrap_or(Value::Null),
                "body": trace.body,
            },
        }))?;
        return Ok(0);
    }
    out.line(format!("{} · {} · {} · {}", trace.trace_id, trace.what, trace.at, shown(&trace.asker)))?;
    let body = serde_json::to_string_pretty(&trace.body).unwrap_or_default();
    for line in body.lines() {
        out.line(shown(line))?;
    }
    Ok(0)
}
