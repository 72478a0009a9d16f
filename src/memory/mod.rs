//! The memory of agents, as a library: composes store, gates, relay, recall and forget. No logic of its
//! own.

mod background;
mod deletions;
#[cfg(feature = "graph")]
mod graphs;
mod inner;
mod mend;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde_json::{Value, json};

use crate::change::Seq;
use crate::clock::{Clock, SystemClock};
use crate::embed::{Embedder, QueryCache};
use crate::error::{Error, Result};
use crate::forget;
use crate::gate::Policy;
use crate::namespace::{Principal, Reach};
use crate::recall::{self, Query, Recalled, Why};
use crate::record::{Candidate, MemoryId, Record, RecordId};
use crate::relay::{Drained, Relay};
use crate::remember::{self, Confirmation, Correction, Outcome};
use crate::store::{
    AsOf, CipherKey, Filter, Finding, HistoryEntry, Manifest, NewTrace, Page, PageRequest, SLACK_BYTES,
    StateFilter, Store, TraceStore, TraceSummary, Waiting, minted,
};

use background::Background;
use inner::Inner;

pub use mend::Mended;

/// How to open a [`Memory`].
pub struct Options {
    /// The folder that the store lies in; made when it is missing.
    pub folder: PathBuf,
    /// What the store is encrypted with at rest; none: it is not. It is kept apart from the store and given whenever it
    /// is opened. Needs a build with the feature `sqlcipher`.
    pub cipher: Option<CipherKey>,
    /// The model; none: search by keyword alone, records wait for a model.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The vectors of how many questions are kept in memory, so that one that is asked again is not embedded
    /// again; 0: none.
    pub queries_kept: usize,
    /// About how many bytes of the namespaces that were asked stay in memory, so that the next recall need not
    /// load them; beyond it the least recently asked go. What a running recall needs is loaded whatever it takes:
    /// about 0.6 KB a record with a vector of 384 numbers, or 1 KB in a namespace of up to 16,384.
    pub cache_bytes: usize,
    /// What may be kept and how recall weighs. An error here refuses every write and lets recall go on
    /// with the defaults.
    pub policy: Result<Policy>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Whether a thread keeps the indexes up to date while the memory is open. Without it, writes do that
    /// now and then.
    pub background: bool,
}

impl Options {
    /// That folder, not encrypted, no model, the default policy, the machine's clock, a background thread, 1 GiB of
    /// namespaces in memory.
    pub fn new(folder: impl Into<PathBuf>) -> Options {
        Options {
            folder: folder.into(),
            cipher: None,
            embedder: None,
            queries_kept: 256,
            cache_bytes: 1 << 30,
            policy: Ok(Policy::default()),
            clock: Arc::new(SystemClock),
            background: true,
        }
    }
}

/// What opening a memory found and did, for a person to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// The store was created.
    pub created: bool,
    /// One sentence for everything that was out of order and has been seen to.
    pub notices: Vec<String>,
}

/// The memory of agents in one folder. Can be shared between threads, and the folder between processes.
///
/// ```
/// use recordari::{Candidate, Kind, Memory, Namespace, Options, Principal, Query, Source, Timestamp, Authority};
/// # let folder = tempfile::tempdir().unwrap();
/// let (memory, _) = Memory::open(Options::new(folder.path()))?;
/// let mei = Principal::new(Namespace::new("acme")?.user("mei")?);
/// memory.remember(&mei, &Candidate {
///     subject: Some("preferred_language".to_owned()),
///     source: Some(Source::parse("chat-7#12")),
///     observed_at: Some(Timestamp::parse("observed_at", "2026-03-01T10:00:00Z")?),
///     authority: Authority::UserExplicit,
///     ..Candidate::new(Kind::Semantic, "prefers Python in code examples")
/// })?;
/// let answer = memory.recall(&mei, &Query::new("which language for code examples?"))?;
/// assert_eq!(answer.hits[0].record.content, "prefers Python in code examples");
/// # Ok::<(), recordari::Error>(())
/// ```
pub struct Memory {
    inner: Arc<Inner>,
    background: Option<Background>,
}

impl Memory {
    /// Opens a memory: replays what was forgotten, ends deletions that were left unfinished, and builds
    /// again what is derived and missing.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(options: Options) -> Result<(Memory, Opening)> {
        let now = options.clock.now();
        let room = Store::room(&options.folder);
        let (store, opened) = Store::open(&options.folder, options.cipher.as_ref(), now)?;
        let (relay, rebuilt) = Relay::open(&store, options.cache_bytes)?;
        let (policy, policy_error) = match options.policy {
            Ok(policy) => (policy, None),
            Err(error) => (Policy::default(), Some(error.to_string())),
        };
        let (traces, traces_lost) = TraceStore::open(store.folder(), store.cipher())?;
        let inner = Inner {
            store,
            relay,
            traces,
            memo: recall::Memo::default(),
            embedder: match options.queries_kept {
                0 => options.embedder,
                most => options
                    .embedder
                    .map(|embedder| -> Arc<dyn Embedder> { Arc::new(QueryCache::new(embedder, most)) }),
            },
            policy_version: policy.version(),
            policy,
            policy_error,
            clock: options.clock,
            retry: deletions::Retry::new(),
            embedded_upto: AtomicU64::new(0),
        };
        let mut opening = Opening { created: opened.created, notices: Vec::new() };
        if opened.new_key {
            opening.notices.push("the store's key was missing or replaced: what was forgotten before is kept out by id and source only".to_owned());
        }
        if opened.forgotten_again > 0 {
            let memories = if opened.forgotten_again == 1 { "memory was" } else { "memories were" };
            opening.notices.push(format!(
                "{} {memories} forgotten again: the database was older than the ledger",
                opened.forgotten_again
            ));
        }
        if traces_lost {
            opening.notices.push("the file of traces was damaged and was begun anew".to_owned());
        }
        if let Some(why) = rebuilt {
            inner.relay.drain(&inner.store, &mut |_, _| {})?;
            opening.notices.push(format!("the keyword index: {why}; it was built again"));
        }
        let left = forget::resume(inner.for_forget())?;
        match room {
            // What opening did not use is kept again.
            Some(room) => drop(room),
            None => inner.store.keep_slack(),
        }
        if left > 0 {
            let deletions = if left == 1 { "deletion is" } else { "deletions are" };
            opening.notices.push(format!(
                "{left} {deletions} not cleaned up yet: see which process holds the store, and repeat the request"
            ));
        }
        let inner = Arc::new(inner);
        let background = options.background.then(|| Background::start(&inner)).transpose()?;
        Ok((Memory { inner, background }, opening))
    }

    /// Remembers a candidate, or says why not.
    ///
    /// # Errors
    /// `Invalid` when the candidate breaks a bound, `Policy` when the policy can't be used; otherwise what
    /// the store says.
    pub fn remember(&self, principal: &Principal, candidate: &Candidate) -> Result<Outcome> {
        self.remember_once(principal, candidate, None)
    }

    /// The same, so that repeating a request with its key gives the same answer.
    pub fn remember_once(
        &self,
        principal: &Principal,
        candidate: &Candidate,
        key: Option<&str>,
    ) -> Result<Outcome> {
        let outcome = remember::remember(self.inner.for_write()?, principal, candidate, key)?;
        self.after_write(principal, &outcome)?;
        Ok(outcome)
    }

    /// Remembers many candidates in one durable transaction; each has its own outcome.
    pub fn remember_all(
        &self,
        principal: &Principal,
        candidates: &[Candidate],
    ) -> Result<Vec<Result<Outcome>>> {
        let pairs: Vec<(&Principal, &Candidate)> =
            candidates.iter().map(|candidate| (principal, candidate)).collect();
        self.remember_together(&pairs)
    }

    /// The same for candidates of several callers: what a server gathers from its clients is synced to the
    /// disk once. Each caller has a trace of its own.
    pub fn remember_together(&self, candidates: &[(&Principal, &Candidate)]) -> Result<Vec<Result<Outcome>>> {
        let outcomes = remember::remember_all(self.inner.for_write()?, candidates)?;
        let mut of_caller: Vec<(&Principal, Vec<&Outcome>)> = Vec::new();
        for ((principal, _), outcome) in candidates.iter().zip(&outcomes) {
            let Ok(outcome) = outcome else { continue };
            match of_caller.last_mut() {
                Some((before, all)) if before == principal => all.push(outcome),
                _ => of_caller.push((principal, vec![outcome])),
            }
        }
        for (principal, outcomes) in &of_caller {
            self.trace_writes(principal, outcomes)?;
        }
        self.keep_up()?;
        Ok(outcomes)
    }

    /// About how many bytes of namespaces are in memory now; see [`Options::cache_bytes`].
    pub fn cached_bytes(&self) -> usize {
        self.inner.relay.partitions().bytes()
    }

    /// Says what would become of a candidate, and stores nothing.
    pub fn judge(&self, principal: &Principal, candidate: &Candidate) -> Result<Outcome> {
        let mut outcomes = self.judge_all(principal, std::slice::from_ref(candidate))?;
        outcomes.pop().expect("one candidate has one outcome")
    }

    /// Says what would become of these candidates, one after the other, and stores nothing. What
    /// would be new has no ids: they are empty.
    pub fn judge_all(&self, principal: &Principal, candidates: &[Candidate]) -> Result<Vec<Result<Outcome>>> {
        remember::rehearse(self.inner.for_write()?, principal, candidates)
    }

    /// Puts a new version in force if the caller saw the one that is; none when the caller sees no such
    /// memory.
    pub fn correct(&self, principal: &Principal, correction: &Correction) -> Result<Option<Outcome>> {
        let outcome = remember::correct(self.inner.for_write()?, principal, correction)?;
        if let Some(outcome) = &outcome {
            self.after_write(principal, outcome)?;
        }
        Ok(outcome)
    }

    /// Lets a memory be recalled again that is held since something it was derived from was forgotten; none when the
    /// caller sees no such memory. Like a correction it needs a word of enough authority.
    pub fn confirm(&self, principal: &Principal, confirmation: &Confirmation) -> Result<Option<Outcome>> {
        let outcome = remember::confirm(self.inner.for_write()?, principal, confirmation)?;
        if let Some(outcome) = &outcome {
            self.after_write(principal, outcome)?;
        }
        Ok(outcome)
    }

    /// Takes a memory out of force since its source does not say it any more; its history stays. False when
    /// the caller sees no such record, or it is not in force.
    pub fn retire(&self, principal: &Principal, record: &RecordId, reason: &str) -> Result<bool> {
        let sources = self.inner.for_write()?;
        if self.get_record(principal, record)?.is_none() {
            return Ok(false);
        }
        sources.store.write(sources.now, |writing| writing.retire(record, reason))
    }

    /// Answers a query. A trace of it is kept.
    pub fn recall(&self, principal: &Principal, query: &Query) -> Result<Recalled> {
        // Without a background thread this is when another process's index commits are taken on; a failure
        // costs speed, not correctness, since what the index lacks is taken from the store.
        if self.background.is_none() {
            let _ = self.inner.relay.refresh();
        }
        let sources = self.inner.for_recall();
        let mut answer = recall::recall(sources, principal, query)?;
        // Without a background thread nobody else embeds what was stored while the model was down.
        let waits = answer.plan.degraded.contains(&crate::reason::Reason::EmbeddingsPending);
        if waits && self.background.is_none() && answer.plan.searches.contains(&"vector") {
            self.inner.embed_waiting();
            answer = recall::recall(sources, principal, query)?;
        }
        let kept = &sources.policy.traces;
        if kept.keep_days > 0 && kept.keep_at_most > 0 {
            let trace_id = minted("trc", sources.now)?;
            let shown = answer.hits.iter().chain(&answer.standing).map(|hit| hit.record.record_id.as_str());
            let records: Vec<&str> = shown.chain(answer.left_out.iter().map(|(id, _)| id.as_str())).collect();
            let digest = sources.store.projection_digest(&answer.projection);
            self.inner.keep_trace(NewTrace {
                trace_id: trace_id.clone(),
                at: sources.now,
                what: "recall",
                asker: asker(principal),
                records: records.join(" "),
                body: recall::trace_body(&answer, query, &digest),
            });
            answer.trace_id = Some(trace_id);
        }
        Ok(answer)
    }

    /// Says why a record was returned for a query, or not.
    pub fn why(&self, principal: &Principal, query: &Query, record: &RecordId) -> Result<Why> {
        recall::why(self.inner.for_recall(), principal, query, record)
    }

    /// The record of that id, in any state that has content; none when the caller sees no such record.
    pub fn get_record(&self, principal: &Principal, record: &RecordId) -> Result<Option<Record>> {
        let snapshot = self.inner.store.snapshot()?;
        match snapshot.doc_of_record(record)? {
            Some(doc) => snapshot.resolve(doc, principal),
            None => Ok(None),
        }
    }

    /// The record in force of that memory; none when the caller sees no such memory.
    pub fn get(&self, principal: &Principal, memory: &MemoryId) -> Result<Option<Record>> {
        let snapshot = self.inner.store.snapshot()?;
        match snapshot.doc_of_memory(memory)? {
            Some(doc) => snapshot.resolve(doc, principal),
            None => Ok(None),
        }
    }

    /// The receipt's id if that memory was forgotten, as far as the caller may know.
    pub fn forgotten(&self, principal: &Principal, memory: &MemoryId) -> Result<Option<String>> {
        self.inner.store.snapshot()?.forgotten(principal, memory)
    }

    /// Lists what the caller may see and what meets the filter, newest first.
    pub fn list(
        &self,
        principal: &Principal,
        filter: &Filter,
        states: &StateFilter,
        page: &PageRequest,
    ) -> Result<Page> {
        self.inner.store.snapshot()?.list(principal, filter, states, page)
    }

    /// The versions of a memory, oldest first.
    pub fn history(&self, principal: &Principal, memory: &MemoryId) -> Result<Vec<HistoryEntry>> {
        self.inner.store.snapshot()?.history(principal, memory)
    }

    /// The version of a memory that was believed and true at given instants.
    pub fn as_of(&self, principal: &Principal, memory: &MemoryId, as_of: AsOf) -> Result<Option<Record>> {
        self.inner.store.snapshot()?.as_of(principal, memory, as_of, self.inner.clock.now())
    }

    /// The memory that a record is a version of.
    pub fn memory_of(&self, principal: &Principal, record: &RecordId) -> Result<Option<MemoryId>> {
        self.inner.store.snapshot()?.memory_of(principal, record)
    }

    /// Candidates that wait for a person, oldest first, at most `limit`; and how many there are.
    pub fn waiting(&self, principal: &Principal, limit: usize) -> Result<(Vec<Waiting>, u64)> {
        self.inner.store.snapshot()?.waiting(principal, limit)
    }

    /// The latest traces that this caller made, newest first, at most `limit`.
    pub fn traces(&self, principal: &Principal, limit: usize) -> Result<Vec<TraceSummary>> {
        self.inner.write_traces();
        self.inner.traces.latest(&asker(principal), limit)
    }

    /// The trace of that id, if this caller made it.
    pub fn trace(&self, principal: &Principal, trace_id: &str) -> Result<Option<TraceSummary>> {
        self.inner.write_traces();
        let trace = self.inner.traces.get(trace_id)?;
        Ok(trace.filter(|trace| trace.asker == asker(principal)))
    }

    /// Applies what was written to the keyword index; `progress` is told how many of how many writes. False when
    /// another process is writing it, for more than three seconds.
    pub fn catch_up(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<bool> {
        let (relay, store) = (&self.inner.relay, &self.inner.store);
        let drained = relay.drain_patiently(store, &mut |at, last| progress(at.0, last.0))?;
        Ok(matches!(drained, Drained::Upto(_)))
    }

    /// Builds the keyword index anew and erases the graphs, which [`Memory::build_graphs`] or the background thread
    /// builds again. False when another process is writing one of them.
    pub fn rebuild(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<bool> {
        let drained = self.inner.relay.rebuild(&self.inner.store, &mut |at, last| progress(at.0, last.0))?;
        Ok(matches!(drained, Drained::Upto(_)))
    }

    /// Builds, completes or reads the graph of every namespace that is to have one by the policy (`graph_from`), on
    /// all cores; an open memory with a background thread does so by itself for what it has in memory, on one.
    /// `progress` is told how many of how many rows of a graph are in, and says whether to go on; what was built
    /// until then is kept. Returns how many namespaces have one that is up to date.
    pub fn build_graphs(&self, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<usize> {
        #[cfg(feature = "graph")]
        let built = self.inner.build_graphs(progress);
        // No policy can ask a program without graphs for one.
        #[cfg(not(feature = "graph"))]
        let built = {
            let _ = progress;
            Ok(0)
        };
        built
    }

    /// Gives every record in force a vector of the model in use by this memory, and changes the store over
    /// to it. Can be interrupted and goes on where it was. `progress` is told how many of how many.
    ///
    /// # Errors
    /// `Embed` when there is no model or it fails; what was embedded until then is kept.
    pub fn reembed(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        let embedder = self
            .inner
            .embedder
            .as_deref()
            .ok_or_else(|| Error::Embed("no model is configured".to_owned()))?;
        let fresh = remember::reembed(|| self.inner.for_embedding(), embedder, progress)?;
        // Another model's vectors may be in use from here on.
        self.inner.relay.partitions().clear();
        // One that is just being written is of the model before, which its writer finds out.
        self.inner.relay.drop_graphs()?;
        Ok(fresh)
    }

    /// Compares everything with everything: the chain of events, the projection, the checksums, both
    /// indexes against the store. Empty when all is sound.
    pub fn verify(&self) -> Result<Vec<Finding>> {
        // First: an index that others bring up to date meanwhile has what the snapshot does not.
        let view = self.inner.relay.view();
        let snapshot = self.inner.store.snapshot()?;
        let mut findings = snapshot.check()?;
        match Relay::check(&view, &snapshot) {
            // It is a finding already, and what lies on the page can't be compared.
            Err(Error::Corrupt(what)) => findings.push(Finding::new("database", what)),
            checked => findings.extend(checked?),
        }
        findings.dedup();
        Ok(findings)
    }

    /// Counts of what the caller may see, and the state of what is derived.
    pub fn stats(&self, principal: &Principal) -> Result<Value> {
        let snapshot = self.inner.store.snapshot()?;
        let (_, waiting) = snapshot.waiting(principal, 0)?;
        let mut namespaces = Vec::new();
        let models = snapshot.models()?;
        let in_use = models.iter().find(|model| model.in_use);
        let watermark = Seq(self.inner.relay.view().watermark());
        let (mut embedded, mut readable) = (0, 0);
        let (mut writes, mut unindexed) = (0, 0);
        for place in snapshot.places(&principal.scope())? {
            let here = snapshot.readable(place.id, principal.clearance)?;
            let (waits, all) = snapshot.changes_since(place.id, watermark)?;
            (writes, unindexed) = (writes + all, unindexed + waits);
            (readable, embedded) = (readable + here.0, embedded + here.1);
            if here.0 > 0 {
                let namespace = crate::json::namespace_to_json(&place.namespace);
                namespaces.push(json!({ "namespace": namespace, "memories": here.0 }));
            }
        }
        let deletions = snapshot.count_jobs(&principal.scope(), self.inner.deadline())?;
        Ok(json!({
            "namespaces": namespaces,
            "waiting_for_review": waiting,
            "open_deletions": deletions.open,
            "overdue_deletions": self.count_deletions(&principal.clone().with_reach(Reach::Below))?.overdue,
            "writes": writes,
            "keyword_index": { "applied_writes": writes - unindexed },
            "model": in_use.map(|model| json!({ "name": model.name, "dims": model.dims, "fingerprint": model.fingerprint })),
            "embedded": in_use.filter(|_| readable > 0).map(|_| json!({ "records": embedded, "of": readable })),
            "policy_version": self.inner.policy_version,
            "encrypted": self.inner.store.cipher().is_some(),
            "slack": { "bytes": self.inner.store.slack(), "of": SLACK_BYTES },
        }))
    }

    /// Writes a copy of the store as it is now into a folder, which must be missing or empty; see [`crate::restore`].
    /// Recall and writes go on meanwhile.
    ///
    /// # Errors
    /// As [`Store::backup`].
    pub fn backup(&self, folder: &std::path::Path) -> Result<Manifest> {
        self.inner.store.backup(folder, self.inner.clock.now())
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// The present instant, as this memory sees it.
    pub fn now(&self) -> crate::clock::Timestamp {
        self.inner.clock.now()
    }

    fn after_write(&self, principal: &Principal, outcome: &Outcome) -> Result<()> {
        self.trace_writes(principal, &[outcome])?;
        self.keep_up()
    }

    /// Keeps one trace of what was written together: candidate by candidate, verdict, reason and record.
    fn trace_writes(&self, principal: &Principal, outcomes: &[&Outcome]) -> Result<()> {
        let kept = &self.inner.policy.traces;
        if kept.keep_days == 0 || kept.keep_at_most == 0 || outcomes.is_empty() {
            return Ok(());
        }
        let written: Vec<Option<RecordId>> =
            outcomes.iter().map(|outcome| outcome.written().map(|written| written.record_id)).collect();
        let verdict = |(outcome, record): (&&Outcome, &Option<RecordId>)| {
            json!({
                "outcome": outcome.code(),
                "reason": outcome.reason().map(crate::reason::Reason::code),
                "record_id": record.as_ref().map(RecordId::as_str),
            })
        };
        let mut verdicts: Vec<Value> = outcomes.iter().zip(&written).map(verdict).collect();
        let mut body = match verdicts.len() {
            1 => verdicts.remove(0),
            _ => json!({ "outcome": "batch", "reason": null, "writes": verdicts }),
        };
        body["policy_version"] = json!(self.inner.policy_version);
        let records: Vec<&str> = written.iter().flatten().map(RecordId::as_str).collect();
        self.inner.keep_trace(NewTrace {
            trace_id: minted("trc", self.inner.clock.now())?,
            at: self.inner.clock.now(),
            what: "write",
            asker: asker(principal),
            records: records.join(" "),
            body: body.to_string(),
        });
        Ok(())
    }

    /// Without a background thread, writes see to it that the backlog stays small.
    fn keep_up(&self) -> Result<()> {
        if self.background.is_none() && self.inner.relay.is_behind(&self.inner.store)? {
            self.inner.relay.drain(&self.inner.store, &mut |_: Seq, _| {})?;
        }
        Ok(())
    }
}

/// The namespace that asks, part by part: printed in one line, two different ones can look alike.
fn asker(principal: &Principal) -> String {
    crate::json::namespace_to_text(&principal.namespace)
}
