//! One write transaction: what may be changed, and what can be asked meanwhile. What each change
//! does in detail stands in the file named for it.

use std::ops::Deref;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::events::Tip;
use super::secret::Secret;
use crate::change::{NamespaceId, Seq};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::namespace::Namespace;

/// A write transaction; see [`super::Store::write`].
pub struct Writing<'t> {
    transaction: &'t Transaction<'t>,
    pub(super) secret: &'t Secret,
    pub(super) now: Timestamp,
    /// The last event so far, once it was looked up.
    pub(super) tip: Tip,
}

impl<'t> Writing<'t> {
    pub(super) fn new(transaction: &'t Transaction<'t>, secret: &'t Secret, now: Timestamp) -> Writing<'t> {
        Writing { transaction, secret, now, tip: Tip::default() }
    }

    pub(super) fn connection(&self) -> &Connection {
        self.transaction.deref()
    }

    /// Does `work`, and takes back what it did when it comes to nothing or fails.
    pub(super) fn attempt<T>(&self, work: impl FnOnce() -> Result<Option<T>>) -> Result<Option<T>> {
        self.connection().execute_batch("SAVEPOINT attempt")?;
        let tip = self.tip.get();
        let done = work();
        if !matches!(done, Ok(Some(_))) {
            self.connection().execute_batch("ROLLBACK TO attempt")?;
            self.tip.set(tip);
        }
        self.connection().execute_batch("RELEASE attempt")?;
        done
    }

    /// The number of a namespace, made on first use.
    pub(super) fn namespace(&self, namespace: &Namespace) -> Result<NamespaceId> {
        if let Some(id) = find_namespace(self.connection(), namespace)? {
            return Ok(id);
        }
        self.connection()
            .prepare_cached("INSERT INTO namespaces (tenant, user, project, agent) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![
                namespace.tenant(),
                namespace.user_part(),
                namespace.project_part(),
                namespace.agent_part()
            ])?;
        Ok(NamespaceId(self.connection().last_insert_rowid() as u32))
    }
}

/// The number of a namespace, if anything was ever written to it.
pub(super) fn find_namespace(connection: &Connection, namespace: &Namespace) -> Result<Option<NamespaceId>> {
    Ok(find_place(connection, namespace)?.map(|(id, _)| id))
}

/// The same, with the seq of the last event in it.
pub(super) fn find_place(
    connection: &Connection,
    namespace: &Namespace,
) -> Result<Option<(NamespaceId, Seq)>> {
    let found = connection
        .prepare_cached(
            "SELECT id, revision FROM namespaces WHERE tenant = ?1 AND ifnull(user, '') = ?2
             AND ifnull(project, '') = ?3 AND ifnull(agent, '') = ?4",
        )?
        .query_row(
            params![
                namespace.tenant(),
                namespace.user_part().unwrap_or(""),
                namespace.project_part().unwrap_or(""),
                namespace.agent_part().unwrap_or("")
            ],
            |row| Ok((NamespaceId(row.get(0)?), Seq(row.get::<_, i64>(1)? as u64))),
        )
        .optional()?;
    Ok(found)
}
