//! Which weights find most? Asks every question once, keeps what each part of the score says of each candidate, and looks for
//! the weights by which the candidates come into the best order.
//!
//! The search is coordinate ascent: one weight after the other is made larger and smaller by fixed factors, all are brought back
//! to a sum of 1, and what raises the figure is kept, until nothing does. It is deterministic. It does not see what depends on weights in other
//! ways (how `neighbours` and `session` are measured, what is folded), so what it finds is to be measured by a whole run.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::ask::Judged;
use super::set::Set;
use super::{Metrics, Options, Step};
use crate::clock::ManualClock;
use crate::error::{Error, Result};
use crate::gate::Policy;
use crate::gate::policy::Weights;
use crate::memory::Memory;
use crate::namespace::Principal;
use crate::recall::{Mode, Query};

/// How many candidates of each question are kept.
const CANDIDATES: usize = 100;
/// By which a weight is multiplied.
const FACTORS: [f64; 6] = [0.0, 0.5, 0.8, 1.25, 2.0, 4.0];
/// What a weight of nothing is tried with.
const FROM_NOTHING: f64 = 0.02;
/// What is gained by less is taken for chance.
const GAIN_MIN: f64 = 0.0005;
/// How often all weights are gone through at most.
const ROUNDS_MAX: usize = 12;
/// How many parts a score has.
const PARTS: usize = 14;

type Values = [f64; PARTS];

/// The questions of a set, each with its candidates.
pub struct Sheet {
    /// The set.
    pub name: String,
    /// A digest of its three files, in hexadecimal.
    pub digest: String,
    questions: Vec<Sheeted>,
}

/// A question: how many right answers it has, and of each candidate what its parts say and whether it is right.
struct Sheeted {
    right: usize,
    candidates: Vec<(Values, bool)>,
}

/// What tuning came to.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The weights; to thousandths, they sum to 1.
    pub weights: Weights,
    /// Of each set that was tuned on: its figure before, after, and with weights tuned on all the others.
    pub sets: Vec<(String, f64, f64, f64)>,
    /// Of each set that was only checked: its figure before and after.
    pub checked: Vec<(String, f64, f64)>,
}

impl Sheet {
    /// Takes a set in and asks its questions by everything.
    ///
    /// # Errors
    /// As [`super::run`].
    pub fn of(
        folder: &Path,
        options: &Options,
        progress: &mut dyn FnMut(Step, usize, usize),
    ) -> Result<Sheet> {
        // Whatever matches is a candidate.
        let mut policy = options.policy.clone();
        policy.recall.floor = 0.0;
        let set = Set::read(folder)?;
        let clock = Arc::new(ManualClock::at(set.end()?));
        let memory = super::opened(options, &policy, &clock)?;
        let taken = super::take::take(&memory, &set, progress)?;
        let (all, latest) = (super::ask::questions(&set, &taken, options), set.latest());
        let mut questions = Vec::new();
        for (number, judged) in all.iter().enumerate() {
            let question = judged.question;
            if let Some(at) = question.at.or_else(|| latest.get(&question.namespace).copied()) {
                clock.set(at);
            }
            questions.extend(asked(&memory, judged)?);
            progress(Step::Ask(Mode::Hybrid, None), number + 1, all.len());
        }
        Ok(Sheet { name: set.name.clone(), digest: digest(folder)?, questions })
    }

    /// How many questions it has that have a right answer.
    pub fn questions(&self) -> usize {
        self.questions.len()
    }

    /// The mean of a figure, by its name as in [`Metrics::named`], in the order that weights give.
    fn figure(&self, weights: &Values, name: &str) -> f64 {
        let each: Vec<Metrics> = self.questions.par_iter().map(|question| question.ranked(weights)).collect();
        let mean = Metrics::mean(&each).unwrap_or_default();
        mean.named().into_iter().find(|(named, _)| *named == name).map_or(0.0, |(_, value)| value)
    }
}

fn asked(memory: &Memory, judged: &Judged<'_>) -> Result<Option<Sheeted>> {
    let right = judged.right.len() + judged.lost;
    if right == 0 {
        return Ok(None);
    }
    let query = Query {
        limit: Some(CANDIDATES),
        characters: Some(super::ask::CHARACTERS),
        ..Query::new(judged.question.text.as_str())
    };
    let answer = memory.recall(&Principal::new(judged.question.namespace.clone()), &query)?;
    let mut candidates = Vec::with_capacity(answer.hits.len());
    for hit in &answer.hits {
        let mut values = Values::default();
        for (name, value) in Weights::names().into_iter().zip(&mut values) {
            *value = hit.parts.iter().find(|part| part.name == name).map_or(0.0, |part| part.value);
        }
        candidates.push((values, judged.right.binary_search(&hit.record.record_id).is_ok()));
    }
    Ok(Some(Sheeted { right, candidates }))
}

impl Sheeted {
    fn ranked(&self, weights: &Values) -> Metrics {
        let score =
            |values: &Values| values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>();
        let mut order: Vec<(f64, bool)> =
            self.candidates.iter().map(|(values, right)| (score(values), *right)).collect();
        // Of equal ones the one that came first comes first.
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let places: Vec<usize> =
            (0..).zip(&order).filter(|(_, (_, right))| *right).map(|(place, _)| place).collect();
        Metrics::of(&places, 0, self.right)
    }
}

/// Looks for the weights by which a figure, by its name as in [`Metrics::named`], is highest in the mean over sets.
///
/// # Errors
/// `Invalid` when there is no such figure or nothing to tune on.
pub fn tune(sheets: &[Sheet], checks: &[Sheet], start: &Policy, figure: &str) -> Result<Tuned> {
    if !Metrics::default().named().iter().any(|(name, _)| *name == figure) {
        let names = Metrics::default().named().map(|(name, _)| name).join(", ");
        return Err(Error::invalid("figure", format!("must be one of {names}")));
    }
    if let Some(sheet) = sheets.iter().chain(checks).find(|sheet| sheet.questions.is_empty()) {
        return Err(Error::invalid(
            "set",
            format!("must have a question with a right answer: {} has none", sheet.name),
        ));
    }
    if sheets.is_empty() {
        return Err(Error::invalid("sets", "must be named: there is nothing to tune on"));
    }
    let before = start.recall.weights.values();
    let all: Vec<&Sheet> = sheets.iter().collect();
    let after = rounded(climb(&all, before, figure));
    let of_set = |(left_out, sheet): (usize, &&Sheet)| {
        let others: Vec<&Sheet> = all
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != left_out)
            .map(|(_, sheet)| *sheet)
            .collect();
        let without = if others.is_empty() { before } else { rounded(climb(&others, before, figure)) };
        let [one, two, three] = [&before, &after, &without].map(|weights| sheet.figure(weights, figure));
        (sheet.name.clone(), one, two, three)
    };
    let check =
        |sheet: &Sheet| (sheet.name.clone(), sheet.figure(&before, figure), sheet.figure(&after, figure));
    Ok(Tuned {
        weights: Weights::of(after),
        sets: all.iter().enumerate().map(of_set).collect(),
        checked: checks.iter().map(check).collect(),
    })
}

fn climb(sheets: &[&Sheet], start: Values, figure: &str) -> Values {
    let mean = |weights: &Values| {
        sheets.iter().map(|sheet| sheet.figure(weights, figure)).sum::<f64>() / sheets.len() as f64
    };
    let (mut best, mut reached) = (start, mean(&start));
    for _ in 0..ROUNDS_MAX {
        let before = reached;
        for part in 0..PARTS {
            let tries: Vec<Values> = FACTORS
                .iter()
                .filter_map(|factor| {
                    let mut weights = best;
                    weights[part] = if best[part] > 0.0 { best[part] * factor } else { FROM_NOTHING };
                    let sum: f64 = weights.iter().sum();
                    (sum > 0.0).then(|| weights.map(|weight| weight / sum))
                })
                .collect();
            for weights in tries {
                let figure = mean(&weights);
                if figure > reached + GAIN_MIN {
                    (best, reached) = (weights, figure);
                }
            }
        }
        if reached <= before {
            break;
        }
    }
    best
}

/// To thousandths; the largest takes what that leaves of 1.
fn rounded(weights: Values) -> Values {
    let mut thousandths = weights.map(|weight| (weight * 1000.0).round() as i64);
    let rest = 1000 - thousandths.iter().sum::<i64>();
    if let Some(most) = thousandths.iter_mut().max() {
        *most += rest;
    }
    thousandths.map(|weight| weight as f64 / 1000.0)
}

fn digest(folder: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    for name in ["corpus.jsonl", "queries.jsonl", "qrels.tsv"] {
        let path = folder.join(name);
        hasher.update(&std::fs::read(&path).map_err(Error::io(&path))?);
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question whose right candidate is told by one part, and misled by another.
    fn sheet(telling: usize, misleading: usize) -> Sheet {
        let question = |number: usize| {
            let candidate = |place: usize| {
                let mut values = [0.1; PARTS];
                values[telling] = if place == 15 { 0.9 } else { 0.1 };
                values[misleading] = 0.5 + ((place * 7 + number) % 20) as f64 / 40.0;
                (values, place == 15)
            };
            Sheeted { right: 1, candidates: (0..20).map(candidate).collect() }
        };
        Sheet { name: "told".to_owned(), digest: String::new(), questions: (0..30).map(question).collect() }
    }

    #[test]
    fn the_part_that_tells_gains_weight_and_the_sum_stays_one() {
        let mut start = Policy::default();
        start.recall.weights = Weights::of({
            let mut weights = [0.0; PARTS];
            (weights[3], weights[5]) = (0.05, 0.95);
            weights
        });
        let sheets = [sheet(3, 5), sheet(3, 6)];
        let tuned = tune(&sheets, &[sheet(3, 5)], &start, "mrr@10").unwrap();
        let weights = tuned.weights.values();
        assert!(weights[3] > 0.1 && weights[3] > start.recall.weights.values()[3], "{weights:?}");
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        for (_, before, after, _) in &tuned.sets {
            assert!(after >= before);
        }
        assert!(tuned.sets[0].1 < 0.5 && tuned.sets[0].2 > 0.9, "{:?}", tuned.sets);
        assert_eq!((tuned.checked[0].1, tuned.checked[0].2), (tuned.sets[0].1, tuned.sets[0].2));
        // The same again is the same.
        assert_eq!(tune(&sheets, &[], &start, "mrr@10").unwrap().weights, tuned.weights);
    }

    #[test]
    fn what_can_not_be_tuned_is_told() {
        let policy = Policy::default();
        assert!(
            tune(&[sheet(1, 2)], &[], &policy, "recall@7").unwrap_err().to_string().contains("recall@10")
        );
        assert!(tune(&[], &[], &policy, "recall@10").is_err());
    }
}
