//! May it be kept? Judges a proposal by what it says, by what the store knows, and by the policy.
//! Pure: it knows no disk, no index and no clock, and is the only maker of [`Admitted`].

mod authority;
mod conflict;
mod lifetime;
pub mod policy;
mod provenance;
mod reading;
mod scope;
pub mod secrets;
mod strength;
mod value;

use crate::clock::Timestamp;
use crate::error::Result;
use crate::namespace::{Namespace, Principal};
use crate::reason::Reason;
use crate::record::{Candidate, Record, RecordId, Source};
use crate::trust::{Authority, Sensitivity};

pub use policy::Policy;
pub use reading::Reading;

/// What is proposed, by whom, and when.
#[derive(Clone, Copy, Debug)]
pub struct Proposal<'a> {
    /// What is to be remembered.
    pub candidate: &'a Candidate,
    /// Who proposes it.
    pub principal: &'a Principal,
    /// The record that it is to take the place of, if it is a correction.
    pub corrects: Option<&'a RecordId>,
    /// The present instant.
    pub now: Timestamp,
}

impl Proposal<'_> {
    /// The one namespace to write to.
    pub fn namespace(&self) -> &Namespace {
        self.candidate.namespace.as_ref().unwrap_or(&self.principal.namespace)
    }
}

/// What the store knows that bears on a proposal.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The source was withdrawn from this namespace.
    pub source_withdrawn: bool,
    /// When the memory, or one with the same text, was last forgotten here.
    pub forgotten_at: Option<Timestamp>,
    /// The same words were forgotten here, under whatever subject.
    pub forgotten_words: bool,
    /// The same words are in force here, or held, in a memory with the same subject or in the one to be corrected.
    pub words_in_force: bool,
    /// The proposal's source, or its place in it, is one that the forgotten memory rested on.
    pub forgotten_source: bool,
    /// The record in force with the same text, compared as text.
    pub same_text: Option<Record>,
    /// The record in force for the same single-valued subject, or the one to be corrected.
    pub current: Option<Record>,
    /// Records that the candidate says it is derived from, as far as they are in force.
    pub derived_from: Vec<Record>,
}

impl Facts {
    /// The lowest authority of a candidate and of what it is derived from.
    fn authority_of(&self, candidate: &Candidate) -> Authority {
        self.derived_from.iter().map(|record| record.authority).fold(candidate.authority, Ord::min)
    }

    /// The record that an admitted candidate takes the place of though it is no correction: the same
    /// statement held less firmly, or one for the same subject that holds no more.
    pub fn replaced(&self, proposal: Proposal<'_>) -> Option<&Record> {
        if proposal.corrects.is_some() {
            return None;
        }
        let holds = proposal.candidate.expires_at.is_none_or(|end| end > proposal.now);
        let lapsed = |record: &&Record| holds && record.expires_at.is_some_and(|end| end <= proposal.now);
        let stronger = |record: &&Record| strength::is_stronger(proposal, record);
        self.same_text.as_ref().filter(stronger).or_else(|| self.current.as_ref().filter(lapsed))
    }
}

/// What the gates decide. All are normal outcomes.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It may be kept.
    Allow(Box<Admitted>),
    /// It may not.
    Reject(Reason),
    /// A person has to decide.
    Review(Reason),
    /// It is there already, from the same source.
    Idempotent(Box<Record>),
    /// It is there already, from another source, which is further evidence for it.
    Duplicate(Box<Record>, Box<Admitted>),
    /// Another value is in force, or the correction names a record that is not.
    Conflict(Reason, Box<Record>),
}

/// A candidate that has passed every gate: the only thing that the store appends.
#[derive(Clone, Debug)]
pub struct Admitted {
    candidate: Candidate,
    namespace: Namespace,
    source: Source,
    observed_at: Timestamp,
    expires_at: Option<Timestamp>,
    authority: Authority,
    sensitivity: Sensitivity,
    renews: bool,
}

impl Admitted {
    /// What was proposed.
    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// Where it will live.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// What it rests on.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// When it was seen or said.
    pub fn observed_at(&self) -> Timestamp {
        self.observed_at
    }

    /// Until when it holds, the lifetime's own end included.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }

    /// Whether it brings back on purpose what was forgotten.
    pub fn renews(&self) -> bool {
        self.renews
    }

    /// The lowest authority of the candidate and of what it was derived from.
    pub fn authority(&self) -> Authority {
        self.authority
    }

    /// The highest sensitivity of the candidate and of what it was derived from.
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }
}

/// Judges a proposal by what its texts say and what the store knows. The first gate that does not let it pass decides.
///
/// # Errors
/// `Invalid` when the candidate names a namespace outside the caller's scope.
pub fn judge(proposal: Proposal<'_>, reading: Reading, facts: &Facts, policy: &Policy) -> Result<Verdict> {
    scope::check(proposal)?;
    let passed = secret_and_sensitivity(proposal, reading)
        .and_then(|()| lifetime::pass(proposal))
        .and_then(|()| provenance::pass(proposal, facts))
        .and_then(|()| authority::pass(proposal, policy))
        .and_then(|()| value::pass(proposal, reading, facts))
        .and_then(|()| conflict::pass(proposal, facts))
        .and_then(|()| scope::pass(proposal, facts));
    Ok(match passed {
        Ok(()) => Verdict::Allow(Box::new(admit(proposal, facts, policy))),
        Err(Stop::Reject(reason)) => Verdict::Reject(reason),
        Err(Stop::Review(reason)) => Verdict::Review(reason),
        Err(Stop::Idempotent(record)) => Verdict::Idempotent(record),
        Err(Stop::Duplicate(record)) => Verdict::Duplicate(record, Box::new(admit(proposal, facts, policy))),
        Err(Stop::Conflict(reason, record)) => Verdict::Conflict(reason, record),
    })
}

/// Why a gate does not let a proposal pass.
enum Stop {
    Reject(Reason),
    Review(Reason),
    Idempotent(Box<Record>),
    Duplicate(Box<Record>),
    Conflict(Reason, Box<Record>),
}

type Gate = std::result::Result<(), Stop>;

fn secret_and_sensitivity(proposal: Proposal<'_>, reading: Reading) -> Gate {
    if reading.has_secret {
        return Err(Stop::Reject(Reason::SecretDetected));
    }
    if proposal.candidate.sensitivity > proposal.principal.clearance {
        return Err(Stop::Reject(Reason::SensitivityAboveGrant));
    }
    Ok(())
}

fn admit(proposal: Proposal<'_>, facts: &Facts, policy: &Policy) -> Admitted {
    let derived = &facts.derived_from;
    let expires_at = lifetime::expiry(proposal, policy);
    let (candidate, expires_at) = match facts.same_text.as_ref().filter(|record| {
        facts.replaced(proposal).is_some_and(|replaced| replaced.record_id == record.record_id)
    }) {
        Some(record) => strength::joined(proposal.candidate, expires_at, record),
        None => (proposal.candidate.clone(), expires_at),
    };
    Admitted {
        namespace: proposal.namespace().clone(),
        source: candidate.source.clone().expect("the provenance gate lets nothing pass without a source"),
        observed_at: candidate.observed_at.expect("the provenance gate lets nothing pass without a time"),
        expires_at,
        authority: facts.authority_of(&candidate),
        sensitivity: derived.iter().map(|record| record.sensitivity).fold(candidate.sensitivity, Ord::max),
        renews: facts.forgotten_words && !facts.words_in_force,
        candidate,
    }
}
