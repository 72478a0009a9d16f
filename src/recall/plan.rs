//! What may be considered at all? Works out the caller's partitions, which of their records the filters
//! allow, and which searches can run, before anything is scored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::dialogue::said_by_persons;
use super::{Looked, Mode, Plan, Query, Sources};
use crate::change::{Columns, DocId, NamespaceId};
use crate::embed::{Calibration, Embedder};
use crate::error::Result;
use crate::index::Partition;
use crate::namespace::{Namespace, Principal};
use crate::reason::Reason;
use crate::relay::Area;
use crate::store::{Filter, ModelRow, Snapshot, Standing};
use crate::text::{canonical, mentions};
use crate::trust::Sensitivity;

/// The query as the model sees it, and the model's row in the store.
pub(super) struct Asked {
    /// What is compared with the vectors: the query, moved away from where all of them lie.
    pub vector: Option<Vec<f32>>,
    /// The query as the model has it; empty without one.
    pub plain: Vec<f32>,
    /// From which product on a vector is near, and where it is as near as counts: two standard deviations below the mean of
    /// all, and five above.
    pub scale: Calibration,
    /// What the plain cosines of the model say.
    pub calibration: Calibration,
    pub degraded: Option<Reason>,
}

/// One partition and which of its slots may be considered.
pub(super) struct Region {
    /// The namespace that it is, or below which it lies.
    pub namespace: Namespace,
    pub partition: Partition,
    pub allowed: Arc<Vec<bool>>,
    pub allowed_count: usize,
    /// Whether it is the caller's own namespace or a wider one: what is ordered there holds for the caller.
    pub holds: bool,
}

/// Everything that may be considered, at one moment.
pub(super) struct Ground {
    pub regions: Vec<Region>,
    pub asked: Asked,
    pub model: Option<ModelRow>,
    pub clearance: Sensitivity,
    /// What the filters kept out, by reason; only of the caller's own scope and clearance.
    pub kept_out: BTreeMap<Reason, u64>,
    pub policy_version: String,
    pub degraded: Vec<Reason>,
}

/// Embeds the query, outside of any transaction: it takes longer than all the rest.
pub(super) fn embed(sources: Sources<'_>, query: &Query) -> Asked {
    let whole = Calibration { unrelated: 0.0, related: 1.0 };
    let none = Asked { vector: None, plain: Vec::new(), scale: whole, calibration: whole, degraded: None };
    if query.mode == Mode::Keyword {
        return none;
    }
    let Some(embedder) = sources.embedder else {
        return Asked { degraded: Some(Reason::EmbedderUnavailable), ..none };
    };
    let model = embedder.model();
    match embedded(embedder, &query.text) {
        Ok(vector) => Asked {
            plain: vector.clone(),
            vector: Some(vector),
            scale: model.calibration,
            calibration: model.calibration,
            degraded: None,
        },
        Err(_) => Asked { degraded: Some(Reason::EmbedderUnavailable), ..none },
    }
}

/// The vector of a query; of a conversation that between the whole and what persons say in it.
fn embedded(embedder: &dyn Embedder, text: &str) -> Result<Vec<f32>> {
    let whole = embedder.embed_query(text)?;
    let Some(said) = said_by_persons(text) else { return Ok(whole) };
    let said = embedder.embed_query(&said)?;
    let mut both: Vec<f32> = whole.iter().zip(&said).map(|(one, other)| one + other).collect();
    let length = crate::simd::dot_f32(&both, &both).sqrt();
    if length > 0.0 {
        both.iter_mut().for_each(|number| *number /= length);
    }
    Ok(both)
}

/// Works out what may be considered, in one snapshot.
pub(super) fn plan<'s>(
    sources: Sources<'s>,
    principal: &Principal,
    query: &Query,
    asked: Asked,
) -> Result<(Snapshot<'s>, Ground)> {
    let view = sources.relay.view();
    // The index may be older than the snapshot, never newer: what it lacks is taken from the store.
    let snapshot = sources.store.snapshot()?;
    let (asked, model) = compared(sources, &snapshot, asked)?;
    let mut kept_out = BTreeMap::new();
    let mut regions = Vec::new();
    let scope = principal.scope();
    let places = snapshot.places_named(&scope)?;
    let below = scope.root().map(|root| (root, Area::Below(root)));
    let named = places.iter().map(|place| (&place.namespace, Area::Own(place)));
    for (namespace, area) in below.into_iter().chain(named) {
        let holds = matches!(area, Area::Own(_));
        let partition = sources.relay.partitions().at(&snapshot, &view, area, model.as_ref(), query.exact)?;
        let meets = meeting(&snapshot, partition.members(), &query.filter)?;
        let at = query.valid_at.unwrap_or(sources.now);
        let (mut allowed, mut allowed_count) = partition.sieve().pass(at, principal.clearance, &query.kinds);
        if let Some(meets) = &meets {
            for (allowed, entry) in Arc::make_mut(&mut allowed)
                .iter_mut()
                .zip(partition.entries())
                .filter(|(allowed, _)| **allowed)
            {
                *allowed = meets.contains(&entry.columns.doc);
            }
            allowed_count = allowed.iter().filter(|allowed| **allowed).count();
        }
        for (slot, trigger) in partition.triggers() {
            let slot = *slot as usize;
            if allowed[slot] && trigger_unmet(trigger, query) {
                Arc::make_mut(&mut allowed)[slot] = false;
                allowed_count -= 1;
                *kept_out.entry(Reason::ReadTriggerUnmet).or_insert(0) += 1;
            }
        }
        if query.explain {
            for entry in partition.entries().iter().filter(|entry| entry.in_force) {
                match obstacle(&entry.columns, principal, query, sources, meets.as_ref()) {
                    // What lies above the clearance is in no count: its existence is not the caller's business.
                    Some(Reason::AboveClearance) | None => {}
                    Some(reason) => *kept_out.entry(reason).or_insert(0) += 1,
                }
            }
        }
        regions.push(Region { namespace: namespace.clone(), partition, allowed, allowed_count, holds });
    }
    let mut degraded: Vec<Reason> = asked.degraded.into_iter().collect();
    if asked.vector.is_some() && regions.iter().any(Region::lacks_vectors) {
        degraded.push(Reason::EmbeddingsPending);
    }
    let policy_version = sources.policy_version.to_owned();
    let clearance = principal.clearance;
    let asked = standardised(asked, &regions, sources.policy.recall.centring);
    Ok((snapshot, Ground { regions, asked, model, clearance, kept_out, policy_version, degraded }))
}

/// How many standard deviations above the mean a vector is as near as counts, and below it as far.
pub(super) const ABOVE: f32 = 5.0;
pub(super) const BELOW: f32 = 2.0;
/// So many vectors know as much of how they lie as the model's own figures do.
const KNOWN_BY: f32 = 20.0;
/// The least that the scale spans.
const SPAN_MIN: f32 = 1e-3;

/// Puts the query on the scale of what may be considered: how near a vector is says little, how much nearer than others says
/// more. Where there are few others, the model's own figures decide.
fn standardised(asked: Asked, regions: &[Region], centring: f64) -> Asked {
    let spreads: Vec<_> = regions
        .iter()
        .filter_map(|region| Some((region, region.partition.spread(&region.allowed)?)))
        .collect();
    let rows: f32 = spreads.iter().map(|(_, spread)| spread.rows as f32).sum();
    let Some(plain) = asked.vector.as_ref().filter(|_| rows > 0.0) else { return asked };
    let known = rows / (rows + KNOWN_BY);
    let mut mean = vec![0f32; plain.len()];
    for (_, spread) in &spreads {
        let share = spread.rows as f32 / rows;
        mean.iter_mut().zip(&spread.mean).for_each(|(sum, number)| *sum += share * number);
    }
    let away = centring as f32 * known;
    let vector: Vec<f32> = plain.iter().zip(&mean).map(|(number, mean)| number - away * mean).collect();
    let (mut sum, mut squares) = (0f64, 0f64);
    for (region, spread) in &spreads {
        let Some(block) = region.partition.vectors() else { continue };
        // Each of a sample stands for as many of its region.
        let each = f64::from(spread.rows as f32 / rows) / spread.sample.len() as f64;
        for product in block.rows_roughly(&vector, &spread.sample) {
            sum += each * f64::from(product);
            squares += each * f64::from(product).powi(2);
        }
    }
    let deviation = (squares - sum.powi(2)).max(0.0).sqrt() as f32;
    let shift = away * crate::simd::dot_f32(&mean, &mean);
    let Calibration { unrelated, related } = asked.calibration;
    // The model tells where nearness begins and ends to count; that is as much as lies above a mean.
    let unit = (known * deviation + (1.0 - known) * (related - unrelated) / ABOVE).max(SPAN_MIN / ABOVE);
    let middle = known * sum as f32 + (1.0 - known) * (unrelated - shift);
    let scale = Calibration { unrelated: middle - BELOW * unit, related: middle + ABOVE * unit };
    Asked { vector: Some(vector), scale, ..asked }
}

/// The model whose vectors are compared with the query's, if the store has any of it.
fn compared(
    sources: Sources<'_>,
    snapshot: &Snapshot<'_>,
    asked: Asked,
) -> Result<(Asked, Option<ModelRow>)> {
    let Some(embedder) = sources.embedder.filter(|_| asked.vector.is_some()) else {
        return Ok((asked, None));
    };
    let model = embedder.model();
    Ok(match snapshot.standing(&model.name, &model.fingerprint, model.dims)? {
        Standing::InUse(row) => (asked, Some(row)),
        Standing::First => (asked, None),
        // While a change-over runs, recall goes on by keyword: two models' vectors are never compared.
        Standing::Coming(_) => {
            (Asked { vector: None, degraded: Some(Reason::EmbeddingsPending), ..asked }, None)
        }
    })
}

/// The documents that meet the query's own filter; none when it has none.
fn meeting(
    snapshot: &Snapshot<'_>,
    members: &[NamespaceId],
    filter: &Filter,
) -> Result<Option<BTreeSet<DocId>>> {
    if *filter == Filter::All(Vec::new()) {
        return Ok(None);
    }
    if members.is_empty() {
        return Ok(Some(BTreeSet::new()));
    }
    Ok(Some(snapshot.docs_meeting(members, filter)?.into_iter().collect()))
}

/// Why a record in force may not be considered.
pub(super) fn obstacle(
    columns: &Columns,
    principal: &Principal,
    query: &Query,
    sources: Sources<'_>,
    meets: Option<&BTreeSet<DocId>>,
) -> Option<Reason> {
    let at = query.valid_at.unwrap_or(sources.now);
    if columns.sensitivity > principal.clearance {
        return Some(Reason::AboveClearance);
    }
    if columns.valid_from > at {
        return Some(Reason::NotYetValid);
    }
    if columns.expires_at.is_some_and(|expires_at| expires_at <= at) {
        return Some(Reason::Expired);
    }
    let kind = query.kinds.is_empty() || query.kinds.contains(&columns.kind);
    if !kind || meets.is_some_and(|meets| !meets.contains(&columns.doc)) {
        return Some(Reason::OutsideFilter);
    }
    None
}

/// Whether a record asks for a trigger that neither the task's tags nor the query's words meet.
pub(super) fn trigger_unmet(trigger: &str, query: &Query) -> bool {
    let tagged = query.tags.iter().any(|tag| canonical(tag) == canonical(trigger));
    !tagged && !mentions(&query.text, trigger)
}

impl Region {
    /// Whether a record that may be considered has no vector, so that its words alone can find it.
    fn lacks_vectors(&self) -> bool {
        if !self.partition.lacks_vectors() {
            return false;
        }
        let owners = self.partition.vectors().map_or(&[][..], |block| block.owners());
        let mut owners = owners.iter().peekable();
        self.allowed.iter().enumerate().any(|(slot, allowed)| {
            while owners.next_if(|owner| (**owner as usize) < slot).is_some() {}
            *allowed && owners.peek() != Some(&&(slot as u32))
        })
    }

    /// Whether a record has a vector.
    pub(super) fn has_vector(&self, doc: DocId) -> bool {
        let has = |slot: usize| self.partition.vectors().is_some_and(|block| block.has(slot));
        self.partition.slot(doc).is_some_and(has)
    }
}

impl Ground {
    /// Why nothing at all can be found, if so.
    pub(super) fn nothing(&self) -> Option<Reason> {
        if !self.regions.iter().any(|region| self.is_readable(region)) {
            return Some(Reason::NoMemories);
        }
        let allowed: usize = self.regions.iter().map(|region| region.allowed_count).sum();
        // Of what keeps records out, a trigger is what the caller can meet.
        let by_trigger = self.kept_out.contains_key(&Reason::ReadTriggerUnmet);
        (allowed == 0).then_some(if by_trigger { Reason::ReadTriggerUnmet } else { Reason::NothingAllowed })
    }

    /// Whether a namespace holds anything in force that the caller may read. One that does not is not
    /// named either: that something is or was there is more than the caller may know.
    fn is_readable(&self, region: &Region) -> bool {
        region.partition.collection(self.clearance).documents > 0
    }

    pub(super) fn into_plan(self, query: &Query, looked: Vec<Looked>) -> Plan {
        let readable = self.regions.iter().filter(|region| self.is_readable(region));
        Plan {
            mode: query.mode,
            namespaces: readable.map(|region| region.namespace.clone()).collect(),
            allowed: self.regions.iter().map(|region| region.allowed_count as u64).sum(),
            kept_out: if query.explain { self.kept_out } else { BTreeMap::new() },
            searches: match (query.mode, self.asked.vector.is_some()) {
                (Mode::Keyword, _) | (_, false) => vec!["keyword"],
                (Mode::Vector, true) => vec!["vector"],
                (Mode::Hybrid, true) => vec!["keyword", "vector"],
            },
            vectors: looked.into_iter().filter(|looked| looked.rows > 0).collect(),
            model: self.model.map(|model| model.name),
            policy_version: self.policy_version,
            degraded: self.degraded,
            timings: Default::default(),
        }
    }
}
