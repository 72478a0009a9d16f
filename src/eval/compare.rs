//! How much better or worse is one recall than another, query by query?

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::interval::Interval;
use super::metrics::{FIGURES, Metrics};
use super::report::{Report, rounded};
use crate::error::{Error, Result};

/// One mode compared with another, over the queries that both were asked and that have a right answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The set.
    pub set: String,
    /// What is compared.
    pub mode: String,
    /// With what.
    pub with: String,
    /// Over how many queries.
    pub queries: usize,
    /// By how much each figure is higher.
    pub figures: [(&'static str, Interval); FIGURES],
}

impl Difference {
    fn of(set: &str, names: (&str, &str), pairs: &[(Figures, Figures)]) -> Option<Difference> {
        let named = Metrics::default().named();
        let mut figures = Vec::with_capacity(FIGURES);
        for (at, (name, _)) in named.into_iter().enumerate() {
            let values: Vec<f64> = pairs.iter().map(|(one, other)| one[at] - other[at]).collect();
            figures.push((name, Interval::of(&values)?));
        }
        Some(Difference {
            set: set.to_owned(),
            mode: names.0.to_owned(),
            with: names.1.to_owned(),
            queries: pairs.len(),
            figures: figures.try_into().ok()?,
        })
    }

    /// A figure by its name.
    pub fn figure(&self, name: &str) -> Option<Interval> {
        self.figures.iter().find(|(figure, _)| *figure == name).map(|(_, interval)| *interval)
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let figures: Map<String, Value> = self
            .figures
            .iter()
            .map(|(name, of)| {
                let [mean, low, high] = [of.mean, of.low, of.high].map(|value| rounded(Some(value)));
                ((*name).to_owned(), json!({ "mean": mean, "low": low, "high": high }))
            })
            .collect();
        json!({
            "set": self.set,
            "mode": self.mode,
            "with": self.with,
            "queries": self.queries,
            "figures": figures,
        })
    }
}

type Figures = [f64; FIGURES];

fn figures(metrics: &Metrics) -> Figures {
    metrics.named().map(|(_, value)| value)
}

/// The figures of a saved report, which may be of a version that had one less.
fn all_of(values: &[f64]) -> Option<Figures> {
    let recall_10 = values.get(1).copied()?;
    let values = [values, &[recall_10]].concat();
    values.get(..FIGURES)?.try_into().ok()
}

impl Report {
    /// The first recall by everything compared with each other one of this report: by less, or with a part left out.
    pub fn differences(&self) -> Vec<Difference> {
        let Some(whole) = self.modes.iter().find(|mode| mode.name == "hybrid") else { return Vec::new() };
        let others = self.modes.iter().filter(|mode| mode.name != whole.name);
        let against = |other: &super::ModeReport| {
            let pairs: Vec<_> = whole
                .each
                .iter()
                .zip(&other.each)
                .map(|((_, one), (_, other))| (figures(one), figures(other)))
                .collect();
            Difference::of(&self.name, (&whole.name, &other.name), &pairs)
        };
        others.filter_map(against).collect()
    }

    /// Each mode compared with what a saved report says of the same set and mode. Sets and modes that it lacks are left out.
    ///
    /// # Errors
    /// `Invalid` when the report is none.
    pub fn since(&self, saved: &Value) -> Result<Vec<Difference>> {
        let wrong = || Error::invalid("against", "must be a report as eval --json printed it");
        let sets = saved["sets"].as_array().ok_or_else(wrong)?;
        let Some(set) = sets.iter().find(|set| set["name"] == self.name.as_str()) else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        for mode in &self.modes {
            let Some(before) = set["modes"].get(&mode.name) else { continue };
            let each = before["each"].as_object().ok_or_else(wrong)?;
            let before: HashMap<&str, Figures> = each
                .iter()
                .map(|(query, values)| {
                    let values: Option<Vec<f64>> =
                        values.as_array().and_then(|values| values.iter().map(Value::as_f64).collect());
                    Ok((query.as_str(), values.and_then(|values| all_of(&values)).ok_or_else(wrong)?))
                })
                .collect::<Result<_>>()?;
            let pairs: Vec<_> = mode
                .each
                .iter()
                .filter_map(|(query, now)| Some((figures(now), *before.get(query.as_str())?)))
                .collect();
            all.extend(Difference::of(&self.name, (&mode.name, "before"), &pairs));
        }
        Ok(all)
    }
}
