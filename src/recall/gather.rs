//! How well does each allowed record match? Runs the searches side by side and gives every allowed slot
//! its raw values. Nothing outside of the plan's ground is looked at.

use std::collections::{HashMap, HashSet};

use super::plan::{Ground, Region};
use super::{Mode, Query, Sources};
use crate::change::Seq;
use crate::error::Result;
use crate::index::bm25::{self, Collection};
use crate::index::exact;
use crate::index::keyword;
use crate::index::subject_hash;
use crate::relay::Partitions;
use crate::store::Snapshot;
use crate::text::query_terms;
use crate::trust::Sensitivity;

/// The most words of a query that are looked up; more are cut off.
const TERMS_MAX: usize = 256;
/// The longest run of words of a query that is compared with subjects.
const SUBJECT_WORDS_MAX: usize = 5;

/// What the searches found, per region and slot.
pub(super) struct Found {
    /// Whether the query's words were looked for.
    pub by_words: bool,
    /// How relevant the query's words make the record: in [0, 1), see [`bm25::relevance`].
    pub keyword: Vec<Vec<f32>>,
    /// The best cosine of the record's vectors; [`exact::NONE`] without one.
    pub cosine: Vec<Vec<f32>>,
    /// Whether the query names the record's subject.
    pub subject: Vec<Vec<bool>>,
}

impl Found {
    /// Whether any search has found that document.
    pub(super) fn matches(&self, ground: &Ground, doc: crate::change::DocId) -> bool {
        let here = |(region, slot): (usize, usize)| {
            self.keyword[region][slot] > 0.0
                || self.subject[region][slot]
                || self.cosine[region][slot] > ground.asked.calibration.unrelated
        };
        let slot =
            |(number, region): (usize, &Region)| Some((number, region.partition.slot(doc, usize::MAX)?));
        ground.regions.iter().enumerate().filter_map(slot).any(here)
    }
}

/// Where one term occurs: region, slot, frequency.
type Postings = Vec<(usize, usize, u32)>;

pub(super) fn gather(
    sources: Sources<'_>,
    snapshot: &Snapshot<'_>,
    ground: &Ground,
    query: &Query,
) -> Result<Found> {
    let by_words = query.mode != Mode::Vector || ground.asked.vector.is_none();
    let terms: Vec<String> = if by_words { query_terms(&query.text) } else { Vec::new() };
    let terms = &terms[..terms.len().min(TERMS_MAX)];
    let tails = tails(sources.relay.partitions(), snapshot, ground, terms)?;
    let rows: usize = ground.regions.iter().map(|region| region.partition.entries().len()).sum();
    let (keyword, cosine) = if rows < exact::PARALLEL_ROWS {
        // Waking another thread would take longer than the work.
        (keyword(ground, terms, &tails), cosines(ground))
    } else {
        rayon::join(|| keyword(ground, terms, &tails), || cosines(ground))
    };
    Ok(Found { by_words, keyword: keyword?, cosine, subject: subjects(ground, query) })
}

/// The documents that the keyword index does not have yet, with their terms, per region and slot.
type Tails = Vec<HashMap<usize, crate::relay::TermCounts>>;

fn tails(
    partitions: &Partitions,
    snapshot: &Snapshot<'_>,
    ground: &Ground,
    terms: &[String],
) -> Result<Tails> {
    let mut tails = Vec::with_capacity(ground.regions.len());
    for region in &ground.regions {
        let mut tail = HashMap::new();
        if !terms.is_empty() {
            for change in snapshot.changes(region.place.id, Seq(ground.view.watermark()))? {
                if let Some(doc) = change.added
                    && let Some(slot) = region.partition.slot(doc, usize::MAX)
                {
                    tail.insert(slot, partitions.tail_terms(snapshot, doc)?);
                }
            }
        }
        tails.push(tail);
    }
    Ok(tails)
}

/// BM25 on a scale from 0 to 1. Counts are over everything in force that the caller may read, whatever the
/// query's own filters and the clock leave of it.
fn keyword(ground: &Ground, terms: &[String], tails: &Tails) -> Result<Vec<Vec<f32>>> {
    let mut scores: Vec<Vec<f32>> =
        ground.regions.iter().map(|region| vec![0.0; region.partition.entries().len()]).collect();
    let collection = collection(ground);
    let lengths = collection.lengths();
    let mut possible = 0.0;
    for term in terms {
        let postings = postings(ground, term, tails)?;
        let weight = collection.weight(postings.len() as u64);
        possible += weight;
        for (region, slot, frequency) in postings {
            let here = &ground.regions[region];
            if here.allowed[slot] {
                let length = here.partition.entries()[slot].columns.terms;
                scores[region][slot] += (weight * lengths.saturation(frequency, length)) as f32;
            }
        }
    }
    let scaled = |score: &mut f32| *score = bm25::relevance(f64::from(*score), possible) as f32;
    scores.iter_mut().flatten().filter(|score| **score > 0.0).for_each(scaled);
    Ok(scores)
}

fn collection(ground: &Ground) -> Collection {
    let mut collection = Collection::default();
    for region in &ground.regions {
        for entry in region.partition.entries() {
            if entry.columns.sensitivity <= ground.clearance {
                collection.add(entry.columns.terms);
            }
        }
    }
    collection
}

fn postings(ground: &Ground, term: &str, tails: &Tails) -> Result<Postings> {
    let mut postings = Vec::new();
    for (number, region) in ground.regions.iter().enumerate() {
        let tail = &tails[number];
        for class in Sensitivity::ALL.iter().filter(|class| **class <= ground.clearance) {
            let partition = keyword::Partition { namespace: region.place.id.0, class: *class as u8 };
            let mut near = 0;
            ground.view.postings(partition, term, |doc, frequency| {
                // What has gone out of force since the index was written has no slot any more.
                if let Some(slot) = region.partition.slot(crate::change::DocId(doc), near) {
                    near = slot + 1;
                    if !tail.contains_key(&slot) {
                        postings.push((number, slot, frequency));
                    }
                }
            })?;
        }
        let unindexed = tail.iter().filter(|(slot, _)| readable(region, **slot, ground.clearance));
        postings.extend(unindexed.filter_map(|(slot, counts)| Some((number, *slot, *counts.get(term)?))));
    }
    Ok(postings)
}

fn readable(region: &Region, slot: usize, clearance: Sensitivity) -> bool {
    region.partition.entries()[slot].columns.sensitivity <= clearance
}

fn cosines(ground: &Ground) -> Vec<Vec<f32>> {
    let scan = |region: &Region| match (&ground.asked.vector, region.partition.vectors()) {
        (Some(query), Some(block)) => exact::scan(&region.partition, block, query, &region.allowed),
        _ => vec![exact::NONE; region.partition.entries().len()],
    };
    ground.regions.iter().map(scan).collect()
}

/// Which records have a subject whose words stand in the query, in order and side by side.
fn subjects(ground: &Ground, query: &Query) -> Vec<Vec<bool>> {
    let folded = crate::text::canonical(&query.text).replace(|c: char| !c.is_alphanumeric(), " ");
    let words: Vec<&str> = folded.split_whitespace().take(TERMS_MAX).collect();
    let runs = (1..=SUBJECT_WORDS_MAX.min(words.len())).flat_map(|length| words.windows(length));
    let named: HashSet<u64> = runs.map(|run| subject_hash(&run.join(" "))).collect();
    let region = |region: &Region| {
        let entries = region.partition.entries();
        entries
            .iter()
            .zip(&region.allowed)
            .map(|(entry, allowed)| *allowed && entry.subject != 0 && named.contains(&entry.subject))
            .collect()
    };
    ground.regions.iter().map(region).collect()
}
