//! What becomes of what was derived from something that is erased: it goes too where it rests on nothing else, and is
//! held from recall where it does.

use super::erase::{Erased, Version};
use super::events::Event;
use super::number::{doc_of, row_of};
use super::snapshot::{Place, place_of};
use super::writing::Writing;
use crate::broken::{Step, is_broken};
use crate::change::DocId;
use crate::error::{Error, Result};
use crate::reason::Reason;
use crate::record::{MemoryId, State};

/// The reason in the history of what went since it was derived from something that was forgotten.
pub const DERIVED: &str = "derived_from_forgotten";

/// A version that was derived from another.
struct Derived {
    doc: DocId,
    record_id: String,
    memory_id: String,
    memory: i64,
    state: State,
    /// Whether another record that it was derived from is there, or more than one source says it.
    rests_on_more: bool,
}

impl Writing<'_> {
    /// Follows the derivations from every record that was erased just now, as far as they lead. What is met in another
    /// namespace is noted as a deletion there.
    pub(super) fn follow_derivations(&self, receipt: &str, erased: &mut Erased) -> Result<()> {
        let mut frontier: Vec<String> = erased.records.iter().map(|id| id.as_str().to_owned()).collect();
        if is_broken(Step::Derived) {
            frontier.clear();
        }
        while let Some(source) = frontier.pop() {
            for derived in self.derived_from(&source)? {
                // Another version of the same memory may have taken it along.
                if !self.says_something(derived.doc)? {
                    continue;
                }
                let place = place_of(self.connection(), derived.doc.namespace())?
                    .ok_or_else(|| Error::Corrupt("a record lives in no namespace".to_owned()))?;
                let (part, receipt) = erased.part_of(&place.namespace, receipt, self.now)?;
                let before = part.records.len();
                if !derived.rests_on_more {
                    self.erase_derived(&place, &derived, &receipt, part)?;
                    // It rested on something that has gone since it was held.
                    part.held.retain(|held| held.as_str() != derived.memory_id);
                } else if derived.state == State::Current {
                    self.hold(&derived, part)?;
                    frontier.push(derived.record_id);
                }
                frontier.extend(part.records[before..].iter().map(|id| id.as_str().to_owned()));
            }
        }
        // What was neither erased nor held is no deletion.
        erased
            .elsewhere
            .retain(|_, elsewhere| !elsewhere.erased.records.is_empty() || !elsewhere.erased.held.is_empty());
        Ok(())
    }

    fn says_something(&self, doc: DocId) -> Result<bool> {
        Ok(self
            .connection()
            .prepare_cached("SELECT 1 FROM records WHERE id = ?1 AND content IS NOT NULL")?
            .exists([row_of(doc)])?)
    }

    /// Every version that says something and was derived from a record.
    fn derived_from(&self, record_id: &str) -> Result<Vec<Derived>> {
        let mut statement = self.connection().prepare_cached(
            "SELECT r.id, r.record_id, m.memory_id, r.memory, r.state,
                    EXISTS (SELECT 1 FROM derivations o JOIN records t ON t.id = o.source
                            WHERE o.record = r.id AND t.state <> 'forgotten')
                    OR EXISTS (SELECT 1 FROM evidence e WHERE e.record = r.id)
             FROM derivations d JOIN records s ON s.id = d.source JOIN records r ON r.id = d.record
                 JOIN memories m ON m.id = r.memory
             WHERE s.record_id = ?1 AND r.content IS NOT NULL",
        )?;
        let mut rows = statement.query([record_id])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(Derived {
                doc: doc_of(row.get(0)?),
                record_id: row.get(1)?,
                memory_id: row.get(2)?,
                memory: row.get(3)?,
                state: super::rows::code(row, 4)?,
                rests_on_more: row.get(5)?,
            });
        }
        Ok(found)
    }

    /// Erases a version that rests on nothing else; the whole memory unless another version of it is in force.
    fn erase_derived(
        &self,
        place: &Place,
        derived: &Derived,
        receipt: &str,
        erased: &mut Erased,
    ) -> Result<()> {
        let in_force = matches!(derived.state, State::Current | State::Held);
        if in_force || !self.has_version_in_force(derived.memory)? {
            self.erase_memory(place, derived.memory, DERIVED, receipt, erased)
        } else {
            let (doc, record_id) = (derived.doc, derived.record_id.clone());
            self.erase_version(&Version { doc, record_id, in_force }, erased)
        }
    }

    fn hold(&self, derived: &Derived, erased: &mut Erased) -> Result<()> {
        self.connection()
            .prepare_cached("UPDATE records SET state = ?2 WHERE id = ?1")?
            .execute(rusqlite::params![row_of(derived.doc), State::Held.code()])?;
        self.event(&Event {
            memory_id: Some(&derived.memory_id),
            record_id: Some(&derived.record_id),
            removed: Some(derived.doc),
            reason: Some(Reason::HeldSourceForgotten.code()),
            ..Event::new(self.now, derived.doc.namespace(), "held")
        })?;
        erased.held.push(MemoryId::new(derived.memory_id.clone()));
        Ok(())
    }
}
