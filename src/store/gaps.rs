//! Empties the unused space of the database's pages. With `secure_delete` SQLite overwrites what is deleted; but where it
//! balances a tree it lays the cells of a page out anew and leaves them where they lay before as well (`rebuildPage` in its
//! btree.c). Such a copy stays in the gap between the pointers of a page and its cells, also when the cell itself has moved
//! to another page since and is erased there.
//!
//! Nobody reads what lies in a gap. So it can be overwritten in the file itself while nobody else can write to that page
//! there: the lock for writing is held, and no version of the page is in the write-ahead log. How both are laid out:
//! <https://sqlite.org/fileformat.html>, sections 1.6 and 4, and <https://sqlite.org/walformat.html>, section 2.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::connection::{BUSY_TIMEOUT, is_busy};
use super::held::{LOG_INDEX_FILE, Reader, open_beside};
use super::{DATABASE_FILE, Store, lock};
use crate::broken::{Step, is_broken};
use crate::error::{Error, Result};

const LOG_FILE: &str = "recordari.db-wal";
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;
/// How long the header of the log's index is, which is there twice.
const INDEX_HEADER: usize = 48;
/// The first page begins with the header of the file.
const FILE_HEADER: usize = 100;
/// From so many pages on a page of no tree could begin like one of a tree: with the number of another page.
const PAGES_MAX: u64 = 1 << 25;
/// How many bytes are read at once.
const CHUNK: usize = 1 << 20;
/// How long is waited before the next try.
const PAUSE: Duration = Duration::from_millis(5);

/// Which write-ahead log it is: each time that it is begun anew it is another.
pub(super) type LogId = [u8; 8];

impl Store {
    /// Empties the journal, and the gaps of all pages that were written to the database since they are known to be empty.
    /// False when others read or write for all of `patience`.
    ///
    /// In an encrypted database gaps stay as they are: a page is written there as a whole or is none any more.
    pub(super) fn empty_journal_and_gaps(&self, writer: &Connection, patience: Duration) -> Result<bool> {
        if self.cipher().is_some() || is_broken(Step::Gaps) {
            return empty_journal(writer, patience);
        }
        let mut known = lock(&self.gapless);
        let before = known.take();
        let files = Files::of(self.folder())?;
        // What it writes has every other connection read everything anew, the one that writes included.
        let other = self.connect()?;
        let deadline = Instant::now() + patience;
        let left = || deadline.saturating_duration_since(Instant::now());
        let (mut wanted, mut is_first) = (None, true);
        loop {
            if !begin(&other, left())? {
                return Ok(false);
            }
            let begun = files.log()?;
            if is_first && before == Some(begun.id) {
                wanted = Some(files.pages_of(&begun)?.into_keys().collect());
            }
            other.execute_batch("ROLLBACK")?;
            if !empty_journal(writer, left())? {
                return Ok(false);
            }
            // What others write from here on has no copy of what was erased before, but where its page had one here.
            let pages: BTreeSet<u32> = match wanted.take() {
                Some(pages) => pages,
                None => files.with_filled_gaps()?,
            };
            if !begin(&other, left())? {
                return Ok(false);
            }
            let log = files.log()?;
            let in_log = files.pages_of(&log)?;
            let (mut again, mut emptied) = (BTreeSet::new(), false);
            for number in pages {
                match in_log.get(&number) {
                    Some(frame) if files.is_filled_in_log(number, *frame, &log)? => {
                        again.insert(number);
                    }
                    Some(_) => {}
                    None => emptied |= files.empty_gap(number)?,
                }
            }
            if emptied {
                files.database.sync().map_err(Error::io(self.folder()))?;
                let version: u32 = other.pragma_query_value(None, "user_version", |row| row.get(0))?;
                other.pragma_update(None, "user_version", version)?;
            }
            other.execute_batch("COMMIT")?;
            if again.is_empty() {
                // The first who writes to an empty log gives it its name.
                let log = files.log()?;
                let is_all = is_first && log.commits == begun.commits.wrapping_add(u32::from(emptied));
                *known = is_all.then_some(log.id);
                return Ok(true);
            }
            (wanted, is_first) = (Some(again), false);
            if left().is_zero() {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Copies the journal into the database and makes it an empty file.
fn empty_journal(writer: &Connection, patience: Duration) -> Result<bool> {
    writer.busy_timeout(patience)?;
    let busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    writer.busy_timeout(BUSY_TIMEOUT)?;
    Ok(busy? == 0)
}

/// Takes the lock for writing. False when others have it for all of that time.
fn begin(connection: &Connection, patience: Duration) -> Result<bool> {
    connection.busy_timeout(patience)?;
    match connection.execute_batch("BEGIN IMMEDIATE") {
        Err(error) if is_busy(&error) => Ok(false),
        begun => Ok(begun.map(|()| true)?),
    }
}

/// What the index of the log says.
struct Log {
    id: LogId,
    /// How many transactions were committed, modulo 2^32.
    commits: u32,
    /// How many versions of pages it has, in its frames.
    frames: u32,
    page_bytes: usize,
}

impl Log {
    /// The numbers are as the processor has them.
    fn read(header: &[u8; INDEX_HEADER]) -> Log {
        let number = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let page_bytes = u16::from_ne_bytes([header[14], header[15]]);
        Log {
            id: header[32..40].try_into().expect("eight bytes"),
            commits: number(8),
            frames: number(16),
            page_bytes: page_bytes_of(page_bytes),
        }
    }

    fn at(&self, frame: u32) -> u64 {
        LOG_HEADER + u64::from(frame) * (FRAME_HEADER + self.page_bytes as u64)
    }
}

fn page_bytes_of(told: u16) -> usize {
    if told == 1 { 1 << 16 } else { usize::from(told) }
}

/// The database and what belongs to it, as bytes.
struct Files {
    folder: PathBuf,
    database: Reader,
}

impl Files {
    fn of(folder: &Path) -> Result<Files> {
        let path = folder.join(DATABASE_FILE);
        Ok(Files { folder: folder.to_owned(), database: open_beside(&path).map_err(Error::io(&path))? })
    }

    fn in_file<T>(&self, name: &str, read: impl FnOnce(&Path) -> io::Result<T>) -> Result<T> {
        let path = self.folder.join(name);
        read(&path).map_err(Error::io(&path))
    }

    /// What the log's index says; holds still while nobody can write.
    fn log(&self) -> Result<Log> {
        let mut header = [0; INDEX_HEADER];
        self.in_file(LOG_INDEX_FILE, |path| open_beside(path)?.read_exact_at(&mut header, 0))?;
        Ok(Log::read(&header))
    }

    /// Which pages the log has, and in which frame the newest version of each is.
    fn pages_of(&self, log: &Log) -> Result<HashMap<u32, u32>> {
        self.in_file(LOG_FILE, |path| {
            let file = open_beside(path)?;
            let mut pages = HashMap::new();
            for frame in 0..log.frames {
                let mut number = [0; 4];
                file.read_exact_at(&mut number, log.at(frame))?;
                pages.insert(u32::from_be_bytes(number), frame);
            }
            Ok(pages)
        })
    }

    fn is_filled_in_log(&self, number: u32, frame: u32, log: &Log) -> Result<bool> {
        let (_, reserved) = self.layout()?;
        self.in_file(LOG_FILE, |path| {
            let mut page = vec![0; log.page_bytes];
            open_beside(path)?.read_exact_at(&mut page, log.at(frame) + FRAME_HEADER)?;
            Ok(filled_gap(&page, number, reserved).is_some())
        })
    }

    /// How large the database's pages are, and how many bytes at the end of each are not SQLite's.
    fn layout(&self) -> Result<(usize, usize)> {
        let mut header = [0; FILE_HEADER];
        self.in_file(DATABASE_FILE, |_| self.database.read_exact_at(&mut header, 0))?;
        let page_bytes = page_bytes_of(u16::from_be_bytes([header[16], header[17]]));
        if !page_bytes.is_power_of_two() || page_bytes < 512 {
            return Err(Error::Corrupt(format!("{DATABASE_FILE} does not tell how large its pages are")));
        }
        Ok((page_bytes, usize::from(header[20])))
    }

    /// All pages of the file that have something in their gaps.
    fn with_filled_gaps(&self) -> Result<BTreeSet<u32>> {
        let (page_bytes, reserved) = self.layout()?;
        let pages = self.in_file(DATABASE_FILE, |_| self.database.bytes())? / page_bytes as u64;
        if pages >= PAGES_MAX {
            return Err(Error::Corrupt(format!(
                "{DATABASE_FILE} is too large to be looked through: {pages} pages"
            )));
        }
        let mut filled = BTreeSet::new();
        let mut chunk = vec![0; CHUNK.max(page_bytes)];
        let in_chunk = chunk.len() / page_bytes;
        for first in (0..pages).step_by(in_chunk) {
            let count = in_chunk.min((pages - first) as usize);
            let chunk = &mut chunk[..count * page_bytes];
            self.in_file(DATABASE_FILE, |_| self.database.read_exact_at(chunk, first * page_bytes as u64))?;
            for (number, page) in (first as u32 + 1..).zip(chunk.chunks(page_bytes)) {
                if filled_gap(page, number, reserved).is_some() {
                    filled.insert(number);
                }
            }
        }
        Ok(filled)
    }

    /// Overwrites the gap of a page in the file. False when it is empty.
    fn empty_gap(&self, number: u32) -> Result<bool> {
        let (page_bytes, reserved) = self.layout()?;
        let at = u64::from(number - 1) * page_bytes as u64;
        let mut page = vec![0; page_bytes];
        self.in_file(DATABASE_FILE, |_| {
            // The database may have become shorter.
            if at >= self.database.bytes()? {
                return Ok(false);
            }
            self.database.read_exact_at(&mut page, at)?;
            let Some(gap) = filled_gap(&page, number, reserved) else { return Ok(false) };
            page[gap.clone()].fill(0);
            self.database.write_all_at(&page[gap.clone()], at + gap.start as u64)?;
            Ok(true)
        })
    }
}

/// The gap of a page, if it is one of a tree and something lies there.
fn filled_gap(page: &[u8], number: u32, reserved: usize) -> Option<Range<usize>> {
    let begin = if number == 1 { FILE_HEADER } else { 0 };
    let header = match page.get(begin)? {
        2 | 5 => 12,
        10 | 13 => 8,
        _ => return None,
    };
    let told =
        |at: usize| page.get(begin + at..begin + at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    let start = begin + header + 2 * usize::from(told(3)?);
    let end = match told(5)? {
        0 => 1 << 16,
        end => usize::from(end),
    };
    // A page that is not as it should be is left as it is.
    let gap = (end <= page.len().saturating_sub(reserved)).then_some(start..end)?;
    let is_filled =
        page.get(gap.clone())?.chunks(64).any(|part| part.iter().fold(0, |all, byte| all | byte) != 0);
    is_filled.then_some(gap)
}
