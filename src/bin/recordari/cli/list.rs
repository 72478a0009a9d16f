//! `recordari list`: what meets the filters, newest first, in pages.

use clap::Args;
use recordari::json::record_to_json;
use recordari::{Filter, PageRequest, Reason, State, StateFilter};
use serde_json::json;

use super::filters::Filters;
use super::open::Session;
use super::values::word;
use super::{Common, Failure, Out, show};

#[derive(Args)]
#[command(
    after_help = "With --json: one record a line, then {\"total\":…,\"cursor\":…}.\n\nExamples:\n  recordari list --kind semantic --observed-from 2026-03-01T00:00:00Z\n  recordari list --meta 'tags~wanted' --limit 100 --json\n  recordari list --where '{\"any\":[{\"source\":\"chat-7\"},{\"not\":{\"kind\":\"episodic\"}}]}'"
)]
pub struct Arguments {
    /// Only this state instead of those in force; may be given more than once
    #[arg(long, value_parser = word(State::ALL, State::code))]
    state: Vec<State>,
    /// How many at most
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    /// Go on where the page before ended
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    filters: Filters,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::reading(common, out)?;
    let states = match arguments.state.as_slice() {
        [] => StateFilter::Current,
        states => StateFilter::Only(states.to_vec()),
    };
    let filter = arguments.filters.filter()?;
    let request = PageRequest { limit: arguments.limit, cursor: arguments.cursor };
    let page = session.memory.list(&session.principal, &filter, &states, &request)?;
    if out.is_json() {
        for record in &page.records {
            out.json(&record_to_json(record))?;
        }
        let damaged: Vec<&str> = page.damaged.iter().map(|id| id.as_str()).collect();
        out.json(&json!({
            "total": page.total,
            "cursor": page.cursor,
            "damaged": damaged,
            "unreadable": page.unreadable,
        }))?;
        return Ok(0);
    }
    if page.unreadable {
        out.notice(UNREADABLE);
    }
    for record in &page.records {
        let state = if record.state == State::Current { "" } else { record.state.code() };
        out.line(format!("- {}", show::content(record)))?;
        out.line(format!("  {}", show::facts(record)))?;
        out.line(format!("  {} {state}", show::ids(record)).trim_end())?;
    }
    if page.total == 0 {
        let is_narrowed = filter != Filter::All(Vec::new()) || !arguments.state.is_empty();
        if is_narrowed && holds_any(&session)? {
            out.line("Nothing meets the filter.")?;
        } else {
            out.line(show::reason(Reason::NoMemories))?;
        }
        out.line(format!("  asked as {}", show::namespace(&session.principal.namespace)))?;
        return Ok(0);
    }
    for id in &page.damaged {
        out.notice(format!(
            "damaged, and left out: {id}; restore it from a backup or forget it, see recordari verify"
        ));
    }
    out.line(format!("{} of {}", page.records.len(), page.total))?;
    if let Some(cursor) = page.cursor {
        out.line(format!("more with --cursor {cursor}"))?;
    }
    Ok(0)
}

/// What is told where parts of the database can't be read.
pub const UNREADABLE: &str = "parts of the database can't be read, and what is in them is missing here; \
    recordari verify names them, and a backup brings it back";

/// Whether the caller sees any memory, in whatever state.
fn holds_any(session: &Session) -> Result<bool, Failure> {
    let states = StateFilter::Only(State::ALL.to_vec());
    let one = PageRequest { limit: 1, cursor: None };
    let page = session.memory.list(&session.principal, &Filter::All(Vec::new()), &states, &one)?;
    Ok(page.total > 0)
}
