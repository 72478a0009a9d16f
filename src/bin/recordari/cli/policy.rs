//! `recordari policy`: the policy in force, and whether a file is one.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use super::{Common, Failure, Out};
use crate::settings::{Settings, read_policy};

#[derive(Subcommand)]
pub enum Command {
    /// Print the policy in force as TOML, every default written out
    #[command(after_help = "Example:\n  recordari policy show > policy.toml")]
    Show,
    /// Check a policy file
    #[command(
        after_help = "Exit code 1 when it can't be used.\n\nExample:\n  recordari policy check policy.toml"
    )]
    Check {
        /// The file [default: the policy in force]
        file: Option<PathBuf>,
    },
}

pub fn run(common: &Common, command: Command, out: &mut Out) -> Result<u8, Failure> {
    let settings = Settings::of(common)?;
    match command {
        Command::Show => {
            let policy = settings.policy()?;
            if out.is_json() {
                out.json(&json!({
                    "outcome": "found",
                    "reason": null,
                    "version": policy.version(),
                    "file": settings.policy_file.map(|file| file.display().to_string()),
                    "policy": serde_json::to_value(&policy).unwrap_or_default(),
                }))?;
            } else {
                out.raw(policy.to_toml().as_bytes())?;
            }
            Ok(0)
        }
        Command::Check { file } => {
            let file = file.or(settings.policy_file.clone());
            let checked = match &file {
                Some(file) => read_policy(file),
                None => settings.policy(),
            };
            let named =
                file.map_or_else(|| "the default policy".to_owned(), |file| file.display().to_string());
            let message = checked.as_ref().err().map(ToString::to_string);
            if out.is_json() {
                out.json(&json!({
                    "outcome": if message.is_none() { "valid" } else { "invalid" },
                    "reason": null,
                    "version": checked.as_ref().ok().map(recordari::Policy::version),
                    "message": message,
                }))?;
            } else {
                match &message {
                    None => out.line(format!("{named} can be used"))?,
                    Some(message) => out.line(message.trim_end())?,
                }
            }
            Ok(u8::from(message.is_some()))
        }
    }
}
