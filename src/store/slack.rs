//! Room on the disk that is kept for the end: a file of nothing, which is given up while a store is opened or something is
//! forgotten on a full disk, and kept again afterwards. Nothing else may use it, so that it is there when it counts.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::error::Error;

pub(super) const SLACK_FILE: &str = "slack";
/// How much is kept, in bytes: an erasure writes some pages of the database to its journal and to the ledger, and the
/// keyword index anew, which for a small store is a few megabytes.
pub const SLACK_BYTES: u64 = 4 << 20;
/// The disk counts as full below that, and nothing is taken for the slack: what little room there is belongs to who writes.
const ROOM_BYTES: u64 = 2 * SLACK_BYTES;
/// How much is taken at a time: where not all of it fits, the rest does.
const STEP: u64 = 64 << 10;

/// The slack of a store.
pub(super) struct Slack(PathBuf);

/// Room that was given up, until this is dropped. Others may have given up the same.
pub struct Room(File);

impl Slack {
    pub(super) fn of(folder: &Path) -> Slack {
        Slack(folder.join(SLACK_FILE))
    }

    /// How many bytes are kept.
    pub(super) fn bytes(&self) -> u64 {
        std::fs::metadata(&self.0).map_or(0, |file| file.len())
    }

    /// Keeps as much as there should be, if the disk has room and nobody uses it now. Where that can't be, the store is
    /// as good as without.
    pub(super) fn keep(&self) {
        if self.bytes() < SLACK_BYTES
            && !self.is_disk_full()
            && let Ok(file) = self.open(true)
            && file.try_lock().is_ok()
        {
            fill(&file);
        }
    }

    /// Gives it up if the disk is full, as the file system tells.
    pub(super) fn room(&self) -> Option<Room> {
        if self.is_disk_full() { self.give_up() } else { None }
    }

    /// Gives it up. None when there is none.
    pub(super) fn give_up(&self) -> Option<Room> {
        let file = self.open(false).ok()?;
        // Nobody keeps it again while this lock is held; others may hold it too.
        file.lock_shared().ok()?;
        file.set_len(0).ok()?;
        Some(Room(file))
    }

    fn open(&self, create: bool) -> std::io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.0)
    }

    fn is_disk_full(&self) -> bool {
        self.free().is_some_and(|free| free < ROOM_BYTES)
    }

    /// How many bytes the disk has free; none where the system doesn't tell.
    #[cfg(unix)]
    pub(super) fn free(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(self.0.parent().unwrap_or(Path::new("."))).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    #[cfg(not(unix))]
    pub(super) fn free(&self) -> Option<u64> {
        None
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // The last one who gave it up keeps it again.
        if self.0.unlock().is_ok() && self.0.try_lock().is_ok() {
            fill(&self.0);
        }
    }
}

/// Takes room for a file until it has all that it should, or there is none left.
fn fill(file: &File) {
    let mut kept = file.metadata().map_or(SLACK_BYTES, |file| file.len());
    while kept < SLACK_BYTES {
        let step = STEP.min(SLACK_BYTES - kept);
        if take(file, kept, step).is_err() {
            let _ = file.set_len(kept);
            return;
        }
        kept += step;
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn take(file: &File, at: u64, bytes: u64) -> std::io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), at, bytes)?)
}

/// Nothing that a file system could write in less.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn take(mut file: &File, at: u64, bytes: u64) -> std::io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    let mut noise = vec![0; bytes as usize];
    blake3::Hasher::new().update(&at.to_le_bytes()).finalize_xof().fill(&mut noise);
    file.seek(SeekFrom::Start(at))?;
    file.write_all(&noise)
}

/// Whether an error says that the disk, or what its owner may use of it, is full.
pub(super) fn is_full(error: &Error) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    match error {
        Error::Io { source, .. } => matches!(source.kind(), StorageFull | QuotaExceeded),
        Error::Database(source) => source
            .downcast_ref::<rusqlite::Error>()
            .is_some_and(|error| error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_up_is_kept_again_when_the_last_one_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, theirs) = (Slack::of(folder.path()), Slack::of(folder.path()));
        assert!(mine.give_up().is_none());
        mine.keep();
        assert_eq!(mine.bytes(), SLACK_BYTES);
        let (first, second) = (mine.give_up().unwrap(), theirs.give_up().unwrap());
        theirs.keep();
        drop(first);
        assert_eq!(mine.bytes(), 0, "the other needs the room still");
        drop(second);
        assert_eq!(mine.bytes(), SLACK_BYTES);
    }
}
