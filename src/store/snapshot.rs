//! A view of the store at one moment. Content leaves the store through here and nowhere else.

use std::cell::RefCell;
use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use super::number::{SEQ_BITS, doc_of, row_of, rows_of};
use super::secret::Secret;
use super::writing::find_place;
use super::{CipherKey, Store, events, facts, keys, rows, salvage};
use crate::change::{Change, Columns, DocId, NamespaceId, Seq};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::gate::{Facts, Proposal};
use crate::namespace::{Namespace, Principal, Scope};
use crate::record::{MemoryId, Record, RecordId};
use crate::trust::Sensitivity;

/// A namespace that holds something, as it stands at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub id: NamespaceId,
    /// Its parts.
    pub namespace: Namespace,
    /// The seq of the last event in it.
    pub revision: Seq,
}

/// A view of the store at one moment; see [`Store::snapshot`].
pub struct Snapshot<'s> {
    store: &'s Store,
    connection: Option<Connection>,
    /// Those of the records that were read, which are mostly of a few.
    namespaces: RefCell<HashMap<NamespaceId, Namespace>>,
}

impl<'s> Snapshot<'s> {
    pub(super) fn begin(store: &'s Store, connection: Connection) -> Result<Snapshot<'s>> {
        let snapshot = Snapshot { store, connection: Some(connection), namespaces: RefCell::default() };
        // A deferred transaction fixes its view at the first read, which must therefore happen here.
        let connection = snapshot.connection();
        connection.prepare_cached("BEGIN")?.execute([])?;
        connection.prepare_cached("SELECT 1 FROM meta LIMIT 1")?.exists([])?;
        Ok(snapshot)
    }

    /// The key that the store is encrypted with, if it is.
    pub fn cipher(&self) -> Option<&CipherKey> {
        self.store.cipher()
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.store.secret
    }

    pub(super) fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("the connection is taken out only by drop")
    }

    /// The namespaces of a scope to which anything was ever written: those below its root, then its own and
    /// the wider ones, narrowest first.
    pub fn places(&self, scope: &Scope) -> Result<Vec<Place>> {
        let mut places = scope.root().map_or(Ok(Vec::new()), |root| self.places_below(root))?;
        places.extend(self.places_named(scope)?);
        Ok(places)
    }

    /// One namespace, if anything was ever written to it.
    pub fn place(&self, namespace: &Namespace) -> Result<Option<Place>> {
        let found = find_place(self.connection(), namespace)?;
        Ok(found.map(|(id, revision)| Place { id, namespace: namespace.clone(), revision }))
    }

    /// The namespace of that number.
    pub fn place_of(&self, id: NamespaceId) -> Result<Option<Place>> {
        place_of(self.connection(), id)
    }

    /// The namespaces in which at least so many records in force have vectors, in the order of their numbers. Reads
    /// every record.
    pub fn namespaces_with_vectors(&self, least: usize) -> Result<Vec<NamespaceId>> {
        let mut statement = self.connection().prepare_cached(
            "SELECT min(id), count(*) FROM records WHERE state = 'current' AND vectors IS NOT NULL
             GROUP BY id >> ?1 ORDER BY 1",
        )?;
        let rows = statement.query_map([SEQ_BITS], |row| {
            Ok((doc_of(row.get(0)?).namespace(), row.get::<_, i64>(1)? as usize))
        })?;
        let found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(found.into_iter().filter(|(_, count)| *count >= least).map(|(id, _)| id).collect())
    }

    /// Those that the scope names, without the ones below its root.
    pub fn places_named(&self, scope: &Scope) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        for namespace in scope.namespaces() {
            places.extend(self.place(namespace)?);
        }
        Ok(places)
    }

    /// Those that are narrower than a namespace, in the order of their numbers.
    pub fn places_below(&self, root: &Namespace) -> Result<Vec<Place>> {
        places_below(self.connection(), root)
    }

    /// The position of the last write.
    pub fn last(&self) -> Result<Seq> {
        events::last(self.connection())
    }

    /// Names the history up to a write by the hash that chains all of it: two stores, or one that was put back
    /// and went on in another way, share no name. 0 before the first write, and for a write that never was.
    pub fn history_at(&self, seq: Seq) -> Result<u64> {
        events::history_at(self.connection(), seq)
    }

    /// What came into force and went out of it in one namespace after `after`, oldest first; of more than
    /// `limit` the latest.
    pub fn changes(&self, namespace: NamespaceId, after: Seq, limit: usize) -> Result<Vec<Change>> {
        events::changes(self.connection(), namespace, after, limit)
    }

    /// How many writes there were in a namespace after `after`, and in all.
    pub fn changes_since(&self, namespace: NamespaceId, after: Seq) -> Result<(u64, u64)> {
        let count = |after| events::count_since(self.connection(), namespace, after);
        Ok((count(after)?, count(Seq(0))?))
    }

    /// The next changes anywhere after `after`, oldest first, at most `limit`.
    pub fn changes_anywhere(&self, after: Seq, limit: usize) -> Result<Vec<Change>> {
        events::changes_anywhere(self.connection(), after, limit)
    }

    /// Calls `each` for every record in force in a namespace, in the order of documents, as far as an
    /// index needs it.
    pub fn in_force(
        &self,
        namespace: NamespaceId,
        mut each: impl FnMut(InForce<'_>) -> Result<()>,
    ) -> Result<()> {
        let sql =
            "SELECT id, kind, form, authority, sensitivity, observed_at, valid_from, expires_at, confidence,
                    importance, terms, subject, read_trigger, session, position, speaker FROM records
             WHERE id BETWEEN :first AND :last AND state = 'current' ORDER BY id";
        salvage::each_record(self.connection(), sql, &[], rows_of(namespace), |row| each(InForce::of(row)?))?;
        Ok(())
    }

    /// The same for one record; nothing is called when it is not in force.
    pub fn one_in_force(&self, doc: DocId, each: impl FnOnce(InForce<'_>) -> Result<()>) -> Result<()> {
        let mut statement = self.connection().prepare_cached(
            "SELECT id, kind, form, authority, sensitivity, observed_at, valid_from, expires_at, confidence,
                    importance, terms, subject, read_trigger, session, position, speaker FROM records
             WHERE id = ?1 AND state = 'current'",
        )?;
        let mut rows = statement.query([row_of(doc)])?;
        if let Some(row) = rows.next()? {
            each(InForce::of(row)?)?;
        }
        Ok(())
    }

    /// How sensitive a document is, if it is in force: what an index needs to know besides its number and
    /// its text.
    pub fn sensitivity_of(&self, doc: DocId) -> Result<Option<Sensitivity>> {
        let mut statement = self
            .connection()
            .prepare_cached("SELECT sensitivity FROM records WHERE id = ?1 AND state = 'current'")?;
        let mut rows = statement.query([row_of(doc)])?;
        rows.next()?.map(|row| rows::code(row, 0)).transpose()
    }

    /// Reads one record, whoever asks. Callers check the scope, or use [`Snapshot::resolve`].
    pub(crate) fn record(&self, doc: DocId) -> Result<Option<Record>> {
        let namespace = self.namespace_of_doc(doc)?;
        namespace.map_or(Ok(None), |namespace| rows::record_in(self.connection(), doc, namespace))
    }

    fn namespace_of_doc(&self, doc: DocId) -> Result<Option<Namespace>> {
        let id = doc.namespace();
        if let Some(known) = self.namespaces.borrow().get(&id) {
            return Ok(Some(known.clone()));
        }
        let found = rows::namespace(self.connection(), id)?;
        if let Some(namespace) = &found {
            self.namespaces.borrow_mut().insert(id, namespace.clone());
        }
        Ok(found)
    }

    /// Reads a record on behalf of a caller: none when it lies outside the scope, above the clearance,
    /// is gone, or does not exist. The caller can't tell which.
    pub fn resolve(&self, doc: DocId, principal: &Principal) -> Result<Option<Record>> {
        Ok(self
            .record(doc)?
            .filter(|record| principal.sees(&record.namespace) && record.sensitivity <= principal.clearance))
    }

    /// The id of a document's record; whoever asks.
    pub(crate) fn id_of(&self, doc: DocId) -> Result<Option<RecordId>> {
        rows::id_of(self.connection(), row_of(doc))
    }

    /// The number of the last tombstone; 0 when nothing was ever forgotten.
    pub(crate) fn last_tombstone(&self) -> Result<i64> {
        let mut statement = self.connection().prepare_cached("SELECT ifnull(max(id), 0) FROM tombstones")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }

    /// Whether the record of that id was forgotten.
    pub(crate) fn is_forgotten(&self, id: &str) -> Result<bool> {
        let mut statement = self
            .connection()
            .prepare_cached("SELECT 1 FROM records WHERE record_id = ?1 AND state = 'forgotten'")?;
        Ok(statement.exists([id])?)
    }

    /// The document of a record id, and its namespace; whoever asks.
    pub(crate) fn doc_of_record(&self, id: &RecordId) -> Result<Option<DocId>> {
        let doc: Option<i64> = self
            .connection()
            .prepare_cached("SELECT id FROM records WHERE record_id = ?1")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?;
        Ok(doc.map(doc_of))
    }

    /// The document in force of a memory id; whoever asks.
    pub(crate) fn doc_of_memory(&self, id: &MemoryId) -> Result<Option<DocId>> {
        let doc: Option<i64> = self
            .connection()
            .prepare_cached(
                "SELECT r.id FROM memories m JOIN records r ON r.memory = m.id AND r.state IN ('current', 'held')
                 WHERE m.memory_id = ?1",
            )?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?;
        Ok(doc.map(doc_of))
    }

    /// What the store knows that bears on a proposal.
    pub fn facts(&self, proposal: Proposal<'_>) -> Result<Facts> {
        facts::gather(self.connection(), &self.store.secret, proposal)
    }
}

/// A record in force, as far as an index needs it.
pub struct InForce<'r> {
    /// Its columns.
    pub columns: Columns,
    /// What it is about.
    pub subject: Option<&'r str>,
    /// What has to call it up.
    pub trigger: Option<&'r str>,
    /// Its session, and its place there.
    pub session: Option<(&'r str, u32)>,
    /// Who says it.
    pub speaker: Option<&'r str>,
}

impl<'r> InForce<'r> {
    fn of(row: &'r rusqlite::Row<'_>) -> Result<InForce<'r>> {
        // Where a damaged record stands is not known; resolving it is what reports it.
        let position = row.get::<_, Option<u32>>(14).unwrap_or(None);
        Ok(InForce {
            columns: columns(row)?,
            subject: text(row, 11)?,
            trigger: text(row, 12)?,
            session: text(row, 13).unwrap_or(None).zip(position),
            speaker: text(row, 15).unwrap_or(None),
        })
    }
}

impl Snapshot<'_> {
    /// What does not agree between records and the keys by which they are found.
    pub(super) fn check_keys(&self) -> Result<Vec<String>> {
        keys::check(self.connection(), &self.store.secret)
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && connection.prepare_cached("ROLLBACK").is_ok_and(|mut end| end.execute([]).is_ok())
        {
            self.store.give_back(connection);
        }
    }
}

pub(super) fn place_of(connection: &Connection, id: NamespaceId) -> Result<Option<Place>> {
    let mut statement = connection
        .prepare_cached("SELECT tenant, user, project, agent, id, revision FROM namespaces WHERE id = ?1")?;
    let mut rows = statement.query([id.0])?;
    rows.next()?.map(place).transpose()
}

fn place(row: &rusqlite::Row<'_>) -> Result<Place> {
    let revision = Seq(row.get::<_, i64>(5)? as u64);
    Ok(Place { id: NamespaceId(row.get(4)?), namespace: rows::namespace_from(row)?, revision })
}

fn columns(row: &rusqlite::Row<'_>) -> Result<Columns> {
    let expires: Option<i64> = row.get(7)?;
    Ok(Columns {
        doc: doc_of(row.get(0)?),
        kind: rows::code(row, 1)?,
        form: rows::code(row, 2)?,
        authority: rows::code(row, 3)?,
        sensitivity: rows::code(row, 4)?,
        observed_at: Timestamp::from_micros(row.get(5)?)?,
        valid_from: Timestamp::from_micros(row.get(6)?)?,
        expires_at: expires.map(Timestamp::from_micros).transpose()?,
        confidence: row.get(8)?,
        importance: row.get(9)?,
        terms: row.get(10)?,
    })
}

fn text<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<Option<&'r str>> {
    Ok(row.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from)?)
}

/// Those that are narrower than a namespace, in the order of their numbers.
pub(super) fn places_below(connection: &Connection, root: &Namespace) -> Result<Vec<Place>> {
    // Below a user the index leads to that user's alone.
    let mut statement = connection.prepare_cached(match root.user_part() {
        Some(_) => {
            "SELECT tenant, user, project, agent, id, revision FROM namespaces
             WHERE tenant = ?1 AND ifnull(user, '') = ?2 ORDER BY id"
        }
        None => {
            "SELECT tenant, user, project, agent, id, revision FROM namespaces
             WHERE tenant = ?1 AND ?2 = '' ORDER BY id"
        }
    })?;
    let mut rows = statement.query([root.tenant(), root.user_part().unwrap_or("")])?;
    let mut places = Vec::new();
    while let Some(row) = rows.next()? {
        let place = place(row)?;
        if root.is_wider_than(&place.namespace) {
            places.push(place);
        }
    }
    Ok(places)
}
