//! Asks a set's queries in one mode and marks the answers.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use super::report::ModeReport;
use super::set::{Question, Set};
use super::take::Taken;
use super::{Metrics, Options, Step};
use crate::clock::{Clock, ManualClock};
use crate::error::Result;
use crate::gate::secrets;
use crate::memory::Memory;
use crate::namespace::{Namespace, Principal};
use crate::reason::Reason;
use crate::recall::{Hit, Mode, Query, Recalled};
use crate::record::{Record, RecordId, State};

/// How many memories an answer may hold, and how many characters: enough for the deepest figure.
const LIMIT: usize = 20;
pub(super) const CHARACTERS: usize = 1_000_000;

/// A question and the records that answer it; empty: nothing does.
pub(super) struct Judged<'s> {
    pub question: &'s Question,
    pub right: Vec<RecordId>,
    /// Right answers that the gates did not let in: they can't be found.
    pub lost: usize,
}

/// The questions to ask, spread evenly over the set when there are to be fewer.
pub(super) fn questions<'s>(set: &'s Set, taken: &Taken, options: &Options) -> Vec<Judged<'s>> {
    let wanted: Vec<&Question> =
        set.questions.iter().filter(|question| !options.without.contains(&question.category)).collect();
    let step = options.queries.map_or(1, |most| wanted.len().div_ceil(most.max(1)).max(1));
    let judged = |question: &'s Question| {
        let lines = set.judgements.get(&question.id).map_or(&[][..], Vec::as_slice);
        let mut right: Vec<RecordId> =
            lines.iter().filter_map(|line| taken.records.get(line).cloned()).collect();
        let lost = lines.len() - right.len();
        right.sort();
        right.dedup();
        Judged { question, right, lost }
    };
    wanted.into_iter().step_by(step).map(judged).collect()
}

/// What is asked, and who is told how far it is.
pub(super) struct Asking<'a> {
    pub clock: &'a ManualClock,
    pub set: &'a Set,
    pub questions: &'a [Judged<'a>],
    pub progress: &'a mut dyn FnMut(Step, usize, usize),
}

impl Asking<'_> {
    /// Asks every question in one mode; `without` names the part of the score that the memory's policy leaves out.
    pub(super) fn ask(
        &mut self,
        memory: &Memory,
        mode: Mode,
        without: Option<&'static str>,
    ) -> Result<ModeReport> {
        let Asking { clock, set, questions, progress } = self;
        let latest = set.latest();
        let forgotten: HashSet<(&Namespace, &str)> = set
            .lines
            .iter()
            .filter(|line| line.forgotten)
            .map(|line| (&line.namespace, line.candidate.content.as_str()))
            .collect();
        let mut report = ModeReport::new(mode, without);
        let mut marks: BTreeMap<&str, Vec<Metrics>> = BTreeMap::new();
        for (number, judged) in questions.iter().enumerate() {
            let question = judged.question;
            if let Some(at) = question.at.or_else(|| latest.get(&question.namespace).copied()) {
                clock.set(at);
            }
            let principal = Principal::new(question.namespace.clone());
            let query = Query {
                mode,
                limit: Some(LIMIT),
                characters: Some(CHARACTERS),
                ..Query::new(question.text.as_str())
            };
            let started = Instant::now();
            let answer = memory.recall(&principal, &query)?;
            report.latencies.push(started.elapsed());
            // What stands in a wider namespace is rightly seen.
            report.foreign += shown(&answer).filter(|record| !principal.sees(&record.namespace)).count();
            let now = clock.now();
            let is_expired = |record: &Record| record.expires_at.is_some_and(|expires_at| expires_at <= now);
            report.expired += shown(&answer).filter(|record| is_expired(record)).count();
            report.secrets +=
                shown(&answer).filter(|record| secrets::find(&record.content).is_some()).count();
            let is_gone = |record: &&Record| {
                record.state != State::Current
                    || forgotten.contains(&(&record.namespace, record.content.as_str()))
            };
            report.forgotten += shown(&answer).filter(is_gone).count();
            let left_out = |reason: Reason| {
                let named = |(id, why): &&(RecordId, Reason)| *why == reason && judged.right.contains(id);
                answer.left_out.iter().filter(named).count()
            };
            report.folded += left_out(Reason::NearDuplicate);
            report.below_floor += left_out(Reason::BelowFloor);
            if judged.right.len() + judged.lost > 0 {
                let marked = mark(&answer, judged);
                report.each.push((question.id.clone(), marked));
                marks.entry(&question.category).or_default().push(marked);
            } else {
                report.unanswerable += 1;
                report.unanswerable_empty += usize::from(answer.hits.is_empty());
            }
            progress(Step::Ask(mode, without), number + 1, questions.len());
        }
        report.latencies.sort_unstable();
        let by_category = |(category, marks): (&str, Vec<Metrics>)| {
            Some((category.to_owned(), (marks.len(), Metrics::mean(&marks)?)))
        };
        report.categories = marks.into_iter().filter_map(by_category).collect();
        Ok(report)
    }
}

/// Everything that an answer shows.
fn shown(answer: &Recalled) -> impl Iterator<Item = &Record> {
    answer.hits.iter().chain(&answer.standing).map(|hit| &hit.record)
}

fn mark(answer: &Recalled, judged: &Judged<'_>) -> Metrics {
    let is_right = |hit: &Hit| judged.right.binary_search(&hit.record.record_id).is_ok();
    let places: Vec<usize> =
        answer.hits.iter().enumerate().filter(|(_, hit)| is_right(hit)).map(|(place, _)| place).collect();
    let standing = answer.standing.iter().filter(|hit| is_right(hit)).count();
    Metrics::of(&places, standing, judged.right.len() + judged.lost)
}
