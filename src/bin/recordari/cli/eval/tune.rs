//! `recordari eval tune`: which weights find most? Reads arguments, prints, and writes the policy file; the library looks.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use recordari::eval::{self, Sheet, Tuned};
use recordari::{Embedder, Policy};
use serde_json::json;

use super::{Common, Failure, Out, Stores, bar, policy, show};
use crate::lazy::Lazy;
use crate::settings::Settings;

#[derive(Args)]
#[command(
    after_help = "Begins with the weights of the policy in force (--policy FILE, or the defaults). Besides what was reached on\neach set it says what weights tuned on all the others reach there: where that is less than before, the gain\nwas luck. The weights are written as a policy file, with what they were chosen by.\n\nExample:\n  recordari eval tune sets/mine sets/yours --check sets/theirs --write tuned.toml"
)]
pub struct Arguments {
    /// Folders of evaluation sets to tune on
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// A set that is only measured, before and after; may be repeated
    #[arg(long, value_name = "FOLDER")]
    check: Vec<PathBuf>,
    /// The figure to raise, in the mean over the sets: recall@5, recall@10, recall@20, all@10, mrr@10 or ndcg@10
    #[arg(long, default_value = "recall@10")]
    figure: String,
    /// Leave out the queries of this category; may be repeated
    #[arg(long)]
    without: Vec<String>,
    /// Ask at most so many queries of each set
    #[arg(long)]
    limit_queries: Option<usize>,
    /// Write the weights to this file, as a policy
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Keep the built stores in this folder and use those that are there; without it they are temporary
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let start = policy(common)?;
    if let Some(file) = &arguments.write {
        must_be_writable(file).map_err(recordari::Error::io(file))?;
    }
    let stores = Stores::new(arguments.keep.as_deref());
    let model = Lazy::open(&Settings::of(common)?.model)?;
    let embedder = model.map(|model| -> Arc<dyn Embedder> { model });
    let sheet = |folder: &PathBuf| -> Result<Sheet, Failure> {
        let options = eval::Options {
            embedder: embedder.clone(),
            policy: start.clone(),
            without: arguments.without.clone(),
            queries: arguments.limit_queries,
            ..eval::Options::new(stores.of(folder))
        };
        let bar = bar(folder);
        let sheet = Sheet::of(folder, &options, &mut |step, done, all| show(&bar, step, done, all))?;
        bar.finish_and_clear();
        Ok(sheet)
    };
    let sheets: Vec<Sheet> = arguments.folders.iter().map(sheet).collect::<Result<_, _>>()?;
    let checks: Vec<Sheet> = arguments.check.iter().map(sheet).collect::<Result<_, _>>()?;
    let tuned = eval::tune(&sheets, &checks, &start, &arguments.figure)?;
    let model = embedder.as_ref().map_or("none".to_owned(), |embedder| embedder.model().name.clone());
    let text = as_policy(&tuned, &sheets, &start, &arguments.figure, &model);
    if let Some(file) = &arguments.write {
        std::fs::write(file, &text).map_err(recordari::Error::io(file))?;
    }
    if out.is_json() {
        let sets = tuned.sets.iter().zip(&sheets).map(|((set, before, after, others), sheet)| {
            json!({ "set": set, "queries": sheet.questions(), "digest": sheet.digest, "before": before, "after": after,
                "tuned_on_the_others": others })
        });
        let checked = tuned
            .checked
            .iter()
            .map(|(set, before, after)| json!({ "set": set, "before": before, "after": after }));
        out.json(&json!({
            "figure": arguments.figure,
            "weights": tuned.weights,
            "sets": sets.collect::<Vec<_>>(),
            "checked": checked.collect::<Vec<_>>(),
        }))?;
        return Ok(0);
    }
    out.line(format!(
        "{:<20} {:>9} {:>9} {:>21}",
        arguments.figure, "before", "after", "tuned on the others"
    ))?;
    for (set, before, after, others) in &tuned.sets {
        out.line(format!("{set:<20} {before:>9.3} {after:>9.3} {others:>21.3}"))?;
    }
    for (set, before, after) in &tuned.checked {
        out.line(format!("{set:<20} {before:>9.3} {after:>9.3} {:>21}", "only checked"))?;
    }
    match &arguments.write {
        Some(file) => out.line(format!("\nThe weights are in {}.", file.display()))?,
        None => out.line(format!("\n{}", text.trim_end()))?,
    }
    Ok(0)
}

/// What can't be written is told before the work. Nothing is changed by that.
fn must_be_writable(file: &Path) -> std::io::Result<()> {
    let is_new = !file.exists();
    drop(std::fs::OpenOptions::new().append(true).create(true).open(file)?);
    if is_new { std::fs::remove_file(file) } else { Ok(()) }
}

/// A policy file of nothing but weights, which says what they were chosen by.
fn as_policy(tuned: &Tuned, sheets: &[Sheet], start: &Policy, figure: &str, model: &str) -> String {
    let mut text = format!(
        "# Weights chosen by `recordari eval tune` (recordari {}), from those of policy {}, for {figure}\n# with the model {model}. Of each set: its digest, how many queries, the figure before, after, and with weights that\n# were tuned on all the others.\n",
        env!("CARGO_PKG_VERSION"),
        start.version(),
    );
    let mut line =
        |args: std::fmt::Arguments<'_>| text.write_fmt(args).expect("writing to memory does not fail");
    for ((set, before, after, others), sheet) in tuned.sets.iter().zip(sheets) {
        let (digest, queries) = (&sheet.digest, sheet.questions());
        line(format_args!("# {set:?} {digest}, {queries} queries: {before:.3}, {after:.3}, {others:.3}\n"));
    }
    for (set, before, after) in &tuned.checked {
        line(format_args!("# {set:?}, only checked: {before:.3}, {after:.3}\n"));
    }
    line(format_args!("[recall.weights]\n"));
    let mut weights = tuned.weights;
    for (name, weight) in weights.named_mut() {
        line(format_args!("{name} = {weight:.3}\n"));
    }
    text
}
