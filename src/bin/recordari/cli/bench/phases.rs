//! Runs the measurement of one workload: each phase in a process of its own, so that nothing is warm that
//! would not be, and every file out of the memory of the system before it.

use std::path::Path;
use std::process::Command;

use recordari::{CipherKey, Error, Policy};
use serde_json::{Value, json};

use super::super::Failure;
use super::data::Data;
use super::report::OURS;
use super::{Arguments, ask, beside, load, machine};

/// The policy of the measurement: the defaults, but for what would answer another question than the truth
/// that the workload comes with. Scores follow the vectors and the words alone, and no kind is held back.
const POLICY: &str = "
[recall]
limit = 10
characters = 20000
floor = 0.0
near_duplicate = 1.0
kind_share = 1.0
centring = 0.0
[recall.weights]
recency = 0.0
importance = 0.116
statement = 0.0
rule = 0.0
";

/// Where the stores are kept as they were built: asking ends with deletions.
const BUILT: &str = "recordari-built";
/// The store with every namespace, and the one with all live rows in one.
pub const MANY: &str = "recordari-many";
pub const ONE: &str = "recordari-one";

/// The key of encrypted stores; it protects nothing, being where it is.
const CIPHER: &str = "recordari-cipher.key";

/// The key of the stores in a folder, if they are encrypted.
pub fn cipher(work: &Path) -> Result<Option<CipherKey>, Error> {
    let file = work.join(CIPHER);
    file.exists().then(|| CipherKey::read(&file)).transpose()
}

/// Removes what a measurement makes, and nothing else.
pub fn clear(work: &Path) {
    let _ = std::fs::remove_file(work.join(CIPHER));
    for name in [MANY, ONE, BUILT] {
        let _ = std::fs::remove_dir_all(work.join(name));
    }
}

/// The policy that a measured store has.
pub fn policy() -> Result<Policy, Error> {
    Policy::parse(POLICY)
}

/// Measures a workload of `n` rows; the report.
pub fn measure(folder: &Path, n: u64, arguments: &Arguments, work: &Path) -> Result<Value, Failure> {
    let mut result = json!({
        "peer": OURS, "n": n, "batch": arguments.batch,
        "date": recordari::Clock::now(&recordari::SystemClock).to_string()[..10],
        "cores": std::thread::available_parallelism().map_or(1, usize::from),
        "cpus_used": arguments.cpus, "loadavg_start": machine::load(),
        "mapping": "kinds: fact, preference, decision, note are semantic, event episodic, procedure procedural; \
                    sensitivity 0 public, 1 internal, 2 and 3 sensitive, all within the caller's clearance",
    });
    let built = work.join(BUILT);
    if !arguments.reuse {
        clear(work);
        if arguments.encrypted {
            std::fs::create_dir_all(work).map_err(Error::io(work))?;
            CipherKey::generate()?.write(&work.join(CIPHER))?;
        }
        result["build"] = phase("build", folder, arguments, work)?;
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
    result["encrypted"] = json!(cipher(work)?.is_some());
    machine::evict(work);
    result["query"] = phase("query", folder, arguments, work)?;
    machine::evict(work);
    result["reopen"] = phase("reopen", folder, arguments, work)?;
    // Last, since it writes what the others do not expect.
    result["beside_writer"] = phase("beside", folder, arguments, work)?;
    result["loadavg_end"] = machine::load();
    Ok(result)
}

/// Runs one phase in a process of its own.
fn phase(name: &str, folder: &Path, arguments: &Arguments, work: &Path) -> Result<Value, Failure> {
    let program = std::env::current_exe().map_err(Error::io(Path::new("the program itself")))?;
    let mut command = Command::new(program);
    command.arg("bench").arg(folder).arg("--json").args(["--phase", name]).arg("--work").arg(work);
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
        return Err(Failure::usage(format!("{}: the phase {name} failed", folder.display())));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|_| Failure::usage(format!("the phase {name} said nothing")))
}

/// What one of the processes does.
pub fn run(name: &str, folder: &Path, arguments: &Arguments, work: &Path) -> Result<Value, Failure> {
    machine::pin(&arguments.cpus)?;
    let data = Data::open(folder)?;
    let calib = machine::calibrate();
    let mut found = match name {
        "build" => load::build(&data, work, arguments.batch)?,
        "query" => ask::query(&data, work, arguments)?,
        "reopen" => ask::reopen(&data, work)?,
        "beside" => beside::measure(&data, folder, work, arguments)?,
        "write" => beside::write(&data, work, arguments.batch)?,
        _ => return Err(Failure::usage("there is no such phase")),
    };
    found["calib_ms"] = json!(calib);
    found["calib_end_ms"] = json!(machine::calibrate());
    Ok(found)
}
