//! Which models made the vectors, and the vectors themselves: put in, read by namespace, dropped.
//! Knows numbers, not what they mean.

use rusqlite::{Connection, OptionalExtension, params};

use super::Snapshot;
use super::append::Vectors;
use super::events::Event;
use super::rows;
use super::writing::Writing;
use crate::change::{DocId, NamespaceId, Seq};
use crate::error::{Error, Result};
use crate::trust::Sensitivity;

/// The number under which the store knows a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModelId(pub u32);

/// A model that made vectors of this store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRow {
    /// Its number.
    pub id: ModelId,
    /// Its name.
    pub name: String,
    /// A digest of its files.
    pub fingerprint: String,
    /// The width of its vectors.
    pub dims: usize,
    /// Whether recall uses it.
    pub in_use: bool,
}

impl Writing<'_> {
    /// The model with that fingerprint, made known on first use. The first model of a store is in use
    /// at once.
    pub fn model(&self, name: &str, fingerprint: &str, dims: usize) -> Result<ModelRow> {
        if let Some(row) = models(self.connection())?.into_iter().find(|row| row.fingerprint == fingerprint) {
            return Ok(row);
        }
        let in_use = models(self.connection())?.is_empty();
        self.connection()
            .prepare_cached("INSERT INTO models (name, fingerprint, dims, in_use) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![name, fingerprint, dims as i64, in_use])?;
        let id = ModelId(self.connection().last_insert_rowid() as u32);
        Ok(ModelRow { id, name: name.to_owned(), fingerprint: fingerprint.to_owned(), dims, in_use })
    }

    /// The same, unless the store has other models and none of that fingerprint. Only a change-over makes a
    /// second one known.
    pub fn model_if_wanted(&self, name: &str, fingerprint: &str, dims: usize) -> Result<Option<ModelRow>> {
        let known = models(self.connection())?;
        let wanted = known.is_empty() || known.iter().any(|row| row.fingerprint == fingerprint);
        wanted.then(|| self.model(name, fingerprint, dims)).transpose()
    }

    /// Puts a model in use, and drops every other with its vectors.
    pub fn use_model(&self, model: ModelId) -> Result<()> {
        let connection = self.connection();
        connection.execute("DELETE FROM vectors WHERE model <> ?1", [model.0])?;
        connection.execute("DELETE FROM models WHERE id <> ?1", [model.0])?;
        connection.execute("UPDATE models SET in_use = 1 WHERE id = ?1", [model.0])?;
        Ok(())
    }

    /// Adds vectors of a record that was pending. Nothing happens if the record has gone out of force
    /// meanwhile: a late embedder brings nothing back.
    pub fn add_vectors(&self, doc: DocId, vectors: &Vectors) -> Result<()> {
        let found: Option<(u32, String, bool)> = self
            .connection()
            .prepare_cached(
                "SELECT r.namespace, r.record_id, m.in_use AND r.state = 'current' FROM records r, models m
                 WHERE r.id = ?1 AND m.id = ?2 AND r.state IN ('current', 'held')",
            )?
            .query_row(params![doc.0 as i64, vectors.model.0], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()?;
        let Some((namespace, record_id, searched)) = found else {
            return Ok(());
        };
        self.put_vectors(NamespaceId(namespace), doc, vectors)?;
        if searched {
            // Whoever has the namespace in memory must take the record in again, with its vector.
            self.event(&Event {
                record_id: Some(&record_id),
                added: Some(doc),
                removed: Some(doc),
                ..Event::new(self.now, NamespaceId(namespace), "embedded")
            })?;
        }
        Ok(())
    }

    pub(super) fn put_vectors(&self, namespace: NamespaceId, doc: DocId, vectors: &Vectors) -> Result<()> {
        let mut statement = self.connection().prepare_cached(
            "INSERT OR REPLACE INTO vectors (model, namespace, record, part, vector) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (part, vector) in vectors.parts.iter().enumerate() {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            statement.execute(params![vectors.model.0, namespace.0, doc.0 as i64, part as i64, bytes])?;
        }
        Ok(())
    }

    pub(super) fn drop_vectors(&self, doc: DocId) -> Result<()> {
        self.connection()
            .prepare_cached(
                "DELETE FROM vectors WHERE record = ?1 AND model IN (SELECT id FROM models)
                 AND namespace = (SELECT namespace FROM records WHERE id = ?1)",
            )?
            .execute([doc.0 as i64])?;
        Ok(())
    }
}

/// What a model is to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The store has no vectors yet; the first model to write some will be in use.
    First,
    /// It made the vectors that recall compares.
    InUse(ModelRow),
    /// The store is being changed over to it.
    Coming(ModelRow),
}

impl Snapshot<'_> {
    /// What a model is to this store.
    ///
    /// # Errors
    /// `ModelMismatch`, naming both, when the store's vectors come from another model and no change-over to
    /// this one has begun.
    pub fn standing(&self, name: &str, fingerprint: &str, dims: usize) -> Result<Standing> {
        let known = models(self.connection())?;
        if let Some(row) = known.iter().find(|row| row.fingerprint == fingerprint) {
            return Ok(if row.in_use { Standing::InUse(row.clone()) } else { Standing::Coming(row.clone()) });
        }
        match known.iter().find(|row| row.in_use) {
            None => Ok(Standing::First),
            Some(row) => Err(Error::ModelMismatch {
                stored: format!("{} ({} wide, {})", row.name, row.dims, row.fingerprint),
                in_use: format!("{name} ({dims} wide, {fingerprint})"),
            }),
        }
    }

    /// The models that made vectors of this store.
    pub fn models(&self) -> Result<Vec<ModelRow>> {
        models(self.connection())
    }

    /// Records in force after `after` that have no vector of that model, at most `limit`, each with the
    /// text by which it is found.
    pub fn pending(&self, model: ModelId, after: DocId, limit: usize) -> Result<Vec<(DocId, String)>> {
        let mut statement = self.connection().prepare_cached(
            "SELECT r.id FROM records r WHERE r.id > ?2 AND r.state IN ('current', 'held') AND NOT EXISTS
                 (SELECT 1 FROM vectors v WHERE v.model = ?1 AND v.namespace = r.namespace AND v.record = r.id)
             ORDER BY r.id LIMIT ?3",
        )?;
        let docs = statement.query_map(params![model.0, after.0 as i64, limit as i64], |row| row.get(0))?;
        self.with_texts(docs.collect::<rusqlite::Result<_>>()?)
    }

    /// The same for records that came into force, or lost their vectors, after a write.
    pub fn pending_since(&self, model: ModelId, after: Seq, limit: usize) -> Result<Vec<(DocId, String)>> {
        let mut statement = self.connection().prepare_cached(
            "SELECT DISTINCT r.id FROM events e JOIN records r ON r.id = e.added
             WHERE e.seq > ?2 AND r.state IN ('current', 'held') AND NOT EXISTS
                 (SELECT 1 FROM vectors v WHERE v.model = ?1 AND v.namespace = r.namespace AND v.record = r.id)
             ORDER BY r.id LIMIT ?3",
        )?;
        let docs = statement.query_map(params![model.0, after.0 as i64, limit as i64], |row| row.get(0))?;
        self.with_texts(docs.collect::<rusqlite::Result<_>>()?)
    }

    fn with_texts(&self, docs: Vec<i64>) -> Result<Vec<(DocId, String)>> {
        let mut texts = Vec::with_capacity(docs.len());
        for doc in docs.into_iter().map(|doc| DocId(doc as u64)) {
            if let Some(record) = rows::record(self.connection(), doc)? {
                texts.push((doc, record.indexed_text()));
            }
        }
        Ok(texts)
    }

    /// How many records in force have a vector of that model, and how many there are.
    pub fn coverage(&self, model: ModelId) -> Result<(u64, u64)> {
        let embedded: i64 = self.connection().query_row(
            "SELECT count(DISTINCT v.record) FROM vectors v JOIN records r ON r.id = v.record
             WHERE v.model = ?1 AND r.state IN ('current', 'held')",
            [model.0],
            |row| row.get(0),
        )?;
        let all: i64 = self.connection().query_row(
            "SELECT count(*) FROM records WHERE state IN ('current', 'held')",
            [],
            |row| row.get(0),
        )?;
        Ok((embedded as u64, all as u64))
    }

    /// How many records in force in a namespace may be read with that clearance, and how many of them have
    /// a vector of that model.
    pub fn readable(
        &self,
        namespace: NamespaceId,
        clearance: Sensitivity,
        model: Option<ModelId>,
    ) -> Result<(u64, u64)> {
        let (mut readable, mut embedded) = (0, 0);
        for sensitivity in Sensitivity::ALL.iter().filter(|sensitivity| **sensitivity <= clearance) {
            let (here, of_them): (i64, i64) = self
                .connection()
                .prepare_cached(
                    "SELECT count(*), total(EXISTS (SELECT 1 FROM vectors v
                         WHERE v.model = ?3 AND v.namespace = r.namespace AND v.record = r.id))
                     FROM records r WHERE r.namespace = ?1 AND r.state = 'current' AND r.sensitivity = ?2",
                )?
                .query_row(params![namespace.0, sensitivity.code(), model.map(|model| model.0)], |row| {
                    Ok((row.get(0)?, row.get::<_, f64>(1)? as i64))
                })?;
            (readable, embedded) = (readable + here as u64, embedded + of_them as u64);
        }
        Ok((readable, embedded))
    }

    /// Calls `each` for every vector of that model in a namespace, in the order of documents.
    pub fn vectors(
        &self,
        model: ModelId,
        namespace: NamespaceId,
        mut each: impl FnMut(DocId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.connection().prepare_cached(
            "SELECT record, vector FROM vectors WHERE model = ?1 AND namespace = ?2 ORDER BY record, part",
        )?;
        let mut rows = statement.query(params![model.0, namespace.0])?;
        while let Some(row) = rows.next()? {
            let bytes =
                row.get_ref(1)?.as_blob().map_err(|_| Error::Corrupt("a vector is no blob".to_owned()))?;
            each(DocId(row.get::<_, i64>(0)? as u64), bytes)?;
        }
        Ok(())
    }

    /// Calls `each` for every vector of one document, in the order of its text, as numbers.
    pub fn numbers_of(
        &self,
        model: &ModelRow,
        namespace: NamespaceId,
        doc: DocId,
        mut each: impl FnMut(&[f32]),
    ) -> Result<()> {
        let mut numbers = Vec::with_capacity(model.dims);
        self.vectors_of(model.id, namespace, doc, |_, bytes| {
            let (words, rest) = bytes.as_chunks::<4>();
            if words.len() == model.dims && rest.is_empty() {
                numbers.clear();
                numbers.extend(words.iter().map(|word| f32::from_le_bytes(*word)));
                each(&numbers);
            }
            Ok(())
        })
    }

    /// Vectors of that model whose width is not the model's, with their size in bytes.
    pub fn odd_vectors(&self, model: &ModelRow) -> Result<Vec<(DocId, u64)>> {
        let mut statement = self.connection().prepare_cached(
            "SELECT record, length(vector) FROM vectors WHERE model = ?1 AND length(vector) <> ?2",
        )?;
        let odd = statement.query_map(params![model.id.0, (model.dims * 4) as i64], |row| {
            Ok((DocId(row.get::<_, i64>(0)? as u64), row.get::<_, i64>(1)? as u64))
        })?;
        Ok(odd.collect::<rusqlite::Result<_>>()?)
    }

    /// The vectors of one record.
    pub fn vectors_of(
        &self,
        model: ModelId,
        namespace: NamespaceId,
        doc: DocId,
        mut each: impl FnMut(DocId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.connection().prepare_cached(
            "SELECT vector FROM vectors WHERE model = ?1 AND namespace = ?2 AND record = ?3 ORDER BY part",
        )?;
        let mut rows = statement.query(params![model.0, namespace.0, doc.0 as i64])?;
        while let Some(row) = rows.next()? {
            let bytes =
                row.get_ref(0)?.as_blob().map_err(|_| Error::Corrupt("a vector is no blob".to_owned()))?;
            each(doc, bytes)?;
        }
        Ok(())
    }
}

fn models(connection: &Connection) -> Result<Vec<ModelRow>> {
    let mut statement =
        connection.prepare_cached("SELECT id, name, fingerprint, dims, in_use FROM models ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        Ok(ModelRow {
            id: ModelId(row.get(0)?),
            name: row.get(1)?,
            fingerprint: row.get(2)?,
            dims: row.get::<_, i64>(3)? as usize,
            in_use: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
