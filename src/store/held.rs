//! Reads the files of a store's databases as bytes, beside SQLite. On Unix a process that closes any descriptor of a file
//! loses all its locks on it, those that SQLite holds included (<https://sqlite.org/howtocorrupt.html>, section 2.2): what
//! was opened here stays open, until nobody in the process has the store open any more.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, Weak};

use super::ledger::LEDGER_FILE;
use super::{DATABASE_FILE, lock};

/// The index of the write-ahead log, on which its locks are.
pub(super) const LOG_INDEX_FILE: &str = "recordari.db-shm";
/// The files on which SQLite holds locks.
const LOCKED: [&str; 3] = [DATABASE_FILE, LOG_INDEX_FILE, LEDGER_FILE];

/// The stores that are open in this process, by folder.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<Held>>>> = LazyLock::new(Mutex::default);

/// What stays open of a store. Must be dropped after the last connection to it.
pub(super) struct Held {
    folder: PathBuf,
    files: Mutex<HashMap<PathBuf, Arc<File>>>,
}

impl Held {
    /// That of the store in a folder, which all who have it open share.
    pub(super) fn of(folder: &Path) -> io::Result<Arc<Held>> {
        let folder = folder.canonicalize()?;
        let mut open = lock(&OPEN);
        if let Some(held) = open.get(&folder).and_then(Weak::upgrade) {
            return Ok(held);
        }
        open.retain(|_, held| held.strong_count() > 0);
        let held = Arc::new(Held { folder: folder.clone(), files: Mutex::default() });
        open.insert(folder, Arc::downgrade(&held));
        Ok(held)
    }

    /// A file of the store, to be read and, if it is the database, written.
    fn file(&self, name: &str) -> io::Result<Arc<File>> {
        let path = self.folder.join(name);
        let mut files = lock(&self.files);
        if let Some(file) = files.get(&path)
            && identity(&file.metadata()?) == identity(&path.metadata()?)
        {
            return Ok(file.clone());
        }
        let file = Arc::new(OpenOptions::new().read(true).write(name == DATABASE_FILE).open(&path)?);
        // Elsewhere locks belong to a descriptor.
        if cfg!(unix) {
            files.insert(path, file.clone());
        }
        Ok(file)
    }
}

/// Opens any file for reading; of a store that is open in this process without disturbing it.
///
/// # Errors
/// As [`File::open`].
pub(crate) fn open_beside(path: &Path) -> io::Result<Reader> {
    let at = path.canonicalize()?;
    let name = at.file_name().and_then(|name| name.to_str()).filter(|name| LOCKED.contains(name));
    let held = match (name, at.parent()) {
        (Some(_), Some(folder)) => lock(&OPEN).get(folder).and_then(Weak::upgrade),
        _ => None,
    };
    let file = match (held, name) {
        (Some(held), Some(name)) => held.file(name)?,
        _ => Arc::new(File::open(path)?),
    };
    Ok(Reader { file, at: 0 })
}

#[cfg(unix)]
fn identity(file: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) {}

/// Reads a file, whoever else reads it meanwhile.
pub(crate) struct Reader {
    file: Arc<File>,
    at: u64,
}

impl Reader {
    /// Reads as much as `into` holds, from that place on.
    pub(super) fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let mut read = 0;
        while read < into.len() {
            match read_at(&self.file, &mut into[read..], at + read as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all of it to that place.
    pub(super) fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        write_at(&self.file, bytes, at)
    }

    /// Waits until what was written is on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// How long the file is now, in bytes.
    pub(super) fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = read_at(&self.file, into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, at)
}

/// Nobody else reads the same descriptor there.
#[cfg(not(unix))]
fn read_at(mut file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    file.seek(SeekFrom::Start(at))?;
    file.read(into)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    io::Write::write_all(&mut file, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::store::Store;

    #[cfg(target_os = "linux")]
    #[test]
    fn reading_the_files_of_a_store_takes_no_lock_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) =
            Store::open(folder.path(), None, Timestamp::parse("at", "2026-03-01T10:00:00Z").unwrap())
                .unwrap();
        let locks = || {
            let mine = format!(" {} ", std::process::id());
            let all = std::fs::read_to_string("/proc/locks").unwrap();
            let inode =
                std::os::unix::fs::MetadataExt::ino(&folder.path().join(DATABASE_FILE).metadata().unwrap());
            all.lines().filter(|line| line.contains(&mine) && line.contains(&format!(":{inode} "))).count()
        };
        let before = locks();
        assert!(before > 0, "a connection holds a lock on the database");
        for name in LOCKED {
            let mut bytes = Vec::new();
            open_beside(&folder.path().join(name)).unwrap().read_to_end(&mut bytes).unwrap();
            assert!(!bytes.is_empty(), "{name}");
        }
        assert_eq!(locks(), before);
        // By itself it would.
        drop(File::open(folder.path().join(DATABASE_FILE)).unwrap());
        assert_eq!(locks(), 0);
        drop(store);
    }
}
