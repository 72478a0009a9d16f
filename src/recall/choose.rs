//! Which of the ranked records make the answer? Resolves them in the store, holds back what is not
//! relevant or says the same twice, and keeps one kind or one meaning from filling the answer.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::answer::LEFT_OUT_MAX;
use super::memo::{Known, Memo};
use super::plan::{Ground, trigger_unmet};
use super::query::LIMIT_MAX;
use super::score::{Ranking, Scored};
use super::{Group, Hit, Mode, Query, Shown, Sources};
use crate::error::{Error, Result};
use crate::gate::Policy;
use crate::index::subject_hash;
use crate::namespace::Principal;
use crate::reason::Reason;
use crate::record::{Kind, Record, RecordId, State};
use crate::simd::dot_f32;
use crate::store::Snapshot;
use crate::text::mentions;

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
    /// Its first vector, once it was looked at.
    vector: OnceCell<Option<Vec<f32>>>,
}

/// The hits, in order, and what was left out.
pub(super) struct Chosen {
    pub hits: Vec<Hit>,
    pub left_out: Vec<(RecordId, Reason)>,
}

/// Makes the answer: reads the best of the ranked records in the snapshot, as the caller may see them, until
/// the answer is full. What lies behind is not read.
pub(super) fn choose(
    sources: Sources<'_>,
    snapshot: &Snapshot<'_>,
    principal: &Principal,
    ground: &Ground,
    mut ranking: Ranking<'_>,
    query: &Query,
) -> Result<Chosen> {
    let policy = sources.policy;
    let limit = query.limit.unwrap_or(policy.recall.limit);
    let alone = query.mode != Mode::Hybrid || ground.asked.vector.is_none();
    let floor = if alone { policy.recall.floor * ALONE } else { policy.recall.floor };
    let mut picking = Picking::new(sources, ground, limit, quota(policy, &ranking, limit, floor));
    let mut left_out = Vec::new();
    let mut leave = |doc, reason| -> Result<()> {
        if left_out.len() < LEFT_OUT_MAX
            && let Some(id) = snapshot.id_of(doc)?
        {
            left_out.push((id, reason));
        }
        Ok(())
    };
    let mut read = 0;
    while let Some(scored) = ranking.next(snapshot)? {
        if picking.picked.len() >= limit {
            // Named only where somebody wants to know: it takes a look into the store for each.
            if !query.explain {
                break;
            }
            leave(scored.doc, Reason::LimitReached)?;
            continue;
        }
        if scored.relevance < floor {
            leave(scored.doc, Reason::BelowFloor)?;
        } else if query.minimum_score.is_some_and(|least| scored.score < least) {
            leave(scored.doc, Reason::BelowMinimumScore)?;
        } else if read < limit.min(LIMIT_MAX) * RESOLVE_FACTOR + RESOLVE_MORE {
            let doc = scored.doc;
            match resolve(snapshot, principal, ground, scored, query)? {
                Ok(one) => {
                    read += 1;
                    if let Some(reason) = picking.consider(one) {
                        leave(doc, reason)?;
                    }
                }
                // What takes nobody's place is not counted.
                Err(reason) => leave(doc, reason)?,
            }
        }
    }
    let (picked, waiting) = picking.finish();
    for (one, reason) in waiting {
        leave(one.scored.doc, reason)?;
    }
    Ok(Chosen { hits: arrange(&ranking, picked, query), left_out })
}

/// The rules and preferences that are shown whatever is asked, the best first; those among the hits, and what says nearly the
/// same, are not shown again.
pub(super) fn standing(
    sources: Sources<'_>,
    snapshot: &Snapshot<'_>,
    principal: &Principal,
    ground: &Ground,
    mut ranking: Ranking<'_>,
    hits: &[Hit],
    query: &Query,
) -> Result<Vec<Hit>> {
    let policy = &sources.policy.recall;
    let mut told: Vec<Arc<Known>> = hits.iter().map(|hit| sources.memo.of(&hit.record)).collect();
    let mut standing: Vec<Hit> = Vec::new();
    while standing.len() < policy.standing
        && let Some(scored) = ranking.next(snapshot)?
    {
        let Ok(one) = resolve(snapshot, principal, ground, scored, query)? else { continue };
        let telling = sources.memo.of(&one.record);
        if !told.iter().any(|before| before.is_the_same_as(&telling, policy.near_duplicate)) {
            told.push(telling);
            standing.push(hit(&ranking, one, None, query));
        }
    }
    Ok(standing)
}

/// Reads one record, or says why it is no answer.
fn resolve(
    snapshot: &Snapshot<'_>,
    principal: &Principal,
    ground: &Ground,
    scored: Scored,
    query: &Query,
) -> Result<std::result::Result<Resolved, Reason>> {
    let record = match snapshot.resolve(scored.doc, principal) {
        Ok(Some(record)) => record,
        Ok(None) => return Ok(Err(Reason::StaleIndexEntry)),
        // One damaged record costs itself, not the answer.
        Err(Error::Corrupt(_)) => return Ok(Err(Reason::DamagedRecord)),
        Err(error) => return Err(error),
    };
    // The plan let it through by its columns; the record itself must say the same.
    if record.state != State::Current || !ground.regions[scored.region].allowed[scored.slot] {
        return Ok(Err(Reason::StaleIndexEntry));
    }
    if record.read_trigger.as_ref().is_some_and(|trigger| trigger_unmet(trigger, query)) {
        return Ok(Err(Reason::ReadTriggerUnmet));
    }
    Ok(Ok(Resolved { record, scored, vector: OnceCell::new() }))
}

/// The choice as it is being made. Records that say nearly the same words are folded into the best of them;
/// one kind and one meaning don't fill the answer while others have something to say: what was passed over
/// for that fills what is left.
struct Picking<'g> {
    ground: &'g Ground,
    memo: &'g Memo,
    near_duplicate: f64,
    limit: usize,
    quota: usize,
    per_kind: HashMap<Kind, usize>,
    told: Vec<Arc<Known>>,
    picked: Vec<Resolved>,
    waiting: Vec<(Resolved, Reason)>,
}

impl<'g> Picking<'g> {
    fn new(sources: Sources<'g>, ground: &'g Ground, limit: usize, quota: usize) -> Picking<'g> {
        let policy = sources.policy;
        Picking {
            ground,
            memo: sources.memo,
            near_duplicate: policy.recall.near_duplicate,
            limit,
            quota,
            per_kind: HashMap::new(),
            told: Vec::new(),
            picked: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Takes a record, puts it aside, or says why it is not wanted.
    fn consider(&mut self, one: Resolved) -> Option<Reason> {
        let telling = self.memo.of(&one.record);
        if self.told.iter().any(|before| before.is_the_same_as(&telling, self.near_duplicate)) {
            return Some(Reason::NearDuplicate);
        }
        self.told.push(telling);
        let of_kind = self.per_kind.entry(one.record.kind).or_insert(0);
        if *of_kind >= self.quota {
            self.waiting.push((one, Reason::QuotaReached));
        } else if self.picked.iter().any(|before| same_meaning(self.ground, before, &one)) {
            self.waiting.push((one, Reason::NearDuplicate));
        } else {
            *of_kind += 1;
            self.picked.push(one);
        }
        None
    }

    /// The records of the answer, best first, and those that found no place.
    fn finish(mut self) -> (Vec<Resolved>, Vec<(Resolved, Reason)>) {
        let free = self.limit.saturating_sub(self.picked.len()).min(self.waiting.len());
        let left = self.waiting.split_off(free);
        self.picked.extend(self.waiting.into_iter().map(|(one, _)| one));
        self.picked.sort_by(|a, b| super::score::order(&a.scored, &b.scored));
        (self.picked, left)
    }
}

/// How many of one kind may be taken before others had their turn; where there is one kind, all.
fn quota(policy: &Policy, ranking: &Ranking<'_>, limit: usize, floor: f64) -> usize {
    let kinds = ranking.kinds(limit.min(LIMIT_MAX) * RESOLVE_FACTOR + RESOLVE_MORE, floor);
    let one_kind = kinds.iter().all(|kind| *kind == kinds[0]);
    if one_kind { limit } else { ((limit as f64 * policy.recall.kind_share).ceil() as usize).max(1) }
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
    let related = ground.asked.calibration.related;
    match (first_vector(ground, a), first_vector(ground, b)) {
        (Some(a), Some(b)) => dot_f32(a, b) >= related + SAME_MEANING * (1.0 - related),
        _ => false,
    }
}

/// A record's first vector: from memory, or as it was read when the record was scored.
fn first_vector<'o>(ground: &Ground, one: &'o Resolved) -> Option<&'o [f32]> {
    let from_memory = || ground.regions[one.scored.region].partition.vectors()?.first(one.scored.slot);
    let read = || one.scored.vector.clone().or_else(from_memory);
    one.vector.get_or_init(read).as_deref()
}

/// Puts records about one subject together, the one that prevails first, and what the caller's own
/// observation contradicts last.
fn arrange(ranking: &Ranking<'_>, picked: Vec<Resolved>, query: &Query) -> Vec<Hit> {
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
    let grouped = |one: Resolved| {
        let key = subject(&one);
        let group = key.and_then(|key| {
            groups.get(&key).map(|group| Group { prevails: leading.insert(key), ..group.clone() })
        });
        hit(ranking, one, group, query)
    };
    let mut hits: Vec<Hit> = order.into_iter().map(grouped).collect();
    hits.sort_by_key(|hit| hit.refresh_required);
    hits
}

fn hit(ranking: &Ranking<'_>, one: Resolved, group: Option<Group>, query: &Query) -> Hit {
    Hit {
        score: one.scored.score,
        parts: ranking.parts_of(&one.scored),
        group,
        refresh_required: contradicted(&one.record, query),
        shown: Shown::Full,
        record: one.record,
    }
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
