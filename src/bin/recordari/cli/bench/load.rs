//! Writes the rows of a workload through the gates: every namespace in one store, and the live rows in one
//! namespace of another.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use indicatif::ProgressBar;
use recordari::{
    Authority, Candidate, Error, Forget, Form, Kind, ManualClock, Memory, MemoryId, Namespace, Options,
    Outcome, Principal, Result, Selector, Sensitivity, Source, Timestamp,
};
use serde_json::{Value, json};

use super::data::{Data, Row};
use super::given::Given;
use super::machine;
use super::phases::{MANY, ONE, cipher, policy};

/// The file in which a store's memory ids are kept, one a line, in the order of rows.
pub const IDS: &str = "ids.txt";

pub fn open(folder: &Path, given: &Arc<Given>, now: i64, background: bool) -> Result<Memory> {
    let clock = ManualClock::at(Timestamp::from_micros(now * 1_000_000)?);
    let (memory, _) = Memory::open(Options {
        cipher: folder.parent().map_or(Ok(None), cipher)?,
        embedder: Some(given.clone()),
        // The vectors are given; the same words may come with another one.
        queries_kept: 0,
        policy: Ok(policy()?),
        clock: Arc::new(clock),
        background,
        ..Options::new(folder)
    })?;
    Ok(memory)
}

/// Who asks in one namespace of the workload, cleared for all that it holds.
pub fn principal(tenant: &str, user: Option<&str>, project: Option<&str>) -> Result<Principal> {
    let namespace = Namespace::from_parts(tenant, user, project, None)?;
    Ok(Principal::new(namespace).with_clearance(Sensitivity::Sensitive))
}

/// Who asks in the store with everything in one namespace.
pub fn everyone() -> Result<Principal> {
    principal("all", None, None)
}

pub fn candidate(row: &Row) -> Result<Candidate> {
    let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
    let (kind, form) = match row.kind.as_str() {
        "event" => (Kind::Episodic, Form::Observation),
        "procedure" => (Kind::Procedural, Form::Observation),
        "preference" => (Kind::Semantic, Form::Preference),
        "decision" => (Kind::Semantic, Form::Decision),
        _ => (Kind::Semantic, Form::Observation),
    };
    // Some rows of the workload expired before they were made.
    let observed = row.expires_at.map_or(row.created_at, |end| row.created_at.min(end - 1));
    Ok(Candidate {
        form,
        source: Some(Source { id: format!("row-{}", row.id), locator: None, speaker: None }),
        observed_at: Some(at(observed)?),
        expires_at: row.expires_at.map(at).transpose()?,
        authority: Authority::UserExplicit,
        sensitivity: match row.sensitivity {
            0 => Sensitivity::Public,
            1 => Sensitivity::Internal,
            _ => Sensitivity::Sensitive,
        },
        ..Candidate::new(kind, row.text.clone())
    })
}

/// The row that a record was made from.
pub fn row_of(record: &recordari::Record) -> Option<u32> {
    record.evidence.first()?.source.id.strip_prefix("row-")?.parse().ok()
}

pub fn build(data: &Data, work: &Path, batch: usize) -> Result<Value> {
    let started = Instant::now();
    let cpu = machine::cpu_seconds();
    let many = store(data, &work.join(MANY), batch, &|_| true, &|row| {
        principal(&row.tenant, Some(&row.user), Some(&row.project))
    })?;
    let (wall_s, cpu_s) = (started.elapsed().as_secs_f64(), machine::cpu_seconds() - cpu);
    let one = store(data, &work.join(ONE), batch, &|row| row.is_live(data.now), &|_| everyone())?;
    Ok(json!({
        "version": format!("recordari {}", env!("CARGO_PKG_VERSION")),
        "note": "the whole product path: gates, audit, tombstones, resolve in SQLite, explanation",
        "hybrid_ok": true,
        "build_wall_s": wall_s, "build_cpu_s_self": cpu_s, "build_cpu_s_children": 0.0,
        "timers": many["timers"], "load": many, "one_namespace": one,
    }))
}

/// Fills one store; its timers and what became of the rows.
fn store(
    data: &Data,
    folder: &Path,
    batch: usize,
    wanted: &dyn Fn(&Row) -> bool,
    who: &dyn Fn(&Row) -> Result<Principal>,
) -> Result<Value> {
    let given = Arc::new(Given::new(data.dims));
    let memory = open(folder, &given, data.now, false)?;
    let bar = ProgressBar::new(data.n as u64);
    let mut ids: Vec<String> = vec![String::new(); data.n];
    let mut gone: Vec<(Principal, Forget)> = Vec::new();
    let (mut insert_s, mut cpu_s, mut refused) = (0.0, 0.0, 0);
    let mut rows = data.rows()?.peekable();
    while rows.peek().is_some() {
        let (mut callers, mut candidates, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut passages = HashMap::new();
        for row in rows.by_ref().take(batch) {
            let (row, vector) = row?;
            bar.inc(1);
            if !wanted(&row) {
                continue;
            }
            callers.push(who(&row)?);
            candidates.push(candidate(&row)?);
            numbers.push((row.id, row.deleted));
            passages.insert(row.text, vector);
        }
        given.passages(passages);
        let together: Vec<(&Principal, &Candidate)> = callers.iter().zip(&candidates).collect();
        let (started, cpu) = (Instant::now(), machine::cpu_seconds());
        let outcomes = memory.remember_together(&together)?;
        insert_s += started.elapsed().as_secs_f64();
        cpu_s += machine::cpu_seconds() - cpu;
        for (((number, deleted), outcome), caller) in numbers.into_iter().zip(outcomes).zip(callers) {
            match outcome {
                Ok(Outcome::Committed(written)) => {
                    if deleted {
                        let selector = Selector::Memory(written.memory_id.clone());
                        gone.push((caller, Forget::new(selector, "deleted in the workload")));
                    }
                    ids[number as usize] = written.memory_id.as_str().to_owned();
                }
                _ => refused += 1,
            }
        }
    }
    let (started, cpu) = (Instant::now(), machine::cpu_seconds());
    memory.catch_up(&mut |_, _| {})?;
    let (index_s, index_cpu_s) = (started.elapsed().as_secs_f64(), machine::cpu_seconds() - cpu);
    let started = Instant::now();
    let forgotten = gone.len();
    let requests: Vec<(&Principal, &Forget)> = gone.iter().map(|(who, what)| (who, what)).collect();
    memory.forget_all(&requests)?.into_iter().collect::<Result<Vec<_>>>()?;
    let forget_s = started.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let path = folder.join(IDS);
    std::fs::write(&path, ids.join("\n")).map_err(Error::io(&path))?;
    Ok(json!({
        "timers": { "insert_s": insert_s, "index_s": index_s },
        "insert_cpu_s": cpu_s, "index_cpu_s": index_cpu_s, "refused": refused,
        "forgotten": forgotten, "forget_s": forget_s,
    }))
}

/// The memory ids of a store, by row; empty for rows that it does not hold.
pub fn ids(folder: &Path) -> Result<Vec<Option<MemoryId>>> {
    let path = folder.join(IDS);
    let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
    Ok(text.split('\n').map(|id| (!id.is_empty()).then(|| MemoryId::new(id))).collect())
}
