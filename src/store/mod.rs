//! The only truth: what was remembered, corrected and forgotten, in SQLite. Reads happen in a
//! [`Snapshot`], writes in a [`Writing`]; nothing else reaches the database.
//!
//! It knows no index, no model and no ranking. It is handed what the gates admitted.

mod append;
mod backup;
mod check;
mod cipher;
mod connection;
mod derived;
mod drafts;
mod erase;
mod events;
mod facts;
mod filter;
mod gaps;
mod held;
mod history;
mod idempotency;
mod ids;
mod jobs;
mod keys;
mod ledger;
mod leftovers;
mod mend;
mod migrate;
mod models;
mod number;
mod queue;
mod replay;
mod rows;
mod salvage;
mod schema;
mod seal;
mod secret;
mod slack;
mod snapshot;
mod traces;
mod withdraw;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use crate::broken::{Step, is_broken};
use crate::clock::Timestamp;
use crate::error::{Error, Result};

pub use append::{Vectors, Written};
pub use backup::{BackupFile, Manifest, RestoreFrom, Restored, restore};
pub use check::Finding;
pub use cipher::CipherKey;
pub(crate) use connection::{PAGE_BYTES, is_plain};
pub use derived::DERIVED;
pub use erase::{Erased, Selector};
pub use filter::{Compare, Filter, PAGE_MAX, Page, PageRequest, StateFilter};
pub(crate) use held::{Reader, open_beside};
pub use history::{AsOf, HistoryEntry};
pub use idempotency::Seen;
pub(crate) use ids::minted;
pub use jobs::{BELOW, Job, JobCounts, JobState};
pub use mend::{LedgerAside, set_damaged_ledger_aside};
pub use models::{ModelId, ModelRow, Standing};
pub use queue::Waiting;
pub use seal::PublicKey;
pub use slack::{Room, SLACK_BYTES};
pub use snapshot::{InForce, Place, Snapshot};
pub use traces::{NewTrace, TraceStore, TraceSummary};
pub use writing::Writing;

use ledger::Ledger;
use secret::Secret;
use slack::Slack;

const DATABASE_FILE: &str = "recordari.db";
/// How many idle reading connections are kept: one per thread of a busy program, about.
const READERS_KEPT: usize = 8;

/// A store in its folder.
pub struct Store {
    folder: PathBuf,
    cipher: Option<CipherKey>,
    secret: Secret,
    ledger: Mutex<Ledger>,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
    /// Set when a commit failed at the disk: whether it will be there after a crash is unknown, and
    /// only opening the store again can tell. Retrying a failed sync can report success falsely.
    poisoned: AtomicBool,
    /// The log in which all pages are that may have something in their gaps, if that is known.
    gapless: Mutex<Option<gaps::LogId>>,
    /// After every connection.
    _held: Arc<held::Held>,
}

/// What opening a store found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// The store was not there and was created.
    pub created: bool,
    /// The store's key was missing and a new one was made, or it was replaced: memories forgotten before
    /// can be kept out by id and source only, no longer by their text.
    pub new_key: bool,
    /// So many memories were forgotten again, because the database was older than the ledger.
    pub forgotten_again: usize,
}

impl Store {
    /// Opens the store in `folder`, creating folder and store when they are missing. With a cipher key its databases
    /// are encrypted, and so is the keyword index that is derived from them.
    ///
    /// # Errors
    /// `Io` or `Database` when it can't be read or written, `FormatTooNew` when a newer version wrote
    /// it, `Corrupt` when it is not sound, or lost while its key is there, or encrypted with another cipher key;
    /// `Invalid` for a cipher key where the store is not encrypted or the build can't use one.
    pub fn open(folder: &Path, cipher: Option<&CipherKey>, now: Timestamp) -> Result<(Store, Opened)> {
        cipher::must_be_usable(cipher)?;
        create_private_folder(folder)?;
        let database = folder.join(DATABASE_FILE);
        // Looked for before the database: a key is made after the schema, so one that is there says that
        // the schema was too, whatever another process does meanwhile.
        let has_key = folder.join(secret::KEY_FILE).exists();
        let existed = database.exists();
        // SQLite would fill an empty file, and throw away the journal that lies beside it.
        if has_key && !std::fs::metadata(&database).is_ok_and(|file| file.len() > 0) {
            return Err(lost(folder));
        }
        let mut writer = connection::open(&database, connection::Journal::Wal, cipher)?;
        if has_key && writer.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))? == 0 {
            return Err(lost(folder));
        }
        schema::migrate(&mut writer)?;
        connection::for_writing(&writer)?;
        let (secret, _) = Secret::open(folder)?;
        let store = Store {
            _held: held::Held::of(folder).map_err(Error::io(folder))?,
            gapless: Mutex::new(None),
            folder: folder.to_owned(),
            cipher: cipher.cloned(),
            secret,
            ledger: Mutex::new(Ledger::open(folder, cipher)?),
            writer: Mutex::new(writer),
            readers: Mutex::new(Vec::new()),
            poisoned: AtomicBool::new(false),
        };
        let new_key = replay::adopt_key(&store)?;
        let forgotten_again = replay::replay_ledger(&store, now)?;
        Ok((store, Opened { created: !existed, new_key, forgotten_again }))
    }

    /// The folder that the store lies in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives up the slack of the store in a folder, if the disk is full, for as long as the value lives: opening makes
    /// small files, and forgetting writes before it erases.
    pub fn room(folder: &Path) -> Option<Room> {
        Slack::of(folder).room()
    }

    /// Runs `work`, and once more with the slack given up when it ends with a full disk. A disk that is seen to be full
    /// beforehand is not tried without.
    ///
    /// # Errors
    /// What `work` returns.
    pub fn with_room<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        let slack = Slack::of(&self.folder);
        let room = slack.room();
        match work() {
            Err(error) if room.is_none() && slack::is_full(&error) => match slack.give_up() {
                Some(_room) => work(),
                None => Err(error),
            },
            done => done,
        }
    }

    /// How much of the disk the store keeps for opening and forgetting when it is full, in bytes; [`SLACK_BYTES`] where
    /// there is room for it.
    pub fn slack(&self) -> u64 {
        Slack::of(&self.folder).bytes()
    }

    /// Keeps the slack again, if there is room for it.
    pub fn keep_slack(&self) {
        Slack::of(&self.folder).keep();
    }

    /// The key that it is encrypted with, if it is.
    pub fn cipher(&self) -> Option<&CipherKey> {
        self.cipher.as_ref()
    }

    /// Another connection to the database.
    fn connect(&self) -> Result<Connection> {
        connection::open(&self.folder.join(DATABASE_FILE), connection::Journal::Wal, self.cipher())
    }

    /// The folder for what can be derived again.
    pub fn derived_folder(&self) -> PathBuf {
        self.folder.join("derived")
    }

    /// A view of the store as it is now; it does not change while it is held.
    pub fn snapshot(&self) -> Result<Snapshot<'_>> {
        let idle = lock(&self.readers).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect()?,
        };
        Snapshot::begin(self, connection)
    }

    /// Runs one immediate transaction: everything in `work` happens, durably, or nothing does.
    ///
    /// # Errors
    /// What `work` returns; `Locked` when another process writes for too long; `Database` when the disk
    /// fails, after which this store refuses writes until it is opened again.
    pub fn write<T>(&self, now: Timestamp, work: impl FnOnce(&Writing<'_>) -> Result<T>) -> Result<T> {
        if self.poisoned.load(Ordering::SeqCst) {
            return Err(Error::Database("an earlier write failed at the disk; open the store again".into()));
        }
        let mut writer = lock(&self.writer);
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&Writing::new(&transaction, &self.secret, now))?;
        if let Err(error) = transaction.commit() {
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure) {
                self.poisoned.store(true, Ordering::SeqCst);
            }
            return Err(error.into());
        }
        Ok(done)
    }

    /// Runs `work` as [`Store::write`] does and takes everything back: what would happen, without it happening.
    pub fn rehearse<T>(&self, now: Timestamp, work: impl FnOnce(&Writing<'_>) -> Result<T>) -> Result<T> {
        let mut writer = lock(&self.writer);
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let seen = work(&Writing::new(&transaction, &self.secret, now))?;
        transaction.rollback()?;
        Ok(seen)
    }

    /// A keyed digest of a projection, so that a trace can prove what was shown without holding it.
    pub fn projection_digest(&self, projection: &str) -> String {
        let digest = self.secret.digest(secret::Of::Projection, &[projection]);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Copies what the journal holds into the database and empties it, and the unused space of pages, so that erased bytes
    /// are in neither. False when others read or write for all of `patience` and it could not be emptied.
    ///
    /// # Errors
    /// `Database` when the disk refuses, or has less room than the database would grow by.
    pub fn truncate_journal(&self, patience: Duration) -> Result<bool> {
        if is_broken(Step::Journal) {
            return Ok(true);
        }
        let writer = lock(&self.writer);
        // To begin it would use up what is kept for a full disk, and the store could not be opened any more.
        let growth = self.growth(&writer)?;
        if Slack::of(&self.folder).free().is_some_and(|free| free < growth) {
            return Err(Error::Database("the disk has no room for what the journal holds".into()));
        }
        self.empty_journal_and_gaps(&writer, patience)
    }

    /// By how many bytes the database would grow if the journal were copied into it.
    fn growth(&self, writer: &Connection) -> Result<u64> {
        let number = |name: &str| writer.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let page_bytes = match self.cipher {
            // An encrypted database does not tell.
            Some(_) => u64::from(PAGE_BYTES),
            None => number("page_size")? as u64,
        };
        let whole = number("page_count")? as u64 * page_bytes;
        let database = self.folder.join(DATABASE_FILE);
        Ok(whole.saturating_sub(std::fs::metadata(&database).map_err(Error::io(&database))?.len()))
    }

    fn give_back(&self, connection: Connection) {
        let mut readers = lock(&self.readers);
        if readers.len() < READERS_KEPT {
            readers.push(connection);
        }
    }
}

/// A panic while the lock was held leaves no half-done state behind: transactions roll back.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// To begin anew would pass for an empty store, and hide that everything is gone.
fn lost(folder: &Path) -> Error {
    Error::Corrupt(format!(
        "{} has a key and no memories: restore {DATABASE_FILE} from a backup, or move {} and ledger.db away to begin an empty store",
        folder.display(),
        secret::KEY_FILE
    ))
}

/// Makes a folder, and those above it that are missing, for nobody else to look into. They are there after a loss of
/// power too, which what is synced in them would not see to everywhere.
pub(crate) fn create_private_folder(folder: &Path) -> Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|above| !above.exists()).collect();
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(Error::io(folder))?;
    missing.into_iter().filter_map(Path::parent).try_for_each(sync_folder)
}

/// Makes durable which names a folder holds.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    // What is above a relative name is the empty one.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    #[cfg(unix)]
    match std::fs::File::open(folder) {
        Ok(opened) => opened.sync_all().map_err(Error::io(folder))?,
        // Names can be made in a folder that may not be read.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {}
        Err(error) => return Err(Error::io(folder)(error)),
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
