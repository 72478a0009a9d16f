//! The clean-up after a deletion: traces, indexes, graphs and the journal; then what was forgotten is looked for, and
//! the receipt says how it went. Each step can be repeated, by whichever process has the store open.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use serde_json::{Value, json};

use super::receipt::{Receipt, left_to_json};
use super::{Forgotten, Left, Sources};
use crate::change::{DocId, Seq};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::index::keyword::View;
use crate::namespace::Namespace;
use crate::reason::Reason;
use crate::record::RecordId;
use crate::relay::Purged;
use crate::store::{Job, JobState, Snapshot, Store};

/// How long the journal may be held by another process's reading before that is reported.
const JOURNAL_PATIENCE: Duration = Duration::from_secs(2);

/// How many documents of the index are tried for one that the store has too.
const CONTROLS: usize = 64;

/// What was erased, where, and under which receipts.
pub(super) struct Gone {
    /// Whether the ledger has it.
    pub is_entered: bool,
    pub receipts: Vec<String>,
    pub records: Vec<RecordId>,
    pub namespaces: Vec<Namespace>,
}

/// Takes what was erased out of this process's memory and out of the traces. Returns the receipts of what needs no
/// more of that, nor of the ledger, and the records of each trace that was dropped.
pub(super) fn let_go(sources: Sources<'_>, gone: &[&Gone]) -> (Vec<String>, Vec<String>) {
    let namespaces: BTreeSet<&Namespace> = gone.iter().flat_map(|gone| &gone.namespaces).collect();
    let partitions = sources.relay.partitions();
    let followed = sources.store.snapshot().and_then(|snapshot| {
        let view = sources.relay.view();
        namespaces.into_iter().try_for_each(|namespace| partitions.let_go(&snapshot, &view, namespace))
    });
    // What can't be followed is dropped: nothing may keep a deletion from being finished.
    if followed.is_err() {
        partitions.clear();
    }
    let records: Vec<RecordId> = gone.iter().flat_map(|gone| gone.records.iter().cloned()).collect();
    match sources.traces.forget(&records) {
        Ok(traces) if gone.iter().all(|gone| gone.is_entered) => {
            (gone.iter().flat_map(|gone| gone.receipts.iter().cloned()).collect(), traces)
        }
        Ok(traces) => (Vec::new(), traces),
        Err(_) => (Vec::new(), Vec::new()),
    }
}

/// Ends every deletion that a crash or a busy process left unfinished. Tells how many are left.
pub fn resume(sources: Sources<'_>) -> Result<usize> {
    let open = sources.store.snapshot()?.open_jobs()?;
    let Some(last) = open.last() else { return Ok(0) };
    let _room = Store::room(sources.store.folder());
    match clean(sources, last.seq, &[], &[]).is_empty() {
        true => Ok(0),
        false => Ok(sources.store.snapshot()?.open_jobs()?.len()),
    }
}

/// Cleans up after a deletion, and all before it; then the receipt is complete.
pub(super) fn finish(sources: Sources<'_>, job: &Job, receipts: &[String], traces: &[String]) -> Forgotten {
    let left = clean(sources, job.seq, receipts, traces);
    outcome(sources, job, &left)
}

/// How a deletion stands after a try to clean up that left this.
pub(super) fn outcome(sources: Sources<'_>, job: &Job, left: &[Left]) -> Forgotten {
    let now = sources.store.snapshot().and_then(|snapshot| snapshot.job(&job.receipt_id)).ok().flatten();
    let job = now.as_ref().unwrap_or(job);
    match job.state {
        JobState::Completed => Forgotten::Done(Receipt::of(sources.store, job, Vec::new())),
        _ => Forgotten::Incomplete(Receipt::of(sources.store, job, left.to_vec())),
    }
}

fn records_of(job: &Job) -> impl Iterator<Item = &str> {
    job.body["record_ids"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Cleans up after every deletion up to a write; returns what is left to do. Those of `receipts` are in the ledger, and
/// `traces` were dropped with them: whoever asked for the others may have been stopped before that.
pub(super) fn clean(sources: Sources<'_>, upto: Seq, receipts: &[String], traces: &[String]) -> Vec<Left> {
    // What keeps it from beginning, or its end from being noted, is left like everything else.
    try_clean(sources, upto, receipts, traces).unwrap_or_else(|error| {
        let why = match error {
            Error::Locked(_) => Reason::CheckpointBusy,
            _ => Reason::StoreFailed,
        };
        vec![(why, String::new())]
    })
}

fn try_clean(sources: Sources<'_>, upto: Seq, receipts: &[String], traces: &[String]) -> Result<Vec<Left>> {
    let open: Vec<(Job, usize)> = {
        let snapshot = sources.store.snapshot()?;
        let jobs = snapshot.open_jobs()?.into_iter().filter(|job| job.seq <= upto);
        let graphs = |job: &Job| Ok(sources.relay.count_graphs(&snapshot.namespaces_of(job)?));
        jobs.map(|job| graphs(&job).map(|graphs| (job, graphs))).collect::<Result<_>>()?
    };
    let (mut traces, mut left) = (traces.to_vec(), Vec::new());
    let others: Vec<&Job> =
        open.iter().map(|(job, _)| job).filter(|job| !receipts.contains(&job.receipt_id)).collect();
    if !others.is_empty() {
        let ids: Vec<&str> = others.iter().map(|job| job.receipt_id.as_str()).collect();
        if sources.store.enter_in_ledger_again(&ids).is_err() {
            left.push((Reason::LedgerFailed, String::new()));
        }
        let records = others.iter().flat_map(|job| records_of(job).map(RecordId::new));
        match sources.traces.forget(&records.collect::<Vec<_>>()) {
            Ok(dropped) => traces.extend(dropped),
            Err(_) => left.push((Reason::TracesFailed, String::new())),
        }
    }
    let of_derived = derived(sources);
    let is_derived_clean = of_derived.is_empty();
    left.extend(of_derived);
    let cleaned_at = sources.clock.now();
    match sources.store.truncate_journal(JOURNAL_PATIENCE) {
        Ok(true) => {}
        Ok(false) => left.push((Reason::CheckpointBusy, String::new())),
        Err(_) => left.push((Reason::StoreFailed, String::new())),
    }
    let mut looked = Vec::new();
    if left.is_empty() {
        match verify(sources, open.iter().map(|(job, _)| job)) {
            Ok(found) => looked = found,
            Err(_) => left.push((Reason::IndexFailed, String::new())),
        }
    }
    if let Some(failed) = looked.iter().find(|looked| !looked.is_clean()) {
        left.push((Reason::NotVerified, failed.told()));
    }
    let is_completed = left.is_empty();
    let now = sources.clock.now();
    let noted = sources.store.write(now, |writing| {
        for (number, (job, graphs)) in open.iter().enumerate() {
            let mut body = job.body.clone();
            let mut step = |name: &str, at: Timestamp| body["steps"][name] = json!(at.to_string());
            if is_derived_clean {
                step("derived_cleanup", cleaned_at);
            }
            if is_completed {
                step("verified", now);
                step("completed", now);
            }
            count_places(&mut body["places"], job, is_derived_clean, *graphs, &traces);
            if let Some(looked) = looked.get(number) {
                body["probe"] = looked.to_json(now);
            }
            body["tried_at"] = json!(now.to_string());
            body["left"] = left_to_json(&left);
            writing.note_job(&job.receipt_id, is_completed, &body)?;
        }
        Ok(())
    });
    match is_completed {
        true => noted?,
        // Whoever asks now is told in any case.
        false => drop(noted),
    }
    Ok(left)
}

/// Cleans up what is derived.
fn derived(sources: Sources<'_>) -> Vec<Left> {
    match sources.relay.purge(sources.store) {
        Ok(Purged::Clean) => Vec::new(),
        Ok(Purged::Busy) => vec![(Reason::IndexBusy, String::new())],
        Ok(Purged::Held(holders)) => {
            let who: Vec<String> =
                holders.iter().map(|holder| format!("process {}", holder.process)).collect();
            vec![(Reason::ReadersHoldFiles, who.join(", "))]
        }
        Err(_) => vec![(Reason::IndexFailed, String::new())],
    }
}

/// Brings the counts of the places up to date that are cleaned after the erasure.
fn count_places(places: &mut Value, job: &Job, is_derived_clean: bool, graphs: usize, traces: &[String]) {
    // An earlier version counted none.
    if !places.is_object() {
        return;
    }
    let mut add = |place: &str, what: &str, number: u64| {
        let before = places[place][what].as_u64().unwrap_or(0);
        places[place][what] = json!(before + number);
    };
    let records: HashSet<&str> = records_of(job).collect();
    let of_job = traces.iter().filter(|trace| trace.split(' ').any(|record| records.contains(record)));
    add("traces", "deleted", of_job.count() as u64);
    if is_derived_clean {
        add("graphs", "deleted", graphs as u64);
        let cleaned = places["keyword_index"]["failed"].as_u64().unwrap_or(0);
        places["keyword_index"]["failed"] = json!(0);
        let before = places["keyword_index"]["deleted"].as_u64().unwrap_or(0);
        places["keyword_index"]["deleted"] = json!(before + cleaned);
    }
}

/// What looking for the forgotten of one deletion came to.
struct Looked {
    /// Versions that were looked for.
    records: u64,
    /// Those that hold anything in the database still.
    in_store: u64,
    /// Those that the keyword index still has.
    in_index: u64,
    /// Whether a record that is there was met in both; none: nothing is there.
    control: Option<bool>,
}

impl Looked {
    fn is_clean(&self) -> bool {
        self.in_store == 0 && self.in_index == 0 && self.control != Some(false)
    }

    fn told(&self) -> String {
        match self.control {
            Some(false) => "a memory that is there was not met".to_owned(),
            _ => format!("{} in the database, {} in the index", self.in_store, self.in_index),
        }
    }

    fn to_json(&self, at: Timestamp) -> Value {
        json!({
            "at": at.to_string(),
            "looked_for": self.records,
            "found": self.in_store + self.in_index,
            "control": match self.control {
                Some(true) => "met",
                Some(false) => "not_met",
                None => "nothing_is_there",
            },
        })
    }
}

/// Looks for every version of these deletions by its number, in the database and in the keyword index, and for one
/// that is there, to show that the look sees.
fn verify<'j>(sources: Sources<'_>, jobs: impl Iterator<Item = &'j Job>) -> Result<Vec<Looked>> {
    let (snapshot, view) = (sources.store.snapshot()?, sources.relay.view());
    let documents = view.documents()?;
    let control = control(&snapshot, &view, &documents)?;
    let mut all = Vec::new();
    for job in jobs {
        let mut looked = Looked { records: 0, in_store: 0, in_index: 0, control };
        for record in records_of(job) {
            looked.records += 1;
            let Some(doc) = snapshot.doc_of_record(&RecordId::new(record))? else { continue };
            looked.in_store += u64::from(snapshot.holds_anything(doc)?);
            looked.in_index += u64::from(documents.binary_search(&doc.0).is_ok());
        }
        all.push(looked);
    }
    Ok(all)
}

fn control(snapshot: &Snapshot<'_>, view: &View, documents: &[u64]) -> Result<Option<bool>> {
    if documents.is_empty() {
        return Ok(None);
    }
    for doc in documents.iter().rev().take(CONTROLS) {
        if snapshot.holds_anything(DocId(*doc))? {
            return Ok(Some(true));
        }
    }
    // Whatever is there may have been deleted this moment, by another process.
    Ok((view.watermark() >= snapshot.last()?.0).then_some(false))
}
