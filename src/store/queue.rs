//! Candidates that wait for a person, with their reason and evidence. Deciding is not done here.

use rusqlite::{OptionalExtension, params};

use super::erase::{Erased, Selector, source_marks};
use super::events::Event;
use super::facts::{statement_key, text_key};
use super::ledger::{Mark, Tombstone};
use super::snapshot::Place;
use super::writing::Writing;
use super::{Snapshot, ids, rows};
use crate::broken::{Step, is_broken};
use crate::change::NamespaceId;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::gate::Proposal;
use crate::namespace::{Namespace, Principal};
use crate::reason::Reason;
use crate::record::{MemoryId, RecordId, Source};
use crate::text::canonical;
use crate::trust::{Authority, Sensitivity};

/// A candidate that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Its id.
    pub candidate_id: String,
    /// Where it would live.
    pub namespace: Namespace,
    /// Since when it waits.
    pub queued_at: Timestamp,
    /// Why a person has to decide.
    pub reason: Reason,
    /// The record in force that it stands against.
    pub conflict: Option<RecordId>,
    /// What it is about.
    pub subject: Option<String>,
    /// What it says.
    pub content: String,
    /// Where it comes from.
    pub source: String,
    /// What happened to the evidence.
    pub authority: Authority,
    /// How sure the writer was.
    pub confidence: f64,
    /// The whole candidate as JSON.
    pub body: serde_json::Value,
}

/// What must be known of a candidate to decide whether it is covered by what is forgotten.
struct InQueue {
    row: i64,
    candidate_id: String,
    subject: Option<String>,
    source: String,
    text_key: [u8; 16],
    sensitivity: Sensitivity,
}

impl Writing<'_> {
    /// Queues a candidate; the same text from the same source is queued once. Returns its id.
    pub fn queue(
        &self,
        proposal: Proposal<'_>,
        reason: Reason,
        conflict: Option<&RecordId>,
        body: &serde_json::Value,
    ) -> Result<String> {
        let candidate = proposal.candidate;
        let place = self.namespace(proposal.namespace())?;
        let text = text_key(self.secret, candidate.subject.as_deref(), &candidate.content);
        let source = candidate.source.as_ref().map(ToString::to_string).unwrap_or_default();
        let waiting: Option<String> = self
            .connection()
            .prepare_cached(
                "SELECT candidate_id FROM candidates WHERE namespace = ?1 AND text_key = ?2 AND source = ?3",
            )?
            .query_row(params![place.0, text.as_slice(), source], |row| row.get(0))
            .optional()?;
        if let Some(candidate_id) = waiting {
            return Ok(candidate_id);
        }
        let candidate_id = ids::minted("can", self.now)?;
        self.connection()
            .prepare_cached(
                "INSERT INTO candidates (candidate_id, namespace, queued_at, reason, conflict, subject, source,
                     sensitivity, text_key, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                candidate_id,
                place.0,
                self.now.as_micros(),
                reason.code(),
                conflict.map(RecordId::as_str),
                candidate.subject,
                source,
                candidate.sensitivity.code(),
                text.as_slice(),
                body.to_string()
            ])?;
        self.event(&Event { reason: Some(reason.code()), ..Event::new(self.now, place, "queued") })?;
        Ok(candidate_id)
    }

    /// Takes out of the queue what a forgotten subject, source or namespace covers: of a subject what lies within the
    /// clearance, and of a memory whatever speaks of it. Each leaves a tombstone by its own
    /// id, so that it comes back neither with the text nor with an older database.
    pub(super) fn drop_candidates(
        &self,
        place: &Place,
        selector: &Selector,
        clearance: Sensitivity,
        receipt: &str,
        erased: &mut Erased,
    ) -> Result<()> {
        for waiting in self.in_queue(place.id)? {
            let covered = match selector {
                Selector::Everything | Selector::Below => true,
                Selector::Subject(wanted) => {
                    waiting.sensitivity <= clearance
                        && waiting
                            .subject
                            .as_ref()
                            .is_some_and(|subject| canonical(subject) == canonical(wanted))
                }
                Selector::Source(wanted) => {
                    Source::parse(&waiting.source).id == *wanted || waiting.source == *wanted
                }
                Selector::Memory(memory) => {
                    waiting.candidate_id == memory.as_str()
                        || self.is_of_memory(place.id, memory.as_str(), waiting.row)?
                }
            };
            if covered {
                let tombstone = Tombstone {
                    namespace: place.namespace.clone(),
                    memory_id: MemoryId::new(waiting.candidate_id.clone()),
                    generation: 1,
                    forgotten_at: self.now,
                    receipt: receipt.to_owned(),
                    marks: self.marks_of(&waiting)?,
                };
                self.bury(place.id, &tombstone)?;
                if !is_broken(Step::Candidates) {
                    self.connection()
                        .prepare_cached("DELETE FROM candidates WHERE id = ?1")?
                        .execute([waiting.row])?;
                }
                erased.dropped.push(tombstone);
            }
        }
        Ok(())
    }

    fn in_queue(&self, place: NamespaceId) -> Result<Vec<InQueue>> {
        let mut statement = self.connection().prepare_cached(
            "SELECT id, candidate_id, subject, source, text_key, sensitivity FROM candidates WHERE namespace = ?1",
        )?;
        let mut rows = statement.query([place.0])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(InQueue {
                row: row.get(0)?,
                candidate_id: row.get(1)?,
                subject: row.get(2)?,
                source: row.get(3)?,
                text_key: row.get(4)?,
                sensitivity: rows::code(row, 5)?,
            });
        }
        Ok(all)
    }

    fn marks_of(&self, waiting: &InQueue) -> Result<Vec<Mark>> {
        let content: Option<String> = self
            .connection()
            .prepare_cached("SELECT body ->> '$.content' FROM candidates WHERE id = ?1")?
            .query_row([waiting.row], |row| row.get(0))?;
        let mut marks = vec![Mark { kind: "text", digest: waiting.text_key }];
        let statement = content.map(|content| statement_key(self.secret, &content));
        marks.extend(statement.map(|digest| Mark { kind: "text", digest }));
        marks.extend(source_marks(self.secret, &Source::parse(&waiting.source)));
        marks.sort();
        marks.dedup();
        Ok(marks)
    }

    /// Whether a candidate says what a forgotten memory said, or was to take the place of one of its
    /// versions.
    fn is_of_memory(&self, place: NamespaceId, memory: &str, candidate: i64) -> Result<bool> {
        Ok(self
            .connection()
            .prepare_cached(
                "SELECT 1 FROM candidates c WHERE c.id = ?3 AND (
                     EXISTS (SELECT 1 FROM records r WHERE r.record_id = c.conflict AND r.memory_id = ?2)
                     OR EXISTS (SELECT 1 FROM tombstone_marks k JOIN tombstones t ON t.id = k.tombstone
                         WHERE t.memory_id = ?2 AND k.namespace = ?1 AND k.kind = 'text' AND k.digest = c.text_key))",
            )?
            .exists(params![place.0, memory, candidate])?)
    }
}

impl Snapshot<'_> {
    /// What waits in a caller's scope, oldest first, at most `limit`, and how many there are in all.
    pub fn waiting(&self, principal: &Principal, limit: usize) -> Result<(Vec<Waiting>, u64)> {
        let mut all: Vec<(i64, Waiting)> = Vec::new();
        let mut total = 0;
        for place in self.places(&principal.scope())? {
            let mut statement = self.connection().prepare_cached(
                "SELECT candidate_id, queued_at, reason, conflict, sensitivity, source, body, id FROM candidates
                 WHERE namespace = ?1 ORDER BY id",
            )?;
            let mut found = statement.query([place.id.0])?;
            while let Some(row) = found.next()? {
                if rows::code::<Sensitivity>(row, 4)? > principal.clearance {
                    continue;
                }
                total += 1;
                all.push((row.get(7)?, waiting(row, &place.namespace)?));
            }
        }
        all.sort_by_key(|(order, _)| *order);
        all.truncate(limit);
        Ok((all.into_iter().map(|(_, waiting)| waiting).collect(), total))
    }
}

fn waiting(row: &rusqlite::Row<'_>, namespace: &Namespace) -> Result<Waiting> {
    let damaged = || Error::Corrupt("a waiting candidate is damaged".to_owned());
    let body: serde_json::Value = serde_json::from_str(&row.get::<_, String>(6)?).map_err(|_| damaged())?;
    let text = |key: &str| body.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
    Ok(Waiting {
        candidate_id: row.get(0)?,
        namespace: namespace.clone(),
        queued_at: Timestamp::from_micros(row.get(1)?)?,
        reason: Reason::from_code(&row.get::<_, String>(2)?).ok_or_else(damaged)?,
        conflict: row.get::<_, Option<String>>(3)?.map(RecordId::new),
        subject: text("subject"),
        content: text("content").ok_or_else(damaged)?,
        source: row.get(5)?,
        authority: text("authority").ok_or_else(damaged)?.parse().map_err(|_| damaged())?,
        confidence: body.get("confidence").and_then(serde_json::Value::as_f64).ok_or_else(damaged)?,
        body,
    })
}
