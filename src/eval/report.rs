//! What came of an evaluation. Never one blended score; what was not measured is null, not zero.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Difference, Interval, Metrics};
use crate::recall::Mode;

/// What came of one set.
#[derive(Clone, Debug)]
pub struct Report {
    /// The set.
    pub name: String,
    /// How many memories it has.
    pub lines: usize,
    /// How many of them say the same as an earlier one, and share its record.
    pub duplicates: usize,
    /// How many the gates kept out, by reason.
    pub refused: BTreeMap<String, usize>,
    /// How many queries were asked.
    pub queries: usize,
    /// The answers, by mode.
    pub modes: Vec<ModeReport>,
}

/// What came of one set in one mode.
#[derive(Clone, Debug)]
pub struct ModeReport {
    /// The mode, and what part of the score was left out if any was: `hybrid`, `hybrid without recency`.
    pub name: String,
    /// Each query that has a right answer, by its id.
    pub each: Vec<(String, Metrics)>,
    /// The count of such queries and their mean, by category.
    pub categories: BTreeMap<String, (usize, Metrics)>,
    /// How long each recall took, ascending; embedding the query included.
    pub latencies: Vec<Duration>,
    /// Hits from a namespace that the query may not see: neither its own nor a wider one. Anything but 0 is a defect.
    pub foreign: usize,
    /// Hits that were forgotten before, or are not in force: the same.
    pub forgotten: usize,
    /// Hits that had expired when they were asked for: the same.
    pub expired: usize,
    /// Hits that hold a secret: the same.
    pub secrets: usize,
    /// Right answers that were folded into another hit that says nearly the same.
    pub folded: usize,
    /// Right answers that the floor kept out.
    pub below_floor: usize,
    /// Queries without a right answer.
    pub unanswerable: usize,
    /// How many of those were answered with nothing.
    pub unanswerable_empty: usize,
}

impl ModeReport {
    pub(super) fn new(mode: Mode, without: Option<&str>) -> ModeReport {
        let mode = mode.code();
        ModeReport {
            name: without.map_or_else(|| mode.to_owned(), |part| format!("{mode} without {part}")),
            each: Vec::new(),
            categories: BTreeMap::new(),
            latencies: Vec::new(),
            foreign: 0,
            forgotten: 0,
            expired: 0,
            secrets: 0,
            folded: 0,
            below_floor: 0,
            unanswerable: 0,
            unanswerable_empty: 0,
        }
    }

    /// The mean over all queries that have a right answer; none when there is no such query.
    pub fn mean(&self) -> Option<Metrics> {
        let all: Vec<Metrics> = self.each.iter().map(|(_, metrics)| *metrics).collect();
        Metrics::mean(&all)
    }

    /// The latency that so many per cent of the recalls stayed within, in milliseconds.
    pub fn latency_ms(&self, percent: usize) -> Option<f64> {
        let at = self.latencies.len().checked_sub(1)? * percent / 100;
        self.latencies.get(at).map(|latency| latency.as_secs_f64() * 1e3)
    }

    /// Hits that no query may be answered with.
    pub fn wrongly_seen(&self) -> usize {
        self.foreign + self.forgotten + self.expired + self.secrets
    }

    /// Whether a part of the score was left out.
    pub fn is_ablated(&self) -> bool {
        self.name.contains(" without ")
    }

    /// The range that holds a figure with 95 of 100, by its name as in [`Metrics::named`].
    pub fn interval(&self, figure: &str) -> Option<Interval> {
        let value = |metrics: &Metrics| metrics.named().into_iter().find(|(name, _)| *name == figure);
        let values: Option<Vec<f64>> =
            self.each.iter().map(|(_, metrics)| value(metrics).map(|(_, value)| value)).collect();
        Interval::of(&values?)
    }

    fn to_json(&self) -> Value {
        let mut fields = figures(self.mean().as_ref());
        let interval = |(name, _): (&'static str, f64)| {
            let of = self.interval(name);
            (name.to_owned(), json!([rounded(of.map(|of| of.low)), rounded(of.map(|of| of.high))]))
        };
        let intervals: Map<String, Value> = Metrics::default().named().map(interval).into_iter().collect();
        fields.insert("interval".to_owned(), Value::Object(intervals));
        fields.insert(
            "latency_ms".to_owned(),
            json!({ "p50": rounded(self.latency_ms(50)), "p95": rounded(self.latency_ms(95)) }),
        );
        let counts = [
            ("queries", self.each.len()),
            ("outside_namespace", self.foreign),
            ("forgotten", self.forgotten),
            ("expired", self.expired),
            ("secrets", self.secrets),
            ("relevant_folded", self.folded),
            ("relevant_below_floor", self.below_floor),
            ("unanswerable", self.unanswerable),
            ("unanswerable_empty", self.unanswerable_empty),
        ];
        fields.extend(counts.map(|(name, count)| (name.to_owned(), count.into())));
        // So that a later run can be compared query by query, in the order of the figures above.
        let each: Map<String, Value> = self
            .each
            .iter()
            .map(|(query, metrics)| {
                let values = metrics.named().map(|(_, value)| rounded(Some(value)));
                (query.clone(), Value::from(values.to_vec()))
            })
            .collect();
        fields.insert("each".to_owned(), Value::Object(each));
        Value::Object(fields)
    }
}

impl Report {
    /// Hits that no query may be answered with, in all modes: from a namespace that it does not see, forgotten, expired, or
    /// holding a secret.
    pub fn wrongly_seen(&self) -> usize {
        self.modes.iter().map(ModeReport::wrongly_seen).sum()
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let modes: Map<String, Value> =
            self.modes.iter().map(|mode| (mode.name.clone(), mode.to_json())).collect();
        let mut categories: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        for mode in &self.modes {
            for (category, (count, metrics)) in &mode.categories {
                let here = categories.entry(category.clone()).or_default();
                here.insert("queries".to_owned(), (*count).into());
                here.insert(mode.name.clone(), Value::Object(figures(Some(metrics))));
            }
        }
        json!({
            "name": self.name,
            "memories": self.lines,
            "duplicates": self.duplicates,
            "refused": self.refused,
            "queries": self.queries,
            "modes": modes,
            "categories": categories,
            "differences": self.differences().iter().map(Difference::to_json).collect::<Vec<_>>(),
        })
    }
}

fn figures(metrics: Option<&Metrics>) -> Map<String, Value> {
    let named = metrics.copied().unwrap_or_default().named();
    named.map(|(name, value)| (name.to_owned(), rounded(metrics.map(|_| value)))).into_iter().collect()
}

/// To four decimals: more would claim a precision that no set of this size has.
pub(super) fn rounded(value: Option<f64>) -> Value {
    value.map_or(Value::Null, |value| ((value * 1e4).round() / 1e4).into())
}
