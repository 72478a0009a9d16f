//! What a process of the soak does: threads that do a little of everything, and say what they are about to do and how
//! it went. Any outcome that is not documented ends the process with a line that says so.

use std::collections::HashSet;
use std::io::stdin;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use recordari::{
    Candidate, Filter, Forget, Forgotten, HashingEmbedder, Memory, MemoryId, Mode, Options, Outcome,
    PageRequest, Principal, Reason, Selector, StateFilter, Written,
};

use super::{COUNTERS, PROJECTS, THREADS, counter_content, counter_subject, stands_at, word_of};
use crate::child::{candidate, folder, say, writer};
use crate::numbers::Numbers;
use crate::world::{by, correction, someone};

/// A memory that this thread alone changes.
struct Note {
    word: String,
    content: String,
    written: Written,
}

struct Worker<'m> {
    memory: &'m Memory,
    name: String,
    mei: Principal,
    numbers: Numbers,
    counters: &'m [MemoryId],
    /// The highest that each counter was seen at.
    seen: [u64; COUNTERS],
    kept: Vec<Note>,
    gone: Vec<Note>,
    gone_words: HashSet<String>,
    made: u64,
}

/// Not a test by itself: what the processes do that the soak starts.
#[test]
#[ignore = "run by other tests, as a process of its own"]
fn take_part() {
    let Some(folder) = folder() else { return };
    let mut line = String::new();
    stdin().read_line(&mut line).unwrap();
    let words: Vec<&str> = line.trim_end().split('\t').collect();
    let [name, millis, background, seed] = words[..] else { panic!("{words:?}") };
    let millis: u64 = millis.parse().unwrap();
    let seed: u64 = seed.parse().unwrap();
    let options = Options {
        embedder: Some(Arc::new(HashingEmbedder::new(256).unwrap())),
        background: background == "background",
        cipher: crate::world::cipher(),
        ..Options::new(folder)
    };
    let memory = match Memory::open(options) {
        Ok((memory, _)) => memory,
        Err(error) => return say(&format!("failed\topening: {error}")),
    };
    let counters = counters(&memory);
    let end = Instant::now() + Duration::from_millis(millis);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (memory, counters) = (&memory, &counters);
            let mut worker = Worker::new(memory, counters, name, thread, seed);
            scope.spawn(move || {
                let work = AssertUnwindSafe(|| {
                    while Instant::now() < end {
                        worker.step();
                    }
                });
                if let Err(panic) = catch_unwind(work) {
                    let said = panic.downcast_ref::<String>().map(String::as_str);
                    let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
                    say(&format!("failed\t{}", said.replace('\n', " ")));
                }
            });
        }
    });
    drop(memory);
    say("end");
}

/// The memories that everybody counts in, in order.
fn counters(memory: &Memory) -> Vec<MemoryId> {
    let find = |number| {
        let filter = Filter::SubjectPrefix(counter_subject(number));
        let page = PageRequest { limit: 1, cursor: None };
        let mut page = memory.list(&writer(), &filter, &StateFilter::Current, &page).unwrap();
        page.records.remove(0).memory_id
    };
    (0..COUNTERS).map(find).collect()
}

impl<'m> Worker<'m> {
    fn new(
        memory: &'m Memory,
        counters: &'m [MemoryId],
        process: &str,
        thread: usize,
        seed: u64,
    ) -> Worker<'m> {
        let letter = char::from(b'a' + thread as u8);
        Worker {
            memory,
            name: format!("{process}{letter}"),
            mei: someone("acme", "mei", Some(PROJECTS[thread % PROJECTS.len()])),
            numbers: Numbers::new(seed + thread as u64),
            counters,
            seen: [0; COUNTERS],
            kept: Vec::new(),
            gone: Vec::new(),
            gone_words: HashSet::new(),
            made: 0,
        }
    }

    fn step(&mut self) {
        match self.numbers.below(1000) {
            0..300 => self.count(),
            300..500 => self.remember(),
            500..540 => self.remember_all(),
            540..600 => self.correct(),
            600..612 => self.forget(),
            612..615 => self.forget_all(),
            615..820 => self.recall(),
            820..870 => self.recall_what_is_gone(),
            870..920 => self.list(),
            920..970 => self.history(),
            970..980 => self.look_around(),
            980..990 => self.index(),
            990..992 => self.rebuild(),
            992..995 => self.verify(),
            _ => std::thread::yield_now(),
        }
    }

    fn will(&self, what: &str, names: &str) {
        say(&format!("will\t{}\t{what}\t{names}", self.name));
    }

    fn did(&self, how: &str) {
        say(&format!("did\t{}\t{how}", self.name));
    }

    /// A word that nobody else uses, and that neither its letters nor its stem share with another.
    fn word(&mut self) -> String {
        self.made += 1;
        let mut digits = String::new();
        let mut rest = self.made;
        while rest > 0 {
            digits.push(char::from(b"bcdfghklmn"[(rest % 10) as usize]));
            digits.push('o');
            rest /= 10;
        }
        format!("{}q{digits}x", self.name)
    }

    /// A text about a word that is like no other, so that nothing else is as near in meaning.
    fn about(&mut self, does: &str, word: &str) -> String {
        let mut text = format!("{does} {word} beside");
        for _ in 0..5 {
            text.push(' ');
            for _ in 0..3 {
                text.push(char::from(b"bcdfghklmnprstvz"[self.numbers.below(16)]));
                text.push(char::from(b"aeiou"[self.numbers.below(5)]));
            }
        }
        text
    }

    fn said(&self, content: &str) -> Candidate {
        Candidate { observed_at: Some(self.memory.now()), ..candidate(None, content, &self.name) }
    }

    fn any_kept(&mut self) -> Option<usize> {
        (!self.kept.is_empty()).then(|| self.numbers.below(self.kept.len()))
    }

    /// Reads a counter and puts one more in its place, if it is still what was read.
    fn count(&mut self) {
        let number = self.numbers.below(COUNTERS);
        let seen = self.memory.get(&self.mei, &self.counters[number]).unwrap().expect("a counter is there");
        let value = stands_at(&seen.content);
        assert!(value >= self.seen[number], "counter {number} went back from {}", self.seen[number]);
        assert_eq!(u64::from(seen.version), value + 1, "counter {number}");
        self.made += 1;
        let tag = format!("{}-{}", self.name, self.made);
        self.will("count", &format!("{number} {tag}"));
        let expected = Written {
            record_id: seen.record_id.clone(),
            memory_id: seen.memory_id.clone(),
            version: seen.version,
        };
        let content = counter_content(number, value + 1, &tag);
        let correction = correction(&expected, &content, &tag, self.memory.now());
        match self.memory.correct(&writer(), &correction).unwrap() {
            Some(Outcome::Corrected(written)) => {
                assert_eq!(written.version, seen.version + 1);
                self.seen[number] = value + 1;
                self.did("counted");
            }
            Some(Outcome::Conflict(Reason::StaleExpectedRecord, Some(current))) => {
                assert!(current.version > seen.version, "a conflict with what was read");
                self.seen[number] = stands_at(&current.content);
                self.did("conflict");
            }
            other => panic!("counting: {other:?}"),
        }
    }

    fn remember(&mut self) {
        let word = self.word();
        let content = self.about("keeps", &word);
        self.will("remember", &word);
        let candidate = self.said(&content);
        let Outcome::Committed(written) =
            self.memory.remember_once(&self.mei, &candidate, Some(&word)).unwrap()
        else {
            panic!("{word} was not committed");
        };
        self.did("remembered");
        if self.made.is_multiple_of(4) {
            let again = self.memory.remember_once(&self.mei, &candidate, Some(&word)).unwrap();
            assert_eq!(again, Outcome::Idempotent(written.clone(), None), "{word} again");
            self.did("repeated");
        }
        self.kept.push(Note { word, content, written });
    }

    fn remember_all(&mut self) {
        let words: Vec<String> = (0..5).map(|_| self.word()).collect();
        let contents: Vec<String> = words.iter().map(|word| self.about("keeps", word)).collect();
        let batch: Vec<Candidate> = contents.iter().map(|content| self.said(content)).collect();
        self.will("remember", &words.join(" "));
        let outcomes = self.memory.remember_all(&self.mei, &batch).unwrap();
        for ((word, content), outcome) in words.into_iter().zip(contents).zip(outcomes) {
            let Outcome::Committed(written) = outcome.unwrap() else { panic!("{word} was not committed") };
            self.kept.push(Note { word, content, written });
        }
        self.did("remembered together");
    }

    fn correct(&mut self) {
        let Some(which) = self.any_kept() else { return };
        let word = self.kept[which].word.clone();
        let content = self.about("moved", &word);
        let note = &self.kept[which];
        self.will("correct", &format!("{} {}", note.word, note.written.version));
        let correction = correction(&note.written, &content, &self.name, self.memory.now());
        let Some(Outcome::Corrected(written)) = self.memory.correct(&self.mei, &correction).unwrap() else {
            panic!("nobody else corrects {}", note.word);
        };
        self.did("corrected");
        let note = &mut self.kept[which];
        (note.content, note.written) = (content, written);
    }

    fn forget(&mut self) {
        let Some(which) = self.any_kept() else { return };
        let note = self.kept.swap_remove(which);
        self.will("forget", &note.word);
        let request = Forget::new(Selector::Memory(note.written.memory_id.clone()), "asked for");
        let how = came_to(&self.memory.forget(&self.mei, &request).unwrap());
        self.did(how);
        assert_eq!(self.memory.get(&self.mei, &note.written.memory_id).unwrap(), None);
        self.bury(note);
    }

    fn forget_all(&mut self) {
        let mut notes = Vec::new();
        while notes.len() < 3
            && let Some(which) = self.any_kept()
        {
            notes.push(self.kept.swap_remove(which));
        }
        if notes.is_empty() {
            return;
        }
        let words: Vec<&str> = notes.iter().map(|note| note.word.as_str()).collect();
        self.will("forget", &words.join(" "));
        let requests: Vec<Forget> = notes
            .iter()
            .map(|note| Forget::new(Selector::Memory(note.written.memory_id.clone()), "asked for"))
            .collect();
        let requests: Vec<(&Principal, &Forget)> =
            requests.iter().map(|request| (&self.mei, request)).collect();
        let mut how = "forgotten";
        for forgotten in self.memory.forget_all(&requests).unwrap() {
            let came_to = came_to(&forgotten.unwrap());
            how = if came_to == "forgotten" { how } else { came_to };
        }
        self.did(how);
        notes.into_iter().for_each(|note| self.bury(note));
    }

    fn bury(&mut self, note: Note) {
        self.gone_words.insert(note.word.clone());
        self.gone.push(note);
    }

    fn recall(&mut self) {
        let Some(which) = self.any_kept() else { return };
        let mode = Mode::ALL[self.numbers.below(Mode::ALL.len())];
        let content = &self.kept[which].content;
        let answer = self.memory.recall(&self.mei, &by(mode, content)).unwrap();
        assert!(
            answer.hits.iter().any(|hit| hit.record.content == *content),
            "{} was not recalled by {}",
            self.kept[which].word,
            mode.code()
        );
        self.assert_nothing_is_back(answer.hits.iter().map(|hit| hit.record.content.as_str()));
        self.did("recalled");
    }

    fn recall_what_is_gone(&mut self) {
        if self.gone.is_empty() {
            return;
        }
        let which = self.numbers.below(self.gone.len());
        let mode = Mode::ALL[self.numbers.below(Mode::ALL.len())];
        let answer = self.memory.recall(&self.mei, &by(mode, &self.gone[which].content)).unwrap();
        self.assert_nothing_is_back(answer.hits.iter().map(|hit| hit.record.content.as_str()));
        let gone = &self.gone[which].written.memory_id;
        assert!(self.memory.forgotten(&self.mei, gone).unwrap().is_some());
        self.did("recalled");
    }

    fn assert_nothing_is_back<'t>(&self, contents: impl Iterator<Item = &'t str>) {
        for content in contents {
            assert!(!self.gone_words.contains(word_of(content)), "{content} was forgotten");
        }
    }

    fn list(&mut self) {
        let filter = match self.numbers.below(3) {
            0 => Filter::All(Vec::new()),
            1 => Filter::Source(self.name.clone()),
            _ => Filter::Contains("keeps".to_owned()),
        };
        let mut request = PageRequest { limit: 20, cursor: None };
        let mut seen = HashSet::new();
        for _ in 0..2 {
            let page = self.memory.list(&self.mei, &filter, &StateFilter::Current, &request).unwrap();
            assert!(page.records.len() as u64 <= page.total);
            for record in &page.records {
                assert!(seen.insert(record.record_id.clone()), "{} is on two pages", record.content);
            }
            self.assert_nothing_is_back(page.records.iter().map(|record| record.content.as_str()));
            let Some(cursor) = page.cursor else { break };
            request.cursor = Some(cursor);
        }
        self.did("listed");
    }

    fn history(&mut self) {
        // Those of counters grow long.
        if self.numbers.below(20) == 0 {
            let number = self.numbers.below(COUNTERS);
            let history = self.memory.history(&self.mei, &self.counters[number]).unwrap();
            for (version, entry) in (0..).zip(&history) {
                let record = entry.record.as_ref().expect("nobody forgets a counter");
                assert_eq!((stands_at(&record.content), u64::from(entry.version)), (version, version + 1));
            }
        } else if let Some(which) = self.any_kept() {
            let note = &self.kept[which];
            let history = self.memory.history(&self.mei, &note.written.memory_id).unwrap();
            assert_eq!(history.len(), note.written.version as usize, "versions of {}", note.word);
            let last = history.last().and_then(|entry| entry.record.as_ref()).unwrap();
            assert_eq!(last.content, note.content);
        }
        self.did("looked into history");
    }

    fn look_around(&mut self) {
        self.memory.stats(&self.mei).unwrap();
        self.memory.count_deletions(&self.mei).unwrap();
        self.memory.waiting(&self.mei, 10).unwrap();
        self.memory.traces(&self.mei, 10).unwrap();
        self.did("looked around");
    }

    fn index(&self) {
        let done = self.memory.catch_up(&mut |_, _| {}).unwrap();
        self.did(if done { "caught up" } else { "index busy" });
    }

    fn rebuild(&self) {
        let done = self.memory.rebuild(&mut |_, _| {}).unwrap();
        self.did(if done { "rebuilt" } else { "index busy" });
    }

    fn verify(&self) {
        assert_eq!(self.memory.verify().unwrap(), [], "while others write");
        self.did("verified");
    }
}

/// What a deletion came to; only what others hold may keep it from being finished.
fn came_to(forgotten: &Forgotten) -> &'static str {
    match forgotten {
        Forgotten::Done(_) => "forgotten",
        Forgotten::Incomplete(receipt) => {
            let others = [Reason::ReadersHoldFiles, Reason::IndexBusy, Reason::CheckpointBusy];
            assert!(receipt.left.iter().all(|(reason, _)| others.contains(reason)), "{receipt:?}");
            "to be cleaned up"
        }
        other => panic!("forgetting: {other:?}"),
    }
}
