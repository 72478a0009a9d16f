//! `recordari import FILE`: many candidates, each with its own outcome. A bad line costs no good one and
//! never passes for a success.

mod batch;
mod complete;
pub mod progress;
mod read;
mod report;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use recordari::json::CANDIDATE_SCHEMA;

use super::open::Session;
use super::place::Place;
use super::{Common, Failure, Out};
use crate::interrupt;
use batch::Batch;
use complete::Seen;
use read::Input;
use report::Report;

#[derive(Args)]
#[command(
    after_help = "Reads JSON lines of candidates, what export wrote, or one JSON object with a list \"memories\" or \"data\".\nExit code 1 when any line was not taken (rejected, conflict, invalid); Ctrl-C stops at the next batch (130).\n\nExamples:\n  recordari import memories.jsonl --dry-run\n  recordari import memories.jsonl --report not-taken.jsonl\n  recordari import handbook.jsonl --complete\n  recordari import --schema"
)]
pub struct Arguments {
    /// The file; - reads standard input
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Print the JSON Schema of a line
    #[arg(long)]
    schema: bool,
    /// Say what would become of every line, and store nothing
    #[arg(long)]
    dry_run: bool,
    /// Write every line that was not committed to this file, as JSON lines
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The file is the whole of its sources: memories that rest on them and are not in it are retired
    #[arg(long, conflicts_with = "dry_run")]
    complete: bool,
    #[command(flatten)]
    place: Place,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    if arguments.schema {
        out.raw(CANDIDATE_SCHEMA.as_bytes())?;
        return Ok(0);
    }
    let file = arguments.file.unwrap_or_default();
    let (bar, started) = (progress::of_file(&file), Instant::now());
    let mut input = Input::open(&file, &bar)?;
    let mut report = Report::new(arguments.report.as_deref(), arguments.dry_run)?;
    let session = Session::with_model(common, out)?;
    interrupt::listen();
    let chosen = arguments.place.chosen(&session.principal)?;
    let mut seen = Seen::new(arguments.complete);
    let mut batch = Batch::new(&session, chosen, input.is_export(), arguments.dry_run);
    for line in &mut input {
        if interrupt::asked() {
            break;
        }
        let line = line?;
        match line.entry {
            Ok(entry) => batch.take(line.number, entry, &mut report, &mut seen)?,
            Err(message) => report.invalid(line.number, &message)?,
        }
        progress::told(&bar, report.lines(), started);
    }
    let interrupted = interrupt::asked();
    if !interrupted {
        batch.flush(&mut report, &mut seen)?;
        seen.retire_the_rest(&session, &mut batch, &mut report)?;
    }
    bar.finish_and_clear();
    session
        .report_model(out, "what was stored is found by keyword, and gets its vector from recordari reembed");
    if let Some(missing) = input.missing().filter(|_| !interrupted) {
        out.notice(format!(
            "the export was to hold {missing} more memories: the file may have been cut short"
        ));
    }
    report.end(out, started.elapsed(), interrupted)?;
    Ok(if interrupted { interrupt::INTERRUPTED } else { report.exit_code() })
}
