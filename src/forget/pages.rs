//! What do the files of a database say where they are encrypted? Reads them page by page, those in no tree included, which
//! SQLite does not show.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::store::{CipherKey, PAGE_BYTES};

/// How an encrypted database's content tells that it was decrypted: its page size, and how many bytes of each page are not
/// content.
const TOLD: [(usize, u8); 3] = [(16, 0x20), (17, 0x00), (20, 80)];
/// How a database begins that is not encrypted.
const PLAIN: &[u8; 16] = b"SQLite format 3\0";
/// What a write-ahead log has before its pages, and before each of them.
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// A file of a store, as it is or decrypted.
pub(super) enum Pages {
    Plain(File),
    Decrypted(Box<Decrypted>),
}

/// Why a file can't be looked through, if so.
pub(super) type Opened = io::Result<Result<Pages, &'static str>>;

/// Opens a file of a store or a backup. What belongs to a database that is not encrypted, or to none, is read as it is.
pub(super) fn open(path: &Path, cipher: Option<&CipherKey>) -> Opened {
    let file = File::open(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((stem, part)) =
        name.split_once(".db").filter(|(_, part)| ["", "-wal", "-journal"].contains(part))
    else {
        return Ok(Ok(Pages::Plain(file)));
    };
    let database = path.with_file_name(format!("{stem}.db"));
    let Some(first) = first_page(&database)? else { return Ok(Ok(Pages::Plain(file))) };
    let Some(cipher) = cipher.filter(|cipher| is_key_of(cipher, &first)) else {
        return Ok(Err("it is encrypted with another cipher key, or damaged"));
    };
    if part == "-journal" {
        return match file.metadata()?.len() {
            0 => Ok(Ok(Pages::Plain(file))),
            _ => Ok(Err("it is the encrypted journal of a write that is under way")),
        };
    }
    let (header, frame) = if part == "-wal" { (LOG_HEADER, FRAME_HEADER) } else { (0, 0) };
    Ok(Ok(Pages::Decrypted(Box::new(Decrypted {
        file: BufReader::with_capacity(1 << 20, file),
        cipher: cipher.clone(),
        header,
        frame,
        number: 0,
        page: Vec::new(),
        given: 0,
    }))))
}

/// The first page of a database that is encrypted; none if it is not, or is empty or gone.
fn first_page(database: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut first = Vec::new();
    match File::open(database) {
        Ok(file) => file.take(PAGE_BYTES as u64).read_to_end(&mut first)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok((!first.is_empty() && !first.starts_with(PLAIN)).then_some(first))
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
    file: BufReader<File>,
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

impl Read for Pages {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let pages = match self {
            Pages::Plain(file) => return file.read(into),
            Pages::Decrypted(pages) => pages,
        };
        if pages.given == pages.page.len() {
            pages.next()?;
        }
        let left = &pages.page[pages.given..];
        let count = left.len().min(into.len());
        into[..count].copy_from_slice(&left[..count]);
        pages.given += count;
        Ok(count)
    }
}
