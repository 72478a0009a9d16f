//! The threads that keep what is derived up to date while a memory is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::inner::Inner;
use crate::error::{Error, Result};

/// How often they look for what another program wrote, and for what waits.
const TICK: Duration = Duration::from_millis(500);

/// The threads. Dropped, they end with the round that they are in.
pub(super) struct Background {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    pub(super) fn start(inner: &Arc<Inner>) -> Result<Background> {
        let mut background = Background { stop: Arc::new(AtomicBool::new(false)), threads: Vec::new() };
        background.spawn("recordari-relay", inner, |inner, _| inner.tick())?;
        // A graph takes minutes, which nothing else is to wait for.
        #[cfg(feature = "graph")]
        if inner.graph_from() > 0 {
            background.spawn("recordari-graph", inner, Inner::tend_graphs)?;
        }
        Ok(background)
    }

    /// Does a round of work again and again; it is told whether to stop in the middle of one.
    fn spawn(&mut self, name: &str, inner: &Arc<Inner>, round: fn(&Inner, &AtomicBool)) -> Result<()> {
        let (inner, stopped) = (inner.clone(), self.stop.clone());
        let work = move || {
            while !stopped.load(Ordering::Acquire) {
                round(&inner, &stopped);
                std::thread::park_timeout(TICK);
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let thread = thread.map_err(|source| Error::Io { path: "a background thread".into(), source })?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for thread in &self.threads {
            thread.thread().unpark();
        }
        for thread in self.threads.drain(..) {
            // A panic in the thread has been reported already; the store itself is transactional.
            let _ = thread.join();
        }
    }
}
