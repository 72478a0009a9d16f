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
    let repaired = repaired(&session, out);
    let found = session.memory.verify()?;
    // The store did not agree with itself when this was asked.
    let findings: Vec<(&str, &str)> = repaired
        .iter()
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
        out.line(advice(findings.iter().map(|(check, _)| *check)))?;
    }
    Ok(u8::from(!findings.is_empty()))
}

/// What opening the store had to repair. What else it tells is told.
pub(super) fn repaired(session: &Session, out: &Out) -> Vec<String> {
    let (told, repaired): (Vec<&String>, Vec<&String>) =
        session.notices.iter().partition(|notice| notice.contains(NO_REPAIR));
    told.into_iter().for_each(|notice| out.notice(notice));
    repaired.into_iter().cloned().collect()
}

/// What to do about findings of these checks.
pub(super) fn advice<'a>(checks: impl Iterator<Item = &'a str> + Clone) -> &'static str {
    let all = |known: &[&str]| checks.clone().all(|check| known.contains(&check));
    if all(&["opening"]) {
        "Opening the store has seen to it: verify again."
    } else if all(&["opening", "keyword", "keys"]) {
        "Only what is derived differs: run recordari doctor."
    } else if all(&["opening", "keyword", "keys", "vectors"]) {
        "Vectors differ: run recordari doctor with the model that made them, or recordari reembed with another."
    } else if all(&["opening", "keyword", "keys", "vectors", "checksums"]) {
        "Damaged records are never served; the others are. Restore a backup beside this store to have them again, or forget them by their ids: recordari forget --memory ID. For the rest run recordari doctor."
    } else {
        "The store contradicts itself: keep a copy of its folder, run recordari doctor, and restore a backup if that does not help."
    }
}
