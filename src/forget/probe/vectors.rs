//! Are vectors of the texts left? Stretches of them in any byte, as the store packs them; and vectors of the store that are
//! near them, and not what their record says.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;

use super::needles::searcher;
use super::{Place, unreadable};
use crate::embed::Embedder;
use crate::error::Result;
use crate::simd::{Packed, pack, packed_len};
use crate::store::Snapshot;

/// How many numbers of a vector are looked for together, so that one that lies on two pages is met, and how many of them may
/// be nothing.
const NUMBERS: usize = 8;
const NOTHINGS_MAX: usize = 2;
/// What stands before the numbers of a packed vector.
const SCALE_BYTES: usize = packed_len(0);

/// The place of vectors, which have no form but their bytes.
const VECTORS: &str = "vectors of the texts, in the bytes of every file";
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

/// Stretches of vectors, as they are packed.
pub(super) struct Vectors {
    count: usize,
    pub stretches: AhoCorasick,
    /// Of a vector that is there, to show that the search sees; none if there is none.
    pub witness: Option<AhoCorasick>,
    unknown: Option<String>,
}

impl Vectors {
    pub(super) fn new(of_texts: TextVectors, snapshot: &Snapshot<'_>) -> Result<Vectors> {
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
            snapshot.each_vector(|_, bytes| {
                rightly.extend(all.find_overlapping_iter(bytes).map(|found| found.pattern().as_usize()));
                if witness.is_none() {
                    witness = Some(stretches(bytes)).filter(|stretches| !stretches.is_empty());
                }
                Ok(())
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
    pub(super) fn place(&self, met: u64, is_witnessed: bool) -> Option<Place> {
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

/// How near a vector must be to a text's to be looked at, and how near to its own text's to be that: cosines.
const NEAR: f32 = 0.98;
const SAME: f32 = 0.999;
/// How many texts are embedded at once to see what their vectors are.
const TOGETHER: usize = 64;

/// Looks for vectors in the database that are near those of the texts, and whose record says something else: one that was
/// given to the wrong record. None where the store has no vectors.
///
/// # Errors
/// What keeps the database from being read; a model that fails is told in the place.
pub fn by_similarity(
    model: Option<&dyn Embedder>,
    of_texts: &TextVectors,
    snapshot: &Snapshot<'_>,
) -> Result<Option<Place>> {
    let TextVectors::Of(wanted) = of_texts else { return Ok(None) };
    let (Some(model), name) = (model, "vectors in the database, by similarity") else { return Ok(None) };
    let dims = model.model().dims;
    let (mut looked_at, mut near, mut codes) = (0, Vec::new(), Vec::new());
    snapshot.each_vector(|doc, bytes| {
        let mut is_near = false;
        for vector in Packed::all(bytes, dims).into_iter().flatten() {
            looked_at += 1;
            is_near |= wanted.iter().any(|wanted| vector.dot(wanted, &mut codes) >= NEAR);
        }
        near.extend(is_near.then(|| (doc, bytes.to_vec())));
        Ok(())
    })?;
    let mut copies = 0;
    for together in near.chunks(TOGETHER) {
        let texts = together.iter().map(|(doc, _)| {
            Ok(snapshot.record(*doc)?.map(|record| record.indexed_text()).unwrap_or_default())
        });
        let own = texts
            .collect::<Result<Vec<String>>>()
            .and_then(|texts| model.embed_passages(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
        let own = match own {
            Ok(own) => own,
            Err(error) => return Ok(Some(unreadable(name.to_owned(), &error.to_string()))),
        };
        for ((_, bytes), own) in together.iter().zip(own) {
            let mut is_own = |vector: &Packed<'_>| own.iter().any(|own| vector.dot(own, &mut codes) >= SAME);
            copies +=
                u64::from(!Packed::all(bytes, dims).into_iter().flatten().all(|vector| is_own(&vector)));
        }
    }
    Ok(Some(Place { name: name.to_owned(), looked_at, copies, parts: 0, unreadable: None }))
}
