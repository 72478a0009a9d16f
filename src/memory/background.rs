//! The thread that keeps what is derived up to date while a memory is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::inner::Inner;
use crate::error::{Error, Result};

/// How often it looks for what another program wrote, and for what waits.
const TICK: Duration = Duration::from_millis(500);

/// The thread. Dropped, it ends with the round that it is in.
pub(super) struct Background {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(super) fn start(inner: &Arc<Inner>) -> Result<Background> {
        let stop = Arc::new(AtomicBool::new(false));
        let (inner, stopped) = (inner.clone(), stop.clone());
        let work = move || {
            while !stopped.load(Ordering::Acquire) {
                inner.tick();
                std::thread::park_timeout(TICK);
            }
        };
        let thread = std::thread::Builder::new().name("recordari-relay".to_owned()).spawn(work);
        let thread = thread.map_err(|source| Error::Io { path: "a background thread".into(), source })?;
        Ok(Background { stop, thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic in the thread has been reported already; the store itself is transactional.
            let _ = thread.join();
        }
    }
}
