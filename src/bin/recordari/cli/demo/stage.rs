//! The stage of the story: a temporary store, a clock that is set by hand, and a teller who checks what it
//! says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use recordari::embed::ModelSpec;
use recordari::{Embedder, ManualClock, Memory, Namespace, Options, Principal, Timestamp};
use serde_json::{Value, json};

use super::words::Words;
use crate::cli::out::shown;
use crate::cli::{Failure, Out};
use crate::lazy::Lazy;

/// Where the story is played.
pub struct Stage<'a> {
    /// The memory.
    pub memory: Memory,
    /// What is said.
    pub words: &'static Words,
    clock: Arc<ManualClock>,
    // Removed after the memory has been closed: fields are dropped in this order.
    folder: Temporary,
    out: &'a mut Out,
    day: u32,
    claims: Vec<Value>,
    failed: usize,
}

impl<'a> Stage<'a> {
    /// Opens a new store in a temporary folder.
    pub fn open(words: &'static Words, out: &'a mut Out) -> Result<Stage<'a>, Failure> {
        let folder = Temporary::new();
        let clock = Arc::new(ManualClock::at(Timestamp::parse("the day", "2026-03-01T10:00:00Z")?));
        let model = Lazy::open(&ModelSpec::Embedded)?;
        let (memory, _) = Memory::open(Options {
            embedder: model.map(|model| model as Arc<dyn Embedder>),
            clock: clock.clone(),
            background: false,
            ..Options::new(folder.path())
        })?;
        Ok(Stage { memory, words, clock, folder, out, day: 0, claims: Vec::new(), failed: 0 })
    }

    /// The folder of the store.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Begins a day.
    pub fn day(&mut self, day: u32, heading: &str) -> Result<(), Failure> {
        self.day = day;
        self.clock.set(Timestamp::parse("the day", &format!("2026-03-0{day}T10:00:00Z"))?);
        self.tell("", "")?;
        self.tell("", heading)
    }

    /// Tells something, line by line.
    pub fn tell(&mut self, margin: &str, text: &str) -> Result<(), Failure> {
        if self.out.is_json() {
            return Ok(());
        }
        for line in text.split('\n') {
            self.out.line(format!("{margin}{}", shown(line)).trim_end())?;
        }
        Ok(())
    }

    /// Tells a claim and whether it holds.
    pub fn claim(&mut self, claim: &str, holds: bool) -> Result<(), Failure> {
        self.failed += usize::from(!holds);
        self.claims.push(json!({ "day": self.day, "claim": claim, "holds": holds }));
        let mark = if holds { '✓' } else { '✗' };
        self.tell("", &format!("  {mark} {claim}"))
    }

    /// Ends the story; the exit code.
    pub fn close(mut self) -> Result<u8, Failure> {
        let ending = if self.failed == 0 { self.words.ending } else { self.words.broken };
        self.tell("", "")?;
        self.tell("", ending)?;
        if self.out.is_json() {
            let outcome = if self.failed == 0 { "shown" } else { "failed" };
            self.out.json(&json!({ "outcome": outcome, "reason": null, "claims": self.claims }))?;
        }
        Ok(u8::from(self.failed > 0))
    }
}

/// Somebody in a tenant, perhaps in a project.
pub fn someone(tenant: &str, user: &str, project: Option<&str>) -> Result<Principal, Failure> {
    Ok(Principal::new(Namespace::from_parts(tenant, Some(user), project, None)?))
}

/// A folder that goes with its owner.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Temporary {
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = nanos.map_or(0, |since| since.as_nanos());
        Temporary(std::env::temp_dir().join(format!("recordari-demo-{}-{nanos}", std::process::id())))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What can't be removed is left to the system, which empties this place.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
