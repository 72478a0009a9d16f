//! Where does an index lie, and are its files encrypted? Knows folders and keys, no index.

use std::path::{Path, PathBuf};

use tantivy::directory::{Directory, MmapDirectory};

use crate::error::{Error, Result};

/// The folder of an index, and the key of its files where the store is encrypted.
///
/// An index whose files were written with another key, or without one, is damaged to who opens it: it is discarded.
#[derive(Clone)]
pub struct Home {
    folder: PathBuf,
    key: Option<[u8; 32]>,
}

impl Home {
    /// An index in that folder, with files that are encrypted with that key.
    pub fn new(folder: impl Into<PathBuf>, key: Option<[u8; 32]>) -> Home {
        Home { folder: folder.into(), key }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Another folder, with the same key.
    pub fn beside(&self, name: &str) -> Home {
        Home { folder: self.folder.with_file_name(name), key: self.key }
    }

    /// How the library reaches the files.
    pub(super) fn directory(&self) -> Result<Box<dyn Directory>> {
        let plain = MmapDirectory::open(&self.folder).map_err(|error| Error::Index(error.to_string()))?;
        match &self.key {
            None => Ok(Box::new(plain)),
            #[cfg(feature = "sqlcipher")]
            Some(key) => Ok(Box::new(super::sealed::Sealed::new(plain, key))),
            #[cfg(not(feature = "sqlcipher"))]
            Some(_) => Err(Error::invalid("cipher key", "can't be used by this build")),
        }
    }
}

impl From<&Path> for Home {
    fn from(folder: &Path) -> Home {
        Home::new(folder, None)
    }
}

impl From<&PathBuf> for Home {
    fn from(folder: &PathBuf) -> Home {
        Home::new(folder, None)
    }
}

impl From<&Home> for Home {
    fn from(home: &Home) -> Home {
        home.clone()
    }
}
