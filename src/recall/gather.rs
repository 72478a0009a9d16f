//! How well does each allowed record match? Runs the searches side by side and gives every allowed slot
//! its raw values. Nothing outside of the plan's ground is looked at.

use std::collections::HashSet;

use super::Looked;
use super::plan::{Ground, Region};
use super::{Mode, Query};
use crate::gate::policy::RecallPolicy;
use crate::index::block::{Asked, Seen, Walk, Worth};
use crate::index::bm25::{self, Collection, Lengths};
use crate::index::words::{self, Postings};
use crate::index::{Entry, Partition, hash_of_words, subject_words};
use crate::simd::{Level, clear_at, scale_at, share};

/// The most words of a query that are looked up; more are cut off.
const TERMS_MAX: usize = 256;
/// For a word of so many records it is worked out beforehand what it says in one of up to so many terms.
const TOLD_ONCE: usize = 256;
/// The longest run of words of a query that is compared with subjects.
const SUBJECT_WORDS_MAX: usize = 5;

/// What the searches found, per region and slot.
pub(super) struct Found {
    /// Whether the query's words were looked for.
    pub by_words: bool,
    /// What the query's words say of the record, as a share of what they say of the best one.
    pub keyword: Vec<Vec<f32>>,
    /// What they say of the best one, and the middle of the scale of relevance; see [`bm25::middle`].
    pub said: (f32, f32),
    /// The best cosine of the record's vectors, as near as its region says; [`NONE`] without one.
    pub cosine: Vec<Vec<f32>>,
    /// How far the cosines of a region may be off; 0: not at all.
    pub slack: Vec<f32>,
    /// Whether the query names the record's subject.
    pub subject: Vec<Vec<bool>>,
    /// How the vectors of each region were searched.
    pub looked: Vec<Looked>,
}

impl Found {
    /// How relevant the query's words make a record of which they say that share of the most: in [0, 1).
    pub(super) fn relevance_of_words(&self, keyword: f32) -> f64 {
        let (most, middle) = self.said;
        f64::from(share(keyword * most, middle))
    }

    /// Whether any search has found that document.
    pub(super) fn matches(&self, ground: &Ground, doc: crate::change::DocId) -> bool {
        let here = |(region, slot): (usize, usize)| {
            self.keyword[region][slot] > 0.0
                || self.subject[region][slot]
                || self.cosine[region][slot] > ground.asked.scale.unrelated
        };
        let slot = |(number, region): (usize, &Region)| Some((number, region.partition.slot(doc)?));
        ground.regions.iter().enumerate().filter_map(slot).any(here)
    }
}

/// Runs the searches. Of very many vectors those are looked at that may be among the candidates.
pub(super) fn gather(ground: &Ground, query: &Query, terms: &[String], policy: &RecallPolicy) -> Found {
    let by_words = query.mode != Mode::Vector || ground.asked.vector.is_none();
    let terms = if by_words { terms } else { &[] };
    let terms = &terms[..terms.len().min(TERMS_MAX)];
    let ((keyword, said), subject) = (keyword(ground, terms), subjects(ground, query));
    let (cosine, slack) = (Vec::new(), Vec::new());
    let mut found = Found { by_words, keyword, said, subject, cosine, slack, looked: Vec::new() };
    // After the words: what they are worth decides with which vectors are looked at.
    for (number, region) in ground.regions.iter().enumerate() {
        let (words, named) = (&found.keyword[number], &found.subject[number]);
        let seen = nearest(ground, region, words, named, policy, query);
        found.looked.push(looked(region, &seen));
        found.cosine.push(seen.cosines);
        found.slack.push(seen.slack);
    }
    found
}

/// What is told of a search.
fn looked(region: &Region, seen: &Seen) -> Looked {
    Looked {
        how: seen.how.code(),
        rows: region.partition.vectors().map_or(0, |block| block.owners().len() as u64),
        allowed: region.allowed_count as u64,
        compared: seen.compared as u64,
        cost: seen.cost as u64,
        instead: seen.instead.map(|(how, cost)| (how.code(), cost as u64)),
        graph: seen.graph.map(|graph| (graph.rows as u64, graph.tail as u64)),
    }
}

/// The graph of a region, if the policy wants it asked. The oracle never asks one.
fn walk<'r>(region: &'r Region, query: &Query, policy: &RecallPolicy) -> Option<Walk<'r>> {
    let beside = region.partition.graph().filter(|_| !query.exact && policy.graph_from > 0)?;
    Some(Walk { beside, breadth: policy.graph_breadth })
}

fn nearest(
    ground: &Ground,
    region: &Region,
    words: &[f32],
    named: &[bool],
    policy: &RecallPolicy,
    query: &Query,
) -> Seen {
    let (graph, exact) = (walk(region, query, policy), query.exact);
    let (Some(query), Some(block)) = (&ground.asked.vector, region.partition.vectors()) else {
        return Seen::nothing(region.partition.entries().len());
    };
    let (allowed, allowed_count) = (&region.allowed, region.allowed_count);
    let (calibration, weights) = (ground.asked.scale, &policy.weights);
    // What a part contributes, in cosines: the scale on which that of the meaning is measured.
    let in_cosines = |weight: f64| {
        (weight / weights.semantic.max(f64::EPSILON)) as f32 * (calibration.related - calibration.unrelated)
    };
    let worth = Worth {
        from: calibration.unrelated,
        upto: calibration.related,
        words: in_cosines(weights.keyword),
        name: in_cosines(weights.subject),
    };
    let wanted = policy.candidates;
    block.search(&Asked { query, allowed, allowed_count, wanted, words, named, worth, graph, exact })
}

/// BM25 as a share of the best; and what that one has, with the middle of the scale of relevance. Counts are over everything in force that the caller may read, whatever the
/// query's own filters and the clock leave of it.
fn keyword(ground: &Ground, terms: &[String]) -> (Vec<Vec<f32>>, (f32, f32)) {
    let mut scores: Vec<Vec<f32>> =
        ground.regions.iter().map(|region| vec![0.0; region.partition.entries().len()]).collect();
    let partitions = ground.regions.iter().map(|region| region.partition.collection(ground.clearance));
    let collection = partitions.fold(Collection::default(), |sum, partition| sum.with(&partition));
    let lengths = collection.lengths();
    let mut possible = 0.0;
    for term in terms {
        let key = words::key(term.as_bytes());
        let postings = |region: &Region| {
            let postings = region.partition.words().postings(key);
            region.partition.documents(&postings, ground.clearance)
        };
        let weight = collection.weight(ground.regions.iter().map(postings).sum());
        possible += weight;
        for (region, scores) in ground.regions.iter().zip(&mut scores) {
            add(&region.partition, &region.partition.words().postings(key), weight, lengths, scores);
        }
    }
    let mut most = 0f32;
    for (region, scores) in ground.regions.iter().zip(&mut scores) {
        most = most.max(clear_at(Level::detect(), &region.allowed, scores));
    }
    if most > 0.0 {
        // Of the best one the product may be a little off from one.
        scores.iter_mut().for_each(|scores| scale_at(Level::detect(), 1.0 / most, scores));
    }
    (scores, (most, bm25::middle(possible)))
}

/// Adds what a word says to the score of each slot that holds it.
fn add(partition: &Partition, postings: &Postings<'_>, weight: f64, lengths: Lengths, scores: &mut [f32]) {
    let said = |count: u16, length: u32| (weight * lengths.saturation(u32::from(count), length)) as f32;
    let all = partition.sieve().lengths();
    // Most records hold a word once and are short: what it says there is worked out once for many of them.
    let once: Vec<f32> = match postings.slots.len() >= TOLD_ONCE {
        true => (0..TOLD_ONCE as u32).map(|length| said(1, length)).collect(),
        false => Vec::new(),
    };
    for (slot, count) in postings.iter() {
        let length = all[slot as usize];
        scores[slot as usize] += match once.get(length as usize) {
            Some(said) if count == 1 => *said,
            _ => said(count, length),
        };
    }
}

/// Which records have a subject whose words stand in the query, in order and side by side.
fn subjects(ground: &Ground, query: &Query) -> Vec<Vec<bool>> {
    let mut named: HashSet<u64> = HashSet::new();
    if ground.regions.iter().any(|region| region.partition.has_subjects()) {
        let folded = subject_words(&query.text);
        let words: Vec<&str> = folded.split(' ').take(TERMS_MAX).collect();
        for length in 1..=SUBJECT_WORDS_MAX.min(words.len()) {
            named.extend(words.windows(length).map(|run| hash_of_words(run.iter().copied())));
        }
    }
    let region = |region: &Region| {
        let entries = region.partition.entries();
        if !region.partition.has_subjects() {
            return vec![false; entries.len()];
        }
        let is_named = |(entry, allowed): (&Entry, &bool)| {
            *allowed && entry.subject != 0 && named.contains(&entry.subject)
        };
        entries.iter().zip(region.allowed.iter()).map(is_named).collect()
    };
    ground.regions.iter().map(region).collect()
}
