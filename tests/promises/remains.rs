//! What is left of a text in the files of a store? Looks at every byte of every file, in every form in
//! which a text is likely to be written, and decodes what no search of bytes would find.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;
use recordari::simd::pack;
use recordari::text::terms;
use tantivy::directory::{CompositeFile, FileSlice};
use tantivy::schema::Field;
use tantivy::termdict::TermDictionary;

use crate::world::{World, someone};

/// How many numbers of a vector are looked for, as they are kept.
const VECTOR_NUMBERS: usize = 48;

/// The field of the terms, and what stands before a term in its key.
const TERMS_FIELD: u32 = 1;
const PARTITION_BYTES: usize = 7;
/// How every file of an index ends.
const FOOTER_MAGIC: u32 = 1337;

/// What is looked for.
pub struct Canary {
    /// Words that occur nowhere else.
    pub words: Vec<String>,
    /// The vectors of its texts.
    pub vectors: Vec<Vec<f32>>,
}

impl Canary {
    pub fn new(words: &[&str]) -> Canary {
        Canary { words: words.iter().map(|word| (*word).to_owned()).collect(), vectors: Vec::new() }
    }

    /// How often it is met, by the sort of place: file name, `terms` of the keyword index, `vectors`.
    pub fn remains(&self, folder: &Path) -> BTreeMap<String, usize> {
        let mut remains = BTreeMap::new();
        let forms: Vec<Vec<u8>> = self.words.iter().flat_map(|word| forms(word)).collect();
        let texts = AhoCorasick::new(&forms).unwrap();
        let numbers: Vec<Vec<u8>> = self.vectors.iter().map(|vector| bytes(vector)).collect();
        let numbers = AhoCorasick::new(&numbers).unwrap();
        for file in files(folder) {
            let bytes = std::fs::read(&file).unwrap();
            let name = file.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            let mut count = |place: String, found: usize| {
                if found > 0 {
                    *remains.entry(place).or_insert(0) += found;
                }
            };
            count("vectors".to_owned(), numbers.find_iter(&bytes).count());
            count(name, texts.find_iter(&bytes).count());
        }
        let decoded = self.terms(folder);
        if decoded > 0 {
            remains.insert("terms".to_owned(), decoded);
        }
        remains
    }

    /// Which of the words any file holds, in whatever form.
    pub fn words_seen(&self, folder: &Path) -> BTreeSet<&str> {
        let (mut of, mut all) = (Vec::new(), Vec::new());
        for word in &self.words {
            for form in forms(word) {
                of.push(word.as_str());
                all.push(form);
            }
        }
        let texts = AhoCorasick::new(&all).unwrap();
        let mut seen = BTreeSet::new();
        for file in files(folder) {
            let bytes = std::fs::read(&file).unwrap();
            seen.extend(texts.find_overlapping_iter(&bytes).map(|found| of[found.pattern().as_usize()]));
        }
        seen
    }

    /// How many terms of indexes are terms of the canary alone: of every segment that lies there, whether an index
    /// still knows of it or not.
    fn terms(&self, folder: &Path) -> usize {
        let wanted: Vec<String> = self.words.iter().flat_map(|word| terms(word)).collect();
        let is_wanted = |key: &Vec<u8>| {
            let term = key.get(PARTITION_BYTES..).unwrap_or_default();
            wanted.iter().any(|word| word.as_bytes() == term)
        };
        let segments =
            files(folder).into_iter().filter(|file| file.extension().is_some_and(|end| end == "term"));
        segments.flat_map(|file| keys_of(&file).unwrap_or_default()).filter(is_wanted).count()
    }
}

/// The keys of a segment, decoded; none if it is not whole.
fn keys_of(segment: &Path) -> Option<Vec<Vec<u8>>> {
    let bytes = std::fs::read(segment).ok()?;
    let (rest, magic) = bytes.split_last_chunk::<4>()?;
    let (rest, footer) = rest.split_last_chunk::<4>()?;
    let body = &rest[..rest.len().checked_sub(u32::from_le_bytes(*footer) as usize)?];
    if u32::from_le_bytes(*magic) != FOOTER_MAGIC {
        return None;
    }
    let decode = || {
        let fields = CompositeFile::open(&FileSlice::from(body.to_vec())).ok()?;
        let dictionary = TermDictionary::open(fields.open_read(Field::from_field_id(TERMS_FIELD))?).ok()?;
        let (mut stream, mut keys) = (dictionary.stream().ok()?, Vec::new());
        while stream.advance() {
            keys.push(stream.key().to_vec());
        }
        Some(keys)
    };
    // Torn files make the library panic.
    std::panic::catch_unwind(decode).ok()?
}

/// A text as it is, in other cases, as UTF-16, as JSON, percent and hexadecimal escapes, and in base 64.
fn forms(word: &str) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for text in [word.to_owned(), word.to_lowercase(), word.to_uppercase()] {
        let units: Vec<u16> = text.encode_utf16().collect();
        forms.push(units.iter().flat_map(|unit| unit.to_le_bytes()).collect());
        forms.push(units.iter().flat_map(|unit| unit.to_be_bytes()).collect());
        let escaped = units.iter().map(|unit| match u8::try_from(*unit) {
            Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
            _ => format!("\\u{unit:04x}"),
        });
        forms.push(escaped.collect::<String>().into_bytes());
        forms.push(text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>().into_bytes());
        forms.push(text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes());
        forms.extend((0..3).map(|shift| base64(text.as_bytes(), shift)));
        forms.push(text.into_bytes());
    }
    forms.retain(|form| form.len() > 4);
    forms.sort();
    forms.dedup();
    forms
}

/// The characters of base 64 that depend on the text alone when it begins at that byte of three.
fn base64(text: &[u8], shift: usize) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = &text[(3 - shift) % 3..];
    let digits = |three: &[u8]| {
        let number = u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]);
        [18, 12, 6, 0].map(|bits| DIGITS[(number >> bits & 63) as usize])
    };
    text.chunks_exact(3).flat_map(digits).collect()
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    pack(vector, &mut bytes);
    // The stretch that says most: hashing gives many zeros, and the few other numbers are much alike.
    let length = VECTOR_NUMBERS.min(vector.len());
    let says = |window: &[f32]| window.iter().filter(|number| **number != 0.0).count();
    let fullest = vector.windows(length).enumerate().max_by_key(|(_, window)| says(window));
    let start = 4 + 2 * fullest.map_or(0, |(start, _)| start);
    bytes[start..start + 2 * length].to_vec()
}

pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

#[test]
fn the_search_sees_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let canary =
        Canary { vectors: vec![vec![0.0, 0.25, -0.5, 0.125, 0.5]], ..Canary::new(&["Quillfeather鹀"]) };
    assert!(canary.remains(folder.path()).is_empty());
    for (number, form) in forms("Quillfeather鹀").into_iter().enumerate() {
        let name = format!("form-{number}");
        std::fs::write(folder.path().join(&name), [b"xy", form.as_slice(), b"z"].concat()).unwrap();
        assert_eq!(canary.remains(folder.path()).get(&name), Some(&1), "form {number}");
    }
    let mut encoded = b"before".to_vec();
    pack(&[0.0, 0.25, -0.5, 0.125, 0.5], &mut encoded);
    std::fs::write(folder.path().join("numbers"), encoded).unwrap();
    assert_eq!(canary.remains(folder.path())["vectors"], 1);
}

#[test]
fn the_search_sees_segments_that_no_index_knows_of() {
    let mut world = World::new();
    let mei = someone("acme", "mei", None);
    world.say(&mei, None, "met Quillfeather by the lake", "chat-1");
    world.drain();
    world.close();
    let derived = world.path().join("derived");
    let terms = || Canary::new(&["Quillfeather"]).remains(&derived).get("terms").copied();
    assert_eq!(terms(), Some(1));
    std::fs::rename(derived.join("keyword"), derived.join("keyword-new")).unwrap();
    std::fs::remove_file(derived.join("keyword-new/meta.json")).unwrap();
    assert_eq!(terms(), Some(1));
    assert_eq!(Canary::new(&["Quillfeder"]).remains(&derived), [].into());
}
