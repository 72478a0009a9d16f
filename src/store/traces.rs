//! Keeps traces of recalls and writes in a file of their own. They are written after the answer, many at a
//! time, may be lost in a crash, and hold ids and numbers, never text.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rusqlite::{Connection, TransactionBehavior, params};

use super::cipher::{CIPHER_KEY, CipherKey};
use super::connection::{self, Journal};
use super::{Store, lock};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::record::RecordId;

const TRACES_FILE: &str = "traces.db";
const FORMAT: u32 = 2;

/// After so many traces that wait, whoever adds one writes them all.
const WAITING_MAX: usize = 256;

/// The file of traces, and those that wait to be written.
pub struct TraceStore {
    place: Place,
    file: Mutex<File>,
    waiting: Mutex<Vec<NewTrace>>,
}

/// Where the file lies, and the key that it is encrypted with.
struct Place {
    folder: PathBuf,
    cipher: Option<CipherKey>,
}

struct File {
    connection: Connection,
    /// The last tombstone that was there when traces were written: while none is newer, nothing that waits
    /// can speak of what was forgotten.
    last_tombstone: i64,
    /// Which file it is: another process may have put a new one in its place.
    identity: Option<(u64, u64)>,
}

/// A trace to be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTrace {
    /// Its id.
    pub trace_id: String,
    /// When it was made.
    pub at: Timestamp,
    /// `recall` or `write`.
    pub what: &'static str,
    /// The namespace that asked, as JSON.
    pub asker: String,
    /// The ids of the records that it speaks of, with a space between two.
    pub records: String,
    /// Everything else, as JSON.
    pub body: String,
}

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
    /// Opens the file, creating it when it is missing. One that is damaged is begun anew, now or when that is met,
    /// since traces may be lost but must not keep a store from being opened, nor a deletion from being finished; the
    /// second value tells whether that was so now.
    pub fn open(folder: &Path, cipher: Option<&CipherKey>) -> Result<(TraceStore, bool)> {
        let place = Place { folder: folder.to_owned(), cipher: cipher.cloned() };
        let (file, is_new) = File::sound(&place)?;
        Ok((TraceStore { place, file: Mutex::new(file), waiting: Mutex::default() }, is_new))
    }

    /// Adds a trace. True when so many wait that they should be written.
    pub fn add(&self, trace: NewTrace) -> bool {
        let mut waiting = lock(&self.waiting);
        waiting.push(trace);
        waiting.len() >= WAITING_MAX
    }

    /// Writes what waits, but for what speaks of records that were forgotten meanwhile, by whichever
    /// process; and drops what is older or more than is kept.
    pub fn write(&self, store: &Store, keep_days: u32, keep_at_most: u32) -> Result<()> {
        let mut file = lock(&self.file);
        let mut batch = std::mem::take(&mut *lock(&self.waiting));
        let Some(newest) = batch.iter().map(|trace| trace.at).max() else { return Ok(()) };
        let last_tombstone = store.snapshot()?.last_tombstone()?;
        if last_tombstone != file.last_tombstone {
            let gone = forgotten(store, &batch)?;
            batch.retain(|trace| !names(&trace.records, &gone));
        }
        let oldest = newest.plus_seconds(-i64::from(keep_days) * 86_400);
        self.with(&mut file, |connection| insert(connection, &batch, oldest, keep_at_most))?;
        // Whoever forgot something between the look and the commit did not find these traces.
        if store.snapshot()?.last_tombstone()? != last_tombstone {
            let gone: Vec<RecordId> = forgotten(store, &batch)?.into_iter().map(RecordId::new).collect();
            self.with(&mut file, |connection| erase(connection, &gone))?;
        }
        file.last_tombstone = last_tombstone;
        Ok(())
    }

    /// The trace with that id.
    pub fn get(&self, trace_id: &str) -> Result<Option<TraceSummary>> {
        let mut file = lock(&self.file);
        self.with(&mut file, |connection| get(connection, trace_id))
    }

    /// The latest traces of one asker, newest first, at most `limit`.
    pub fn latest(&self, asker: &str, limit: usize) -> Result<Vec<TraceSummary>> {
        let mut file = lock(&self.file);
        self.with(&mut file, |connection| latest(connection, asker, limit))
    }

    /// Drops every trace that speaks of one of these records, written or waiting; returns the records that each of
    /// them spoke of, separated by spaces.
    pub fn forget(&self, records: &[RecordId]) -> Result<Vec<String>> {
        let gone: HashSet<String> = records.iter().map(|record| record.as_str().to_owned()).collect();
        // The file's lock first: nothing that waits may be on its way into it.
        let mut file = lock(&self.file);
        let mut dropped = Vec::new();
        lock(&self.waiting).retain(|trace| {
            let is_named = names(&trace.records, &gone);
            dropped.extend(is_named.then(|| trace.records.clone()));
            !is_named
        });
        dropped.extend(self.with(&mut file, |connection| erase(connection, records))?);
        Ok(dropped)
    }

    /// Works on the file that lies there now. One that shows itself to be damaged is begun anew, by this process or
    /// another, and there was nothing in it.
    fn with<T: Default>(&self, file: &mut File, work: impl Fn(&mut Connection) -> Result<T>) -> Result<T> {
        if file.identity != identity(&self.place.folder) {
            *file = File::sound(&self.place)?.0;
        }
        match work(&mut file.connection) {
            Err(error) if is_damage(&error) => {
                *file = File::begin_anew(&self.place)?;
                Ok(T::default())
            }
            done => done,
        }
    }
}

/// Tells one file from another that took its place; none where that can't be told, or there is none.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(folder.join(TRACES_FILE)).ok()?;
    #[cfg(unix)]
    return Some((std::os::unix::fs::MetadataExt::dev(&found), std::os::unix::fs::MetadataExt::ino(&found)));
    #[cfg(not(unix))]
    {
        let _ = found;
        None
    }
}

impl File {
    /// The file, begun anew if it shows at once that it is damaged; then true.
    fn sound(place: &Place) -> Result<(File, bool)> {
        match File::open(place) {
            Err(error) if is_damage(&error) => Ok((File::begin_anew(place)?, true)),
            opened => Ok((opened?, false)),
        }
    }

    fn open(place: &Place) -> Result<File> {
        let path = place.folder.join(TRACES_FILE);
        let mut connection = connection::open(&path, Journal::Truncate, place.cipher.as_ref())?;
        // Losing the newest traces in a power cut is fine, or all of them if it leaves the file torn; waiting for the
        // disk in every recall is not.
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
        Ok(File { connection, last_tombstone: -1, identity: identity(&place.folder) })
    }

    fn begin_anew(place: &Place) -> Result<File> {
        for name in [TRACES_FILE.to_owned(), format!("{TRACES_FILE}-journal")] {
            let path = place.folder.join(name);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(&path)(error));
                }
                _ => {}
            }
        }
        File::open(place)
    }
}

/// Whether an error says that the file is not as it was written; the system's refusals say nothing about it.
fn is_damage(error: &Error) -> bool {
    use rusqlite::ErrorCode::{ConstraintViolation, DatabaseCorrupt, NotADatabase, TypeMismatch, Unknown};
    match error {
        // Written before the store was encrypted.
        Error::Corrupt(_) | Error::Invalid { field: CIPHER_KEY, .. } => true,
        Error::Database(source) => source.downcast_ref::<rusqlite::Error>().is_some_and(|source| {
            match source.sqlite_error_code() {
                // A table that is missing has no code of its own.
                Some(DatabaseCorrupt | NotADatabase | Unknown | ConstraintViolation | TypeMismatch) => true,
                Some(_) => false,
                // A value is of another type than it was written with.
                None => true,
            }
        }),
        _ => false,
    }
}

/// Whether a list of ids holds one of these.
fn names(records: &str, gone: &HashSet<String>) -> bool {
    !gone.is_empty() && records.split(' ').any(|record| gone.contains(record))
}

/// Which of the records that these traces speak of have been forgotten.
fn forgotten(store: &Store, traces: &[NewTrace]) -> Result<HashSet<String>> {
    let snapshot = store.snapshot()?;
    let ids: HashSet<&str> = traces.iter().flat_map(|trace| trace.records.split(' ')).collect();
    let mut gone = HashSet::new();
    for id in ids {
        if snapshot.is_forgotten(id)? {
            gone.insert(id.to_owned());
        }
    }
    Ok(gone)
}

/// Adds traces, and drops those from before an instant and more than are kept.
fn insert(
    connection: &mut Connection,
    batch: &[NewTrace],
    oldest: Timestamp,
    keep_at_most: u32,
) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut insert = transaction.prepare_cached(
            "INSERT INTO traces (trace_id, at, what, asker, records, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for trace in batch {
            let NewTrace { trace_id, at, what, asker, records, body } = trace;
            insert.execute(params![trace_id, at.as_micros(), what, asker, records, body])?;
        }
    }
    let row = transaction.last_insert_rowid();
    transaction
        .prepare_cached("DELETE FROM traces WHERE at < ?1 OR id <= ?2")?
        .execute(params![oldest.as_micros(), row - i64::from(keep_at_most)])?;
    transaction.commit()?;
    Ok(())
}

fn erase(connection: &mut Connection, records: &[RecordId]) -> Result<Vec<String>> {
    let gone: HashSet<String> = records.iter().map(|record| record.as_str().to_owned()).collect();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut named = Vec::new();
    {
        let mut statement = transaction.prepare_cached("SELECT id, records FROM traces")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let records = row.get_ref(1)?.as_str().map_err(|_| corrupt())?;
            if names(records, &gone) {
                named.push((row.get::<_, i64>(0)?, records.to_owned()));
            }
        }
    }
    for (trace, _) in &named {
        transaction.prepare_cached("DELETE FROM traces WHERE id = ?1")?.execute([trace])?;
    }
    transaction.commit()?;
    Ok(named.into_iter().map(|(_, records)| records).collect())
}

fn get(connection: &Connection, trace_id: &str) -> Result<Option<TraceSummary>> {
    let mut statement = connection
        .prepare_cached("SELECT trace_id, at, what, asker, body FROM traces WHERE trace_id = ?1")?;
    let mut rows = statement.query([trace_id])?;
    rows.next()?.map(summary).transpose()
}

fn latest(connection: &Connection, asker: &str, limit: usize) -> Result<Vec<TraceSummary>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(number: i64, records: &str) -> NewTrace {
        NewTrace {
            trace_id: format!("trc_{number}"),
            at: Timestamp::from_micros(number).unwrap(),
            what: "recall",
            asker: "acme".to_owned(),
            records: records.to_owned(),
            body: "{}".to_owned(),
        }
    }

    /// A loss of power can leave the file torn, which shows when it is read and not when it is opened: the deletion
    /// failed, and with it every opening, which tries to end what was begun.
    #[test]
    fn damage_that_shows_later_than_at_opening_loses_the_traces_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let gone = [RecordId::new("rec_a")];
        let damage = |number: i32, connection: &Connection| match number {
            0 => {
                // All pages but the first.
                let path = folder.path().join(TRACES_FILE);
                let mut bytes = std::fs::read(&path).unwrap();
                bytes[8192..].fill(0);
                std::fs::write(path, bytes).unwrap();
            }
            1 => connection.execute_batch("DROP TABLE traces").unwrap(),
            _ => connection.execute_batch("UPDATE traces SET body = 'half of'").unwrap(),
        };
        for number in 0..3 {
            let (traces, _) = TraceStore::open(folder.path(), None).unwrap();
            let written = [trace(1, "rec_a rec_b"), trace(2, "rec_b")];
            insert(&mut lock(&traces.file).connection, &written, Timestamp::from_micros(0).unwrap(), 10)
                .unwrap();
            damage(number, &lock(&traces.file).connection);
            drop(traces);
            let (traces, _) = TraceStore::open(folder.path(), None).unwrap();
            traces.forget(&gone).unwrap_or_else(|error| panic!("damage {number}: {error}"));
            assert_eq!(traces.latest("acme", 10).unwrap(), [], "damage {number}");
            let again = [trace(3, "rec_c")];
            insert(&mut lock(&traces.file).connection, &again, Timestamp::from_micros(0).unwrap(), 10)
                .unwrap();
            assert_eq!(traces.latest("acme", 10).unwrap().len(), 1);
            assert_eq!(traces.forget(&[RecordId::new("rec_c")]).unwrap(), ["rec_c"]);
        }
    }

    #[test]
    fn a_file_that_another_process_began_anew_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let add = |traces: &TraceStore, number| {
            let written = [trace(number, "rec_a")];
            let oldest = Timestamp::from_micros(0).unwrap();
            traces
                .with(&mut lock(&traces.file), |connection| insert(connection, &written, oldest, 10))
                .unwrap();
        };
        let (mine, _) = TraceStore::open(folder.path(), None).unwrap();
        let (theirs, _) = TraceStore::open(folder.path(), None).unwrap();
        add(&mine, 1);
        lock(&theirs.file).connection.execute_batch("DROP TABLE traces").unwrap();
        assert_eq!(theirs.latest("acme", 10).unwrap(), []);
        add(&theirs, 2);
        // What lies there now is looked through, and not what lay there once.
        assert_eq!(mine.forget(&[RecordId::new("rec_a")]).unwrap(), ["rec_a"]);
        assert_eq!(theirs.latest("acme", 10).unwrap(), []);
        add(&mine, 3);
        assert_eq!(theirs.latest("acme", 10).unwrap().len(), 1);
    }
}
