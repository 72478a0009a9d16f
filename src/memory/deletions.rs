//! Forgetting, what it would reach, how far it has come, and that it is tried again.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use super::Memory;
use super::inner::Inner;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::forget::{self, Forget, Forgotten, Needles, Place, Preview, Probed, Receipt, TextVectors};
use crate::namespace::Principal;
use crate::recall::{self, Mode, Query};
use crate::store::{JobCounts, JobState, PublicKey};
use crate::text::{clip, mentions};

/// How long a deletion is left to whoever asked for it, and how long after a failed try the next one comes.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// The longest pause between two tries: each doubles it.
const RETRY_AT_MOST: Duration = Duration::from_secs(300);

/// How long whoever waits for a deletion pauses between two tries.
const WAITED_BETWEEN: Duration = Duration::from_millis(250);

/// How much of a text is asked for: its beginning says enough.
const QUERY_CHARS: usize = 1000;

/// When unfinished deletions are tried again.
pub(super) struct Retry(Mutex<(Instant, Duration)>);

impl Retry {
    pub(super) fn new() -> Retry {
        Retry(Mutex::new((Instant::now() + RETRY_AFTER, RETRY_AFTER)))
    }

    /// Does `work` if it is time; it tells whether anything is left.
    fn when_due(&self, work: impl FnOnce() -> bool) {
        let mut due = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if Instant::now() < due.0 {
            return;
        }
        let pause = if work() { (due.1 * 2).min(RETRY_AT_MOST) } else { RETRY_AFTER };
        *due = (Instant::now() + pause, pause);
    }
}

impl Inner {
    /// What was asked for before this instant should be cleaned up by now.
    pub(super) fn deadline(&self) -> Timestamp {
        self.clock.now().plus_seconds(-60 * i64::from(self.policy.forget.deadline_minutes))
    }

    /// Tries again to clean up after deletions that could not be finished, now and then.
    pub(super) fn retry_deletions(&self) {
        self.retry.when_due(|| {
            let asked_before = self.clock.now().plus_seconds(-(RETRY_AFTER.as_secs() as i64));
            let is_old = forget::is_any_open(&self.store, asked_before);
            is_old.is_ok_and(|is_old| is_old) && forget::resume(self.for_forget()).is_ok_and(|left| left > 0)
        });
    }
}

impl Memory {
    /// Forgets; the receipt says how far that has come.
    pub fn forget(&self, principal: &Principal, request: &Forget) -> Result<Forgotten> {
        let forgotten = forget::forget(self.inner.for_forget(), principal, request)?;
        self.inner.memo.clear();
        let kept = |receipt: &Receipt| receipt.details["kept_with_other_sources"] != json!([]);
        if matches!(&forgotten, Forgotten::Done(receipt) | Forgotten::Incomplete(receipt) if kept(receipt)) {
            // What lost the source that its vectors were made with waits for new ones.
            self.inner.embed_waiting();
        }
        Ok(forgotten)
    }

    /// Forgets many things of one or several callers, and cleans up after all of them once. Each has its own
    /// outcome or its own error.
    pub fn forget_all(&self, requests: &[(&Principal, &Forget)]) -> Result<Vec<Result<Forgotten>>> {
        let forgotten = forget::forget_all(self.inner.for_forget(), requests);
        self.inner.memo.clear();
        forgotten
    }

    /// What a request would forget, while nothing is forgotten; none when there is nothing like that in the caller's
    /// scope. With its token as [`Forget::preview`] exactly that is forgotten, or nothing.
    pub fn preview_forget(&self, principal: &Principal, request: &Forget) -> Result<Option<Preview>> {
        forget::preview(self.inner.for_forget(), principal, request)
    }

    /// The receipts of the deletions in the caller's scope, newest first, at most `limit`; only those whose clean-up
    /// has not ended, or all.
    pub fn deletions(&self, principal: &Principal, only_open: bool, limit: usize) -> Result<Vec<Receipt>> {
        forget::jobs(&self.inner.store, principal, only_open, limit)
    }

    /// How many deletions there are in the caller's scope, how many are not cleaned up yet, and how many of those
    /// should be by the policy's deadline.
    pub fn count_deletions(&self, principal: &Principal) -> Result<JobCounts> {
        self.inner.store.snapshot()?.count_jobs(&principal.scope(), self.inner.deadline())
    }

    /// Whether a deletion should have been cleaned up by now, and is not.
    pub fn is_overdue(&self, receipt: &Receipt) -> bool {
        receipt.finished_at.is_none() && receipt.requested_at < self.inner.deadline()
    }

    /// The receipt of that id as it stands now; none when there is no such deletion in the caller's scope.
    pub fn receipt(&self, principal: &Principal, receipt_id: &str) -> Result<Option<Receipt>> {
        forget::receipt(&self.inner.store, principal, receipt_id)
    }

    /// Looks for texts in every file of the store and of other folders, such as backups, in what only a decoder sees, and
    /// in what the caller is answered in every mode; see [`Probed`]. `progress` is told how many bytes were looked at,
    /// and of how many.
    ///
    /// # Errors
    /// `Invalid` for texts that can't be looked for; otherwise what keeps it from beginning. A place that can't be read is
    /// told in the result.
    pub fn probe(
        &self,
        principal: &Principal,
        texts: &[String],
        others: &[PathBuf],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Probed> {
        let inner = &self.inner;
        let mut probed = {
            let snapshot = inner.store.snapshot()?;
            let vectors = TextVectors::by(inner.embedder.as_deref(), texts, &snapshot)?;
            let similar = forget::by_similarity(inner.embedder.as_deref(), &vectors, &snapshot)?;
            let needles = Needles::new(texts, vectors, &snapshot)?;
            let derived = (&inner.relay.view(), inner.relay.docs_of_graphs());
            let folder = inner.store.folder();
            let mut probed = forget::probe(folder, others, &needles, &snapshot, derived, progress)?;
            probed.places.extend(similar);
            probed
        };
        for mode in Mode::ALL {
            let mut copies = 0;
            for text in texts {
                let query = Query {
                    mode: *mode,
                    limit: Some(100),
                    characters: Some(1_000_000),
                    ..Query::new(clip(text, QUERY_CHARS))
                };
                let answer = recall::recall(inner.for_recall(), principal, &query)?;
                copies += answer.hits.iter().filter(|hit| mentions(&hit.record.content, text)).count() as u64;
            }
            probed.places.push(Place {
                name: format!("answers to the caller, by {}", mode.code()),
                looked_at: texts.len() as u64,
                copies,
                parts: 0,
                unreadable: None,
            });
        }
        Ok(probed)
    }

    /// The key by which others know the receipts of this store; see [`crate::verify_receipt`].
    pub fn receipt_key(&self) -> PublicKey {
        self.inner.store.public_key()
    }

    /// Waits until a deletion has been cleaned up after, trying again and again as long as `go_on` says so. The receipt as
    /// it stands then, without what it names for a caller who does not see all of it; none when there is no such deletion.
    pub fn await_deletion(
        &self,
        principal: &Principal,
        receipt_id: &str,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Receipt>> {
        loop {
            let receipt = forget::receipt_or_its_state(&self.inner.store, principal, receipt_id)?;
            let is_open = receipt.as_ref().is_some_and(|receipt| receipt.state != JobState::Completed);
            if !is_open || !go_on() {
                return Ok(receipt);
            }
            std::thread::sleep(WAITED_BETWEEN);
            self.resume_deletions()?;
        }
    }

    /// Ends deletions that were left unfinished; tells how many still are.
    pub fn resume_deletions(&self) -> Result<usize> {
        forget::resume(self.inner.for_forget())
    }
}
