//! Between rows and records: how a record is read whole, and the checksum that proves it unchanged.
//! The only place that knows which column holds which field.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use crate::change::DocId;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::namespace::Namespace;
use crate::record::{Episode, Evidence, MemoryId, MetaValue, Metadata, Record, RecordId, Source};

/// One row for each piece of evidence: one statement is all that most records take.
const SELECT: &str = "
    SELECT r.record_id, m.memory_id, n.tenant, n.user, n.project, n.agent, r.version, p.record_id,
           r.state, r.kind, r.form, r.cardinality, r.authority, r.sensitivity, r.lifetime,
           r.confidence, r.importance, r.observed_at, r.valid_from, r.expires_at, r.recorded_at,
           r.ended_at, r.reverify, c.subject, c.content, c.metadata, c.session, c.position,
           c.write_reason, c.read_trigger, c.revision_path, c.checksum,
           e.source, e.locator, e.speaker, e.observed_at, e.authority,
           EXISTS (SELECT 1 FROM derivations d WHERE d.record = r.id)
    FROM records r
    JOIN memories m ON m.id = r.memory
    JOIN namespaces n ON n.id = r.namespace
    JOIN contents c ON c.record = r.id
    LEFT JOIN records p ON p.id = r.supersedes
    LEFT JOIN evidence e ON e.record = r.id
    WHERE r.id = ?1 ORDER BY e.id";
const EVIDENCE: usize = 32;
const IS_DERIVED: usize = 37;

/// Reads one record with all it rests on; none when it does not exist or its content was erased.
/// The checksum is compared, so damaged content is reported and never returned.
pub(super) fn record(connection: &Connection, doc: DocId) -> Result<Option<Record>> {
    let mut statement = connection.prepare_cached(SELECT)?;
    let mut rows = statement.query([doc.0 as i64])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let mut record = read(row)?;
    let stored: [u8; 16] = row.get(31)?;
    let is_derived: bool = row.get(IS_DERIVED)?;
    if row.get_ref(EVIDENCE)? != ValueRef::Null {
        record.evidence.push(evidence(row)?);
    }
    while let Some(row) = rows.next()? {
        record.evidence.push(evidence(row)?);
    }
    if is_derived {
        record.derived_from = derived_from(connection, doc)?;
    }
    if checksum(&record) != stored {
        return Err(Error::Corrupt(format!("record {} does not match its checksum", record.record_id)));
    }
    Ok(Some(record))
}

fn read(row: &Row<'_>) -> Result<Record> {
    let text = |column: usize| row.get::<_, Option<String>>(column);
    let time = |column: usize| -> Result<Option<Timestamp>> {
        row.get::<_, Option<i64>>(column)?.map(Timestamp::from_micros).transpose()
    };
    let (tenant, user, project, agent) = (row.get::<_, String>(2)?, text(3)?, text(4)?, text(5)?);
    let session = text(26)?;
    Ok(Record {
        record_id: RecordId::new(row.get::<_, String>(0)?),
        memory_id: MemoryId::new(row.get::<_, String>(1)?),
        namespace: Namespace::stored(tenant, user, project, agent),
        version: row.get(6)?,
        supersedes: text(7)?.map(RecordId::new),
        state: code(row, 8)?,
        kind: code(row, 9)?,
        form: code(row, 10)?,
        cardinality: code(row, 11)?,
        authority: code(row, 12)?,
        sensitivity: code(row, 13)?,
        lifetime: code(row, 14)?,
        confidence: row.get(15)?,
        importance: row.get(16)?,
        observed_at: present(time(17)?)?,
        valid_from: present(time(18)?)?,
        expires_at: time(19)?,
        recorded_at: present(time(20)?)?,
        ended_at: time(21)?,
        reverify_before_effect: row.get(22)?,
        subject: text(23)?,
        content: row.get(24)?,
        metadata: decode_metadata(row.get_ref(25)?.as_str().map_err(rusqlite::Error::from)?)?,
        episode: match (session, row.get::<_, Option<u32>>(27)?) {
            (Some(session), Some(position)) => Some(Episode { session, position }),
            _ => None,
        },
        write_reason: text(28)?,
        read_trigger: text(29)?,
        revision_path: text(30)?,
        evidence: Vec::new(),
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

fn evidence(row: &Row<'_>) -> Result<Evidence> {
    Ok(Evidence {
        source: Source {
            id: row.get(EVIDENCE)?,
            locator: row.get(EVIDENCE + 1)?,
            speaker: row.get(EVIDENCE + 2)?,
        },
        observed_at: Timestamp::from_micros(row.get(EVIDENCE + 3)?)?,
        authority: code(row, EVIDENCE + 4)?,
    })
}

fn derived_from(connection: &Connection, doc: DocId) -> Result<Vec<RecordId>> {
    let mut statement = connection.prepare_cached(
        "SELECT s.record_id FROM derivations d JOIN records s ON s.id = d.source WHERE d.record = ?1 ORDER BY s.id",
    )?;
    let ids = statement.query_map(params![doc.0 as i64], |row| row.get::<_, String>(0))?;
    ids.map(|id| Ok(RecordId::new(id?))).collect()
}

/// A digest over everything in a record that never changes: all but its state, its end, and the
/// evidence, which may grow.
pub(super) fn checksum(record: &Record) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    let mut put = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    let n = &record.namespace;
    let optional = |text: Option<&str>| text.map_or_else(String::new, |text| format!("={text}"));
    put(record.record_id.as_str());
    put(record.memory_id.as_str());
    put(n.tenant());
    put(&optional(n.user_part()));
    put(&optional(n.project_part()));
    put(&optional(n.agent_part()));
    put(&format!("{} {} {} {}", record.version, record.kind, record.form, record.cardinality));
    put(&format!("{} {} {}", record.authority, record.sensitivity, record.lifetime));
    put(&format!("{:?} {:?} {}", record.confidence, record.importance, record.reverify_before_effect));
    let expires = record.expires_at.map_or_else(String::new, |at| at.as_micros().to_string());
    let times =
        [record.observed_at, record.valid_from, record.recorded_at].map(|at| at.as_micros().to_string());
    put(&format!("{} {expires}", times.join(" ")));
    put(&optional(record.supersedes.as_ref().map(RecordId::as_str)));
    put(&optional(record.subject.as_deref()));
    put(&record.content);
    put(&encode_metadata(&record.metadata));
    let episode = record.episode.as_ref();
    put(&episode.map_or_else(String::new, |episode| format!("{} {}", episode.position, episode.session)));
    put(&optional(record.write_reason.as_deref()));
    put(&optional(record.read_trigger.as_deref()));
    put(&optional(record.revision_path.as_deref()));
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

/// Metadata as flat JSON.
pub(super) fn encode_metadata(metadata: &Metadata) -> String {
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
