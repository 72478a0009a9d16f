//! A lock on what several processes may write: a file that is locked as long as it is open, so that the lock ends with
//! its process, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Between two looks at whether it is free.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes the lock; none when another has it for all of `patience`.
pub(super) fn lock(path: &Path, patience: Duration) -> Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(Error::io(path))?;
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(None),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(Error::io(path)(error)),
        }
    }
}
