//! What do the files of an encrypted database say? Reads them page by page, those in no tree included, which SQLite does
//! not show. What a file is is told by its bytes, whatever its name: copies have other names.

use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::store::{CipherKey, PAGE_BYTES, Reader, is_plain, open_beside};

/// How a page tells that it was decrypted: the page size of its database, and how many bytes of each page are not content.
const TOLD: [(usize, u8); 3] = [(16, 0x20), (17, 0x00), (20, 80)];
/// How a write-ahead log begins, in either order of bytes, and where it tells the size of its pages.
const LOG: [[u8; 4]; 2] = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83]];
const LOG_PAGE: std::ops::Range<usize> = 8..12;
/// What a write-ahead log has before its pages, and before each of them.
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The names of a store's databases.
const OURS: [&str; 3] = ["recordari.db", "ledger.db", "traces.db"];

/// What there is to see in a file beside its bytes as they are.
pub(super) enum More {
    /// Nothing.
    Nothing,
    /// What its pages decrypt to.
    Decrypted(Box<Decrypted>),
    /// It can't be told, and why.
    Unknown(&'static str),
}

/// Looks at how a file begins.
pub(super) fn more(path: &Path, cipher: Option<&CipherKey>) -> io::Result<More> {
    let mut file = open_beside(path)?;
    let mut first = Vec::new();
    (&mut file).take(u64::from(PAGE_BYTES)).read_to_end(&mut first)?;
    if first.is_empty() || is_plain(path) {
        return Ok(More::Nothing);
    }
    let decrypted = |cipher: &CipherKey, header: usize, frame: usize| -> io::Result<More> {
        Ok(More::Decrypted(Box::new(Decrypted {
            file: BufReader::with_capacity(1 << 20, open_beside(path)?),
            cipher: cipher.clone(),
            header,
            frame,
            number: 0,
            page: Vec::new(),
            given: 0,
        })))
    };
    if let Some(cipher) = cipher {
        if is_key_of(cipher, &first) {
            return decrypted(cipher, 0, 0);
        }
        // Its pages are looked at both ways: a log does not tell whether they are encrypted.
        if LOG.iter().any(|begin| first.starts_with(begin))
            && first.get(LOG_PAGE).is_some_and(|size| *size == PAGE_BYTES.to_be_bytes())
        {
            return decrypted(cipher, LOG_HEADER, FRAME_HEADER);
        }
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_ours = |end: &str| OURS.iter().any(|ours| name.strip_suffix(end) == Some(ours));
    Ok(match () {
        () if is_ours("") => More::Unknown("it is encrypted with another cipher key, or damaged"),
        () if cipher.is_some() && is_ours("-journal") => {
            More::Unknown("it is the encrypted journal of a write that is under way")
        }
        () if cipher.is_none() && is_ours("-wal") && !has_plain_database(path) => {
            More::Unknown("it is the journal of a database that is encrypted, damaged or gone")
        }
        () => More::Nothing,
    })
}

/// Whether the database of a log lies beside it and is not encrypted.
fn has_plain_database(log: &Path) -> bool {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    is_plain(&log.with_file_name(name.trim_end_matches("-wal")))
}

fn is_key_of(cipher: &CipherKey, first: &[u8]) -> bool {
    let mut page = first.to_vec();
    page.len() == PAGE_BYTES as usize && {
        cipher.decrypt_page(&mut page, true);
        TOLD.iter().all(|(at, byte)| page[*at] == *byte)
    }
}

/// A file of an encrypted database.
pub(super) struct Decrypted {
    file: BufReader<Reader>,
    cipher: CipherKey,
    /// How many bytes come before the first page, and before each.
    header: usize,
    frame: usize,
    number: u64,
    page: Vec<u8>,
    given: usize,
}

impl Decrypted {
    fn next(&mut self) -> io::Result<()> {
        let before = if self.number == 0 { self.header } else { 0 } + self.frame;
        self.page.clear();
        self.given = 0;
        (&mut self.file).take((before + PAGE_BYTES as usize) as u64).read_to_end(&mut self.page)?;
        // A log tells which page it has; a file has them in their order.
        let is_first = match self.frame {
            0 => self.number == 0,
            frame => {
                self.page.get(before - frame..).and_then(|frame| frame.first_chunk()) == Some(&[0, 0, 0, 1])
            }
        };
        self.number += 1;
        // What is less than a page at the end is left as it is.
        if let Some(page) = self.page.get_mut(before..).filter(|page| page.len() == PAGE_BYTES as usize) {
            self.cipher.decrypt_page(page, is_first);
        }
        Ok(())
    }
}

impl Read for Decrypted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given == self.page.len() {
            self.next()?;
        }
        let left = &self.page[self.given..];
        let count = left.len().min(into.len());
        into[..count].copy_from_slice(&left[..count]);
        self.given += count;
        Ok(count)
    }
}
