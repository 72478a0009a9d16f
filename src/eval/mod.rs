//! How well is a memory recalled? Puts an evaluation set through the product, the way in and the way out,
//! and measures what comes back. It decides nothing and ranks nothing itself.
//!
//! A set is a folder of three files: `corpus.jsonl` (one memory a line: `id`, `namespace`, `text`,
//! `timestamp`, `speaker`, `session`, `seq`, `source`), `queries.jsonl` (`id`, `namespace`, `text`,
//! `category`, `timestamp`) and `qrels.tsv` (query id, corpus id, relevance).

mod ask;
mod compare;
mod interval;
mod metrics;
mod report;
mod set;
mod table;
mod take;
mod tune;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::ManualClock;
use crate::embed::Embedder;
use crate::error::Result;
use crate::gate::Policy;
use crate::memory::{self, Memory};
use crate::recall::Mode;

pub use compare::Difference;
pub use interval::Interval;
pub use metrics::Metrics;
pub use report::{ModeReport, Report};
pub use tune::{Sheet, Tuned, tune};

/// What may be kept during an evaluation: everything but secrets. The gates are there to keep chatter
/// out, and the sets consist of it.
pub const EVALUATION_POLICY: &str = "
[gates]
minimum_confidence = 0
review_tool_observed = false
review_inferred_procedures = false
never_inferred = []
small_talk = []
";

/// How to evaluate.
pub struct Options {
    /// The folder that the store is built in. One that holds this set from an earlier run is used as it
    /// is: remembering the same once more changes nothing.
    pub store: PathBuf,
    /// The model; none: by keyword alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// How recall weighs. Its gates are replaced by [`EVALUATION_POLICY`]'s.
    pub policy: Policy,
    /// The modes to ask in.
    pub modes: Vec<Mode>,
    /// Whether to ask again by everything but one, for each part of the score that the policy gives a weight.
    pub ablate: bool,
    /// Categories that are not asked.
    pub without: Vec<String>,
    /// How many queries to ask at most, spread over the set; none: all.
    pub queries: Option<usize>,
}

impl Options {
    /// Every mode and every query, the default policy, no model.
    pub fn new(store: impl Into<PathBuf>) -> Options {
        Options {
            store: store.into(),
            embedder: None,
            policy: Policy::default(),
            modes: vec![Mode::Keyword, Mode::Vector, Mode::Hybrid],
            ablate: false,
            without: Vec::new(),
            queries: None,
        }
    }
}

/// What an evaluation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Remembering the set's lines.
    Remember,
    /// Asking its queries in a mode, all parts of the score included or but for one.
    Ask(Mode, Option<&'static str>),
}

/// Evaluates one set. `progress` is told the step, and how many of how many.
///
/// # Errors
/// `Io` and `Invalid` when the set can't be read; otherwise what the memory says.
pub fn run(folder: &Path, options: &Options, progress: &mut dyn FnMut(Step, usize, usize)) -> Result<Report> {
    let set = set::Set::read(folder)?;
    let clock = Arc::new(ManualClock::at(set.end()?));
    let opened = |policy: &Policy| opened(options, policy, &clock);
    let memory = opened(&options.policy)?;
    let taken = take::take(&memory, &set, progress)?;
    let questions = ask::questions(&set, &taken, options);
    let mut asking = ask::Asking { clock: &clock, set: &set, questions: &questions, progress };
    let mut modes = Vec::new();
    for mode in &options.modes {
        modes.push(asking.ask(&memory, *mode, None)?);
    }
    drop(memory);
    if options.ablate {
        for (part, policy) in without_each_part(&options.policy) {
            modes.push(asking.ask(&opened(&policy)?, Mode::Hybrid, Some(part))?);
        }
    }
    Ok(Report {
        name: set.name.clone(),
        lines: set.lines.len(),
        duplicates: taken.duplicates,
        refused: taken.refused,
        queries: questions.len(),
        modes,
    })
}

fn opened(options: &Options, policy: &Policy, clock: &Arc<ManualClock>) -> Result<Memory> {
    let gates = Policy::parse(EVALUATION_POLICY)?.gates;
    let (memory, _) = Memory::open(memory::Options {
        embedder: options.embedder.clone(),
        policy: Ok(Policy { gates, ..policy.clone() }),
        clock: clock.clone(),
        background: false,
        ..memory::Options::new(&options.store)
    })?;
    Ok(memory)
}

/// The policy without each part of the score that it gives a weight, by the name of the part.
fn without_each_part(policy: &Policy) -> Vec<(&'static str, Policy)> {
    let names: Vec<&'static str> = policy.recall.weights.clone().named_mut().map(|(name, _)| name).into();
    let without = |name: &'static str| {
        let mut policy = policy.clone();
        let mut weights = policy.recall.weights.named_mut();
        let weight = weights.iter_mut().find(|(other, _)| *other == name).map(|(_, weight)| &mut **weight)?;
        (std::mem::take(weight) > 0.0).then_some(())?;
        Some((name, policy))
    };
    names.into_iter().filter_map(without).collect()
}

#[cfg(test)]
mod tests;
