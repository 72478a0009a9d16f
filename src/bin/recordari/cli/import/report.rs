//! What became of the lines: counts by outcome, and each one that was not committed, by number and
//! reason. No content.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use recordari::{Error, Outcome, Reason, Record};
use serde_json::{Value, json};

use crate::cli::out::shown;
use crate::cli::{Failure, Out, show};
use crate::wire;

/// How many lines that were not taken a person is shown; the report file has all.
const SHOWN_MAX: usize = 20;
/// The outcomes, in the order in which they are counted.
const OUTCOMES: &[&str] = &["committed", "idempotent", "review", "rejected", "conflict", "invalid"];

/// The outcomes of an import.
pub struct Report {
    dry_run: bool,
    lines: u64,
    counts: [u64; OUTCOMES.len()],
    not_committed: Vec<Value>,
    again: BTreeSet<u64>,
    retired: Vec<Value>,
    kept: Vec<Value>,
    not_retired: bool,
    file: Option<BufWriter<File>>,
    path: std::path::PathBuf,
}

impl Report {
    /// An empty report, written to a file too if one is named.
    pub fn new(path: Option<&Path>, dry_run: bool) -> Result<Report, Failure> {
        let file = path.map(|path| File::create(path).map_err(Error::io(path))).transpose()?;
        Ok(Report {
            dry_run,
            lines: 0,
            counts: [0; OUTCOMES.len()],
            not_committed: Vec::new(),
            again: BTreeSet::new(),
            retired: Vec::new(),
            kept: Vec::new(),
            not_retired: false,
            file: file.map(BufWriter::new),
            path: path.unwrap_or(Path::new("")).to_owned(),
        })
    }

    /// How many lines have an outcome.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Whether a line could not be read.
    pub fn has_invalid(&self) -> bool {
        self.count("invalid") > 0
    }

    /// The exit code: 1 when any line was not taken.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.not_taken() > 0 || self.not_retired)
    }

    /// A line that is no candidate.
    pub fn invalid(&mut self, number: u64, message: &str) -> Result<(), Failure> {
        self.add(number, "invalid", json!({ "reason": null, "message": message }))
    }

    /// What the gates said to a line.
    pub fn outcome(&mut self, number: u64, outcome: &Outcome) -> Result<(), Failure> {
        let mut fields = wire::outcome(outcome);
        if let Some(fields) = fields.as_object_mut() {
            // The record that stands against a line is content; its ids say enough.
            fields.shift_remove("current");
            fields.insert("message".to_owned(), json!(outcome.reason().map(Reason::meaning)));
        }
        let code = if matches!(outcome, Outcome::Conflict(..)) { "conflict" } else { outcome.code() };
        self.add(number, code, fields)
    }

    /// A line gets a second try: its first outcome does not count.
    pub fn again(&mut self, number: u64) {
        self.again.insert(number);
        self.lines -= 1;
        self.counts[place("conflict")] -= 1;
        self.not_committed.retain(|line| line["line"] != number);
    }

    /// A memory that its source does not say any more.
    pub fn retired(&mut self, record: &Record) {
        self.retired.push(ids(record));
    }

    /// A memory that one source does not say any more, and another does.
    pub fn kept(&mut self, record: &Record) {
        self.kept.push(ids(record));
    }

    /// Nothing was retired, since some lines could not be read.
    pub fn not_retired(&mut self) {
        self.not_retired = true;
    }

    /// Prints it all.
    pub fn end(&mut self, out: &mut Out, took: Duration, interrupted: bool) -> Result<(), Failure> {
        if let Some(mut file) = self.file.take() {
            let written = self.not_committed.iter().try_for_each(|line| writeln!(file, "{line}"));
            written.and_then(|()| file.flush()).map_err(Error::io(&self.path))?;
        }
        let seconds = took.as_secs_f64();
        let rate = self.lines as f64 / seconds.max(0.001);
        if out.is_json() {
            self.json(out, seconds, rate, interrupted)
        } else {
            self.print(out, seconds, rate, interrupted)
        }
    }

    fn json(&self, out: &mut Out, seconds: f64, rate: f64, interrupted: bool) -> Result<(), Failure> {
        let counts: serde_json::Map<String, Value> = OUTCOMES
            .iter()
            .zip(self.counts)
            .map(|(name, count)| ((*name).to_owned(), count.into()))
            .collect();
        let outcome = match (interrupted, self.exit_code()) {
            (true, _) => "interrupted",
            (false, 0) => "imported",
            (false, _) => "incomplete",
        };
        let mut answer = json!({
            "outcome": outcome,
            "reason": null,
            "dry_run": self.dry_run,
            "lines": self.lines,
            "counts": counts,
            "blocked_by_tombstone": self.blocked_by_tombstone(),
            "report": self.not_committed,
            "retired": self.retired,
            "kept_with_other_sources": self.kept,
        });
        answer["seconds"] = json!((seconds * 1000.0).round() / 1000.0);
        answer["per_second"] = json!(rate.round());
        out.json(&answer)
    }

    fn print(&self, out: &mut Out, seconds: f64, rate: f64, interrupted: bool) -> Result<(), Failure> {
        let counts = OUTCOMES.iter().zip(self.counts).filter(|(_, count)| *count > 0);
        let counts: Vec<String> = counts.map(|(name, count)| format!("{count} {name}")).collect();
        let counts = if counts.is_empty() { "nothing to do".to_owned() } else { counts.join(", ") };
        let tried = if self.dry_run { "Tried without storing" } else { "Imported" };
        let lines = show::counted(self.lines, "line", "lines");
        out.line(format!("{tried} {lines} in {seconds:.1} s ({rate:.0} a second): {counts}."))?;
        let refused = |line: &&Value| {
            matches!(
                line["outcome"].as_str(),
                Some("rejected" | "conflict" | "invalid" | "stale_expected_record")
            )
        };
        for line in self.not_committed.iter().filter(refused).take(SHOWN_MAX) {
            let reason = line["reason"].as_str().map(|reason| format!(" {reason}:")).unwrap_or_default();
            let message = shown(line["message"].as_str().unwrap_or_default());
            out.line(format!(
                "  line {}: {}:{reason} {message}",
                line["line"],
                line["outcome"].as_str().unwrap_or_default()
            ))?;
        }
        let more = self.not_taken().saturating_sub(SHOWN_MAX as u64);
        if more > 0 {
            out.line(format!("  and {more} more; --report FILE writes them all"))?;
        }
        let blocked = self.blocked_by_tombstone();
        if blocked > 0 {
            let lines = show::counted(blocked, "line says", "lines say");
            out.line(format!(
                "  {lines} what was forgotten here, and {} kept out",
                if blocked == 1 { "is" } else { "are" }
            ))?;
        }
        if self.count("review") > 0 {
            out.line("  what waits for a person: recordari review list")?;
        }
        for record in &self.retired {
            out.line(format!(
                "  retired, since its source does not say it any more: {}",
                record["memory_id"].as_str().unwrap_or_default()
            ))?;
        }
        for record in &self.kept {
            out.line(format!(
                "  kept, since another source says it too: {}",
                record["memory_id"].as_str().unwrap_or_default()
            ))?;
        }
        if self.not_retired {
            out.line("  nothing was retired: a line that can't be read may hold what seems to be missing")?;
        }
        if interrupted {
            out.notice(format!(
                "stopped after {} lines; what was taken is stored, import the file again to go on",
                self.lines
            ));
        }
        Ok(())
    }

    fn add(&mut self, number: u64, outcome: &str, fields: Value) -> Result<(), Failure> {
        self.lines += 1;
        self.counts[place(outcome)] += 1;
        if outcome == "committed" {
            return Ok(());
        }
        let mut line = json!({ "line": number, "outcome": outcome });
        if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
            line.extend(fields);
        }
        self.not_committed.push(line);
        Ok(())
    }

    fn count(&self, outcome: &str) -> u64 {
        self.counts[place(outcome)]
    }

    /// How many lines were kept out since they say what was forgotten.
    fn blocked_by_tombstone(&self) -> u64 {
        let by = [Reason::MemoryDeleted, Reason::BlockedByTombstone].map(Reason::code);
        let is_blocked = |line: &&Value| line["reason"].as_str().is_some_and(|reason| by.contains(&reason));
        self.not_committed.iter().filter(is_blocked).count() as u64
    }

    fn not_taken(&self) -> u64 {
        ["rejected", "conflict", "invalid"].iter().map(|outcome| self.count(outcome)).sum()
    }
}

fn place(outcome: &str) -> usize {
    OUTCOMES.iter().position(|known| *known == outcome).unwrap_or(OUTCOMES.len() - 1)
}

fn ids(record: &Record) -> Value {
    json!({ "memory_id": record.memory_id.as_str(), "record_id": record.record_id.as_str() })
}
