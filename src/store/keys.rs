//! By what a record is found besides its ids: 64 bits of the keyed digests of its text, its subject and its
//! sources. Whoever finds one compares the record itself, since two digests may meet.

use rusqlite::{Connection, params};

use super::facts::{source_key, text_key};
use super::number::doc_of;
use super::secret::{Digest, Of, Secret};
use crate::change::{DocId, NamespaceId};
use crate::error::Result;
use crate::record::Record;
use crate::text::canonical;

/// A key of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(i64);

impl Key {
    fn of(digest: Digest) -> Key {
        let (first, _) = digest.split_first_chunk::<8>().expect("a digest has sixteen bytes");
        Key(i64::from_le_bytes(*first))
    }

    pub(super) fn of_text(text: Digest) -> Key {
        Key::of(text)
    }

    /// The same for a subject of one value and of many, however it is written.
    pub(super) fn of_subject(secret: &Secret, subject: &str) -> Key {
        Key::of(secret.digest(Of::Subject, &[&canonical(subject)]))
    }

    pub(super) fn of_source(secret: &Secret, source: &str) -> Key {
        Key::of(source_key(secret, source))
    }
}

/// All keys of a record.
pub(super) fn keys_of(secret: &Secret, record: &Record) -> Vec<Key> {
    let text = text_key(secret, record.subject.as_deref(), &record.content);
    let subject = record.subject.as_deref().map(|subject| Key::of_subject(secret, subject));
    let sources = record.evidence.iter().map(|evidence| Key::of_source(secret, &evidence.source.id));
    let mut keys: Vec<Key> = std::iter::once(Key::of_text(text)).chain(subject).chain(sources).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Lets a record be found by these keys.
pub(super) fn put(connection: &Connection, doc: DocId, keys: &[Key]) -> Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT OR IGNORE INTO record_keys (namespace, key, seq) VALUES (?1, ?2, ?3)")?;
    for key in keys {
        insert.execute(params![doc.namespace().0, key.0, doc.made_by().0 as i64])?;
    }
    Ok(())
}

/// Takes these keys from a record.
pub(super) fn take(connection: &Connection, doc: DocId, keys: &[Key]) -> Result<()> {
    let mut delete = connection
        .prepare_cached("DELETE FROM record_keys WHERE namespace = ?1 AND key = ?2 AND seq = ?3")?;
    for key in keys {
        delete.execute(params![doc.namespace().0, key.0, doc.made_by().0 as i64])?;
    }
    Ok(())
}

/// Takes every key from a record whose own text no longer tells which it had: a damaged one.
pub(super) fn take_all(connection: &Connection, doc: DocId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM record_keys WHERE namespace = ?1 AND seq = ?2")?
        .execute(params![doc.namespace().0, doc.made_by().0 as i64])?;
    Ok(())
}

/// The documents that have a key in a namespace, oldest first.
pub(super) fn with_key(connection: &Connection, namespace: NamespaceId, key: Key) -> Result<Vec<DocId>> {
    let mut statement = connection
        .prepare_cached("SELECT seq FROM record_keys WHERE namespace = ?1 AND key = ?2 ORDER BY seq")?;
    let docs = statement.query_map(params![namespace.0, key.0], |row| {
        Ok(DocId::new(crate::change::Seq(row.get::<_, i64>(0)? as u64), namespace))
    })?;
    Ok(docs.collect::<rusqlite::Result<_>>()?)
}

/// Makes the keys of every record anew, as with another secret.
pub(super) fn make_anew(connection: &Connection, secret: &Secret) -> Result<()> {
    connection.execute("DELETE FROM record_keys", [])?;
    let mut statement = connection.prepare("SELECT id FROM records WHERE content IS NOT NULL ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let doc = doc_of(row.get(0)?);
        // Nothing is compared with a text that can't be trusted; verify reports it.
        if let Some(record) = super::rows::sound(connection, doc)? {
            put(connection, doc, &keys_of(secret, &record))?;
        }
    }
    Ok(())
}

/// Records with content that lack one of their keys, and keys that lead to none: what `verify` compares.
pub(super) fn check(connection: &Connection, secret: &Secret) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let mut has =
        connection.prepare("SELECT 1 FROM record_keys WHERE namespace = ?1 AND key = ?2 AND seq = ?3")?;
    let mut statement = connection.prepare("SELECT id FROM records WHERE content IS NOT NULL ORDER BY id")?;
    let mut rows = statement.query([])?;
    let (mut right, mut damaged) = (0, false);
    while let Some(row) = rows.next()? {
        let doc = doc_of(row.get(0)?);
        // Its checksum is another finding; what it said, and so its keys, can't be told any more.
        let Some(record) = super::rows::sound(connection, doc)? else {
            damaged = true;
            continue;
        };
        for key in keys_of(secret, &record) {
            if has.exists(params![doc.namespace().0, key.0, doc.made_by().0 as i64])? {
                right += 1;
            } else {
                wrong.push(format!("{} lacks a key by which it is found", record.record_id));
            }
        }
    }
    let all: i64 = connection.query_row("SELECT count(*) FROM record_keys", [], |row| row.get(0))?;
    if all > right && !damaged {
        wrong.push(format!("{} keys lead to no record with that content", all - right));
    }
    Ok(wrong)
}
