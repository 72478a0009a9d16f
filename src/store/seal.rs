//! Signs what the store hands out, with a key made of the store's own, so that whoever has the public half can tell
//! whether it was changed. Knows bytes, not what they say.

use std::fmt;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use super::Store;
use super::secret::Secret;
use crate::error::{Error, Result};

/// What the key is made for: another purpose would be another key.
const PURPOSE: &str = "recordari 2026-11-30 key that signs receipts";

/// The public half of the key that a store signs with (Ed25519, RFC 8032), in text 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Reads a key.
    ///
    /// # Errors
    /// `Invalid` for anything but 64 hexadecimal digits, small ones, that are a key.
    pub fn parse(text: &str) -> Result<PublicKey> {
        let key = from_hex::<32>(text).filter(|key| VerifyingKey::from_bytes(key).is_ok());
        key.map(PublicKey).ok_or_else(|| {
            Error::invalid("key", "must be 64 hexadecimal digits, as recordari receipt key prints")
        })
    }

    /// Whether a signature, 128 hexadecimal digits, is of exactly this text.
    pub fn has_signed(&self, text: &[u8], signature: &str) -> bool {
        let (Ok(key), Some(signature)) = (VerifyingKey::from_bytes(&self.0), from_hex::<64>(signature))
        else {
            return false;
        };
        key.verify_strict(text, &Signature::from_bytes(&signature)).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl Secret {
    fn signing_key(&self) -> SigningKey {
        SigningKey::from_bytes(&blake3::derive_key(PURPOSE, self.bytes()))
    }
}

impl Store {
    /// The key by which others know this store's signatures. A store that is given a new secret has a new one.
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.secret.signing_key().verifying_key().to_bytes())
    }

    /// The signature of a text, in hexadecimal digits; the same text has the same one.
    pub fn sign(&self, text: &[u8]) -> String {
        to_hex(&self.secret.signing_key().sign(text).to_bytes())
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let is_hex = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != 2 * N || !digits.iter().all(is_hex) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_64_small_hexadecimal_digits_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let (secret, _) = Secret::open(folder.path()).unwrap();
        let key = PublicKey(secret.signing_key().verifying_key().to_bytes());
        assert_eq!(PublicKey::parse(&key.to_string()).unwrap(), key);
        for wrong in ["", "00", &key.to_string().to_uppercase(), &format!("{key}0"), &"g".repeat(64)] {
            assert!(PublicKey::parse(wrong).unwrap_err().to_string().contains("64 hexadecimal digits"));
        }
    }

    #[test]
    fn a_signature_is_of_one_text_by_one_key() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let keys = folders.each_ref().map(|folder| Secret::open(folder.path()).unwrap().0.signing_key());
        let public = keys.each_ref().map(|key| PublicKey(key.verifying_key().to_bytes()));
        let signature = to_hex(&keys[0].sign(b"a text").to_bytes());
        assert!(public[0].has_signed(b"a text", &signature));
        assert!(!public[0].has_signed(b"a texu", &signature));
        assert!(!public[1].has_signed(b"a text", &signature));
        for wrong in ["", "00", &signature.to_uppercase(), &signature[..126]] {
            assert!(!public[0].has_signed(b"a text", wrong));
        }
    }
}
