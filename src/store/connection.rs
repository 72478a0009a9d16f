//! Opens a connection the way every connection to a store must be opened, and checks that it is.
//! Knows SQLite's settings, not the schema.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::cipher::{CipherKey, must_be_usable};
use super::held::open_beside;
use crate::broken::{Step, is_broken};
use crate::error::{Error, Result};

/// SQLite releases before this one can corrupt a WAL database written by two connections at once.
const SQLITE_VERSION_MIN: i32 = 3_051_003;
/// How long a statement waits for another process's lock before it gives up. SQLite keeps no queue: of many writers one
/// may be passed over for seconds.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// How many prepared statements a connection keeps: more than there are, since preparing one again costs
/// several times what running it does.
const STATEMENTS_KEPT: usize = 128;
/// How much of the database every other connection keeps, in KiB: the inner nodes of its trees, and some leaves.
/// What more keeps is slower to reach than the system's cache, which has it too: memory in small pages lies beyond
/// what the processor can address quickly.
const CACHE_KIB: i64 = 2_048;
/// How much of the database the one writing connection keeps in memory, in KiB: the keys of its indexes are
/// random, so that every write touches pages all over them. Every commit walks through all of it.
const WRITER_CACHE_KIB: i64 = 16_384;
/// How many pages the journal may hold before it is copied into the database: the same pages are written
/// again and again, and the fewer copies the better.
const JOURNAL_PAGES: i64 = 8_000;
/// The page size of new databases: a vector of 384 numbers fits into one page without overflow.
pub(crate) const PAGE_BYTES: u32 = 8192;

/// Which journal a database uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Journal {
    /// Readers beside one writer: the store itself.
    Wal,
    /// A single small file: the ledger and the traces.
    Truncate,
}

/// Opens the database at `path`, creating it when it is missing, and sets and checks what durability
/// and erasure rest on. They hold per connection, so every connection comes from here. With a key the file is an
/// encrypted one.
pub(super) fn open(path: &Path, journal: Journal, cipher: Option<&CipherKey>) -> Result<Connection> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN {
        return Err(Error::Corrupt(format!(
            "SQLite {} can corrupt a WAL; 3.51.3 is needed",
            rusqlite::version()
        )));
    }
    must_be_usable(cipher)?;
    create_private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| unreadable(path, cipher, error))?;
    // Whoever can't read it leaves a journal that lies beside it as it is.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    if let Some(cipher) = cipher {
        cipher.unlock(&connection, PAGE_BYTES)?;
    }
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    let mode = match journal {
        Journal::Wal => "wal",
        Journal::Truncate => "truncate",
    };
    let in_force = journal_mode(&connection, mode).map_err(|error| match cipher {
        _ if is_busy(&error) => error.into(),
        Some(_) if is_plain(path) => Error::invalid("cipher key", not_encrypted(path)),
        _ => unreadable(path, cipher, error),
    })?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let overwrite = if is_broken(Step::SecureDelete) { "OFF" } else { "ON" };
    connection.pragma_update_and_check(None, "secure_delete", overwrite, |_| Ok(()))?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Nothing may spill outside the store's folder, and a hostile file may run nothing.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Without it a statement is planned again whenever a value is bound to it, which takes longer than
    // running it: half of a recall's time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    check(&connection, mode, &in_force)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(connection)
}

/// Sets the journal mode, and tells which is in force. While another connection does the same SQLite refuses
/// at once, without the wait that every other statement has: several programs may open a new store together.
fn journal_mode(connection: &Connection, mode: &str) -> rusqlite::Result<String> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        let set = connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0));
        match &set {
            Err(error) if is_busy(error) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => return set,
        }
    }
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

/// Prepares the connection that writes.
pub(super) fn for_writing(connection: &Connection) -> Result<()> {
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", JOURNAL_PAGES, |_| Ok(()))?;
    Ok(())
}

fn check(connection: &Connection, mode: &str, in_force: &str) -> Result<()> {
    let setting = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let holds = in_force == mode
        && setting("synchronous")? == 2
        && (setting("secure_delete")? == 1 || is_broken(Step::SecureDelete))
        && setting("foreign_keys")? == 1;
    if holds {
        Ok(())
    } else {
        Err(Error::Corrupt("SQLite did not take the settings that durability needs".to_owned()))
    }
}

/// Creates the file with mode 0600 before SQLite would create it with the process's mask; the journal
/// files take over the mode of the database.
pub(super) fn create_private(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::io(path)(error)),
    }
}

/// How a database begins that is not encrypted.
const PLAIN: &[u8; 16] = b"SQLite format 3\0";

/// Whether a file is a database that is not encrypted.
pub(crate) fn is_plain(path: &Path) -> bool {
    let mut begin = [0; PLAIN.len()];
    open_beside(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == *PLAIN
}

fn not_encrypted(path: &Path) -> String {
    format!(
        "is given, and {} is not encrypted: open it without one, or back it up and restore the copy with the key",
        path.display()
    )
}

/// A file that is no database is the operator's to look at; nothing is overwritten.
pub(super) fn unreadable(path: &Path, cipher: Option<&CipherKey>, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
            let hint = match (is_plain(path), cipher) {
                (true, _) => "",
                (false, None) => "; if it is encrypted, its cipher key must be named",
                (false, Some(_)) => "; if it is encrypted, it was not with this cipher key",
            };
            Error::Corrupt(format!("{} is not a sound database: {error}{hint}", path.display()))
        }
        _ => error.into(),
    }
}
