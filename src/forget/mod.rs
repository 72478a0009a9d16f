//! The end: a deletion as a job. In one transaction recall stops and the content is erased; then every
//! derived copy is cleaned up, and the receipt says how far that has come. Each step can be repeated.

mod clean;
mod probe;
mod receipt;

use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::gate::secrets;
use crate::namespace::{Namespace, Principal};
use crate::reason::Reason;
use crate::record::{FIELD_BYTES_MAX, MemoryId, RecordId};
use crate::relay::Relay;
use crate::store::{Erased, Job, JobState, Selector, Store, TraceStore, Writing, minted};

use clean::{Gone, clean, finish, let_go};

pub use clean::resume;
pub use probe::{Needles, Place, Probed, TextVectors, by_similarity, probe};
pub use receipt::{Promise, Receipt, verify_receipt};

/// Something that is left to clean up, and who or what is in the way.
pub type Left = (Reason, String);

/// How many erasures are made durable together: a sync takes longer than one of them.
const REVOKED_TOGETHER: usize = 256;

/// What a deletion reaches.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The truth.
    pub store: &'a Store,
    /// What is derived from it.
    pub relay: &'a Relay,
    /// The traces.
    pub traces: &'a TraceStore,
    /// The instant of the request.
    pub now: Timestamp,
    /// Tells when each step of the clean-up was done.
    pub clock: &'a dyn Clock,
    /// After how many minutes a clean-up that has not ended is overdue.
    pub deadline_minutes: u32,
}

/// A request to forget.
///
/// ```
/// use recordari::{Forget, Selector};
/// let request = Forget::new(Selector::Subject("preferred_language".to_owned()), "asked for by the user");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forget {
    /// The one namespace in which to forget; none: the one that the memory lives in, and for everything
    /// else the principal's own.
    pub namespace: Option<Namespace>,
    /// What.
    pub selector: Selector,
    /// Why; kept in the receipt, so it must not repeat what is to be forgotten.
    pub reason: String,
    /// The caller's id of the request: the same id gives the same receipt.
    pub request_id: Option<String>,
    /// The token of a [`Preview`]: then exactly what that named is forgotten, or nothing.
    pub preview: Option<String>,
}

impl Forget {
    /// A request in the principal's own namespace, without an id or a preview.
    pub fn new(selector: Selector, reason: impl Into<String>) -> Forget {
        Forget { namespace: None, selector, reason: reason.into(), request_id: None, preview: None }
    }
}

/// What a request would forget, while nothing is forgotten. Ids and counts, no content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// What a request names as its `preview` to forget exactly this.
    pub token: String,
    /// Where.
    pub namespace: Namespace,
    /// The memories that would go.
    pub memories: Vec<MemoryId>,
    /// All their versions, and single versions of others that rest on the source.
    pub records: Vec<RecordId>,
    /// Memories that would lose this source and keep another.
    pub kept: Vec<MemoryId>,
    /// Memories that would be held from recall, since something they were derived from would be gone.
    pub held: Vec<MemoryId>,
    /// In how many other namespaces something that was derived from it would go or be held.
    pub elsewhere: usize,
    /// How many candidates would leave the review queue.
    pub candidates: u64,
    /// Whether the source would be kept from coming back.
    pub blocks_source: bool,
}

/// How a deletion went.
#[derive(Clone, Debug, PartialEq)]
pub enum Forgotten {
    /// Everything is gone, in every place.
    Done(Receipt),
    /// Recall returns nothing of it any more; the receipt names what still has to be cleaned up, which
    /// repeating the request does.
    Incomplete(Receipt),
    /// It was forgotten before.
    Already(Receipt),
    /// There is nothing like that in the caller's scope.
    NotFound,
    /// The request id was used for something else.
    RequestIdConflict,
    /// What the preview named is not what would be forgotten now; nothing was.
    StalePreview,
}

impl Forgotten {
    /// The stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Forgotten::Done(_) => "forgotten",
            Forgotten::Incomplete(_) => "incomplete",
            Forgotten::Already(_) => "already_forgotten",
            Forgotten::NotFound => "not_found",
            Forgotten::RequestIdConflict => "request_id_conflict",
            Forgotten::StalePreview => "stale_preview",
        }
    }

    /// The receipt, where there is one.
    pub fn receipt(&self) -> Option<&Receipt> {
        match self {
            Forgotten::Done(receipt) | Forgotten::Incomplete(receipt) | Forgotten::Already(receipt) => {
                Some(receipt)
            }
            Forgotten::NotFound | Forgotten::RequestIdConflict | Forgotten::StalePreview => None,
        }
    }
}

/// What the first transaction of a deletion came to.
enum Revoked {
    Erased(Job, Gone),
    Before(Job),
    Nothing,
    Conflict,
    Stale,
}

/// Forgets, and cleans up.
///
/// # Errors
/// `Invalid` when the request breaks a bound or names a namespace outside the caller's scope. Any error leaves
/// everything as it was: what fails after the erasure is [`Forgotten::Incomplete`], with the place.
pub fn forget(sources: Sources<'_>, principal: &Principal, request: &Forget) -> Result<Forgotten> {
    sources.store.with_room(|| forget_in_room(sources, principal, request))
}

fn forget_in_room(sources: Sources<'_>, principal: &Principal, request: &Forget) -> Result<Forgotten> {
    match revoke(sources, principal, request)? {
        Revoked::Erased(job, gone) => {
            let (receipts, traces) = let_go(sources, &[&gone]);
            Ok(finish(sources, &job, &receipts, &traces))
        }
        Revoked::Before(job) if job.state == JobState::Completed => {
            Ok(Forgotten::Already(Receipt::of(sources.store, &job, Vec::new())))
        }
        Revoked::Before(job) => Ok(finish(sources, &job, &[], &[])),
        // A memory may have been forgotten by its subject or namespace: the tombstone knows the receipt.
        Revoked::Nothing => already(sources, principal, request),
        Revoked::Conflict => Ok(Forgotten::RequestIdConflict),
        Revoked::Stale => Ok(Forgotten::StalePreview),
    }
}

/// What a request would forget; none when there is nothing like that in the caller's scope. It is found by
/// forgetting, and taking all of it back before anybody can see it.
///
/// # Errors
/// As [`forget`] has them. Nothing is changed in any case.
pub fn preview(sources: Sources<'_>, principal: &Principal, request: &Forget) -> Result<Option<Preview>> {
    let namespace = check(sources, principal, request)?;
    let (selector, clearance) = (&request.selector, principal.clearance);
    sources.store.rehearse(sources.now, |writing| {
        let erased = writing.erase(&namespace, selector, clearance, &request.reason, "")?;
        let token = writing.preview_token(&namespace, selector, &erased);
        Ok((!erased.is_empty()).then(|| Preview {
            token,
            namespace: namespace.clone(),
            candidates: erased.candidates(),
            elsewhere: erased.elsewhere.len(),
            memories: erased.memories,
            records: erased.records,
            kept: erased.kept,
            held: erased.held,
            blocks_source: erased.blocked,
        }))
    })
}

/// Forgets many things, and cleans up after all of them together: the clean-up costs about the same for
/// one as for a thousand.
///
/// # Errors
/// Only what keeps all from being tried; each request has its own outcome or error otherwise.
pub fn forget_all(
    sources: Sources<'_>,
    requests: &[(&Principal, &Forget)],
) -> Result<Vec<Result<Forgotten>>> {
    sources.store.with_room(|| forget_all_in_room(sources, requests))
}

fn forget_all_in_room(
    sources: Sources<'_>,
    requests: &[(&Principal, &Forget)],
) -> Result<Vec<Result<Forgotten>>> {
    let mut revoked: Vec<Result<Revoked>> = Vec::with_capacity(requests.len());
    for together in requests.chunks(REVOKED_TOGETHER) {
        match revoke_all(sources, together) {
            // One that is refused takes all of its transaction back: each is tried by itself.
            Err(Error::Invalid { .. }) => {
                revoked
                    .extend(together.iter().map(|(principal, request)| revoke(sources, principal, request)));
            }
            all => revoked.extend(all?),
        }
    }
    let erased = || {
        revoked.iter().flatten().filter_map(|revoked| match revoked {
            Revoked::Erased(job, gone) => Some((job, gone)),
            _ => None,
        })
    };
    let (receipts, traces) = let_go(sources, &erased().map(|(_, gone)| gone).collect::<Vec<_>>());
    let left = match erased().map(|(job, _)| job.seq).max() {
        Some(last) => clean(sources, last, &receipts, &traces),
        None => Vec::new(),
    };
    let outcome = |((principal, request), revoked): (&(&Principal, &Forget), Result<Revoked>)| match revoked?
    {
        Revoked::Erased(job, _) => Ok(clean::outcome(sources, &job, &left)),
        _ => forget(sources, principal, request),
    };
    Ok(requests.iter().zip(revoked).map(outcome).collect())
}

/// The first step: in one transaction recall stops and the content is erased.
fn revoke(sources: Sources<'_>, principal: &Principal, request: &Forget) -> Result<Revoked> {
    let mut revoked = revoke_all(sources, &[(principal, request)])?;
    revoked.pop().expect("each request has an outcome")
}

/// The same for many: each in turn, and all of them durable at once.
fn revoke_all(sources: Sources<'_>, requests: &[(&Principal, &Forget)]) -> Result<Vec<Result<Revoked>>> {
    let checked: Vec<Result<Namespace>> =
        requests.iter().map(|(principal, request)| check(sources, principal, request)).collect();
    let mut erased_now = Vec::new();
    let mut revoked = sources.store.write(sources.now, |writing| {
        let mut all = Vec::with_capacity(requests.len());
        for ((principal, request), namespace) in requests.iter().zip(checked) {
            let namespace = match namespace {
                Ok(namespace) => namespace,
                Err(error) => {
                    all.push(Err(error));
                    continue;
                }
            };
            let (revoked, erased) = revoke_one(sources, writing, principal, request, &namespace)?;
            erased_now.extend(erased.map(|erased| (namespace, &request.selector, erased)));
            all.push(Ok(revoked));
        }
        Ok(all)
    })?;
    // From here on it is so, whatever fails: what is not in the ledger yet is entered by the clean-up.
    let is_entered = sources.store.enter_in_ledger(&erased_now, sources.now).is_ok();
    for revoked in &mut revoked {
        if let Ok(Revoked::Erased(_, gone)) = revoked {
            gone.is_entered = is_entered;
        }
    }
    Ok(revoked)
}

fn revoke_one(
    sources: Sources<'_>,
    writing: &Writing<'_>,
    principal: &Principal,
    request: &Forget,
    namespace: &Namespace,
) -> Result<(Revoked, Option<Erased>)> {
    if let Some(request_id) = &request.request_id
        && let Some((job, same)) = writing.job_of_request(namespace, request_id, &request.selector)?
    {
        return Ok((if same { Revoked::Before(job) } else { Revoked::Conflict }, None));
    }
    // An id stands for one request of whoever asked, wherever that was.
    if let Some(request_id) = &request.request_id
        && writing.is_used_elsewhere(&principal.scope(), namespace, request_id)?
    {
        return Ok((Revoked::Conflict, None));
    }
    let receipt_id = minted("rcp", sources.now)?;
    let (selector, clearance, reason) = (&request.selector, principal.clearance, &request.reason);
    let erased = match &request.preview {
        None => Some(writing.erase(namespace, selector, clearance, reason, &receipt_id)?),
        Some(token) => writing.erase_as_seen(token, namespace, selector, clearance, reason, &receipt_id)?,
    };
    let Some(erased) = erased.filter(|erased| !erased.is_empty()) else {
        let before = writing.job_of_target(namespace, selector)?;
        return Ok((
            match (before, &request.preview) {
                // The same preview was applied before, and nothing has come since.
                (Some(job), Some(token)) if job.body["preview"] == token.as_str() => Revoked::Before(job),
                (_, Some(_)) => Revoked::Stale,
                (Some(job), None) => Revoked::Before(job),
                (None, None) => Revoked::Nothing,
            },
            None,
        ));
    };
    let backups = (writing.backups()?, writing.older_backups()?);
    let body =
        receipt::body(sources, Some(request), namespace, &writing.digest_of(&erased), &backups, &erased);
    let request_id = request.request_id.as_deref();
    let job = writing.open_job(namespace, &request.selector, &receipt_id, request_id, erased.seq, body)?;
    let mut receipts = vec![receipt_id];
    for (namespace, elsewhere) in &erased.elsewhere {
        let (part, receipt) = (&elsewhere.erased, &elsewhere.receipt);
        let body = receipt::body(sources, None, namespace, &writing.digest_of(part), &backups, part);
        // Nobody can ask for it: its target is its own receipt.
        let target = Selector::Memory(MemoryId::new(receipt.clone()));
        writing.open_job(namespace, &target, receipt, None, erased.seq, body)?;
        receipts.push(receipt.clone());
    }
    let gone = Gone {
        is_entered: false,
        receipts,
        records: erased.parts().flat_map(|part| part.records.iter().cloned()).collect(),
        namespaces: erased.parts().flat_map(|part| part.namespaces.iter().cloned()).collect(),
    };
    Ok((Revoked::Erased(job, gone), Some(erased)))
}

fn check(sources: Sources<'_>, principal: &Principal, request: &Forget) -> Result<Namespace> {
    // An id names its namespace; a subject or source has none of its own.
    let of_memory = match &request.selector {
        Selector::Memory(memory) => sources.store.snapshot()?.namespace_of(principal, memory)?,
        _ => None,
    };
    let namespace = request.namespace.clone().or(of_memory).unwrap_or_else(|| principal.namespace.clone());
    if !principal.sees(&namespace) {
        return Err(Error::invalid(
            "namespace",
            "must be the caller's own or a wider one of the same tenant",
        ));
    }
    if request.selector == Selector::Below && !principal.scope().covers_below(&namespace) {
        return Err(Error::invalid(
            "namespace",
            "everything below it can be forgotten only by who sees everything below it",
        ));
    }
    for (field, text) in [
        ("reason", Some(&request.reason)),
        ("request_id", request.request_id.as_ref()),
        ("preview", request.preview.as_ref()),
    ] {
        if text.is_some_and(|text| text.trim().is_empty() || text.len() > FIELD_BYTES_MAX) {
            return Err(Error::invalid(field, format!("must be 1 to {FIELD_BYTES_MAX} bytes long")));
        }
        if text.is_some_and(|text| secrets::find(text).is_some()) {
            return Err(Error::invalid(field, "must not hold a secret"));
        }
    }
    Ok(namespace)
}

fn already(sources: Sources<'_>, principal: &Principal, request: &Forget) -> Result<Forgotten> {
    let snapshot = sources.store.snapshot()?;
    let namespace = request.namespace.as_ref().unwrap_or(&principal.namespace);
    let memories = match &request.selector {
        Selector::Memory(memory) => vec![memory.clone()],
        Selector::Subject(subject) => snapshot.forgotten_of_subject(namespace, subject)?,
        _ => Vec::new(),
    };
    let mut forgotten = None;
    for memory in memories {
        if let Some(receipt_id) = snapshot.forgotten(principal, &memory)? {
            forgotten = Some((memory, receipt_id));
            break;
        }
    }
    let Some((memory, receipt_id)) = forgotten else { return Ok(Forgotten::NotFound) };
    let Some(job) = snapshot.job(&receipt_id)? else { return Ok(Forgotten::NotFound) };
    let is_theirs = snapshot.job_in(&principal.scope(), &receipt_id)?.is_some();
    drop(snapshot);
    let was_completed = job.state == JobState::Completed;
    let left = if was_completed { Vec::new() } else { clean(sources, job.seq, &[], &[]) };
    let job = sources.store.snapshot()?.job(&receipt_id)?.unwrap_or(job);
    let job = if is_theirs { job } else { receipt::narrowed(job, Some(&memory)) };
    let receipt = Receipt::of(sources.store, &job, left);
    Ok(match job.state {
        JobState::Completed if was_completed => Forgotten::Already(receipt),
        JobState::Completed => Forgotten::Done(receipt),
        _ => Forgotten::Incomplete(receipt),
    })
}

/// The receipts of the deletions in a caller's scope, newest first, at most `limit`; only those whose clean-up has
/// not ended, or all.
pub fn jobs(store: &Store, principal: &Principal, only_open: bool, limit: usize) -> Result<Vec<Receipt>> {
    let jobs = store.snapshot()?.jobs_in(&principal.scope(), only_open, limit)?;
    Ok(jobs.iter().map(|job| Receipt::as_it_stands(store, job)).collect())
}

/// Whether the clean-up after a deletion that was asked for before an instant has not ended, whoever asked.
pub fn is_any_open(store: &Store, asked_before: Timestamp) -> Result<bool> {
    Ok(store.snapshot()?.open_jobs()?.iter().any(|job| job.requested_at < asked_before))
}

/// The receipt of that id as it stands now; to who does not see all of it without what it names.
pub fn receipt_or_its_state(
    store: &Store,
    principal: &Principal,
    receipt_id: &str,
) -> Result<Option<Receipt>> {
    if let Some(receipt) = receipt(store, principal, receipt_id)? {
        return Ok(Some(receipt));
    }
    let job = store.snapshot()?.job(receipt_id)?;
    Ok(job.map(|job| Receipt::of(store, &receipt::narrowed(job, None), Vec::new())))
}

/// The receipt of that id as it stands now, if it is one in a caller's scope.
pub fn receipt(store: &Store, principal: &Principal, receipt_id: &str) -> Result<Option<Receipt>> {
    let job = store.snapshot()?.job_in(&principal.scope(), receipt_id)?;
    Ok(job.as_ref().map(|job| Receipt::as_it_stands(store, job)))
}
