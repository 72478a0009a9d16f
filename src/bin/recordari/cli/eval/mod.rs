//! `recordari eval`: how well are the memories of an evaluation set recalled? Reads arguments and prints;
//! the library measures.

mod markdown;
mod plots;
mod tune;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use recordari::eval::{self, Difference, Step};
use recordari::{Embedder, Mode, Policy};

use serde_json::Value;

use super::{Common, Failure, Out, values};
use crate::lazy::Lazy;
use crate::settings::Settings;

#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Each folder holds corpus.jsonl, queries.jsonl and qrels.tsv; docs/EVAL.md describes them. Exit code 1 when\nanything came back that a query may not be answered with: from a namespace that it does not see, forgotten,\nexpired, or a secret.\n\nExample:\n  recordari eval sets/memorybank-en sets/memorybank-zh"
)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Folders of evaluation sets
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Ask in this mode only; may be repeated
    #[arg(long, value_parser = values::word(Mode::ALL, Mode::code))]
    mode: Vec<Mode>,
    /// Ask at most so many queries of each set
    #[arg(long)]
    limit_queries: Option<usize>,
    /// Leave out the queries of this category; may be repeated
    #[arg(long)]
    without: Vec<String>,
    /// Ask again without each part of the score, one at a time
    #[arg(long)]
    ablate: bool,
    /// Compare with a report that --json printed before, query by query
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Write the tables to this file, as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write pictures of the figures into this folder, as SVG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Keep the built stores in this folder and use those that are there; without it they are temporary
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Subcommand)]
enum What {
    /// Look for the weights by which most is found
    Tune(tune::Arguments),
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    if let Some(What::Tune(arguments)) = arguments.what {
        return tune::run(common, arguments, out);
    }
    let policy = policy(common)?;
    // What can't be written or read is told before the work, not after it.
    let saved = arguments.against.as_deref().map(saved).transpose()?;
    if let Some(folder) = &arguments.plots {
        std::fs::create_dir_all(folder).map_err(recordari::Error::io(folder))?;
    }
    if let Some(file) = &arguments.markdown {
        std::fs::write(file, "").map_err(recordari::Error::io(file))?;
    }
    let stores = Stores::new(arguments.keep.as_deref());
    let model = Lazy::open(&Settings::of(common)?.model)?;
    let embedder = model.map(|model| -> Arc<dyn Embedder> { model });
    let (mut reports, mut since) = (Vec::new(), Vec::new());
    for folder in &arguments.folders {
        let mut options = eval::Options {
            embedder: embedder.clone(),
            policy: policy.clone(),
            without: arguments.without.clone(),
            queries: arguments.limit_queries,
            ablate: arguments.ablate,
            ..eval::Options::new(stores.of(folder))
        };
        if !arguments.mode.is_empty() {
            options.modes.clone_from(&arguments.mode);
        }
        let bar = bar(folder);
        let report = eval::run(folder, &options, &mut |step, done, all| {
            show(&bar, step, done, all);
        })?;
        bar.finish_and_clear();
        if !out.is_json() {
            out.line(report.to_string().trim_end())?;
        }
        if let Some(saved) = &saved {
            since.extend(report.since(saved)?);
        }
        reports.push(report);
    }
    if out.is_json() {
        let sets: Vec<_> = reports.iter().map(eval::Report::to_json).collect();
        let since: Vec<_> = since.iter().map(Difference::to_json).collect();
        out.json(&serde_json::json!({ "sets": sets, "since": since }))?;
    } else if saved.is_some() {
        print_since(&since, out)?;
    }
    if let Some(file) = &arguments.markdown {
        std::fs::write(file, markdown::write(&reports, &since)).map_err(recordari::Error::io(file))?;
    }
    if let Some(folder) = &arguments.plots {
        let files = plots::write(folder, &reports)?;
        out.notice(format!("{files} pictures are in {}", folder.display()));
    }
    let wrong: usize = reports.iter().map(eval::Report::wrongly_seen).sum();
    Ok(u8::from(wrong > 0))
}

fn policy(common: &Common) -> Result<Policy, Failure> {
    Ok(match &common.policy {
        Some(path) => Policy::parse(&std::fs::read_to_string(path).map_err(recordari::Error::io(path))?)?,
        None => Policy::default(),
    })
}

/// Shows how far an evaluation is.
fn show(bar: &ProgressBar, step: Step, done: usize, all: usize) {
    bar.set_message(match step {
        Step::Remember => "remember".to_owned(),
        Step::Ask(mode, None) => mode.code().to_owned(),
        Step::Ask(_, Some(part)) => format!("but {part}"),
    });
    bar.set_length(all as u64);
    bar.set_position(done as u64);
}

/// A report of an earlier run.
fn saved(file: &Path) -> Result<Value, Failure> {
    let text = std::fs::read_to_string(file).map_err(recordari::Error::io(file))?;
    serde_json::from_str(&text)
        .map_err(|_| Failure::usage(format!("{} is no report as eval --json prints it", file.display())))
}

fn print_since(since: &[Difference], out: &mut Out) -> Result<(), Failure> {
    if since.is_empty() {
        out.line("The saved report has none of these sets and modes.")?;
        return Ok(());
    }
    out.line("since the saved report, with the range that holds 95 of 100:")?;
    for difference in since {
        let figures = ["recall@10", "mrr@10", "ndcg@10"].map(|name| {
            let of = difference.figure(name);
            of.map_or_else(String::new, |of| {
                format!("{name} {:+.3} ({:+.3} to {:+.3})", of.mean, of.low, of.high)
            })
        });
        out.line(format!("  {:<16} {:<10} {}", difference.set, difference.mode, figures.join("  ")))?;
    }
    Ok(())
}

/// The folder that stores are built in; a temporary one is removed at the end.
struct Stores {
    folder: PathBuf,
    temporary: bool,
}

impl Stores {
    fn new(keep: Option<&Path>) -> Stores {
        let temporary = || std::env::temp_dir().join(format!("recordari-eval-{}", std::process::id()));
        Stores { folder: keep.map_or_else(temporary, Path::to_owned), temporary: keep.is_none() }
    }

    /// One store per set: the ids of two sets may meet.
    fn of(&self, set: &Path) -> PathBuf {
        self.folder.join(set.file_name().unwrap_or_default())
    }
}

impl Drop for Stores {
    fn drop(&mut self) {
        if self.temporary {
            // What can't be removed is left to the system that cleans its temporary folder.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn bar(set: &Path) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let name = set.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Ok(style) = ProgressStyle::with_template("{prefix} {msg:<9} {wide_bar} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    bar.with_prefix(name)
}
