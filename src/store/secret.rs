//! The store's own key, and the digests made with it: of subjects, texts and sources, so that
//! nobody without the key can guess what a digest stands for.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

/// The file that holds the key, beside the database; in no backup or export.
pub(super) const KEY_FILE: &str = "store.key";

/// A digest of 16 bytes under the store's key.
pub(super) type Digest = [u8; 16];

/// The key. It has no `Debug` and is never printed.
pub(super) struct Secret([u8; 32]);

/// Which thing a digest is of: the same text as a subject and as a content gives two digests.
#[derive(Clone, Copy)]
pub(super) enum Of {
    Memory,
    Subject,
    Text,
    Source,
    Place,
    Request,
    Selector,
    Content,
    Projection,
    Preview,
    Forgotten,
}

impl Secret {
    /// Reads the key, or makes one; the second value tells whether it is new.
    pub(super) fn open(folder: &Path) -> Result<(Secret, bool)> {
        let path = folder.join(KEY_FILE);
        if let Some(key) = read(&path)? {
            return Ok((Secret(key), false));
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| Error::Io {
            path: path.clone(),
            source: std::io::Error::other(error.to_string()),
        })?;
        // Written whole under another name and then linked into place, so that a process that starts at
        // the same moment sees either no key or the whole key, and exactly one of them wins.
        // Several threads of one process may do so too: each has a draft of its own, named by chance.
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).map_err(|error| Error::Io {
            path: path.clone(),
            source: std::io::Error::other(error.to_string()),
        })?;
        let draft = folder.join(format!("{KEY_FILE}.{:016x}", u64::from_le_bytes(nonce)));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&draft).map_err(Error::io(&draft))?;
        file.write_all(&key).and_then(|()| file.sync_all()).map_err(Error::io(&draft))?;
        let linked = std::fs::hard_link(&draft, &path);
        std::fs::remove_file(&draft).map_err(Error::io(&draft))?;
        match linked {
            Ok(()) => Ok((Secret(key), true)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok((
                Secret(read(&path)?.ok_or_else(|| {
                    Error::Corrupt("the store's key vanished while it was read".to_owned())
                })?),
                false,
            )),
            Err(error) => Err(Error::io(&path)(error)),
        }
    }

    /// The key of a file's bytes, if they can be one.
    pub(super) fn of(bytes: &[u8]) -> Option<Secret> {
        bytes.try_into().ok().map(Secret)
    }

    /// What other keys are made of.
    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Names the key without giving it away, so that a store can tell whether it has its own key.
    pub(super) fn fingerprint(&self) -> String {
        blake3::keyed_hash(&self.0, b"recordari key fingerprint").to_hex()[..16].to_owned()
    }

    /// Digests the parts, each with its length, so that no two lists of parts meet.
    pub(super) fn digest(&self, of: Of, parts: &[&str]) -> Digest {
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        self.digest_bytes(of, &parts)
    }

    /// The same for parts that are not text.
    pub(super) fn digest_bytes(&self, of: Of, parts: &[&[u8]]) -> Digest {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&[of as u8]);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut digest = [0; 16];
        hasher.finalize_xof().fill(&mut digest);
        digest
    }
}

fn read(path: &Path) -> Result<Option<[u8; 32]>> {
    match std::fs::read(path) {
        Ok(bytes) => match <[u8; 32]>::try_from(bytes) {
            Ok(key) => Ok(Some(key)),
            Err(_) => Err(Error::Corrupt(format!("{} must hold 32 bytes", path.display()))),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_private_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let (first, made) = Secret::open(folder.path()).unwrap();
        let (second, made_again) = Secret::open(folder.path()).unwrap();
        assert!(made && !made_again);
        assert_eq!(first.fingerprint(), second.fingerprint());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(folder.path().join(KEY_FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn parts_and_purposes_do_not_meet() {
        let secret = Secret([7; 32]);
        assert_ne!(secret.digest(Of::Text, &["ab", "c"]), secret.digest(Of::Text, &["a", "bc"]));
        assert_ne!(secret.digest(Of::Text, &["a"]), secret.digest(Of::Subject, &["a"]));
    }
}
