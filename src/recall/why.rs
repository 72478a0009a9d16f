//! Why was one record returned, or not? Runs the same recall and says where the record's way ended.

use super::{Hit, Query, Sources, choose, gather, plan, score};
use crate::change::DocId;
use crate::error::Result;
use crate::namespace::Principal;
use crate::reason::Reason;
use crate::record::{RecordId, State};
use crate::store::Snapshot;
use crate::text::query_terms;

/// The fate of one record in one recall.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// It is in the answer, at this position from 1.
    Returned(usize, Box<Hit>),
    /// It is in the answer whatever is asked, as a rule or preference that stands.
    Standing(Box<Hit>),
    /// It is not, and this is why; with the score that it has, if it got one.
    LeftOut(Reason, Option<f64>),
    /// The caller can't see such a record, or there is none.
    NotFound,
}

/// Explains what became of a record in the recall of a query.
///
/// # Errors
/// As [`super::recall`].
pub fn why(sources: Sources<'_>, principal: &Principal, query: &Query, record: &RecordId) -> Result<Why> {
    query.check()?;
    let answer = super::recall(sources, principal, query)?;
    if let Some(place) = answer.hits.iter().position(|hit| hit.record.record_id == *record) {
        return Ok(Why::Returned(place + 1, Box::new(answer.hits[place].clone())));
    }
    if let Some(hit) = answer.standing.iter().find(|hit| hit.record.record_id == *record) {
        return Ok(Why::Standing(Box::new(hit.clone())));
    }
    let asked = plan::embed(sources, query);
    let (snapshot, ground) = plan::plan(sources, principal, query, asked)?;
    let doc = match state(&snapshot, principal, record)? {
        Fate::Unseen => return Ok(Why::NotFound),
        Fate::Ended(reason) => return Ok(Why::LeftOut(reason, None)),
        Fate::InForce(doc) => doc,
    };
    for region in &ground.regions {
        if let Some(slot) = region.partition.slot(doc)
            && !region.allowed[slot]
        {
            let columns = &region.partition.entries()[slot].columns;
            let unmet = region.partition.triggers().get(&(slot as u32));
            let unmet = unmet.filter(|trigger| plan::trigger_unmet(trigger, query));
            let obstacle = plan::obstacle(columns, principal, query, sources, None)
                .or(unmet.map(|_| Reason::ReadTriggerUnmet))
                .unwrap_or(Reason::OutsideFilter);
            return Ok(Why::LeftOut(obstacle, None));
        }
    }
    let found = gather::gather(&ground, query, &query_terms(&query.text), &sources.policy.recall);
    let (mut ranking, _) = score::rank(sources, &ground, &found, query);
    let mut scored = None;
    while let Some(next) = ranking.next(&snapshot)? {
        if next.doc == doc {
            scored = Some(next.score);
        }
    }
    let (ranking, _) = score::rank(sources, &ground, &found, query);
    let explained = Query { explain: true, ..query.clone() };
    let left_out = choose::choose(sources, &snapshot, principal, &ground, ranking, &explained)?.left_out;
    let named = left_out.into_iter().chain(answer.left_out).find(|(id, _)| id == record);
    let unnamed = || match scored {
        // Of what was ranked, only so many are named.
        Some(_) => Reason::LimitReached,
        None if found.matches(&ground, doc) => Reason::NotRetrieved,
        None if ground.asked.vector.is_some()
            && !ground.regions.iter().any(|region| region.has_vector(doc)) =>
        {
            Reason::EmbeddingsPending
        }
        // It matches in nothing, so nothing had to be nearer.
        None => Reason::BelowFloor,
    };
    let reason = named.map_or_else(unnamed, |(_, reason)| reason);
    Ok(Why::LeftOut(reason, scored))
}

enum Fate {
    Unseen,
    Ended(Reason),
    InForce(DocId),
}

fn state(snapshot: &Snapshot<'_>, principal: &Principal, record: &RecordId) -> Result<Fate> {
    let Some(memory) = snapshot.memory_of(principal, record)? else {
        return Ok(Fate::Unseen);
    };
    let Some(doc) = snapshot.doc_of_record(record)? else {
        return Ok(Fate::Unseen);
    };
    let entry = snapshot.history(principal, &memory)?.into_iter().find(|entry| entry.record_id == *record);
    Ok(match entry.map(|entry| entry.state) {
        None => Fate::Unseen,
        Some(State::Current) => Fate::InForce(doc),
        Some(State::Superseded) => Fate::Ended(Reason::Superseded),
        Some(State::Retired) => Fate::Ended(Reason::Retired),
        Some(State::Held) => Fate::Ended(Reason::HeldSourceForgotten),
        Some(State::Forgotten) => Fate::Ended(Reason::Forgotten),
    })
}
