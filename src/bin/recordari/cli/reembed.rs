//! `recordari reembed`: a vector of the model in use for every memory.

use clap::Args;
use serde_json::json;

use super::import::progress;
use super::open::Session;
use super::rebuild::stop_if_asked;
use super::{Common, Failure, Out, show};
use crate::interrupt;
use crate::lazy::Lazy;

#[derive(Args)]
#[command(
    after_help = "Changes the store over to the model in use, and embeds what was stored while a model was down. Ctrl-C\nstops at the next batch; run it again to go on. Until it is done, recall goes by keyword.\n\nExample:\n  recordari reembed --model ./my-model"
)]
pub struct Arguments {}

pub fn run(common: &Common, _: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::with_model(common, out)?;
    interrupt::listen();
    let bar = progress::counted();
    let fresh = session.memory.reembed(&mut |done, all| {
        bar.set_length(all);
        bar.set_position(done);
        stop_if_asked(&bar, done, all, "memories have their vector; run reembed again to go on");
    })?;
    bar.finish_and_clear();
    let model = Lazy::info(&session.settings.model)?.map(|model| model.name);
    if out.is_json() {
        out.json(&json!({ "outcome": "reembedded", "reason": null, "embedded": fresh, "model": model }))?;
    } else {
        let memories = show::counted(fresh, "memory", "memories");
        out.line(format!("{memories} got a vector of {}.", model.unwrap_or_default()))?;
    }
    Ok(0)
}
