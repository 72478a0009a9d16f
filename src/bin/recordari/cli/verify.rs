//! `recordari verify`: everything compared with everything.

use clap::Args;
use serde_json::json;

use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out};

#[derive(Args)]
#[command(
    after_help = "Compares the chain of events, the projection, the checksums and both indexes. Exit code 1 when anything\ndiffers.\n\nExample:\n  recordari verify"
)]
pub struct Arguments {}

pub fn run(common: &Common, _: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::without_model(common, out)?;
    let findings = session.memory.verify()?;
    if out.is_json() {
        let list: Vec<_> =
            findings.iter().map(|one| json!({ "check": one.check, "detail": one.detail })).collect();
        let outcome = if findings.is_empty() { "sound" } else { "unsound" };
        out.json(&json!({ "outcome": outcome, "reason": null, "findings": list }))?;
    } else if findings.is_empty() {
        out.line("The store is sound.")?;
    } else {
        for one in &findings {
            out.line(format!("{}: {}", one.check, shown(&one.detail)))?;
        }
        let derived = findings.iter().all(|one| matches!(one.check, "keyword" | "vectors"));
        out.line(if derived {
            "Only what is derived differs: run recordari rebuild, then verify again."
        } else {
            "The store contradicts itself: keep a copy of its folder, and restore a backup."
        })?;
    }
    Ok(u8::from(!findings.is_empty()))
}
