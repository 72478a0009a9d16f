//! `recordari export`: every memory in force that the caller may see, oldest first, as lines that import
//! reads back. A manifest comes first; it says what is not in the file.

use clap::Args;
use recordari::json::record_to_json;
use recordari::{Filter, PageRequest, RecordId, State, StateFilter};
use serde_json::{Value, json};

use super::list::UNREADABLE;
use super::open::Session;
use super::{Common, Failure, Out, show};

/// How many records are listed at once.
const PAGE: usize = 1000;
/// The fields of a record that a line of an export holds: those of a candidate, then what import needs
/// besides: the old id, and further evidence.
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
    "record_id",
    "evidence",
];

#[derive(Args)]
#[command(
    after_help = "JSON lines: a manifest, then one memory a line. Exports what the caller may see; name --clearance sensitive\nto include sensitive memories.\n\nExample:\n  recordari export > memories.jsonl"
)]
pub struct Arguments {}

pub fn run(common: &Common, _: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::reading(common, out)?;
    let Exported { ids, damaged, unreadable } = exported(&session)?;
    out.json(&json!({ "recordari_export": 1, "records": ids.len(), "excluded": excluded(&session)? }))?;
    let mut gone = 0;
    for id in &ids {
        let record = session.memory.get_record(&session.principal, id)?;
        match record.filter(|record| record.state == State::Current) {
            Some(record) => out.json(&line(&record_to_json(&record)))?,
            None => gone += 1,
        }
    }
    if gone > 0 {
        let gone = show::counted(gone, "memory", "memories");
        out.notice(format!("left out, since it went out of force while this was written: {gone}"));
    }
    for id in &damaged {
        out.notice(format!(
            "damaged, and left out: {id}; restore it from a backup or forget it, see recordari verify"
        ));
    }
    if unreadable {
        out.notice(UNREADABLE);
    }
    Ok(u8::from(unreadable || !damaged.is_empty()))
}

/// What is to be exported. Ids alone: the content is read one by one.
#[derive(Default)]
struct Exported {
    /// The records in force, oldest first.
    ids: Vec<RecordId>,
    /// Those that are not as they were written.
    damaged: Vec<RecordId>,
    /// Whether parts of the database can't be read.
    unreadable: bool,
}

fn exported(session: &Session) -> Result<Exported, Failure> {
    let mut exported = Exported::default();
    let mut cursor = None;
    loop {
        let request = PageRequest { limit: PAGE, cursor };
        let all = Filter::All(Vec::new());
        let page = session.memory.list(&session.principal, &all, &StateFilter::Current, &request)?;
        exported.ids.extend(page.records.into_iter().map(|record| record.record_id));
        exported.damaged.extend(page.damaged);
        exported.unreadable |= page.unreadable;
        cursor = page.cursor;
        if cursor.is_none() {
            exported.ids.reverse();
            return Ok(exported);
        }
    }
}

fn line(record: &Value) -> Value {
    let mut fields: serde_json::Map<String, Value> =
        FIELDS.iter().map(|name| ((*name).to_owned(), record[*name].clone())).collect();
    // The first piece of evidence is the source itself.
    let further = record["evidence"].as_array().map_or(&[][..], |all| all.get(1..).unwrap_or(&[]));
    if further.is_empty() {
        fields.remove("evidence");
    } else {
        fields.insert("evidence".to_owned(), further.to_vec().into());
    }
    Value::Object(fields)
}

/// What is not in the file, counted where the caller may know.
fn excluded(session: &Session) -> Result<Vec<Value>, Failure> {
    let count = |state: State| {
        let request = PageRequest { limit: 1, cursor: None };
        let all = Filter::All(Vec::new());
        let states = StateFilter::Only(vec![state]);
        session.memory.list(&session.principal, &all, &states, &request).map(|page| page.total)
    };
    let (_, waiting) = session.memory.waiting(&session.principal, 0)?;
    Ok(vec![
        json!({ "what": "superseded_versions", "count": count(State::Superseded)? }),
        json!({ "what": "retired_memories", "count": count(State::Retired)? }),
        json!({ "what": "held_memories", "count": count(State::Held)? }),
        json!({ "what": "waiting_candidates", "count": waiting }),
        json!({ "what": "memories_above_clearance" }),
        json!({ "what": "tombstones" }),
        json!({ "what": "policy" }),
        json!({ "what": "traces" }),
        json!({ "what": "vectors" }),
    ])
}
