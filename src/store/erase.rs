//! Forgetting, as far as the store goes: in one transaction the tombstone is set and the content of
//! every version is erased. Recall stops here; cleaning up after it is somebody else's work.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use super::events::Event;
use super::facts::{place_key, source_key, statement_key};
use super::ledger::{Mark, Tombstone};
use super::rows;
use super::secret::Of;
use super::writing::{Writing, find_namespace};
use crate::change::{DocId, NamespaceId, Seq};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::namespace::Namespace;
use crate::record::{MemoryId, Record, RecordId, Source, State};
use crate::text::canonical;
use crate::trust::Sensitivity;

/// What is to be forgotten, in one namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// One memory, in all its versions.
    Memory(MemoryId),
    /// Every memory about that subject.
    Subject(String),
    /// Every memory that rests on that source alone; the source may not come back.
    Source(String),
    /// Everything.
    Everything,
}

/// What was erased. No content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// The memories.
    pub memories: Vec<MemoryId>,
    /// All their versions, and single versions of others that rested on a withdrawn source.
    pub records: Vec<RecordId>,
    /// Memories that keep another source and lost this one.
    pub kept: Vec<MemoryId>,
    /// Memories held from recall since something they were derived from is gone.
    pub held: Vec<MemoryId>,
    /// How many candidates were taken out of the review queue.
    pub candidates: u64,
    /// Whether a source was newly blocked.
    pub blocked: bool,
    /// The last event of the erasure.
    pub seq: Seq,
    pub(super) tombstones: Vec<Tombstone>,
}

impl Erased {
    /// Whether anything changed.
    pub fn is_empty(&self) -> bool {
        self.memories.is_empty()
            && self.records.is_empty()
            && self.kept.is_empty()
            && self.candidates == 0
            && !self.blocked
    }
}

/// One version about to be erased.
struct Version {
    doc: DocId,
    record_id: String,
    in_force: bool,
}

impl Writing<'_> {
    /// Erases what the selector names in a namespace. What was erased before stays as it is. A single
    /// memory, and those about a subject, are found up to `clearance` only, as if the others were not there;
    /// a source and a namespace go as a whole.
    pub fn erase(
        &self,
        namespace: &Namespace,
        selector: &Selector,
        clearance: Sensitivity,
        reason: &str,
        receipt: &str,
    ) -> Result<Erased> {
        let mut erased = Erased::default();
        let Some(place) = find_namespace(self.connection(), namespace)? else {
            if let Selector::Source(source) = selector {
                let place = self.namespace(namespace)?;
                self.block(place, source, reason, &mut erased)?;
            }
            return Ok(erased);
        };
        let memories = match selector {
            Selector::Memory(id) => self.memory_rows(place, "m.memory_id = ?2", id.as_str())?,
            Selector::Subject(subject) => self.rows_of_subject(place, subject)?,
            Selector::Everything => self.memory_rows(place, "?2 = ''", "")?,
            Selector::Source(source) => {
                self.block(place, source, reason, &mut erased)?;
                self.withdraw(place, source, &mut erased)?
            }
        };
        let by_itself = matches!(selector, Selector::Memory(_) | Selector::Subject(_));
        for memory in memories {
            if by_itself && !self.is_readable(memory, clearance)? {
                continue;
            }
            self.erase_memory(place, namespace, memory, reason, receipt, &mut erased)?;
        }
        self.hold_what_rested_on_it(&mut erased)?;
        erased.candidates = self.drop_candidates(place, selector)?;
        erased.seq = super::events::last(self.connection())?;
        Ok(erased)
    }

    /// Memories of a namespace that still have content and meet a condition on `?2`.
    fn memory_rows(&self, place: NamespaceId, condition: &str, value: &str) -> Result<Vec<i64>> {
        let sql = format!(
            "SELECT m.id FROM memories m WHERE m.namespace = ?1 AND {condition} AND EXISTS
                 (SELECT 1 FROM records r JOIN contents c ON c.record = r.id WHERE r.memory = m.id) ORDER BY m.id"
        );
        let mut statement = self.connection().prepare_cached(&sql)?;
        let rows = statement.query_map(params![place.0, value], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Memories any of whose versions is about the subject, compared in canonical form.
    fn rows_of_subject(&self, place: NamespaceId, subject: &str) -> Result<Vec<i64>> {
        let mut statement = self.connection().prepare_cached(
            "SELECT DISTINCT r.memory, c.subject FROM contents c JOIN records r ON r.id = c.record
             WHERE c.namespace = ?1 AND c.subject IS NOT NULL ORDER BY r.memory",
        )?;
        let pairs = statement
            .query_map([place.0], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let wanted = canonical(subject);
        let rows: BTreeSet<i64> = pairs
            .into_iter()
            .filter(|(_, subject)| canonical(subject) == wanted)
            .map(|(row, _)| row)
            .collect();
        Ok(rows.into_iter().collect())
    }

    fn block(&self, place: NamespaceId, source: &str, reason: &str, erased: &mut Erased) -> Result<()> {
        let inserted = self
            .connection()
            .prepare_cached(
                "INSERT OR IGNORE INTO blocked_sources (namespace, source, blocked_at) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![place.0, source, self.now.as_micros()])?;
        if inserted == 1 {
            erased.blocked = true;
            self.event(&Event { reason: Some(reason), ..Event::new(self.now, place, "source_withdrawn") })?;
        }
        Ok(())
    }

    /// Takes a source away from what rests on it; tells which memories rest on nothing else.
    fn withdraw(&self, place: NamespaceId, source: &str, erased: &mut Erased) -> Result<Vec<i64>> {
        let mut statement = self.connection().prepare_cached(
            "SELECT DISTINCT r.memory, r.id, r.record_id, r.state IN ('current', 'held'),
                    EXISTS (SELECT 1 FROM evidence o WHERE o.record = r.id AND o.source <> ?2)
             FROM evidence e JOIN records r ON r.id = e.record WHERE e.namespace = ?1 AND e.source = ?2 ORDER BY r.id",
        )?;
        let touched = statement
            .query_map(params![place.0, source], |row| {
                let version = Version {
                    doc: DocId(row.get::<_, i64>(1)? as u64),
                    record_id: row.get(2)?,
                    in_force: row.get(3)?,
                };
                Ok((row.get::<_, i64>(0)?, version, row.get::<_, bool>(4)?))
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let gone: BTreeSet<i64> = touched
            .iter()
            .filter(|(_, version, others)| version.in_force && !others)
            .map(|(memory, ..)| *memory)
            .collect();
        // What has no version in force any more (retired) and rests on nothing else goes as a whole too.
        let mut all = gone.clone();
        for (memory, version, others) in &touched {
            if gone.contains(memory) {
                continue;
            }
            if *others {
                let searched = self.withdraw_evidence(version, source)?;
                if version.in_force {
                    erased.kept.push(self.memory_id(*memory)?);
                    self.event(&Event {
                        record_id: Some(&version.record_id),
                        added: searched,
                        removed: searched,
                        ..Event::new(self.now, place, "evidence_withdrawn")
                    })?;
                }
            } else if self.has_version_in_force(*memory)? {
                self.erase_version(version)?;
                erased.records.push(RecordId::new(version.record_id.clone()));
            } else {
                all.insert(*memory);
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Takes a source away from a version that has others. Who spoke is part of the text by which a record
    /// is found: if that was the source's word, its vectors go, and the document is given back, which whoever
    /// searches it must take in again.
    fn withdraw_evidence(&self, version: &Version, source: &str) -> Result<Option<DocId>> {
        let before = rows::record(self.connection(), version.doc)?;
        self.connection()
            .prepare_cached("DELETE FROM evidence WHERE record = ?1 AND source = ?2")?
            .execute(params![version.doc.0 as i64, source])?;
        let after = rows::record(self.connection(), version.doc)?;
        let text = |record: &Option<Record>| record.as_ref().map(Record::indexed_text);
        if text(&before) == text(&after) {
            return Ok(None);
        }
        let terms = text(&after).map_or(0, |text| crate::text::terms(&text).len());
        self.connection()
            .prepare_cached("UPDATE records SET terms = ?2 WHERE id = ?1")?
            .execute(params![version.doc.0 as i64, terms as i64])?;
        self.drop_vectors(version.doc)?;
        Ok(after.filter(|record| record.state == State::Current).map(|_| version.doc))
    }

    fn has_version_in_force(&self, memory: i64) -> Result<bool> {
        Ok(self
            .connection()
            .prepare_cached("SELECT 1 FROM records WHERE memory = ?1 AND state IN ('current', 'held')")?
            .exists([memory])?)
    }

    /// Whether any version of a memory is within the clearance; see [`super::Snapshot::namespace_of`].
    fn is_readable(&self, memory: i64, clearance: Sensitivity) -> Result<bool> {
        let mut statement =
            self.connection().prepare_cached("SELECT sensitivity FROM records WHERE memory = ?1")?;
        let mut rows = statement.query([memory])?;
        while let Some(row) = rows.next()? {
            if rows::code::<Sensitivity>(row, 0)? <= clearance {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn memory_id(&self, memory: i64) -> Result<MemoryId> {
        let id: String = self
            .connection()
            .prepare_cached("SELECT memory_id FROM memories WHERE id = ?1")?
            .query_row([memory], |row| row.get(0))?;
        Ok(MemoryId::new(id))
    }

    /// Sets the tombstone of one memory and erases all its versions.
    fn erase_memory(
        &self,
        place: NamespaceId,
        namespace: &Namespace,
        memory: i64,
        reason: &str,
        receipt: &str,
        erased: &mut Erased,
    ) -> Result<()> {
        let memory_id = self.memory_id(memory)?;
        let versions = self.versions(memory)?;
        let marks = self.marks(&versions)?;
        let generation: u32 = self
            .connection()
            .prepare_cached(
                "UPDATE memories SET generation = generation + 1 WHERE id = ?1 RETURNING generation",
            )?
            .query_row([memory], |row| row.get(0))?;
        let tombstone = Tombstone {
            namespace: namespace.clone(),
            memory_id: memory_id.clone(),
            generation,
            forgotten_at: self.now,
            receipt: receipt.to_owned(),
            marks,
        };
        self.bury(place, &tombstone)?;
        let mut removed = None;
        for version in &versions {
            self.erase_version(version)?;
            erased.records.push(RecordId::new(version.record_id.clone()));
            removed = if version.in_force { Some(version.doc) } else { removed };
        }
        self.event(&Event {
            memory_id: Some(memory_id.as_str()),
            removed,
            reason: Some(reason),
            ..Event::new(self.now, place, "forgotten")
        })?;
        erased.memories.push(memory_id);
        erased.tombstones.push(tombstone);
        Ok(())
    }

    /// Writes a tombstone with its marks.
    pub(super) fn bury(&self, place: NamespaceId, tombstone: &Tombstone) -> Result<()> {
        self.connection()
            .prepare_cached(
                "INSERT INTO tombstones (memory_id, namespace, generation, forgotten_at, receipt)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                tombstone.memory_id.as_str(),
                place.0,
                tombstone.generation,
                tombstone.forgotten_at.as_micros(),
                tombstone.receipt
            ])?;
        let row = self.connection().last_insert_rowid();
        let mut insert = self.connection().prepare_cached(
            "INSERT OR IGNORE INTO tombstone_marks (tombstone, namespace, kind, digest) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for mark in &tombstone.marks {
            insert.execute(params![row, place.0, mark.kind, mark.digest.as_slice()])?;
        }
        Ok(())
    }

    fn versions(&self, memory: i64) -> Result<Vec<Version>> {
        let mut statement = self.connection().prepare_cached(
            "SELECT r.id, r.record_id, r.state IN ('current', 'held') FROM records r JOIN contents c ON c.record = r.id
             WHERE r.memory = ?1 ORDER BY r.id",
        )?;
        let versions = statement.query_map([memory], |row| {
            Ok(Version {
                doc: DocId(row.get::<_, i64>(0)? as u64),
                record_id: row.get(1)?,
                in_force: row.get(2)?,
            })
        })?;
        Ok(versions.collect::<rusqlite::Result<_>>()?)
    }

    /// The keyed digests by which the texts and sources of these versions are known when they come back.
    fn marks(&self, versions: &[Version]) -> Result<Vec<Mark>> {
        let mut marks = BTreeSet::new();
        for version in versions {
            let text: Option<([u8; 16], String)> = self
                .connection()
                .prepare_cached("SELECT text_key, content FROM contents WHERE record = ?1")?
                .query_row([version.doc.0 as i64], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            if let Some((digest, content)) = text {
                marks.insert(Mark { kind: "text", digest });
                marks.insert(Mark { kind: "text", digest: statement_key(self.secret, &content) });
            }
            let mut statement =
                self.connection().prepare_cached("SELECT source, locator FROM evidence WHERE record = ?1")?;
            let mut found = statement.query([version.doc.0 as i64])?;
            while let Some(row) = found.next()? {
                let source = Source { id: row.get(0)?, locator: row.get(1)?, speaker: None };
                let digest = source_key(self.secret, &source);
                marks.insert(Mark { kind: "source", digest });
                marks.insert(match place_key(self.secret, &source) {
                    Some(digest) => Mark { kind: "place", digest },
                    None => Mark { kind: "whole", digest },
                });
            }
        }
        Ok(marks.into_iter().collect())
    }

    /// Erases what one version says, rests on, and was made into. Its skeleton stays: id, times, state.
    fn erase_version(&self, version: &Version) -> Result<()> {
        let doc = version.doc.0 as i64;
        let connection = self.connection();
        self.drop_vectors(version.doc)?;
        for sql in [
            "DELETE FROM contents WHERE record = ?1",
            "DELETE FROM evidence WHERE record = ?1",
            "DELETE FROM idempotency_keys WHERE record = ?1",
        ] {
            connection.prepare_cached(sql)?.execute([doc])?;
        }
        connection
            .prepare_cached(
                "UPDATE records SET state = ?2, ended_at = ifnull(ended_at, ?3), terms = 0 WHERE id = ?1",
            )?
            .execute(params![doc, State::Forgotten.code(), self.now.as_micros()])?;
        Ok(())
    }

    /// Holds every record in force that was derived from something erased just now, and what was derived
    /// from that in turn.
    fn hold_what_rested_on_it(&self, erased: &mut Erased) -> Result<()> {
        let mut frontier: Vec<String> = erased.records.iter().map(|id| id.as_str().to_owned()).collect();
        while let Some(source) = frontier.pop() {
            let mut statement = self.connection().prepare_cached(
                "SELECT r.id, r.record_id, r.namespace, m.memory_id FROM derivations d
                 JOIN records s ON s.id = d.source JOIN records r ON r.id = d.record
                 JOIN memories m ON m.id = r.memory WHERE s.record_id = ?1 AND r.state = 'current'",
            )?;
            let resting = statement
                .query_map([&source], |row| {
                    Ok((
                        row.get::<_, i64>(0)?,
                        row.get::<_, String>(1)?,
                        row.get::<_, u32>(2)?,
                        row.get::<_, String>(3)?,
                    ))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            for (doc, record_id, place, memory_id) in resting {
                self.connection()
                    .prepare_cached("UPDATE records SET state = ?2 WHERE id = ?1")?
                    .execute(params![doc, State::Held.code()])?;
                self.event(&Event {
                    memory_id: Some(&memory_id),
                    record_id: Some(&record_id),
                    removed: Some(DocId(doc as u64)),
                    reason: Some(crate::reason::Reason::HeldSourceForgotten.code()),
                    ..Event::new(self.now, NamespaceId(place), "held")
                })?;
                erased.held.push(MemoryId::new(memory_id));
                frontier.push(record_id);
            }
        }
        Ok(())
    }

    /// Takes a memory out of force since its source does not say it any more. Its history stays. False
    /// when the record is not in force, be it that it has just gone out of it.
    pub fn retire(&self, record_id: &RecordId, reason: &str) -> Result<bool> {
        let doc = self.doc_of(record_id)?;
        let record = rows::record(self.connection(), doc)?
            .filter(|record| matches!(record.state, State::Current | State::Held));
        let Some(record) = record else {
            return Ok(false);
        };
        self.end(doc, State::Retired)?;
        let place = self.namespace(&record.namespace)?;
        self.event(&Event {
            memory_id: Some(record.memory_id.as_str()),
            record_id: Some(record_id.as_str()),
            removed: Some(doc),
            reason: Some(reason),
            ..Event::new(self.now, place, "retired")
        })?;
        Ok(true)
    }

    /// The keyed digest of what a request asks to be forgotten.
    pub fn selector_digest(&self, selector: &Selector) -> [u8; 16] {
        let parts = match selector {
            Selector::Memory(id) => ["memory", id.as_str()],
            Selector::Subject(subject) => ["subject", subject],
            Selector::Source(source) => ["source", source],
            Selector::Everything => ["namespace", ""],
        };
        self.secret.digest(Of::Selector, &parts)
    }

    /// The instant of this transaction.
    pub fn now(&self) -> Timestamp {
        self.now
    }
}
