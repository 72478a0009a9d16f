//! A second process: this test binary itself, which does what it is told over its standard input, line by
//! line, and answers each line with one of its own.

use std::env;
use std::io::{BufRead, BufReader, Lines, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use recordari::{
    Forget, HashingEmbedder, ManualClock, Memory, MemoryId, Mode, Options, Outcome, Principal, RecordId,
    Selector, Written,
};

use crate::world::{at, by, contents, correction, someone};

const FOLDER: &str = "RECORDARI_TEST_FOLDER";
/// What it runs where nothing else is said.
const ACT: &str = "child::act";
/// What every line of the protocol begins with: the test harness prints lines of its own.
pub const MARK: char = '\u{1}';

/// A running second process; killed with it.
pub struct Child {
    process: std::process::Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Child {
    pub fn start(folder: &Path) -> Child {
        Child::start_as(ACT, folder)
    }

    /// One that does what another test of this binary says.
    pub fn start_as(test: &str, folder: &Path) -> Child {
        Child::start_by(Command::new(env::current_exe().unwrap()), test, folder)
    }

    /// The same under a tracer: a command that runs what is appended to it.
    pub fn start_under(mut tracer: Command, folder: &Path) -> Child {
        tracer.arg(env::current_exe().unwrap());
        Child::start_by(tracer, ACT, folder)
    }

    fn start_by(mut command: Command, test: &str, folder: &Path) -> Child {
        let mut process = command
            .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap()).lines();
        Child { process, input, output }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a command without waiting for what it answers.
    pub fn send(&mut self, words: &[&str]) {
        writeln!(self.input, "{}", words.join("\t")).unwrap();
        self.input.flush().unwrap();
    }

    /// The next line that it says; none when it has ended.
    pub fn next(&mut self) -> Option<String> {
        self.output
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once(MARK).map(|(_, said)| said.to_owned()))
    }

    /// Sends a command and waits for the answer.
    pub fn ask(&mut self, words: &[&str]) -> String {
        self.send(words);
        self.next().expect("the process answers")
    }

    /// Lets it end by itself, if it has not ended yet.
    pub fn leave(&mut self) {
        let _ = writeln!(self.input, "leave").and_then(|()| self.input.flush());
        let _ = self.process.wait();
    }

    /// Ends it as `kill -9` would.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The person that a child acts for.
pub fn writer() -> Principal {
    someone("acme", "mei", None)
}

/// Not a test by itself: what the process does that other tests start.
#[test]
#[ignore = "run by other tests, as a process of its own"]
fn act() {
    let Some(folder) = folder() else { return };
    let options = Options {
        embedder: Some(Arc::new(HashingEmbedder::new(256).unwrap())),
        clock: Arc::new(ManualClock::at(at("2026-03-01T10:00:00Z"))),
        background: false,
        cipher: crate::world::cipher(),
        ..Options::new(folder)
    };
    let memory = match Memory::open(options) {
        Ok((memory, _)) => memory,
        Err(error) => return say(&format!("unopened\t{error}")),
    };
    for line in stdin().lines().map_while(Result::ok) {
        if line == "leave" {
            break;
        }
        let words: Vec<&str> = line.split('\t').collect();
        obey(&memory, &words);
    }
}

/// The folder of the store, in a process that was started to work on it.
pub fn folder() -> Option<PathBuf> {
    env::var_os(FOLDER).map(PathBuf::from)
}

/// Says a line to who started this process.
pub fn say(text: &str) {
    // One write, so that a line is whole or absent when the process is killed.
    let mut out = stdout().lock();
    out.write_all(format!("\n{MARK}{text}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

fn obey(memory: &Memory, words: &[&str]) {
    let mei = writer();
    match words {
        ["remember", subject, content, source] => {
            let subject = (*subject != "-").then_some(*subject);
            let outcome = memory.remember(&mei, &candidate(subject, content, source)).unwrap();
            let id = outcome.written().map(|written| format!("{}\t{}", written.memory_id, written.record_id));
            say(&format!("{}\t{}", outcome.code(), id.unwrap_or_default()));
        }
        ["correct", memory_id, record_id, content] => {
            let seen = Written {
                memory_id: MemoryId::new(*memory_id),
                record_id: RecordId::new(*record_id),
                version: 1,
            };
            let outcome = memory.correct(&mei, &correction(&seen, content, "child", memory.now())).unwrap();
            say(outcome.map_or("none", |outcome| outcome.code()));
        }
        ["recall", text] => say(&contents(&memory.recall(&mei, &by(Mode::Hybrid, text)).unwrap()).join("\t")),
        ["backup", folder] => say(&told(memory.backup(Path::new(folder)).map(|_| "ok"))),
        ["restore", backup, folder, ledger] => {
            let from =
                recordari::RestoreFrom { ledger: Some(PathBuf::from(ledger)), ..crate::world::restoring() };
            let restored = recordari::restore(Path::new(backup), Path::new(folder), &from, memory.now());
            say(&told(restored.map(|_| "ok")));
        }
        ["catch_up"] => say(&memory.catch_up(&mut |_, _| {}).unwrap().to_string()),
        // Has the lock of the index from the first change on, and never lets go.
        ["hold_the_index"] => {
            let hold = &mut |_, _| {
                say("holds");
                std::thread::sleep(std::time::Duration::from_secs(600));
            };
            memory.catch_up(hold).unwrap();
        }
        ["write", count, name] => {
            for number in 0..count.parse::<u32>().unwrap() {
                let content = format!("{name} wrote entry {number}");
                let outcome = memory.remember(&mei, &candidate(None, &content, name)).unwrap();
                assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
            }
            say("done");
        }
        ["work"] => work(memory),
        #[cfg(target_os = "linux")]
        ["workday", day, base] => {
            crate::power_loss::workday::work(memory, day.parse().unwrap(), Path::new(base))
        }
        ["write_until_killed", round] => write_until_killed(memory, round),
        other => panic!("unknown command {other:?}"),
    }
}

/// How something went, in words.
fn told(done: recordari::Result<&'static str>) -> String {
    match done {
        Ok(how) => how.to_owned(),
        Err(error) => format!("failed\t{error}"),
    }
}

pub fn candidate(subject: Option<&str>, content: &str, source: &str) -> recordari::Candidate {
    recordari::Candidate {
        subject: subject.map(str::to_owned),
        source: Some(recordari::Source::parse(source)),
        observed_at: Some(at("2026-03-01T10:00:00Z")),
        authority: recordari::Authority::UserExplicit,
        ..recordari::Candidate::new(recordari::Kind::Semantic, content)
    }
}

/// How often a little of everything is done: some two hundred operations in all.
const ROUNDS_OF_WORK: u8 = 16;

/// Does a little of everything, whatever fails. Says what it is about to do, and `ok`, `failed` or, of a deletion that is
/// not cleaned up yet, `later`.
fn work(memory: &Memory) {
    let mei = writer();
    let told = |done| say(&told(done));
    for round in 0..ROUNDS_OF_WORK {
        let mut written: Vec<(String, Written)> = Vec::new();
        for item in 0..3 {
            let name = format!("quartz{}{}", letter(round), letter(item));
            say(&format!("remember\t{name}"));
            let content = format!("keeps {name} in the drawer");
            told(memory.remember(&mei, &candidate(None, &content, "child")).map(|outcome| {
                written.extend(outcome.written().map(|written| (name.clone(), written)));
                "ok"
            }));
        }
        let batch: Vec<_> = (0..5)
            .map(|item| {
                candidate(
                    None,
                    &format!("lends basalt{}{} to the neighbour", letter(round), letter(item)),
                    "child",
                )
            })
            .collect();
        say(&format!("batch\tbasalt{}", letter(round)));
        told(memory.remember_all(&mei, &batch).map(|outcomes| match outcomes.iter().all(Result::is_ok) {
            true => "ok",
            false => "failed",
        }));
        say("index");
        told(memory.catch_up(&mut |_, _| {}).map(|_| "ok"));
        for mode in [Mode::Keyword, Mode::Hybrid] {
            say("recall");
            told(memory.recall(&mei, &by(mode, "keeps quartz in the drawer")).map(|_| "ok"));
        }
        say("list");
        let page = recordari::PageRequest { limit: 10, cursor: None };
        let all = recordari::Filter::All(Vec::new());
        told(memory.list(&mei, &all, &recordari::StateFilter::Current, &page).map(|_| "ok"));
        if let Some((name, first)) = written.first() {
            say(&format!("forget\t{name}"));
            let request = Forget::new(Selector::Memory(first.memory_id.clone()), "asked for");
            told(memory.forget(&mei, &request).map(|done| match done {
                recordari::Forgotten::Done(_) => "ok",
                _ => "later",
            }));
        }
        if round == 1 || round == 9 {
            say("rebuild");
            told(memory.rebuild(&mut |_, _| {}).map(|_| "ok"));
        }
    }
    let Some(folder) = folder() else { return say("end") };
    say("backup");
    let backup = folder.with_extension("backup");
    let made = memory.backup(&backup).map(|_| "ok");
    let is_made = made.is_ok();
    told(made);
    if is_made {
        say("restore");
        let from = recordari::RestoreFrom { ledger: Some(folder.clone()), ..crate::world::restoring() };
        let restored = recordari::restore(&backup, &folder.with_extension("restored"), &from, memory.now());
        told(restored.map(|_| "ok"));
    }
    say("end");
}

/// Words with digits are found by their parts too, which others share.
pub fn letter(number: u8) -> char {
    char::from(b'k' + number)
}

/// Writes without end. Says what it is about to do before, and `done` after each acknowledgement.
fn write_until_killed(memory: &Memory, round: &str) {
    let mei = writer();
    let mut kept: Vec<Written> = Vec::new();
    for number in 0.. {
        match (number % 8, kept.last().cloned()) {
            (4, Some(last)) => {
                let content = format!("round {round} changed its note {number}");
                say(&format!("correct\t{}\t{content}", last.memory_id));
                let outcome = memory.correct(&mei, &correction(&last, &content, "child", memory.now()));
                *kept.last_mut().unwrap() = outcome.unwrap().unwrap().written().unwrap();
                say("done");
            }
            (5, _) => {
                let batch: Vec<_> = (0..5)
                    .map(|item| format!("round {round} batch {number} item {item}"))
                    .map(|content| candidate(None, &content, "child"))
                    .collect();
                say(&format!("batch\tround {round} batch {number} "));
                memory.remember_all(&mei, &batch).unwrap();
                say("done");
            }
            (7, Some(last)) if number % 16 == 7 => {
                say(&format!("forget\t{}", last.memory_id));
                let request = Forget::new(Selector::Memory(last.memory_id), "asked for");
                memory.forget(&mei, &request).unwrap();
                kept.pop();
                say("done");
            }
            // What is derived is written too while it is killed.
            (6, _) if number % 16 == 6 => drop(memory.catch_up(&mut |_, _| {}).unwrap()),
            (6, _) if number % 32 == 14 => drop(memory.rebuild(&mut |_, _| {}).unwrap()),
            _ => {
                let content = format!("round {round} took note {number}");
                say(&format!("remember\t{content}"));
                let outcome = memory.remember(&mei, &candidate(None, &content, "child")).unwrap();
                let written = outcome.written().unwrap();
                say(&format!("done\t{}", written.memory_id));
                kept.push(written);
            }
        }
    }
}
