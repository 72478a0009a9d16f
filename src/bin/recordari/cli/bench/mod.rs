//! `recordari bench`: the whole path of a recall, timed on workloads of given vectors, one size after the
//! other; and the reports of it as tables and plots. Reads arguments, and sees what is to be measured.

mod ask;
mod beside;
mod data;
mod given;
mod growth;
mod load;
mod machine;
mod phases;
mod plots;
mod report;
mod tables;

use std::path::{Path, PathBuf};

use clap::Args;

use super::{Common, Failure, Out};
use data::Data;
use report::Report;

#[derive(Args)]
#[command(
    after_help = "FOLDER holds meta.json, vectors.bin, memories.jsonl, queries.bin, queries.jsonl and deletes.bin;\ndocs/PERFORMANCE.md describes them, the tables and the plots. Everything goes through the product:\ngates, store, recall with its explanation, forget. With several sizes, measured or from reports, a\ntable of growth follows, and --json prints one object with `n`, `reports` and `scaling`. Exit code 1\nwhen anything came back from outside of its scope, or from the dead.\n\nExample:\n  recordari bench workload/n10000 --json > ours.json\n  recordari bench workload/n10000 workload/n100000 --plots plots\n  recordari bench --from ours.json --beside theirs.json --plots plots"
)]
pub struct Arguments {
    /// The folders of the workloads, each of another size
    #[arg(value_name = "FOLDER", required_unless_present = "from")]
    folders: Vec<PathBuf>,
    /// Reports that --json printed earlier, to be shown without measuring again
    #[arg(long, value_name = "REPORT", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Reports of other engines in the same format, shown beside ours of the same size
    #[arg(long, value_name = "FILE", num_args = 1..)]
    beside: Vec<PathBuf>,
    /// Draw the reports as SVG files in this folder
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Where the stores are built, in folders of their own, which are removed at the end unless --keep; of several
    /// workloads each has one by its size, such as n10000
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Keep the stores as they were built
    #[arg(long, requires = "work")]
    keep: bool,
    /// Begin with the stores that an earlier run kept in --work
    #[arg(long, requires = "work")]
    reuse: bool,
    /// Keep the stores encrypted, with a key that lies beside them: what encryption costs
    #[arg(long, conflicts_with = "reuse")]
    encrypted: bool,
    /// How many times each query is asked
    #[arg(long, value_name = "N", default_value_t = 2)]
    reps: usize,
    /// The most seconds for one class of queries in one mode
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    budget: f64,
    /// How many memories are written together
    #[arg(long, value_name = "N", default_value_t = 1000)]
    batch: usize,
    /// Ask the queries of this class only; may be repeated
    #[arg(long, value_name = "NAME")]
    class: Vec<String>,
    /// The cores to run on, as a list of numbers; empty: all
    #[arg(long, value_name = "LIST", default_value = "")]
    cpus: String,
    /// What one of the processes does; for bench itself
    #[arg(long, value_name = "PHASE", hide = true, requires = "folders")]
    phase: Option<String>,
}

/// One size: how many records, where it comes from, and its report if that was measured earlier.
struct Size {
    n: u64,
    path: PathBuf,
    report: Option<Report>,
}

pub fn run(_: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let work = arguments
        .work
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("recordari-bench-{}", std::process::id())));
    if let Some(phase) = &arguments.phase {
        let found = phases::run(phase, &arguments.folders[0], &arguments, &work)?;
        out.json(&found)?;
        return Ok(0);
    }
    // All that can be wrong with the arguments is found before minutes are spent.
    let sizes = sizes(&arguments)?;
    let besides = besides(&arguments, &sizes, out)?;
    if let Some(folder) = &arguments.plots {
        std::fs::create_dir_all(folder).map_err(recordari::Error::io(folder))?;
    }
    let mut reports = Vec::new();
    for size in sizes {
        let report = match size.report {
            Some(report) => report,
            None => {
                if arguments.folders.len() > 1 {
                    out.notice(format!("measuring {}", size.path.display()));
                }
                measured(&size.path, size.n, &arguments, &work)?
            }
        };
        if !out.is_json() {
            if !reports.is_empty() {
                out.line("")?;
            }
            tables::print(&report, out)?;
            for theirs in besides.iter().filter(|theirs| theirs.n == report.n) {
                tables::beside(&report, theirs, out)?;
            }
            out.flush()?;
        }
        reports.push(report);
    }
    match (&reports[..], out.is_json()) {
        ([report], true) => out.json(report.json())?,
        (_, true) => out.json(&growth::json(&reports))?,
        ([_], false) => {}
        (_, false) => {
            out.line("")?;
            tables::scaling(&reports, out)?;
        }
    }
    if let Some(folder) = &arguments.plots {
        let files = plots::write(folder, &reports, &besides)?;
        out.notice(format!("{} plots are in {}", files, folder.display()));
    }
    // What comes back from outside of a scope, or from the dead, fails the run whatever its speed.
    Ok(u8::from(reports.iter().any(|report| report.wrongs() > 0)))
}

/// What is to be measured and what was, by size.
fn sizes(arguments: &Arguments) -> Result<Vec<Size>, Failure> {
    let mut sizes = Vec::new();
    for folder in &arguments.folders {
        let n = Data::open(folder)?.n as u64;
        sizes.push(Size { n, path: folder.clone(), report: None });
    }
    for path in &arguments.from {
        let reports = report::ours(path)?.into_iter();
        sizes.extend(reports.map(|report| Size { n: report.n, path: path.clone(), report: Some(report) }));
    }
    sizes.sort_by_key(|size| size.n);
    match sizes.windows(2).find(|pair| pair[0].n == pair[1].n) {
        Some([one, other]) => Err(Failure::usage(format!(
            "{} and {} are both of {} records; name one of each size",
            one.path.display(),
            other.path.display(),
            one.n
        ))),
        _ => Ok(sizes),
    }
}

/// The reports of other engines, in the order that they were named. Those of a size that is not shown are
/// said to be left out.
fn besides(arguments: &Arguments, sizes: &[Size], out: &Out) -> Result<Vec<Report>, Failure> {
    let mut besides: Vec<Report> = Vec::new();
    for path in &arguments.beside {
        let report = report::theirs(path)?;
        if besides.iter().any(|other| (other.n, &other.peer) == (report.n, &report.peer)) {
            return Err(Failure::usage(format!(
                "{}: the second report of {} at {} records; name one of each engine and size after --beside",
                path.display(),
                report.peer,
                report.n
            )));
        }
        if sizes.iter().any(|size| size.n == report.n) {
            besides.push(report);
        } else {
            out.notice(format!("{} is left out: nothing else has {} records", path.display(), report.n));
        }
    }
    Ok(besides)
}

/// Measures one workload, in a folder of its own if there are several.
fn measured(folder: &Path, n: u64, arguments: &Arguments, work: &Path) -> Result<Report, Failure> {
    let several = arguments.folders.len() > 1;
    let own = if several { work.join(format!("n{n}")) } else { work.to_owned() };
    let result = phases::measure(folder, n, arguments, &own);
    if !arguments.keep && !arguments.reuse {
        phases::clear(&own);
        // Only if there is nothing else in them.
        let _ = std::fs::remove_dir(&own);
        let _ = std::fs::remove_dir(work);
    }
    Report::of(result?).map_err(|what| Failure::usage(format!("the report {what}")))
}
