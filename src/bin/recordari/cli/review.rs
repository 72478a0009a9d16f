//! `recordari review list`: what waits for a person.

use clap::Subcommand;

use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out, show};
use crate::wire;

#[derive(Subcommand)]
pub enum Command {
    /// List the candidates that wait, oldest first
    #[command(
        after_help = "With --json: one candidate a line.\n\nExample:\n  recordari review list --limit 10"
    )]
    List {
        /// How many at most
        #[arg(long, value_name = "NUMBER", default_value_t = 100)]
        limit: usize,
    },
}

pub fn run(common: &Common, command: Command, out: &mut Out) -> Result<u8, Failure> {
    let Command::List { limit } = command;
    let session = Session::reading(common, out)?;
    let (waiting, total) = session.memory.waiting(&session.principal, limit)?;
    for one in &waiting {
        if out.is_json() {
            out.json(&wire::waiting(one))?;
            continue;
        }
        let subject =
            one.subject.as_deref().map(|subject| format!("{} · ", shown(subject))).unwrap_or_default();
        out.line(format!("- {}", shown(&recordari::text::clip(&one.content, 200))))?;
        out.line(format!(
            "  {subject}{} · confidence {} · source {} · since {}",
            one.authority,
            one.confidence,
            shown(&one.source),
            one.queued_at
        ))?;
        out.line(format!("  {} · {}", one.candidate_id, show::reason(one.reason)))?;
        if let Some(record) = &one.conflict {
            out.line(format!("  stands against {record}"))?;
        }
    }
    if !out.is_json() {
        match total {
            0 => out.line("Nothing waits for review.")?,
            _ => out.line(format!("{} of {total}", waiting.len()))?,
        }
    }
    Ok(0)
}
