//! The one order of writes: appends events, chains their hashes, and checks the chain.
//! An event says what happened to which memory; it carries no text.

use std::cell::Cell;
use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::change::{Change, DocId, NamespaceId, Seq};
use crate::clock::Timestamp;
use crate::error::Result;

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event<'a> {
    pub at: Timestamp,
    pub namespace: NamespaceId,
    pub what: &'a str,
    pub memory_id: Option<&'a str>,
    pub record_id: Option<&'a str>,
    pub version: Option<u32>,
    pub added: Option<DocId>,
    pub removed: Option<DocId>,
    pub reason: Option<&'a str>,
    pub digest: Option<[u8; 16]>,
}

impl<'a> Event<'a> {
    pub(super) fn new(at: Timestamp, namespace: NamespaceId, what: &'a str) -> Event<'a> {
        Event {
            at,
            namespace,
            what,
            memory_id: None,
            record_id: None,
            version: None,
            added: None,
            removed: None,
            reason: None,
            digest: None,
        }
    }

    /// The hash of this event behind the one before it: each field with a mark for absent or its
    /// length, so that no two events meet.
    fn hash(&self, previous: &[u8], seq: i64) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let mut put = |bytes: Option<&[u8]>| match bytes {
            None => drop(hasher.update(&[0])),
            Some(bytes) => {
                hasher.update(&[1]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
            }
        };
        put(Some(previous));
        put(Some(&seq.to_le_bytes()));
        put(Some(&self.at.as_micros().to_le_bytes()));
        put(Some(&self.namespace.0.to_le_bytes()));
        for text in [Some(self.what), self.memory_id, self.record_id, self.reason] {
            put(text.map(str::as_bytes));
        }
        put(self.version.map(u32::to_le_bytes).as_ref().map(<[u8; 4]>::as_slice));
        for doc in [self.added, self.removed] {
            put(doc.map(|doc| doc.made_by().0.to_le_bytes()).as_ref().map(<[u8; 8]>::as_slice));
        }
        put(self.digest.as_ref().map(<[u8; 16]>::as_slice));
        *hasher.finalize().as_bytes()
    }
}

/// The last event of a transaction so far and its hash; looked up once.
pub(super) type Tip = Cell<Option<(Seq, [u8; 32])>>;

/// The last event and its hash; 0 and zeros before the first.
pub(super) fn tip(connection: &Connection, known: &Tip) -> Result<(Seq, [u8; 32])> {
    if let Some(tip) = known.get() {
        return Ok(tip);
    }
    let last: Option<(i64, [u8; 32])> = connection
        .prepare_cached("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let tip = last.map_or((Seq(0), [0; 32]), |(seq, hash)| (Seq(seq as u64), hash));
    known.set(Some(tip));
    Ok(tip)
}

/// Appends an event and moves the namespace's revision to it.
pub(super) fn append(connection: &Connection, known: &Tip, event: &Event<'_>) -> Result<Seq> {
    let (Seq(last), previous) = tip(connection, known)?;
    let seq = last as i64 + 1;
    let hash = event.hash(&previous, seq);
    let doc = |doc: Option<DocId>| doc.map(|doc| doc.made_by().0 as i64);
    connection
        .prepare_cached(
            "INSERT INTO events
                 (seq, at, namespace, previous, type, memory_id, record_id, version, added, removed, reason, digest, hash)
             VALUES (?1, ?2, ?3, (SELECT revision FROM namespaces WHERE id = ?3), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            seq,
            event.at.as_micros(),
            event.namespace.0,
            event.what,
            event.memory_id,
            event.record_id,
            event.version,
            doc(event.added),
            doc(event.removed),
            event.reason,
            event.digest.as_ref().map(<[u8; 16]>::as_slice),
            hash.as_slice(),
        ])?;
    connection
        .prepare_cached("UPDATE namespaces SET revision = ?2 WHERE id = ?1")?
        .execute(params![event.namespace.0, seq])?;
    known.set(Some((Seq(seq as u64), hash)));
    Ok(Seq(seq as u64))
}

/// Walks the chain from its start; names the first event whose hash does not follow, or that does not lead to
/// the one before it in its namespace.
pub(super) fn broken_at(connection: &Connection) -> Result<Option<Seq>> {
    let mut statement = connection.prepare(
        "SELECT seq, at, namespace, type, memory_id, record_id, version, added, removed, reason, digest, hash, previous
         FROM events ORDER BY seq",
    )?;
    let mut rows = statement.query([])?;
    let (mut previous, mut expected) = (vec![0; 32], 1);
    let mut last_in: HashMap<u32, i64> = HashMap::new();
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let (what, memory_id): (String, Option<String>) = (row.get(3)?, row.get(4)?);
        let (record_id, reason): (Option<String>, Option<String>) = (row.get(5)?, row.get(9)?);
        let namespace = NamespaceId(row.get(2)?);
        let event = Event {
            at: Timestamp::from_micros(row.get(1)?)?,
            namespace,
            what: &what,
            memory_id: memory_id.as_deref(),
            record_id: record_id.as_deref(),
            version: row.get(6)?,
            added: doc(row, 7, namespace)?,
            removed: doc(row, 8, namespace)?,
            reason: reason.as_deref(),
            digest: row.get(10)?,
        };
        let hash: Vec<u8> = row.get(11)?;
        let leads_to = last_in.insert(namespace.0, seq).unwrap_or(0);
        let follows = seq == expected && row.get::<_, i64>(12)? == leads_to;
        if !follows || event.hash(&previous, seq)[..] != hash[..] {
            return Ok(Some(Seq(expected as u64)));
        }
        (previous, expected) = (hash, seq + 1);
    }
    Ok(None)
}

/// Every event of a namespace after `?2`, the last first: from its revision back, event by event.
macro_rules! back_from_the_last {
    ($select:literal) => {
        concat!(
            "WITH RECURSIVE back (seq, previous, added, removed) AS (
                 SELECT e.seq, e.previous, e.added, e.removed FROM namespaces n JOIN events e ON e.seq = n.revision
                 WHERE n.id = ?1 AND e.seq > ?2
                 UNION ALL
                 SELECT e.seq, e.previous, e.added, e.removed FROM back b JOIN events e ON e.seq = b.previous
                 WHERE e.seq > ?2) ",
            $select
        )
    };
}

/// What changed in a namespace after `after`, oldest first; only changes of what is in force. Of more than
/// `limit` the latest.
pub(super) fn changes(
    connection: &Connection,
    namespace: NamespaceId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Change>> {
    let mut statement = connection.prepare_cached(back_from_the_last!(
        "SELECT seq, added, removed, ?1 FROM back WHERE added IS NOT NULL OR removed IS NOT NULL LIMIT ?3"
    ))?;
    let changes = statement.query_map(params![namespace.0, after.0 as i64, limit as i64], change)?;
    let mut changes: Vec<Change> = changes.collect::<rusqlite::Result<_>>()?;
    changes.reverse();
    Ok(changes)
}

/// How many events there are in a namespace after `after`.
pub(super) fn count_since(connection: &Connection, namespace: NamespaceId, after: Seq) -> Result<u64> {
    let count: i64 = connection
        .prepare_cached(back_from_the_last!("SELECT count(*) FROM back"))?
        .query_row(params![namespace.0, after.0 as i64], |row| row.get(0))?;
    Ok(count as u64)
}

/// The next changes anywhere after `after`, oldest first, at most `limit`.
pub(super) fn changes_anywhere(connection: &Connection, after: Seq, limit: usize) -> Result<Vec<Change>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, added, removed, namespace FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    )?;
    let changes = statement.query_map(params![after.0 as i64, limit as i64], change)?;
    Ok(changes.collect::<rusqlite::Result<_>>()?)
}

fn change(row: &rusqlite::Row<'_>) -> rusqlite::Result<Change> {
    let namespace = NamespaceId(row.get(3)?);
    Ok(Change {
        seq: Seq(row.get::<_, i64>(0)? as u64),
        namespace,
        added: doc(row, 1, namespace)?,
        removed: doc(row, 2, namespace)?,
    })
}

/// An event names a record by the write that made it; where it lives is the event's own namespace.
fn doc(row: &rusqlite::Row<'_>, column: usize, namespace: NamespaceId) -> rusqlite::Result<Option<DocId>> {
    let made_by: Option<i64> = row.get(column)?;
    Ok(made_by.map(|seq| DocId::new(Seq(seq as u64), namespace)))
}

/// What tells one store from another, and is the same in every backup of it and every store made of one: 31 bits of the
/// hash of its first event, or 0 before that.
pub(super) fn identity(connection: &Connection) -> Result<i32> {
    Ok((history_at(connection, Seq(1))? & 0x7FFF_FFFF) as i32)
}

/// The first bytes of the hash of an event, which stand for everything up to it; 0 when there is none.
pub(super) fn history_at(connection: &Connection, seq: Seq) -> Result<u64> {
    let hash: Option<Vec<u8>> = connection
        .prepare_cached("SELECT hash FROM events WHERE seq = ?1")?
        .query_row([seq.0 as i64], |row| row.get(0))
        .optional()?;
    let first = hash.as_deref().and_then(|hash| hash.first_chunk::<8>());
    Ok(first.map_or(0, |bytes| u64::from_le_bytes(*bytes)))
}

/// The position of the last event.
pub(super) fn last(connection: &Connection) -> Result<Seq> {
    let seq: Option<i64> =
        connection.prepare_cached("SELECT max(seq) FROM events")?.query_row([], |row| row.get(0))?;
    Ok(Seq(seq.unwrap_or(0) as u64))
}
