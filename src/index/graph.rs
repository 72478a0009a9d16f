//! Vectors as a navigable graph (HNSW, Malkov and Yashunin 2016): a search looks at a few thousand of them,
//! however many there are, and may miss some. A thin interface over `hnsw_rs`, with that crate's faults kept
//! inside. It knows rows by numbers that its user gives, no slots and no store.
//!
//! What it can't do: forget. A row that is gone is kept out of answers by the user's filter, and is in memory
//! and in the files until the graph is made anew; so whoever forgets also drops the graph ([`erase`]).
//!
//! What is worked around: a filter that matches nothing could make a search panic or return a row that fails it;
//! a vector of another length than one is an assertion there; the same number can be put in twice; a damaged
//! file ends the process. Here vectors are made unit length, numbers are put in once, rows are checked again,
//! and files are read only after their checksums were found right.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use hnsw_rs::api::AnnT;
use hnsw_rs::hnsw::Hnsw;
use hnsw_rs::hnswio::HnswIo;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::simd::dot_f32;

/// Neighbours of a row on every layer but the lowest, which has twice as many.
const NEIGHBOURS: usize = 16;
/// How many rows are looked at to place a new one.
const BREADTH: usize = 150;
const LAYERS: usize = 16;
/// Rows that are put in between two calls of the watcher.
const BATCH: usize = 256;
/// The least breadth of a search: with one place, a filter can leave none, which the crate does not survive.
const BREADTH_MIN: usize = 8;
/// A graph is stale from this share of rows on that are gone, or are not in it yet.
const STALE_SHARE: usize = 4;

const HEADER: &str = "graph.header";
const BASE: &str = "graph";
const FILES: [&str; 2] = ["graph.hnsw.graph", "graph.hnsw.data"];
/// Begins a header. The last digit is the version of our format.
const MAGIC: &[u8; 8] = b"rcgraph1";
/// Which program wrote the other files, whose format is its own and not that of every machine.
const WRITER: &str = "hnsw_rs 0.3.5";
/// The longest header: four thousand million rows do not fit a graph in memory.
const HEADER_MAX: u64 = 1 << 34;
/// The longest name of a model.
const MODEL_MAX: usize = 4096;

/// One minus the cosine of vectors of unit length. It is never negative and no comparison of it fails,
/// whatever the numbers are; and it is computed as everywhere else.
#[derive(Clone, Copy, Default)]
struct Distance;

impl hnsw_rs::anndists::dist::distances::Distance<f32> for Distance {
    fn eval(&self, a: &[f32], b: &[f32]) -> f32 {
        (1.0 - dot_f32(a, b)).max(0.0)
    }
}

/// A graph over vectors of one model.
pub struct Graph {
    model: String,
    dims: usize,
    numbers: HashSet<u32>,
    graph: Hnsw<'static, f32, Distance>,
    gone: usize,
}

/// Whether to go on with a work of minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// On.
    On,
    /// No further: what was done so far stays.
    Stop,
}

impl Graph {
    /// A graph without rows, for vectors of the model of that name or fingerprint. `rows` is how many to
    /// expect.
    ///
    /// # Panics
    ///
    /// If the vectors have no numbers.
    pub fn new(model: &str, dims: usize, rows: usize) -> Graph {
        assert!(dims > 0, "vectors must have numbers");
        let graph = Hnsw::new(NEIGHBOURS, rows.max(1), LAYERS, BREADTH, Distance);
        Graph { model: model.to_owned(), dims, numbers: HashSet::new(), graph, gone: 0 }
    }

    /// Puts rows in, on all cores; some thousand a minute and core. `watch` is told how many of `rows` are done,
    /// every few hundred.
    ///
    /// Left out are vectors of another width, without a direction or with a number that is none, and numbers
    /// that are in it already. Returns how many came in.
    pub fn insert(&mut self, rows: &[(u32, &[f32])], mut watch: impl FnMut(usize) -> Go) -> usize {
        let before = self.numbers.len();
        for (batch, rows) in rows.chunks(BATCH).enumerate() {
            let mut fresh: Vec<(u32, Vec<f32>)> = Vec::with_capacity(rows.len());
            for (number, vector) in rows {
                if let Some(vector) = self.unit(vector)
                    && self.numbers.insert(*number)
                {
                    fresh.push((*number, vector));
                }
            }
            let put = |(number, vector): &(u32, Vec<f32>)| self.graph.insert((vector, *number as usize));
            if self.graph.get_nb_point() == 0 {
                // The first rows must meet one another, or parts of the graph would not be connected.
                fresh.iter().for_each(put);
            } else {
                fresh.par_iter().for_each(put);
            }
            if watch(batch * BATCH + rows.len()) == Go::Stop {
                break;
            }
        }
        self.numbers.len() - before
    }

    /// The nearest rows of those allowed, with their cosines, best first: up to `most`, or fewer, since a graph
    /// may miss some. A search that looks at more (`breadth`) misses fewer.
    ///
    /// With a filter the walk does not end before it has found `breadth` rows that pass, so its cost is the
    /// breadth by the share that passes; under a strict filter, comparing the allowed rows takes less.
    pub fn nearest(
        &self,
        query: &[f32],
        most: usize,
        breadth: usize,
        allowed: Option<&dyn Fn(u32) -> bool>,
    ) -> Vec<(u32, f32)> {
        let Some(query) = self.unit(query).filter(|_| most > 0 && !self.numbers.is_empty()) else {
            return Vec::new();
        };
        let breadth = breadth.max(most).max(BREADTH_MIN);
        let found = match allowed {
            None => self.graph.search(&query, most, breadth),
            Some(allowed) => {
                let passes = |number: &usize| allowed(*number as u32);
                self.graph.search_filter(&query, most, breadth, Some(&passes))
            }
        };
        let mut seen = HashSet::new();
        let mut rows: Vec<(u32, f32)> = found
            .into_iter()
            .map(|one| (one.d_id as u32, 1.0 - one.distance))
            .filter(|(number, _)| allowed.is_none_or(|allowed| allowed(*number)) && seen.insert(*number))
            .collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        rows
    }

    /// How many rows are in it, those that are gone included.
    pub fn rows(&self) -> usize {
        self.numbers.len()
    }

    /// Whether a row was put in.
    pub fn has(&self, number: u32) -> bool {
        self.numbers.contains(&number)
    }

    /// Takes note that so many more of its rows are gone.
    pub fn note_gone(&mut self, rows: usize) {
        self.gone += rows;
    }

    /// How many of its rows are gone, as far as it was told.
    pub fn gone(&self) -> usize {
        self.gone
    }

    /// Whether it is better made anew, when so many rows are not in it.
    pub fn is_stale(&self, outside: usize) -> bool {
        self.gone * STALE_SHARE > self.rows() || outside * STALE_SHARE > self.rows() + outside
    }

    /// A vector at unit length, if it is one of this width with a direction.
    fn unit(&self, vector: &[f32]) -> Option<Vec<f32>> {
        if vector.len() != self.dims {
            return None;
        }
        let length = dot_f32(vector, vector).sqrt();
        let is_sound = length.is_finite() && length > f32::MIN_POSITIVE;
        is_sound.then(|| vector.iter().map(|number| number / length).collect())
    }

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
        let path = folder.join(HEADER);
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(Error::io(&path))?;
        file.take(HEADER_MAX).read_to_end(&mut bytes).map_err(Error::io(&path))?;
        let header = Header::read(&bytes).ok_or_else(|| wrong(folder, "its header is not sound"))?;
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
            return Ok(Graph { gone: header.gone as usize, ..Graph::new(model, dims, 0) });
        }
        // The crate ties what it reads to the reader. That is some hundred bytes, and a graph is read once or
        // twice in the life of a process.
        let read = || Box::leak(Box::new(HnswIo::new(folder, BASE))).load_hnsw::<f32, Distance>();
        let graph = match catch_unwind(AssertUnwindSafe(read)) {
            Ok(Ok(graph)) if graph.get_nb_point() == numbers.len() => graph,
            _ => return Err(wrong(folder, "it can't be read")),
        };
        Ok(Graph { model: header.model, dims, numbers, graph, gone: header.gone as usize })
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
        out.extend((self.gone as u64).to_le_bytes());
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
    gone: u64,
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
        let [dims, gone] = [number(&mut rest)?, number(&mut rest)?];
        let files = [checked(&mut rest)?, checked(&mut rest)?];
        let count = number(&mut rest)?;
        let (numbers, more) = rest.as_chunks::<4>();
        let is_whole = more.is_empty() && numbers.len() as u64 == count;
        let numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        is_whole.then_some(Header { writer, model, dims, gone, files, numbers })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::Numbers;

    const DIMS: usize = 24;

    fn vectors(seed: u64, count: usize) -> Vec<Vec<f32>> {
        let mut numbers = Numbers::new(seed);
        (0..count).map(|_| numbers.floats(DIMS)).collect()
    }

    fn rows(vectors: &[Vec<f32>]) -> Vec<(u32, &[f32])> {
        (0..).zip(vectors).map(|(number, vector)| (10 * number, vector.as_slice())).collect()
    }

    fn graph(vectors: &[Vec<f32>]) -> Graph {
        let mut graph = Graph::new("a model", DIMS, vectors.len());
        assert_eq!(graph.insert(&rows(vectors), |_| Go::On), vectors.len());
        graph
    }

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        dot_f32(a, b) / (dot_f32(a, a) * dot_f32(b, b)).sqrt()
    }

    fn exact(vectors: &[Vec<f32>], query: &[f32], most: usize, allowed: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut all: Vec<(u32, f32)> = rows(vectors)
            .into_iter()
            .filter(|(number, _)| allowed(*number))
            .map(|(number, vector)| (number, cosine(query, vector)))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.into_iter().take(most).map(|(number, _)| number).collect()
    }

    #[test]
    fn most_of_the_nearest_are_found_with_their_cosines_and_a_filter_holds() {
        let all = vectors(1, 1500);
        let graph = graph(&all);
        let (mut hits, mut of) = (0, 0);
        for query in vectors(2, 20) {
            for share in [1, 2, 10, 100] {
                let allowed = |number: u32| (number / 10).is_multiple_of(share);
                let filter: Option<&dyn Fn(u32) -> bool> = if share == 1 { None } else { Some(&allowed) };
                let found = graph.nearest(&query, 10, 128, filter);
                assert!(found.len() <= 10 && found.is_sorted_by(|a, b| a.1 >= b.1 && a.0 != b.0));
                for (number, near) in &found {
                    assert!(allowed(*number));
                    assert!((near - cosine(&query, &all[*number as usize / 10])).abs() < 1e-5);
                }
                let want = exact(&all, &query, 10, allowed);
                hits += want.iter().filter(|want| found.iter().any(|(number, _)| number == *want)).count();
                of += want.len();
            }
        }
        assert!(hits * 100 >= of * 95, "{hits} of {of}");
    }

    #[test]
    fn a_filter_that_few_or_no_rows_pass_is_no_trouble() {
        let all = vectors(3, 600);
        let graph = graph(&all);
        for query in vectors(4, 40) {
            for breadth in [0, 1, 2, 64] {
                for only in [0u32, 10, 2990, 5990] {
                    let found = graph.nearest(&query, 5, breadth, Some(&|number| number == only));
                    assert!(found.iter().all(|(number, _)| *number == only) && found.len() <= 1);
                }
                assert!(graph.nearest(&query, 5, breadth, Some(&|_| false)).is_empty());
                assert_eq!(graph.nearest(&query, 1, breadth, Some(&|_| true)).len(), 1);
            }
        }
    }

    #[test]
    fn what_is_no_vector_is_left_out_and_finds_nothing() {
        let mut graph = Graph::new("a model", 2, 4);
        assert!(graph.nearest(&[1.0, 0.0], 3, 8, None).is_empty());
        let rows: [(u32, &[f32]); 7] = [
            (1, &[3.0, 0.0]),
            (2, &[0.0, 0.0]),
            (3, &[f32::NAN, 1.0]),
            (4, &[f32::INFINITY, 1.0]),
            (5, &[1.0]),
            (1, &[0.0, 1.0]),
            (6, &[0.0, -2.0]),
        ];
        assert_eq!(graph.insert(&rows, |_| Go::On), 2);
        assert!(graph.has(1) && graph.has(6) && !graph.has(2) && graph.rows() == 2);
        assert_eq!(graph.nearest(&[7.0, 0.0], 3, 8, None)[0], (1, 1.0));
        for query in [&[0.0, 0.0][..], &[f32::NAN, 0.0], &[1.0], &[]] {
            assert!(graph.nearest(query, 3, 8, None).is_empty());
        }
        assert!(graph.nearest(&[1.0, 0.0], 0, 8, None).is_empty());
    }

    #[test]
    fn work_is_watched_and_can_be_stopped_and_gone_on_with() {
        let all = vectors(5, 1000);
        let mut graph = Graph::new("a model", DIMS, 1000);
        let mut told = Vec::new();
        let stop = |done| {
            told.push(done);
            if told.len() == 2 { Go::Stop } else { Go::On }
        };
        assert_eq!(graph.insert(&rows(&all), stop), 512);
        assert_eq!(told, [256, 512]);
        assert_eq!(graph.insert(&rows(&all), |_| Go::On), 488, "the rest");
        assert_eq!(graph.rows(), 1000);
        assert_eq!(graph.nearest(&all[999], 1, 64, None)[0].0, 9990);
    }

    #[test]
    fn a_graph_grows_stale_by_what_is_gone_and_by_what_it_lacks() {
        let mut graph = graph(&vectors(6, 100));
        assert!(!graph.is_stale(33) && graph.is_stale(34));
        graph.note_gone(25);
        assert!(!graph.is_stale(0) && graph.gone() == 25);
        graph.note_gone(1);
        assert!(graph.is_stale(0));
    }

    #[test]
    fn what_was_saved_is_read_back_and_can_grow_and_be_saved_again() {
        let folder = tempfile::tempdir().unwrap();
        let all = vectors(7, 700);
        let mut first = graph(&all[..500]);
        first.note_gone(3);
        first.save(folder.path()).unwrap();
        let mut second = Graph::load(folder.path(), "a model", DIMS).unwrap();
        assert_eq!((second.rows(), second.gone()), (500, 3));
        for query in vectors(8, 10) {
            assert_eq!(second.nearest(&query, 10, 64, None), first.nearest(&query, 10, 64, None));
        }
        assert_eq!(second.insert(&rows(&all), |_| Go::On), 200);
        second.save(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        let third = Graph::load(folder.path(), "a model", DIMS).unwrap();
        assert_eq!(third.nearest(&all[650], 1, 64, None)[0].0, 6500);
        let empty = Graph::new("a model", DIMS, 0);
        empty.save(folder.path()).unwrap();
        assert_eq!(Graph::load(folder.path(), "a model", DIMS).unwrap().rows(), 0);
        erase(folder.path()).unwrap();
        erase(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_foreign_or_damaged_graph_is_an_error_and_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let load = || Graph::load(folder.path(), "a model", DIMS);
        assert!(matches!(load(), Err(Error::Io { .. })));
        graph(&vectors(9, 60)).save(folder.path()).unwrap();
        assert!(load().is_ok());
        for (model, dims) in [("another", DIMS), ("a model", DIMS + 1), ("a model", 0), ("", DIMS)] {
            assert!(matches!(Graph::load(folder.path(), model, dims), Err(Error::Index(_))));
        }
        for name in [HEADER, FILES[0], FILES[1]] {
            let path = folder.path().join(name);
            let sound = fs::read(&path).unwrap();
            let step = (sound.len() / 60).max(1);
            for at in (0..sound.len()).step_by(step).chain([sound.len() - 1]) {
                let mut flipped = sound.clone();
                flipped[at] ^= 1 << (at % 8);
                fs::write(&path, flipped).unwrap();
                assert!(matches!(load(), Err(Error::Index(_))), "{name}, byte {at}");
                fs::write(&path, &sound[..at]).unwrap();
                assert!(matches!(load(), Err(Error::Index(_))), "{name}, {at} bytes");
            }
            fs::write(&path, [&sound[..], &[0]].concat()).unwrap();
            assert!(matches!(load(), Err(Error::Index(_))), "{name}, one byte more");
            fs::remove_file(&path).unwrap();
            assert!(matches!(load(), Err(Error::Io { .. })), "{name} is gone");
            fs::write(&path, &sound).unwrap();
            assert!(load().is_ok());
        }
    }
}
