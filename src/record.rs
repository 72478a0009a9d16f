//! What is remembered: candidates, records, their ids and fields, and the bounds on each.
//! Knows nothing of how records are judged, kept or found.

use std::collections::BTreeMap;
use std::fmt;

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::namespace::Namespace;
use crate::trust::{Authority, Sensitivity};
use crate::words::words;

/// The longest content, in bytes: a memory is a statement or a page, not a document.
pub const CONTENT_BYTES_MAX: usize = 64 * 1024;
/// The longest subject, source id, locator, speaker, session or note, in bytes.
pub const FIELD_BYTES_MAX: usize = 500;
/// The most keys that metadata may have.
pub const METADATA_KEYS_MAX: usize = 64;
/// The most bytes that metadata may take as JSON.
pub const METADATA_BYTES_MAX: usize = 8 * 1024;
/// The most records that one may be derived from.
pub const DERIVED_FROM_MAX: usize = 64;

words! {
    /// What sort of knowledge a record is: it decides half-life and quota.
    Kind("kind") {
        /// A fact or preference.
        Semantic = "semantic",
        /// Something that happened.
        Episodic = "episodic",
        /// How to do something, or a rule to follow.
        Procedural = "procedural",
    }
}

words! {
    /// The form in which the knowledge came.
    Form("form") {
        /// Something seen or said.
        Observation = "observation",
        /// A choice that was made.
        Decision = "decision",
        /// What somebody likes or wants.
        Preference = "preference",
        /// What is to be done or not done. Never fades.
        Rule = "rule",
        /// What was learned by doing.
        Experience = "experience",
        /// A digest of other records.
        Summary = "summary",
    }
}

words! {
    /// How many values a subject has at one time.
    Cardinality("cardinality") {
        /// One: another value is a correction.
        Single = "single",
        /// Several: another value stands beside the first.
        Multi = "multi",
    }
}

words! {
    /// For how long the candidate claims to hold.
    Lifetime("lifetime") {
        /// Only for this once; it is not kept.
        OneTime = "one_time",
        /// For this session; it gets an expiry if it has none.
        Session = "session",
        /// For later tasks too.
        CrossTask = "cross_task",
    }
}

words! {
    /// Whether a record is in force.
    State("state") {
        /// In force.
        Current = "current",
        /// A newer version took its place.
        Superseded = "superseded",
        /// Its source does not say it any more.
        Retired = "retired",
        /// Kept, but out of recall until it is derived again or confirmed.
        Held = "held",
        /// Its content is gone.
        Forgotten = "forgotten",
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Wraps an id as it was handed out. An id that was not simply finds nothing.
            pub fn new(id: impl Into<String>) -> $name {
                $name(id.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// Names one immutable version of a memory: `rec_` and 26 characters.
    RecordId
}
id! {
    /// Names a logical memory through all its versions: `mem_` and 26 characters.
    MemoryId
}

/// A value in metadata: metadata is flat.
#[derive(Clone, Debug, PartialEq)]
pub enum MetaValue {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A finite number.
    Number(f64),
    /// Text.
    Text(String),
    /// A list of texts, such as tags.
    List(Vec<String>),
}

/// Flat facts about a record, for filtering; never its identity.
pub type Metadata = BTreeMap<String, MetaValue>;

/// Where a statement comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The document, conversation or tool run.
    pub id: String,
    /// The place in it: a line, a message, a page.
    pub locator: Option<String>,
    /// Who said it.
    pub speaker: Option<String>,
}

impl Source {
    /// Reads `ID` or `ID#LOCATOR`.
    pub fn parse(text: &str) -> Source {
        match text.split_once('#') {
            Some((id, locator)) if !locator.is_empty() => {
                Source { id: id.to_owned(), locator: Some(locator.to_owned()), speaker: None }
            }
            _ => Source { id: text.to_owned(), locator: None, speaker: None },
        }
    }
}

/// Prints `ID` or `ID#LOCATOR`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.locator {
            Some(locator) => write!(f, "{}#{locator}", self.id),
            None => f.write_str(&self.id),
        }
    }
}

/// A place in a sequence: which session, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// The conversation or run.
    pub session: String,
    /// The position in it, from zero.
    pub position: u32,
}

/// A proposal to remember something.
///
/// ```
/// use recordari::{Candidate, Kind, Source};
/// let candidate = Candidate {
///     subject: Some("preferred_language".to_owned()),
///     source: Some(Source::parse("chat-7#12")),
///     ..Candidate::new(Kind::Semantic, "prefers Python in code examples")
/// };
/// candidate.check()?;
/// # Ok::<(), recordari::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The one namespace to write to; none: the principal's own.
    pub namespace: Option<Namespace>,
    /// What sort of knowledge it is.
    pub kind: Kind,
    /// In which form it came.
    pub form: Form,
    /// What it is about, if it has a name.
    pub subject: Option<String>,
    /// How many values the subject has at one time.
    pub cardinality: Cardinality,
    /// The statement itself, up to 64 KiB.
    pub content: String,
    /// Flat facts for filtering.
    pub metadata: Metadata,
    /// Where it comes from; required by the gates.
    pub source: Option<Source>,
    /// Its place in a sequence, if it comes from one.
    pub episode: Option<Episode>,
    /// What happened to the evidence.
    pub authority: Authority,
    /// How sure the writer is, from 0 to 1.
    pub confidence: f64,
    /// How much it matters, from 0 to 1.
    pub importance: f64,
    /// Who may read it.
    pub sensitivity: Sensitivity,
    /// For how long it claims to hold.
    pub lifetime: Lifetime,
    /// When it was seen or said; required by the gates.
    pub observed_at: Option<Timestamp>,
    /// From when it holds; none: from `observed_at`.
    pub valid_from: Option<Timestamp>,
    /// Until when it holds; none: until it is corrected.
    pub expires_at: Option<Timestamp>,
    /// Why it was written.
    pub write_reason: Option<String>,
    /// A task tag, or words of a query, without which it is not read.
    pub read_trigger: Option<String>,
    /// How it is to be revised or revoked.
    pub revision_path: Option<String>,
    /// Whether it must be checked against the world before anything is done on its strength.
    pub reverify_before_effect: bool,
    /// The records that it was derived from.
    pub derived_from: Vec<RecordId>,
    /// Whether the person brings back on purpose what was forgotten; otherwise the same words stay out
    /// (`blocked_by_tombstone`). It takes their own word ([`Authority::UserExplicit`] or
    /// [`Authority::HumanReviewed`]), observed after the deletion, and a source that was not forgotten along.
    pub renew_consent: bool,
}

impl Candidate {
    /// A candidate with that content and defaults for the rest: an observation by a model, internal,
    /// for later tasks, with confidence 1 and importance 0.5. Source and time are still to be named.
    pub fn new(kind: Kind, content: impl Into<String>) -> Candidate {
        Candidate {
            namespace: None,
            kind,
            form: Form::Observation,
            subject: None,
            cardinality: Cardinality::Single,
            content: content.into(),
            metadata: Metadata::new(),
            source: None,
            episode: None,
            authority: Authority::ModelInferred,
            confidence: 1.0,
            importance: 0.5,
            sensitivity: Sensitivity::Internal,
            lifetime: Lifetime::CrossTask,
            observed_at: None,
            valid_from: None,
            expires_at: None,
            write_reason: None,
            read_trigger: None,
            revision_path: None,
            reverify_before_effect: false,
            derived_from: Vec::new(),
            renew_consent: false,
        }
    }

    /// Refuses what no policy could accept: empty or oversized fields, numbers out of range, times
    /// that contradict one another. Says which field, and what it must be.
    pub fn check(&self) -> Result<()> {
        if self.content.trim().is_empty() || self.content.len() > CONTENT_BYTES_MAX {
            return Err(Error::invalid("content", format!("must be text of 1 to {CONTENT_BYTES_MAX} bytes")));
        }
        bounded("subject", self.subject.as_deref())?;
        bounded("write_reason", self.write_reason.as_deref())?;
        bounded("read_trigger", self.read_trigger.as_deref())?;
        bounded("revision_path", self.revision_path.as_deref())?;
        bounded("session", self.episode.as_ref().map(|episode| episode.session.as_str()))?;
        if let Some(source) = &self.source {
            bounded("source", Some(&source.id))?;
            bounded("locator", source.locator.as_deref())?;
            bounded("speaker", source.speaker.as_deref())?;
        }
        fraction("confidence", self.confidence)?;
        fraction("importance", self.importance)?;
        check_metadata(&self.metadata)?;
        if self.derived_from.len() > DERIVED_FROM_MAX {
            return Err(Error::invalid(
                "derived_from",
                format!("must name at most {DERIVED_FROM_MAX} records"),
            ));
        }
        let from = self.valid_from.or(self.observed_at);
        if let (Some(from), Some(until)) = (from, self.expires_at)
            && until <= from
        {
            return Err(Error::invalid("expires_at", "must lie after valid_from, or after observed_at"));
        }
        Ok(())
    }
}

/// Refuses metadata that is too large or holds a number that is not finite.
pub fn check_metadata(metadata: &Metadata) -> Result<()> {
    let mut bytes = 0;
    for (key, value) in metadata {
        bounded("metadata", Some(key))?;
        bytes += key.len()
            + match value {
                MetaValue::Null | MetaValue::Bool(_) => 5,
                MetaValue::Number(number) if number.is_finite() => 8,
                MetaValue::Number(_) => {
                    return Err(Error::invalid("metadata", format!("{key:?} must be finite")));
                }
                MetaValue::Text(text) => text.len(),
                MetaValue::List(items) => items.iter().map(|item| item.len() + 3).sum(),
            };
    }
    if metadata.len() > METADATA_KEYS_MAX || bytes > METADATA_BYTES_MAX {
        return Err(Error::invalid(
            "metadata",
            format!("must have at most {METADATA_KEYS_MAX} keys and {METADATA_BYTES_MAX} bytes"),
        ));
    }
    Ok(())
}

/// A source and the time at which it said so: what a record rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Where it comes from.
    pub source: Source,
    /// When it was seen or said there.
    pub observed_at: Timestamp,
    /// What happened to it.
    pub authority: Authority,
}

/// One immutable version of a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// This version.
    pub record_id: RecordId,
    /// The memory that it is a version of.
    pub memory_id: MemoryId,
    /// Where it lives.
    pub namespace: Namespace,
    /// The version, from 1.
    pub version: u32,
    /// The version before it.
    pub supersedes: Option<RecordId>,
    /// Whether it is in force.
    pub state: State,
    /// What sort of knowledge it is.
    pub kind: Kind,
    /// In which form it came.
    pub form: Form,
    /// What it is about.
    pub subject: Option<String>,
    /// How many values the subject has at one time.
    pub cardinality: Cardinality,
    /// The statement itself.
    pub content: String,
    /// Flat facts for filtering.
    pub metadata: Metadata,
    /// What it rests on, the first source first; never empty.
    pub evidence: Vec<Evidence>,
    /// Its place in a sequence.
    pub episode: Option<Episode>,
    /// What happened to the evidence.
    pub authority: Authority,
    /// How sure the writer was, from 0 to 1.
    pub confidence: f64,
    /// How much it matters, from 0 to 1.
    pub importance: f64,
    /// Who may read it.
    pub sensitivity: Sensitivity,
    /// For how long it claims to hold.
    pub lifetime: Lifetime,
    /// When it was seen or said.
    pub observed_at: Timestamp,
    /// From when it holds.
    pub valid_from: Timestamp,
    /// Until when it holds; none: until it is corrected.
    pub expires_at: Option<Timestamp>,
    /// When the store took it in.
    pub recorded_at: Timestamp,
    /// When it stopped being in force.
    pub ended_at: Option<Timestamp>,
    /// Why it was written.
    pub write_reason: Option<String>,
    /// A task tag, or words of a query, without which it is not read.
    pub read_trigger: Option<String>,
    /// How it is to be revised or revoked.
    pub revision_path: Option<String>,
    /// Whether it must be checked against the world before anything is done on its strength.
    pub reverify_before_effect: bool,
    /// The records that it was derived from.
    pub derived_from: Vec<RecordId>,
}

impl Record {
    /// The text by which the record is found: who spoke, what it is about, what it says.
    pub fn indexed_text(&self) -> String {
        let speaker = self.evidence.first().and_then(|evidence| evidence.source.speaker.as_deref());
        indexed_text(speaker, self.subject.as_deref(), &self.content)
    }
}

/// The text by which a statement is found: who spoke, what it is about, what it says.
pub fn indexed_text(speaker: Option<&str>, subject: Option<&str>, content: &str) -> String {
    let mut text = String::with_capacity(content.len() + 32);
    for part in [speaker, subject].into_iter().flatten() {
        text.push_str(part);
        text.push_str(": ");
    }
    text.push_str(content);
    text
}

fn bounded(field: &'static str, text: Option<&str>) -> Result<()> {
    match text {
        Some(text) if text.trim().is_empty() || text.len() > FIELD_BYTES_MAX => {
            Err(Error::invalid(field, format!("must be 1 to {FIELD_BYTES_MAX} bytes long")))
        }
        _ => Ok(()),
    }
}

fn fraction(field: &'static str, value: f64) -> Result<()> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(Error::invalid(field, "must lie between 0 and 1")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_name_the_field() {
        let check = |change: fn(&mut Candidate)| {
            let mut candidate = Candidate::new(Kind::Semantic, "text");
            change(&mut candidate);
            candidate.check().unwrap_err().to_string()
        };
        assert!(check(|c| c.content = " ".to_owned()).starts_with("content"));
        assert!(check(|c| c.content = "x".repeat(CONTENT_BYTES_MAX + 1)).starts_with("content"));
        assert!(check(|c| c.confidence = f64::NAN).starts_with("confidence"));
        assert!(check(|c| c.importance = 1.5).starts_with("importance"));
        assert!(check(|c| c.subject = Some(String::new())).starts_with("subject"));
        assert!(
            check(|c| drop(c.metadata.insert("n".to_owned(), MetaValue::Number(f64::INFINITY))))
                .starts_with("metadata")
        );
    }

    #[test]
    fn a_source_reads_back_as_it_prints() {
        for text in ["chat", "chat#12", "a#b#c", "odd#"] {
            assert_eq!(Source::parse(text).to_string(), text);
        }
    }

    #[test]
    fn authority_and_sensitivity_are_ordered() {
        assert!(Authority::ModelInferred < Authority::ToolObserved);
        assert!(Authority::HumanReviewed < Authority::UserExplicit);
        assert!(Sensitivity::Public < Sensitivity::Sensitive);
    }
}
