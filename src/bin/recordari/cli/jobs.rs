//! `recordari jobs`: how far deletions have come.

use clap::Args;
use recordari::{Reach, Receipt};
use serde_json::json;

use super::forget::counted;
use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out, show};

#[derive(Args)]
#[command(
    after_help = "A deletion that is open is tried again whenever the store is open; past the deadline of the policy (forget.deadline_minutes) it is overdue.\n\nWith --json: one receipt a line, then the totals.\n\nExamples:\n  recordari jobs --open\n  recordari jobs --check || notify-send \"a deletion is overdue\""
)]
pub struct Arguments {
    /// Only those whose clean-up has not ended
    #[arg(long)]
    open: bool,
    /// How many, newest first
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// Exit code 1 when any is overdue, shown or not
    #[arg(long)]
    check: bool,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::reading(common, out)?;
    let (memory, principal) = (&session.memory, &session.principal);
    let counts = memory.count_deletions(principal)?;
    for receipt in memory.deletions(principal, arguments.open, arguments.limit)? {
        if out.is_json() {
            let mut line = receipt.to_json();
            line["overdue"] = json!(memory.is_overdue(&receipt));
            out.json(&line)?;
        } else {
            print(&receipt, memory.is_overdue(&receipt), out)?;
        }
    }
    if out.is_json() {
        out.json(&json!({ "total": counts.all, "open": counts.open, "overdue": counts.overdue }))?;
    } else if counts.all == 0 {
        out.line("Nothing was forgotten yet.")?;
    } else {
        let overdue = match counts.overdue {
            0 => String::new(),
            overdue => format!(", {overdue} overdue"),
        };
        out.line(format!(
            "{}, {} open{overdue}",
            show::counted(counts.all, "deletion", "deletions"),
            counts.open
        ))?;
    }
    // Those of narrower namespaces too: their ids are not shown, the alarm is.
    let below = memory.count_deletions(&principal.clone().with_reach(Reach::Below))?.overdue;
    if arguments.check && below > counts.overdue && !out.is_json() {
        out.line(format!("{} overdue in narrower namespaces: --below lists them", below - counts.overdue))?;
    }
    Ok(u8::from(arguments.check && below > 0))
}

fn print(receipt: &Receipt, is_overdue: bool, out: &mut Out) -> Result<(), Failure> {
    let how = match receipt.finished_at {
        Some(at) => format!("cleaned up {at}"),
        None if is_overdue => "OVERDUE, not cleaned up yet".to_owned(),
        None => "not cleaned up yet".to_owned(),
    };
    let asked = receipt.requested_at;
    out.line(format!("{} · asked for {asked} · {how} · {}", receipt.receipt_id, counted(receipt)))?;
    for (reason, who) in &receipt.left {
        let who = if who.is_empty() { String::new() } else { format!("{}: ", shown(who)) };
        out.line(format!("  {who}{}", show::reason(*reason)))?;
    }
    Ok(())
}
