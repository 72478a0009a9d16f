//! Makes ids: record ids that sort by time, memory ids that are digests. Knows no tables.

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::record::{MemoryId, RecordId};

use super::secret::Digest;

/// A new record id: 48 bits of milliseconds and 80 random ones, as in a ULID.
pub(super) fn record_id(now: Timestamp) -> Result<RecordId> {
    Ok(RecordId::new(format!("rec_{}", unique(now)?)))
}

/// A new id for a receipt, candidate or trace, made like a record id.
pub(crate) fn minted(prefix: &str, now: Timestamp) -> Result<String> {
    Ok(format!("{prefix}_{}", unique(now)?))
}

/// The memory id that a digest stands for.
pub(super) fn memory_id(digest: Digest) -> MemoryId {
    MemoryId::new(format!("mem_{}", base32(digest)))
}

/// The id of a memory that was first written at that instant, and is known by a digest: it sorts by time.
pub(super) fn memory_id_of(now: Timestamp, digest: Digest) -> MemoryId {
    let mut bytes = digest;
    bytes[..6].copy_from_slice(&millis(now));
    memory_id(bytes)
}

fn unique(now: Timestamp) -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Io {
        path: "the system's random source".into(),
        source: std::io::Error::other(error.to_string()),
    })?;
    bytes[..6].copy_from_slice(&millis(now));
    Ok(base32(bytes))
}

/// The milliseconds of an instant in 48 bits, most significant first.
fn millis(now: Timestamp) -> [u8; 6] {
    let [_, _, bytes @ ..] = ((now.as_micros().max(0) / 1000) as u64).to_be_bytes();
    bytes
}

/// Crockford's base 32: 26 characters, none of which look alike.
fn base32(bytes: [u8; 16]) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let number = u128::from_be_bytes(bytes);
    (0..26).rev().map(|place| char::from(DIGITS[(number >> (5 * place) & 31) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_differ() {
        let at = |text| Timestamp::parse("t", text).unwrap();
        let early = record_id(at("2026-01-01T00:00:00Z")).unwrap();
        let late = record_id(at("2026-01-01T00:00:01Z")).unwrap();
        assert!(early < late);
        assert_eq!(early.as_str().len(), 30);
        assert_ne!(record_id(at("2026-01-01T00:00:00Z")).unwrap(), early);
    }
}
