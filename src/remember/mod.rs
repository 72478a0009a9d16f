//! The way in: judge, embed, and write what was admitted, in that order. Nothing that the gates refuse
//! reaches the disk or the embedder.

mod batch;
mod embedding;

use crate::clock::Timestamp;
use crate::embed::Embedder;
use crate::error::{Error, Result};
use crate::gate::{self, Admitted, Facts, Policy, Proposal, Reading, Verdict};
use crate::json::candidate_to_json;
use crate::namespace::Principal;
use crate::reason::Reason;
use crate::record::{Candidate, MemoryId, Record, RecordId, Source, State, indexed_text};
use crate::store::{Seen, Snapshot, Store, Vectors, Writing, Written};
use crate::trust::Authority;

pub use batch::remember_all;
pub use embedding::{embed_waiting, reembed};

/// What a write needs.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Where it goes.
    pub store: &'a Store,
    /// The model, unless it can't be used; then the record is stored without vectors.
    pub embedder: Option<&'a dyn Embedder>,
    /// What may be kept.
    pub policy: &'a Policy,
    /// The present instant.
    pub now: Timestamp,
}

/// How a write went.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A new memory is in force.
    Committed(Written),
    /// A new version of the memory is in force.
    Corrected(Written),
    /// It was there already. The reason is `duplicate_memory` when this source was added as evidence.
    Idempotent(Written, Option<Reason>),
    /// It waits for a person, under that id.
    Review(Reason, Option<String>),
    /// It may not be kept.
    Rejected(Reason),
    /// Another record is in force; none when the caller may not read it.
    Conflict(Reason, Option<Box<Record>>),
}

impl Outcome {
    /// The stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Outcome::Committed(_) => "committed",
            Outcome::Corrected(_) => "corrected",
            Outcome::Idempotent(..) => "idempotent",
            Outcome::Review(..) => "review",
            Outcome::Rejected(_) => "rejected",
            Outcome::Conflict(Reason::StaleExpectedRecord, _) => "stale_expected_record",
            Outcome::Conflict(..) => "conflict",
        }
    }

    /// Why, where there is a why.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Outcome::Committed(_) | Outcome::Corrected(_) => None,
            Outcome::Idempotent(_, reason) => *reason,
            Outcome::Review(reason, _) | Outcome::Rejected(reason) | Outcome::Conflict(reason, _) => {
                Some(*reason)
            }
        }
    }

    /// The ids of what is in force, if the write knows them.
    pub fn written(&self) -> Option<Written> {
        match self {
            Outcome::Committed(written) | Outcome::Corrected(written) | Outcome::Idempotent(written, _) => {
                Some(written.clone())
            }
            Outcome::Conflict(_, Some(record)) => Some(Written::of(record)),
            Outcome::Review(..) | Outcome::Rejected(_) | Outcome::Conflict(_, None) => None,
        }
    }
}

/// Remembers a candidate, or says why not. A key makes a repeat of the same request give the same answer.
pub fn remember(
    sources: Sources<'_>,
    principal: &Principal,
    candidate: &Candidate,
    idempotency_key: Option<&str>,
) -> Result<Outcome> {
    let keyed = idempotency_key.map(|key| (key, request_body(candidate)));
    if let Some((key, _)) = &keyed {
        check_key(key)?;
    }
    let proposal = Proposal { candidate, principal, corrects: None, now: sources.now };
    let reading = Reading::of(candidate, sources.policy)?;
    let embedded = match judge_first(sources, &sources.store.snapshot()?, proposal, reading)? {
        Verdict::Allow(admitted) => embed(sources.embedder, &[&admitted])?.pop().flatten(),
        _ => None,
    };
    sources.store.write(sources.now, |writing| {
        if let Some((key, body)) = &keyed {
            match writing.seen(proposal.namespace(), key, body)? {
                Seen::Same(written) => return Ok(Outcome::Idempotent(written, None)),
                Seen::Other => return Ok(Outcome::Rejected(Reason::IdempotencyConflict)),
                Seen::New => {}
            }
        }
        let outcome = settle(writing, sources.policy, proposal, reading, embedded.as_ref())?;
        if let (Some((key, body)), Outcome::Committed(written) | Outcome::Idempotent(written, _)) =
            (&keyed, &outcome)
        {
            writing.note(proposal.namespace(), key, body, outcome.code(), &written.record_id)?;
        }
        Ok(outcome)
    })
}

/// What a request asks for, as text. Keys that were noted before must go on to stand for the same text.
fn request_body(candidate: &Candidate) -> String {
    // A repeat says the same at a later moment: when it was observed is no part of the request.
    let mut body = candidate_to_json(&Candidate { observed_at: None, ..candidate.clone() });
    if !candidate.renew_consent
        && let Some(body) = body.as_object_mut()
    {
        body.shift_remove("renew_consent");
    }
    body.to_string()
}

/// What would become of these candidates, one after the other, without storing anything: a rehearsal in a
/// transaction that is taken back. What would be new has no ids: they are empty.
pub fn rehearse(
    sources: Sources<'_>,
    principal: &Principal,
    candidates: &[Candidate],
) -> Result<Vec<Result<Outcome>>> {
    sources.store.rehearse(sources.now, |writing| {
        let judged = |candidate| {
            let proposal = Proposal { candidate, principal, corrects: None, now: sources.now };
            let reading = Reading::of(candidate, sources.policy)?;
            settle(writing, sources.policy, proposal, reading, None).map(without_new_ids)
        };
        Ok(candidates.iter().map(judged).collect())
    })
}

fn without_new_ids(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Committed(written) => Outcome::Committed(Written {
            record_id: RecordId::new(""),
            memory_id: MemoryId::new(""),
            version: written.version,
        }),
        Outcome::Review(reason, _) => Outcome::Review(reason, None),
        other => other,
    }
}

/// What is to take the place of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    /// The record that the caller saw.
    pub expected: RecordId,
    /// The memory that it is a version of.
    pub memory: MemoryId,
    /// What holds now.
    pub content: String,
    /// Where that comes from.
    pub source: Source,
    /// When it was seen or said.
    pub observed_at: Timestamp,
    /// What happened to the evidence.
    pub authority: Authority,
    /// How sure the writer is, from 0 to 1.
    pub confidence: f64,
    /// New metadata; none: as it was.
    pub metadata: Option<crate::record::Metadata>,
    /// From when it holds; none: from `observed_at`.
    pub valid_from: Option<Timestamp>,
    /// Until when it holds.
    pub expires_at: Option<Timestamp>,
    /// Why it is corrected.
    pub write_reason: Option<String>,
    /// Whether the person brings back on purpose words that were forgotten; see [`Candidate::renew_consent`].
    pub renew_consent: bool,
}

/// Puts a new version in force, if the caller saw the one that is. None when there is no such memory in
/// the caller's scope.
pub fn correct(
    sources: Sources<'_>,
    principal: &Principal,
    correction: &Correction,
) -> Result<Option<Outcome>> {
    let snapshot = sources.store.snapshot()?;
    let Some(current) = current(&snapshot, principal, correction)? else {
        return Ok(None);
    };
    drop(snapshot);
    let candidate = corrected(&current, correction);
    let proposal =
        Proposal { candidate: &candidate, principal, corrects: Some(&correction.expected), now: sources.now };
    let reading = Reading::of(&candidate, sources.policy)?;
    let verdict = judge_first(sources, &sources.store.snapshot()?, proposal, reading)?;
    let embedded = match (verdict, sources.embedder) {
        (Verdict::Reject(_), _) | (_, None) => None,
        (_, Some(embedder)) => embed_texts(embedder, &[&text_of(&candidate)]).pop().flatten(),
    };
    sources.store.write(sources.now, |writing| {
        let Some(current) = writing.current(&correction.memory)? else {
            return Ok(None);
        };
        let mut facts = writing.facts(proposal)?;
        // The same words are no duplicate of the version that they are to replace, if they come with other
        // metadata or for another time.
        let replaces = |record: &Record| {
            record.record_id == current.record_id && record.record_id == correction.expected
        };
        facts.same_text =
            facts.same_text.filter(|record| !replaces(record) || adds_nothing(record, correction));
        facts.current = Some(current);
        settle_judged(writing, sources.policy, proposal, reading, facts, embedded.as_ref()).map(Some)
    })
}

/// Somebody's word that a memory which is held, since something it was derived from was forgotten, holds without it.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmation {
    /// The record that the caller saw.
    pub expected: RecordId,
    /// The memory that it is a version of.
    pub memory: MemoryId,
    /// Where that is said.
    pub source: Source,
    /// When it was said.
    pub observed_at: Timestamp,
    /// What happened to the evidence.
    pub authority: Authority,
    /// Why.
    pub reason: Option<String>,
}

/// Puts what a held record says in force again, as a new version that rests on this word alone. One that is not held
/// stays as it is. None when there is no such memory in the caller's scope.
pub fn confirm(
    sources: Sources<'_>,
    principal: &Principal,
    confirmation: &Confirmation,
) -> Result<Option<Outcome>> {
    let snapshot = sources.store.snapshot()?;
    let Some(doc) = snapshot.doc_of_memory(&confirmation.memory)? else { return Ok(None) };
    let Some(record) = snapshot.resolve(doc, principal)? else { return Ok(None) };
    drop(snapshot);
    if record.record_id == confirmation.expected && record.state != State::Held {
        return Ok(Some(Outcome::Idempotent(Written::of(&record), None)));
    }
    let correction = Correction {
        expected: confirmation.expected.clone(),
        memory: confirmation.memory.clone(),
        content: record.content,
        source: confirmation.source.clone(),
        observed_at: confirmation.observed_at,
        authority: confirmation.authority,
        confidence: record.confidence,
        metadata: None,
        valid_from: Some(record.valid_from),
        expires_at: record.expires_at,
        write_reason: confirmation.reason.clone(),
        renew_consent: false,
    };
    correct(sources, principal, &correction)
}

fn current(
    snapshot: &crate::store::Snapshot<'_>,
    principal: &Principal,
    correction: &Correction,
) -> Result<Option<Record>> {
    match snapshot.doc_of_memory(&correction.memory)? {
        Some(doc) => snapshot.resolve(doc, principal),
        None => Ok(None),
    }
}

/// Whether a correction with the words of a record leaves all else as it is, too.
fn adds_nothing(record: &Record, correction: &Correction) -> bool {
    correction.metadata.as_ref().is_none_or(|metadata| *metadata == record.metadata)
        && correction.valid_from.is_none_or(|valid_from| valid_from == record.valid_from)
        && (correction.expires_at == record.expires_at
            || correction.expires_at.is_none() && record.lifetime == crate::record::Lifetime::Session)
        && correction.confidence == record.confidence
}

/// The candidate that a correction amounts to: what it does not say stays as it was.
fn corrected(current: &Record, correction: &Correction) -> Candidate {
    Candidate {
        namespace: Some(current.namespace.clone()),
        kind: current.kind,
        form: current.form,
        subject: current.subject.clone(),
        cardinality: current.cardinality,
        content: correction.content.clone(),
        metadata: correction.metadata.clone().unwrap_or_else(|| current.metadata.clone()),
        source: Some(correction.source.clone()),
        episode: current.episode.clone(),
        authority: correction.authority,
        confidence: correction.confidence,
        importance: current.importance,
        sensitivity: current.sensitivity,
        lifetime: current.lifetime,
        observed_at: Some(correction.observed_at),
        valid_from: correction.valid_from,
        expires_at: correction.expires_at,
        write_reason: correction.write_reason.clone(),
        read_trigger: current.read_trigger.clone(),
        revision_path: current.revision_path.clone(),
        reverify_before_effect: current.reverify_before_effect,
        derived_from: Vec::new(),
        renew_consent: correction.renew_consent,
    }
}

/// A judgement before anything is embedded: what will be refused anyway never reaches the model.
fn judge_first(
    sources: Sources<'_>,
    snapshot: &Snapshot<'_>,
    proposal: Proposal<'_>,
    reading: Reading,
) -> Result<Verdict> {
    gate::judge(proposal, reading, &snapshot.facts(proposal)?, sources.policy)
}

/// Judges again inside the transaction, against what holds now, and does what the verdict says.
fn settle(
    writing: &Writing<'_>,
    policy: &Policy,
    proposal: Proposal<'_>,
    reading: Reading,
    embedded: Option<&Embedded>,
) -> Result<Outcome> {
    let facts = writing.facts(proposal)?;
    settle_judged(writing, policy, proposal, reading, facts, embedded)
}

fn settle_judged(
    writing: &Writing<'_>,
    policy: &Policy,
    proposal: Proposal<'_>,
    reading: Reading,
    facts: Facts,
    embedded: Option<&Embedded>,
) -> Result<Outcome> {
    let principal = proposal.principal;
    Ok(match gate::judge(proposal, reading, &facts, policy)? {
        Verdict::Allow(admitted) => {
            let vectors = embedded.map(|embedded| embedded.stored(writing)).transpose()?.flatten();
            let replaced = facts.replaced(proposal);
            let corrects = if proposal.corrects.is_some() { facts.current.as_ref() } else { replaced };
            let written = writing.append(&admitted, corrects, vectors.as_ref())?;
            match (replaced, &facts.same_text) {
                // One statement: it goes on resting on what it rested on before.
                (Some(replaced), Some(same)) if replaced.record_id == same.record_id => {
                    writing.carry_evidence(replaced, &written.record_id)?;
                }
                _ => {}
            }
            if proposal.corrects.is_some() {
                Outcome::Corrected(written)
            } else {
                Outcome::Committed(written)
            }
        }
        Verdict::Reject(reason) => Outcome::Rejected(reason),
        Verdict::Review(reason) => {
            let against = facts.current.as_ref().map(|record| &record.record_id);
            let body = candidate_to_json(proposal.candidate);
            Outcome::Review(reason, Some(writing.queue(proposal, reason, against, &body)?))
        }
        Verdict::Idempotent(record) => Outcome::Idempotent(Written::of(&record), None),
        Verdict::Duplicate(record, admitted) => {
            writing.add_evidence(&record, &admitted)?;
            Outcome::Idempotent(Written::of(&record), Some(Reason::DuplicateMemory))
        }
        Verdict::Conflict(reason, record) => Outcome::Conflict(reason, readable(principal, *record)),
    })
}

fn readable(principal: &Principal, record: Record) -> Option<Box<Record>> {
    (record.sensitivity <= principal.clearance && record.state != State::Forgotten).then(|| Box::new(record))
}

fn check_key(key: &str) -> Result<()> {
    if key.trim().is_empty() || key.len() > crate::record::FIELD_BYTES_MAX {
        return Err(Error::invalid(
            "idempotency_key",
            format!("must be 1 to {} bytes long", crate::record::FIELD_BYTES_MAX),
        ));
    }
    // The key is kept as it is.
    if gate::secrets::find(key).is_some() {
        return Err(Error::invalid("idempotency_key", "must not hold a secret"));
    }
    Ok(())
}

/// The vectors of a text and the model that made them.
#[derive(Clone, Debug)]
pub(crate) struct Embedded {
    name: String,
    fingerprint: String,
    dims: usize,
    parts: Vec<Vec<f32>>,
}

impl Embedded {
    /// As the store keeps them. None when they come from a model that the store neither uses nor is being
    /// changed over to: the record waits for its vectors, and recall goes on calling the model a mistake.
    fn stored(&self, writing: &Writing<'_>) -> Result<Option<Vectors>> {
        let row = writing.model_if_wanted(&self.name, &self.fingerprint, self.dims)?;
        Ok(row.map(|model| Vectors { model, parts: self.parts.clone() }))
    }
}

/// Embeds what was admitted, all at once. An embedder that fails costs vectors, never a write.
fn embed(embedder: Option<&dyn Embedder>, admitted: &[&Admitted]) -> Result<Vec<Option<Embedded>>> {
    let Some(embedder) = embedder else {
        return Ok(admitted.iter().map(|_| None).collect());
    };
    let texts: Vec<String> = admitted.iter().map(|admitted| text_of(admitted.candidate())).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Ok(embed_texts(embedder, &texts))
}

pub(crate) fn embed_texts(embedder: &dyn Embedder, texts: &[&str]) -> Vec<Option<Embedded>> {
    let model = embedder.model();
    let embedded = |parts: Vec<Vec<f32>>| Embedded {
        name: model.name.clone(),
        fingerprint: model.fingerprint.clone(),
        dims: model.dims,
        parts,
    };
    match embedder.embed_passages(texts) {
        Ok(all) => all
            .into_iter()
            .map(|parts| parts.iter().all(|part| part.len() == model.dims).then(|| embedded(parts)))
            .collect(),
        Err(_) => texts.iter().map(|_| None).collect(),
    }
}

fn text_of(candidate: &Candidate) -> String {
    let speaker = candidate.source.as_ref().and_then(|source| source.speaker.as_deref());
    indexed_text(speaker, candidate.subject.as_deref(), &candidate.content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Kind;

    #[test]
    fn a_request_that_was_noted_by_an_earlier_version_reads_the_same() {
        let body = request_body(&Candidate::new(Kind::Semantic, "walks home"));
        let noted = "{\"namespace\":null,\"kind\":\"semantic\",\"form\":\"observation\",\"subject\":null,\
            \"cardinality\":\"single\",\"content\":\"walks home\",\"metadata\":{},\"source\":null,\"episode\":null,\
            \"authority\":\"model_inferred\",\"confidence\":1.0,\"importance\":0.5,\"sensitivity\":\"internal\",\
            \"lifetime\":\"cross_task\",\"observed_at\":null,\"valid_from\":null,\"expires_at\":null,\
            \"write_reason\":null,\"read_trigger\":null,\"revision_path\":null,\"reverify_before_effect\":false,\
            \"derived_from\":[]}";
        assert_eq!(body, noted);
    }
}
