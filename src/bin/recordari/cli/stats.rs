//! `recordari stats`: counts of what the caller may see, and the state of what is derived.

use clap::Args;
use serde_json::{Value, json};

use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out};

#[derive(Args)]
#[command(after_help = "Example:\n  recordari stats")]
pub struct Arguments {}

pub fn run(common: &Common, _: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::reading(common, out)?;
    let stats = session.memory.stats(&session.principal)?;
    let folder = session.settings.store.display().to_string();
    if out.is_json() {
        let mut answer = json!({ "outcome": "found", "reason": null, "store": folder });
        if let (Some(answer), Value::Object(stats)) = (answer.as_object_mut(), stats) {
            answer.extend(stats);
        }
        out.json(&answer)?;
        return Ok(0);
    }
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let mega = |value: &Value| number(value) as f64 / 1e6;
    let encrypted = if stats["encrypted"] == true { ", encrypted" } else { "" };
    out.line(format!("store               {folder}{encrypted}"))?;
    for place in stats["namespaces"].as_array().into_iter().flatten() {
        let parts = place["namespace"].as_object().into_iter().flatten();
        let parts: Vec<String> =
            parts.map(|(name, part)| format!("{name}={}", part.as_str().unwrap_or_default())).collect();
        out.line(format!(
            "memories            {} in {}",
            number(&place["memories"]),
            shown(&parts.join(" "))
        ))?;
    }
    out.line(format!("waiting for review  {}", number(&stats["waiting_for_review"])))?;
    let overdue = match number(&stats["overdue_deletions"]) {
        0 => String::new(),
        overdue => format!(", {overdue} OVERDUE: recordari jobs --open"),
    };
    out.line(format!("open deletions      {}{overdue}", number(&stats["open_deletions"])))?;
    let applied = number(&stats["keyword_index"]["applied_writes"]);
    out.line(format!("keyword index       {applied} of {} writes", number(&stats["writes"])))?;
    match stats["model"]["name"].as_str() {
        Some(model) => {
            let (done, all) = (number(&stats["embedded"]["records"]), number(&stats["embedded"]["of"]));
            out.line(format!("vectors             {done} of {all} by {}", shown(model)))?;
        }
        None => out.line("vectors             none yet")?,
    }
    let kept = format!("{:.1} of {:.1} MB", mega(&stats["slack"]["bytes"]), mega(&stats["slack"]["of"]));
    let missing = if stats["slack"]["bytes"] == stats["slack"]["of"] {
        ""
    } else {
        ", the rest when the disk has room"
    };
    out.line(format!("kept for forgetting {kept}{missing}"))?;
    out.line(format!("policy              {}", stats["policy_version"].as_str().unwrap_or_default()))?;
    Ok(0)
}
