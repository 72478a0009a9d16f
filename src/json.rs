//! Candidates and records as JSON: the shape in which they are imported, exported, queued and answered.
//! Refuses what it does not know, by name; guesses nothing.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::namespace::Namespace;
use crate::record::{Candidate, Episode, Evidence, Kind, MetaValue, Metadata, Record, RecordId, Source};

/// The fields of a candidate, in the order of the schema.
const FIELDS: &[&str] = &[
    "namespace",
    "kind",
    "form",
    "subject",
    "cardinality",
    "content",
    "metadata",
    "source",
    "episode",
    "authority",
    "confidence",
    "importance",
    "sensitivity",
    "lifetime",
    "observed_at",
    "valid_from",
    "expires_at",
    "write_reason",
    "read_trigger",
    "revision_path",
    "reverify_before_effect",
    "derived_from",
    "renew_consent",
];

/// The JSON Schema of a candidate.
pub const CANDIDATE_SCHEMA: &str = include_str!("candidate.schema.json");

/// Reads a candidate. Fields that are absent or null have their default; see [`Candidate::new`].
///
/// # Errors
/// `Invalid`, naming the field: unknown, of the wrong type, not one of the words, a time without an
/// offset, nested metadata.
pub fn candidate_from_json(value: &Value) -> Result<Candidate> {
    let object = value.as_object().ok_or_else(|| Error::invalid("candidate", "must be a JSON object"))?;
    if let Some(unknown) = object.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(Error::invalid(
            "candidate",
            format!("must not have the field {}; it has {}", Error::quoted(unknown), FIELDS.join(", ")),
        ));
    }
    let fields = Fields(object);
    let content =
        fields.text("content")?.ok_or_else(|| Error::invalid("content", "must be given, as text"))?;
    let kind = fields.word("kind")?.unwrap_or(Kind::Semantic);
    let defaults = Candidate::new(kind, content);
    let candidate = Candidate {
        namespace: fields.present("namespace").map(namespace_from_json).transpose()?,
        form: fields.word("form")?.unwrap_or(defaults.form),
        subject: fields.text("subject")?,
        cardinality: fields.word("cardinality")?.unwrap_or(defaults.cardinality),
        metadata: fields.present("metadata").map(metadata_from_json).transpose()?.unwrap_or_default(),
        source: fields.present("source").map(source_from_json).transpose()?,
        episode: fields.present("episode").map(episode_from_json).transpose()?,
        authority: fields.word("authority")?.unwrap_or(defaults.authority),
        confidence: fields.number("confidence")?.unwrap_or(defaults.confidence),
        importance: fields.number("importance")?.unwrap_or(defaults.importance),
        sensitivity: fields.word("sensitivity")?.unwrap_or(defaults.sensitivity),
        lifetime: fields.word("lifetime")?.unwrap_or(defaults.lifetime),
        observed_at: fields.time("observed_at")?,
        valid_from: fields.time("valid_from")?,
        expires_at: fields.time("expires_at")?,
        write_reason: fields.text("write_reason")?,
        read_trigger: fields.text("read_trigger")?,
        revision_path: fields.text("revision_path")?,
        reverify_before_effect: fields.flag("reverify_before_effect")?.unwrap_or(false),
        derived_from: fields.ids("derived_from")?,
        renew_consent: fields.flag("renew_consent")?.unwrap_or(false),
        ..defaults
    };
    candidate.check()?;
    Ok(candidate)
}

/// Writes a candidate so that [`candidate_from_json`] reads it back.
pub fn candidate_to_json(candidate: &Candidate) -> Value {
    json!({
        "namespace": candidate.namespace.as_ref().map(namespace_to_json),
        "kind": candidate.kind.code(),
        "form": candidate.form.code(),
        "subject": candidate.subject,
        "cardinality": candidate.cardinality.code(),
        "content": candidate.content,
        "metadata": metadata_to_json(&candidate.metadata),
        "source": candidate.source.as_ref().map(source_to_json),
        "episode": candidate.episode.as_ref().map(episode_to_json),
        "authority": candidate.authority.code(),
        "confidence": candidate.confidence,
        "importance": candidate.importance,
        "sensitivity": candidate.sensitivity.code(),
        "lifetime": candidate.lifetime.code(),
        "observed_at": time(candidate.observed_at),
        "valid_from": time(candidate.valid_from),
        "expires_at": time(candidate.expires_at),
        "write_reason": candidate.write_reason,
        "read_trigger": candidate.read_trigger,
        "revision_path": candidate.revision_path,
        "reverify_before_effect": candidate.reverify_before_effect,
        "derived_from": candidate.derived_from.iter().map(RecordId::as_str).collect::<Vec<_>>(),
        "renew_consent": candidate.renew_consent,
    })
}

/// Writes a record with all its fields.
pub fn record_to_json(record: &Record) -> Value {
    json!({
        "memory_id": record.memory_id.as_str(),
        "record_id": record.record_id.as_str(),
        "version": record.version,
        "supersedes": record.supersedes.as_ref().map(RecordId::as_str),
        "state": record.state.code(),
        "namespace": namespace_to_json(&record.namespace),
        "kind": record.kind.code(),
        "form": record.form.code(),
        "subject": record.subject,
        "cardinality": record.cardinality.code(),
        "content": record.content,
        "metadata": metadata_to_json(&record.metadata),
        "source": record.evidence.first().map(|evidence| source_to_json(&evidence.source)),
        "evidence": record.evidence.iter().map(evidence_to_json).collect::<Vec<_>>(),
        "episode": record.episode.as_ref().map(episode_to_json),
        "authority": record.authority.code(),
        "confidence": record.confidence,
        "importance": record.importance,
        "sensitivity": record.sensitivity.code(),
        "lifetime": record.lifetime.code(),
        "observed_at": record.observed_at.to_string(),
        "valid_from": record.valid_from.to_string(),
        "expires_at": time(record.expires_at),
        "recorded_at": record.recorded_at.to_string(),
        "ended_at": time(record.ended_at),
        "write_reason": record.write_reason,
        "read_trigger": record.read_trigger,
        "revision_path": record.revision_path,
        "reverify_before_effect": record.reverify_before_effect,
        "derived_from": record.derived_from.iter().map(RecordId::as_str).collect::<Vec<_>>(),
    })
}

/// Writes a namespace: an object with the parts that it has.
pub fn namespace_to_json(namespace: &Namespace) -> Value {
    let named = parts(namespace).map(|(name, part)| (name.to_owned(), Value::from(part)));
    Value::Object(named.collect())
}

/// The same where it is written straight to text.
pub(crate) struct NamespaceText<'n>(pub &'n Namespace);

impl Serialize for NamespaceText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(parts(self.0))
    }
}

/// A namespace as JSON text.
pub(crate) fn namespace_to_text(namespace: &Namespace) -> String {
    serde_json::to_string(&NamespaceText(namespace)).expect("strings can be written")
}

fn parts(namespace: &Namespace) -> impl Iterator<Item = (&'static str, &str)> {
    let parts = [
        ("tenant", Some(namespace.tenant())),
        ("user", namespace.user_part()),
        ("project", namespace.project_part()),
        ("agent", namespace.agent_part()),
    ];
    parts.into_iter().filter_map(|(name, part)| Some((name, part?)))
}

/// Reads a namespace: an object with a tenant, and optionally user, project and agent.
pub fn namespace_from_json(value: &Value) -> Result<Namespace> {
    let fields = inner("namespace", value, &["tenant", "user", "project", "agent"])?;
    let tenant = fields.text("tenant")?.ok_or_else(|| Error::invalid("namespace", "must name a tenant"))?;
    let (user, project, agent) = (fields.text("user")?, fields.text("project")?, fields.text("agent")?);
    Namespace::from_parts(&tenant, user.as_deref(), project.as_deref(), agent.as_deref())
}

/// Reads flat metadata.
///
/// # Errors
/// `Invalid`, naming the key whose value is nested.
pub fn metadata_from_json(value: &Value) -> Result<Metadata> {
    let object = value.as_object().ok_or_else(|| Error::invalid("metadata", "must be a flat JSON object"))?;
    let mut metadata = Metadata::new();
    for (key, value) in object {
        metadata.insert(key.clone(), meta_value_from_json(key, value)?);
    }
    crate::record::check_metadata(&metadata)?;
    Ok(metadata)
}

/// Reads one metadata value.
pub fn meta_value_from_json(key: &str, value: &Value) -> Result<MetaValue> {
    let flat = || {
        Error::invalid(
            "metadata",
            format!("{} must be null, true, false, a number, text or a list of texts", Error::quoted(key)),
        )
    };
    Ok(match value {
        Value::Null => MetaValue::Null,
        Value::Bool(flag) => MetaValue::Bool(*flag),
        Value::Number(number) => MetaValue::Number(number.as_f64().ok_or_else(flat)?),
        Value::String(text) => MetaValue::Text(text.clone()),
        Value::Array(items) => MetaValue::List(
            items
                .iter()
                .map(|item| item.as_str().map(str::to_owned).ok_or_else(flat))
                .collect::<Result<_>>()?,
        ),
        Value::Object(_) => return Err(flat()),
    })
}

/// Writes metadata as a flat object. A whole number is written without a fraction.
pub fn metadata_to_json(metadata: &Metadata) -> Value {
    let value = |value: &MetaValue| match value {
        MetaValue::Null => Value::Null,
        MetaValue::Bool(flag) => (*flag).into(),
        MetaValue::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => (*number as i64).into(),
        MetaValue::Number(number) => (*number).into(),
        MetaValue::Text(text) => text.as_str().into(),
        MetaValue::List(items) => items.clone().into(),
    };
    Value::Object(metadata.iter().map(|(key, entry)| (key.clone(), value(entry))).collect())
}

/// Reads a source: an object, or the text `ID` or `ID#LOCATOR`.
pub fn source_from_json(value: &Value) -> Result<Source> {
    if let Some(text) = value.as_str() {
        return Ok(Source::parse(text));
    }
    let fields = inner("source", value, &["id", "locator", "speaker"])?;
    let id = fields.text("id")?.ok_or_else(|| Error::invalid("source", "must have an id"))?;
    Ok(Source { id, locator: fields.text("locator")?, speaker: fields.text("speaker")? })
}

fn source_to_json(source: &Source) -> Value {
    json!({ "id": source.id, "locator": source.locator, "speaker": source.speaker })
}

fn evidence_to_json(evidence: &Evidence) -> Value {
    json!({
        "source": source_to_json(&evidence.source),
        "observed_at": evidence.observed_at.to_string(),
        "authority": evidence.authority.code(),
    })
}

fn episode_from_json(value: &Value) -> Result<Episode> {
    let fields = inner("episode", value, &["session", "position"])?;
    let session = fields.text("session")?.ok_or_else(|| Error::invalid("episode", "must have a session"))?;
    let position =
        fields.present("position").and_then(Value::as_u64).and_then(|position| u32::try_from(position).ok());
    let position =
        position.ok_or_else(|| Error::invalid("episode", "must have a position, a whole number from 0"))?;
    Ok(Episode { session, position })
}

fn episode_to_json(episode: &Episode) -> Value {
    json!({ "session": episode.session, "position": episode.position })
}

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

/// The fields of an object; null counts as absent.
struct Fields<'v>(&'v Map<String, Value>);

fn inner<'v>(field: &'static str, value: &'v Value, known: &[&str]) -> Result<Fields<'v>> {
    let object = value.as_object().ok_or_else(|| Error::invalid(field, "must be a JSON object"))?;
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(unknown) => Err(Error::invalid(
            field,
            format!("must not have the field {}; it has {}", Error::quoted(unknown), known.join(", ")),
        )),
        None => Ok(Fields(object)),
    }
}

impl<'v> Fields<'v> {
    fn present(&self, name: &str) -> Option<&'v Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &'static str) -> Result<Option<String>> {
        let text = |value: &Value| {
            value.as_str().map(str::to_owned).ok_or_else(|| Error::invalid(name, "must be text"))
        };
        self.present(name).map(text).transpose()
    }

    fn word<T: std::str::FromStr<Err = Error>>(&self, name: &'static str) -> Result<Option<T>> {
        self.text(name)?.map(|text| text.parse()).transpose()
    }

    fn number(&self, name: &'static str) -> Result<Option<f64>> {
        let number = |value: &Value| value.as_f64().ok_or_else(|| Error::invalid(name, "must be a number"));
        self.present(name).map(number).transpose()
    }

    fn flag(&self, name: &'static str) -> Result<Option<bool>> {
        let flag =
            |value: &Value| value.as_bool().ok_or_else(|| Error::invalid(name, "must be true or false"));
        self.present(name).map(flag).transpose()
    }

    fn time(&self, name: &'static str) -> Result<Option<Timestamp>> {
        self.text(name)?.map(|text| Timestamp::parse(name, &text)).transpose()
    }

    fn ids(&self, name: &'static str) -> Result<Vec<RecordId>> {
        let must = || Error::invalid(name, "must be a list of record ids");
        let Some(value) = self.present(name) else {
            return Ok(Vec::new());
        };
        let items = value.as_array().ok_or_else(must)?;
        items.iter().map(|item| item.as_str().map(RecordId::new).ok_or_else(must)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_reads_back_as_it_was_written() {
        let text = r##"{"content":"prefers Python","kind":"semantic","form":"preference","subject":"preferred_language",
            "source":"chat-7#12","authority":"user_explicit","observed_at":"2026-03-01T10:00:00+09:00",
            "metadata":{"tags":["a","b"],"n":1,"x":null},"episode":{"session":"s","position":3}}"##;
        let candidate = candidate_from_json(&serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(candidate.source, Some(Source::parse("chat-7#12")));
        assert_eq!(candidate_from_json(&candidate_to_json(&candidate)).unwrap(), candidate);
    }

    /// They once came back as their neighbours.
    #[test]
    fn numbers_read_back_to_the_last_bit() {
        for text in ["-1.5e300", "0.218446744073709551615", "1e-7", "5e-324", "9007199254740993"] {
            let read = |text: &str| metadata_from_json(&serde_json::from_str(text).unwrap()).unwrap();
            let metadata = read(&format!(r#"{{"n":{text}}}"#));
            assert_eq!(metadata["n"], MetaValue::Number(text.parse().unwrap()), "{text}");
            assert_eq!(read(&metadata_to_json(&metadata).to_string()), metadata, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused =
            |text: &str| candidate_from_json(&serde_json::from_str(text).unwrap()).unwrap_err().to_string();
        assert!(refused(r#"{"content":"x","text":"y"}"#).contains("\"text\""));
        assert!(refused(r#"{"content":"x","metadata":{"nested":{"a":1}}}"#).contains("nested"));
        assert!(refused(r#"{"content":"x","observed_at":"2026-03-01T10:00"}"#).contains("offset"));
        assert!(refused(r#"{"content":"x","kind":"fact"}"#).contains("semantic, episodic, procedural"));
        assert!(refused(r#"{"kind":"semantic"}"#).contains("content"));
        assert!(refused("[]").contains("object"));
        let long = "k".repeat(5000);
        for text in [
            format!(r#"{{"content":"x","{long}":1}}"#),
            format!(r#"{{"content":"x","metadata":{{"{long}":{{}}}}}}"#),
        ] {
            let message = refused(&text);
            assert!(message.contains("kkk\"…") && message.len() < 600, "{message}");
        }
    }

    #[test]
    fn the_schema_names_every_field() {
        let schema: Value = serde_json::from_str(CANDIDATE_SCHEMA).unwrap();
        let named: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(named, FIELDS);
    }
}
