//! What is made and not whole yet: a backup in its folder, a store beside where it will stand. Each is locked by who makes
//! it, so that what a killed process left is told from one that is under way, and is taken away by the next.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::{create_private_folder, sync_folder};
use crate::error::{Error, Result};

/// The files that SQLite puts beside a database.
const ENDINGS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// A backup that is being written. Its manifest has another name until everything else is there, and is locked by who
/// writes it.
pub(super) struct UnfinishedBackup<'a> {
    folder: &'a Path,
    manifest: &'static str,
    files: &'a [&'static str],
    is_new_folder: bool,
    mark: File,
}

impl<'a> UnfinishedBackup<'a> {
    /// Begins one in a folder that is missing, or empty, or holds what a killed one left. It may come to hold `files` and
    /// the manifest.
    pub(super) fn begin(
        folder: &'a Path,
        files: &'a [&'static str],
        manifest: &'static str,
    ) -> Result<UnfinishedBackup<'a>> {
        let mark_name = mark_of(manifest);
        let is_left =
            || fs::exists(folder.join(&mark_name)).unwrap_or(false) && holds_only(folder, files, &mark_name);
        let is_new_folder = !is_left() && must_be_free(folder)?;
        create_private_folder(folder)?;
        let path = folder.join(&mark_name);
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let (is_own, opened) = match options.clone().create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => (false, options.open(&path)),
            opened => (true, opened),
        };
        let mark = opened.map_err(Error::io(&path))?;
        match mark.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::invalid("folder", "is being backed up to by another process"));
            }
            Err(TryLockError::Error(error)) => return Err(Error::io(&path)(error)),
        }
        let begun = UnfinishedBackup { folder, manifest, files, is_new_folder, mark };
        // Looked at again under the lock: who had it before may have finished meanwhile.
        if !is_left() {
            if is_own {
                let _ = fs::remove_file(&path);
            }
            must_be_free(folder)?;
            return Err(Error::invalid("folder", "is being backed up to by another process"));
        }
        begun.mark.set_len(0).map_err(Error::io(&path))?;
        begun.remove_files()?;
        // Nothing of it may outlast a loss of power without the mark.
        sync_folder(folder)?;
        Ok(begun)
    }

    /// Makes a backup of it.
    pub(super) fn finish(&self, manifest: &[u8]) -> Result<()> {
        let (mark, whole) = (self.folder.join(mark_of(self.manifest)), self.folder.join(self.manifest));
        (&self.mark).write_all(manifest).and_then(|()| self.mark.sync_all()).map_err(Error::io(&mark))?;
        // All other names first.
        sync_folder(self.folder)?;
        fs::rename(&mark, &whole).map_err(Error::io(&whole))?;
        sync_folder(self.folder)
    }

    /// Takes away all of it, the mark last.
    pub(super) fn discard(self) {
        let mark = self.folder.join(mark_of(self.manifest));
        let _ = fs::rename(self.folder.join(self.manifest), &mark);
        if self.remove_files().is_ok() && fs::remove_file(&mark).is_ok() && self.is_new_folder {
            let _ = fs::remove_dir(self.folder);
        }
    }

    fn remove_files(&self) -> Result<()> {
        let mark = mark_of(self.manifest);
        for entry in fs::read_dir(self.folder).map_err(Error::io(self.folder))? {
            let path = entry.map_err(Error::io(self.folder))?.path();
            if path.file_name().is_some_and(|name| name != mark.as_str() && is_of(name, self.files)) {
                fs::remove_file(&path).map_err(Error::io(&path))?;
            }
        }
        Ok(())
    }
}

fn mark_of(manifest: &str) -> String {
    format!("{manifest}.unfinished")
}

/// A store that is being made, in a folder beside where it will stand.
pub(super) struct UnfinishedStore {
    /// Where it is made.
    pub(super) draft: PathBuf,
    folder: PathBuf,
    lock: PathBuf,
    _held: File,
}

impl UnfinishedStore {
    /// Begins one for a folder that must be missing or empty. What a killed one left is taken away: it may hold what was
    /// forgotten since. A store has `files`, and folders of their names.
    pub(super) fn begin(folder: &Path, files: &[&str]) -> Result<UnfinishedStore> {
        let name = folder.file_name().ok_or_else(|| Error::invalid("store", "must name a folder"))?;
        let above = match folder.parent() {
            Some(above) if above != Path::new("") => above,
            _ => Path::new("."),
        };
        create_private_folder(above)?;
        let beside = |end: &str| -> PathBuf {
            let mut beside = OsString::from(name);
            beside.push(end);
            above.join(beside)
        };
        let (draft, lock) = (beside(".restoring"), beside(".restoring.lock"));
        let held = File::create(&lock).map_err(Error::io(&lock))?;
        if held.try_lock().is_err() {
            return Err(Error::invalid("store", "is being restored by another process"));
        }
        if let Err(error) = make_draft(&draft, files) {
            let _ = fs::remove_file(&lock);
            return Err(error);
        }
        Ok(UnfinishedStore { draft, folder: folder.to_owned(), lock, _held: held })
    }

    /// Puts it in its place.
    pub(super) fn finish(&self) -> Result<()> {
        if self.folder.exists() {
            fs::remove_dir(&self.folder).map_err(Error::io(&self.folder))?;
        }
        fs::rename(&self.draft, &self.folder).map_err(Error::io(&self.folder))?;
        sync_folder(self.draft.parent().unwrap_or(Path::new(".")))
    }
}

impl Drop for UnfinishedStore {
    /// Takes away what did not come to stand in its place, and only then gives the lock back: another process would begin
    /// in what is being removed.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.draft);
        let _ = fs::remove_file(&self.lock);
    }
}

fn make_draft(draft: &Path, files: &[&str]) -> Result<()> {
    // What holds anything else is nobody's draft.
    if draft.exists() && holds_only(draft, files, "") {
        fs::remove_dir_all(draft).map_err(Error::io(draft))?;
    }
    must_be_free(draft)?;
    create_private_folder(draft)
}

/// Nothing is ever overwritten. True if the folder is missing.
pub(super) fn must_be_free(folder: &Path) -> Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(false),
            Some(_) => Err(Error::invalid(
                "folder",
                format!(
                    "must be missing or empty: {} holds something, and nothing is overwritten",
                    folder.display()
                ),
            )),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Error::io(folder)(error)),
    }
}

/// Whether a folder holds nothing but these files, what belongs to them, and a mark.
fn holds_only(folder: &Path, files: &[&str], mark: &str) -> bool {
    let is_known = |name: &std::ffi::OsStr| name == mark || is_of(name, files);
    fs::read_dir(folder)
        .is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(|entry| is_known(&entry.file_name()))))
}

/// Whether a file is one of these, or lies beside one.
fn is_of(name: &std::ffi::OsStr, files: &[&str]) -> bool {
    let Some(name) = name.to_str() else { return false };
    files
        .iter()
        .any(|file| name.strip_prefix(file).is_some_and(|end| ENDINGS.contains(&end) || end.starts_with('.')))
}
