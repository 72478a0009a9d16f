//! Which of the ranked records make the answer? Resolves them in the store, holds back what is not
//! relevant or says the same twice, and keeps one kind or one meaning from filling the answer.

use std::collections::{HashMap, HashSet};

use super::plan::Ground;
use super::score::Scored;
use super::{Group, Hit, Mode, Query, Shown};
use crate::error::{Error, Result};
use crate::gate::Policy;
use crate::index::{VectorBlock, subject_hash};
use crate::namespace::Principal;
use crate::reason::Reason;
use crate::record::{Record, RecordId, State};
use crate::simd::dot_f32;
use crate::store::Snapshot;
use crate::text::{Sketch, canonical, is_similar, mentions};

/// How many records are resolved for each that is asked for, and how many more: enough to fill the answer
/// after folding, few enough to read at once.
const RESOLVE_FACTOR: usize = 3;
const RESOLVE_MORE: usize = 20;
/// How far between "clearly related" and "identical" two records' own vectors must lie to count as one
/// meaning said twice. Two statements are much closer to one another than a question is to its answer: with
/// the default model, losing a contest and winning it half way there.
const SAME_MEANING: f32 = 0.8;

/// The share of the floor that counts where one search runs alone: it knows less, so it decides less.
const ALONE: f64 = 2.0 / 3.0;

/// A record as the store has it now, and its score.
pub(super) struct Resolved {
    pub record: Record,
    pub scored: Scored,
}

/// What was read: the records that may answer, and those that may not.
pub(super) struct Reading {
    resolved: Vec<Resolved>,
    left_out: Vec<(RecordId, Reason)>,
    limit: usize,
}

/// The hits, in order, and what was left out.
pub(super) struct Chosen {
    pub hits: Vec<Hit>,
    pub left_out: Vec<(RecordId, Reason)>,
}

/// Reads the best of the ranked documents in the snapshot, as the caller may see them.
pub(super) fn resolve(
    snapshot: &Snapshot<'_>,
    principal: &Principal,
    ground: &Ground,
    ranked: Vec<Scored>,
    query: &Query,
) -> Result<Reading> {
    let limit = query.limit.unwrap_or(usize::MAX);
    let read = limit.min(super::query::LIMIT_MAX) * RESOLVE_FACTOR + RESOLVE_MORE;
    let mut reading = Reading { resolved: Vec::new(), left_out: Vec::new(), limit };
    for scored in ranked {
        // What waits for a trigger that is unmet takes nobody's place.
        if reading.resolved.len() >= read {
            break;
        }
        let record = match snapshot.resolve(scored.doc, principal) {
            Ok(Some(record)) => record,
            Ok(None) => continue,
            // One damaged record costs itself, not the answer.
            Err(Error::Corrupt(_)) => {
                if let Some(id) = snapshot.id_of(scored.doc)? {
                    reading.left_out.push((id, Reason::DamagedRecord));
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        // The plan let it through by its columns; the record itself must say the same.
        if record.state != State::Current || !ground.regions[scored.region].allowed[scored.slot] {
            reading.left_out.push((record.record_id, Reason::StaleIndexEntry));
        } else if trigger_unmet(&record, query) {
            reading.left_out.push((record.record_id, Reason::ReadTriggerUnmet));
        } else {
            reading.resolved.push(Resolved { record, scored });
        }
    }
    Ok(reading)
}

/// Whether a record asks for a trigger that neither the task's tags nor the query's words meet.
fn trigger_unmet(record: &Record, query: &Query) -> bool {
    let Some(trigger) = &record.read_trigger else {
        return false;
    };
    let tagged = query.tags.iter().any(|tag| canonical(tag) == canonical(trigger));
    !tagged && !mentions(&query.text, trigger)
}

/// Makes the answer.
pub(super) fn choose(policy: &Policy, ground: &Ground, reading: Reading, query: &Query) -> Chosen {
    let limit = if query.limit.is_some() { reading.limit } else { policy.recall.limit };
    let mut left_out = reading.left_out;
    let alone = query.mode != Mode::Hybrid || ground.asked.vector.is_none();
    let relevant = relevant(policy, alone, reading.resolved, query, &mut left_out);
    let picked = pick(policy, ground, relevant, limit, &mut left_out);
    Chosen { hits: arrange(picked, query), left_out }
}

fn relevant(
    policy: &Policy,
    alone: bool,
    resolved: Vec<Resolved>,
    query: &Query,
    left_out: &mut Vec<(RecordId, Reason)>,
) -> Vec<Resolved> {
    let floor = if alone { policy.recall.floor * ALONE } else { policy.recall.floor };
    let mut relevant = Vec::new();
    for one in resolved {
        if one.scored.relevance < floor {
            left_out.push((one.record.record_id, Reason::BelowFloor));
        } else if query.minimum_score.is_some_and(|least| one.scored.score < least) {
            left_out.push((one.record.record_id, Reason::BelowMinimumScore));
        } else {
            relevant.push(one);
        }
    }
    relevant
}

/// Takes the best. Records that say nearly the same words are folded into the best of them; one kind and one
/// meaning don't fill the answer while others have something to say: what was passed over for that fills
/// what is left.
fn pick(
    policy: &Policy,
    ground: &Ground,
    ranked: Vec<Resolved>,
    limit: usize,
    left_out: &mut Vec<(RecordId, Reason)>,
) -> Vec<Resolved> {
    let quota = quota(policy, &ranked, limit);
    let mut per_kind: HashMap<_, usize> = HashMap::new();
    let mut told: Vec<Told> = Vec::new();
    let (mut picked, mut waiting): (Vec<Resolved>, Vec<(Resolved, Reason)>) = (Vec::new(), Vec::new());
    for one in ranked {
        if picked.len() >= limit {
            left_out.push((one.record.record_id, Reason::LimitReached));
            continue;
        }
        let telling = Told::of(&one.record);
        if told.iter().any(|before| before.is_the_same_as(&telling, policy.recall.near_duplicate)) {
            left_out.push((one.record.record_id, Reason::NearDuplicate));
            continue;
        }
        told.push(telling);
        let of_kind = per_kind.entry(one.record.kind).or_insert(0);
        if *of_kind >= quota {
            waiting.push((one, Reason::QuotaReached));
        } else if picked.iter().any(|before| same_meaning(ground, before, &one)) {
            waiting.push((one, Reason::NearDuplicate));
        } else {
            *of_kind += 1;
            picked.push(one);
        }
    }
    for (one, reason) in waiting {
        if picked.len() < limit { picked.push(one) } else { left_out.push((one.record.record_id, reason)) }
    }
    picked.sort_by(|a, b| super::score::order(&a.scored, &b.scored));
    picked
}

/// How many of one kind may be taken before others had their turn; where there is one kind, all.
fn quota(policy: &Policy, ranked: &[Resolved], limit: usize) -> usize {
    let one_kind = ranked.iter().all(|one| one.record.kind == ranked[0].record.kind);
    if one_kind { limit } else { ((limit as f64 * policy.recall.kind_share).ceil() as usize).max(1) }
}

/// What a record says, as far as it takes to tell whether another says the same.
struct Told {
    sketch: Sketch,
    /// The statement, if it is one about a subject.
    value: Option<String>,
}

impl Told {
    fn of(record: &Record) -> Told {
        Told {
            sketch: Sketch::of(&record.content),
            value: record.subject.is_some().then(|| canonical(&record.content)),
        }
    }

    /// Two values of one subject are a difference to be shown, however alike they are.
    fn is_the_same_as(&self, other: &Told, threshold: f64) -> bool {
        let differ = self.value.is_some() && other.value.is_some() && self.value != other.value;
        !differ && is_similar(&self.sketch, &other.sketch, threshold)
    }
}

fn same_meaning(ground: &Ground, a: &Resolved, b: &Resolved) -> bool {
    // A turn of a conversation is an event of its own, however alike two of them sound.
    if a.record.episode.is_some() || b.record.episode.is_some() {
        return false;
    }
    // Vectors that another query has left in memory are no part of one that goes by words alone: its answer
    // would depend on what was asked before.
    if ground.asked.vector.is_none() {
        return false;
    }
    let vector = |one: &Resolved| {
        let block = ground.regions[one.scored.region].partition.vectors()?;
        first_vector(block, one)
    };
    let related = ground.asked.calibration.related;
    match (vector(a), vector(b)) {
        (Some(a), Some(b)) => dot_f32(a, b) >= related + SAME_MEANING * (1.0 - related),
        _ => false,
    }
}

fn first_vector<'b>(block: &'b VectorBlock, one: &Resolved) -> Option<&'b [f32]> {
    // A long text has several rows; a binary search would hit any of them, depending on what else is there.
    let row = block.owners.partition_point(|owner| *owner < one.scored.doc);
    let is_own = block.owners.get(row) == Some(&one.scored.doc);
    is_own.then(|| &block.rows[row * block.dims..(row + 1) * block.dims])
}

/// Puts records about one subject together, the one that prevails first, and what the caller's own
/// observation contradicts last.
fn arrange(picked: Vec<Resolved>, query: &Query) -> Vec<Hit> {
    let subject = |one: &Resolved| one.record.subject.as_deref().map(subject_hash);
    let mut order: Vec<Resolved> = Vec::with_capacity(picked.len());
    let mut groups: HashMap<u64, Group> = HashMap::new();
    let mut done: HashSet<u64> = HashSet::new();
    let mut rest: Vec<Option<Resolved>> = picked.into_iter().map(Some).collect();
    for at in 0..rest.len() {
        let Some(first) = rest[at].take() else { continue };
        let Some(key) = subject(&first) else {
            order.push(first);
            continue;
        };
        if !done.insert(key) {
            order.push(first);
            continue;
        }
        let mut members = vec![first];
        members
            .extend(rest.iter_mut().skip(at).filter_map(|one| one.take_if(|one| subject(one) == Some(key))));
        members.sort_by(|a, b| prevails(a, b).0);
        if let [first, second, ..] = members.as_slice() {
            let why = prevails(first, second).1;
            let subject = first.record.subject.clone().unwrap_or_default();
            groups.insert(key, Group { subject, size: members.len(), prevails: false, why });
        }
        order.extend(members);
    }
    let mut leading: HashSet<u64> = HashSet::new();
    let hit = |one: Resolved| {
        let key = subject(&one);
        let group = key.and_then(|key| {
            groups.get(&key).map(|group| Group { prevails: leading.insert(key), ..group.clone() })
        });
        let refresh_required = contradicted(&one.record, query);
        Hit {
            score: one.scored.score,
            parts: one.scored.parts,
            group,
            refresh_required,
            shown: Shown::Full,
            record: one.record,
        }
    };
    let mut hits: Vec<Hit> = order.into_iter().map(hit).collect();
    hits.sort_by_key(|hit| hit.refresh_required);
    hits
}

/// Which of two records about one subject prevails, and why. Of two that were observed and recorded at the
/// same instant the one that was written later is the newer.
fn prevails(a: &Resolved, b: &Resolved) -> (std::cmp::Ordering, &'static str) {
    let written_later = b.scored.doc.cmp(&a.scored.doc);
    let (a, b) = (&a.record, &b.record);
    let narrower = b.namespace.depth().cmp(&a.namespace.depth());
    let higher = b.authority.cmp(&a.authority);
    let newer = b.observed_at.cmp(&a.observed_at).then(b.recorded_at.cmp(&a.recorded_at));
    let order = narrower.then(higher).then(newer).then(written_later);
    let why = if narrower.is_ne() {
        "narrower_namespace"
    } else if higher.is_ne() {
        "higher_authority"
    } else {
        "newer"
    };
    (order, why)
}

/// Whether the caller observes another value for the record's subject now.
fn contradicted(record: &Record, query: &Query) -> bool {
    let Some(subject) = &record.subject else {
        return false;
    };
    query.observed.iter().any(|(observed, value)| {
        subject_hash(observed) == subject_hash(subject)
            && !mentions(&record.content, value)
            && !mentions(value, &record.content)
    })
}
