//! `recordari doctor`: mends what can be mended, and says what can't.

use clap::Args;
use recordari::{Clock, Finding, SystemClock, set_damaged_ledger_aside};
use serde_json::json;

use super::import::progress;
use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out, show, verify};
use crate::settings::Settings;

#[derive(Args)]
#[command(
    after_help = "What verify would find, and what is done about it: indexes are built anew, of the database too, lookup keys and\nvectors made anew, what is left of something forgotten erased again, and a ledger that can't be read is put aside\nand made anew of what the database knows. What a memory says is never changed. Exit code 1 when anything is left\nthat can't be mended; stop other programs that use the store first, and keep a copy of its folder.\n\nExample:\n  recordari doctor"
)]
pub struct Arguments {}

pub fn run(common: &Common, _: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let mut done = Vec::new();
    let settings = Settings::of(common)?;
    let aside = set_damaged_ledger_aside(&settings.store, settings.cipher()?.as_ref(), SystemClock.now())?;
    if let Some(aside) = &aside {
        let known = match aside.salvaged {
            Some(salvaged) => format!("{} could be read in it", show::counted(salvaged as u64, "deletion", "deletions")),
            None => "nothing could be read in it: if the database was put back to an earlier state, look whether what was forgotten since is back".to_owned(),
        };
        let kept = aside.kept.display();
        let told = format!(
            "it is damaged and is kept as {kept}; {known}; a new one was made with all that the database knows"
        );
        done.push(Finding::new("ledger", told));
    }
    let session = Session::mending(common, out)?;
    done.extend(verify::repaired(&session, out).into_iter().map(|notice| Finding::new("opening", notice)));
    let bar = progress::counted();
    let mended = session.memory.mend(&mut |at, last| {
        bar.set_length(last);
        bar.set_position(at);
    })?;
    bar.finish_and_clear();
    done.extend(mended.done);
    let slack = session.memory.stats(&session.principal)?["slack"].clone();
    if slack["bytes"] != slack["of"] {
        out.notice(format!(
            "{} of {} bytes are kept for forgetting on a full disk; the rest is when the disk has room",
            slack["bytes"], slack["of"]
        ));
    }
    let outcome = match (done.is_empty(), mended.after.is_empty()) {
        (_, false) => "unsound",
        (true, true) => "sound",
        (false, true) => "mended",
    };
    if out.is_json() {
        let list = |findings: &[Finding]| -> Vec<_> {
            findings.iter().map(|one| json!({ "check": one.check, "detail": one.detail })).collect()
        };
        let (found, done, left) = (list(&mended.before), list(&done), list(&mended.after));
        out.json(
            &json!({ "outcome": outcome, "reason": null, "found": found, "done": done, "findings": left }),
        )?;
    } else {
        for one in &done {
            out.line(format!("mended: {}: {}", one.check, shown(&one.detail)))?;
        }
        for one in &mended.after {
            out.line(format!("left: {}: {}", one.check, shown(&one.detail)))?;
        }
        out.line(match outcome {
            "unsound" => verify::advice(mended.after.iter().map(|one| one.check)),
            "mended" => "The store is sound again.",
            _ => "The store is sound: there was nothing to mend.",
        })?;
    }
    Ok(u8::from(!mended.after.is_empty()))
}
