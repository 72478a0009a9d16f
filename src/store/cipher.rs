//! The key that encrypts a store at rest. The databases are SQLCipher's business, in builds that have it; what is derived
//! has a key of its own, made of this one.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::connection::{PAGE_BYTES, unreadable};
use super::sync_folder;
use crate::error::{Error, Result};

/// How many bytes a page of an encrypted database has that are not content: the initialisation vector, and the digest that
/// says whether the page is as it was written.
#[cfg(feature = "sqlcipher")]
const PAGE_OVERHEAD: usize = 80;
/// How a page is encrypted stands in its last bytes, and begins with the initialisation vector.
#[cfg(feature = "sqlcipher")]
const VECTOR_BYTES: usize = 16;
/// What the key is called in errors.
pub(super) const CIPHER_KEY: &str = "cipher key";
/// The longest key file that is read.
const FILE_MAX: u64 = 1024;

/// The key of an encrypted store: 32 random bytes, kept in a file outside of it. Who has it and the files can read
/// everything; without it they are noise, the caller's too. It is never printed, and in no backup.
#[derive(Clone, PartialEq, Eq)]
pub struct CipherKey([u8; 32]);

impl std::fmt::Debug for CipherKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CipherKey(..)")
    }
}

impl CipherKey {
    /// Whether this build can open encrypted stores: those with the feature `sqlcipher` can.
    pub const SUPPORTED: bool = cfg!(feature = "sqlcipher");

    /// A key of these bytes, which should be random.
    pub fn new(bytes: [u8; 32]) -> CipherKey {
        CipherKey(bytes)
    }

    /// A new key.
    ///
    /// # Errors
    /// `Io` when the system has no random bytes to give.
    pub fn generate() -> Result<CipherKey> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            Error::io(Path::new("random bytes"))(std::io::Error::other(error.to_string()))
        })?;
        Ok(CipherKey(bytes))
    }

    /// The key of a file: 64 hexadecimal digits, and white space around them.
    ///
    /// # Errors
    /// `Io` when it can't be read; `Invalid` when it holds anything else.
    pub fn read(path: &Path) -> Result<CipherKey> {
        let mut text = Vec::new();
        File::open(path)
            .and_then(|file| file.take(FILE_MAX).read_to_end(&mut text))
            .map_err(Error::io(path))?;
        let digits = text.trim_ascii();
        let mut key = [0; 32];
        let is_key = digits.len() == 64
            && key.iter_mut().zip(digits.as_chunks::<2>().0).all(|(byte, pair)| {
                let value = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
                value.map(|value| *byte = value).is_some() && pair.iter().all(u8::is_ascii_hexdigit)
            });
        if is_key {
            Ok(CipherKey(key))
        } else {
            Err(Error::invalid(
                CIPHER_KEY,
                format!("must be a file of 64 hexadecimal digits: {} is not", path.display()),
            ))
        }
    }

    /// Writes it to a new file for nobody else to read.
    ///
    /// # Errors
    /// `Io` when the file is there already or can't be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(Error::io(path))?;
        file.write_all(format!("{}\n", self.digits()).as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(Error::io(path))?;
        path.parent().map_or(Ok(()), sync_folder)
    }

    /// The key for what is derived from the databases.
    pub fn of_derived(&self) -> [u8; 32] {
        blake3::derive_key("recordari 2026 derived index at rest", &self.0)
    }

    /// How SQLCipher is told a key that is used as it is, without being stretched.
    pub(super) fn literal(&self) -> String {
        format!("x'{}'", self.digits())
    }

    fn digits(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Tells a new connection the key, before anything is read.
    pub(super) fn unlock(&self, connection: &Connection, page_bytes: u32) -> Result<()> {
        // It would print to the standard error what is an error here anyway.
        connection.pragma_update_and_check(None, "cipher_log_level", "NONE", |_| Ok(()))?;
        connection.pragma_update_and_check(None, "key", self.literal(), |_| Ok(()))?;
        connection.pragma_update(None, "cipher_page_size", page_bytes)?;
        Ok(())
    }

    /// The content of a page of a database, in place, as far as it can be told: the probe looks at pages that are in no
    /// tree any more, which SQLite does not show. Whether it is as it was written is not checked.
    ///
    /// As SQLCipher 4 does it: AES-256 in CBC mode, and the initialisation vector at the end of the page.
    pub(crate) fn decrypt_page(&self, page: &mut [u8], is_first: bool) {
        #[cfg(feature = "sqlcipher")]
        {
            use cbc::cipher::{BlockModeDecrypt, KeyIvInit, block_padding::NoPadding};
            let Some(end) = page.len().checked_sub(PAGE_OVERHEAD) else { return };
            let Some(vector) = page[end..].first_chunk::<VECTOR_BYTES>().copied() else { return };
            // The first page begins with the salt of the database, in the clear.
            let from = if is_first { VECTOR_BYTES } else { 0 };
            let cipher = cbc::Decryptor::<aes::Aes256>::new(&self.0.into(), &vector.into());
            let _ = cipher.decrypt_padded::<NoPadding>(&mut page[from..end]);
        }
        // No store is opened with a key then.
        #[cfg(not(feature = "sqlcipher"))]
        let _ = (page, is_first);
    }
}

/// Says whether this build can do with a key, before anything is made.
pub(super) fn must_be_usable(cipher: Option<&CipherKey>) -> Result<()> {
    match cipher {
        Some(_) if !CipherKey::SUPPORTED => Err(Error::invalid(
            CIPHER_KEY,
            "can't be used by this build: build recordari with the feature sqlcipher",
        )),
        _ => Ok(()),
    }
}

/// Writes a database to an empty file under another key, or without one. It is not changed.
pub(super) fn export_file(
    path: &Path,
    from: Option<&CipherKey>,
    to: &Path,
    cipher: Option<&CipherKey>,
) -> Result<()> {
    // Not only for reading: what is attached would be so too.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    if let Some(from) = from {
        from.unlock(&connection, PAGE_BYTES)?;
    }
    connection
        .query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))
        .map_err(|error| unreadable(path, from, error))?;
    export(&connection, to, cipher)
}

/// Writes what a connection sees at one moment to an empty file, under that key or without one.
pub(super) fn export(connection: &Connection, to: &Path, cipher: Option<&CipherKey>) -> Result<()> {
    let name =
        to.to_str().ok_or_else(|| Error::invalid("folder", "must have a name that is valid Unicode"))?;
    let key = cipher.map_or(String::new(), CipherKey::literal);
    connection.execute("ATTACH ?1 AS part KEY ?2", [name, &key])?;
    let copied = copy_to_part(connection, cipher.is_some());
    if copied.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    connection.execute_batch("DETACH part")?;
    copied
}

fn copy_to_part(connection: &Connection, is_encrypted: bool) -> Result<()> {
    if is_encrypted {
        connection.pragma_update(Some("part"), "cipher_page_size", PAGE_BYTES)?;
    }
    connection.pragma_update(Some("part"), "page_size", PAGE_BYTES)?;
    connection.execute_batch("BEGIN")?;
    connection.query_row("SELECT sqlcipher_export('part')", [], |_| Ok(()))?;
    for name in ["user_version", "application_id"] {
        let value: i32 = connection.pragma_query_value(None, name, |row| row.get(0))?;
        connection.pragma_update(Some("part"), name, value)?;
    }
    Ok(connection.execute_batch("COMMIT")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_reads_back_and_anything_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cipher.key");
        let key = CipherKey::generate().unwrap();
        key.write(&path).unwrap();
        assert!(CipherKey::read(&path).unwrap() == key);
        assert!(key.write(&path).is_err(), "nothing is overwritten");
        assert_eq!(format!("{key:?}"), "CipherKey(..)");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let upper = format!("  {}\r\n", key.digits().to_uppercase());
        std::fs::write(&path, upper).unwrap();
        assert!(CipherKey::read(&path).unwrap() == key);
        for text in ["", "ab", &"g".repeat(64), &"+1".repeat(32), &"ä".repeat(32), &"0".repeat(66)] {
            std::fs::write(&path, text).unwrap();
            let refused = CipherKey::read(&path).unwrap_err().to_string();
            assert!(refused.contains("64 hexadecimal digits"), "{refused}");
            assert!(text.len() < 3 || !refused.contains(text), "{refused}");
        }
    }
}
