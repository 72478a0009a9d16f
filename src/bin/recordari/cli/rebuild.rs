//! `recordari rebuild`: everything derived, anew from the store.

use clap::Args;
use recordari::Error;
use serde_json::json;

use super::import::progress;
use super::open::Session;
use super::{Common, Failure, Out, show};
use crate::interrupt;

#[derive(Args)]
#[command(
    after_help = "The index in use serves until the new one is whole. Ctrl-C stops at the next batch; the next rebuild goes on\nfrom there.\n\nExample:\n  recordari rebuild"
)]
pub struct Arguments {}

pub fn run(common: &Common, _: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::without_model(common, out)?;
    interrupt::listen();
    let (bar, mut applied) = (progress::counted(), 0);
    let done = session.memory.rebuild(&mut |at, last| {
        applied = at;
        bar.set_length(last);
        bar.set_position(at);
        stop_if_asked(
            &bar,
            at,
            last,
            "writes are in the new index; the next rebuild goes on from there, and the old one still serves",
        );
    })?;
    bar.finish_and_clear();
    if !done {
        return Err(Error::Locked("the keyword index").into());
    }
    if out.is_json() {
        out.json(&json!({ "outcome": "rebuilt", "reason": null, "applied_writes": applied }))?;
    } else {
        let writes = show::counted(applied, "write", "writes");
        out.line(format!("The index was built anew from {writes}."))?;
    }
    Ok(0)
}

/// Ends the program if the person asked to stop. Called between two batches, when all that was done is
/// committed: there is nothing to undo, and what is left can be taken up again.
pub fn stop_if_asked(bar: &indicatif::ProgressBar, at: u64, all: u64, what: &str) {
    if interrupt::asked() {
        bar.finish_and_clear();
        eprintln!("recordari: stopped: {at} of {all} {what}");
        std::process::exit(i32::from(interrupt::INTERRUPTED));
    }
}
