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
        return Err(Error::Locked("the index").into());
    }
    let graphs = build_graphs(&session)?;
    if out.is_json() {
        let outcome =
            json!({ "outcome": "rebuilt", "reason": null, "applied_writes": applied, "graphs": graphs });
        out.json(&outcome)?;
    } else {
        let writes = show::counted(applied, "write", "writes");
        out.line(format!("The index was built anew from {writes}."))?;
        if graphs > 0 {
            let graphs = show::counted(graphs as u64, "namespace", "namespaces");
            out.line(format!("The graph of {graphs} was built."))?;
        }
    }
    Ok(0)
}

/// The graphs that the policy asks for. Ctrl-C stops at the next slice of rows: what is in a graph is kept, and
/// whoever builds next goes on from there.
fn build_graphs(session: &Session) -> Result<usize, Failure> {
    let bar = progress::counted();
    let mut stopped = None;
    let graphs = session.memory.build_graphs(&mut |done, of| {
        bar.set_length(of);
        bar.set_position(done);
        stopped = interrupt::asked().then_some((done, of));
        stopped.is_none()
    })?;
    if let Some((done, of)) = stopped {
        stop_if_asked(&bar, done, of, "vectors are in the graph; the index was built anew");
    }
    bar.finish_and_clear();
    Ok(graphs)
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
