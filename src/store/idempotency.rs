//! Answers the same request the same way: a key names a request, a digest proves that it is the same
//! one. Keeps ids, never the request.

use rusqlite::{OptionalExtension, params};

use super::append::Written;
use super::number::row_of;
use super::secret::Of;
use super::writing::{Writing, find_namespace};
use crate::error::Result;
use crate::namespace::Namespace;
use crate::record::{MemoryId, RecordId};

/// What is known of an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It was not used.
    New,
    /// It was used for the same request, which led to this.
    Same(Written),
    /// It was used for another request.
    Other,
}

impl Writing<'_> {
    /// Looks up an idempotency key; `body` is the request in a form that is the same for the same request.
    pub fn seen(&self, namespace: &Namespace, key: &str, body: &str) -> Result<Seen> {
        let Some(place) = find_namespace(self.connection(), namespace)? else {
            return Ok(Seen::New);
        };
        let digest = self.secret.digest(Of::Request, &[body]);
        let found = self
            .connection()
            .prepare_cached(
                "SELECT k.body, r.record_id, r.memory_id, r.version FROM idempotency_keys k
                 JOIN records r ON r.id = k.record WHERE k.namespace = ?1 AND k.key = ?2",
            )?
            .query_row(params![place.0, key], |row| {
                let written = Written {
                    record_id: RecordId::new(row.get::<_, String>(1)?),
                    memory_id: MemoryId::new(row.get::<_, String>(2)?),
                    version: row.get(3)?,
                };
                Ok((row.get::<_, [u8; 16]>(0)?, written))
            })
            .optional()?;
        Ok(match found {
            None => Seen::New,
            Some((before, written)) if before == digest => Seen::Same(written),
            Some(_) => Seen::Other,
        })
    }

    /// Notes what a request with that key led to. It goes when the record is forgotten, so that a
    /// repeat is judged anew and refused as the gates refuse it.
    pub fn note(
        &self,
        namespace: &Namespace,
        key: &str,
        body: &str,
        outcome: &str,
        record_id: &RecordId,
    ) -> Result<()> {
        let place = self.namespace(namespace)?;
        let doc = self.doc_of(record_id)?;
        self.connection()
            .prepare_cached(
                "INSERT INTO idempotency_keys (namespace, key, body, outcome, record, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                place.0,
                key,
                self.secret.digest(Of::Request, &[body]).as_slice(),
                outcome,
                row_of(doc),
                self.now.as_micros()
            ])?;
        Ok(())
    }
}
