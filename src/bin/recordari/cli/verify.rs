//! `recordari verify`: everything compared with everything.

use clap::Args;
use serde_json::json;

use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out};

/// A notice of opening that is no repair: what it speaks of is as it was.
const NO_REPAIR: &str = "not cleaned up yet";

#[derive(Args)]
#[command(
    after_help = "Compares the chain of events, the projection, the checksums and both indexes. What opening the store had to\nrepair counts as a finding too. Exit code 1 when anything differs.\n\nExample:\n  recordari verify"
)]
pub struct Arguments {}

pub fn run(common: &Common, _: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::checking(common)?;
    let (told, repaired): (Vec<&String>, Vec<&String>) =
        session.notices.iter().partition(|notice| notice.contains(NO_REPAIR));
    for notice in told {
        out.notice(notice);
    }
    let found = session.memory.verify()?;
    // The store did not agree with itself when this was asked.
    let findings: Vec<(&str, &str)> = repaired
        .into_iter()
        .map(|notice| ("opening", notice.as_str()))
        .chain(found.iter().map(|one| (one.check, one.detail.as_str())))
        .collect();
    if out.is_json() {
        let list: Vec<_> =
            findings.iter().map(|(check, detail)| json!({ "check": check, "detail": detail })).collect();
        let outcome = if findings.is_empty() { "sound" } else { "unsound" };
        out.json(&json!({ "outcome": outcome, "reason": null, "findings": list }))?;
    } else if findings.is_empty() {
        out.line("The store is sound.")?;
    } else {
        for (check, detail) in &findings {
            out.line(format!("{check}: {}", shown(detail)))?;
        }
        out.line(advice(&findings))?;
    }
    Ok(u8::from(!findings.is_empty()))
}

fn advice(findings: &[(&str, &str)]) -> &'static str {
    let all = |checks: &[&str]| findings.iter().all(|(check, _)| checks.contains(check));
    if all(&["opening"]) {
        "Opening the store has seen to it: verify again."
    } else if all(&["opening", "keyword", "vectors"]) {
        "Only what is derived differs: run recordari rebuild, then verify again."
    } else {
        "The store contradicts itself: keep a copy of its folder, and restore a backup."
    }
}
