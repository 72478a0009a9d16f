//! Between rows and records: how a record is read whole, and the checksum that proves it unchanged.
//! The only place that knows which column holds which field.

use std::fmt::{self, Arguments};
use std::io::Write;

use rusqlite::{Connection, OptionalExtension, Row};

use super::number::row_of;
use crate::change::{DocId, NamespaceId};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::namespace::Namespace;
use crate::record::{Episode, Evidence, MemoryId, MetaValue, Metadata, Record, RecordId, Source};

const SELECT: &str = "
    SELECT record_id, memory_id, version, supersedes, state, kind, form, cardinality, authority, sensitivity,
           lifetime, confidence, importance, observed_at, valid_from, expires_at, recorded_at, ended_at,
           reverify, subject, content, metadata, session, position, write_reason, read_trigger, revision_path,
           checksum, source, locator, speaker, further, derived
    FROM records WHERE id = ?1 AND content IS NOT NULL";

/// Reads one record with all it rests on; none when it does not exist or its content was erased.
/// The checksum is compared, so damaged content is reported and never returned.
pub(super) fn record(connection: &Connection, doc: DocId) -> Result<Option<Record>> {
    let namespace = namespace(connection, doc.namespace())?;
    namespace.map_or(Ok(None), |namespace| record_in(connection, doc, namespace))
}

/// The same, where the document's namespace is known.
pub(super) fn record_in(connection: &Connection, doc: DocId, namespace: Namespace) -> Result<Option<Record>> {
    let mut statement = connection.prepare_cached(SELECT)?;
    let mut rows = statement.query([row_of(doc)])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let mut record = read(row, namespace)?;
    let stored: [u8; 16] = row.get(27)?;
    if let Some(id) = row.get::<_, Option<String>>(28)? {
        let source = Source { id, locator: row.get(29)?, speaker: row.get(30)? };
        let (observed_at, authority) = (record.observed_at, record.authority);
        record.evidence.push(Evidence { source, observed_at, authority });
    }
    let (further, derived): (u32, u32) = (row.get(31)?, row.get(32)?);
    if let Some(before) = row.get::<_, Option<i64>>(3)? {
        record.supersedes = id_of(connection, before)?;
    }
    if further > 0 {
        further_evidence(connection, doc, &mut record.evidence)?;
    }
    if derived > 0 {
        record.derived_from = derived_from(connection, doc)?;
    }
    if checksum(&record) != stored {
        return Err(Error::Corrupt(format!("record {} does not match its checksum", record.record_id)));
    }
    Ok(Some(record))
}

/// The same, where a damaged one is as good as none.
pub(super) fn sound(connection: &Connection, doc: DocId) -> Result<Option<Record>> {
    match record(connection, doc) {
        Err(Error::Corrupt(_)) => Ok(None),
        other => other,
    }
}

/// The id of a row's record.
pub(super) fn id_of(connection: &Connection, row: i64) -> Result<Option<RecordId>> {
    let id: Option<String> = connection
        .prepare_cached("SELECT record_id FROM records WHERE id = ?1")?
        .query_row([row], |row| row.get(0))
        .optional()?;
    Ok(id.map(RecordId::new))
}

/// The parts of a namespace, by its number.
pub(super) fn namespace(connection: &Connection, id: NamespaceId) -> Result<Option<Namespace>> {
    let mut statement =
        connection.prepare_cached("SELECT tenant, user, project, agent FROM namespaces WHERE id = ?1")?;
    let mut rows = statement.query([id.0])?;
    rows.next()?.map(|row| namespace_from(row)).transpose()
}

/// A namespace whose parts stand in the first four columns.
pub(super) fn namespace_from(row: &Row<'_>) -> Result<Namespace> {
    let part = |column: usize| row.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from);
    let tenant = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
    Ok(Namespace::stored(tenant, part(1)?, part(2)?, part(3)?))
}

fn read(row: &Row<'_>, namespace: Namespace) -> Result<Record> {
    let text = |column: usize| row.get::<_, Option<String>>(column);
    let time = |column: usize| -> Result<Option<Timestamp>> {
        row.get::<_, Option<i64>>(column)?.map(Timestamp::from_micros).transpose()
    };
    let session = text(22)?;
    Ok(Record {
        record_id: RecordId::new(row.get::<_, String>(0)?),
        memory_id: MemoryId::new(row.get::<_, String>(1)?),
        namespace,
        version: row.get(2)?,
        supersedes: None,
        state: code(row, 4)?,
        kind: code(row, 5)?,
        form: code(row, 6)?,
        cardinality: code(row, 7)?,
        authority: code(row, 8)?,
        sensitivity: code(row, 9)?,
        lifetime: code(row, 10)?,
        confidence: row.get(11)?,
        importance: row.get(12)?,
        observed_at: present(time(13)?)?,
        valid_from: present(time(14)?)?,
        expires_at: time(15)?,
        recorded_at: present(time(16)?)?,
        ended_at: time(17)?,
        reverify_before_effect: row.get(18)?,
        subject: text(19)?,
        content: row.get(20)?,
        metadata: decode_metadata(row.get_ref(21)?.as_str().map_err(rusqlite::Error::from)?)?,
        episode: match (session, row.get::<_, Option<u32>>(23)?) {
            (Some(session), Some(position)) => Some(Episode { session, position }),
            _ => None,
        },
        write_reason: text(24)?,
        read_trigger: text(25)?,
        revision_path: text(26)?,
        evidence: Vec::with_capacity(1),
        derived_from: Vec::new(),
    })
}

/// Reads a column that holds one of a closed set of words.
pub(super) fn code<T: std::str::FromStr<Err = Error>>(row: &Row<'_>, column: usize) -> Result<T> {
    let text = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    text.parse().map_err(|_| Error::Corrupt(format!("{text:?} is no word that this version knows")))
}

fn present(time: Option<Timestamp>) -> Result<Timestamp> {
    time.ok_or_else(|| Error::Corrupt("a record lacks one of its times".to_owned()))
}

/// What a record rests on besides its first piece of evidence, in the order in which it came.
fn further_evidence(connection: &Connection, doc: DocId, all: &mut Vec<Evidence>) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT source, locator, speaker, observed_at, authority FROM evidence WHERE record = ?1 ORDER BY nth",
    )?;
    let mut rows = statement.query([row_of(doc)])?;
    while let Some(row) = rows.next()? {
        all.push(Evidence {
            source: Source { id: row.get(0)?, locator: row.get(1)?, speaker: row.get(2)? },
            observed_at: Timestamp::from_micros(row.get(3)?)?,
            authority: code(row, 4)?,
        });
    }
    Ok(())
}

fn derived_from(connection: &Connection, doc: DocId) -> Result<Vec<RecordId>> {
    let mut statement = connection.prepare_cached(
        "SELECT s.record_id FROM derivations d JOIN records s ON s.id = d.source WHERE d.record = ?1
         ORDER BY s.id & 0xFFFFFFFFF, s.id",
    )?;
    let ids = statement.query_map([row_of(doc)], |row| row.get::<_, String>(0))?;
    ids.map(|id| Ok(RecordId::new(id?))).collect()
}

/// A digest over everything in a record that never changes: all but its state, its end, and the
/// evidence, which may grow.
pub(super) fn checksum(record: &Record) -> [u8; 16] {
    // Laid out in one piece and hashed at once: this is done for every record that is read.
    let mut bytes: Vec<u8> = Vec::with_capacity(512 + record.content.len());
    let mut put = |field: Arguments<'_>| {
        let start = bytes.len();
        bytes.extend([0; 8]);
        write!(bytes, "{field}").expect("writing to memory does not fail");
        let length = (bytes.len() - start - 8) as u64;
        bytes[start..start + 8].copy_from_slice(&length.to_le_bytes());
    };
    let n = &record.namespace;
    put(format_args!("{}", record.record_id));
    put(format_args!("{}", record.memory_id));
    put(format_args!("{}", n.tenant()));
    for part in [n.user_part(), n.project_part(), n.agent_part()] {
        put(format_args!("{}", Optional(part)));
    }
    put(format_args!("{} {} {} {}", record.version, record.kind, record.form, record.cardinality));
    put(format_args!("{} {} {}", record.authority, record.sensitivity, record.lifetime));
    put(format_args!("{:?} {:?} {}", record.confidence, record.importance, record.reverify_before_effect));
    let (observed, from) = (record.observed_at.as_micros(), record.valid_from.as_micros());
    let recorded = record.recorded_at.as_micros();
    match record.expires_at {
        Some(expires) => put(format_args!("{observed} {from} {recorded} {}", expires.as_micros())),
        None => put(format_args!("{observed} {from} {recorded} ")),
    }
    put(format_args!("{}", Optional(record.supersedes.as_ref().map(RecordId::as_str))));
    put(format_args!("{}", Optional(record.subject.as_deref())));
    put(format_args!("{}", record.content));
    put(format_args!("{}", encode_metadata(&record.metadata)));
    match &record.episode {
        Some(episode) => put(format_args!("{} {}", episode.position, episode.session)),
        None => put(format_args!("")),
    }
    put(format_args!("{}", Optional(record.write_reason.as_deref())));
    put(format_args!("{}", Optional(record.read_trigger.as_deref())));
    put(format_args!("{}", Optional(record.revision_path.as_deref())));
    let mut digest = [0; 16];
    digest.copy_from_slice(&blake3::hash(&bytes).as_bytes()[..16]);
    digest
}

/// A text that may be absent, so that absent and empty differ.
struct Optional<'t>(Option<&'t str>);

impl fmt::Display for Optional<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(text) => write!(f, "={text}"),
            None => Ok(()),
        }
    }
}

/// Metadata as flat JSON.
pub(super) fn encode_metadata(metadata: &Metadata) -> String {
    if metadata.is_empty() {
        return "{}".to_owned();
    }
    let value = |value: &MetaValue| match value {
        MetaValue::Null => serde_json::Value::Null,
        MetaValue::Bool(flag) => (*flag).into(),
        MetaValue::Number(number) => (*number).into(),
        MetaValue::Text(text) => text.as_str().into(),
        MetaValue::List(items) => items.clone().into(),
    };
    let map: serde_json::Map<String, serde_json::Value> =
        metadata.iter().map(|(key, entry)| (key.clone(), value(entry))).collect();
    serde_json::Value::Object(map).to_string()
}

fn decode_metadata(text: &str) -> Result<Metadata> {
    if text == "{}" {
        return Ok(Metadata::default());
    }
    let damaged = || Error::Corrupt("a record's metadata is not flat JSON".to_owned());
    let map: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(text).map_err(|_| damaged())?;
    map.into_iter()
        .map(|(key, value)| {
            let value = match value {
                serde_json::Value::Null => MetaValue::Null,
                serde_json::Value::Bool(flag) => MetaValue::Bool(flag),
                serde_json::Value::Number(number) => MetaValue::Number(number.as_f64().ok_or_else(damaged)?),
                serde_json::Value::String(text) => MetaValue::Text(text),
                serde_json::Value::Array(items) => {
                    let text = |item: serde_json::Value| item.as_str().map(str::to_owned).ok_or_else(damaged);
                    MetaValue::List(items.into_iter().map(text).collect::<Result<_>>()?)
                }
                serde_json::Value::Object(_) => return Err(damaged()),
            };
            Ok((key, value))
        })
        .collect()
}
