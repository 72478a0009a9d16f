//! Keeps traces of recalls and writes in a file of their own. They are written after the answer, may
//! be lost in a crash, and hold ids and numbers, never text.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;

use rusqlite::{Connection, TransactionBehavior, params};

use super::connection::{self, Journal};
use super::lock;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::record::RecordId;

const TRACES_FILE: &str = "traces.db";
const FORMAT: u32 = 2;

/// The file of traces.
pub struct TraceStore(Mutex<Connection>);

/// A trace as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSummary {
    /// Its id.
    pub trace_id: String,
    /// When it was made.
    pub at: Timestamp,
    /// `recall` or `write`.
    pub what: String,
    /// The namespace that asked, as JSON, so that no separator in a part poses as another; a trace is shown to
    /// no other.
    pub asker: String,
    /// Everything else, as JSON.
    pub body: serde_json::Value,
}

impl TraceStore {
    /// Opens the file, creating it when it is missing. One that is damaged is begun anew, since traces may
    /// be lost but must not keep a store from being opened; the second value tells whether that was so.
    pub fn open(folder: &Path) -> Result<(TraceStore, bool)> {
        match TraceStore::try_open(folder) {
            Err(Error::Corrupt(_)) => {
                for name in [TRACES_FILE.to_owned(), format!("{TRACES_FILE}-journal")] {
                    let path = folder.join(name);
                    match std::fs::remove_file(&path) {
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                            return Err(Error::io(&path)(error));
                        }
                        _ => {}
                    }
                }
                Ok((TraceStore::try_open(folder)?, true))
            }
            opened => Ok((opened?, false)),
        }
    }

    fn try_open(folder: &Path) -> Result<TraceStore> {
        let mut connection = connection::open(&folder.join(TRACES_FILE), Journal::Truncate)?;
        // Losing the newest traces in a power cut is fine; waiting for the disk in every recall is not.
        connection.pragma_update(None, "synchronous", "OFF")?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let format: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match format {
            // Traces of an older format are dropped: they may be lost at any time.
            0..FORMAT => {
                // The records that a trace speaks of stand in one column, not in rows of their own: those
                // would be some fifty inserts into an index for every recall, to spare a rare forget a walk.
                transaction.execute_batch(
                    "DROP TABLE IF EXISTS trace_records;
                     DROP TABLE IF EXISTS traces;
                     CREATE TABLE traces (
                         id INTEGER PRIMARY KEY, trace_id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL,
                         what TEXT NOT NULL, asker TEXT NOT NULL, records TEXT NOT NULL, body TEXT NOT NULL) STRICT;
                     CREATE INDEX traces_by_time ON traces (at);",
                )?;
                transaction.pragma_update(None, "user_version", FORMAT)?;
            }
            FORMAT => {}
            found => return Err(Error::FormatTooNew { found, supported: FORMAT }),
        }
        transaction.commit()?;
        Ok(TraceStore(Mutex::new(connection)))
    }

    /// Adds a trace that speaks of these records, and drops what is older or more than is kept.
    pub fn add(
        &self,
        trace: &TraceSummary,
        records: &[&RecordId],
        keep_days: u32,
        keep_at_most: u32,
    ) -> Result<()> {
        let mut connection = lock(&self.0);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let records: Vec<&str> = records.iter().map(|record| record.as_str()).collect();
        transaction
            .prepare_cached(
                "INSERT INTO traces (trace_id, at, what, asker, records, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                trace.trace_id,
                trace.at.as_micros(),
                trace.what,
                trace.asker,
                records.join(" "),
                trace.body.to_string()
            ])?;
        let row = transaction.last_insert_rowid();
        let oldest = trace.at.plus_seconds(-i64::from(keep_days) * 86_400);
        transaction
            .prepare_cached("DELETE FROM traces WHERE at < ?1 OR id <= ?2")?
            .execute(params![oldest.as_micros(), row - i64::from(keep_at_most)])?;
        transaction.commit()?;
        Ok(())
    }

    /// The trace with that id.
    pub fn get(&self, trace_id: &str) -> Result<Option<TraceSummary>> {
        let connection = lock(&self.0);
        let mut statement = connection
            .prepare_cached("SELECT trace_id, at, what, asker, body FROM traces WHERE trace_id = ?1")?;
        let mut rows = statement.query([trace_id])?;
        rows.next()?.map(summary).transpose()
    }

    /// The latest traces of one asker, newest first, at most `limit`.
    pub fn latest(&self, asker: &str, limit: usize) -> Result<Vec<TraceSummary>> {
        let connection = lock(&self.0);
        let mut statement = connection.prepare_cached(
            "SELECT trace_id, at, what, asker, body FROM traces WHERE asker = ?1 ORDER BY id DESC LIMIT ?2",
        )?;
        let mut rows = statement.query(params![asker, limit as i64])?;
        let mut latest = Vec::new();
        while let Some(row) = rows.next()? {
            latest.push(summary(row)?);
        }
        Ok(latest)
    }

    /// Drops every trace that speaks of one of these records.
    pub fn forget(&self, records: &[RecordId]) -> Result<u64> {
        let mut connection = lock(&self.0);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let forgotten: HashSet<&str> = records.iter().map(RecordId::as_str).collect();
        let mut named = Vec::new();
        {
            let mut statement = transaction.prepare_cached("SELECT id, records FROM traces")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let records = row.get_ref(1)?.as_str().map_err(|_| corrupt())?;
                if records.split(' ').any(|record| forgotten.contains(record)) {
                    named.push(row.get::<_, i64>(0)?);
                }
            }
        }
        for trace in &named {
            transaction.prepare_cached("DELETE FROM traces WHERE id = ?1")?.execute([trace])?;
        }
        transaction.commit()?;
        Ok(named.len() as u64)
    }
}

fn summary(row: &rusqlite::Row<'_>) -> Result<TraceSummary> {
    let body: String = row.get(4)?;
    Ok(TraceSummary {
        trace_id: row.get(0)?,
        at: Timestamp::from_micros(row.get(1)?)?,
        what: row.get(2)?,
        asker: row.get(3)?,
        body: serde_json::from_str(&body).map_err(|_| corrupt())?,
    })
}

fn corrupt() -> Error {
    Error::Corrupt("a trace is not as it was written".to_owned())
}
