//! How long does a recall take while another program writes as fast as it can? That one has the cores that the
//! asking leaves free.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use recordari::{Error, Memory, Result};
use serde_json::{Value, json};

use super::super::Failure;
use super::data::{Data, Question};
use super::given::Given;
use super::load::{self, candidate, principal};
use super::phases::MANY;
use super::{Arguments, ask, machine};

/// The classes that are asked.
const CLASSES: [&str; 2] = ["s10rows", "s01pct"];
/// How many seconds are asked at most, alone and beside the writer.
const ASKED: f64 = 5.0;
/// For how many the writer is at it before time is taken.
const LEAD: f64 = 1.5;

/// Asks alone, then beside a writer. Nothing where no core would be left for one.
pub fn measure(data: &Data, folder: &Path, work: &Path, arguments: &Arguments) -> Result<Value, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let Some(others) = machine::other_cores(&arguments.cpus)? else {
        return Ok(json!({ "why_not": format!("of {cores} cores none is left for a writer") }));
    };
    let given = Arc::new(Given::new(data.dims));
    let memory = load::open(&work.join(MANY), &given, data.now, true)?;
    let questions: Vec<&Question> =
        data.queries.iter().filter(|question| CLASSES.contains(&question.class.as_str())).collect();
    if questions.is_empty() {
        return Ok(json!({ "why_not": "the workload asks nothing in a small scope" }));
    }
    let asked = || asked(&memory, &given, data, &questions, arguments.budget.min(ASKED));
    let quiet = asked()?;
    let program = std::env::current_exe().map_err(Error::io(Path::new("the program itself")))?;
    let mut command = Command::new(program);
    command.arg("bench").arg(folder).arg("--json").args(["--phase", "write"]).arg("--work").arg(work);
    command.args(["--batch", &arguments.batch.to_string(), "--cpus", &others]);
    command.env("RAYON_NUM_THREADS", others.split(',').count().to_string());
    let mut writer = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let writer = writer.as_mut().map_err(|_| Failure::usage("the writer could not be started"))?;
    std::thread::sleep(Duration::from_secs_f64(arguments.budget.min(LEAD)));
    let beside = asked()?;
    // It stops when there is nobody any more.
    drop(writer.stdin.take());
    let mut said = String::new();
    if let Some(stdout) = &mut writer.stdout {
        let _ = stdout.read_to_string(&mut said);
    }
    let _ = writer.wait();
    let wrote: Value =
        serde_json::from_str(&said).map_err(|_| Failure::usage("the writer beside the asking failed"))?;
    Ok(json!({ "quiet": quiet, "beside": beside, "writer": wrote }))
}

fn asked(
    memory: &Memory,
    given: &Given,
    data: &Data,
    questions: &[&Question],
    seconds: f64,
) -> Result<Value> {
    // Each once before time is taken.
    for question in questions {
        ask::once(memory, given, data, question)?;
    }
    let (started, mut took) = (Instant::now(), Vec::new());
    'time: loop {
        for question in questions {
            let begun = Instant::now();
            ask::once(memory, given, data, question)?;
            took.push(begun.elapsed().as_secs_f64() * 1e3);
            if started.elapsed().as_secs_f64() > seconds {
                break 'time;
            }
        }
    }
    took.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    Ok(json!({ "n": took.len(), "p50_ms": at(0.5), "p95_ms": at(0.95), "p99_ms": at(0.99) }))
}

/// The writer: the rows of the workload again and again, as another tenant's, until standard input ends.
pub fn write(data: &Data, work: &Path, batch: usize) -> Result<Value> {
    let ended = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = ended.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        seen.store(true, std::sync::atomic::Ordering::Release);
    });
    let given = Arc::new(Given::new(data.dims));
    let memory = load::open(&work.join(MANY), &given, data.now, false)?;
    let (mut written, mut seconds, mut round) = (0, 0.0, 0);
    while !ended.load(std::sync::atomic::Ordering::Acquire) {
        round += 1;
        let mut rows = data.rows()?.peekable();
        while rows.peek().is_some() && !ended.load(std::sync::atomic::Ordering::Acquire) {
            let (mut callers, mut candidates) = (Vec::new(), Vec::new());
            let mut passages = std::collections::HashMap::new();
            for row in rows.by_ref().take(batch) {
                let (mut row, vector) = row?;
                row.text = format!("{} again {round}", row.text);
                callers.push(principal("written-beside", Some(&row.user), Some(&row.project))?);
                candidates.push(candidate(&row)?);
                passages.insert(row.text, vector);
            }
            given.passages(passages);
            let together: Vec<_> = callers.iter().zip(&candidates).collect();
            let started = Instant::now();
            written += memory.remember_together(&together)?.len();
            seconds += started.elapsed().as_secs_f64();
        }
    }
    Ok(json!({ "written": written, "a_second": written as f64 / seconds.max(1e-9) }))
}
