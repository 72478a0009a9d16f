//! Is the index in this folder sound? Opens, checks, discards and creates; knows no terms.
//!
//! Files are replaced under the writer lock only, and read under the lock that keeps the writer from
//! collecting them meanwhile. Both are advisory locks of the operating system, so they end with
//! the process that holds them, however it ends.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{LockError, OpenReadError};
use tantivy::directory::{Directory, DirectoryLock, INDEX_WRITER_LOCK, META_LOCK};
use tantivy::index::{IndexMeta, SegmentMeta};
use tantivy::{Index, TantivyError};

use crate::broken::{Step, is_broken};
use crate::error::{Error, Result};

use super::Condition;
use super::contain::contained;
use super::home::Home;
use super::payload::Payload;
use super::schema::{FIELDS, settings};
use super::segment::Segment;
use super::view::View;

/// The file that describes a commit; it is replaced as a whole.
const META: &str = "meta.json";

/// How many bytes of files are read through when they are opened for reading. Of a larger index that would take
/// longer than all that is asked of it: it is read through later, by whoever has the time.
const READ_AT_ONCE: u64 = 4 << 20;

/// Which checksums are compared when an index is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// All.
    Thorough,
    /// All of a small index, none of a large one.
    Quick,
}

/// A sound index, its newest commit loaded.
pub(super) struct Loaded {
    pub index: Index,
    pub view: View,
    /// Whether the checksums of any file were left for later.
    pub unread: bool,
    meta: Vec<u8>,
}

impl Loaded {
    /// Says whether the commit that is loaded is still the newest.
    pub(super) fn is_newest(&self, folder: &Path) -> bool {
        fs::read(folder.join(META)).is_ok_and(|meta| meta == self.meta)
    }
}

/// Why there is no sound index.
pub(super) enum Flaw {
    /// There is none.
    Absent,
    /// There is one that can't be used.
    Unusable(String),
    /// The operating system refuses; that says nothing about the index.
    Environment(Error),
}

impl From<Flaw> for Error {
    fn from(flaw: Flaw) -> Error {
        match flaw {
            Flaw::Absent => Error::Index("there is no index".to_owned()),
            Flaw::Unusable(why) => Error::Index(why),
            Flaw::Environment(error) => error,
        }
    }
}

/// Opens the index in `folder`, whatever it takes. None when that must wait for another process.
pub(super) fn prepare(home: &Home, care: Care) -> Result<(Option<Loaded>, Condition)> {
    let folder = home.folder();
    fs::create_dir_all(folder).map_err(Error::io(folder))?;
    match load(home, None, care) {
        Ok(loaded) => return Ok((Some(loaded), Condition::Found)),
        Err(Flaw::Environment(error)) => return Err(error),
        Err(Flaw::Absent | Flaw::Unusable(_)) => {}
    }
    // Looked at again under the lock: another process may have just done what is to be done.
    let lock = home.directory()?.acquire_lock(&INDEX_WRITER_LOCK);
    let flaw = match load(home, None, care) {
        Ok(loaded) => return Ok((Some(loaded), Condition::Found)),
        Err(Flaw::Environment(error)) => return Err(error),
        Err(flaw) => flaw,
    };
    let why = match &flaw {
        Flaw::Unusable(why) => why.clone(),
        _ => "it has not been created yet".to_owned(),
    };
    let _lock = match lock {
        Ok(lock) => lock,
        Err(LockError::LockBusy) => return Ok((None, Condition::Awaited { why })),
        Err(LockError::IoError(error)) => return Err(Error::Index(error.to_string())),
    };
    let generation = fs::read(folder.join(META)).map_or(0, |meta| Payload::salvage_generation(&meta));
    wipe(folder)?;
    create(home, Payload { generation: generation + 1, ..Payload::default() })?;
    let loaded = load(home, None, care)?;
    let condition =
        if matches!(flaw, Flaw::Absent) { Condition::Created } else { Condition::Discarded { why } };
    Ok((Some(loaded), condition))
}

/// Loads the newest commit. What `earlier` has open is taken over, and not checked again.
pub(super) fn load(home: &Home, earlier: Option<&Loaded>, care: Care) -> Result<Loaded, Flaw> {
    let mut flaw = None;
    let loaded = contained(|| {
        try_load(home, earlier, care).map_err(|found| {
            flaw = Some(found);
            Error::Index(String::new())
        })
    });
    loaded.map_err(|panicked| flaw.unwrap_or(Flaw::Unusable(panicked.to_string())))
}

fn try_load(home: &Home, earlier: Option<&Loaded>, care: Care) -> Result<Loaded, Flaw> {
    let folder = home.folder();
    let directory = home.directory().map_err(Flaw::Environment)?;
    let _lock = directory.acquire_lock(&META_LOCK).map_err(|error| environment(&error.to_string()))?;
    let meta = match fs::read(folder.join(META)) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(without_meta(folder)),
        Err(error) => return Err(environment(&error.to_string())),
    };
    let index = match earlier {
        Some(earlier) => earlier.index.clone(),
        None => Index::open(directory)?,
    };
    // Read again by the library: a commit between the two readings makes the next reload load once more.
    let metas = index.load_metas()?;
    if metas.schema != FIELDS.schema {
        return Err(Flaw::Unusable("it has another layout".to_owned()));
    }
    let payload = payload(&metas)?;
    let known = earlier.map_or(&[][..], |earlier| earlier.view.segments());
    let files = metas.list_segment_files();
    let bytes = |file: &PathBuf| fs::metadata(folder.join(file)).map_or(0, |found| found.len());
    let is_large = files.iter().map(bytes).sum::<u64>() > READ_AT_ONCE;
    // What came since is checked at once: that follows what was written, not what there is.
    let skip = care == Care::Quick && is_large && earlier.is_none();
    let open = |meta| open_segment(&index, meta, &files, known, skip);
    let segments = metas.segments.iter().map(open).collect::<Result<_, Flaw>>()?;
    let unread = skip || care == Care::Quick && earlier.is_some_and(|earlier| earlier.unread);
    Ok(Loaded { index, view: View::new(payload, segments), unread, meta })
}

/// Only an index without any segment may lack a payload: it has been created this moment.
fn payload(metas: &IndexMeta) -> Result<Payload, Flaw> {
    match &metas.payload {
        None if metas.segments.is_empty() => Ok(Payload::default()),
        written => {
            let read = Payload::read(written.as_deref().unwrap_or_default());
            read.map_err(|refused| Flaw::Unusable(refused.to_string()))
        }
    }
}

fn open_segment(
    index: &Index,
    meta: &SegmentMeta,
    files: &HashSet<PathBuf>,
    known: &[Arc<Segment>],
    skip: bool,
) -> Result<Arc<Segment>, Flaw> {
    if let Some(segment) = known.iter().find(|segment| segment.is(meta.id(), meta.delete_opstamp())) {
        return Ok(Arc::clone(segment));
    }
    // Of a segment that is known only the list of removals can have changed.
    let is_known = known.iter().any(|segment| segment.id() == meta.id());
    let id = meta.id().uuid_string();
    for file in files.iter().filter(|file| file.to_str().is_some_and(|name| name.starts_with(&id))) {
        if skip {
            break;
        }
        if is_known && file.extension().is_none_or(|extension| extension != "del") {
            continue;
        }
        check(index, file)?;
    }
    let segment =
        Segment::open(&index.segment(meta.clone())).map_err(|error| Flaw::Unusable(error.to_string()))?;
    Ok(Arc::new(segment))
}

/// Verifies the checksum of a file, if it exists: some are optional, and one that is needed will be
/// missed on opening.
fn check(index: &Index, file: &Path) -> Result<(), Flaw> {
    match index.directory().validate_checksum(file) {
        Ok(true) | Err(OpenReadError::FileDoesNotExist(_)) => Ok(()),
        Ok(false) => Err(Flaw::Unusable("a file does not match its checksum".to_owned())),
        Err(error) => Err(TantivyError::from(error).into()),
    }
}

/// Verifies the checksum of every file of the newest commit.
pub(super) fn verify(index: &Index) -> Result<()> {
    Ok(index.load_metas()?.list_segment_files().iter().try_for_each(|file| check(index, file))?)
}

impl From<TantivyError> for Flaw {
    fn from(error: TantivyError) -> Flaw {
        let os = match &error {
            TantivyError::IoError(error) => Some(error),
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => Some(io_error),
            _ => None,
        };
        // Too many open files, or no permission, is no fault of the files.
        match os {
            Some(os) if os.raw_os_error().is_some() && os.kind() != io::ErrorKind::NotFound => {
                environment(&os.to_string())
            }
            _ => Flaw::Unusable(error.to_string()),
        }
    }
}

fn environment(message: &str) -> Flaw {
    Flaw::Environment(Error::Index(message.to_owned()))
}

fn without_meta(folder: &Path) -> Flaw {
    match own_files(folder) {
        Ok(files) if files.is_empty() => Flaw::Absent,
        Ok(_) => Flaw::Unusable(format!("{META} is missing")),
        Err(error) => Flaw::Environment(error),
    }
}

/// An index that nobody else can write while this lives, to be replaced as a whole.
pub struct Taken {
    home: Home,
    generation: u64,
    _lock: DirectoryLock,
}

impl Taken {
    /// Takes the index in a folder, whatever its state; none while somebody writes it.
    pub fn of(home: &Home) -> Result<Option<Taken>> {
        let lock = match home.directory()?.acquire_lock(&INDEX_WRITER_LOCK) {
            Ok(lock) => lock,
            Err(LockError::LockBusy) => return Ok(None),
            Err(LockError::IoError(error)) => return Err(Error::Index(error.to_string())),
        };
        let generation = match load(home, None, Care::Quick) {
            Ok(loaded) => loaded.view.generation(),
            Err(_) => fs::read(home.folder().join(META)).map_or(0, |meta| Payload::salvage_generation(&meta)),
        };
        Ok(Some(Taken { home: home.clone(), generation, _lock: lock }))
    }

    /// The generation that it had.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Puts the index of another folder, which nobody has open for writing, in the place of this one. Its files
    /// come first and its description last, in one step: whoever loads finds the old one or the new one. A crash
    /// leaves files that the next purge takes away.
    pub fn replace_by(self, other: &Path) -> Result<()> {
        let folder = self.home.folder();
        let meta_lock = self.home.directory()?.acquire_lock(&META_LOCK);
        let _meta_lock = meta_lock.map_err(|error| Error::Index(error.to_string()))?;
        for name in own_files(other)?.iter().filter(|name| !name.ends_with(".json")) {
            rename(&other.join(name), &folder.join(name))?;
        }
        sync(folder)?;
        rename(&other.join(META), &folder.join(META))?;
        sync(folder)
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(Error::io(from))
}

/// Makes what a folder lists durable.
fn sync(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    fs::File::open(folder).and_then(|opened| opened.sync_all()).map_err(Error::io(folder))?;
    Ok(())
}

/// Creates an empty index whose first commit already has a payload.
fn create(home: &Home, payload: Payload) -> Result<()> {
    let index = Index::create(home.directory()?, FIELDS.schema.clone(), settings())?;
    let mut metas = index.load_metas()?;
    metas.payload = Some(payload.write());
    let bytes = serde_json::to_vec_pretty(&metas).map_err(|error| Error::Index(error.to_string()))?;
    let meta = Path::new(META);
    index.directory().atomic_write(meta, &bytes).map_err(Error::io(&home.folder().join(meta)))
}

/// Deletes every file of an index. What is not the library's, and the locks, stay.
fn wipe(folder: &Path) -> Result<()> {
    // The description first: without it nobody takes the rest for an index.
    let mut files = own_files(folder)?;
    files.sort_by_key(|name| name != META);
    files.iter().try_for_each(|name| remove(&folder.join(name)))
}

/// Deletes every file of the library that the newest commit doesn't need: what a crash left behind. A loss of power does
/// not bring it back.
///
/// The caller holds the writer lock and has nothing uncommitted.
pub(super) fn sweep(folder: &Path, index: &Index) -> Result<()> {
    let _lock =
        index.directory().acquire_lock(&META_LOCK).map_err(|error| Error::Index(error.to_string()))?;
    if is_broken(Step::Sweep) {
        return Ok(());
    }
    let needed = index.load_metas()?.list_segment_files();
    let mut left = own_files(folder)?;
    left.retain(|name| !name.ends_with(".json") && !needed.contains(Path::new(name)));
    left.iter().try_for_each(|name| remove(&folder.join(name)))?;
    if left.is_empty() { Ok(()) } else { sync(folder) }
}

/// The files in `folder` that are named as the library names its files, locks excepted.
fn own_files(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let name = entry.map_err(Error::io(folder))?.file_name();
        names.extend(name.into_string().ok().filter(|name| is_own(name)));
    }
    Ok(names)
}

fn is_own(name: &str) -> bool {
    let is_segment = |stem: &str| stem.len() == 32 && stem.bytes().all(|b| b.is_ascii_hexdigit());
    name == META
        || name == ".managed.json"
        || name.starts_with(".tmp")
        || name.split_once('.').is_some_and(|(stem, _)| is_segment(stem))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(path)(error)),
        _ => Ok(()),
    }
}
