//! Hands the candidates over, many in one durable transaction, and sorts out which outcome is whose.

use std::collections::HashMap;

use recordari::{Candidate, Namespace, Outcome, Principal, RecordId, Result};

use super::complete::Seen;
use super::read::Entry;
use super::report::Report;
use crate::cli::Failure;
use crate::cli::open::Session;

/// How many lines share a transaction: many enough that the disk does not decide the speed, few enough
/// that Ctrl-C is answered soon.
const LINES: usize = 128;

/// What waits to be written, and what is known of what was.
pub struct Batch<'s> {
    session: &'s Session,
    /// Where lines go that name no namespace.
    place: Option<Namespace>,
    /// An export says of each line where it was learned; everything else was learned by the caller.
    is_export: bool,
    dry_run: bool,
    /// A rehearsal is one transaction over everything, or it would not see what the file says twice.
    lines: usize,
    waiting: Vec<Waiting>,
    principal: Principal,
    /// Which record an exported one became here.
    became: HashMap<String, RecordId>,
}

struct Waiting {
    number: u64,
    entry: Entry,
}

impl<'s> Batch<'s> {
    /// An empty batch.
    pub fn new(session: &'s Session, place: Option<Namespace>, is_export: bool, dry_run: bool) -> Batch<'s> {
        let principal = session.principal.clone();
        let lines = if dry_run { usize::MAX } else { LINES };
        Batch {
            session,
            place,
            is_export,
            dry_run,
            lines,
            waiting: Vec::new(),
            principal,
            became: HashMap::new(),
        }
    }

    /// Takes a line in; writes when there are enough.
    pub fn take(
        &mut self,
        number: u64,
        mut entry: Box<Entry>,
        report: &mut Report,
        seen: &mut Seen,
    ) -> std::result::Result<(), Failure> {
        if entry.candidate.namespace.is_none() {
            entry.candidate.namespace.clone_from(&self.place);
        }
        let principal = self.asker(&entry.candidate);
        if principal != self.principal
            || self.rests_on_waiting(&entry.candidate)
            || self.waiting.len() >= self.lines
        {
            self.flush(report, seen)?;
            self.principal = principal;
        }
        for id in &mut entry.candidate.derived_from {
            if let Some(new) = self.became.get(id.as_str()) {
                id.clone_from(new);
            }
        }
        self.waiting.push(Waiting { number, entry: *entry });
        Ok(())
    }

    /// Writes what waits.
    pub fn flush(&mut self, report: &mut Report, seen: &mut Seen) -> std::result::Result<(), Failure> {
        let waiting = std::mem::take(&mut self.waiting);
        let candidates: Vec<Candidate> = waiting.iter().flat_map(|line| expanded(&line.entry)).collect();
        if candidates.is_empty() {
            return Ok(());
        }
        let mut outcomes = self.write(&candidates)?.into_iter();
        for Waiting { number, entry } in waiting {
            let mut whole = outcomes.next().unwrap_or(Ok(Outcome::Review(recordari::Reason::NotFound, None)));
            if let (Ok(outcome), Some(old)) = (&whole, &entry.old_id)
                && let Some(written) = outcome.written()
            {
                self.became.insert(old.clone(), written.record_id);
            }
            let own = whole.as_ref().ok().cloned();
            for further in outcomes.by_ref().take(entry.evidence.len()) {
                // A line counts as taken when all of it was.
                let taken =
                    further.as_ref().is_ok_and(|outcome| crate::wire::outcome_exit_code(outcome) == 0);
                if !taken && whole.as_ref().is_ok_and(|outcome| crate::wire::outcome_exit_code(outcome) == 0)
                {
                    whole = further;
                }
            }
            let namespace = entry.candidate.namespace.clone().unwrap_or(self.principal.namespace.clone());
            seen.line(number, &namespace, entry, own.as_ref());
            match &whole {
                Ok(outcome) => report.outcome(number, outcome)?,
                Err(error) => report.invalid(number, &error.to_string())?,
            }
        }
        Ok(())
    }

    fn write(&self, candidates: &[Candidate]) -> Result<Vec<Result<Outcome>>> {
        let memory = &self.session.memory;
        match self.dry_run {
            true => memory.judge_all(&self.principal, candidates),
            false => memory.remember_all(&self.principal, candidates),
        }
    }

    /// Who says this line. One that lies outside the caller's scope is the caller's, and is refused.
    fn asker(&self, candidate: &Candidate) -> Principal {
        let caller = &self.session.principal;
        match &candidate.namespace {
            Some(namespace) if self.is_export && caller.sees(namespace) => {
                Principal { namespace: namespace.clone(), ..caller.clone() }
            }
            _ => caller.clone(),
        }
    }

    fn rests_on_waiting(&self, candidate: &Candidate) -> bool {
        let waits =
            |id: &RecordId| self.waiting.iter().any(|line| line.entry.old_id.as_deref() == Some(id.as_str()));
        candidate.derived_from.iter().any(waits)
    }
}

/// A line as candidates: its own, and one for every further source that says the same.
fn expanded(entry: &Entry) -> Vec<Candidate> {
    let own = entry.candidate.clone();
    let further = entry.evidence.iter().map(|evidence| Candidate {
        source: Some(evidence.source.clone()),
        observed_at: Some(evidence.observed_at),
        authority: evidence.authority,
        ..own.clone()
    });
    std::iter::once(own.clone()).chain(further).collect()
}
