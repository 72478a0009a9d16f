//! What forgetting handed back, and how far its clean-up has come. Knows the job's row, not the work.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::erase::{Erased, Selector};
use super::ledger::{Blocked, Ledger, Tombstone};
use super::writing::{Writing, find_namespace};
use super::{Snapshot, Store, events, lock};
use crate::change::{NamespaceId, Seq};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::namespace::{Namespace, Scope};
use crate::words::words;

words! {
    /// How far a deletion has come. It is requested and revoked in one step, and verified and completed in another.
    JobState("state") {
        /// The tombstone is set and the content erased: recall returns nothing of it any more.
        Revoked = "revoked",
        /// Every derived copy is gone.
        DerivedCleanup = "derived_cleanup",
        /// The journal is empty too; what was forgotten was looked for, and not found.
        Completed = "completed",
    }
}

/// A deletion: what was asked, what was erased, how far the clean-up has come. No content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The receipt's id.
    pub receipt_id: String,
    /// Where.
    pub namespace: NamespaceId,
    /// The caller's id of the request.
    pub request_id: Option<String>,
    /// How far it has come.
    pub state: JobState,
    /// The last event of the erasure: what every index must have applied.
    pub seq: Seq,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When the clean-up ended.
    pub finished_at: Option<Timestamp>,
    /// Reason, ids and counts, as JSON.
    pub body: serde_json::Value,
}

impl Job {
    /// Whether it reached narrower namespaces too, so that its ids are not for everyone who sees its own.
    pub fn is_of_many(&self) -> bool {
        self.body["selector"] == BELOW
    }
}

/// What a job calls [`Selector::Below`].
pub const BELOW: &str = "below";

/// How many deletions there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// All of them.
    pub all: u64,
    /// Those whose clean-up has not ended.
    pub open: u64,
    /// Those of them that should have ended by now.
    pub overdue: u64,
}

impl Writing<'_> {
    /// The job that an earlier request of the same id made, and whether it was for the same target.
    pub fn job_of_request(
        &self,
        namespace: &Namespace,
        request_id: &str,
        selector: &Selector,
    ) -> Result<Option<(Job, bool)>> {
        let Some(place) = find_namespace(self.connection(), namespace)? else {
            return Ok(None);
        };
        let target = self.selector_digest(selector);
        let found: Option<(String, [u8; 16])> = self
            .connection()
            .prepare_cached(
                "SELECT receipt_id, target FROM deletion_jobs WHERE namespace = ?1 AND request_id = ?2",
            )?
            .query_row(params![place.0, request_id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match found {
            Some((receipt, before)) => {
                Ok(job(self.connection(), &receipt)?.map(|job| (job, before == target)))
            }
            None => Ok(None),
        }
    }

    /// Whether a request of that id was made in another namespace of a scope.
    pub fn is_used_elsewhere(&self, scope: &Scope, namespace: &Namespace, request_id: &str) -> Result<bool> {
        let mut statement = self
            .connection()
            .prepare_cached("SELECT 1 FROM deletion_jobs WHERE namespace = ?1 AND request_id = ?2")?;
        for other in scope.namespaces().iter().filter(|other| *other != namespace) {
            if let Some(place) = find_namespace(self.connection(), other)?
                && statement.exists(params![place.0, request_id])?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The last job for the same target, whatever request made it.
    pub fn job_of_target(&self, namespace: &Namespace, selector: &Selector) -> Result<Option<Job>> {
        let Some(place) = find_namespace(self.connection(), namespace)? else {
            return Ok(None);
        };
        let target = self.selector_digest(selector);
        let receipt: Option<String> = self
            .connection()
            .prepare_cached(
                "SELECT receipt_id FROM deletion_jobs WHERE namespace = ?1 AND target = ?2 ORDER BY seq DESC LIMIT 1",
            )?
            .query_row(params![place.0, target.as_slice()], |row| row.get(0))
            .optional()?;
        receipt.map_or(Ok(None), |receipt| job(self.connection(), &receipt))
    }

    /// Notes a deletion whose erasure is part of this transaction.
    pub fn open_job(
        &self,
        namespace: &Namespace,
        selector: &Selector,
        receipt_id: &str,
        request_id: Option<&str>,
        seq: Seq,
        body: serde_json::Value,
    ) -> Result<Job> {
        let place = self.namespace(namespace)?;
        self.connection()
            .prepare_cached(
                "INSERT INTO deletion_jobs (receipt_id, namespace, request_id, target, state, seq, requested_at, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                receipt_id,
                place.0,
                request_id,
                self.selector_digest(selector).as_slice(),
                JobState::Revoked.code(),
                seq.0 as i64,
                self.now.as_micros(),
                body.to_string()
            ])?;
        Ok(Job {
            receipt_id: receipt_id.to_owned(),
            namespace: place,
            request_id: request_id.map(str::to_owned),
            state: JobState::Revoked,
            seq,
            requested_at: self.now,
            finished_at: None,
            body,
        })
    }

    /// Notes how far a deletion has come, and what its receipt says from now on. One that has ended stays as it is.
    pub fn note_job(&self, receipt_id: &str, is_completed: bool, body: &serde_json::Value) -> Result<()> {
        let state = if is_completed { JobState::Completed } else { JobState::Revoked };
        self.connection()
            .prepare_cached(
                "UPDATE deletion_jobs SET state = ?2, finished_at = ?3, body = ?4
                 WHERE receipt_id = ?1 AND state <> 'completed'",
            )?
            .execute(params![
                receipt_id,
                state.code(),
                is_completed.then_some(self.now.as_micros()),
                body.to_string()
            ])?;
        Ok(())
    }
}

impl Snapshot<'_> {
    /// Deletions whose clean-up has not ended, oldest first; whoever asked for them.
    pub(crate) fn open_jobs(&self) -> Result<Vec<Job>> {
        let mut statement = self
            .connection()
            .prepare_cached("SELECT receipt_id FROM deletion_jobs WHERE state <> 'completed' ORDER BY seq")?;
        let receipts =
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
        let mut jobs = Vec::new();
        for receipt in receipts {
            jobs.extend(job(self.connection(), &receipt)?);
        }
        Ok(jobs)
    }

    /// The namespaces of deletions whose clean-up has not ended.
    pub(crate) fn namespaces_of_open_jobs(&self) -> Result<Vec<NamespaceId>> {
        let mut all = BTreeSet::new();
        for job in self.open_jobs()? {
            all.extend(self.namespaces_of(&job)?);
        }
        Ok(all.into_iter().collect())
    }

    /// The namespaces that a deletion reached.
    pub(crate) fn namespaces_of(&self, job: &Job) -> Result<Vec<NamespaceId>> {
        let mut all = BTreeSet::from([job.namespace]);
        if job.is_of_many() {
            let mut statement = self
                .connection()
                .prepare_cached("SELECT DISTINCT namespace FROM tombstones WHERE receipt = ?1")?;
            for place in statement.query_map([&job.receipt_id], |row| row.get(0).map(NamespaceId))? {
                all.insert(place?);
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Whether anything was deleted in a namespace after a write, be it cleaned up or not.
    pub fn is_deleted_since(&self, namespace: NamespaceId, after: Seq) -> Result<bool> {
        let mut statement = self.connection().prepare_cached(
            "SELECT 1 FROM deletion_jobs WHERE namespace = ?1 AND seq > ?2
             UNION ALL SELECT 1 FROM tombstones t JOIN deletion_jobs j ON j.receipt_id = t.receipt
             WHERE t.namespace = ?1 AND j.seq > ?2",
        )?;
        Ok(statement.exists(params![namespace.0, after.0 as i64])?)
    }

    /// How many deletions there are in a caller's scope.
    pub fn count_jobs(&self, scope: &Scope, asked_before: Timestamp) -> Result<JobCounts> {
        let mut counts = JobCounts::default();
        for place in self.places(scope)? {
            let mut statement = self.connection().prepare_cached(
                "SELECT count(*), count(*) FILTER (WHERE state <> 'completed'),
                        count(*) FILTER (WHERE state <> 'completed' AND requested_at < ?2)
                 FROM deletion_jobs WHERE namespace = ?1 AND (?3 OR body ->> '$.selector' IS NOT 'below')",
            )?;
            let number = |row: &rusqlite::Row<'_>, column| row.get(column).map(|count: i64| count as u64);
            let here = statement.query_row(
                params![place.id.0, asked_before.as_micros(), scope.covers_below(&place.namespace)],
                |row| Ok(JobCounts { all: number(row, 0)?, open: number(row, 1)?, overdue: number(row, 2)? }),
            )?;
            counts.all += here.all;
            counts.open += here.open;
            counts.overdue += here.overdue;
        }
        Ok(counts)
    }

    /// The deletions in a caller's scope, newest first, at most `limit`; only those whose clean-up has not ended, or
    /// all.
    pub fn jobs_in(&self, scope: &Scope, only_open: bool, limit: usize) -> Result<Vec<Job>> {
        let mut found: Vec<(i64, String)> = Vec::new();
        for place in self.places(scope)? {
            let mut statement = self.connection().prepare_cached(
                "SELECT seq, receipt_id FROM deletion_jobs
                 WHERE namespace = ?1 AND (NOT ?2 OR state <> 'completed')
                     AND (?4 OR body ->> '$.selector' IS NOT 'below') ORDER BY seq DESC LIMIT ?3",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let all = scope.covers_below(&place.namespace);
            let here = statement.query_map(params![place.id.0, only_open, limit, all], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?;
            for one in here {
                found.push(one?);
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(limit);
        let mut jobs = Vec::with_capacity(found.len());
        for (_, receipt) in &found {
            jobs.extend(job(self.connection(), receipt)?);
        }
        Ok(jobs)
    }

    /// The deletion of a receipt, if it is one in a caller's scope.
    pub fn job_in(&self, scope: &Scope, receipt_id: &str) -> Result<Option<Job>> {
        let Some(job) = job(self.connection(), receipt_id)? else { return Ok(None) };
        let place = self.places(scope)?.into_iter().find(|place| place.id == job.namespace);
        let is_theirs = place.is_some_and(|place| !job.is_of_many() || scope.covers_below(&place.namespace));
        Ok(is_theirs.then_some(job))
    }

    /// The job of a receipt; whoever asks.
    pub(crate) fn job(&self, receipt_id: &str) -> Result<Option<Job>> {
        job(self.connection(), receipt_id)
    }
}

impl Store {
    /// Enters in the ledger what these deletions buried, and every source that is blocked: it may have been missed by
    /// whoever asked for them.
    pub fn enter_in_ledger_again(&self, receipts: &[&str]) -> Result<()> {
        let (mut tombstones, sources) = super::replay::read_database(&lock(&self.writer))?;
        tombstones.retain(|tombstone| receipts.contains(&tombstone.receipt.as_str()));
        self.add_to_ledger(&tombstones, &sources)
    }

    /// Enters erasures in the ledger. Called after their commit and before they are acknowledged; a crash
    /// in between is made good when the store is opened.
    pub fn enter_in_ledger(&self, all: &[(Namespace, &Selector, Erased)], now: Timestamp) -> Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        let (mut tombstones, mut sources) = (Vec::new(), Vec::new());
        for (namespace, selector, erased) in all {
            tombstones.extend(erased.all_tombstones().cloned());
            if let Selector::Source(source) = selector {
                let (namespace, source) = (namespace.clone(), source.clone());
                sources.push(Blocked { namespace, source, blocked_at: now });
            }
        }
        self.add_to_ledger(&tombstones, &sources)
    }

    fn add_to_ledger(&self, tombstones: &[Tombstone], sources: &[Blocked]) -> Result<()> {
        let mut ledger = lock(&self.ledger);
        let identity = events::identity(&lock(&self.writer))?;
        let add = |ledger: &mut Ledger| ledger.claim(identity).and_then(|()| ledger.add(tombstones, sources));
        let added = add(&mut ledger);
        if added.is_err()
            && let Ok(anew) = Ledger::open(&self.folder, self.cipher())
        {
            // A connection that met a page it could not decrypt is of no use any more.
            *ledger = anew;
            return add(&mut ledger);
        }
        added
    }
}

pub(super) fn job(connection: &Connection, receipt_id: &str) -> Result<Option<Job>> {
    let mut statement = connection.prepare_cached(
        "SELECT receipt_id, request_id, state, seq, requested_at, finished_at, body, namespace
         FROM deletion_jobs WHERE receipt_id = ?1",
    )?;
    let mut rows = statement.query([receipt_id])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let body: String = row.get(6)?;
    let body: serde_json::Value = serde_json::from_str(&body)
        .map_err(|_| Error::Corrupt("a deletion job's body is no JSON".to_owned()))?;
    let state = match super::rows::code(row, 2)? {
        JobState::Completed => JobState::Completed,
        _ if body["steps"]["derived_cleanup"].is_string() => JobState::DerivedCleanup,
        state => state,
    };
    Ok(Some(Job {
        receipt_id: row.get(0)?,
        namespace: NamespaceId(row.get(7)?),
        request_id: row.get(1)?,
        state,
        seq: Seq(row.get::<_, i64>(3)? as u64),
        requested_at: Timestamp::from_micros(row.get(4)?)?,
        finished_at: row.get::<_, Option<i64>>(5)?.map(Timestamp::from_micros).transpose()?,
        body,
    }))
}
