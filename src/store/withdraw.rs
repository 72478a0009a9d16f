//! Withdrawing a source, as far as the store goes: it is blocked, and taken away from all that rests on it.

use std::collections::BTreeSet;

use rusqlite::params;

use super::erase::{Erased, Version};
use super::events::Event;
use super::keys::{self, Key};
use super::number::row_of;
use super::rows;
use super::writing::Writing;
use crate::change::{DocId, NamespaceId};
use crate::error::Result;
use crate::record::{Record, State};

impl Writing<'_> {
    pub(super) fn block(
        &self,
        place: NamespaceId,
        source: &str,
        reason: &str,
        erased: &mut Erased,
    ) -> Result<()> {
        let inserted = self
            .connection()
            .prepare_cached(
                "INSERT OR IGNORE INTO blocked_sources (namespace, source, blocked_at) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![place.0, source, self.now.as_micros()])?;
        if inserted == 1 {
            erased.blocked = true;
            self.event(&Event { reason: Some(reason), ..Event::new(self.now, place, "source_withdrawn") })?;
        }
        Ok(())
    }

    /// Takes a source away from what rests on it; tells which memories rest on nothing else.
    pub(super) fn withdraw(&self, place: NamespaceId, source: &str, erased: &mut Erased) -> Result<Vec<i64>> {
        let mut touched: Vec<(i64, Version, bool)> = Vec::new();
        for doc in keys::with_key(self.connection(), place, Key::of_source(self.secret, source))? {
            let mut statement = self.connection().prepare_cached(
                "SELECT r.memory, r.record_id, r.state IN ('current', 'held'),
                        ifnull(r.source = ?2, 0)
                            OR EXISTS (SELECT 1 FROM evidence e WHERE e.record = r.id AND e.source = ?2),
                        ifnull(r.source <> ?2, 0)
                            OR EXISTS (SELECT 1 FROM evidence o WHERE o.record = r.id AND o.source <> ?2)
                 FROM records r WHERE r.id = ?1",
            )?;
            let mut rows = statement.query(params![row_of(doc), source])?;
            if let Some(row) = rows.next()?
                && row.get::<_, bool>(3)?
            {
                let version = Version { doc, record_id: row.get(1)?, in_force: row.get(2)? };
                touched.push((row.get(0)?, version, row.get(4)?));
            }
        }
        let gone: BTreeSet<i64> = touched
            .iter()
            .filter(|(_, version, others)| version.in_force && !others)
            .map(|(memory, ..)| *memory)
            .collect();
        // What has no version in force any more (retired) and rests on nothing else goes as a whole too.
        let mut all = gone.clone();
        for (memory, version, others) in &touched {
            if gone.contains(memory) {
                continue;
            }
            if *others {
                let searched = self.withdraw_evidence(version, source)?;
                if version.in_force {
                    erased.kept.push(self.memory_id(*memory)?);
                    self.event(&Event {
                        record_id: Some(&version.record_id),
                        added: searched,
                        removed: searched,
                        ..Event::new(self.now, place, "evidence_withdrawn")
                    })?;
                }
            } else if self.has_version_in_force(*memory)? {
                self.erase_version(version, erased)?;
            } else {
                all.insert(*memory);
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Takes a source away from a version that has others. Who spoke is part of the text by which a record
    /// is found: if that was the source's word, its vectors go, and the document is given back, which whoever
    /// searches it must take in again.
    fn withdraw_evidence(&self, version: &Version, source: &str) -> Result<Option<DocId>> {
        let before = rows::record(self.connection(), version.doc)?;
        let row = row_of(version.doc);
        self.connection()
            .prepare_cached("DELETE FROM evidence WHERE record = ?1 AND source = ?2")?
            .execute(params![row, source])?;
        self.connection()
            .prepare_cached(
                "UPDATE records SET source = NULL, locator = NULL, speaker = NULL WHERE id = ?1 AND source = ?2",
            )?
            .execute(params![row, source])?;
        self.count_evidence(version.doc)?;
        keys::take(self.connection(), version.doc, &[Key::of_source(self.secret, source)])?;
        let after = rows::record(self.connection(), version.doc)?;
        let text = |record: &Option<Record>| record.as_ref().map(Record::indexed_text);
        if text(&before) == text(&after) {
            return Ok(None);
        }
        let terms = text(&after).map_or(0, |text| crate::text::terms(&text).len());
        self.connection()
            .prepare_cached("UPDATE records SET terms = ?2, vectors = NULL WHERE id = ?1")?
            .execute(params![row, terms as i64])?;
        self.drop_coming_vectors(version.doc)?;
        Ok(after.filter(|record| record.state == State::Current).map(|_| version.doc))
    }
}
