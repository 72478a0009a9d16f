//! `recordari restore`: a store made of a backup.

use std::path::{Path, PathBuf};

use clap::Args;
use recordari::{CipherKey, Clock, RestoreFrom, Restored, SystemClock};
use serde_json::json;

use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out, backup, init, show};
use crate::settings::{CONFIG_FILE, NO_KEY, Settings, cipher_of};

/// How many ids of what was removed are shown to a person.
const IDS_SHOWN: usize = 20;

#[derive(Args)]
#[command(
    after_help = "The store (--store) must be missing or an empty folder: nothing is overwritten. What was forgotten since the backup is forgotten again before anybody can read the store, as far as the newest ledger that you name knows of it; without one, what was forgotten after the backup is back. The store is encrypted with the key of --cipher-key-file, or not, whatever the backup was: so a store is encrypted, decrypted, or given another key.\n\nExamples:\n  recordari restore /mnt/backups/memory-2026-03-01 --store ./restored --ledger ./memory\n  recordari restore /mnt/backups/memory-2026-03-01 --store ./restored --ledger ./saved/ledger.db --key ./saved/store.key\n  recordari restore /mnt/backups/memory-2026-03-01 --store ./encrypted --ledger ./memory --cipher-key-file ~/keys/memory.key"
)]
pub struct Arguments {
    /// The folder of the backup
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A store, or the ledger.db of one: the newest that knows what was forgotten
    #[arg(long, value_name = "STORE_OR_FILE")]
    ledger: Option<PathBuf>,
    /// The store.key of the store that was backed up [default: the one in the folder that --ledger names]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The file with the key that the backup is encrypted with [default: the one of --cipher-key-file]
    #[arg(long, value_name = "FILE")]
    backup_cipher_key_file: Option<PathBuf>,
    /// The file with the key that the ledger is encrypted with [default: that of the backup, or of the new store]
    #[arg(long, value_name = "FILE", requires = "ledger")]
    ledger_cipher_key_file: Option<PathBuf>,
    /// Encrypt the new store with a new key, which is written to this file
    #[arg(long, value_name = "FILE", conflicts_with = "cipher_key_file")]
    new_cipher_key: Option<PathBuf>,
    /// Leave the new store unencrypted though the backup is encrypted
    #[arg(long, conflicts_with = "new_cipher_key")]
    decrypt: bool,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let settings = Settings::of(common)?;
    let known = settings.cipher()?;
    let store = settings.store;
    let of_backup = arguments.backup_cipher_key_file.map(|file| cipher_of(&file, &arguments.folder));
    let cipher = of_backup.transpose()?.or_else(|| known.clone());
    let of_ledger = arguments.ledger_cipher_key_file.zip(arguments.ledger.as_ref());
    let ledger_cipher = of_ledger.map(|(file, ledger)| cipher_of(&file, ledger)).transpose()?;
    let new = arguments.new_cipher_key.as_deref();
    let new_cipher = match new {
        _ if arguments.decrypt => None,
        Some(file) => {
            init::may_hold_key(file, &store)?;
            Some(CipherKey::generate()?)
        }
        None => known,
    };
    if arguments.decrypt && cipher.is_none() {
        return Err(Failure::usage("to decrypt takes the key of the backup: --backup-cipher-key-file"));
    }
    if cipher.is_some() && new_cipher.is_none() && !arguments.decrypt {
        let what = "the new store would not be encrypted: name its key with --cipher-key-file or --new-cipher-key, or say --decrypt";
        return Err(Failure::usage(what));
    }
    if let (Some(file), Some(key)) = (new, &new_cipher) {
        key.write(file)?;
    }
    let is_encrypted = new_cipher.is_some();
    let from =
        RestoreFrom { ledger: arguments.ledger, key: arguments.key, cipher, ledger_cipher, new_cipher };
    let restored = recordari::restore(&arguments.folder, &store, &from, SystemClock.now())?;
    let file = new.or(common.cipher_key_file.as_deref()).filter(|_| is_encrypted);
    let common =
        &Common { cipher_key_file: Some(file.unwrap_or(Path::new(NO_KEY)).to_owned()), ..common.clone() };
    set_cipher_file(&store, common)?;
    // Opening it builds what is derived, and cleans up after what was forgotten again.
    drop(Session::without_model(common, out)?);
    let folder = store.display().to_string();
    if out.is_json() {
        out.json(&json!({
            "outcome": "restored",
            "reason": null,
            "store": folder,
            "encrypted": is_encrypted,
            "backup": restored.backup,
            "ledger": ledger(&restored),
            "removed": restored.removed.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
            "new_key": restored.new_key,
        }))?;
        return Ok(0);
    }
    out.line(format!("Restored to {}: {}.", shown(&folder), backup::told(&restored.backup)))?;
    match file {
        Some(file) => out.line(format!("  encrypted with the key in {}", shown(&init::absolute(file))))?,
        None => out.line("  not encrypted")?,
    }
    out.line(match restored.newer_in_ledger {
        Some(0) => "  the ledger knows of nothing that was forgotten after the backup".to_owned(),
        Some(1) => "  1 entry of the ledger is newer than the backup".to_owned(),
        Some(newer) => format!("  {newer} entries of the ledger are newer than the backup"),
        None => "  no ledger was named: what was forgotten after the backup is back".to_owned(),
    })?;
    let removed = restored.removed.len() as u64;
    if removed > 0 {
        out.line(format!("  forgotten again: {}", show::counted(removed, "memory", "memories")))?;
        for memory in restored.removed.iter().take(IDS_SHOWN) {
            out.line(format!("    {}", shown(memory.as_str())))?;
        }
        if restored.removed.len() > IDS_SHOWN {
            out.line(format!("    and {} more: --json lists all", restored.removed.len() - IDS_SHOWN))?;
        }
    }
    if restored.new_key {
        out.line("  it has a new key: what was forgotten is kept out by id and source, not by its text (--key brings the old one)")?;
    }
    Ok(0)
}

/// The settings that come with a backup may name the key of the store that was backed up.
fn set_cipher_file(store: &Path, common: &Common) -> Result<(), Failure> {
    let config = store.join(CONFIG_FILE);
    let is_plain = common.cipher_key_file.as_deref() == Some(Path::new(NO_KEY));
    if is_plain && !config.exists() {
        return Ok(());
    }
    let file = common.cipher_key_file.as_deref().map(|file| match file == Path::new(NO_KEY) {
        true => NO_KEY.to_owned(),
        false => init::absolute(file),
    });
    init::change(&config, &[("cipher_key_file", file.unwrap_or_default())])
}

/// What the ledger knew: `newer` than the backup, `not_newer`, or `none` was named.
fn ledger(restored: &Restored) -> &'static str {
    match restored.newer_in_ledger {
        Some(0) => "not_newer",
        Some(_) => "newer",
        None => "none",
    }
}
