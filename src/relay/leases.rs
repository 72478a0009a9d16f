//! Who has which generation of the index open? Each process holds a locked file that says so; the lock
//! goes with the process, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::error::{Error, Result};
use crate::store::create_private_folder;

/// A process that has an index open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub process: u32,
    /// The oldest generation that it has open.
    pub generation: u64,
}

/// The leases of one folder, and this process's own.
pub(super) struct Leases {
    folder: PathBuf,
    own: PathBuf,
    file: Mutex<(File, Option<u64>)>,
}

impl Leases {
    pub(super) fn open(folder: &Path) -> Result<Leases> {
        create_private_folder(folder)?;
        // Several may be open in one process; each has a file of its own.
        let (own, file) = loop {
            let mut nonce = [0; 4];
            getrandom::fill(&mut nonce).map_err(|error| Error::Io {
                path: folder.into(),
                source: std::io::Error::other(error.to_string()),
            })?;
            let own = folder.join(format!("{}-{:08x}", std::process::id(), u32::from_le_bytes(nonce)));
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&own) {
                Ok(file) => break (own, file),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(&own)(error)),
            }
        };
        file.lock().map_err(Error::io(&own))?;
        Ok(Leases { folder: folder.to_owned(), own, file: Mutex::new((file, None)) })
    }

    /// Says which is the oldest generation that this process has open.
    pub(super) fn renew(&self, generation: u64) -> Result<()> {
        let mut held = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if held.1 == Some(generation) {
            return Ok(());
        }
        let (file, known) = &mut *held;
        // One write of fixed length: a reader sees the old number or the new one.
        file.rewind()
            .and_then(|()| file.write_all(format!("{} {generation:020}\n", std::process::id()).as_bytes()))
            .map_err(Error::io(&self.own))?;
        *known = Some(generation);
        Ok(())
    }

    /// The living processes, this one aside, that have a generation open from before `generation`. What
    /// the dead left is removed.
    pub(super) fn older_than(&self, generation: u64) -> Result<Vec<Holder>> {
        let mut holders = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(Error::io(&self.folder))? {
            let path = entry.map_err(Error::io(&self.folder))?.path();
            if path == self.own {
                continue;
            }
            holders.extend(
                living(&path)?.filter(|holder| holder.generation < generation && holder.generation > 0),
            );
        }
        holders.sort_by_key(|holder| holder.process);
        Ok(holders)
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        // Left behind it would be removed by the next one who looks.
        let _ = std::fs::remove_file(&self.own);
    }
}

/// Reads a lease; none when its process is gone, whose file is then removed.
fn living(path: &Path) -> Result<Option<Holder>> {
    let mut file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(path)(error)),
    };
    match file.try_lock() {
        Ok(()) => {
            // Unlocked and empty may also mean: just created, not locked yet. It has nothing open then.
            let mut text = String::new();
            if file.read_to_string(&mut text).is_ok() && !text.is_empty() {
                let _ = std::fs::remove_file(path);
            }
            Ok(None)
        }
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            file.read_to_string(&mut text).map_err(Error::io(path))?;
            let mut numbers = text.split_whitespace();
            let process = numbers.next().and_then(|word| word.parse().ok());
            let generation = numbers.next().and_then(|word| word.parse().ok());
            Ok(process.zip(generation).map(|(process, generation)| Holder { process, generation }))
        }
        Err(TryLockError::Error(error)) => Err(Error::io(path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_names_what_is_open_and_ends_with_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, other) = (Leases::open(folder.path()).unwrap(), Leases::open(folder.path()).unwrap());
        other.renew(3).unwrap();
        let held = mine.older_than(5).unwrap();
        assert_eq!(held, [Holder { process: std::process::id(), generation: 3 }]);
        assert!(mine.older_than(3).unwrap().is_empty());
        other.renew(7).unwrap();
        assert!(mine.older_than(5).unwrap().is_empty());
        drop(other);
        assert!(mine.older_than(100).unwrap().is_empty());
    }

    #[test]
    fn what_a_dead_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join("999999-00000000");
        std::fs::write(&left, "999999 00000000000000000001\n").unwrap();
        let mine = Leases::open(folder.path()).unwrap();
        assert!(mine.older_than(5).unwrap().is_empty());
        assert!(!left.exists());
    }
}
