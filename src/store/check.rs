//! Does the store agree with itself? Walks the chain of events, replays them into the projection, and
//! compares every checksum. Changes nothing.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::number::doc_of;
use super::{Snapshot, events, rows};
use crate::change::DocId;
use crate::error::{Error, Result};

/// Something that does not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was compared: `events`, `projection`, `checksums`, `keys`, `database`, `keyword`, `vectors`.
    pub check: &'static str,
    /// What does not agree, by id; no content.
    pub detail: String,
}

impl Finding {
    /// A finding of that check.
    pub fn new(check: &'static str, detail: impl Into<String>) -> Finding {
        Finding { check, detail: detail.into() }
    }
}

impl Snapshot<'_> {
    /// Everything in the store that does not agree with itself; empty when it is sound.
    pub fn check(&self) -> Result<Vec<Finding>> {
        let mut findings = check(self.connection())?;
        match self.check_keys() {
            Err(Error::Corrupt(what)) => findings.push(Finding::new("database", what)),
            keys => findings.extend(keys?.into_iter().map(|detail| Finding::new("keys", detail))),
        }
        Ok(findings)
    }

    /// The documents in force, in order: what an index should hold, no more and no less.
    pub fn docs_in_force(&self) -> Result<Vec<DocId>> {
        let mut statement = self
            .connection()
            .prepare("SELECT id FROM records WHERE state = 'current' ORDER BY id & 0xFFFFFFFFF")?;
        let docs = statement.query_map([], |row| Ok(doc_of(row.get(0)?)))?;
        Ok(docs.collect::<rusqlite::Result<_>>()?)
    }
}

/// Everything in a database that does not agree with itself, as far as that can be told without the store's key.
pub(super) fn check(connection: &Connection) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for check in [pages, chain, projection, checksums, orphans] {
        // A page that can't be read ends what comes to it, not the other checks.
        match check(connection, &mut findings) {
            Err(Error::Corrupt(what)) => findings.push(Finding::new("database", what)),
            done => done?,
        }
    }
    findings.dedup();
    Ok(findings)
}

fn pages(connection: &Connection, findings: &mut Vec<Finding>) -> Result<()> {
    let sound: String = connection.query_row("PRAGMA integrity_check(10)", [], |row| row.get(0))?;
    if sound != "ok" {
        findings.push(Finding::new("database", sound));
    }
    Ok(())
}

fn chain(connection: &Connection, findings: &mut Vec<Finding>) -> Result<()> {
    if let Some(seq) = events::broken_at(connection)? {
        findings.push(Finding::new("events", format!("the chain of events breaks at {}", seq.0)));
    }
    Ok(())
}

/// What the events say is in force must be what the records say is in force.
fn projection(connection: &Connection, findings: &mut Vec<Finding>) -> Result<()> {
    let mut in_force: BTreeMap<i64, ()> = BTreeMap::new();
    let mut statement = connection
        .prepare("SELECT namespace << 36 | added, namespace << 36 | removed FROM events ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(removed) = row.get::<_, Option<i64>>(1)? {
            in_force.remove(&removed);
        }
        if let Some(added) = row.get::<_, Option<i64>>(0)? {
            in_force.insert(added, ());
        }
    }
    let mut statement =
        connection.prepare("SELECT id, record_id FROM records WHERE state = 'current' ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if in_force.remove(&row.get(0)?).is_none() {
            let record_id: String = row.get(1)?;
            findings
                .push(Finding::new("projection", format!("{record_id} is in force, but no event says so")));
        }
    }
    for doc in in_force.keys() {
        findings.push(Finding::new(
            "projection",
            format!("the events say that document {} is in force, it is not", doc_of(*doc).0),
        ));
    }
    Ok(())
}

fn checksums(connection: &Connection, findings: &mut Vec<Finding>) -> Result<()> {
    let mut statement = connection.prepare("SELECT id FROM records WHERE content IS NOT NULL ORDER BY id")?;
    let docs = statement.query_map([], |row| row.get::<_, i64>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    for doc in docs {
        match rows::record(connection, doc_of(doc)) {
            Ok(Some(_)) => {}
            Ok(None) => findings
                .push(Finding::new("checksums", format!("row {doc} lies in no namespace that there is"))),
            Err(Error::Corrupt(detail)) => findings.push(Finding::new("checksums", detail)),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Nothing of a forgotten record may be left, and everything in force has content.
fn orphans(connection: &Connection, findings: &mut Vec<Finding>) -> Result<()> {
    let cases = [
        (
            "has content though it was forgotten",
            "SELECT record_id FROM records WHERE state = 'forgotten'
                 AND coalesce(content, subject, metadata, session, write_reason, read_trigger, revision_path) IS NOT NULL",
        ),
        (
            "has evidence though it was forgotten",
            "SELECT record_id FROM records r WHERE state = 'forgotten'
                 AND (coalesce(source, locator, speaker) IS NOT NULL
                      OR EXISTS (SELECT 1 FROM evidence e WHERE e.record = r.id))",
        ),
        (
            "has a vector though it is not in force",
            "SELECT record_id FROM records r WHERE state NOT IN ('current', 'held')
                 AND (vectors IS NOT NULL OR EXISTS (SELECT 1 FROM coming_vectors v WHERE v.record = r.id))",
        ),
        (
            "is in force without content",
            "SELECT record_id FROM records WHERE state IN ('current', 'held') AND content IS NULL",
        ),
    ];
    for (what, sql) in cases {
        let mut statement = connection.prepare(sql)?;
        let ids =
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
        findings.extend(ids.into_iter().map(|id| Finding::new("projection", format!("{id} {what}"))));
    }
    Ok(())
}
