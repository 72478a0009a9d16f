//! `recordari bench`: the whole path of a recall, timed on a workload of given vectors. Reads arguments and
//! runs the phases, each in a process of its own, so that nothing is warm that would not be.

mod ask;
mod data;
mod given;
mod load;
mod machine;
mod report;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use recordari::{Error, Policy};
use serde_json::{Value, json};

use super::{Common, Failure, Out};
use data::Data;

#[derive(Args)]
#[command(
    after_help = "FOLDER holds meta.json, vectors.bin, memories.jsonl, queries.bin, queries.jsonl and deletes.bin; docs/PERFORMANCE.md\ndescribes them. Everything goes through the product: gates, store, recall with its explanation, forget.\n\nExample:\n  recordari bench workload/n10000 --json > ours.json"
)]
pub struct Arguments {
    /// The folder of the workload
    folder: PathBuf,
    /// Where the stores are built, in folders of their own, which are removed at the end unless --keep
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Keep the stores as they were built
    #[arg(long, requires = "work")]
    keep: bool,
    /// Begin with the stores that an earlier run kept in --work
    #[arg(long, requires = "work")]
    reuse: bool,
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
    #[arg(long, value_name = "PHASE", hide = true)]
    phase: Option<String>,
}

/// The policy of the measurement: the defaults, but for what would answer another question than the truth
/// that the workload comes with. Scores follow the vectors and the words alone, and no kind is held back.
const POLICY: &str = "
[recall]
limit = 10
characters = 20000
floor = 0.0
near_duplicate = 1.0
kind_share = 1.0
[recall.weights]
recency = 0.0
importance = 0.04
";

/// Where the stores are kept as they were built: asking ends with deletions.
const BUILT: &str = "recordari-built";
/// The store with every namespace, and the one with all live rows in one.
const MANY: &str = "recordari-many";
const ONE: &str = "recordari-one";

pub fn run(_: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let work = arguments
        .work
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("recordari-bench-{}", std::process::id())));
    if let Some(phase) = &arguments.phase {
        let found = of_phase(phase, &arguments, &work)?;
        out.json(&found)?;
        return Ok(0);
    }
    let data = Data::open(&arguments.folder)?;
    let result = phases(&arguments, &work, &data);
    if !arguments.keep && !arguments.reuse {
        clear(&work);
        // Only if there is nothing else in it.
        let _ = std::fs::remove_dir(&work);
    }
    let result = result?;
    if out.is_json() {
        out.json(&result)?;
    } else {
        report::print(&result, out)?;
    }
    // What comes back from outside of a scope, or from the dead, fails the run whatever its speed.
    Ok(u8::from(report::wrongs(&result) > 0))
}

/// Removes what a measurement makes, and nothing else.
fn clear(work: &Path) {
    for name in [MANY, ONE, BUILT] {
        let _ = std::fs::remove_dir_all(work.join(name));
    }
}

fn policy() -> Result<Policy, Error> {
    Policy::parse(POLICY)
}

fn phases(arguments: &Arguments, work: &Path, data: &Data) -> Result<Value, Failure> {
    let mut result = json!({
        "peer": "recordari", "n": data.n, "batch": arguments.batch,
        "date": recordari::Clock::now(&recordari::SystemClock).to_string()[..10],
        "cores": std::thread::available_parallelism().map_or(1, usize::from),
        "cpus_used": arguments.cpus, "loadavg_start": machine::load(),
        "mapping": "kinds: fact, preference, decision, note are semantic, event episodic, procedure procedural; \
                    sensitivity 0 public, 1 internal, 2 and 3 sensitive, all within the caller's clearance",
    });
    let built = work.join(BUILT);
    if !arguments.reuse {
        clear(work);
        result["build"] = phase("build", arguments, work)?;
        result["build"]["disk_bytes"] = json!(machine::disk_bytes(&work.join(MANY)));
        if arguments.keep {
            std::fs::create_dir_all(&built).map_err(Error::io(&built))?;
            std::fs::write(built.join("build.json"), result["build"].to_string())
                .map_err(Error::io(&built))?;
            [MANY, ONE].iter().try_for_each(|store| machine::copy(&work.join(store), &built.join(store)))?;
        }
    } else {
        for store in [MANY, ONE] {
            let _ = std::fs::remove_dir_all(work.join(store));
            machine::copy(&built.join(store), &work.join(store))?;
        }
        let path = built.join("build.json");
        let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
        result["build"] = serde_json::from_str(&text).map_err(|_| Failure::usage("build.json is damaged"))?;
    }
    machine::evict(work);
    result["query"] = phase("query", arguments, work)?;
    machine::evict(work);
    result["reopen"] = phase("reopen", arguments, work)?;
    result["loadavg_end"] = machine::load();
    Ok(result)
}

/// Runs one phase in a process of its own.
fn phase(name: &str, arguments: &Arguments, work: &Path) -> Result<Value, Failure> {
    let program = std::env::current_exe().map_err(Error::io(Path::new("the program itself")))?;
    let mut command = Command::new(program);
    command.arg("bench").arg(&arguments.folder).arg("--json").args(["--phase", name]).arg("--work").arg(work);
    command.args(["--reps", &arguments.reps.to_string(), "--budget", &arguments.budget.to_string()]);
    command.args(["--batch", &arguments.batch.to_string(), "--cpus", &arguments.cpus]);
    for class in &arguments.class {
        command.args(["--class", class]);
    }
    if !arguments.cpus.is_empty() {
        let cores = arguments.cpus.split(',').count();
        command.env("RAYON_NUM_THREADS", cores.to_string());
    }
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(Error::io(Path::new(name)))?;
    if !output.status.success() {
        return Err(Failure::usage(format!("the phase {name} failed")));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|_| Failure::usage(format!("the phase {name} said nothing")))
}

fn of_phase(name: &str, arguments: &Arguments, work: &Path) -> Result<Value, Failure> {
    machine::pin(&arguments.cpus)?;
    let data = Data::open(&arguments.folder)?;
    let calib = machine::calibrate();
    let mut found = match name {
        "build" => load::build(&data, work, arguments.batch)?,
        "query" => ask::query(&data, work, arguments)?,
        "reopen" => ask::reopen(&data, work)?,
        _ => return Err(Failure::usage("there is no such phase")),
    };
    found["calib_ms"] = json!(calib);
    found["calib_end_ms"] = json!(machine::calibrate());
    Ok(found)
}
