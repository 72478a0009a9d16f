//! What an open memory is made of, shared by its callers and its background thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::change::Seq;
use crate::clock::Clock;
use crate::embed::Embedder;
use crate::error::{Error, Result};
use crate::forget;
use crate::gate::Policy;
use crate::recall;
use crate::relay::Relay;
use crate::remember;
use crate::store::{NewTrace, Store, TraceStore};

/// The parts, and what each step needs of them.
pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) relay: Relay,
    pub(super) traces: TraceStore,
    pub(super) memo: recall::Memo,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
    pub(super) policy: Policy,
    pub(super) policy_version: String,
    pub(super) policy_error: Option<String>,
    pub(super) clock: Arc<dyn Clock>,
    /// The write up to which nothing waits for a vector, so that a round walks over later ones alone.
    pub(super) embedded_upto: AtomicU64,
    /// When unfinished deletions are tried again.
    pub(super) retry: super::deletions::Retry,
}

impl Inner {
    pub(super) fn for_write(&self) -> Result<remember::Sources<'_>> {
        if let Some(error) = &self.policy_error {
            return Err(Error::Policy(error.trim_start_matches("the policy can't be used: ").to_owned()));
        }
        Ok(self.for_embedding())
    }

    /// What embedding needs; it judges nothing, so a policy that can't be used does not hinder it.
    pub(super) fn for_embedding(&self) -> remember::Sources<'_> {
        remember::Sources {
            store: &self.store,
            embedder: self.embedder.as_deref(),
            policy: &self.policy,
            now: self.clock.now(),
        }
    }

    pub(super) fn for_recall(&self) -> recall::Sources<'_> {
        recall::Sources {
            memo: &self.memo,
            store: &self.store,
            relay: &self.relay,
            embedder: self.embedder.as_deref(),
            policy: &self.policy,
            policy_version: &self.policy_version,
            now: self.clock.now(),
        }
    }

    /// Keeps a trace, which is written later: what was done is done, and one that can't be written undoes
    /// nothing.
    pub(super) fn keep_trace(&self, trace: NewTrace) {
        if self.traces.add(trace) {
            self.write_traces();
        }
    }

    /// Writes the traces that wait. Losing them is no failure of what they speak of.
    pub(super) fn write_traces(&self) {
        let kept = &self.policy.traces;
        let _ = self.traces.write(&self.store, kept.keep_days, kept.keep_at_most);
    }

    pub(super) fn for_forget(&self) -> forget::Sources<'_> {
        forget::Sources {
            store: &self.store,
            relay: &self.relay,
            traces: &self.traces,
            now: self.clock.now(),
            clock: &*self.clock,
            deadline_minutes: self.policy.forget.deadline_minutes,
        }
    }

    /// One round of the background thread. What fails now is tried again at the next.
    pub(super) fn tick(&self) {
        let _ = self.relay.refresh();
        let _ = self.relay.read_through();
        self.write_traces();
        if self.relay.is_behind(&self.store).is_ok_and(|behind| behind) {
            let _ = self.relay.drain(&self.store, &mut |_, _| {});
        }
        self.embed_waiting();
        self.retry_deletions();
        self.store.keep_slack();
    }

    /// Embeds what was stored while the model was down. What fails now is tried again.
    pub(super) fn embed_waiting(&self) {
        let upto = Seq(self.embedded_upto.load(Ordering::Acquire));
        if let Ok(Some(upto)) = remember::embed_waiting(self.for_embedding(), upto) {
            self.embedded_upto.store(upto.0, Ordering::Release);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.write_traces();
    }
}
