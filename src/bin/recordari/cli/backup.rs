//! `recordari backup`: a copy to keep elsewhere.

use std::path::PathBuf;

use clap::Args;
use recordari::Manifest;
use serde_json::json;

use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out, show};

#[derive(Args)]
#[command(
    after_help = "The copy holds every memory, its history, receipts and what was forgotten, and the settings in the store's folder; not the store's key (store.key: keep it apart), traces, nor what can be derived. Others may go on reading and writing. It is checked after it was written. What a backup that was killed has left in DIR is taken away.\n\nExample:\n  recordari backup /mnt/backups/memory-2026-03-01"
)]
pub struct Arguments {
    /// The folder of the copy, which must be missing or empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::reading(common, out)?;
    let manifest = session.memory.backup(&arguments.folder)?;
    let folder = arguments.folder.display().to_string();
    if out.is_json() {
        out.json(&json!({ "outcome": "backed_up", "reason": null, "folder": folder, "backup": manifest }))?;
    } else {
        out.line(format!("Backed up to {}: {}.", shown(&folder), told(&manifest)))?;
        out.line("  checked as it lies on the disk; the store's key is not in it: keep store.key apart")?;
    }
    Ok(0)
}

pub(super) fn told(manifest: &Manifest) -> String {
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    format!(
        "{} in {:.1} MB, {}",
        show::counted(manifest.records, "version", "versions"),
        bytes as f64 / 1e6,
        show::counted(manifest.tombstones, "tombstone", "tombstones"),
    )
}
