//! What is each match worth? Turns raw values into named parts on documented scales and adds them up.
//! A pure function of the match, the record's columns, the policy and the clock.
//!
//! Every part has a value in [0, 1], a weight from the policy, and a contribution: their product,
//! rounded down to a multiple of 2^-20. Sums of such multiples are exact in binary floating point, in any
//! order, so a score is the sum of its contributions to the last bit.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::context::{Aside, Context};
use super::gather::Found;
use super::hints::Hints;
use super::plan::{ABOVE, BELOW, Ground};
use super::{Part, Query, Sources};
use crate::change::{Columns, DocId};
use crate::embed::Calibration;
use crate::error::Result;
use crate::gate::policy::RecallPolicy;
use crate::index::block::NONE;
use crate::record::{Form, Kind};
use crate::simd::{Level, Mixed, Packed, reaching_at};
use crate::store::Snapshot;
use crate::trust::Authority;

/// More than what the arithmetic of one cosine, or of one strength, can be off by.
const ROUNDING: f32 = 1e-5;
/// So many rules and preferences are scored for each that may stand.
const ORDERS_FACTOR: usize = 4;
/// Slots that are looked at together.
const RUN: usize = 64;
/// The grid that contributions lie on.
const GRID: f64 = (1u64 << 20) as f64;

/// A scored document.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scored {
    pub region: usize,
    pub slot: usize,
    pub doc: DocId,
    pub score: f64,
    /// What the words and the meaning say together: what the floor looks at.
    pub relevance: f64,
    /// Its first vector, if it had to be read from the store.
    pub vector: Option<Vec<f32>>,
    /// What the score was made of; see [`parts_of`].
    matched: Match,
}

/// Scores every allowed record that any search found, and by themselves the rules and preferences that hold whatever is
/// asked. Ties go to the older document, so the order is total.
pub(super) fn rank<'a>(
    sources: Sources<'a>,
    ground: &'a Ground,
    found: &'a Found,
    query: &Query,
) -> (Ranking<'a>, Ranking<'a>) {
    let policy = &sources.policy.recall;
    let strength = Strength::of(policy, found.by_words, ground.asked.vector.is_some());
    let mut candidates: Vec<Candidate> = Vec::with_capacity(2 * policy.candidates);
    let mut least = f64::NEG_INFINITY;
    for region in 0..ground.regions.len() {
        let (cosines, keywords) = (&found.cosine[region], &found.keyword[region]);
        let (named, mixed) = (&found.subject[region], strength.mixed(ground, found, region));
        // There may be very many, so it is told of a run at once which may be among the best. What is not allowed has
        // nothing that counts.
        let mut reaching = [false; RUN];
        for first in (0..cosines.len()).step_by(RUN) {
            let run = first..(first + RUN).min(cosines.len());
            let reaching = &mut reaching[..run.len()];
            let (near, words, names) = (&cosines[run.clone()], &keywords[run.clone()], &named[run]);
            let enough = least as f32 - ROUNDING;
            if !reaching_at(Level::detect(), mixed, enough, near, words, names, reaching) {
                continue;
            }
            for slot in (first..).zip(&*reaching).filter(|(_, reaches)| **reaches).map(|(slot, _)| slot) {
                let matched = Match::of(ground, found, region, slot);
                let strength = matched.strength(&strength);
                if strength < least || matched.is_nothing() {
                    continue;
                }
                candidates.push(Candidate { strength, region, slot });
                // Of very many, all but the best are dropped as they come.
                if candidates.len() == 2 * policy.candidates {
                    keep_best(ground, &mut candidates, policy.candidates);
                    least =
                        candidates.iter().map(|candidate| candidate.strength).fold(f64::INFINITY, f64::min);
                }
            }
        }
    }
    keep_best(ground, &mut candidates, policy.candidates);
    let mut places: Vec<(usize, usize)> =
        candidates.into_iter().map(|Candidate { region, slot, .. }| (region, slot)).collect();
    let at = query.valid_at.unwrap_or(sources.now);
    let hints = Hints::of(&query.text, ground, at);
    let mut context = Context::of(ground, found, strength, hints, &mut places);
    let orders = match policy.standing {
        0 => Vec::new(),
        standing => context.take_orders(&places, standing * ORDERS_FACTOR),
    };
    let mut ranking = Ranking { sources, ground, strength, heap: BinaryHeap::new(), matching: true };
    let mut standing = Ranking { heap: BinaryHeap::new(), matching: false, ..ranking };
    let ranked = |(nth, (region, slot)): (usize, (usize, usize))| {
        let aside = context.aside(nth, (region, slot));
        let is_exact = found.slack[region] == 0.0 || !ranking.has_vector(region, slot);
        let mut matched = Match { aside, ..Match::of(ground, found, region, slot) };
        // One that was taken in since it stands beside another may not have been compared before.
        if found.cosine[region][slot] == NONE && !is_exact {
            matched.semantic = nearness(ground, context.near(nth) + found.slack[region]);
        }
        Ranked { is_exact, scored: ranking.scored(region, slot, matched) }
    };
    let all: Vec<Ranked> = places.into_iter().enumerate().map(ranked).collect();
    standing.heap = orders.into_iter().map(ranked).collect();
    ranking.heap = all.into();
    (ranking, standing)
}

/// What words and meaning weigh, among the searches that ran: one alone has the weight of both.
#[derive(Clone, Copy)]
pub(super) struct Strength<'p> {
    policy: &'p RecallPolicy,
    keyword: f64,
    semantic: f64,
}

impl<'p> Strength<'p> {
    fn of(policy: &'p RecallPolicy, by_words: bool, by_meaning: bool) -> Strength<'p> {
        let weights = &policy.weights;
        let (mut keyword, mut semantic) = (weights.keyword, weights.semantic);
        if by_words != by_meaning {
            let both = keyword + semantic;
            (keyword, semantic) = if by_words { (both, 0.0) } else { (0.0, both) };
        }
        Strength { policy, keyword, semantic }
    }

    /// What words and meaning say together, from 0 to 1: by their weights, of the meaning what lies above the mean.
    pub(super) fn base(&self, ground: &Ground, keyword: f32, near: f32) -> f64 {
        let above = f64::from(ABOVE / (ABOVE + BELOW));
        let near = ((nearness(ground, near) - (1.0 - above)) / above).max(0.0);
        let (keyword, semantic) = (f64::from(keyword) * self.keyword, near * above * self.semantic);
        let both = self.keyword + above * self.semantic;
        if both > 0.0 { (keyword + semantic) / both } else { 0.0 }
    }

    /// How relevant that is on the scales that hold everywhere.
    pub(super) fn relevance(&self, ground: &Ground, keyword: f64, cosine: f32) -> f64 {
        let meaning =
            if cosine == NONE { 0.0 } else { f64::from(ground.asked.calibration.relevance(cosine)) };
        // The weights are for scales that are wider for the one and narrower for the other; here both count alike.
        match (self.keyword > 0.0, self.semantic > 0.0) {
            (true, true) => (keyword + meaning) / 2.0,
            (true, false) => keyword,
            _ => meaning,
        }
    }

    /// How a region's columns add up to a strength: what is rounded may be as near as its slack allows.
    fn mixed(&self, ground: &Ground, found: &Found, region: usize) -> Mixed {
        let scale = ground.asked.scale;
        let slack = found.slack[region] + ROUNDING;
        let width = scale.related - scale.unrelated;
        Mixed {
            from: scale.unrelated - slack,
            upto: scale.related - slack,
            near: self.semantic as f32 / width.max(f32::MIN_POSITIVE),
            more: self.keyword as f32,
            mark: self.policy.weights.subject as f32,
        }
    }
}

/// Scored documents, best first. Where vectors were compared by rounded numbers, a score is first what it can
/// be at most; it is worked out in full only when that is enough to come next, so the order is the one of
/// the full scores, and few vectors are read from the store.
pub(super) struct Ranking<'a> {
    sources: Sources<'a>,
    ground: &'a Ground,
    strength: Strength<'a>,
    heap: BinaryHeap<Ranked>,
    /// Whether what matches in nothing is none of them.
    matching: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Ranked {
    scored: Scored,
    is_exact: bool,
}

impl Eq for Ranked {}

impl Ord for Ranked {
    /// The greatest comes next: of equal scores those that may still fall, then the older.
    fn cmp(&self, other: &Ranked) -> Ordering {
        let by_score = self.scored.score.total_cmp(&other.scored.score);
        by_score.then(other.is_exact.cmp(&self.is_exact)).then(other.scored.doc.cmp(&self.scored.doc))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ranking<'_> {
    /// The next best document; none when there are no more.
    pub(super) fn next(&mut self, snapshot: &Snapshot<'_>) -> Result<Option<Scored>> {
        while let Some(ranked) = self.heap.pop() {
            if ranked.is_exact {
                return Ok(Some(ranked.scored));
            }
            let exact = self.exact(snapshot, ranked.scored)?;
            // What might have matched and does not is no candidate.
            if !self.matching || !exact.scored.matched.is_nothing() {
                self.heap.push(exact);
            }
        }
        Ok(None)
    }

    /// What kinds the best so many are of, as far as the scores are known, that reach a floor.
    pub(super) fn kinds(&self, most: usize, floor: f64) -> Vec<Kind> {
        let mut best: Vec<&Ranked> =
            self.heap.iter().filter(|ranked| ranked.scored.relevance >= floor).collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        let kind = |ranked: &&Ranked| self.columns(ranked.scored.region, ranked.scored.slot).kind;
        best.iter().take(most).map(kind).collect()
    }

    /// Scores a document by its vectors as the store has them.
    fn exact(&self, snapshot: &Snapshot<'_>, scored: Scored) -> Result<Ranked> {
        let (region, slot, doc) = (scored.region, scored.slot, scored.doc);
        let (mut cosine, mut first) = (NONE, None);
        if let (Some(query), Some(model)) = (&self.ground.asked.vector, &self.ground.model) {
            let block = self.ground.regions[region].partition.vectors();
            match block.and_then(|block| block.exact(query, slot)) {
                Some(in_memory) => cosine = in_memory,
                None => snapshot.vectors_of(doc, |bytes| {
                    let mut buffer = Vec::with_capacity(model.dims);
                    for packed in Packed::all(bytes, model.dims).into_iter().flatten() {
                        cosine = cosine.max(packed.dot(query, &mut buffer));
                        first.get_or_insert_with(|| packed.numbers());
                    }
                })?,
            }
        }
        let matched = Match { semantic: nearness(self.ground, cosine), ..scored.matched };
        let scored = Scored { vector: first, ..self.scored(region, slot, matched) };
        Ok(Ranked { scored, is_exact: true })
    }

    fn scored(&self, region: usize, slot: usize, matched: Match) -> Scored {
        let columns = self.columns(region, slot);
        let parts = parts(&matched, columns, &self.strength, columns_age(columns, self.sources.now));
        let score = parts.iter().map(|part| part.contribution).sum();
        Scored {
            region,
            slot,
            doc: columns.doc,
            score,
            relevance: matched.aside.relevance,
            vector: None,
            matched,
        }
    }

    fn has_vector(&self, region: usize, slot: usize) -> bool {
        let block = self.ground.regions[region].partition.vectors();
        self.ground.asked.vector.is_some() && block.is_some_and(|block| block.has(slot))
    }

    /// The named parts of a document's score.
    pub(super) fn parts_of(&self, scored: &Scored) -> Vec<Part> {
        let columns = self.columns(scored.region, scored.slot);
        let age = columns_age(columns, self.sources.now);
        parts(&scored.matched, columns, &self.strength, age).to_vec()
    }

    fn columns(&self, region: usize, slot: usize) -> &Columns {
        &self.ground.regions[region].partition.entries()[slot].columns
    }
}

/// A record that might be scored: no more than it takes to choose, since there may be very many.
struct Candidate {
    strength: f64,
    region: usize,
    slot: usize,
}

/// Keeps the candidates that the policy asks for: the best by what decides most, which bounds the work
/// that follows. The rest could at most gain what the small parts are worth.
fn keep_best(ground: &Ground, candidates: &mut Vec<Candidate>, most: usize) {
    let doc = |one: &Candidate| doc_of(ground, one.region, one.slot);
    if candidates.len() > most {
        candidates.select_nth_unstable_by(most, |a, b| {
            b.strength.total_cmp(&a.strength).then_with(|| doc(a).cmp(&doc(b)))
        });
        candidates.truncate(most);
    }
}

fn doc_of(ground: &Ground, region: usize, slot: usize) -> DocId {
    ground.regions[region].partition.entries()[slot].columns.doc
}

/// Best first; the same score: the older document first.
pub(super) fn order(a: &Scored, b: &Scored) -> Ordering {
    b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc))
}

/// How a record matches a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Match {
    pub keyword: f64,
    pub semantic: f64,
    pub subject: bool,
    pub aside: Aside,
}

impl Match {
    fn of(ground: &Ground, found: &Found, region: usize, slot: usize) -> Match {
        Match {
            keyword: f64::from(found.keyword[region][slot]).min(1.0),
            // At most: what is rounded may be as much as this.
            semantic: nearness(ground, found.cosine[region][slot] + found.slack[region]),
            subject: found.subject[region][slot],
            aside: Aside::default(),
        }
    }

    /// What the parts that tell of the match contribute.
    fn strength(&self, strength: &Strength<'_>) -> f64 {
        self.keyword * strength.keyword
            + self.semantic * strength.semantic
            + f64::from(u8::from(self.subject)) * strength.policy.weights.subject
    }

    fn is_nothing(&self) -> bool {
        self.keyword <= 0.0 && self.semantic <= 0.0 && !self.subject && self.aside.neighbours <= 0.0
    }
}

/// Up to where nearness rises evenly; what lies beyond its scale goes on rising, ever less, so that of the very nearest the
/// nearest is first.
const EVEN: f64 = 0.98;

fn nearness(ground: &Ground, cosine: f32) -> f64 {
    if cosine == NONE {
        return 0.0;
    }
    let Calibration { unrelated, related } = ground.asked.scale;
    let along = f64::from(cosine - unrelated) / f64::from(related - unrelated);
    if along <= 1.0 {
        return EVEN * along.max(0.0);
    }
    let beyond = (along - 1.0) * f64::from(ABOVE + BELOW);
    EVEN + (1.0 - EVEN) * beyond / (1.0 + beyond)
}

fn columns_age(columns: &Columns, now: crate::clock::Timestamp) -> f64 {
    now.days_since(columns.observed_at).max(0.0)
}

fn parts(matched: &Match, columns: &Columns, strength: &Strength<'_>, age_days: f64) -> [Part; 14] {
    let (policy, aside) = (strength.policy, &matched.aside);
    let weights = &policy.weights;
    [
        part("semantic", matched.semantic, strength.semantic),
        part("keyword", matched.keyword, strength.keyword),
        part("subject", f64::from(u8::from(matched.subject)), weights.subject),
        part("neighbours", aside.neighbours, weights.neighbours),
        part("session", aside.session, weights.session),
        part("speaker", aside.speaker, weights.speaker),
        part("statement", aside.statement, weights.statement),
        part("role", aside.role, weights.role),
        part("date", aside.date, weights.date),
        part("rule", aside.rule, weights.rule),
        part("authority", authority(columns.authority), weights.authority),
        part("recency", recency(columns, policy, age_days), weights.recency),
        part("confidence", columns.confidence, weights.confidence),
        part("importance", columns.importance, weights.importance),
    ]
}

fn part(name: &'static str, value: f64, weight: f64) -> Part {
    Part { name, value, weight, contribution: (value * weight * GRID).floor() / GRID }
}

/// Authority on a scale of equal steps.
fn authority(authority: Authority) -> f64 {
    f64::from(authority as u8) / (Authority::ALL.len() - 1) as f64
}

/// Halves with every half-life of the kind. A rule never fades.
fn recency(columns: &Columns, policy: &RecallPolicy, age_days: f64) -> f64 {
    let days = &policy.half_life_days;
    let half_life = match (columns.form, columns.kind) {
        (Form::Rule, _) => return 1.0,
        (_, Kind::Semantic) => days.semantic,
        (_, Kind::Episodic) => days.episodic,
        (_, Kind::Procedural) => days.procedural,
    };
    (-age_days / half_life).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::gate::Policy;
    use crate::trust::Sensitivity;

    fn columns(form: Form) -> Columns {
        let at = Timestamp::from_micros(0).unwrap();
        Columns {
            doc: DocId(1),
            kind: Kind::Episodic,
            form,
            authority: Authority::UserExplicit,
            sensitivity: Sensitivity::Internal,
            observed_at: at,
            valid_from: at,
            expires_at: None,
            confidence: 0.9,
            importance: 0.3,
            terms: 3,
        }
    }

    #[test]
    fn contributions_sum_exactly_in_any_order() {
        let policy = Policy::default();
        for step in 0..200 {
            let matched = Match {
                keyword: f64::from(step) / 271.0,
                semantic: 1.0 / f64::from(step + 3),
                subject: step % 2 == 0,
                aside: Aside {
                    neighbours: f64::from(step) / 211.0,
                    session: 1.0 / f64::from(step + 1),
                    speaker: 1.0,
                    statement: f64::from(step % 9) / 8.0,
                    role: 1.0,
                    date: f64::from(step % 2),
                    rule: 1.0,
                    relevance: 0.0,
                },
            };
            let strength = Strength::of(&policy.recall, step % 3 > 0, step % 3 < 2);
            let parts = parts(&matched, &columns(Form::Observation), &strength, f64::from(step) * 1.7);
            let forwards: f64 = parts.iter().map(|part| part.contribution).sum();
            let backwards: f64 = parts.iter().rev().map(|part| part.contribution).sum();
            assert_eq!(forwards.to_bits(), backwards.to_bits());
            assert!((0.0..=1.0).contains(&forwards));
        }
    }

    #[test]
    fn recency_halves_and_rules_never_fade() {
        let policy = Policy::default().recall;
        let day = |form, days| recency(&columns(form), &policy, days);
        assert!((day(Form::Observation, policy.half_life_days.episodic) - 0.5).abs() < 1e-12);
        assert_eq!(day(Form::Rule, 10_000.0), 1.0);
    }
}
