//! When graphs are seen to: by a thread of their own while a memory is open, or all at once when that is asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::inner::Inner;
use crate::error::Result;
use crate::index::graph::{Go, Pace};
use crate::relay::Tending;

/// How long nothing is tried after a failure: a disk that is full stays so for a while, and the work was one of
/// minutes.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

impl Inner {
    /// Sees to the graphs of what is in memory, on one core, until `stopped`.
    pub(super) fn tend_graphs(&self, stopped: &AtomicBool) {
        let mut go = |_, _| if stopped.load(Ordering::Acquire) { Go::Stop } else { Go::On };
        let from = self.graph_from();
        if from == 0 {
            return;
        }
        let mut tending = Tending { from, pace: Pace::OneCore, go: &mut go };
        if self.relay.tend_graphs(&self.store, &mut tending).is_err() {
            std::thread::park_timeout(AFTER_FAILURE);
        }
    }

    /// From how many vectors on a namespace gets a graph; 0: none does. A graph's files are vectors as they are, so an
    /// encrypted store has none.
    pub(super) fn graph_from(&self) -> usize {
        if self.store.cipher().is_some() { 0 } else { self.policy.recall.graph_from }
    }

    /// See [`super::Memory::build_graphs`].
    pub(super) fn build_graphs(&self, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<usize> {
        let from = self.graph_from();
        if from == 0 {
            return Ok(0);
        }
        let mut go = |done, of| if progress(done, of) { Go::On } else { Go::Stop };
        self.relay.build_graphs(&self.store, &mut Tending { from, pace: Pace::AllCores, go: &mut go })
    }
}
