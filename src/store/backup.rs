//! Copies of a store to keep elsewhere, and stores made of them. A copy is whole or no backup: its manifest, with the
//! hash of every file, comes last. A store is made beside where it will stand, told everything that was
//! forgotten since, and only then put in its place.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde::{Deserialize, Serialize};

use super::cipher::{self, CipherKey};
use super::drafts::{UnfinishedBackup, UnfinishedStore, must_be_free};
use super::ledger::{LEDGER_FILE, Ledger};
use super::replay::REPLAYED;
use super::secret::{KEY_FILE, Secret};
use super::slack::SLACK_FILE;
use super::writing::Writing;
use super::{DATABASE_FILE, Store, check, connection, events, lock, sync_folder};
use crate::change::Seq;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::record::MemoryId;

/// The list of a backup's files.
const MANIFEST_FILE: &str = "backup.json";
/// What a manifest has to be like for this program to read it.
const VERSION: u32 = 1;
/// Settings that lie in a store's folder and belong to it.
const SETTINGS: [&str; 2] = ["policy.toml", "config.toml"];
/// The largest manifest and settings that are read.
const TEXT_MAX: u64 = 1 << 20;
/// How many backups a store remembers to have made.
const BACKUPS_NOTED: usize = 100;
/// How long a restored store's journal may take to be emptied: nobody else has it open.
const JOURNAL_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// A copy of a store, as its manifest describes it. No content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of this description.
    pub recordari_backup: u32,
    /// When it was made, in RFC 3339.
    pub made_at: String,
    /// The last event that it holds.
    pub last_event: u64,
    /// How many versions of memories have content in it.
    pub records: u64,
    /// How many tombstones its ledger holds.
    pub tombstones: u64,
    /// Which key the store had; the key itself is in no backup.
    pub key: String,
    /// Its files.
    pub files: Vec<BackupFile>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupFile {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its BLAKE3 hash, in hexadecimal digits.
    pub blake3: String,
}

/// Where a restored store learns what was forgotten since the backup, and its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreFrom {
    /// A store's folder, or the `ledger.db` of one: the newest that is known.
    pub ledger: Option<PathBuf>,
    /// The `store.key` of the store that was backed up; none: that of the folder in `ledger`, if it is the one.
    pub key: Option<PathBuf>,
    /// What the backup is encrypted with; of no account if it is not.
    pub cipher: Option<CipherKey>,
    /// What the ledger is encrypted with; none: with one of the other two keys. Of no account if it is not encrypted.
    pub ledger_cipher: Option<CipherKey>,
    /// What the new store is encrypted with, whatever the backup was; none: it is not.
    pub new_cipher: Option<CipherKey>,
}

/// What a restore came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The backup.
    pub backup: Manifest,
    /// How many tombstones and blocked sources the given ledger had that the backup did not; none: no ledger was given.
    pub newer_in_ledger: Option<u64>,
    /// The memories that the backup still had and that were forgotten since: they are gone from the store.
    pub removed: Vec<MemoryId>,
    /// The store has another key than the one that was backed up: what was forgotten is kept out by id and source,
    /// no longer by its text, and receipts are signed with another key.
    pub new_key: bool,
}

impl Store {
    /// Writes a copy of the store as it is now into a folder, which must be missing or empty, or hold what a killed backup
    /// left. Others may go on reading and writing. What was copied is checked afterwards as it lies on the disk.
    ///
    /// The copy holds the database, the ledger, and the settings in the store's folder; not the key, the traces, nor
    /// what can be derived.
    ///
    /// # Errors
    /// `Invalid` when the folder holds anything; `Io` or `Database` when it can't be written, after which nothing is
    /// left in it; `Corrupt` when the copy is not sound, which says that the store is not.
    pub fn backup(&self, folder: &Path, now: Timestamp) -> Result<Manifest> {
        let files: Vec<&'static str> = files_of_backups().collect();
        let unfinished = UnfinishedBackup::begin(folder, &files, MANIFEST_FILE)?;
        // Noted before anything is copied: what is forgotten meanwhile may be in the copy, and its receipt says so.
        let made_at = now.to_string();
        let made = self
            .write(now, |writing| writing.note_backup(&made_at, true))
            .and_then(|()| self.copy_into(folder, now))
            .and_then(|manifest| {
                let text =
                    serde_json::to_string_pretty(&manifest).expect("a manifest is plain text and numbers");
                unfinished.finish(format!("{text}\n").as_bytes())?;
                Ok(manifest)
            });
        made.inspect_err(|_| {
            let _ = self.write(now, |writing| writing.note_backup(&made_at, false));
            unfinished.discard();
        })
    }

    fn copy_into(&self, folder: &Path, now: Timestamp) -> Result<Manifest> {
        let database = folder.join(DATABASE_FILE);
        let reader = self.connect()?;
        copy_database(&reader, &database, self.cipher())?;
        // After the database: what it says is forgotten is in this ledger, whatever comes in between.
        let ledger = folder.join(LEDGER_FILE);
        let tombstones = {
            let mine = lock(&self.ledger);
            copy_database(mine.connection(), &ledger, self.cipher())?;
            mine.counts()?.0 as u64
        };
        for name in SETTINGS {
            if let Some(text) = small_file(&self.folder.join(name))? {
                write_private(&folder.join(name), &text)?;
            }
        }
        let mut files = Vec::new();
        for name in files_of_backups().filter(|name| folder.join(name).exists()) {
            let (bytes, blake3) = hashed(&folder.join(name), &mut std::io::sink())?;
            files.push(BackupFile { name: name.to_owned(), bytes, blake3 });
        }
        let (last_event, records) = sound(&database, self.cipher())?;
        Ok(Manifest {
            recordari_backup: VERSION,
            made_at: now.to_string(),
            last_event,
            records,
            tombstones,
            key: self.secret.fingerprint(),
            files,
        })
    }
}

impl Writing<'_> {
    /// Notes a backup, so that receipts can tell which may still hold what they are about; or takes it back.
    fn note_backup(&self, made_at: &str, is_made: bool) -> Result<()> {
        let mut noted = self.backups()?;
        match is_made {
            true => noted.push(made_at.to_owned()),
            false => noted.retain(|other| other != made_at),
        }
        let first = noted.len().saturating_sub(BACKUPS_NOTED);
        if first > 0 {
            self.connection().execute(
                "INSERT INTO meta (key, value) VALUES ('older_backups', ?1)
                 ON CONFLICT (key) DO UPDATE SET value = value + ?1",
                [first as i64],
            )?;
        }
        let list = serde_json::to_string(&noted[first..]).expect("times are plain text");
        self.connection()
            .execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('backups', ?1)", [list])?;
        Ok(())
    }

    /// How many backups were made before those of [`Writing::backups`].
    pub fn older_backups(&self) -> Result<u64> {
        let noted: Option<i64> = self
            .connection()
            .prepare_cached("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'older_backups'")?
            .query_row([], |row| row.get(0))
            .optional()?;
        Ok(noted.unwrap_or(0) as u64)
    }

    /// When backups were made, oldest first: the last hundred.
    pub fn backups(&self) -> Result<Vec<String>> {
        let noted: Option<String> = self
            .connection()
            .prepare_cached("SELECT value FROM meta WHERE key = 'backups'")?
            .query_row([], |row| row.get(0))
            .optional()?;
        Ok(noted.and_then(|noted| serde_json::from_str(&noted).ok()).unwrap_or_default())
    }
}

/// Makes a store of a backup, in a folder that must be missing or empty. It is there as a whole, with everything
/// forgotten that the ledgers know of, or not at all.
///
/// # Errors
/// `Invalid` when the folder holds anything, or a key or ledger is of another store; `Corrupt`, with the file, when the
/// backup is not whole or not as it was written; otherwise as [`Store::open`]. Nothing is left in the folder.
pub fn restore(backup: &Path, folder: &Path, from: &RestoreFrom, now: Timestamp) -> Result<Restored> {
    for cipher in [&from.cipher, &from.ledger_cipher, &from.new_cipher] {
        cipher::must_be_usable(cipher.as_ref())?;
    }
    let manifest = read_manifest(backup)?;
    must_be_free(folder)?;
    let key = key_of(&manifest, from)?;
    let files: Vec<&str> = files_of_backups().chain([KEY_FILE, SLACK_FILE, "derived", "traces.db"]).collect();
    let unfinished = UnfinishedStore::begin(folder, &files)?;
    let restored = restore_into(backup, &unfinished.draft, manifest, from, key, now)?;
    unfinished.finish()?;
    Ok(restored)
}

fn restore_into(
    backup: &Path,
    draft: &Path,
    manifest: Manifest,
    from: &RestoreFrom,
    key: Option<Vec<u8>>,
    now: Timestamp,
) -> Result<Restored> {
    for file in &manifest.files {
        let (source, target) = (backup.join(&file.name), draft.join(&file.name));
        let mut copy = create_private(&target)?;
        let before = from.cipher.as_ref().filter(|_| !connection::is_plain(&source));
        let changes =
            [DATABASE_FILE, LEDGER_FILE].contains(&file.name.as_str()) && before != from.new_cipher.as_ref();
        let (bytes, blake3) = match changes {
            true => hashed(&source, &mut std::io::sink())?,
            false => hashed(&source, &mut copy)?,
        };
        if (bytes, &blake3) != (file.bytes, &file.blake3) {
            return Err(Error::Corrupt(format!("{} is not as it was backed up", source.display())));
        }
        if changes {
            // Never as it is on the way: what is to be encrypted is nowhere in the clear.
            cipher::export_file(&source, before, &target, from.new_cipher.as_ref())?;
        }
        copy.sync_all().map_err(Error::io(draft))?;
    }
    if let Some(key) = &key {
        write_private(&draft.join(KEY_FILE), key)?;
    }
    let newer_in_ledger = match &from.ledger {
        Some(newest) => Some(add_ledger(draft, newest, from)?),
        None => None,
    };
    let (store, _) = Store::open(draft, from.new_cipher.as_ref(), now)?;
    let removed = forgotten_again(&lock(&store.writer), Seq(manifest.last_event))?;
    // What was removed is in no journal either.
    if !store.truncate_journal(JOURNAL_PATIENCE)? {
        return Err(Error::Corrupt("the journal of the restored store could not be emptied".to_owned()));
    }
    drop(store);
    sync_folder(draft)?;
    Ok(Restored { backup: manifest, newer_in_ledger, removed, new_key: key.is_none() })
}

/// Brings the draft's ledger to what it and another know; tells how much it lacked.
fn add_ledger(draft: &Path, newest: &Path, from: &RestoreFrom) -> Result<u64> {
    let path = if newest.is_dir() { newest.join(LEDGER_FILE) } else { newest.to_owned() };
    // Opening would make one.
    let found = File::open(&path).and_then(|file| file.metadata()).map_err(Error::io(&path))?;
    if found.len() == 0 {
        return Err(Error::invalid("ledger", format!("must be a ledger: {} is empty", path.display())));
    }
    // Of the store that was backed up, or of one that was made of it since, with another cipher key.
    let is_plain = connection::is_plain(&path);
    let ciphers = match &from.ledger_cipher {
        Some(_) => vec![&from.ledger_cipher],
        None => vec![&from.cipher, &from.new_cipher],
    };
    let tried = ciphers.into_iter().filter(|cipher| cipher.is_some() != is_plain).map(Option::as_ref);
    let opened = tried.map(|cipher| Ledger::at(&path, cipher)).reduce(Result::or);
    let other = opened.unwrap_or_else(|| Ledger::at(&path, None))?;
    let mut mine = Ledger::open(draft, from.new_cipher.as_ref())?;
    let identity = {
        let database = draft.join(DATABASE_FILE);
        let connection =
            connection::open(&database, connection::Journal::Truncate, from.new_cipher.as_ref())?;
        events::identity(&connection)?
    };
    let not_of_it = || Error::invalid("ledger", "must be of the store that was backed up");
    // A ledger of an earlier version does not tell whose it is.
    if ![0, identity].contains(&other.identity()?) && identity != 0 {
        return Err(not_of_it());
    }
    let ids = |ledger: &Ledger| -> Result<BTreeSet<(String, u32)>> {
        let id = |one: super::ledger::Tombstone| (one.memory_id.as_str().to_owned(), one.generation);
        Ok(ledger.tombstones()?.into_iter().map(id).collect())
    };
    // Of one store the newer ledger holds all that the older does.
    let (here, there) = (ids(&mine)?, ids(&other)?);
    if !here.is_subset(&there) && !there.is_subset(&here) {
        return Err(not_of_it());
    }
    let counted =
        |ledger: &Ledger| ledger.counts().map(|(tombstones, sources)| (tombstones + sources) as u64);
    let before = counted(&mine)?;
    mine.add(&other.tombstones()?, &other.sources()?)?;
    Ok(counted(&mine)? - before)
}

fn forgotten_again(connection: &Connection, after: Seq) -> Result<Vec<MemoryId>> {
    let mut statement = connection.prepare(
        "SELECT DISTINCT memory_id FROM events AS e
         WHERE seq > ?1 AND reason = ?2 AND type = 'forgotten' AND memory_id IS NOT NULL
           AND EXISTS (SELECT 1 FROM events AS b WHERE b.memory_id = e.memory_id AND b.seq <= ?1)
         ORDER BY memory_id",
    )?;
    let found =
        statement.query_map(rusqlite::params![after.0 as i64, REPLAYED], |row| row.get::<_, String>(0))?;
    let found: Vec<String> = found.collect::<rusqlite::Result<_>>()?;
    Ok(found.into_iter().map(MemoryId::new).collect())
}

/// The key for a restored store, if the right one is at hand.
fn key_of(manifest: &Manifest, from: &RestoreFrom) -> Result<Option<Vec<u8>>> {
    let beside = from.ledger.as_ref().filter(|ledger| ledger.is_dir()).map(|folder| folder.join(KEY_FILE));
    let Some(path) = from.key.clone().or(beside.filter(|path| path.exists())) else {
        return Ok(None);
    };
    let bytes = small_file(&path)?
        .ok_or_else(|| Error::io(&path)(std::io::Error::from(std::io::ErrorKind::NotFound)))?;
    match Secret::of(&bytes) {
        Some(secret) if secret.fingerprint() == manifest.key => Ok(Some(bytes)),
        _ if from.key.is_some() => {
            Err(Error::invalid("key", "must be the store.key of the store that was backed up"))
        }
        _ => Ok(None),
    }
}

fn read_manifest(backup: &Path) -> Result<Manifest> {
    let path = backup.join(MANIFEST_FILE);
    let text = small_file(&path)?.ok_or_else(|| {
        Error::Corrupt(format!("{} is no whole backup: it has no {MANIFEST_FILE}", backup.display()))
    })?;
    let broken = |what: &str| Error::Corrupt(format!("{}: {what}", path.display()));
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|_| broken("is not as a backup has it"))?;
    if manifest.recordari_backup > VERSION {
        return Err(Error::FormatTooNew { found: manifest.recordari_backup, supported: VERSION });
    }
    let is_known = |file: &BackupFile| files_of_backups().any(|name| name == file.name);
    let has = |name: &str| manifest.files.iter().filter(|file| file.name == name).count();
    if !manifest.files.iter().all(is_known)
        || has(DATABASE_FILE) != 1
        || has(LEDGER_FILE) != 1
        || SETTINGS.iter().any(|name| has(name) > 1)
    {
        return Err(broken("does not name the files of a store"));
    }
    Ok(manifest)
}

fn files_of_backups() -> impl Iterator<Item = &'static str> {
    [DATABASE_FILE, LEDGER_FILE].into_iter().chain(SETTINGS)
}

/// A copy of what a connection sees at one moment, without free pages, under the same key.
fn copy_database(connection: &Connection, to: &Path, cipher: Option<&CipherKey>) -> Result<()> {
    // Made beforehand: SQLite would give it the process's mask.
    create_private(to)?;
    match cipher {
        Some(_) => cipher::export(connection, to, cipher)?,
        None => {
            let name = to
                .to_str()
                .ok_or_else(|| Error::invalid("folder", "must have a name that is valid Unicode"))?;
            connection.execute("VACUUM INTO ?1", [name])?;
        }
    }
    OpenOptions::new().write(true).open(to).and_then(|file| file.sync_all()).map_err(Error::io(to))
}

/// Checks a copied database as it lies on the disk; its last event, and how many versions have content.
fn sound(database: &Path, cipher: Option<&CipherKey>) -> Result<(u64, u64)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(database, flags)?;
    if let Some(cipher) = cipher {
        cipher.unlock(&copy, connection::PAGE_BYTES)?;
    }
    if let Some(finding) = check::check(&copy)?.first() {
        return Err(Error::Corrupt(format!(
            "the copy is not sound, so the store is not: {}: {}; run recordari verify",
            finding.check, finding.detail
        )));
    }
    let number = |sql: &str| copy.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|number| number as u64);
    Ok((
        number("SELECT ifnull(max(seq), 0) FROM events")?,
        number("SELECT count(*) FROM records WHERE content IS NOT NULL")?,
    ))
}

/// Reads a file to its end, into `to`; its length and its hash.
fn hashed(path: &Path, to: &mut impl Write) -> Result<(u64, String)> {
    let mut file = File::open(path).map_err(Error::io(path))?;
    let mut hasher = blake3::Hasher::new();
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
    loop {
        let read = file.read(&mut buffer).map_err(Error::io(path))?;
        if read == 0 {
            return Ok((bytes, hasher.finalize().to_hex().to_string()));
        }
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read]).map_err(Error::io(path))?;
        bytes += read as u64;
    }
}

/// The bytes of a file that can't be large; none when there is no such file.
fn small_file(path: &Path) -> Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(path)(error)),
    };
    let mut bytes = Vec::new();
    file.take(TEXT_MAX + 1).read_to_end(&mut bytes).map_err(Error::io(path))?;
    if bytes.len() as u64 > TEXT_MAX {
        return Err(Error::Corrupt(format!("{} is too large", path.display())));
    }
    Ok(Some(bytes))
}

fn create_private(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(Error::io(path))
}

fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = create_private(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(Error::io(path))
}
