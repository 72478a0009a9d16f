//! What happens when a store is opened: it takes on its key, and is told of everything that its
//! ledger says was forgotten, so that a restored database brings nothing back.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::events::Event;
use super::keys;
use super::ledger::{Blocked, MARK_KINDS, TOMBSTONES_SUMMED, Tombstone};
use super::secret::{Of, Secret};
use super::writing::Writing;
use super::{Erased, Selector, Store, ids, lock};
use crate::broken::{Step, is_broken};
use crate::change::{DocId, NamespaceId};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::namespace::Namespace;
use crate::record::MemoryId;
use crate::text::canonical;
use crate::trust::Sensitivity;

/// What was forgotten is forgotten again whoever asked: the clearance was looked at then.
const ALL: Sensitivity = Sensitivity::Sensitive;
/// The reason that the events of a replayed tombstone carry.
pub(super) const REPLAYED: &str = "ledger_replayed";
/// The mark that a migration leaves; see [`lacks_keys`].
pub(super) const KEYS_MISSING: &str = "keys_missing";

/// Notes the key's fingerprint; if the database was made with another key, computes every digest of
/// what is in force anew. True when the key changed.
pub(super) fn adopt_key(store: &Store) -> Result<bool> {
    let mut writer = lock(&store.writer);
    let mine = store.secret.fingerprint();
    let noted = |connection: &Connection| {
        connection
            .query_row("SELECT value FROM meta WHERE key = 'secret'", [], |row| row.get::<_, String>(0))
            .optional()
    };
    let is_mine = |noted: &Option<String>| noted.as_deref() == Some(mine.as_str());
    if is_mine(&noted(&writer)?) && !lacks_keys(&writer)? {
        return Ok(false);
    }
    let transaction = writer.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let before = noted(&transaction)?;
    if before.is_some() || lacks_keys(&transaction)? {
        rekey(&transaction, &store.secret)?;
    }
    transaction.execute("DELETE FROM meta WHERE key = ?1", [KEYS_MISSING])?;
    transaction.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('secret', ?1)", [&mine])?;
    transaction.commit()?;
    Ok(before.is_some_and(|before| before != mine))
}

/// Whether a migration has left the keys to be made, which takes the secret.
fn lacks_keys(connection: &Connection) -> Result<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM meta WHERE key = ?1")?.exists([KEYS_MISSING])?)
}

pub(super) fn rekey(connection: &Connection, secret: &Secret) -> Result<()> {
    let mut statement = connection.prepare(
        "SELECT r.memory, r.subject FROM records r JOIN memories m ON m.id = r.memory
         WHERE r.subject IS NOT NULL AND m.subject_key IS NOT NULL",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (memory, subject): (i64, String) = (row.get(0)?, row.get(1)?);
        let key = secret.digest(Of::Subject, &[&canonical(&subject)]);
        connection
            .prepare_cached("UPDATE memories SET subject_key = ?2 WHERE id = ?1")?
            .execute(params![memory, key.as_slice()])?;
    }
    keys::make_anew(connection, secret)
}

/// Brings database and ledger to the same list of what was forgotten. Tells how many memories the
/// database still had.
pub(super) fn replay_ledger(store: &Store, now: Timestamp) -> Result<usize> {
    let (tombstones, sources) = {
        let ledger = lock(&store.ledger);
        let writer = lock(&store.writer);
        let count = |sql: &str| writer.query_row(sql, [], |row| row.get::<_, i64>(0));
        let here = (count(TOMBSTONES_SUMMED)?, count("SELECT count(*) FROM blocked_sources")?);
        if here == (ledger.sum()?, ledger.counts()?.1) || is_broken(Step::Replay) {
            return Ok(0);
        }
        (ledger.tombstones()?, ledger.sources()?)
    };
    let forgotten_again = store.write(now, |writing| {
        let mut gone = Gone::default();
        for tombstone in &tombstones {
            writing.bury_again(tombstone, &mut gone)?;
        }
        for blocked in &sources {
            let place = writing.namespace(&blocked.namespace)?;
            let selector = Selector::Source(blocked.source.clone());
            let receipt = ids::minted("rcp", now)?;
            writing.connection().execute(
                "INSERT OR IGNORE INTO blocked_sources (namespace, source, blocked_at) VALUES (?1, ?2, ?3)",
                params![place.0, blocked.source, blocked.blocked_at.as_micros()],
            )?;
            let erased = writing.erase_alone(&blocked.namespace, &selector, ALL, REPLAYED, &receipt)?;
            if !erased.is_empty() {
                gone.add(&receipt, &blocked.namespace, erased);
            }
        }
        writing.open_jobs_again(gone)
    })?;
    // The other way: a crash between the database's commit and the ledger's.
    let (tombstones, sources) = read_database(&lock(&store.writer))?;
    lock(&store.ledger).add(&tombstones, &sources)?;
    Ok(forgotten_again)
}

/// What a replay has erased, by the receipt of then and the namespace.
#[derive(Default)]
struct Gone(BTreeMap<(String, Namespace), Erased>);

impl Gone {
    fn add(&mut self, receipt: &str, namespace: &Namespace, erased: Erased) {
        let all = self.0.entry((receipt.to_owned(), namespace.clone())).or_default();
        all.namespaces.insert(namespace.clone());
        all.memories.extend(erased.memories);
        all.records.extend(erased.records);
        all.held.extend(erased.held);
    }
}

impl Writing<'_> {
    /// Sets a tombstone that the ledger has and the database lacks, and erases what the database still has of it. What
    /// was derived from it is followed when all are set: it may have a tombstone of its own.
    fn bury_again(&self, tombstone: &Tombstone, gone: &mut Gone) -> Result<()> {
        let known = self
            .connection()
            .prepare_cached("SELECT 1 FROM tombstones WHERE memory_id = ?1 AND generation = ?2")?
            .exists(params![tombstone.memory_id.as_str(), tombstone.generation])?;
        if known {
            return Ok(());
        }
        let place = self.namespace(&tombstone.namespace)?;
        let erased = self.erase_alone(
            &tombstone.namespace,
            &Selector::Memory(tombstone.memory_id.clone()),
            ALL,
            REPLAYED,
            &tombstone.receipt,
        )?;
        // The erasure has set a tombstone of its own, as of now and with what this older database held;
        // the ledger's own, with its time and marks, takes its place.
        self.connection().execute(
            "DELETE FROM tombstone_marks WHERE tombstone IN
                 (SELECT id FROM tombstones WHERE memory_id = ?1 AND generation = ?2)",
            params![tombstone.memory_id.as_str(), tombstone.generation],
        )?;
        self.connection().execute(
            "DELETE FROM tombstones WHERE memory_id = ?1 AND generation = ?2",
            params![tombstone.memory_id.as_str(), tombstone.generation],
        )?;
        self.connection().execute(
            "UPDATE memories SET generation = max(generation, ?2) WHERE memory_id = ?1",
            params![tombstone.memory_id.as_str(), tombstone.generation],
        )?;
        self.bury(place, tombstone)?;
        if erased.memories.is_empty() {
            self.event(&Event {
                memory_id: Some(tombstone.memory_id.as_str()),
                removed: None::<DocId>,
                reason: Some(REPLAYED),
                ..Event::new(self.now, place, "forgotten")
            })?;
        }
        gone.add(&tombstone.receipt, &tombstone.namespace, erased);
        Ok(())
    }

    /// Notes deletions that the database does not know any more, so that what is derived, and the journal, are cleaned
    /// of them as after the first time; and follows what was derived from them. Returns how many memories are gone.
    fn open_jobs_again(&self, gone: Gone) -> Result<usize> {
        // With no namespace of its own, so that all that is met is noted where it is.
        let records = gone.0.values().flat_map(|erased| erased.records.iter().cloned());
        let mut followed = Erased { records: records.collect(), ..Erased::default() };
        self.follow_derivations("", &mut followed)?;
        let derived =
            followed.elsewhere.into_iter().map(|(namespace, part)| ((part.receipt, namespace), part.erased));
        let mut memories = 0;
        for ((receipt, namespace), erased) in gone.0.into_iter().chain(derived) {
            memories += erased.memories.len();
            let known = self
                .connection()
                .prepare_cached("SELECT 1 FROM deletion_jobs WHERE receipt_id = ?1")?
                .exists([&receipt])?;
            // A deletion of many namespaces had one receipt; each is for those who see its namespace.
            let receipt = if known { ids::minted("rcp", self.now)? } else { receipt };
            let body = serde_json::json!({
                "namespace": crate::json::namespace_to_json(&namespace),
                "selector": "replayed",
                "reason": REPLAYED,
                "memory_ids": erased.memories.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
                "record_ids": erased.records.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
                "held": erased.held.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
                "counts": { "memories": erased.memories.len(), "records": erased.records.len() },
                // The one that was restored is among them, and still holds it.
                "backups": self.backups()?,
                "older_backups": self.older_backups()?,
                "steps": { "requested": self.now.to_string(), "revoked": self.now.to_string() },
            });
            let selector = Selector::Memory(MemoryId::new(receipt.clone()));
            let seq = super::events::last(self.connection())?;
            self.open_job(&namespace, &selector, &receipt, None, seq, body)?;
        }
        Ok(memories)
    }
}

pub(super) fn read_database(connection: &Connection) -> Result<(Vec<Tombstone>, Vec<Blocked>)> {
    let mut tombstones = Vec::new();
    let mut statement = connection.prepare(
        "SELECT t.id, t.memory_id, t.generation, t.forgotten_at, t.receipt, t.namespace FROM tombstones t",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut marks = Vec::new();
        let mut inner =
            connection.prepare_cached("SELECT kind, digest FROM tombstone_marks WHERE tombstone = ?1")?;
        let mut found = inner.query([row.get::<_, i64>(0)?])?;
        while let Some(mark) = found.next()? {
            let kind: String = mark.get(0)?;
            let kind = MARK_KINDS.into_iter().find(|known| *known == kind).unwrap_or("text");
            marks.push(super::ledger::Mark { kind, digest: mark.get(1)? });
        }
        tombstones.push(Tombstone {
            namespace: namespace(connection, NamespaceId(row.get(5)?))?,
            memory_id: crate::record::MemoryId::new(row.get::<_, String>(1)?),
            generation: row.get(2)?,
            forgotten_at: Timestamp::from_micros(row.get(3)?)?,
            receipt: row.get(4)?,
            marks,
        });
    }
    let mut sources = Vec::new();
    let mut statement = connection.prepare("SELECT namespace, source, blocked_at FROM blocked_sources")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        sources.push(Blocked {
            namespace: namespace(connection, NamespaceId(row.get(0)?))?,
            source: row.get(1)?,
            blocked_at: Timestamp::from_micros(row.get(2)?)?,
        });
    }
    Ok((tombstones, sources))
}

fn namespace(connection: &Connection, id: NamespaceId) -> Result<Namespace> {
    let parts: (String, Option<String>, Option<String>, Option<String>) = connection.query_row(
        "SELECT tenant, user, project, agent FROM namespaces WHERE id = ?1",
        [id.0],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    Namespace::from_parts(&parts.0, parts.1.as_deref(), parts.2.as_deref(), parts.3.as_deref())
}
