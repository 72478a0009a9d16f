//! What is looked for, and the search of bytes for it.

use std::collections::{BTreeSet, HashSet};
use std::io::Read;

use aho_corasick::AhoCorasick;

use super::forms::{BYTES_MIN, few_forms, forms, parts};
use super::packed::{BEGINNING_BYTES, Stream, beginnings};
use super::vectors::{TextVectors, Vectors};
use crate::error::{Error, Result};
use crate::store::Snapshot;
use crate::text::terms;

/// The shortest part of a text that is looked for by itself.
const PART_BYTES: usize = 8;
/// The most texts, and the longest altogether.
const TEXTS_MAX: usize = 1000;
const BYTES_MAX: usize = 1 << 16;

/// What is looked for. It is kept in memory alone, and shown nowhere.
pub struct Needles {
    texts: Vec<String>,
    whole: AhoCorasick,
    parts: AhoCorasick,
    pub(super) vectors: Vectors,
    /// How streams begin that are packed.
    beginnings: AhoCorasick,
    longest: usize,
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
        let longest = longest.max(vectors.stretches.max_pattern_len()).max(BEGINNING_BYTES);
        let in_any_case = |needles: &[Vec<u8>]| {
            AhoCorasick::builder().ascii_case_insensitive(true).build(needles).map_err(refused)
        };
        let (whole, parts) = (in_any_case(&whole)?, in_any_case(&parts)?);
        Ok(Needles { texts: texts.to_vec(), whole, parts, vectors, beginnings: beginnings()?, longest })
    }

    /// The words of the texts, as the keyword index has them.
    pub(super) fn terms(&self) -> HashSet<Vec<u8>> {
        self.texts.iter().flat_map(|text| terms(text)).map(String::into_bytes).collect()
    }

    /// Looks through a reader, so many bytes at once.
    pub(super) fn in_reader(
        &self,
        mut reader: impl Read,
        witness: Option<&AhoCorasick>,
        at_once: usize,
    ) -> std::io::Result<Seen> {
        let mut all = Seen::default();
        let mut buffer: Vec<u8> = Vec::new();
        let mut kept = 0;
        loop {
            buffer.resize(kept + at_once, 0);
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
            let begins = all.bytes - kept as u64;
            all.bytes += (filled - kept) as u64;
            let seen = &buffer[..filled];
            // What ends in the part that was seen before was counted then.
            let new = |found: &aho_corasick::Match| found.end() > kept;
            let met = |needles: &AhoCorasick| needles.find_overlapping_iter(seen).filter(new).count() as u64;
            let sees = |needles: Option<&AhoCorasick>| needles.is_some_and(|needles| needles.is_match(seen));
            all.copies += met(&self.whole);
            all.parts += met(&self.parts);
            all.vectors += met(&self.vectors.stretches);
            let beginnings = self.beginnings.find_overlapping_iter(seen).filter(new);
            all.packed.extend(
                beginnings.map(|found| Stream::at(begins + found.start() as u64, found.pattern().as_usize())),
            );
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
pub(super) struct Seen {
    pub bytes: u64,
    pub copies: u64,
    pub parts: u64,
    pub vectors: u64,
    /// Where packed streams may begin.
    pub packed: Vec<Stream>,
    /// Whether the memory that is known to be there was.
    pub is_witnessed: bool,
    pub is_vector_witnessed: bool,
}

impl Seen {
    /// Adds what was seen in the same file in another way.
    pub(super) fn add(&mut self, more: Seen) {
        self.copies += more.copies;
        self.parts += more.parts;
        self.vectors += more.vectors;
        self.is_witnessed |= more.is_witnessed;
        self.is_vector_witnessed |= more.is_vector_witnessed;
    }
}

pub(super) fn searcher(needles: &[Vec<u8>]) -> Result<AhoCorasick> {
    AhoCorasick::new(needles).map_err(refused)
}

pub(super) fn refused(error: aho_corasick::BuildError) -> Error {
    Error::invalid("texts", error.to_string())
}
