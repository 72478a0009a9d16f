//! From each earlier format to the present one. Runs in the transaction that sets the new number, so that a
//! store is of one format or of the other.

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::number::{new_doc, row_of};
use super::replay::KEYS_MISSING;
use crate::change::{NamespaceId, Seq};
use crate::error::{Error, Result};
use crate::simd::pack;

/// Tables that format 2 has in another form than format 1, or no more. What refers to another comes first.
const RESHAPED: [&str; 7] =
    ["vectors", "idempotency_keys", "derivations", "evidence", "contents", "events", "records"];
/// Indexes of theirs that were made by name.
const INDEXES: [&str; 10] = [
    "records_in_force",
    "records_by_namespace",
    "contents_by_text",
    "contents_by_subject",
    "evidence_by_record",
    "evidence_by_source",
    "derivations_by_source",
    "events_by_namespace",
    "events_by_memory",
    "idempotency_by_record",
];

/// From format 1: what a record says and rests on moves into its row, rows lie by namespace, vectors take half
/// the bytes. Ids, times, versions and the chain of events stay as they are.
pub(super) fn from_1(connection: &Connection) -> Result<()> {
    let (last, newest): (i64, i64) = connection.query_row(
        "SELECT (SELECT ifnull(max(seq), 0) FROM events), (SELECT ifnull(max(id), 0) FROM records)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if newest > last {
        // From here on a record is numbered by its event, and a number may not be used twice.
        return Err(Error::Corrupt(format!("{newest} records were made by {last} events")));
    }
    connection.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    for index in INDEXES {
        connection.execute(&format!("DROP INDEX IF EXISTS {index}"), [])?;
    }
    for table in RESHAPED {
        connection.execute(&format!("ALTER TABLE {table} RENAME TO old_{table}"), [])?;
    }
    connection
        .execute_batch(&statements_about(&[&RESHAPED[..], &["record_keys", "coming_vectors"]].concat()))?;
    records(connection)?;
    coming_vectors(connection)?;
    connection.execute_batch(
        "INSERT INTO evidence (record, nth, source, locator, speaker, observed_at, authority)
             SELECT namespace << 36 | record, row_number() OVER (PARTITION BY record ORDER BY id),
                    source, locator, speaker, observed_at, authority
             FROM old_evidence WHERE id NOT IN (SELECT evidence FROM first_evidence);
         INSERT INTO derivations (record, source)
             SELECT r.namespace << 36 | r.id, s.namespace << 36 | s.id FROM old_derivations d
             JOIN old_records r ON r.id = d.record JOIN old_records s ON s.id = d.source;
         INSERT INTO events (seq, at, namespace, previous, type, memory_id, record_id, version, added, removed, reason,
                 digest, hash)
             SELECT seq, at, namespace, ifnull(lag(seq) OVER (PARTITION BY namespace ORDER BY seq), 0), type,
                    memory_id, record_id, version, added, removed, reason, digest, hash FROM old_events;
         INSERT INTO idempotency_keys (namespace, key, body, outcome, record, at)
             SELECT k.namespace, k.key, k.body, k.outcome, r.namespace << 36 | r.id, k.at FROM old_idempotency_keys k
             JOIN old_records r ON r.id = k.record;
         CREATE INDEX deletion_jobs_open ON deletion_jobs (seq) WHERE state <> 'completed';
         DROP TABLE first_evidence;",
    )?;
    for table in RESHAPED {
        connection.execute(&format!("DROP TABLE old_{table}"), [])?;
    }
    // The keys by which records are found take the store's secret, which is opened later.
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, '')", [KEYS_MISSING])?;
    Ok(())
}

/// The statements of the schema that make these tables and their indexes.
fn statements_about(tables: &[&str]) -> String {
    let about = |statement: &&str| {
        let words: Vec<&str> = statement.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let named = |at: usize| words.get(at + 1).is_some_and(|name| tables.contains(name));
        let after = |word: &str| words.iter().position(|found| *found == word);
        match after("INDEX") {
            Some(_) => after("ON").is_some_and(named),
            None => after("TABLE").is_some_and(named),
        }
    };
    let plain: String = include_str!("schema.sql")
        .lines()
        .map(|line| line.split_once("--").map_or(line, |(code, _)| code))
        .collect::<Vec<_>>()
        .join("\n");
    plain.split_inclusive(';').filter(about).collect()
}

/// The records with what they say, in the order of their new numbers, and their vectors.
fn records(connection: &Connection) -> Result<()> {
    // The first piece of evidence moves into the record's row if it was seen and ranked as the record is.
    connection.execute_batch(
        "CREATE TABLE first_evidence AS
             SELECT e.record, e.id AS evidence FROM old_evidence e JOIN old_records r ON r.id = e.record
             WHERE e.id = (SELECT min(f.id) FROM old_evidence f WHERE f.record = e.record)
                   AND e.observed_at = r.observed_at AND e.authority = r.authority;
         CREATE UNIQUE INDEX first_evidence_by_record ON first_evidence (record);
         CREATE INDEX old_evidence_by_record ON old_evidence (record);",
    )?;
    let mut read = connection.prepare(
        "SELECT r.namespace, r.id, r.memory, r.generation, r.version, r.namespace << 36 | r.supersedes, r.state,
                r.kind, r.form, r.cardinality, r.authority, r.sensitivity, r.lifetime, r.confidence, r.importance,
                r.observed_at, r.valid_from, r.expires_at, r.recorded_at, r.ended_at, r.reverify, r.terms, r.record_id,
                m.memory_id, e.source, e.locator, e.speaker,
                (SELECT count(*) FROM old_evidence a WHERE a.record = r.id) - (e.id IS NOT NULL),
                (SELECT count(*) FROM old_derivations d WHERE d.record = r.id),
                c.subject, c.content, c.metadata, c.session, c.position, c.write_reason, c.read_trigger,
                c.revision_path, c.checksum
         FROM old_records r JOIN memories m ON m.id = r.memory
         LEFT JOIN old_contents c ON c.record = r.id
         LEFT JOIN first_evidence f ON f.record = r.id LEFT JOIN old_evidence e ON e.id = f.evidence
         ORDER BY r.namespace, r.id",
    )?;
    let mut write = connection.prepare(
        "INSERT INTO records (id, memory, generation, version, supersedes, state, kind, form, cardinality, authority,
             sensitivity, lifetime, confidence, importance, observed_at, valid_from, expires_at, recorded_at, ended_at,
             reverify, terms, record_id, memory_id, source, locator, speaker, further, derived, subject, content,
             metadata, session, position, write_reason, read_trigger, revision_path, checksum, vectors)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
             ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38)",
    )?;
    let mut vectors = connection.prepare(
        "SELECT v.vector FROM old_vectors v JOIN models m ON m.id = v.model AND m.in_use
         WHERE v.namespace = ?1 AND v.record = ?2 ORDER BY v.part",
    )?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let (namespace, id): (u32, i64) = (row.get(0)?, row.get(1)?);
        let doc = new_doc(Seq(id as u64), NamespaceId(namespace))?;
        let mut values = vec![Value::from(row_of(doc))];
        for column in 2..38 {
            values.push(row.get(column)?);
        }
        let mut packed = Vec::new();
        let mut parts = vectors.query(params![namespace, id])?;
        while let Some(part) = parts.next()? {
            pack_bytes(part.get_ref(0)?.as_blob().unwrap_or_default(), &mut packed);
        }
        values.push(if packed.is_empty() { Value::Null } else { Value::Blob(packed) });
        write.execute(params_from_iter(values))?;
    }
    Ok(())
}

fn coming_vectors(connection: &Connection) -> Result<()> {
    let mut read = connection.prepare(
        "SELECT v.namespace, v.record, v.model, v.vector FROM old_vectors v JOIN models m ON m.id = v.model
         WHERE NOT m.in_use ORDER BY v.model, v.namespace, v.record, v.part",
    )?;
    let mut write = connection.prepare(
        "INSERT INTO coming_vectors (record, model, vectors) VALUES (?1, ?2, ?3)
         ON CONFLICT (record) DO UPDATE SET model = excluded.model,
             vectors = iif(model = excluded.model, vectors || excluded.vectors, excluded.vectors)",
    )?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let doc = new_doc(Seq(row.get::<_, i64>(1)? as u64), NamespaceId(row.get(0)?))?;
        let mut packed = Vec::new();
        pack_bytes(row.get_ref(3)?.as_blob().unwrap_or_default(), &mut packed);
        write.execute(params![row_of(doc), row.get::<_, u32>(2)?, packed])?;
    }
    Ok(())
}

/// Packs little-endian floats.
fn pack_bytes(floats: &[u8], packed: &mut Vec<u8>) {
    let numbers: Vec<f32> =
        floats.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    pack(&numbers, packed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_cut_by_table() {
        let sql = statements_about(&["records", "events"]);
        assert_eq!(sql.matches("CREATE TABLE").count(), 2, "{sql}");
        for index in ["records_by_id", "records_in_force", "records_past", "records_pending"] {
            assert!(sql.contains(index), "{sql}");
        }
        assert!(!sql.contains("derivations_by_source"), "{sql}");
        Connection::open_in_memory().unwrap().execute_batch(&sql).unwrap();
    }
}
