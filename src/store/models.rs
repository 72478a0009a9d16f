//! Which models made the vectors, and the vectors themselves: put in, read by namespace, dropped.
//! Knows numbers, not what they mean.

use rusqlite::{Connection, OptionalExtension, params};

use super::Snapshot;
use super::append::Vectors;
use super::events::Event;
use super::number::{doc_of, row_of, rows_of};
use super::rows;
use super::writing::Writing;
use crate::broken::{Step, is_broken};
use crate::change::{DocId, NamespaceId};
use crate::error::{Error, Result};
use crate::simd::packed_len;
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
        connection.execute(
            "UPDATE records SET vectors =
                 (SELECT c.vectors FROM coming_vectors c WHERE c.record = records.id AND c.model = ?1)
             WHERE vectors IS NOT NULL OR id IN (SELECT record FROM coming_vectors)",
            [model.0],
        )?;
        connection.execute("DELETE FROM coming_vectors", [])?;
        connection.execute("DELETE FROM models WHERE id <> ?1", [model.0])?;
        connection.execute("UPDATE models SET in_use = 1 WHERE id = ?1", [model.0])?;
        Ok(())
    }

    /// Adds vectors of a record that was pending. Nothing happens if the record has gone out of force, or the
    /// model, meanwhile: a late embedder brings nothing back.
    pub fn add_vectors(&self, doc: DocId, vectors: &Vectors) -> Result<()> {
        let found: Option<(String, bool, bool)> = self
            .connection()
            .prepare_cached(
                "SELECT r.record_id, m.in_use, r.state = 'current' FROM records r, models m
                 WHERE r.id = ?1 AND m.id = ?2 AND r.state IN ('current', 'held')",
            )?
            .query_row(params![row_of(doc), vectors.model.id.0], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()?;
        let Some((record_id, in_use, current)) = found else {
            return Ok(());
        };
        let model = ModelRow { in_use, ..vectors.model.clone() };
        self.put_vectors(doc, &Vectors { model, parts: vectors.parts.clone() })?;
        if in_use && current {
            // Whoever has the namespace in memory must take the record in again, with its vector.
            self.event(&Event {
                record_id: Some(&record_id),
                added: Some(doc),
                removed: Some(doc),
                ..Event::new(self.now, doc.namespace(), "embedded")
            })?;
        }
        Ok(())
    }

    pub(super) fn put_vectors(&self, doc: DocId, vectors: &Vectors) -> Result<()> {
        if vectors.model.in_use {
            self.connection()
                .prepare_cached("UPDATE records SET vectors = ?2 WHERE id = ?1")?
                .execute(params![row_of(doc), vectors.packed()])?;
        } else {
            self.connection()
                .prepare_cached(
                    "INSERT OR REPLACE INTO coming_vectors (record, model, vectors) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![row_of(doc), vectors.model.id.0, vectors.packed()])?;
        }
        Ok(())
    }

    /// Takes away what was made of a record by a model that the store is being changed over to.
    pub(super) fn drop_coming_vectors(&self, doc: DocId) -> Result<bool> {
        if is_broken(Step::ComingVectors) {
            return Ok(false);
        }
        let dropped = self
            .connection()
            .prepare_cached("DELETE FROM coming_vectors WHERE record = ?1")?
            .execute([row_of(doc)])?;
        Ok(dropped > 0)
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
    /// text by which it is found; in the order of namespaces.
    pub fn pending(&self, model: &ModelRow, after: DocId, limit: usize) -> Result<Vec<(DocId, String)>> {
        let mut statement = self.connection().prepare_cached(match model.in_use {
            true => {
                "SELECT id FROM records WHERE vectors IS NULL AND state IN ('current', 'held')
                     AND id > ?2 AND ?1 = ?1 ORDER BY id LIMIT ?3"
            }
            false => {
                "SELECT r.id FROM records r WHERE r.id > ?2 AND r.state IN ('current', 'held') AND NOT EXISTS
                     (SELECT 1 FROM coming_vectors c WHERE c.record = r.id AND c.model = ?1)
                 ORDER BY r.id LIMIT ?3"
            }
        })?;
        let rows = statement.query_map(params![model.id.0, row_of(after), limit as i64], |row| row.get(0))?;
        self.with_texts(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn with_texts(&self, rows: Vec<i64>) -> Result<Vec<(DocId, String)>> {
        let mut texts = Vec::with_capacity(rows.len());
        for doc in rows.into_iter().map(doc_of) {
            if let Some(record) = rows::record(self.connection(), doc)? {
                texts.push((doc, record.indexed_text()));
            }
        }
        Ok(texts)
    }

    /// How many records in force have a vector of that model, and how many there are.
    pub fn coverage(&self, model: &ModelRow) -> Result<(u64, u64)> {
        let count = |sql: &str, model: ModelId| -> Result<u64> {
            let mut statement = self.connection().prepare_cached(sql)?;
            Ok(statement.query_row([model.0], |row| row.get::<_, i64>(0))? as u64)
        };
        let all =
            count("SELECT count(*) FROM records WHERE state IN ('current', 'held') AND ?1 = ?1", model.id)?;
        let embedded = match model.in_use {
            true => {
                let waiting = "SELECT count(*) FROM records
                     WHERE vectors IS NULL AND state IN ('current', 'held') AND ?1 = ?1";
                all - count(waiting, model.id)?
            }
            false => count("SELECT count(*) FROM coming_vectors WHERE model = ?1", model.id)?,
        };
        Ok((embedded, all))
    }

    /// How many records in force in a namespace may be read with that clearance, and how many of them have
    /// a vector of the model in use.
    pub fn readable(&self, namespace: NamespaceId, clearance: Sensitivity) -> Result<(u64, u64)> {
        let (first, last) = rows_of(namespace);
        let mut statement = self.connection().prepare_cached(
            "SELECT sensitivity, count(*), count(vectors) FROM records
             WHERE id BETWEEN ?1 AND ?2 AND state = 'current' GROUP BY sensitivity",
        )?;
        let mut rows = statement.query([first, last])?;
        let (mut readable, mut embedded) = (0, 0);
        while let Some(row) = rows.next()? {
            if rows::code::<Sensitivity>(row, 0)? <= clearance {
                readable += row.get::<_, i64>(1)? as u64;
                embedded += row.get::<_, i64>(2)? as u64;
            }
        }
        Ok((readable, embedded))
    }

    /// Calls `each` with the packed vectors of every record in force in a namespace, in the order of documents.
    pub fn vectors(
        &self,
        namespace: NamespaceId,
        mut each: impl FnMut(DocId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let sql = "SELECT id, vectors FROM records
             WHERE id BETWEEN :first AND :last AND state = 'current' AND vectors IS NOT NULL ORDER BY id";
        super::salvage::each_record(self.connection(), sql, &[], rows_of(namespace), |row| {
            each(doc_of(row.get(0)?), blob(row, 1)?)
        })?;
        Ok(())
    }

    /// Calls `each` with the packed vectors of one record, if it has any.
    pub fn vectors_of(&self, doc: DocId, each: impl FnOnce(&[u8])) -> Result<()> {
        let mut statement = self
            .connection()
            .prepare_cached("SELECT vectors FROM records WHERE id = ?1 AND vectors IS NOT NULL")?;
        let mut rows = statement.query([row_of(doc)])?;
        if let Some(row) = rows.next()? {
            each(blob(row, 0)?);
        }
        Ok(())
    }

    /// Records whose vectors are not of the width of the model in use, with their size in bytes.
    pub fn odd_vectors(&self, model: &ModelRow) -> Result<Vec<(DocId, u64)>> {
        let mut statement = self.connection().prepare_cached(
            "SELECT id, length(vectors) FROM records WHERE vectors IS NOT NULL AND length(vectors) % ?1 <> 0",
        )?;
        let odd = statement.query_map([packed_len(model.dims) as i64], |row| {
            Ok((doc_of(row.get(0)?), row.get::<_, i64>(1)? as u64))
        })?;
        Ok(odd.collect::<rusqlite::Result<_>>()?)
    }
}

fn blob<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<&'r [u8]> {
    row.get_ref(column)?.as_blob().map_err(|_| Error::Corrupt("a vector is no blob".to_owned()))
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
