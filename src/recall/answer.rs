//! What a recall answers: hits with their explanation, what was left out and why, and the text to show.

use std::collections::BTreeMap;

use serde::Serialize;

use super::project::Projected;
use super::{Mode, Query};
use crate::namespace::Namespace;
use crate::reason::Reason;
use crate::record::{Record, RecordId};

/// How many left-out records an answer names.
pub(super) const LEFT_OUT_MAX: usize = 100;

/// One named part of a score: value and weight lie in [0, 1], the contribution is their product, rounded down on a grid
/// of 2^-20. A score is the sum of its contributions, exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it measures.
    pub name: &'static str,
    /// How much of it there is, from 0 to 1.
    pub value: f64,
    /// The most that it can contribute.
    pub weight: f64,
    /// What it contributes.
    pub contribution: f64,
}

/// Records about the same subject, shown together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The subject.
    pub subject: String,
    /// How many of the group are in the answer.
    pub size: usize,
    /// Whether this is the one that prevails.
    pub prevails: bool,
    /// Why the first one prevails: `narrower_namespace`, `higher_authority` or `newer`.
    pub why: &'static str,
}

/// In which form a hit stands in the projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In full.
    Full,
    /// Cut short.
    Short,
    /// By its id alone.
    Reference,
}

/// A memory that answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The record, as it stood in the store when it was resolved.
    pub record: Record,
    /// The sum of the parts' contributions, in [0, 1]. It orders the hits of one answer; it is no
    /// probability.
    pub score: f64,
    /// What the score is made of.
    pub parts: Vec<Part>,
    /// The other records about its subject, if any are in the answer.
    pub group: Option<Group>,
    /// The caller observes another value now (`refresh_required`).
    pub refresh_required: bool,
    /// Its form in the projection.
    pub shown: Shown,
}

/// How long the steps took, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Timings {
    /// Embedding the query.
    pub embed_us: u64,
    /// Filters and searches.
    pub gather_us: u64,
    /// Scoring, resolving, choosing, projecting.
    pub rank_us: u64,
}

/// How the vectors of a namespace, or of all below one, were searched, and the counts from which that followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// `scan`: every allowed vector was compared by a byte per number; `sketch`: a sketch of a bit per number said
    /// which may be near, those were compared so; `graph`: a graph said which are near, those and the ones that it
    /// does not know were compared so; `exact`: every allowed one was compared in full; `nothing`: there were none.
    /// The nearest are compared in full in any case.
    pub how: &'static str,
    /// How many vectors there are.
    pub rows: u64,
    /// How many records the filters let through.
    pub allowed: u64,
    /// How many vectors were compared.
    pub compared: u64,
    /// What that was estimated to cost beforehand, in vectors compared by their bytes.
    pub cost: u64,
    /// What would have been done otherwise, and its estimate; none where there was no choice.
    pub instead: Option<(&'static str, u64)>,
    /// How many vectors a graph has, and how many it does not know; none where none was at hand.
    pub graph: Option<(u64, u64)>,
}

/// What was done to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The mode asked for.
    pub mode: Mode,
    /// The namespaces of the caller's scope that hold something.
    pub namespaces: Vec<Namespace>,
    /// How many records the filters let through.
    pub allowed: u64,
    /// How many they kept out, by reason, if an explanation was asked for.
    pub kept_out: BTreeMap<Reason, u64>,
    /// The searches that ran: `keyword`, `vector`.
    pub searches: Vec<&'static str>,
    /// How the vectors were searched, where there were any.
    pub vectors: Vec<Looked>,
    /// The model whose vectors were compared.
    pub model: Option<String>,
    /// Which policy was in force.
    pub policy_version: String,
    /// What the answer had to do without.
    pub degraded: Vec<Reason>,
    /// How long it took.
    pub timings: Timings,
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Recalled {
    /// The memories, the best first; records about one subject stand together.
    pub hits: Vec<Hit>,
    /// Rules and preferences of people that hold whatever is asked, of the caller's own namespace and the wider ones, and are
    /// not among the hits: as many as the policy says, the best first. What a model inferred, a tool reported or an assistant said is never among them.
    pub standing: Vec<Hit>,
    /// Why there is no hit, if so.
    pub reason: Option<Reason>,
    /// Records that came close and are not in the answer; a bounded list.
    pub left_out: Vec<(RecordId, Reason)>,
    /// What stands and the hits as text for a model, within the budget and fenced as data. Empty without either.
    pub projection: String,
    /// The id under which the trace is kept; set by the memory that keeps it.
    pub trace_id: Option<String>,
    /// What was done to answer.
    pub plan: Plan,
}

impl Recalled {
    pub(super) fn empty(reason: Reason, query: &Query) -> Recalled {
        let plan = Plan {
            mode: query.mode,
            namespaces: Vec::new(),
            allowed: 0,
            kept_out: BTreeMap::new(),
            searches: Vec::new(),
            vectors: Vec::new(),
            model: None,
            policy_version: String::new(),
            degraded: Vec::new(),
            timings: Timings::default(),
        };
        Recalled {
            hits: Vec::new(),
            standing: Vec::new(),
            reason: Some(reason),
            left_out: Vec::new(),
            projection: String::new(),
            trace_id: None,
            plan,
        }
    }

    pub(super) fn with_plan(self, plan: Plan) -> Recalled {
        Recalled { plan, ..self }
    }

    pub(super) fn of(projected: Projected, mut left_out: Vec<(RecordId, Reason)>, plan: Plan) -> Recalled {
        let Projected { text: projection, hits, standing, over_budget } = projected;
        left_out.retain(|(id, _)| standing.iter().all(|hit| hit.record.record_id != *id));
        left_out.splice(0..0, over_budget.into_iter().map(|id| (id, Reason::OverBudget)));
        left_out.truncate(LEFT_OUT_MAX);
        // What stood in the way of the best one says most about why there is none.
        let obstacle = left_out.iter().map(|(_, reason)| *reason).find(|reason| {
            matches!(reason, Reason::OverBudget | Reason::BelowMinimumScore | Reason::ReadTriggerUnmet)
        });
        let reason = hits.is_empty().then(|| obstacle.unwrap_or(Reason::NoRelevantMemory));
        Recalled { hits, standing, reason, left_out, projection, trace_id: None, plan }
    }
}
