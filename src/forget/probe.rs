//! Is anything left? Looks for texts in every byte of every file of a store, in what only a decoder sees, and in files
//! that are deleted and still open. A place that can't be read is not called clean.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;

use super::forms::{BYTES_MIN, few_forms, forms, parts};
use super::pages::{self, More};
use crate::change::DocId;
use crate::embed::Embedder;
use crate::error::{Error, Result};
use crate::index::keyword::{View, stray_terms};
use crate::simd::{pack, packed_len};
use crate::store::{CipherKey, Snapshot};
use crate::text::terms;

/// How many bytes are read at once.
const CHUNK: usize = 4 << 20;
/// The shortest part of a text that is looked for by itself.
const PART_BYTES: usize = 8;
/// The most texts, and the longest altogether.
const TEXTS_MAX: usize = 1000;
const BYTES_MAX: usize = 1 << 16;

/// How many numbers of a vector are looked for together, so that one that lies on two pages is met, and how many of them may
/// be nothing.
const NUMBERS: usize = 8;
const NOTHINGS_MAX: usize = 2;
/// What stands before the numbers of a packed vector.
const SCALE_BYTES: usize = packed_len(0);

/// The place of vectors, which have no form but their bytes.
const VECTORS: &str = "vectors of the texts, in the bytes of every file";
/// The place of what the decoded index holds.
const WORDS: &str = "keyword index, decoded: words that no memory has";
/// How the files of a segment of the index end: their words are packed, so that a search of their bytes proves nothing.
const PACKED: [&str; 7] = ["term", "idx", "pos", "store", "fast", "fieldnorm", "del"];

/// What was found where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the store, or what was decoded.
    pub name: String,
    /// How many bytes, or things, were looked at.
    pub looked_at: u64,
    /// How often the whole of a text was met.
    pub copies: u64,
    /// How often a part of one was met that no memory in the store has.
    pub parts: u64,
    /// Why it could not be read, if so.
    pub unreadable: Option<String>,
}

/// What a probe came to. No content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probed {
    /// Every place that was looked at.
    pub places: Vec<Place>,
    /// What shows that the search sees: where a memory that is there was met, by the same search. Empty: there was none
    /// to look for.
    pub control: Vec<String>,
    /// Whether such a memory was there and was not met where it must be: then nothing can be said.
    pub blind: bool,
}

impl Probed {
    /// Whether anything was found.
    pub fn is_found(&self) -> bool {
        self.places.iter().any(|place| place.copies + place.parts > 0)
    }

    /// Whether some place could not be looked at.
    pub fn is_blind(&self) -> bool {
        self.blind || self.places.iter().any(|place| place.unreadable.is_some())
    }
}

/// The vectors of the texts, if the store has any of its own.
pub enum TextVectors {
    /// There are none in the store.
    None,
    /// Of the model that made those in the store.
    Of(Vec<Vec<f32>>),
    /// They could not be made, so nothing can be said of them.
    Unknown(String),
}

impl TextVectors {
    /// As they would be in the store: of the text alone, so that of a memory with a subject the text to look for begins with
    /// it, as `subject: text`.
    pub fn by(
        model: Option<&dyn Embedder>,
        texts: &[String],
        snapshot: &Snapshot<'_>,
    ) -> Result<TextVectors> {
        let Some(in_use) = snapshot.models()?.into_iter().find(|model| model.in_use) else {
            return Ok(TextVectors::None);
        };
        let made = match model {
            None => Err("there is no model to make the texts' vectors with".to_owned()),
            Some(model) if model.model().fingerprint != in_use.fingerprint => {
                Err("another model made the vectors of the store".to_owned())
            }
            Some(model) => {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                model.embed_passages(&texts).map_err(|error| error.to_string())
            }
        };
        Ok(match made {
            Ok(vectors) => TextVectors::Of(vectors.into_iter().flatten().collect()),
            Err(why) => TextVectors::Unknown(why),
        })
    }
}

/// What is looked for. It is kept in memory alone, and shown nowhere.
pub struct Needles {
    texts: Vec<String>,
    whole: AhoCorasick,
    parts: AhoCorasick,
    vectors: Vectors,
    longest: usize,
}

/// Stretches of vectors, as they are packed.
struct Vectors {
    count: usize,
    stretches: AhoCorasick,
    /// Of a vector that is there, to show that the search sees; none if there is none.
    witness: Option<AhoCorasick>,
    unknown: Option<String>,
}

impl Vectors {
    fn new(of_texts: TextVectors, snapshot: &Snapshot<'_>) -> Result<Vectors> {
        let (vectors, unknown) = match of_texts {
            TextVectors::None => (Vec::new(), None),
            TextVectors::Of(vectors) => (vectors, None),
            TextVectors::Unknown(why) => (Vec::new(), Some(why)),
        };
        let packed = |vector: &Vec<f32>| {
            let mut bytes = Vec::new();
            pack(vector, &mut bytes);
            stretches(&bytes)
        };
        let mut wanted: Vec<Vec<u8>> = vectors.iter().flat_map(packed).collect();
        wanted.sort();
        wanted.dedup();
        let mut witness = None;
        if !wanted.is_empty() {
            // What a memory has that is rightly there is no trace of another.
            let all = searcher(&wanted)?;
            let mut rightly: BTreeSet<usize> = BTreeSet::new();
            snapshot.each_vector(|bytes| {
                rightly.extend(all.find_overlapping_iter(bytes).map(|found| found.pattern().as_usize()));
                if witness.is_none() {
                    witness = Some(stretches(bytes)).filter(|stretches| !stretches.is_empty());
                }
            })?;
            let mut number = 0;
            wanted.retain(|_| {
                number += 1;
                !rightly.contains(&(number - 1))
            });
        }
        let witness = witness.map(|stretches| searcher(&stretches)).transpose()?;
        Ok(Vectors { count: vectors.len(), stretches: searcher(&wanted)?, witness, unknown })
    }

    /// What was met of them in all files.
    fn place(&self, met: u64, is_witnessed: bool) -> Option<Place> {
        let why = match &self.unknown {
            Some(why) => Some(why.clone()),
            None if self.witness.is_some() && !is_witnessed => {
                Some("one that is there was not met: the search does not see".to_owned())
            }
            None => None,
        };
        let place = Place {
            name: VECTORS.to_owned(),
            looked_at: self.count as u64,
            copies: 0,
            parts: met,
            unreadable: why,
        };
        (self.count > 0 || self.unknown.is_some()).then_some(place)
    }
}

/// The parts of a packed vector that are looked for, each by itself.
fn stretches(packed: &[u8]) -> Vec<Vec<u8>> {
    let numbers = packed.get(SCALE_BYTES..).unwrap_or_default();
    let says = |stretch: &&[u8]| {
        let nothings = stretch.chunks_exact(2).filter(|number| **number == [0, 0]).count();
        nothings <= NOTHINGS_MAX
    };
    let found: Vec<Vec<u8>> = numbers.chunks_exact(2 * NUMBERS).filter(says).map(<[u8]>::to_vec).collect();
    // Of one with few numbers that say anything only the whole can be told from others.
    let whole = || vec![numbers.to_vec()].into_iter().filter(|whole| whole.iter().any(|byte| *byte != 0));
    if found.is_empty() { whole().collect() } else { found }
}

fn searcher(needles: &[Vec<u8>]) -> Result<AhoCorasick> {
    AhoCorasick::new(needles).map_err(refused)
}

fn refused(error: aho_corasick::BuildError) -> Error {
    Error::invalid("texts", error.to_string())
}

impl Needles {
    /// Texts, parts of them that no memory of the store has, and their vectors.
    ///
    /// # Errors
    /// `Invalid` for no text, too many, or one of which nothing can be looked for.
    pub fn new(texts: &[String], vectors: TextVectors, snapshot: &Snapshot<'_>) -> Result<Needles> {
        let bytes: usize = texts.iter().map(String::len).sum();
        if texts.is_empty() || texts.len() > TEXTS_MAX || bytes > BYTES_MAX {
            return Err(Error::invalid(
                "texts",
                format!("must be 1 to {TEXTS_MAX}, of at most {BYTES_MAX} bytes together"),
            ));
        }
        if let Some(short) = texts.iter().position(|text| text.len() < BYTES_MIN) {
            return Err(Error::invalid(
                "texts",
                format!("line {} is too short to be told from chance", short + 1),
            ));
        }
        let lowered = |part: String| (part.to_lowercase(), part);
        let mut candidates: BTreeSet<(String, String)> =
            texts.iter().flat_map(|text| parts(text, PART_BYTES)).map(lowered).collect();
        snapshot.each_text(|text| {
            let text = text.to_lowercase();
            candidates.retain(|(part, _)| !text.contains(part.as_str()));
        })?;
        // Whatever the case of ASCII letters, so that each is looked for once.
        let once = |forms: &mut Vec<Vec<u8>>| {
            forms.iter_mut().for_each(|form| form.make_ascii_lowercase());
            forms.sort();
            forms.dedup();
        };
        let mut whole: Vec<Vec<u8>> = texts.iter().flat_map(|text| forms(text)).collect();
        once(&mut whole);
        let known: HashSet<&Vec<u8>> = whole.iter().collect();
        let mut parts: Vec<Vec<u8>> = candidates.iter().flat_map(|(_, part)| few_forms(part)).collect();
        once(&mut parts);
        parts.retain(|part| !known.contains(part));
        let vectors = Vectors::new(vectors, snapshot)?;
        let longest = whole.iter().chain(&parts).map(Vec::len).max().unwrap_or(0);
        let longest = longest.max(vectors.stretches.max_pattern_len());
        let in_any_case = |needles: &[Vec<u8>]| {
            AhoCorasick::builder().ascii_case_insensitive(true).build(needles).map_err(refused)
        };
        let (whole, parts) = (in_any_case(&whole)?, in_any_case(&parts)?);
        Ok(Needles { texts: texts.to_vec(), whole, parts, vectors, longest })
    }

    /// The words of the texts, as the keyword index has them.
    fn terms(&self) -> HashSet<Vec<u8>> {
        self.texts.iter().flat_map(|text| terms(text)).map(String::into_bytes).collect()
    }

    /// Looks through a reader.
    fn in_reader(&self, mut reader: impl Read, witness: Option<&AhoCorasick>) -> std::io::Result<Seen> {
        let mut all = Seen::default();
        let mut buffer: Vec<u8> = Vec::new();
        let mut kept = 0;
        loop {
            buffer.resize(kept + CHUNK, 0);
            let mut filled = kept;
            while filled < buffer.len() {
                match reader.read(&mut buffer[filled..]) {
                    Ok(0) => break,
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            let is_last = filled < buffer.len();
            all.bytes += (filled - kept) as u64;
            let seen = &buffer[..filled];
            // What ends in the part that was seen before was counted then.
            let new = |found: &aho_corasick::Match| found.end() > kept;
            let met = |needles: &AhoCorasick| needles.find_overlapping_iter(seen).filter(new).count() as u64;
            let sees = |needles: Option<&AhoCorasick>| needles.is_some_and(|needles| needles.is_match(seen));
            all.copies += met(&self.whole);
            all.parts += met(&self.parts);
            all.vectors += met(&self.vectors.stretches);
            all.is_witnessed |= sees(witness);
            all.is_vector_witnessed |= sees(self.vectors.witness.as_ref());
            if is_last {
                return Ok(all);
            }
            let keep = self.longest.min(filled);
            buffer.copy_within(filled - keep..filled, 0);
            kept = keep;
        }
    }
}

/// What was seen in one file.
#[derive(Default)]
struct Seen {
    bytes: u64,
    copies: u64,
    parts: u64,
    vectors: u64,
    /// Whether the memory that is known to be there was.
    is_witnessed: bool,
    is_vector_witnessed: bool,
}

/// Looks for texts in a store's folder and in other folders, such as backups. Told with the index: the documents that
/// graphs have a vector of. `progress` is told how many bytes of all files were looked at.
///
/// # Errors
/// What keeps it from beginning; a file that can't be read is told in its place.
pub fn probe(
    folder: &Path,
    others: &[PathBuf],
    needles: &Needles,
    snapshot: &Snapshot<'_>,
    (view, graphs): (&View, Result<Vec<DocId>>),
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Probed> {
    let mut probed = Probed::default();
    let mut all: Vec<(String, PathBuf)> = Vec::new();
    for (root, prefix) in
        std::iter::once((folder, None)).chain(others.iter().map(|other| (other.as_path(), Some(other))))
    {
        let mut found = Vec::new();
        let named = |path: &Path| {
            let inside = path.strip_prefix(root).unwrap_or(path).display().to_string();
            prefix.map_or(inside.clone(), |prefix| prefix.join(&inside).display().to_string())
        };
        files(root, &mut found, &mut |path, why| probed.places.push(unreadable(named(path), why)));
        all.extend(found.into_iter().map(|path| (named(&path), path)));
    }
    let sizes: u64 = all.iter().filter_map(|(_, path)| fs::metadata(path).ok()).map(|file| file.len()).sum();
    // A memory that is there, to show that the search sees.
    let witness = snapshot.any_text()?;
    let seeing = witness
        .as_ref()
        .map(|text| AhoCorasick::new([text.as_bytes()]).map_err(|error| Error::Index(error.to_string())));
    let seeing = seeing.transpose()?;
    let in_use: HashSet<String> = segments(&folder.join("derived").join("keyword"));
    let mut strays: BTreeMap<PathBuf, Stray> = BTreeMap::new();
    let mut seen_in: BTreeSet<String> = BTreeSet::new();
    let (mut vectors, mut vectors_seen_in) = (0, BTreeSet::new());
    let mut done = 0;
    for (name, path) in all {
        let looked = look(&path, needles, snapshot.cipher(), seeing.as_ref());
        match looked {
            Ok((seen, why)) => {
                done += seen.bytes;
                vectors += seen.vectors;
                if seen.is_vector_witnessed {
                    vectors_seen_in.insert(format!("vectors, in {name}"));
                }
                if seen.is_witnessed {
                    seen_in.insert(name.clone());
                }
                if is_packed(&path) && !in_use.contains(&stem(&path)) {
                    let stray = strays.entry(path.with_file_name(stem(&path))).or_default();
                    stray.files.push(probed.places.len());
                    if path.extension().is_some_and(|end| end == "term") {
                        stray.terms = Some(path);
                    }
                }
                let Seen { bytes, copies, parts, .. } = seen;
                probed.places.push(Place { name, looked_at: bytes, copies, parts, unreadable: why });
            }
            // A file that others have deleted meanwhile holds nothing any more; who still has it open is told below.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => probed.places.push(unreadable(name, &error.to_string())),
        }
        progress(done, sizes.max(done));
    }
    probed.places.extend(needles.vectors.place(vectors, !vectors_seen_in.is_empty()));
    let mut known = HashSet::new();
    let decoded = words(needles, snapshot, view, &mut known);
    for stray in strays.into_values() {
        stray.look(needles, &known, snapshot.cipher(), &mut probed.places);
    }
    probed.places.push(decoded.unwrap_or_else(|error| unreadable(WORDS.to_owned(), &error.to_string())));
    probed.places.extend(rows_of_graphs(snapshot, graphs));
    let leftovers = snapshot.leftovers()?;
    probed.places.push(Place {
        name: "database, decoded: what forgotten records still hold".to_owned(),
        looked_at: leftovers.0,
        copies: leftovers.1,
        parts: 0,
        unreadable: None,
    });
    probed.places.push(still_open(folder));
    if let Some(witness) = &witness {
        let known: HashSet<Vec<u8>> = terms(witness).into_iter().map(String::into_bytes).collect();
        let mut met = false;
        // What was written just now may not be indexed yet; then the words say nothing, and are no control.
        // An index that can't be decoded is told in its place.
        let _ = view.for_each_term(|_, term| met |= known.contains(term));
        probed.control.extend(met.then(|| "keyword index, decoded".to_owned()));
        probed.blind = !seen_in.iter().any(|name| name.starts_with("recordari.db"));
    }
    probed.control.splice(0..0, seen_in.into_iter().chain(vectors_seen_in));
    Ok(probed)
}

/// Looks at a file as it is, and at what it decrypts to where that is something else.
fn look(
    path: &Path,
    needles: &Needles,
    cipher: Option<&CipherKey>,
    witness: Option<&AhoCorasick>,
) -> std::io::Result<(Seen, Option<String>)> {
    let mut seen = needles.in_reader(fs::File::open(path)?, witness)?;
    match pages::more(path, cipher)? {
        More::Nothing => Ok((seen, None)),
        More::Unknown(why) => Ok((seen, Some(why.to_owned()))),
        More::Decrypted(pages) => {
            let more = needles.in_reader(*pages, witness)?;
            seen.copies += more.copies;
            seen.parts += more.parts;
            seen.vectors += more.vectors;
            seen.is_witnessed |= more.is_witnessed;
            seen.is_vector_witnessed |= more.is_vector_witnessed;
            Ok((seen, None))
        }
    }
}

/// A segment that lies there and is in no index in use: a crash has left it, somebody builds it, or it is a copy's.
#[derive(Default)]
struct Stray {
    /// The places of its files.
    files: Vec<usize>,
    /// The one with its words; the others hold numbers.
    terms: Option<PathBuf>,
}

impl Stray {
    /// Decodes its words. Where that can't be done, nothing can be said of any of its files.
    fn look(
        self,
        needles: &Needles,
        known: &HashSet<Vec<u8>>,
        cipher: Option<&CipherKey>,
        places: &mut Vec<Place>,
    ) {
        let wanted = needles.terms();
        let read = self.terms.as_ref().map(|file| stray_terms(file, cipher.map(CipherKey::of_derived)));
        match (self.terms.as_ref(), read) {
            (Some(_), Some(Ok(found))) => {
                let of = self.files.iter().find(|at| places[**at].name.ends_with(".term"));
                let name = of.map(|at| places[*at].name.clone()).unwrap_or_default();
                let left = found.iter().filter(|term| wanted.contains(*term) && !known.contains(*term));
                places.push(Place {
                    name: format!("{name}, decoded: words that no memory has"),
                    looked_at: found.len() as u64,
                    copies: left.count() as u64,
                    parts: 0,
                    unreadable: None,
                });
            }
            _ => {
                for at in self.files {
                    let why = "no index in use has it, and its words can't be decoded";
                    places[at].unreadable = Some(why.to_owned());
                }
            }
        }
    }
}

/// Words of the texts that stand in the index, though no record that is there has them. Those that some record has are
/// put into `known`.
fn words(
    needles: &Needles,
    snapshot: &Snapshot<'_>,
    view: &View,
    known: &mut HashSet<Vec<u8>>,
) -> Result<Place> {
    let wanted = needles.terms();
    let mut looked_at = 0;
    let mut there: BTreeMap<u32, BTreeSet<Vec<u8>>> = BTreeMap::new();
    view.for_each_term(|partition, term| {
        looked_at += 1;
        if wanted.contains(term) {
            there.entry(partition.namespace).or_default().insert(term.to_vec());
        }
    })?;
    let in_force: HashSet<u64> = snapshot.docs_in_force()?.into_iter().map(|doc| doc.0).collect();
    let mut left = 0;
    for (namespace, mut terms) in there {
        view.words_of(namespace, |term, doc, _| {
            if in_force.contains(&doc) && terms.remove(term) {
                known.insert(term.to_vec());
            }
        })?;
        left += terms.len() as u64;
    }
    Ok(Place { name: WORDS.to_owned(), looked_at, copies: left, parts: 0, unreadable: None })
}

/// The vectors in graphs whose records hold nothing any more; none where there are no graphs.
fn rows_of_graphs(snapshot: &Snapshot<'_>, graphs: Result<Vec<DocId>>) -> Option<Place> {
    let name = "graphs, decoded: vectors of what is not there".to_owned();
    let left = |docs: &Vec<DocId>| -> Result<u64> {
        docs.iter().try_fold(0, |left, doc| Ok(left + u64::from(!snapshot.holds_anything(*doc)?)))
    };
    let counted = graphs.and_then(|docs| Ok((docs.len() as u64, left(&docs)?)));
    match counted {
        Ok((0, _)) => None,
        Ok((looked_at, copies)) => Some(Place { name, looked_at, copies, parts: 0, unreadable: None }),
        Err(error) => Some(unreadable(name, &error.to_string())),
    }
}

/// Files of the store that are deleted and that some process still has open or mapped: their bytes are still there.
#[cfg(target_os = "linux")]
fn still_open(folder: &Path) -> Place {
    let name = "deleted files that a process still has open".to_owned();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).display().to_string();
    let below = format!("{folder}/");
    let is_ours = |path: &str| path.starts_with(&below) && path.ends_with(" (deleted)");
    let (mut processes, mut found) = (0, BTreeSet::new());
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in
        ids.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
    {
        processes += 1;
        let maps = match fs::read_to_string(process.path().join("maps")) {
            Ok(maps) => maps,
            // Whoever has the index open has a lease on it.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                if has_lease(&folder, &process.file_name()) {
                    return unreadable(name, "a process that has the index open can't be looked into");
                }
                continue;
            }
            Err(_) => continue,
        };
        let mapped = maps.lines().filter_map(|line| line.find('/').map(|at| line[at..].to_owned()));
        let links = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        let open = links.filter_map(|link| Some(fs::read_link(link.path()).ok()?.display().to_string()));
        // What SQLite deletes and makes anew holds no content: shared memory of the journal.
        let held = mapped.chain(open).filter(|path| is_ours(path) && !path.contains(".db-shm"));
        found.extend(held.map(|path| (process.file_name(), path)));
    }
    Place { name, looked_at: processes, copies: found.len() as u64, parts: 0, unreadable: None }
}

#[cfg(target_os = "linux")]
fn has_lease(folder: &str, process: &std::ffi::OsStr) -> bool {
    let leases =
        fs::read_dir(Path::new(folder).join("derived").join("leases")).into_iter().flatten().flatten();
    let of = format!("{}-", process.to_string_lossy());
    leases.map(|lease| lease.file_name()).any(|name| name.to_string_lossy().starts_with(&of))
}

#[cfg(not(target_os = "linux"))]
fn still_open(_: &Path) -> Place {
    unreadable("deleted files that a process still has open".to_owned(), "this system does not tell")
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|end| PACKED.iter().any(|packed| end == *packed))
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// The names of the segments that an index consists of, as its files begin.
fn segments(index: &Path) -> HashSet<String> {
    let meta = fs::read(index.join("meta.json")).unwrap_or_default();
    let meta: serde_json::Value = serde_json::from_slice(&meta).unwrap_or_default();
    let names = meta["segments"].as_array().into_iter().flatten();
    names.filter_map(|segment| Some(segment["segment_id"].as_str()?.replace('-', ""))).collect()
}

fn unreadable(name: String, why: &str) -> Place {
    Place { name, looked_at: 0, copies: 0, parts: 0, unreadable: Some(why.to_owned()) }
}

/// Every file in a folder and below; what can't be followed is told.
fn files(folder: &Path, found: &mut Vec<PathBuf>, failed: &mut dyn FnMut(&Path, &str)) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return failed(folder, &error.to_string()),
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => paths.push(entry.path()),
            Err(error) => failed(folder, &error.to_string()),
        }
    }
    paths.sort();
    for path in paths {
        match fs::symlink_metadata(&path) {
            Ok(file) if file.is_dir() => files(&path, found, failed),
            Ok(file) if file.is_file() => found.push(path),
            Ok(_) => failed(&path, "it is no plain file, and is not followed"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => failed(&path, &error.to_string()),
        }
    }
}
