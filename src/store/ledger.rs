//! The list of what was forgotten, in a file of its own beside the database: a database restored
//! from before a deletion is told about it when it is opened. Ids, times and keyed digests; no content.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};

use super::cipher::CipherKey;
use super::connection::{self, Journal};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::namespace::Namespace;
use crate::record::MemoryId;

pub(super) const LEDGER_FILE: &str = "ledger.db";
const FORMAT: u32 = 1;

/// What a mark can be of: a text, a source in any of its places, a source as a whole, one place in it.
pub(super) const MARK_KINDS: [&str; 4] = ["text", "source", "whole", "place"];

/// A number for all tombstones of a file, of the ledger or the database: their times tell deletions apart, so that one
/// that is missing in each does not pass for the same list.
pub(super) const TOMBSTONES_SUMMED: &str =
    "SELECT count(*) + ifnull(sum((forgotten_at & 0xFFFFFFFF) * 1000003 & 0x3FFFFFFFFF), 0) FROM tombstones";

/// A keyed digest of a text, a source or a place that a forgotten memory had.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    pub kind: &'static str,
    pub digest: [u8; 16],
}

/// A forgotten memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tombstone {
    pub namespace: Namespace,
    pub memory_id: MemoryId,
    pub generation: u32,
    pub forgotten_at: Timestamp,
    pub receipt: String,
    pub marks: Vec<Mark>,
}

/// A source that may not come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blocked {
    pub namespace: Namespace,
    pub source: String,
    pub blocked_at: Timestamp,
}

/// The ledger's file.
pub(super) struct Ledger(Connection);

impl Ledger {
    pub(super) fn open(folder: &Path, cipher: Option<&CipherKey>) -> Result<Ledger> {
        Ledger::at(&folder.join(LEDGER_FILE), cipher)
    }

    /// The file of that name, made when it is missing.
    pub(super) fn at(path: &Path, cipher: Option<&CipherKey>) -> Result<Ledger> {
        let mut connection = connection::open(path, Journal::Truncate, cipher)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let format: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match format {
            0 => {
                transaction.execute_batch(
                    "CREATE TABLE tombstones (
                         memory_id TEXT NOT NULL, generation INTEGER NOT NULL,
                         tenant TEXT NOT NULL, user TEXT, project TEXT, agent TEXT,
                         forgotten_at INTEGER NOT NULL, receipt TEXT NOT NULL,
                         PRIMARY KEY (memory_id, generation)) STRICT;
                     CREATE TABLE marks (
                         memory_id TEXT NOT NULL, generation INTEGER NOT NULL, kind TEXT NOT NULL, digest BLOB NOT NULL,
                         PRIMARY KEY (memory_id, generation, kind, digest)) STRICT, WITHOUT ROWID;
                     CREATE TABLE sources (
                         tenant TEXT NOT NULL, user TEXT, project TEXT, agent TEXT,
                         source TEXT NOT NULL, blocked_at INTEGER NOT NULL) STRICT;
                     CREATE UNIQUE INDEX sources_once ON sources
                         (tenant, ifnull(user, ''), ifnull(project, ''), ifnull(agent, ''), source);",
                )?;
                transaction.pragma_update(None, "user_version", FORMAT)?;
            }
            FORMAT => {}
            found => return Err(Error::FormatTooNew { found, supported: FORMAT }),
        }
        transaction.commit()?;
        Ok(Ledger(connection))
    }

    /// Whether the file agrees with itself.
    pub(super) fn is_sound(&self) -> Result<bool> {
        let told: String = self.0.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        Ok(told == "ok")
    }

    /// Which store it is of, as [`Store::identity`](super::Store) tells; 0: it was never told.
    pub(super) fn identity(&self) -> Result<i32> {
        Ok(self.0.pragma_query_value(None, "application_id", |row| row.get(0))?)
    }

    /// Notes which store it is of, if it does not know yet. What has no name yet notes nothing.
    pub(super) fn claim(&self, identity: i32) -> Result<()> {
        if identity != 0 && self.identity()? == 0 {
            self.0.pragma_update(None, "application_id", identity)?;
        }
        Ok(())
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.0
    }

    /// Adds what is not there yet, durably.
    pub(super) fn add(&mut self, tombstones: &[Tombstone], sources: &[Blocked]) -> Result<()> {
        let transaction = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for tombstone in tombstones {
            let n = &tombstone.namespace;
            transaction.execute(
                "INSERT OR IGNORE INTO tombstones VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    tombstone.memory_id.as_str(),
                    tombstone.generation,
                    n.tenant(),
                    n.user_part(),
                    n.project_part(),
                    n.agent_part(),
                    tombstone.forgotten_at.as_micros(),
                    tombstone.receipt
                ],
            )?;
            for mark in &tombstone.marks {
                transaction.execute(
                    "INSERT OR IGNORE INTO marks VALUES (?1, ?2, ?3, ?4)",
                    params![
                        tombstone.memory_id.as_str(),
                        tombstone.generation,
                        mark.kind,
                        mark.digest.as_slice()
                    ],
                )?;
            }
        }
        for blocked in sources {
            let n = &blocked.namespace;
            transaction.execute(
                "INSERT OR IGNORE INTO sources VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    n.tenant(),
                    n.user_part(),
                    n.project_part(),
                    n.agent_part(),
                    blocked.source,
                    blocked.blocked_at.as_micros()
                ],
            )?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// How many tombstones and blocked sources it holds.
    pub(super) fn counts(&self) -> Result<(i64, i64)> {
        let count = |sql: &str| self.0.query_row(sql, [], |row| row.get::<_, i64>(0));
        Ok((count("SELECT count(*) FROM tombstones")?, count("SELECT count(*) FROM sources")?))
    }

    /// A number for its tombstones; see [`TOMBSTONES_SUMMED`].
    pub(super) fn sum(&self) -> Result<i64> {
        Ok(self.0.query_row(TOMBSTONES_SUMMED, [], |row| row.get(0))?)
    }

    pub(super) fn tombstones(&self) -> Result<Vec<Tombstone>> {
        let mut statement = self.0.prepare(
            "SELECT memory_id, generation, tenant, user, project, agent, forgotten_at, receipt FROM tombstones
             ORDER BY memory_id, generation",
        )?;
        let mut rows = statement.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let memory_id: String = row.get(0)?;
            let generation: u32 = row.get(1)?;
            all.push(Tombstone {
                namespace: namespace(row, 2)?,
                generation,
                forgotten_at: Timestamp::from_micros(row.get(6)?)?,
                receipt: row.get(7)?,
                marks: self.marks(&memory_id, generation)?,
                memory_id: MemoryId::new(memory_id),
            });
        }
        Ok(all)
    }

    fn marks(&self, memory_id: &str, generation: u32) -> Result<Vec<Mark>> {
        let mut statement = self
            .0
            .prepare_cached("SELECT kind, digest FROM marks WHERE memory_id = ?1 AND generation = ?2")?;
        let mut rows = statement.query(params![memory_id, generation])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let kind: String = row.get(0)?;
            let kind = MARK_KINDS.into_iter().find(|known| *known == kind);
            let kind =
                kind.ok_or_else(|| Error::Corrupt("the ledger holds a mark of unknown kind".to_owned()))?;
            all.push(Mark { kind, digest: row.get(1)? });
        }
        Ok(all)
    }

    pub(super) fn sources(&self) -> Result<Vec<Blocked>> {
        let mut statement =
            self.0.prepare("SELECT tenant, user, project, agent, source, blocked_at FROM sources")?;
        let mut rows = statement.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(Blocked {
                namespace: namespace(row, 0)?,
                source: row.get(4)?,
                blocked_at: Timestamp::from_micros(row.get(5)?)?,
            });
        }
        Ok(all)
    }
}

fn namespace(row: &rusqlite::Row<'_>, first: usize) -> Result<Namespace> {
    let text = |column: usize| row.get::<_, Option<String>>(first + column);
    let tenant: String = row.get(first)?;
    Namespace::from_parts(&tenant, text(1)?.as_deref(), text(2)?.as_deref(), text(3)?.as_deref())
}
