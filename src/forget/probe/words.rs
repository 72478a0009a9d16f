//! Which words of the texts stand in indexes? Words are packed there, so that only a decoder sees them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::Place;
use super::needles::Needles;
use crate::error::Result;
use crate::index::keyword::{View, stray_terms};
use crate::store::{CipherKey, Snapshot};

/// The place of what the decoded index holds.
pub(super) const WORDS: &str = "keyword index, decoded: words that no memory has";
/// How the files of a segment of the index end: their words are packed, so that a search of their bytes proves nothing.
const PACKED: [&str; 7] = ["term", "idx", "pos", "store", "fast", "fieldnorm", "del"];

/// A segment that lies there and is in no index in use: a crash has left it, somebody builds it, or it is a copy's.
#[derive(Default)]
pub(super) struct Stray {
    /// The places of its files.
    pub files: Vec<usize>,
    /// The one with its words; the others hold numbers.
    pub terms: Option<PathBuf>,
}

impl Stray {
    /// Decodes its words. Where that can't be done, nothing can be said of any of its files.
    pub(super) fn look(
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
pub(super) fn words(
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

pub(super) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|end| PACKED.iter().any(|packed| end == *packed))
}

pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// The names of the segments that an index consists of, as its files begin.
pub(super) fn segments(index: &Path) -> HashSet<String> {
    let meta = fs::read(index.join("meta.json")).unwrap_or_default();
    let meta: serde_json::Value = serde_json::from_slice(&meta).unwrap_or_default();
    let names = meta["segments"].as_array().into_iter().flatten();
    names.filter_map(|segment| Some(segment["segment_id"].as_str()?.replace('-', ""))).collect()
}
