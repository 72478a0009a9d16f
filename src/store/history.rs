//! What a memory said over time: its versions, and which of them was believed or true at an instant.

use rusqlite::{Connection, OptionalExtension, params};

use super::number::doc_of;
use super::secret::Of;
use super::writing::find_namespace;
use super::{Snapshot, rows};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::namespace::{Namespace, Principal};
use crate::record::{MemoryId, Record, RecordId, State};
use crate::text::canonical;
use crate::trust::Sensitivity;

/// One version of a memory. A forgotten one is known by its ids and times alone.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// The version.
    pub record_id: RecordId,
    /// Its number; it begins again at 1 after the memory was forgotten.
    pub version: u32,
    /// How often the memory had been forgotten before.
    pub generation: u32,
    /// Its state now.
    pub state: State,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// When it went out of force.
    pub ended_at: Option<Timestamp>,
    /// What it says; none when it was forgotten.
    pub record: Option<Record>,
}

/// Two questions about the past. Either may be left open, and then means now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsOf {
    /// What was true at that instant.
    pub valid_at: Option<Timestamp>,
    /// What the store believed at that instant.
    pub known_at: Option<Timestamp>,
}

impl Snapshot<'_> {
    /// The versions of a memory, oldest first. Empty when the caller may not see it, or there is none.
    pub fn history(&self, principal: &Principal, memory: &MemoryId) -> Result<Vec<HistoryEntry>> {
        if !self.sees_memory(principal, memory)? {
            return Ok(Vec::new());
        }
        let mut statement = self.connection().prepare_cached(
            "SELECT r.id, r.record_id, r.version, r.generation, r.state, r.recorded_at, r.ended_at, r.sensitivity
             FROM memories m JOIN records r ON r.memory = m.id AND r.state IN ('current', 'held')
             WHERE m.memory_id = ?1
             UNION ALL
             SELECT r.id, r.record_id, r.version, r.generation, r.state, r.recorded_at, r.ended_at, r.sensitivity
             FROM memories m JOIN records r ON r.memory = m.id AND r.state NOT IN ('current', 'held')
             WHERE m.memory_id = ?1 ORDER BY 1",
        )?;
        let mut found = statement.query([memory.as_str()])?;
        let mut entries = Vec::new();
        while let Some(row) = found.next()? {
            if rows::code::<Sensitivity>(row, 7)? > principal.clearance {
                continue;
            }
            entries.push(HistoryEntry {
                record_id: RecordId::new(row.get::<_, String>(1)?),
                version: row.get(2)?,
                generation: row.get(3)?,
                state: rows::code(row, 4)?,
                recorded_at: Timestamp::from_micros(row.get(5)?)?,
                ended_at: row.get::<_, Option<i64>>(6)?.map(Timestamp::from_micros).transpose()?,
                record: self.record(doc_of(row.get(0)?))?,
            });
        }
        Ok(entries)
    }

    /// The version of a memory that was known and true at the instants asked for: of those recorded by
    /// then and not out of force by then, the newest whose validity covers the instant. A version that
    /// was only superseded still tells what was true before its successor holds.
    pub fn as_of(
        &self,
        principal: &Principal,
        memory: &MemoryId,
        as_of: AsOf,
        now: Timestamp,
    ) -> Result<Option<Record>> {
        let known_at = as_of.known_at.unwrap_or(now);
        let valid_at = as_of.valid_at.unwrap_or(known_at);
        let known =
            self.history(principal, memory)?.into_iter().filter(|entry| entry.recorded_at <= known_at);
        let standing = known.filter(|entry| {
            let ended = entry.ended_at.is_some_and(|ended_at| ended_at <= known_at);
            !(ended && entry.state == State::Retired)
        });
        let holds = |record: &Record| {
            record.valid_from <= valid_at && record.expires_at.is_none_or(|expires_at| valid_at < expires_at)
        };
        let mut newest_first: Vec<Record> = standing.filter_map(|entry| entry.record).collect();
        newest_first.reverse();
        // A newer version that began to hold by then closes every older one, even if it has expired since.
        let in_question = newest_first.into_iter().find(|record| record.valid_from <= valid_at);
        Ok(in_question.filter(holds))
    }

    /// How often a memory was forgotten, and the receipt of the last time; none when the caller may
    /// not see it or it never was.
    pub fn forgotten(&self, principal: &Principal, memory: &MemoryId) -> Result<Option<String>> {
        if !self.sees_memory(principal, memory)? {
            return Ok(None);
        }
        Ok(self
            .connection()
            .prepare_cached(
                "SELECT receipt FROM tombstones WHERE memory_id = ?1 ORDER BY generation DESC LIMIT 1",
            )?
            .query_row([memory.as_str()], |row| row.get(0))
            .optional()?)
    }

    /// The memories about a subject that were forgotten in a namespace, the latest first.
    pub fn forgotten_of_subject(&self, namespace: &Namespace, subject: &str) -> Result<Vec<MemoryId>> {
        let Some(place) = find_namespace(self.connection(), namespace)? else { return Ok(Vec::new()) };
        let key = self.secret().digest(Of::Subject, &[&canonical(subject)]);
        let mut statement = self.connection().prepare(
            "SELECT m.memory_id FROM memories m JOIN tombstones t ON t.memory_id = m.memory_id
             WHERE m.namespace = ?1 AND m.subject_key = ?2 ORDER BY t.forgotten_at DESC",
        )?;
        let found = statement.query_map(params![place.0, key.as_slice()], |row| row.get::<_, String>(0))?;
        let found: Vec<String> = found.collect::<rusqlite::Result<_>>()?;
        Ok(found.into_iter().map(MemoryId::new).collect())
    }

    /// Whether a memory lives in the caller's scope, and any version of it is within the clearance.
    pub(crate) fn sees_memory(&self, principal: &Principal, memory: &MemoryId) -> Result<bool> {
        Ok(self.namespace_of(principal, memory)?.is_some())
    }

    /// Where a memory lives, if the caller sees it.
    pub fn namespace_of(&self, principal: &Principal, memory: &MemoryId) -> Result<Option<Namespace>> {
        type Parts = (i64, String, Option<String>, Option<String>, Option<String>);
        let found: Option<Parts> = self
            .connection()
            .prepare_cached(
                "SELECT m.id, n.tenant, n.user, n.project, n.agent FROM memories m JOIN namespaces n ON n.id = m.namespace
                 WHERE m.memory_id = ?1",
            )?
            .query_row([memory.as_str()], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .optional()?;
        let Some((row, tenant, user, project, agent)) = found else {
            return Ok(None);
        };
        let namespace =
            Namespace::from_parts(&tenant, user.as_deref(), project.as_deref(), agent.as_deref())?;
        if !principal.sees(&namespace) {
            return Ok(None);
        }
        Ok(is_readable(self.connection(), row, principal.clearance)?.then_some(namespace))
    }

    /// The memory that a record is a version of, whatever its state; none outside the caller's scope.
    pub fn memory_of(&self, principal: &Principal, record: &RecordId) -> Result<Option<MemoryId>> {
        let memory: Option<String> = self
            .connection()
            .prepare_cached("SELECT memory_id FROM records WHERE record_id = ?1")?
            .query_row([record.as_str()], |row| row.get(0))
            .optional()?;
        let Some(memory) = memory.map(MemoryId::new) else {
            return Ok(None);
        };
        Ok(if self.sees_memory(principal, &memory)? { Some(memory) } else { None })
    }
}

/// Whether any version of a memory, whatever its state, is within the clearance.
pub(super) fn is_readable(connection: &Connection, memory: i64, clearance: Sensitivity) -> Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT sensitivity FROM records WHERE memory = ?1 AND state IN ('current', 'held')
         UNION ALL SELECT sensitivity FROM records WHERE memory = ?1 AND state NOT IN ('current', 'held')",
    )?;
    let mut rows = statement.query([memory])?;
    while let Some(row) = rows.next()? {
        if rows::code::<Sensitivity>(row, 0)? <= clearance {
            return Ok(true);
        }
    }
    Ok(false)
}
