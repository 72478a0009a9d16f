//! Which documents of a partition hold a term, and how often? Knows ids, terms and numbers; holds no
//! text, scores nothing, and decides nothing about what may be seen.
//!
//! The index is derived: it can be lost or broken at any time, and is then built again by whoever
//! holds the truth. Hence nothing about its files is an error at [`KeywordIndex::open`]: they are
//! found, created, or discarded and created anew, and the answer says which.
//!
//! How far the index has come is part of every commit (`payload`), so index and watermark can't part.
//! Terms carry their partition in front ([`Partition`]), so a posting list never holds documents of two.
//!
//! Reading and writing are apart: any number of processes read, one at a time writes ([`Writer`]).

mod contain;
mod folder;
mod home;
mod partition;
mod payload;
mod schema;
#[cfg(feature = "sqlcipher")]
mod sealed;
mod segment;
mod stray;
mod tier;
mod view;
mod writer;

use std::sync::{Mutex, PoisonError, RwLock};

use crate::error::Result;

pub use folder::Taken;
use folder::{Care, Loaded};
pub use home::Home;
pub use partition::Partition;
pub use stray::stray_terms;
use view::WeakView;
pub use view::{View, fingerprint};
pub use writer::{Entry, Writer};

/// The reading side of the index in one folder; every process may have one, and share it among threads.
pub struct KeywordIndex {
    home: Home,
    current: RwLock<View>,
    /// What the current view was loaded from; held while loading, so that one load runs at a time.
    /// None when the view is empty for want of a sound index.
    loaded: Mutex<Option<Loaded>>,
    /// Snapshots that were replaced and may still be in use.
    earlier: Mutex<Vec<WeakView>>,
}

/// An opened index and how it was found.
pub struct Opened {
    /// The index, usable in any case.
    pub index: KeywordIndex,
    /// What [`KeywordIndex::open`] met.
    pub condition: Condition,
}

/// The condition in which the files of an index were found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// There is a sound index.
    Found,
    /// There was none. It is empty now, with watermark 0.
    Created,
    /// There was one that can't be used. It is gone, and replaced by an empty one with watermark 0.
    Discarded {
        /// What was wrong with it.
        why: String,
    },
    /// There is none that can be used, and another process holds the writer lock, so nothing was
    /// touched. Until a [`KeywordIndex::reload`] finds a sound index, this one is empty.
    Awaited {
        /// What is wrong.
        why: String,
    },
}

impl KeywordIndex {
    /// Opens the index in a folder, creating folder and index when they are missing.
    ///
    /// Reads and checks every file of a small index once; of a large one that is left to
    /// [`KeywordIndex::read_through`], so that opening does not follow its size. An index that is damaged, or was written by another layout or
    /// another `ANALYSIS_VERSION`, is deleted and created anew, but only while no other process
    /// writes. An error means that the file system refuses.
    pub fn open(home: impl Into<Home>) -> Result<Opened> {
        let home = home.into();
        let (loaded, condition) = folder::prepare(&home, Care::Quick)?;
        let view = loaded.as_ref().map_or_else(View::empty, |loaded| loaded.view.clone());
        let index = KeywordIndex {
            home,
            current: RwLock::new(view),
            loaded: Mutex::new(loaded),
            earlier: Mutex::default(),
        };
        Ok(Opened { index, condition })
    }

    /// Compares the checksums that were not compared when the files were opened; cheap when there are none.
    ///
    /// # Errors
    /// When a file is damaged. The snapshot is dropped then, as in [`KeywordIndex::reload`].
    pub fn read_through(&self) -> Result<()> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(unread) = loaded.as_ref().filter(|loaded| loaded.unread).map(|loaded| loaded.index.clone())
        else {
            return Ok(());
        };
        drop(loaded);
        // Without the lock: it takes as long as reading all files, and may meet ones that a writer has removed.
        let read = folder::verify(&unread);
        loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        match (&mut *loaded, read) {
            (Some(loaded), Ok(())) => {
                loaded.unread = false;
                Ok(())
            }
            (None, Ok(())) => Ok(()),
            (_, Err(error)) => {
                *loaded = None;
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = View::empty();
                Err(error)
            }
        }
    }

    /// Returns a snapshot of the index as it was last loaded.
    pub fn view(&self) -> View {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the watermark of the commit that is loaded: how far the index has applied the changes.
    pub fn watermark(&self) -> u64 {
        self.view().watermark()
    }

    /// Returns the generation of the commit that is loaded; each commit has a higher one.
    ///
    /// 0 means that nothing is loaded, so that no file is open.
    pub fn generation(&self) -> u64 {
        self.view().generation()
    }

    /// Returns the oldest generation that a living [`View`] of this index keeps open, which is the one
    /// to tell others: a forgotten word may be in the files of any generation before its purge.
    pub fn oldest_generation(&self) -> u64 {
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        earlier.retain(|view| view.generation().is_some());
        let oldest = earlier.iter().filter_map(WeakView::generation).min();
        oldest.map_or(self.generation(), |oldest| oldest.min(self.generation()))
    }

    /// Loads the newest commit, of whichever process; says whether there was a new one.
    ///
    /// Costs the reading of one small file when there is none. The earlier snapshot is dropped, and the
    /// files that it alone used are freed when the last [`View`] of it is gone.
    ///
    /// When the index can't be read any more, the snapshot is dropped all the same, an empty one with
    /// watermark 0 takes its place, and the error says why: opening the folder again mends it.
    pub fn reload(&self) -> Result<bool> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.as_ref().is_some_and(|loaded| loaded.is_newest(self.home.folder())) {
            return Ok(false);
        }
        let outcome = folder::load(&self.home, loaded.as_ref(), Care::Quick);
        let (next, outcome) = match outcome {
            Ok(next) => (Some(next), Ok(true)),
            Err(flaw) => (None, Err(flaw.into())),
        };
        let view = next.as_ref().map_or_else(View::empty, |next| next.view.clone());
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let replaced = std::mem::replace(&mut *current, view);
        drop(current);
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        earlier.retain(|view| view.generation().is_some());
        earlier.push(replaced.downgrade());
        *loaded = next;
        outcome
    }
}

#[cfg(test)]
mod tests;
