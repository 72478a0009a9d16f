//! Files of an index that only who has the key can read, or change without being noticed.
//!
//! Each file is one message of XChaCha20-Poly1305 (RFC 8439, with the extended nonce of draft-irtf-cfrg-xchacha-03): a
//! random nonce, the content, and a tag that holds for the content under that name. Therefore it is read and written as a
//! whole, and what is open is in memory. The small files that describe an index stay as they are: they hold counts and
//! names of files.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

/// The bytes of a nonce.
const NONCE_BYTES: usize = 24;

/// A folder of sealed files.
#[derive(Clone)]
pub(super) struct Sealed {
    plain: MmapDirectory,
    cipher: XChaCha20Poly1305,
}

impl Sealed {
    pub(super) fn new(plain: MmapDirectory, key: &[u8; 32]) -> Sealed {
        Sealed { plain, cipher: XChaCha20Poly1305::new(key.into()) }
    }

    fn unseal(&self, path: &Path, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let mut content = rest.to_vec();
        self.cipher.decrypt_in_place(&XNonce::from(*nonce), &name(path), &mut content).ok()?;
        Some(content)
    }
}

/// What a tag holds for, beside the content: a file in another's place is noticed.
fn name(path: &Path) -> Vec<u8> {
    path.file_name().unwrap_or_default().as_encoded_bytes().to_vec()
}

impl fmt::Debug for Sealed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sealed(..)")
    }
}

impl Directory for Sealed {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let failed = |error| OpenReadError::wrap_io_error(error, path.to_owned());
        let sealed = self.plain.open_read(path)?.read_bytes().map_err(failed)?;
        let content = self.unseal(path, &sealed).ok_or_else(|| {
            failed(io::Error::new(io::ErrorKind::InvalidData, "it was not written with this key"))
        })?;
        Ok(Arc::new(OwnedBytes::new(content)))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let to = self.plain.open_write(path)?;
        let writer = Writer { content: Vec::new(), name: name(path), cipher: self.cipher.clone(), to };
        Ok(WritePtr::new(Box::new(writer)))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.plain.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.plain.exists(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.plain.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.plain.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.plain.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.plain.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.plain.watch(callback)
    }
}

/// Keeps what is written until it is whole.
struct Writer {
    content: Vec<u8>,
    name: Vec<u8>,
    cipher: XChaCha20Poly1305,
    to: WritePtr,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.content.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for Writer {
    fn terminate_ref(&mut self, token: AntiCallToken) -> io::Result<()> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|error| io::Error::other(error.to_string()))?;
        self.cipher
            .encrypt_in_place(&XNonce::from(nonce), &self.name, &mut self.content)
            .map_err(|_| io::Error::other("a file of the index is too long to be encrypted"))?;
        self.to.write_all(&nonce)?;
        self.to.write_all(&self.content)?;
        self.to.terminate_ref(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(folder: &Path, key: u8) -> Sealed {
        Sealed::new(MmapDirectory::open(folder).unwrap(), &[key; 32])
    }

    fn write(directory: &Sealed, name: &str, content: &[u8]) {
        let mut file = directory.open_write(Path::new(name)).unwrap();
        file.write_all(content).unwrap();
        file.terminate().unwrap();
    }

    #[test]
    fn a_file_reads_back_under_its_key_and_name_alone_and_shows_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mine = sealed(folder.path(), 1);
        let content = b"orders marzipan trout ".repeat(1000);
        write(&mine, "one.term", &content);
        write(&mine, "empty.term", b"");
        let read = |directory: &Sealed, name: &str| {
            directory.open_read(Path::new(name)).ok().map(|file| file.read_bytes().unwrap().to_vec())
        };
        assert_eq!(read(&mine, "one.term").unwrap(), content);
        assert_eq!(read(&mine, "empty.term").unwrap(), b"");
        assert_eq!(read(&sealed(folder.path(), 2), "one.term"), None, "another key");
        let raw = std::fs::read(folder.path().join("one.term")).unwrap();
        assert!(!raw.windows(8).any(|bytes| bytes == b"marzipan"));
        std::fs::write(folder.path().join("two.term"), &raw).unwrap();
        assert_eq!(read(&mine, "two.term"), None, "another name");
        for at in [0, 24, raw.len() - 1] {
            let mut changed = raw.clone();
            changed[at] ^= 1;
            std::fs::write(folder.path().join("two.term"), &changed).unwrap();
            std::fs::rename(folder.path().join("two.term"), folder.path().join("one.term")).unwrap();
            assert_eq!(read(&mine, "one.term"), None, "a bit of byte {at} changed");
        }
        std::fs::write(folder.path().join("short.term"), b"short").unwrap();
        assert_eq!(read(&mine, "short.term"), None);
    }
}
