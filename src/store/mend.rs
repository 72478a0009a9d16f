//! Mending what contradicts itself, as far as the store knows what is right. What says something is never changed.

use std::path::{Path, PathBuf};

use rusqlite::TransactionBehavior;

use super::cipher::CipherKey;
use super::ledger::{LEDGER_FILE, Ledger};
use super::leftovers::HOLDS_ANYTHING;
use super::models::ModelRow;
use super::number::doc_of;
use super::{DATABASE_FILE, Store, connection, keys, lock, replay};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::simd::packed_len;

impl Store {
    /// Builds every index of the database anew: what one lacks is in its table.
    pub fn reindex(&self) -> Result<()> {
        Ok(lock(&self.writer).execute_batch("REINDEX")?)
    }

    /// Makes the keys by which records are found anew. Returns how many there are now.
    pub fn rekey(&self) -> Result<u64> {
        let mut writer = lock(&self.writer);
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        replay::rekey(&transaction, &self.secret)?;
        let count: i64 = transaction.query_row("SELECT count(*) FROM record_keys", [], |row| row.get(0))?;
        transaction.commit()?;
        Ok(count as u64)
    }

    /// Erases again what a version holds that was forgotten, and the vectors of what is not in force. Returns how many
    /// versions held any.
    pub fn erase_again(&self, now: Timestamp) -> Result<u64> {
        self.write(now, |writing| {
            let connection = writing.connection();
            let held: Vec<i64> = connection
                .prepare(&format!("SELECT id FROM records WHERE state = 'forgotten' AND ({HOLDS_ANYTHING})"))?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            for row in &held {
                keys::take_all(connection, doc_of(*row))?;
                writing.clear_version(*row)?;
            }
            let vectors = connection.execute(
                "UPDATE records SET vectors = NULL
                 WHERE vectors IS NOT NULL AND state NOT IN ('current', 'held')",
                [],
            )?;
            let coming = connection.execute(
                "DELETE FROM coming_vectors WHERE record IN
                     (SELECT id FROM records WHERE state NOT IN ('current', 'held'))",
                [],
            )?;
            Ok((held.len() + vectors + coming) as u64)
        })
    }

    /// Takes away vectors that are not of the width of the model in use, to be made anew. Returns how many there were.
    pub fn drop_odd_vectors(&self, model: &ModelRow, now: Timestamp) -> Result<u64> {
        self.write(now, |writing| {
            Ok(writing.connection().execute(
                "UPDATE records SET vectors = NULL WHERE vectors IS NOT NULL AND length(vectors) % ?1 <> 0",
                [packed_len(model.dims) as i64],
            )? as u64)
        })
    }
}

/// A ledger that could not be read as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerAside {
    /// Where it is now.
    pub kept: PathBuf,
    /// How many deletions could be read in it, and are in the new one; none: it can't be read at all.
    pub salvaged: Option<usize>,
}

/// Puts a damaged ledger aside and begins a new one with what can still be read in it; the next opening adds what the
/// database knows. None when it is sound, or not there.
///
/// # Errors
/// `Io` when it can't be renamed. A ledger that others write, or that the system refuses, is no damaged one; and without
/// the right cipher key everything looks damaged, so the database must open first.
pub fn set_damaged_ledger_aside(
    folder: &Path,
    cipher: Option<&CipherKey>,
    now: Timestamp,
) -> Result<Option<LedgerAside>> {
    let path = folder.join(LEDGER_FILE);
    if !path.exists() {
        return Ok(None);
    }
    let database = folder.join(DATABASE_FILE);
    if std::fs::metadata(&database).is_ok_and(|file| file.len() > 0) {
        drop(connection::open(&database, connection::Journal::Wal, cipher)?);
    } else if cipher.is_some() || !connection::is_plain(&path) {
        return Err(super::lost(folder));
    }
    let opened = match Ledger::at(&path, cipher) {
        Err(Error::Corrupt(_)) => None,
        opened => Some(opened?),
    };
    match opened.as_ref().map(Ledger::is_sound) {
        Some(Ok(true)) => return Ok(None),
        Some(Err(busy @ Error::Locked(_))) => return Err(busy),
        _ => {}
    }
    let read = opened.and_then(|ledger| Some((ledger.tombstones().ok()?, ledger.sources().ok()?)));
    let kept = folder.join(format!("{LEDGER_FILE}.damaged-{}", now.as_micros()));
    std::fs::rename(&path, &kept).map_err(Error::io(&path))?;
    // Its journal belongs to it.
    let journal = folder.join(format!("{LEDGER_FILE}-journal"));
    match std::fs::remove_file(&journal) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(&journal)(error)),
        _ => {}
    }
    let salvaged = read.as_ref().map(|(tombstones, _)| tombstones.len());
    if let Some((tombstones, sources)) = read {
        Ledger::at(&path, cipher)?.add(&tombstones, &sources)?;
    }
    Ok(Some(LedgerAside { kept, salvaged }))
}
