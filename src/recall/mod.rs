//! What is asked for? Plan, gather, score, resolve, choose, project: the pipeline on one screen. Reads
//! the store and what is derived from it; writes nothing.
//!
//! The filters come first: a record that the caller may not see, or that is not in force, never gets a
//! score. Everything that an index proposes is read again from the store before it is answered.

mod answer;
mod choose;
mod context;
mod dialogue;
mod gather;
mod hints;
mod memo;
mod plan;
mod project;
mod query;
mod score;
mod trace;
mod why;

use std::time::Instant;

use crate::clock::Timestamp;
use crate::embed::Embedder;
use crate::error::Result;
use crate::gate::Policy;
use crate::namespace::Principal;
use crate::reason::Reason;
use crate::relay::Relay;
use crate::store::Store;
use crate::text::query_terms;

pub use answer::{Group, Hit, Looked, Part, Plan, Recalled, Shown, Timings};
pub use memo::Memo;
pub use project::HEADING;
pub use query::{Mode, Query};
pub use trace::{plan as plan_to_json, trace_body};
pub use why::{Why, why};

/// What a recall reads.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The truth.
    pub store: &'a Store,
    /// What is derived from it.
    pub relay: &'a Relay,
    /// What is known of records that were read before.
    pub memo: &'a Memo,
    /// The model, unless it can't be used.
    pub embedder: Option<&'a dyn Embedder>,
    /// The weights and bounds.
    pub policy: &'a Policy,
    /// Its digest: making it takes longer than a small recall.
    pub policy_version: &'a str,
    /// The present instant.
    pub now: Timestamp,
}

/// Answers a query for a caller.
///
/// # Errors
/// `Invalid` when the query breaks a bound; `ModelMismatch` when the mode needs vectors and the store's
/// were made by another model.
pub fn recall(sources: Sources<'_>, principal: &Principal, query: &Query) -> Result<Recalled> {
    query.check()?;
    let started = Instant::now();
    let terms = query_terms(&query.text);
    if terms.is_empty() {
        return Ok(Recalled::empty(Reason::EmptyQuery, query));
    }
    let asked = plan::embed(sources, query);
    let embedded = Instant::now();
    let (snapshot, ground) = plan::plan(sources, principal, query, asked)?;
    if query.mode == Mode::Vector
        && let Some(reason) = ground.asked.degraded
    {
        // Asked for by meaning alone, words are no answer.
        return Ok(Recalled::empty(reason, query));
    }
    if let Some(reason) = ground.nothing() {
        return Ok(Recalled::empty(reason, query).with_plan(ground.into_plan(query, Vec::new())));
    }
    let found = gather::gather(&ground, query, &terms, &sources.policy.recall);
    let gathered = Instant::now();
    let (ranking, standing) = score::rank(sources, &ground, &found, query);
    let chosen = choose::choose(sources, &snapshot, principal, &ground, ranking, query)?;
    let standing = choose::standing(sources, &snapshot, principal, &ground, standing, &chosen.hits, query)?;
    let projected = project::project(sources, chosen.hits, standing, query);
    let plan = ground.into_plan(query, found.looked);
    let mut answer = Recalled::of(projected, chosen.left_out, plan);
    answer.plan.timings = Timings {
        embed_us: (embedded - started).as_micros() as u64,
        gather_us: (gathered - embedded).as_micros() as u64,
        rank_us: gathered.elapsed().as_micros() as u64,
    };
    Ok(answer)
}
