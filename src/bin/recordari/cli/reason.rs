//! `recordari reason [CODE]`: what a reason code means and what to do.

use clap::Args;
use recordari::Reason;

use super::{Failure, Out};
use crate::wire;

#[derive(Args)]
#[command(
    after_help = "Without a code: all of them, in the order of a memory's path. Exit code 2 for a word that is no code.\n\nExample:\n  recordari reason stale_expected_record"
)]
pub struct Arguments {
    /// The code
    code: Option<String>,
}

pub fn run(arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let Some(code) = arguments.code else {
        for reason in Reason::ALL {
            if out.is_json() {
                out.json(&wire::reason(*reason))?;
            } else {
                out.line(format!("{:<29} {}", reason.code(), reason.meaning()))?;
            }
        }
        return Ok(0);
    };
    let reason = Reason::from_code(&code)
        .ok_or_else(|| Failure::usage("there is no such reason code; recordari reason lists them"))?;
    if out.is_json() {
        let mut answer = serde_json::json!({ "outcome": "found", "reason": reason.code() });
        if let (Some(answer), serde_json::Value::Object(fields)) =
            (answer.as_object_mut(), wire::reason(reason))
        {
            answer.extend(fields);
        }
        out.json(&answer)?;
    } else {
        out.line(reason.code())?;
        out.line(format!("  What it means: {}", reason.meaning()))?;
        out.line(format!("  What to do:    {}", reason.remedy()))?;
    }
    Ok(0)
}
