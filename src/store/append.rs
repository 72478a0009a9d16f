//! Appends what the gates admitted: a first version, a new version, or further evidence.
//! Takes nothing but [`Admitted`], so nothing is stored that was not judged.

use rusqlite::{OptionalExtension, params};

use super::events::{self, Event};
use super::facts::{self, subject_key};
use super::keys::{self, Key};
use super::models::ModelRow;
use super::number::{doc_of, new_doc, row_of};
use super::secret::Of;
use super::writing::Writing;
use super::{ids, rows};
use crate::change::{DocId, NamespaceId, Seq};
use crate::error::{Error, Result};
use crate::gate::{Admitted, Facts, Proposal};
use crate::reason::Reason;
use crate::record::{Evidence, MemoryId, Record, RecordId, State};
use crate::simd::{pack, packed_len};
use crate::text::terms;

/// The vectors of one record, and the model that made them.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// The model.
    pub model: ModelRow,
    /// One unit vector per window of the text.
    pub parts: Vec<Vec<f32>>,
}

impl Vectors {
    /// As the store keeps them.
    pub(super) fn packed(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.parts.len() * packed_len(self.model.dims));
        self.parts.iter().for_each(|part| pack(part, &mut bytes));
        bytes
    }
}

/// The ids that a write handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The version that is in force now.
    pub record_id: RecordId,
    /// The memory.
    pub memory_id: MemoryId,
    /// The version's number.
    pub version: u32,
}

impl Written {
    /// The ids of a record that was there before.
    pub fn of(record: &Record) -> Written {
        Written {
            record_id: record.record_id.clone(),
            memory_id: record.memory_id.clone(),
            version: record.version,
        }
    }
}

/// A memory as the writer needs it: its row, its id, how often it was forgotten.
struct Logical {
    row: i64,
    memory_id: MemoryId,
    generation: u32,
    is_new: bool,
}

impl Writing<'_> {
    /// What the store knows that bears on a proposal, as of this transaction.
    pub fn facts(&self, proposal: Proposal<'_>) -> Result<Facts> {
        facts::gather(self.connection(), self.secret, proposal)
    }

    /// Appends a record: the next version of the memory of `corrects`, or the first of a new one.
    /// Its vectors are none when the embedder is down; it is then pending.
    pub fn append(
        &self,
        admitted: &Admitted,
        corrects: Option<&Record>,
        vectors: Option<&Vectors>,
    ) -> Result<Written> {
        let namespace = self.namespace(admitted.namespace())?;
        let record_id = ids::record_id(self.now)?;
        let logical = match corrects {
            Some(record) => self.existing(&record.memory_id)?,
            None => self.logical(namespace, admitted, &record_id)?,
        };
        let (version, superseded) = self.supersede(&logical, corrects)?;
        let mut record = self.whole(admitted, &logical, record_id, version, corrects);
        record.evidence.push(Evidence {
            source: admitted.source().clone(),
            observed_at: admitted.observed_at(),
            authority: admitted.authority(),
        });
        let doc = new_doc(Seq(self.last()?.0 + 1), namespace)?;
        self.insert(&logical, doc, superseded, &record, vectors)?;
        self.insert_derivations(doc, &record)?;
        keys::put(self.connection(), doc, &keys::keys_of(self.secret, &record))?;
        let what = if corrects.is_some() { "corrected" } else { "committed" };
        let seq = self.event(&Event {
            memory_id: Some(record.memory_id.as_str()),
            record_id: Some(record.record_id.as_str()),
            version: Some(version),
            added: Some(doc),
            removed: superseded,
            digest: Some(self.content_digest(&rows::checksum(&record))),
            reason: admitted.renews().then_some(Reason::ConsentRenewed.code()),
            ..Event::new(self.now, namespace, what)
        })?;
        debug_assert_eq!(seq, doc.made_by(), "a record is numbered by the event that makes it");
        Ok(Written::of(&record))
    }

    /// Adds another source to a record that says the same.
    pub fn add_evidence(&self, record: &Record, admitted: &Admitted) -> Result<()> {
        let namespace = self.namespace(&record.namespace)?;
        let doc = self.doc_of(&record.record_id)?;
        let evidence = Evidence {
            source: admitted.source().clone(),
            observed_at: admitted.observed_at(),
            authority: admitted.authority(),
        };
        self.insert_evidence(doc, &[evidence])?;
        self.event(&Event {
            memory_id: Some(record.memory_id.as_str()),
            record_id: Some(record.record_id.as_str()),
            version: Some(record.version),
            ..Event::new(self.now, namespace, "evidence_added")
        })?;
        Ok(())
    }

    /// Lets a version rest on what an earlier one with the same text rested on, besides its own source.
    pub fn carry_evidence(&self, from: &Record, to: &RecordId) -> Result<()> {
        let doc = self.doc_of(to)?;
        let Some(record) = rows::record(self.connection(), doc)? else {
            return Ok(());
        };
        let is_new = |evidence: &&Evidence| {
            let same = |own: &Evidence| {
                (&own.source.id, &own.source.locator) == (&evidence.source.id, &evidence.source.locator)
            };
            !record.evidence.iter().any(same)
        };
        let carried: Vec<Evidence> = from.evidence.iter().filter(is_new).cloned().collect();
        self.insert_evidence(doc, &carried)
    }

    /// The record in force of a memory, whoever asks.
    pub fn current(&self, memory: &MemoryId) -> Result<Option<Record>> {
        let doc: Option<i64> = self
            .connection()
            .prepare_cached(
                "SELECT r.id FROM memories m JOIN records r ON r.memory = m.id AND r.state IN ('current', 'held')
                 WHERE m.memory_id = ?1",
            )?
            .query_row([memory.as_str()], |row| row.get(0))
            .optional()?;
        doc.map_or(Ok(None), |doc| rows::record(self.connection(), doc_of(doc)))
    }

    pub(super) fn event(&self, event: &Event<'_>) -> Result<Seq> {
        events::append(self.connection(), &self.tip, event)
    }

    /// The position of the last event.
    fn last(&self) -> Result<Seq> {
        Ok(events::tip(self.connection(), &self.tip)?.0)
    }

    pub(super) fn content_digest(&self, checksum: &[u8; 16]) -> [u8; 16] {
        self.secret.digest_bytes(Of::Content, &[checksum])
    }

    pub(super) fn doc_of(&self, record_id: &RecordId) -> Result<DocId> {
        let doc: i64 = self
            .connection()
            .prepare_cached("SELECT id FROM records WHERE record_id = ?1")?
            .query_row([record_id.as_str()], |row| row.get(0))?;
        Ok(doc_of(doc))
    }

    fn existing(&self, memory_id: &MemoryId) -> Result<Logical> {
        let (row, generation) = self
            .connection()
            .prepare_cached("SELECT id, generation FROM memories WHERE memory_id = ?1")?
            .query_row([memory_id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Logical { row, memory_id: memory_id.clone(), generation, is_new: false })
    }

    /// The memory that a first version belongs to: the one that its subject names, or a new one.
    fn logical(&self, namespace: NamespaceId, admitted: &Admitted, record_id: &RecordId) -> Result<Logical> {
        let candidate = admitted.candidate();
        let key = subject_key(self.secret, candidate);
        if let Some(key) = &key {
            let found = self
                .connection()
                .prepare_cached(
                    "SELECT memory_id FROM memories WHERE namespace = ?1 AND kind = ?2 AND subject_key = ?3",
                )?
                .query_row(params![namespace.0, candidate.kind.code(), key.as_slice()], |row| row.get(0))
                .optional()?;
            if let Some(memory_id) = found.map(|id: String| MemoryId::new(id)) {
                return self.existing(&memory_id);
            }
        }
        let subject = candidate.subject.as_deref().map(crate::text::canonical).unwrap_or_default();
        let first = if key.is_some() { "" } else { record_id.as_str() };
        let number = namespace.0.to_string();
        let digest = self.secret.digest(Of::Memory, &[&number, candidate.kind.code(), &subject, first]);
        // A memory that nothing but its own id names is numbered in the order of writes, which keeps the keys
        // of an index that grows in order; one that its subject names has the same id each time.
        let memory_id =
            if key.is_some() { ids::memory_id(digest) } else { ids::memory_id_of(self.now, digest) };
        self.connection()
            .prepare_cached(
                "INSERT INTO memories (memory_id, namespace, kind, subject_key) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                memory_id.as_str(),
                namespace.0,
                candidate.kind.code(),
                key.as_ref().map(<[u8; 16]>::as_slice)
            ])?;
        Ok(Logical { row: self.connection().last_insert_rowid(), memory_id, generation: 0, is_new: true })
    }

    /// Takes the version in force out of force; tells the next version's number.
    fn supersede(&self, logical: &Logical, corrects: Option<&Record>) -> Result<(u32, Option<DocId>)> {
        let Some(current) = corrects else {
            if logical.is_new {
                return Ok((1, None));
            }
            let last: Option<u32> = self
                .connection()
                .prepare_cached(
                    "SELECT max(version) FROM
                         (SELECT version FROM records
                              WHERE memory = ?1 AND generation = ?2 AND state IN ('current', 'held')
                          UNION ALL SELECT version FROM records
                              WHERE memory = ?1 AND generation = ?2 AND state NOT IN ('current', 'held'))",
                )?
                .query_row(params![logical.row, logical.generation], |row| row.get(0))?;
            return Ok((last.unwrap_or(0) + 1, None));
        };
        let doc = self.doc_of(&current.record_id)?;
        self.end(doc, State::Superseded)?;
        Ok((current.version + 1, Some(doc)))
    }

    /// Takes a record out of force: its vectors go, since only what is in force is searched.
    pub(super) fn end(&self, doc: DocId, state: State) -> Result<()> {
        let changed = self
            .connection()
            .prepare_cached(
                "UPDATE records SET state = ?2, ended_at = ?3, vectors = NULL
                 WHERE id = ?1 AND state IN ('current', 'held')",
            )?
            .execute(params![row_of(doc), state.code(), self.now.as_micros()])?;
        if changed != 1 {
            return Err(Error::Corrupt("the record that was to end was not in force".to_owned()));
        }
        self.drop_coming_vectors(doc)?;
        Ok(())
    }

    /// The record as it will be read back, so that its checksum covers what is stored.
    fn whole(
        &self,
        admitted: &Admitted,
        logical: &Logical,
        record_id: RecordId,
        version: u32,
        corrects: Option<&Record>,
    ) -> Record {
        let candidate = admitted.candidate().clone();
        Record {
            record_id,
            memory_id: logical.memory_id.clone(),
            namespace: admitted.namespace().clone(),
            version,
            supersedes: corrects.map(|record| record.record_id.clone()),
            state: State::Current,
            kind: candidate.kind,
            form: candidate.form,
            subject: candidate.subject,
            cardinality: candidate.cardinality,
            content: candidate.content,
            metadata: candidate.metadata,
            evidence: Vec::new(),
            episode: candidate.episode,
            authority: admitted.authority(),
            // SQLite gives back 0 for the zero below zero.
            confidence: candidate.confidence + 0.0,
            importance: candidate.importance + 0.0,
            sensitivity: admitted.sensitivity(),
            lifetime: candidate.lifetime,
            observed_at: admitted.observed_at(),
            valid_from: candidate.valid_from.unwrap_or(admitted.observed_at()),
            expires_at: admitted.expires_at(),
            recorded_at: self.now,
            ended_at: None,
            write_reason: candidate.write_reason,
            read_trigger: candidate.read_trigger,
            revision_path: candidate.revision_path,
            reverify_before_effect: candidate.reverify_before_effect,
            derived_from: candidate.derived_from,
        }
    }

    fn insert(
        &self,
        logical: &Logical,
        doc: DocId,
        superseded: Option<DocId>,
        record: &Record,
        vectors: Option<&Vectors>,
    ) -> Result<()> {
        let searched = vectors.filter(|vectors| vectors.model.in_use);
        let source = record.evidence.first().map(|evidence| &evidence.source);
        self.connection()
            .prepare_cached(
                "INSERT INTO records (id, memory, generation, version, supersedes, state, kind, form, cardinality,
                     authority, sensitivity, lifetime, confidence, importance, observed_at, valid_from, expires_at,
                     recorded_at, reverify, terms, record_id, memory_id, source, locator, speaker, derived, subject,
                     content, metadata, session, position, write_reason, read_trigger, revision_path, checksum, vectors)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                     ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36)",
            )?
            .execute(params![
                row_of(doc),
                logical.row,
                logical.generation,
                record.version,
                superseded.map(row_of),
                record.state.code(),
                record.kind.code(),
                record.form.code(),
                record.cardinality.code(),
                record.authority.code(),
                record.sensitivity.code(),
                record.lifetime.code(),
                record.confidence,
                record.importance,
                record.observed_at.as_micros(),
                record.valid_from.as_micros(),
                record.expires_at.map(|at| at.as_micros()),
                record.recorded_at.as_micros(),
                record.reverify_before_effect,
                terms(&record.indexed_text()).len() as i64,
                record.record_id.as_str(),
                record.memory_id.as_str(),
                source.map(|source| &source.id),
                source.and_then(|source| source.locator.as_ref()),
                source.and_then(|source| source.speaker.as_ref()),
                record.derived_from.len() as i64,
                record.subject,
                record.content,
                rows::encode_metadata(&record.metadata),
                record.episode.as_ref().map(|episode| &episode.session),
                record.episode.as_ref().map(|episode| episode.position),
                record.write_reason,
                record.read_trigger,
                record.revision_path,
                rows::checksum(record).as_slice(),
                searched.map(Vectors::packed),
            ])?;
        match vectors {
            Some(coming) if !coming.model.in_use => self.put_vectors(doc, coming),
            _ => Ok(()),
        }
    }

    /// Adds to what a record rests on. Its first piece of evidence stands in its own row.
    fn insert_evidence(&self, doc: DocId, all: &[Evidence]) -> Result<()> {
        for evidence in all {
            let nth: i64 = self
                .connection()
                .prepare_cached("SELECT ifnull(max(nth), 0) + 1 FROM evidence WHERE record = ?1")?
                .query_row([row_of(doc)], |row| row.get(0))?;
            self.connection()
                .prepare_cached(
                    "INSERT INTO evidence (record, nth, source, locator, speaker, observed_at, authority)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    row_of(doc),
                    nth,
                    evidence.source.id,
                    evidence.source.locator,
                    evidence.source.speaker,
                    evidence.observed_at.as_micros(),
                    evidence.authority.code()
                ])?;
            keys::put(self.connection(), doc, &[Key::of_source(self.secret, &evidence.source.id)])?;
        }
        self.count_evidence(doc)
    }

    /// Notes in a record's row how much there is that does not stand in it.
    pub(super) fn count_evidence(&self, doc: DocId) -> Result<()> {
        self.connection()
            .prepare_cached(
                "UPDATE records SET further = (SELECT count(*) FROM evidence WHERE record = ?1) WHERE id = ?1",
            )?
            .execute([row_of(doc)])?;
        Ok(())
    }

    fn insert_derivations(&self, doc: DocId, record: &Record) -> Result<()> {
        for source in &record.derived_from {
            self.connection()
                .prepare_cached("INSERT OR IGNORE INTO derivations (record, source) VALUES (?1, ?2)")?
                .execute(params![row_of(doc), row_of(self.doc_of(source)?)])?;
        }
        Ok(())
    }
}
