//! A graph's files: a header with the checksums of the two that the library writes. They are read only after
//! these were found right, since a damaged file would end the process.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use hnsw_rs::api::AnnT;
use hnsw_rs::hnswio::HnswIo;

use super::{Distance, Graph};
use crate::error::{Error, Result};

pub(super) const HEADER: &str = "graph.header";
const BASE: &str = "graph";
pub(super) const FILES: [&str; 2] = ["graph.hnsw.graph", "graph.hnsw.data"];
/// Begins a header. The last digit is the version of our format.
const MAGIC: &[u8; 8] = b"rcgraph1";
/// Which program wrote the other files, whose format is its own and not that of every machine.
const WRITER: &str = "hnsw_rs 0.3.5";
/// The longest header: four thousand million rows do not fit a graph in memory.
const HEADER_MAX: u64 = 1 << 36;
/// The longest name of a model.
const MODEL_MAX: usize = 4096;

impl Graph {
    /// Writes it to a folder, in place of another that may be there. Until all is written and safe on the disk,
    /// there is no graph in the folder.
    pub fn save(&self, folder: &Path) -> Result<()> {
        erase(folder)?;
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        if self.numbers.is_empty() {
            // The crate can't write a graph of nothing.
            for path in FILES.map(|name| folder.join(name)) {
                File::create(&path).map_err(Error::io(&path))?;
            }
        } else {
            // What can't be written is a panic there.
            let written = catch_unwind(AssertUnwindSafe(|| self.graph.file_dump(folder, BASE)));
            if !matches!(written, Ok(Ok(base)) if base == BASE) {
                return Err(Error::Index(format!("no graph could be written to {}", folder.display())));
            }
        }
        let mut files = Vec::new();
        for name in FILES {
            let path = folder.join(name);
            let file = File::open(&path).map_err(Error::io(&path))?;
            file.sync_all().map_err(Error::io(&path))?;
            files.push(Checked::of(&path)?);
        }
        let path = folder.join(HEADER);
        let part = folder.join("graph.header.part");
        fs::write(&part, self.header(&files)).map_err(Error::io(&part))?;
        File::open(&part).and_then(|file| file.sync_all()).map_err(Error::io(&part))?;
        fs::rename(&part, &path).map_err(Error::io(&path))
    }

    /// Reads what [`Graph::save`] wrote. A graph of another model, of vectors of another width, of another version
    /// of the program, or whose files are damaged is an error; then delete it and make it anew.
    pub fn load(folder: &Path, model: &str, dims: usize) -> Result<Graph> {
        let header = read_header(folder)?;
        if header.writer != writer() {
            return Err(wrong(folder, "another version or another kind of machine wrote it"));
        }
        if header.model != model || header.dims != dims as u64 || dims == 0 {
            return Err(wrong(folder, "it is of another model"));
        }
        for (name, want) in FILES.iter().zip(&header.files) {
            if Checked::of(&folder.join(name))? != *want {
                return Err(wrong(folder, "its files do not have the content that was written"));
            }
        }
        let numbers: HashSet<u32> = header.numbers.iter().copied().collect();
        if numbers.is_empty() {
            // The crate can't read a graph of nothing.
            return Ok(Graph { note: header.note, ..Graph::new(model, dims, 0) });
        }
        // The crate ties what it reads to the reader. That is some hundred bytes, and a graph is read once or
        // twice in the life of a process.
        let read = || Box::leak(Box::new(HnswIo::new(folder, BASE))).load_hnsw::<f32, Distance>();
        let graph = match catch_unwind(AssertUnwindSafe(read)) {
            Ok(Ok(graph)) if graph.get_nb_point() == numbers.len() => graph,
            _ => return Err(wrong(folder, "it can't be read")),
        };
        Ok(Graph { model: header.model, dims, numbers, graph, note: header.note })
    }

    fn header(&self, files: &[Checked]) -> Vec<u8> {
        let mut numbers: Vec<u32> = self.numbers.iter().copied().collect();
        numbers.sort_unstable();
        let mut out = MAGIC.to_vec();
        for text in [writer().as_str(), &self.model] {
            out.extend((text.len() as u32).to_le_bytes());
            out.extend(text.as_bytes());
        }
        out.extend((self.dims as u64).to_le_bytes());
        out.extend((self.note.len() as u64).to_le_bytes());
        out.extend(&self.note);
        for file in files {
            out.extend(file.length.to_le_bytes());
            out.extend(file.digest);
        }
        out.extend((numbers.len() as u64).to_le_bytes());
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend(blake3::hash(&out).as_bytes());
        out
    }
}

/// What [`Graph::set_note`] had said when the graph of a folder was saved.
pub(super) fn note_in(folder: &Path) -> Result<Vec<u8>> {
    Ok(read_header(folder)?.note)
}

fn read_header(folder: &Path) -> Result<Header> {
    let path = folder.join(HEADER);
    let mut bytes = Vec::new();
    let file = File::open(&path).map_err(Error::io(&path))?;
    file.take(HEADER_MAX).read_to_end(&mut bytes).map_err(Error::io(&path))?;
    Header::read(&bytes).ok_or_else(|| wrong(folder, "its header is not sound"))
}

/// Deletes the graph of a folder, the header first, so that half of one is never taken for whole. Nothing there is no
/// error.
pub fn erase(folder: &Path) -> Result<()> {
    for name in [HEADER, "graph.header.part", FILES[0], FILES[1]] {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(&path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn wrong(folder: &Path, why: &str) -> Error {
    Error::Index(format!("the graph in {} can't be used: {why}", folder.display()))
}

/// The program and the kind of machine that a file's bytes depend on.
fn writer() -> String {
    let order = if cfg!(target_endian = "little") { "little" } else { "big" };
    format!("{WRITER}, {} bits, {order} endian", usize::BITS)
}

/// A file as it was written.
#[derive(Debug, PartialEq)]
struct Checked {
    length: u64,
    digest: [u8; 32],
}

impl Checked {
    fn of(path: &Path) -> Result<Checked> {
        let mut hasher = blake3::Hasher::new();
        let file = File::open(path).map_err(Error::io(path))?;
        hasher.update_reader(file).map_err(Error::io(path))?;
        Ok(Checked { length: hasher.count(), digest: *hasher.finalize().as_bytes() })
    }
}

/// What a header says.
struct Header {
    writer: String,
    model: String,
    dims: u64,
    note: Vec<u8>,
    files: [Checked; 2],
    numbers: Vec<u32>,
}

impl Header {
    /// None for anything but a whole header with the right checksum.
    fn read(bytes: &[u8]) -> Option<Header> {
        let (body, digest) = bytes.split_last_chunk::<32>()?;
        if blake3::hash(body) != *digest {
            return None;
        }
        let mut rest = body.strip_prefix(MAGIC)?;
        let [writer, model] = [text(&mut rest)?, text(&mut rest)?];
        let dims = number(&mut rest)?;
        let length = usize::try_from(number(&mut rest)?).ok()?;
        let (note, more) = rest.split_at_checked(length)?;
        rest = more;
        let note = note.to_vec();
        let files = [checked(&mut rest)?, checked(&mut rest)?];
        let count = number(&mut rest)?;
        let (numbers, more) = rest.as_chunks::<4>();
        let is_whole = more.is_empty() && numbers.len() as u64 == count;
        let numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        is_whole.then_some(Header { writer, model, dims, note, files, numbers })
    }
}

fn taken<'b, const N: usize>(rest: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    taken(rest).map(|bytes| u64::from_le_bytes(*bytes))
}

fn text(rest: &mut &[u8]) -> Option<String> {
    let length = u32::from_le_bytes(*taken(rest)?) as usize;
    let (text, left) = rest.split_at_checked(length).filter(|_| length <= MODEL_MAX)?;
    *rest = left;
    String::from_utf8(text.to_vec()).ok()
}

fn checked(rest: &mut &[u8]) -> Option<Checked> {
    Some(Checked { length: number(rest)?, digest: *taken(rest)? })
}
