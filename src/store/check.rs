//! Does the store agree with itself? Walks the chain of events, replays them into the projection, and
//! compares every checksum. Changes nothing.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::{Snapshot, events, rows};
use crate::change::DocId;
use crate::error::{Error, Result};

/// Something that does not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was compared: `events`, `projection`, `checksums`, `database`, `keyword`, `vectors`.
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
        let connection = self.connection();
        let mut findings = Vec::new();
        let sound: String = connection.query_row("PRAGMA integrity_check(10)", [], |row| row.get(0))?;
        if sound != "ok" {
            findings.push(Finding::new("database", sound));
        }
        if let Some(seq) = events::broken_at(connection)? {
            findings.push(Finding::new("events", format!("the chain of events breaks at {}", seq.0)));
        }
        projection(connection, &mut findings)?;
        checksums(connection, &mut findings)?;
        orphans(connection, &mut findings)?;
        Ok(findings)
    }

    /// The documents in force, in order: what an index should hold, no more and no less.
    pub fn docs_in_force(&self) -> Result<Vec<DocId>> {
        let mut statement =
            self.connection().prepare("SELECT id FROM records WHERE state = 'current' ORDER BY id")?;
        let docs = statement.query_map([], |row| Ok(DocId(row.get::<_, i64>(0)? as u64)))?;
        Ok(docs.collect::<rusqlite::Result<_>>()?)
    }
}

/// What the events say is in force must be what the records say is in force.
fn projection(connection: &Connection, findings: &mut Vec<Finding>) -> Result<()> {
    let mut in_force: BTreeMap<i64, ()> = BTreeMap::new();
    let mut statement = connection.prepare("SELECT added, removed FROM events ORDER BY seq")?;
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
            format!("the events say that document {doc} is in force, it is not"),
        ));
    }
    Ok(())
}

fn checksums(connection: &Connection, findings: &mut Vec<Finding>) -> Result<()> {
    let mut statement = connection.prepare("SELECT record FROM contents ORDER BY record")?;
    let docs = statement.query_map([], |row| row.get::<_, i64>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    for doc in docs {
        match rows::record(connection, DocId(doc as u64)) {
            Ok(Some(_)) => {}
            Ok(None) => {
                findings.push(Finding::new("checksums", format!("document {doc} has content and no record")))
            }
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
            "SELECT r.record_id FROM records r JOIN contents c ON c.record = r.id WHERE r.state = 'forgotten'",
        ),
        (
            "has evidence though it was forgotten",
            "SELECT r.record_id FROM records r JOIN evidence e ON e.record = r.id WHERE r.state = 'forgotten'",
        ),
        (
            "has a vector though it is not in force",
            "SELECT r.record_id FROM records r JOIN vectors v ON v.record = r.id WHERE r.state NOT IN ('current', 'held')",
        ),
        (
            "is in force without content",
            "SELECT r.record_id FROM records r LEFT JOIN contents c ON c.record = r.id WHERE r.state IN ('current', 'held') AND c.record IS NULL",
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
