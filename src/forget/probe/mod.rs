//! Is anything left? Looks for texts in every byte of every file of a store, in what only a decoder sees, and in files
//! that are deleted and still open. A place that can't be read is not called clean.

mod forms;
mod needles;
mod open_files;
mod packed;
mod pages;
mod vectors;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;

use crate::change::DocId;
use crate::error::{Error, Result};
use crate::index::keyword::View;
use crate::store::{CipherKey, Snapshot, open_beside};
use crate::text::terms;
use needles::Seen;
use open_files::still_open;
use packed::UNPACKED_MAX;
use pages::More;
use words::{Stray, WORDS, is_packed, segments, stem, words};

pub use needles::Needles;
pub use vectors::{TextVectors, by_similarity};

/// How many bytes of a file are read at once, and of what is unpacked.
const CHUNK: usize = 4 << 20;
const UNPACKED_CHUNK: usize = 64 << 10;

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

/// Looks at a file as it is, at what is packed in it, and at what it decrypts to where that is something else.
fn look(
    path: &Path,
    needles: &Needles,
    cipher: Option<&CipherKey>,
    witness: Option<&AhoCorasick>,
) -> std::io::Result<(Seen, Option<String>)> {
    let mut seen = needles.in_reader(open_beside(path)?, witness, CHUNK)?;
    let mut unpacked = 0;
    for stream in std::mem::take(&mut seen.packed) {
        let reader = stream.unpacked(path)?.take(UNPACKED_MAX - unpacked);
        let more = needles.in_reader(reader, witness, UNPACKED_CHUNK)?;
        unpacked += more.bytes;
        seen.add(more);
        if unpacked == UNPACKED_MAX {
            return Ok((seen, Some("more is packed in it than is unpacked here".to_owned())));
        }
    }
    match pages::more(path, cipher)? {
        More::Nothing => Ok((seen, None)),
        More::Unknown(why) => Ok((seen, Some(why.to_owned()))),
        More::Decrypted(pages) => {
            seen.add(needles.in_reader(*pages, witness, CHUNK)?);
            Ok((seen, None))
        }
    }
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
