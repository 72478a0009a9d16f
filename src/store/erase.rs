//! Forgetting, as far as the store goes: in one transaction the tombstone is set and the content of
//! every version is erased. Recall stops here; cleaning up after it is somebody else's work.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, params};

use super::events::Event;
use super::facts::{place_key, source_key, statement_key, text_key};
use super::keys::{self, Key};
use super::ledger::{Mark, Tombstone};
use super::number::{doc_of, row_of, rows_of};
use super::rows;
use super::secret::{Of, Secret};
use super::snapshot::{Place, places_below};
use super::writing::{Writing, find_place};
use crate::broken::{Step, is_broken};
use crate::change::{DocId, NamespaceId, Seq};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::namespace::Namespace;
use crate::record::{MemoryId, RecordId, Source, State};
use crate::text::{canonical, mentions};
use crate::trust::Sensitivity;

/// What is to be forgotten; in one namespace, but for [`Selector::Below`].
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
    /// Everything in that namespace and in all narrower ones: all of a user, a project or a tenant.
    Below,
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
    /// Whether a source was newly blocked.
    pub blocked: bool,
    /// How many of the versions were in force, so that an index had them.
    pub in_force: u64,
    /// How many of them had vectors.
    pub vectors: u64,
    /// How many remembered answers to a write that was sent twice went with them.
    pub idempotency_keys: u64,
    /// The namespaces in which it was looked for.
    pub namespaces: BTreeSet<Namespace>,
    /// What was derived from it in other namespaces, which is a deletion of its own there: who may see the one need not
    /// see the other.
    pub elsewhere: BTreeMap<Namespace, Elsewhere>,
    /// The last event of the erasure.
    pub seq: Seq,
    pub(super) tombstones: Vec<Tombstone>,
    /// Those of candidates that were taken out of the review queue.
    pub(super) dropped: Vec<Tombstone>,
}

/// What was erased or held in another namespace than where it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// The id of its receipt.
    pub receipt: String,
    /// What.
    pub erased: Erased,
}

impl Erased {
    /// Everything that was erased, namespace by namespace.
    pub fn parts(&self) -> impl Iterator<Item = &Erased> {
        std::iter::once(self).chain(self.elsewhere.values().map(|elsewhere| &elsewhere.erased))
    }

    /// Where to note what is erased in a namespace, and under which receipt.
    pub(super) fn part_of(
        &mut self,
        namespace: &Namespace,
        receipt: &str,
        now: Timestamp,
    ) -> Result<(&mut Erased, String)> {
        if self.namespaces.contains(namespace) {
            return Ok((self, receipt.to_owned()));
        }
        if !self.elsewhere.contains_key(namespace) {
            let elsewhere = Elsewhere {
                receipt: super::ids::minted("rcp", now)?,
                erased: Erased { namespaces: [namespace.clone()].into(), ..Erased::default() },
            };
            self.elsewhere.insert(namespace.clone(), elsewhere);
        }
        let part = self.elsewhere.get_mut(namespace).expect("it has just been put there");
        Ok((&mut part.erased, part.receipt.clone()))
    }

    /// Whether anything changed.
    pub fn is_empty(&self) -> bool {
        self.memories.is_empty()
            && self.records.is_empty()
            && self.kept.is_empty()
            && self.dropped.is_empty()
            && !self.blocked
    }

    /// How many candidates were taken out of the review queue.
    pub fn candidates(&self) -> u64 {
        self.dropped.len() as u64
    }

    /// Every tombstone that was set.
    pub(super) fn all_tombstones(&self) -> impl Iterator<Item = &Tombstone> {
        self.parts().flat_map(|part| part.tombstones.iter().chain(&part.dropped))
    }

    /// How often each of the memories has been forgotten by now, in their order.
    pub fn generations(&self) -> Vec<u32> {
        self.tombstones.iter().map(|tombstone| tombstone.generation).collect()
    }
}

/// Leaves nothing of a version but its skeleton.
const CLEAR: &str =
    "UPDATE records SET state = ?2, ended_at = ifnull(ended_at, ?3), terms = 0, source = NULL,
         locator = NULL, speaker = NULL, further = 0, subject = NULL, content = NULL, metadata = NULL,
         session = NULL, position = NULL, write_reason = NULL, read_trigger = NULL,
         revision_path = NULL, checksum = NULL, vectors = NULL
     WHERE id = ?1";

/// One version about to be erased.
pub(super) struct Version {
    pub doc: DocId,
    pub record_id: String,
    pub in_force: bool,
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
        let mut erased = self.erase_alone(namespace, selector, clearance, reason, receipt)?;
        self.follow_derivations(receipt, &mut erased)?;
        erased.seq = super::events::last(self.connection())?;
        Ok(erased)
    }

    /// The same, but what was derived from it stays as it is.
    pub(super) fn erase_alone(
        &self,
        namespace: &Namespace,
        selector: &Selector,
        clearance: Sensitivity,
        reason: &str,
        receipt: &str,
    ) -> Result<Erased> {
        let mut erased = Erased::default();
        let mut places = self.place(namespace)?;
        if let Selector::Below = selector {
            places.extend(places_below(self.connection(), namespace)?);
        }
        if places.is_empty()
            && let Selector::Source(source) = selector
        {
            let place = self.namespace(namespace)?;
            self.block(place, source, reason, &mut erased)?;
        }
        for place in places {
            self.erase_in(&place, selector, clearance, reason, receipt, &mut erased)?;
        }
        Ok(erased)
    }

    /// The namespace, if anything was ever written to it.
    fn place(&self, namespace: &Namespace) -> Result<Vec<Place>> {
        let found = find_place(self.connection(), namespace)?;
        let place = |(id, revision)| Place { id, namespace: namespace.clone(), revision };
        Ok(found.map(place).into_iter().collect())
    }

    fn erase_in(
        &self,
        place: &Place,
        selector: &Selector,
        clearance: Sensitivity,
        reason: &str,
        receipt: &str,
        erased: &mut Erased,
    ) -> Result<()> {
        let memories = match selector {
            Selector::Memory(id) => self.row_of_memory(place.id, id)?,
            Selector::Subject(subject) => self.rows_of_subject(place.id, subject)?,
            Selector::Everything | Selector::Below => self.all_rows(place.id)?,
            Selector::Source(source) => {
                self.block(place.id, source, reason, erased)?;
                self.withdraw(place.id, source, erased)?
            }
        };
        let by_itself = matches!(selector, Selector::Memory(_) | Selector::Subject(_));
        for memory in memories {
            if by_itself && !self.is_readable(memory, clearance)? {
                continue;
            }
            self.erase_memory(place, memory, reason, receipt, erased)?;
        }
        self.drop_candidates(place, selector, clearance, receipt, erased)?;
        erased.namespaces.insert(place.namespace.clone());
        Ok(())
    }

    /// Every memory of a namespace that still has content.
    fn all_rows(&self, place: NamespaceId) -> Result<Vec<i64>> {
        let (first, last) = rows_of(place);
        let mut statement = self.connection().prepare_cached(
            "SELECT DISTINCT memory FROM records
             WHERE id BETWEEN ?1 AND ?2 AND content IS NOT NULL ORDER BY memory",
        )?;
        let rows = statement.query_map([first, last], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// One memory of a namespace, if it still has content.
    fn row_of_memory(&self, place: NamespaceId, id: &MemoryId) -> Result<Vec<i64>> {
        let found: Option<i64> = self
            .connection()
            .prepare_cached("SELECT id FROM memories WHERE memory_id = ?1 AND namespace = ?2")?
            .query_row(params![id.as_str(), place.0], |row| row.get(0))
            .optional()?;
        let mut rows = Vec::new();
        if let Some(memory) = found
            && !self.versions(memory)?.is_empty()
        {
            rows.push(memory);
        }
        Ok(rows)
    }

    /// Memories any of whose versions is about the subject, compared in canonical form.
    fn rows_of_subject(&self, place: NamespaceId, subject: &str) -> Result<Vec<i64>> {
        let wanted = canonical(subject);
        let mut found = BTreeSet::new();
        let mut statement =
            self.connection().prepare_cached("SELECT memory, subject FROM records WHERE id = ?1")?;
        for doc in keys::with_key(self.connection(), place, Key::of_subject(self.secret, subject))? {
            let mut rows = statement.query([row_of(doc)])?;
            if let Some(row) = rows.next()?
                && row.get::<_, Option<String>>(1)?.is_some_and(|subject| canonical(&subject) == wanted)
            {
                found.insert(row.get(0)?);
            }
        }
        Ok(found.into_iter().collect())
    }

    pub(super) fn has_version_in_force(&self, memory: i64) -> Result<bool> {
        Ok(self
            .connection()
            .prepare_cached("SELECT 1 FROM records WHERE memory = ?1 AND state IN ('current', 'held')")?
            .exists([memory])?)
    }

    /// Whether any version of a memory is within the clearance; see [`super::Snapshot::namespace_of`].
    fn is_readable(&self, memory: i64, clearance: Sensitivity) -> Result<bool> {
        super::history::is_readable(self.connection(), memory, clearance)
    }

    pub(super) fn memory_id(&self, memory: i64) -> Result<MemoryId> {
        let id: String = self
            .connection()
            .prepare_cached("SELECT memory_id FROM memories WHERE id = ?1")?
            .query_row([memory], |row| row.get(0))?;
        Ok(MemoryId::new(id))
    }

    /// Sets the tombstone of one memory and erases all its versions.
    pub(super) fn erase_memory(
        &self,
        place: &Place,
        memory: i64,
        reason: &str,
        receipt: &str,
        erased: &mut Erased,
    ) -> Result<()> {
        let memory_id = self.memory_id(memory)?;
        let versions = self.versions(memory)?;
        let marks = self.marks(&versions, reason)?;
        let generation: u32 = self
            .connection()
            .prepare_cached(
                "UPDATE memories SET generation = generation + 1 WHERE id = ?1 RETURNING generation",
            )?
            .query_row([memory], |row| row.get(0))?;
        let tombstone = Tombstone {
            namespace: place.namespace.clone(),
            memory_id: memory_id.clone(),
            generation,
            forgotten_at: self.now,
            receipt: receipt.to_owned(),
            marks,
        };
        self.bury(place.id, &tombstone)?;
        let mut removed = None;
        for version in &versions {
            self.erase_version(version, erased)?;
            removed = if version.in_force { Some(version.doc) } else { removed };
        }
        self.event(&Event {
            memory_id: Some(memory_id.as_str()),
            removed,
            reason: Some(reason),
            ..Event::new(self.now, place.id, "forgotten")
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
        let mut versions = Vec::new();
        let sqls = [
            "SELECT id, record_id, 1 FROM records
             WHERE memory = ?1 AND state IN ('current', 'held') AND content IS NOT NULL",
            "SELECT id, record_id, 0 FROM records
             WHERE memory = ?1 AND state NOT IN ('current', 'held') AND content IS NOT NULL",
        ];
        let some = if is_broken(Step::OlderVersions) { 1 } else { sqls.len() };
        for sql in &sqls[..some] {
            let mut statement = self.connection().prepare_cached(sql)?;
            let mut rows = statement.query([memory])?;
            while let Some(row) = rows.next()? {
                let (doc, record_id) = (doc_of(row.get(0)?), row.get(1)?);
                versions.push(Version { doc, record_id, in_force: row.get(2)? });
            }
        }
        versions.sort_unstable_by_key(|version| version.doc);
        Ok(versions)
    }

    /// The keyed digests by which the texts and sources of these versions are known when they come back.
    fn marks(&self, versions: &[Version], reason: &str) -> Result<Vec<Mark>> {
        let mut marks = BTreeSet::new();
        for version in versions {
            let row = row_of(version.doc);
            let (subject, content): (Option<String>, String) = self
                .connection()
                .prepare_cached("SELECT subject, content FROM records WHERE id = ?1")?
                .query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
            // The reason stays, in the receipt and in the chain of events.
            let repeats = content.len() <= 2 * reason.len() && mentions(reason, &content);
            if repeats && !is_broken(Step::Reason) {
                return Err(Error::invalid(
                    "reason",
                    "must not repeat what is to be forgotten: it stays in the receipt",
                ));
            }
            let digest = text_key(self.secret, subject.as_deref(), &content);
            marks.insert(Mark { kind: "text", digest });
            marks.insert(Mark { kind: "text", digest: statement_key(self.secret, &content) });
            let mut statement = self.connection().prepare_cached(
                "SELECT source, locator FROM records WHERE id = ?1 AND source IS NOT NULL
                 UNION ALL SELECT source, locator FROM evidence WHERE record = ?1",
            )?;
            let mut found = statement.query([row])?;
            while let Some(row) = found.next()? {
                let source = Source { id: row.get(0)?, locator: row.get(1)?, speaker: None };
                marks.extend(source_marks(self.secret, &source));
            }
        }
        Ok(marks.into_iter().collect())
    }

    /// Erases what one version says, rests on, and was made into. Its skeleton stays: id, times, state.
    pub(super) fn erase_version(&self, version: &Version, erased: &mut Erased) -> Result<()> {
        let (connection, row) = (self.connection(), row_of(version.doc));
        match rows::sound(connection, version.doc)? {
            Some(record) => keys::take(connection, version.doc, &keys::keys_of(self.secret, &record))?,
            None => keys::take_all(connection, version.doc)?,
        }
        let coming = self.drop_coming_vectors(version.doc)?;
        let requests =
            connection.prepare_cached("DELETE FROM idempotency_keys WHERE record = ?1")?.execute([row])?;
        let with_vectors = connection
            .prepare_cached("SELECT 1 FROM records WHERE id = ?1 AND vectors IS NOT NULL")?
            .exists([row])?;
        self.clear_version(row)?;
        erased.records.push(RecordId::new(version.record_id.clone()));
        erased.in_force += u64::from(version.in_force);
        erased.vectors += u64::from(with_vectors || coming);
        erased.idempotency_keys += requests as u64;
        Ok(())
    }

    /// Leaves nothing of a version but its skeleton.
    pub(super) fn clear_version(&self, row: i64) -> Result<()> {
        if !is_broken(Step::Evidence) {
            self.connection().prepare_cached("DELETE FROM evidence WHERE record = ?1")?.execute([row])?;
        }
        let sql = match () {
            () if is_broken(Step::Content) => CLEAR.replace(" content = NULL,", "").into(),
            () if is_broken(Step::Vectors) => CLEAR.replace(", vectors = NULL", "").into(),
            () => Cow::Borrowed(CLEAR),
        };
        self.connection().prepare_cached(&sql)?.execute(params![
            row,
            State::Forgotten.code(),
            self.now.as_micros()
        ])?;
        self.drop_coming_vectors(doc_of(row))?;
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

    /// Erases, but only if it is exactly what a preview of that token named; none, and nothing is changed, if it is not.
    pub fn erase_as_seen(
        &self,
        token: &str,
        namespace: &Namespace,
        selector: &Selector,
        clearance: Sensitivity,
        reason: &str,
        receipt: &str,
    ) -> Result<Option<Erased>> {
        self.attempt(|| {
            let erased = self.erase(namespace, selector, clearance, reason, receipt)?;
            Ok((self.preview_token(namespace, selector, &erased) == token).then_some(erased))
        })
    }

    /// Names what would be erased, so that it can be told whether it is still the same: a keyed digest of where it
    /// is, what was asked and every id.
    pub fn preview_token(&self, namespace: &Namespace, selector: &Selector, erased: &Erased) -> String {
        let place = crate::json::namespace_to_json(namespace).to_string();
        let blocked = erased.blocked.to_string();
        let mut parts: Vec<&str> = vec![&place, &blocked, "candidates"];
        parts.extend(erased.dropped.iter().map(|dropped| dropped.memory_id.as_str()));
        for (what, ids) in [("memories", &erased.memories), ("kept", &erased.kept), ("held", &erased.held)] {
            parts.push(what);
            parts.extend(ids.iter().map(MemoryId::as_str));
        }
        parts.push("records");
        parts.extend(erased.records.iter().map(RecordId::as_str));
        for elsewhere in erased.elsewhere.values() {
            parts.push("elsewhere");
            parts.extend(elsewhere.erased.held.iter().map(MemoryId::as_str));
            parts.extend(elsewhere.erased.records.iter().map(RecordId::as_str));
        }
        let target = self.selector_digest(selector);
        let parts: Vec<&[u8]> =
            std::iter::once(target.as_slice()).chain(parts.iter().map(|part| part.as_bytes())).collect();
        let digest = self.secret.digest_bytes(Of::Preview, &parts);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("pre_{hex}")
    }

    /// A keyed digest of what was erased: of the digests of its texts and sources.
    pub fn digest_of(&self, erased: &Erased) -> String {
        let marks = erased.tombstones.iter().chain(&erased.dropped).flat_map(|tombstone| &tombstone.marks);
        let mut parts: Vec<&[u8]> = marks.map(|mark| mark.digest.as_slice()).collect();
        parts.sort_unstable();
        parts.dedup();
        self.secret.digest_bytes(Of::Forgotten, &parts).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The keyed digest of what a request asks to be forgotten.
    pub fn selector_digest(&self, selector: &Selector) -> [u8; 16] {
        let parts = match selector {
            Selector::Memory(id) => ["memory", id.as_str()],
            Selector::Subject(subject) => ["subject", subject],
            Selector::Source(source) => ["source", source],
            Selector::Everything => ["namespace", ""],
            Selector::Below => ["below", ""],
        };
        self.secret.digest(Of::Selector, &parts)
    }

    /// The instant of this transaction.
    pub fn now(&self) -> Timestamp {
        self.now
    }
}

/// By what a source is known when it comes back.
pub(super) fn source_marks(secret: &Secret, source: &Source) -> [Mark; 2] {
    let digest = source_key(secret, &source.id);
    let place = match place_key(secret, source) {
        Some(digest) => Mark { kind: "place", digest },
        None => Mark { kind: "whole", digest },
    };
    [Mark { kind: "source", digest }, place]
}
