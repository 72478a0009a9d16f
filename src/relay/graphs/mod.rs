//! Where the graphs of namespaces lie, who may write them, and how they go. Knows files and locks, not what is
//! in them: what was forgotten is erased here whether or not this program can build a graph.

#[cfg(feature = "graph")]
mod build;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::lock::lock;
use crate::broken::{Step, is_broken};
use crate::change::{DocId, NamespaceId};
use crate::error::{Error, Result};
use crate::store::sync_folder;

#[cfg(feature = "graph")]
pub use build::Tending;

/// Held by whoever puts graphs into the folder or takes them out of it: for the time of writing one.
const FILES: &str = "files.lock";
/// Held by the one who builds, for as long as that takes.
#[cfg(feature = "graph")]
const BUILDER: &str = "builder.lock";
/// Ends the name of a graph that is being written.
const PART: &str = ".part";

/// The folder of a store's graphs. It is made by the first graph.
#[derive(Debug)]
pub(super) struct Graphs {
    folder: PathBuf,
}

impl Graphs {
    pub(super) fn of(derived: &Path) -> Graphs {
        Graphs { folder: derived.join("graphs") }
    }

    /// Where the graph of a namespace lies.
    fn place(&self, namespace: NamespaceId) -> PathBuf {
        self.folder.join(namespace.0.to_string())
    }

    /// Where it lies while it is written.
    fn part(&self, namespace: NamespaceId) -> PathBuf {
        self.folder.join(format!("{}{PART}", namespace.0))
    }

    /// Which graph of a namespace there is; none: no graph. Another graph has another version, since each comes
    /// with a folder of its own.
    pub(super) fn version(&self, namespace: NamespaceId) -> Option<u64> {
        let found = fs::metadata(self.place(namespace)).ok()?;
        let made = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let number = 0u64;
        Some(made ^ number.rotate_left(40))
    }

    /// Erases the graphs of these namespaces, whole and half-written ones. False when another process is writing
    /// one for all of `patience`.
    pub(super) fn erase(&self, namespaces: &[NamespaceId], patience: Duration) -> Result<bool> {
        if namespaces.is_empty() || !self.folder.exists() || is_broken(Step::Graphs) {
            return Ok(true);
        }
        let Some(_lock) = self.lock(FILES, patience)? else { return Ok(false) };
        for namespace in namespaces {
            remove(&self.place(*namespace))?;
            remove(&self.part(*namespace))?;
        }
        // A loss of power may not bring them back.
        sync_folder(&self.folder)?;
        Ok(true)
    }

    /// The documents that every graph has a vector of, half-written ones too.
    ///
    /// # Errors
    /// When that can't be told.
    pub(super) fn docs(&self) -> Result<Vec<DocId>> {
        let mut docs = Vec::new();
        let Ok(entries) = fs::read_dir(&self.folder) else { return Ok(docs) };
        for entry in entries {
            let path = entry.map_err(Error::io(&self.folder))?.path();
            if path.is_dir() {
                #[cfg(feature = "graph")]
                docs.extend(crate::index::graph::docs_in(&path)?);
                #[cfg(not(feature = "graph"))]
                return Err(Error::Index("this build can't read graphs".to_owned()));
            }
        }
        docs.sort_unstable();
        Ok(docs)
    }

    /// Erases every graph; as [`Graphs::erase`].
    pub(super) fn erase_all(&self, patience: Duration) -> Result<bool> {
        if !self.folder.exists() {
            return Ok(true);
        }
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(Error::io(&self.folder))? {
            let name = entry.map_err(Error::io(&self.folder))?.file_name();
            let number = name.to_str().and_then(|name| name.trim_end_matches(PART).parse().ok());
            all.extend(number.map(NamespaceId));
        }
        self.erase(&all, patience)
    }

    /// Takes a lock of the folder, which ends with the file or the process; none when another has it for all of
    /// `patience`.
    fn lock(&self, name: &str, patience: Duration) -> Result<Option<File>> {
        lock(&self.folder.join(name), patience)
    }
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(folder)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_of_one_graph_and_erasing_takes_whole_and_half_ones() {
        let derived = tempfile::tempdir().unwrap();
        let graphs = Graphs::of(derived.path());
        let (one, two) = (NamespaceId(1), NamespaceId(2));
        assert!(graphs.erase(&[one], Duration::ZERO).unwrap() && graphs.erase_all(Duration::ZERO).unwrap());
        assert_eq!(fs::read_dir(derived.path()).unwrap().count(), 0, "nothing is made for nothing");
        for folder in [graphs.place(one), graphs.part(one), graphs.part(two)] {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("file"), "numbers").unwrap();
        }
        let before = graphs.version(one).unwrap();
        assert_eq!((graphs.version(one), graphs.version(two)), (Some(before), None));
        fs::rename(graphs.place(one), graphs.folder.join("old")).unwrap();
        fs::rename(graphs.part(two), graphs.place(one)).unwrap();
        assert_ne!(graphs.version(one).unwrap(), before);
        assert!(graphs.erase(&[one], Duration::ZERO).unwrap());
        assert!(!graphs.place(one).exists() && !graphs.part(one).exists());
        fs::create_dir_all(graphs.part(two)).unwrap();
        let held = graphs.lock(FILES, Duration::ZERO).unwrap().unwrap();
        assert!(!graphs.erase_all(Duration::ZERO).unwrap() && graphs.part(two).exists());
        drop(held);
        assert!(graphs.erase_all(Duration::ZERO).unwrap() && !graphs.part(two).exists());
    }
}
