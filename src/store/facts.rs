//! Gathers what the store knows that bears on a proposal. It collects and decides nothing.

use rusqlite::{Connection, OptionalExtension, params};

use super::keys::{self, Key};
use super::number::doc_of;
use super::rows;
use super::secret::{Digest, Of, Secret};
use super::writing::find_namespace;
use crate::change::NamespaceId;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::gate::{Facts, Proposal};
use crate::record::{Candidate, Cardinality, Record, Source, State};
use crate::text::{canonical, statement};

/// The subject's digest within its namespace; none where the subject does not name one memory.
pub(super) fn subject_key(secret: &Secret, candidate: &Candidate) -> Option<Digest> {
    match (&candidate.subject, candidate.cardinality) {
        (Some(subject), Cardinality::Single) => Some(secret.digest(Of::Subject, &[&canonical(subject)])),
        _ => None,
    }
}

/// The digest by which equal statements find each other: what it is about and what it says.
pub(super) fn text_key(secret: &Secret, subject: Option<&str>, content: &str) -> Digest {
    secret.digest(Of::Text, &[&subject.map_or_else(String::new, canonical), &canonical(content)])
}

/// The digest by which a forgotten statement is known when it comes back, whatever subject it comes under
/// and however it is punctuated.
pub(super) fn statement_key(secret: &Secret, content: &str) -> Digest {
    secret.digest(Of::Text, &["", &statement(content)])
}

pub(super) fn source_key(secret: &Secret, source: &str) -> Digest {
    secret.digest(Of::Source, &[source])
}

/// The digest of a place in a source; none for a source without places.
pub(super) fn place_key(secret: &Secret, source: &Source) -> Option<Digest> {
    source.locator.as_ref().map(|locator| secret.digest(Of::Place, &[&source.id, locator]))
}

/// Everything the gates need to know about a proposal.
pub(super) fn gather(connection: &Connection, secret: &Secret, proposal: Proposal<'_>) -> Result<Facts> {
    let candidate = proposal.candidate;
    let derived_from = derived_from(connection, proposal)?;
    let Some(namespace) = find_namespace(connection, proposal.namespace())? else {
        return Ok(Facts { derived_from, ..Facts::default() });
    };
    let subject = subject_key(secret, candidate);
    let text = text_key(secret, candidate.subject.as_deref(), &candidate.content);
    let forgotten = forgotten(connection, secret, namespace, candidate, subject, text)?;
    Ok(Facts {
        source_withdrawn: source_withdrawn(connection, namespace, candidate.source.as_ref())?,
        forgotten_at: forgotten.at,
        forgotten_words: forgotten.words,
        words_in_force: forgotten.words && words_in_force(connection, namespace, proposal, text)?,
        forgotten_source: forgotten.source,
        same_text: same_text(connection, namespace, proposal, text)?,
        current: current_of_subject(connection, secret, namespace, proposal)?,
        derived_from,
    })
}

fn derived_from(connection: &Connection, proposal: Proposal<'_>) -> Result<Vec<Record>> {
    let mut all = Vec::new();
    for id in &proposal.candidate.derived_from {
        let doc: Option<i64> = connection
            .prepare_cached("SELECT id FROM records WHERE record_id = ?1 AND state = 'current'")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?;
        let record = doc.map(|doc| rows::record(connection, doc_of(doc))).transpose()?.flatten();
        all.extend(record.filter(|record| {
            proposal.principal.sees(&record.namespace) && record.sensitivity <= proposal.principal.clearance
        }));
    }
    Ok(all)
}

fn source_withdrawn(
    connection: &Connection,
    namespace: NamespaceId,
    source: Option<&Source>,
) -> Result<bool> {
    let Some(source) = source else {
        return Ok(false);
    };
    Ok(connection
        .prepare_cached("SELECT 1 FROM blocked_sources WHERE namespace = ?1 AND source = ?2")?
        .exists(params![namespace.0, source.id])?)
}

/// What was forgotten here of a candidate.
struct Forgotten {
    /// When this memory, or this text, was the last time.
    at: Option<Timestamp>,
    /// Whether this text was.
    words: bool,
    /// Whether the candidate's source is one that the forgotten memory rested on.
    source: bool,
}

fn forgotten(
    connection: &Connection,
    secret: &Secret,
    namespace: NamespaceId,
    candidate: &Candidate,
    subject: Option<Digest>,
    text: Digest,
) -> Result<Forgotten> {
    let (mut tombstones, mut words) = (Vec::new(), false);
    let mut statement = connection.prepare_cached(
        "SELECT t.id, t.forgotten_at, 0 FROM tombstones t JOIN memories m ON m.memory_id = t.memory_id
         WHERE m.namespace = ?1 AND m.kind = ?2 AND m.subject_key = ?3
         UNION
         SELECT t.id, t.forgotten_at, 1 FROM tombstones t JOIN tombstone_marks k ON k.tombstone = t.id
         WHERE k.namespace = ?1 AND k.kind = 'text' AND k.digest IN (?4, ?5)",
    )?;
    let statement_key = statement_key(secret, &candidate.content);
    let subject = subject.as_ref().map(Digest::as_slice);
    let mut found = statement.query(params![
        namespace.0,
        candidate.kind.code(),
        subject,
        text.as_slice(),
        statement_key.as_slice()
    ])?;
    while let Some(row) = found.next()? {
        tombstones.push((row.get::<_, i64>(0)?, Timestamp::from_micros(row.get(1)?)?));
        words |= row.get::<_, bool>(2)?;
    }
    let at = tombstones.iter().map(|(_, at)| *at).max();
    let told = |source| Ok(Forgotten { at, words, source });
    let Some(source) = &candidate.source else {
        return told(false);
    };
    let mut mark = connection.prepare_cached(
        "SELECT 1 FROM tombstone_marks
         WHERE namespace = ?1 AND kind = ?2 AND digest = ?3 AND (?4 IS NULL OR tombstone = ?4)",
    )?;
    let place = place_key(secret, source);
    // The very place that a forgotten memory rested on stays out, whatever is made of it.
    if let Some(place) = &place
        && mark.exists(params![namespace.0, "place", place.as_slice(), None::<i64>])?
    {
        return told(true);
    }
    // A source as a whole stays out for that memory only, since one conversation holds many. Another
    // place in it is another statement, unless the forgotten one named none.
    let kind = if place.is_some() { "whole" } else { "source" };
    let whole = source_key(secret, &source.id);
    for (tombstone, _) in &tombstones {
        if mark.exists(params![namespace.0, kind, whole.as_slice(), Some(tombstone)])? {
            return told(true);
        }
    }
    told(false)
}

/// The record in force with the same subject, kind and text. Found by digest, decided by text. One that has
/// expired is no longer the same as what is said to hold now, and one that the caller may not read is none of
/// its business: to answer with its id would tell that it is there.
fn same_text(
    connection: &Connection,
    namespace: NamespaceId,
    proposal: Proposal<'_>,
    text: Digest,
) -> Result<Option<Record>> {
    let candidate = proposal.candidate;
    let holds = candidate.expires_at.is_none_or(|end| end > proposal.now);
    let lapsed = |record: &Record| holds && record.expires_at.is_some_and(|end| end <= proposal.now);
    for doc in keys::with_key(connection, namespace, Key::of_text(text))? {
        if let Some(record) = rows::sound(connection, doc)?
            && (record.state, record.kind) == (State::Current, candidate.kind)
            && canonical(&record.content) == canonical(&candidate.content)
            && record.episode == candidate.episode
            && record.sensitivity <= proposal.principal.clearance
            && !lapsed(&record)
        {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

/// Whether the candidate's words are said by a memory that is there: under the same subject, or by the one that it is
/// to correct, held or not.
fn words_in_force(
    connection: &Connection,
    namespace: NamespaceId,
    proposal: Proposal<'_>,
    text: Digest,
) -> Result<bool> {
    let content = canonical(&proposal.candidate.content);
    let mut docs = keys::with_key(connection, namespace, Key::of_text(text))?;
    if let Some(corrected) = proposal.corrects {
        let row = connection
            .prepare_cached("SELECT id FROM records WHERE record_id = ?1")?
            .query_row([corrected.as_str()], |row| row.get(0))
            .optional()?;
        docs.extend(row.map(doc_of));
    }
    for doc in docs {
        let record = rows::sound(connection, doc)?;
        if record.is_some_and(|record| {
            matches!(record.state, State::Current | State::Held) && canonical(&record.content) == content
        }) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The record in force that stands where the candidate would: that of the same single-valued subject. A
/// subject has one cardinality at a time, so a record that declared the other one stands in the way too,
/// while it holds.
fn current_of_subject(
    connection: &Connection,
    secret: &Secret,
    namespace: NamespaceId,
    proposal: Proposal<'_>,
) -> Result<Option<Record>> {
    let candidate = proposal.candidate;
    let Some(subject) = &candidate.subject else {
        return Ok(None);
    };
    let single = single_of_subject(connection, secret, namespace, candidate, subject)?;
    let holds = |record: &Record| record.expires_at.is_none_or(|end| end > proposal.now);
    match candidate.cardinality {
        Cardinality::Single if single.is_some() => Ok(single),
        Cardinality::Single => {
            Ok(one_of_many(connection, secret, namespace, candidate, subject)?.filter(holds))
        }
        Cardinality::Multi => Ok(single.filter(holds)),
    }
}

fn single_of_subject(
    connection: &Connection,
    secret: &Secret,
    namespace: NamespaceId,
    candidate: &Candidate,
    subject: &str,
) -> Result<Option<Record>> {
    let key = secret.digest(Of::Subject, &[&canonical(subject)]);
    let doc: Option<i64> = connection
        .prepare_cached(
            "SELECT r.id FROM memories m JOIN records r ON r.memory = m.id AND r.state IN ('current', 'held')
             WHERE m.namespace = ?1 AND m.kind = ?2 AND m.subject_key = ?3",
        )?
        .query_row(params![namespace.0, candidate.kind.code(), key.as_slice()], |row| row.get(0))
        .optional()?;
    Ok(doc.map(|doc| rows::record(connection, doc_of(doc))).transpose()?.flatten())
}

/// The latest record in force of a multi-valued subject, written as the candidate writes it.
fn one_of_many(
    connection: &Connection,
    secret: &Secret,
    namespace: NamespaceId,
    candidate: &Candidate,
    subject: &str,
) -> Result<Option<Record>> {
    for doc in keys::with_key(connection, namespace, Key::of_subject(secret, subject))?.into_iter().rev() {
        if let Some(record) = rows::sound(connection, doc)?
            && (record.state, record.kind) == (State::Current, candidate.kind)
            && record.cardinality == Cardinality::Multi
            && record.subject.as_deref() == Some(subject)
        {
            return Ok(Some(record));
        }
    }
    Ok(None)
}
