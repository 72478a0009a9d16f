//! What do the sources of a file not say any more? Keeps in mind what the file said, and retires the rest
//! of what rests on its sources alone.

use std::collections::HashSet;

use recordari::{Filter, Namespace, Outcome, PageRequest, Record, RecordId, StateFilter};

use super::batch::Batch;
use super::read::Entry;
use super::report::Report;
use crate::cli::Failure;
use crate::cli::open::Session;

/// How many records are looked at in one page.
const PAGE: usize = 1000;
/// What the store's events say about it.
const REASON: &str = "not_in_source";

/// What the file said.
pub struct Seen {
    wanted: bool,
    sources: HashSet<(Namespace, String)>,
    records: HashSet<RecordId>,
    /// Lines that another value stood against; it may be one that the file does not hold any more.
    conflicts: Vec<(u64, Box<Entry>)>,
}

impl Seen {
    /// Keeps in mind what is needed, if it will be.
    pub fn new(wanted: bool) -> Seen {
        Seen { wanted, sources: HashSet::new(), records: HashSet::new(), conflicts: Vec::new() }
    }

    /// A line and what became of it.
    pub fn line(&mut self, number: u64, namespace: &Namespace, entry: Entry, outcome: Option<&Outcome>) {
        if !self.wanted {
            return;
        }
        let own = entry.candidate.source.iter();
        for source in own.chain(entry.evidence.iter().map(|evidence| &evidence.source)) {
            self.sources.insert((namespace.clone(), source.id.clone()));
        }
        match outcome {
            Some(Outcome::Conflict(..)) => self.conflicts.push((number, Box::new(entry))),
            Some(outcome) => {
                self.records.extend(outcome.written().map(|written| written.record_id));
            }
            None => {}
        }
    }

    /// Retires what the sources do not say any more, then tries the lines again that it stood against.
    pub fn retire_the_rest(
        &mut self,
        session: &Session,
        batch: &mut Batch<'_>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        if !self.wanted {
            return Ok(());
        }
        if report.has_invalid() {
            // A line that can't be read may be the very one that holds a memory in force.
            report.not_retired();
            return Ok(());
        }
        let mut sources: Vec<&(Namespace, String)> = self.sources.iter().collect();
        sources.sort_by_key(|(namespace, source)| (namespace.to_string(), source.clone()));
        for (namespace, source) in sources {
            for record in self.left_behind(session, namespace, source)? {
                let elsewhere = record
                    .evidence
                    .iter()
                    .any(|evidence| !self.sources.contains(&(namespace.clone(), evidence.source.id.clone())));
                if elsewhere {
                    report.kept(&record);
                } else if session.memory.retire(&session.principal, &record.record_id, REASON)? {
                    report.retired(&record);
                }
            }
        }
        for (number, entry) in std::mem::take(&mut self.conflicts) {
            report.again(number);
            batch.take(number, entry, report, &mut Seen::new(false))?;
        }
        batch.flush(report, &mut Seen::new(false))
    }

    /// The records in force of a source in a namespace that the file did not hold.
    fn left_behind(
        &self,
        session: &Session,
        namespace: &Namespace,
        source: &str,
    ) -> Result<Vec<Record>, Failure> {
        let (mut left, mut cursor) = (Vec::new(), None);
        loop {
            let request = PageRequest { limit: PAGE, cursor };
            let filter = Filter::Source(source.to_owned());
            let page = session.memory.list(&session.principal, &filter, &StateFilter::Current, &request)?;
            left.extend(page.records.into_iter().filter(|record| {
                record.namespace == *namespace && !self.records.contains(&record.record_id)
            }));
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(left);
            }
        }
    }
}
