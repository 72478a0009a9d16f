//! Mending what a check finds, where it is known what is right.

use std::collections::BTreeSet;

use super::Memory;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::relay::Drained;
use crate::store::Finding;

/// What mending came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// What did not agree before.
    pub before: Vec<Finding>,
    /// What was done about it, by the check that called for it.
    pub done: Vec<Finding>,
    /// What does not agree now.
    pub after: Vec<Finding>,
}

impl Memory {
    /// Mends what [`Memory::verify`] finds, as far as it is known what is right: indexes are built anew, of the database
    /// too, the keys by which records are found are made anew, what is left of something forgotten is erased again, and
    /// vectors of the wrong width are made anew. What a record says is never changed: one that is damaged stays damaged,
    /// and is named. `progress` is told how many of how many writes are in the new index.
    ///
    /// # Errors
    /// `Database` when the disk refuses, `Locked` when another process writes for too long. What was mended by then
    /// stays mended.
    pub fn mend(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Mended> {
        let now = self.inner.clock.now();
        let before = self.verify()?;
        let checks: BTreeSet<&str> = before.iter().map(|finding| finding.check).collect();
        let mut done = Vec::new();
        // A page that can't be read ends the step that comes to it, and stays a finding.
        match self.mend_what_can_be(&checks, &mut done, now, progress) {
            Err(Error::Corrupt(_)) => {}
            mended => mended?,
        }
        let after = if done.is_empty() { before.clone() } else { self.verify()? };
        Ok(Mended { before, done, after })
    }

    fn mend_what_can_be(
        &self,
        checks: &BTreeSet<&str>,
        done: &mut Vec<Finding>,
        now: Timestamp,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let store = &self.inner.store;
        let mut note = |check, what: String| done.push(Finding::new(check, what));
        if checks.contains("database") {
            store.reindex()?;
            note("database", "its indexes were built anew".to_owned());
        }
        if checks.contains("projection") {
            match store.erase_again(now)? {
                0 => {}
                erased => note("projection", format!("what was left of {erased} versions was erased")),
            }
        }
        if checks.contains("keys") {
            let keys = store.rekey()?;
            note("keys", format!("all {keys} were made anew"));
        }
        if checks.contains("vectors") {
            let models = store.snapshot()?.models()?;
            for model in models.iter().filter(|model| model.in_use) {
                let dropped = store.drop_odd_vectors(model, now)?;
                note("vectors", format!("{dropped} of another width were dropped, to be made anew"));
            }
            self.inner.relay.partitions().clear();
            self.inner.embedded_upto.store(0, std::sync::atomic::Ordering::Release);
            self.inner.embed_waiting();
        }
        if checks.contains("keyword") {
            // Otherwise another process is writing it, and the finding stays.
            if let Drained::Upto(_) =
                self.inner.relay.rebuild(store, &mut |at, last| progress(at.0, last.0))?
            {
                note("keyword", "the index was built anew".to_owned());
            }
        }
        self.inner.memo.clear();
        self.resume_deletions()?;
        Ok(())
    }
}
