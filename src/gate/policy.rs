//! The policy: thresholds, lists and weights as data, with the defaults in `policy.toml`.
//! Knows how to read and check it, not where it lies.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::text::clip;

/// How much of a line is shown when something is wrong with it.
const LINE_CHARACTERS: usize = 200;

/// The defaults, with a comment on each.
pub const DEFAULT_TOML: &str = include_str!("policy.toml");

/// What may be kept, and how recall weighs what it finds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Thresholds and lists of the gates.
    pub gates: Gates,
    /// Weights and bounds of recall.
    pub recall: RecallPolicy,
    /// What is expected of deletions.
    pub forget: ForgetPolicy,
    /// How long traces are kept.
    pub traces: Traces,
}

/// Thresholds and lists of the gates; each is explained in `policy.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "policy.toml explains each, and a test keeps the two alike")]
pub struct Gates {
    pub minimum_confidence: f64,
    pub review_tool_observed: bool,
    pub review_inferred_procedures: bool,
    pub never_inferred: Vec<String>,
    pub session_hours: u32,
    pub small_talk: Vec<String>,
}

/// Weights and bounds of recall; each is explained in `policy.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "policy.toml explains each, and a test keeps the two alike")]
pub struct RecallPolicy {
    pub limit: usize,
    pub characters: usize,
    pub floor: f64,
    pub candidates: usize,
    pub graph_from: usize,
    pub graph_breadth: usize,
    pub centring: f64,
    pub near_duplicate: f64,
    pub kind_share: f64,
    pub standing: usize,
    pub standing_share: f64,
    pub weights: Weights,
    pub half_life_days: HalfLife,
}

/// The most that each part of a score can contribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "policy.toml explains each, and a test keeps the two alike")]
pub struct Weights {
    pub semantic: f64,
    pub keyword: f64,
    pub subject: f64,
    pub authority: f64,
    pub recency: f64,
    pub confidence: f64,
    pub importance: f64,
    pub neighbours: f64,
    pub session: f64,
    pub speaker: f64,
    pub statement: f64,
    pub role: f64,
    pub date: f64,
    pub rule: f64,
}

impl Weights {
    /// The names of the parts of a score, in their order.
    pub fn names() -> [&'static str; 14] {
        Weights::of([0.0; 14]).named_mut().map(|(name, _)| name)
    }

    /// The weights in the order of the names.
    pub fn values(&self) -> [f64; 14] {
        let mut weights = *self;
        weights.named_mut().map(|(_, weight)| *weight)
    }

    /// Of values in the order of the names.
    pub fn of(values: [f64; 14]) -> Weights {
        let mut weights = Weights::default();
        weights.named_mut().into_iter().zip(values).for_each(|((_, weight), value)| *weight = value);
        weights
    }

    /// Each with the name of its part of the score.
    pub fn named_mut(&mut self) -> [(&'static str, &mut f64); 14] {
        [
            ("semantic", &mut self.semantic),
            ("keyword", &mut self.keyword),
            ("subject", &mut self.subject),
            ("authority", &mut self.authority),
            ("recency", &mut self.recency),
            ("confidence", &mut self.confidence),
            ("importance", &mut self.importance),
            ("neighbours", &mut self.neighbours),
            ("session", &mut self.session),
            ("speaker", &mut self.speaker),
            ("statement", &mut self.statement),
            ("role", &mut self.role),
            ("date", &mut self.date),
            ("rule", &mut self.rule),
        ]
    }
}

/// Days after which the recency part has halved, per kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "policy.toml explains each, and a test keeps the two alike")]
pub struct HalfLife {
    pub semantic: f64,
    pub episodic: f64,
    pub procedural: f64,
}

/// What is expected of deletions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "policy.toml explains each, and a test keeps the two alike")]
pub struct ForgetPolicy {
    pub deadline_minutes: u32,
}

/// How long traces are kept, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "policy.toml explains each, and a test keeps the two alike")]
pub struct Traces {
    pub keep_days: u32,
    pub keep_at_most: u32,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::parse("").expect("the defaults are a valid policy; a test holds that")
    }
}

impl Policy {
    /// Reads a policy file: what it leaves out keeps its default.
    ///
    /// # Errors
    /// `Policy`, with the line and what is wrong there, for anything unknown, missing or out of range.
    pub fn parse(text: &str) -> Result<Policy> {
        // Once alone, so that a syntax error is reported with the file's own line.
        let changes: toml::Table = text.parse().map_err(wrong)?;
        let mut merged: toml::Table =
            DEFAULT_TOML.parse().expect("the defaults are valid TOML; a test holds that");
        overlay(&mut merged, changes);
        let policy: Policy = merged.try_into().map_err(wrong)?;
        policy.check()?;
        Ok(policy)
    }

    /// The whole policy as TOML, every default written out.
    pub fn to_toml(&self) -> String {
        if *self == Policy::default() {
            return DEFAULT_TOML.to_owned();
        }
        toml::to_string_pretty(self).expect("a policy is plain tables, numbers and lists")
    }

    /// A short digest of the policy, for traces: which policy was in force.
    pub fn version(&self) -> String {
        blake3::hash(self.to_toml().as_bytes()).to_hex()[..12].to_owned()
    }

    fn check(&self) -> Result<()> {
        let recall = &self.recall;
        let mut weights = recall.weights;
        let all = weights.named_mut().map(|(_, weight)| *weight);
        let days = &recall.half_life_days;
        let rules = [
            ("gates.minimum_confidence must lie between 0 and 1", fraction(self.gates.minimum_confidence)),
            (
                "gates.session_hours must lie between 1 and 8760",
                (1..=8760).contains(&self.gates.session_hours),
            ),
            ("recall.limit must lie between 1 and 1000", (1..=1000).contains(&recall.limit)),
            (
                "recall.characters must lie between 100 and 1000000",
                (100..=1_000_000).contains(&recall.characters),
            ),
            ("recall.floor must lie between 0 and 1", fraction(recall.floor)),
            ("recall.candidates must lie between 10 and 10000", (10..=10_000).contains(&recall.candidates)),
            (
                "recall.graph_from must be 0, or lie between 100 and 100000000",
                recall.graph_from == 0 || (100..=100_000_000).contains(&recall.graph_from),
            ),
            (
                "recall.graph_from must be 0: this program was built without graphs (cargo feature graph)",
                recall.graph_from == 0 || cfg!(feature = "graph"),
            ),
            (
                "recall.graph_breadth must lie between 16 and 10000",
                (16..=10_000).contains(&recall.graph_breadth),
            ),
            ("recall.centring must lie between 0 and 1", fraction(recall.centring)),
            ("recall.near_duplicate must lie between 0 and 1", fraction(recall.near_duplicate)),
            ("recall.kind_share must lie between 0 and 1", fraction(recall.kind_share)),
            ("recall.standing must lie between 0 and 100", recall.standing <= 100),
            ("recall.standing_share must lie between 0 and 1", fraction(recall.standing_share)),
            ("recall.weights must each lie between 0 and 1", all.iter().all(|weight| fraction(*weight))),
            ("recall.weights must sum to 1", (all.iter().sum::<f64>() - 1.0).abs() < 1e-6),
            (
                "recall.half_life_days must each be more than 0",
                [days.semantic, days.episodic, days.procedural]
                    .iter()
                    .all(|days| *days > 0.0 && days.is_finite()),
            ),
            (
                "forget.deadline_minutes must lie between 1 and 525600",
                (1..=525_600).contains(&self.forget.deadline_minutes),
            ),
            ("traces.keep_days must lie between 0 and 3650", self.traces.keep_days <= 3650),
            ("traces.keep_at_most must lie between 0 and 1000000", self.traces.keep_at_most <= 1_000_000),
        ];
        match rules.iter().find(|(_, holds)| !holds) {
            Some((rule, _)) => Err(Error::Policy((*rule).to_owned())),
            None => Ok(()),
        }
    }
}

/// What is wrong with the file. It shows the line, of which the beginning is enough.
fn wrong(error: toml::de::Error) -> Error {
    let shown = error.to_string();
    let lines: Vec<_> = shown.lines().map(|line| clip(line, LINE_CHARACTERS)).collect();
    Error::Policy(lines.join("\n"))
}

fn fraction(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

fn overlay(base: &mut toml::Table, changes: toml::Table) {
    for (key, change) in changes {
        match (base.get_mut(&key), change) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(change)) => overlay(inner, change),
            (_, change) => drop(base.insert(key, change)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_written_out() {
        assert_eq!(Policy::default().to_toml(), DEFAULT_TOML);
        let changed = Policy::parse("[recall]\nlimit = 9").unwrap();
        assert_eq!(changed.recall.limit, 9);
        assert_eq!(Policy::parse(&changed.to_toml()).unwrap(), changed);
        assert_ne!(changed.version(), Policy::default().version());
    }

    #[test]
    fn a_graph_is_asked_for_only_of_a_program_that_has_them() {
        let asked = Policy::parse("[recall]\ngraph_from = 50_000");
        match cfg!(feature = "graph") {
            true => assert_eq!(asked.unwrap().recall.graph_from, 50_000),
            false => assert!(asked.unwrap_err().to_string().contains("built without graphs")),
        }
    }

    #[test]
    fn a_malformed_policy_says_what_is_wrong() {
        let refused = |text: &str| Policy::parse(text).unwrap_err().to_string();
        assert!(refused("[gates\n").contains("line 1"), "{}", refused("[gates\n"));
        assert!(refused("[gates]\nminimun_confidence = 0.5").contains("minimun_confidence"));
        assert!(refused("[gates]\nminimum_confidence = 7").contains("gates.minimum_confidence"));
        assert!(refused("[recall.weights]\nsemantic = 0.9").contains("sum to 1"));
        assert!(refused("[recall]\nlimit = \"many\"").contains("limit"));
        let long = format!("[gates]\n{} = 1", "k".repeat(50_000));
        assert!(refused(&long).contains("kkk…") && refused(&long).len() < 1500, "{}", refused(&long));
        assert!(refused("[recall]\ngraph_from = 7").contains("recall.graph_from must be 0, or"));
        assert!(refused("[recall]\ngraph_breadth = 15").contains("recall.graph_breadth must lie between"));
    }
}
