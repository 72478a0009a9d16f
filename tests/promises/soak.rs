//! Two processes of eight threads do everything at once for a while, and one of them is killed in the middle: no update
//! is lost, nothing fails, and what is derived is in the end what a rebuild makes.

mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use recordari::{Filter, Memory, Mode, Options, PageRequest, Reach, Record, StateFilter, SystemClock};

use crate::child::{Child, writer};
use crate::remains::Canary;
use crate::world::{World, by, comparable, someone};

/// How many seconds the work takes, unless `RECORDARI_SOAK` says another number.
const SECONDS: u64 = 6;
/// The threads of each process.
const THREADS: usize = 8;
/// The memories that everybody counts in.
const COUNTERS: usize = 8;
/// Where the threads write, each in one of them, beside threads of both processes.
const PROJECTS: [&str; 4] = ["site", "app", "docs", "shop"];
/// Nobody has to wait so long for a process that is gone.
const PATIENCE: Duration = Duration::from_secs(60);

fn counter_subject(number: usize) -> String {
    format!("counter {number}.")
}

/// Who counted is in it, so that no two say the same.
fn counter_content(number: usize, value: u64, tag: &str) -> String {
    format!("counter {number} stands at {value} by {tag}")
}

fn stands_at(content: &str) -> u64 {
    content.split_whitespace().nth(4).and_then(|value| value.parse().ok()).expect("a counter's content")
}

/// The word that a note is about.
fn word_of(content: &str) -> &str {
    content.split_whitespace().nth(1).unwrap_or_default()
}

/// What must be so in the end, as far as it was said.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<String, u64>,
    /// By thread, what it is doing.
    under_way: BTreeMap<String, (String, String)>,
    /// By word, how often it was corrected.
    there: BTreeMap<String, u32>,
    gone: BTreeSet<String>,
    /// Who counted, by counter.
    counted: BTreeMap<usize, BTreeSet<String>>,
    /// What was under way when its process was killed.
    unknown: Vec<(String, String)>,
}

impl Tally {
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split('\t').collect();
        match words[..] {
            ["will", thread, what, names] => {
                let under_way = (what.to_owned(), names.to_owned());
                assert_eq!(self.under_way.insert(thread.to_owned(), under_way), None);
            }
            ["did", thread, how] => {
                *self.counts.entry(how.to_owned()).or_insert(0) += 1;
                if let Some((what, names)) = self.under_way.remove(thread) {
                    self.settle(&what, &names, how);
                }
            }
            ["end"] => {}
            _ => panic!("{line}"),
        }
    }

    fn settle(&mut self, what: &str, names: &str, how: &str) {
        let mut words = names.split(' ');
        match what {
            "count" if how == "counted" => {
                let counter = words.next().unwrap().parse().unwrap();
                let is_new =
                    self.counted.entry(counter).or_default().insert(words.next().unwrap().to_owned());
                assert!(is_new);
            }
            "remember" => self.there.extend(words.map(|word| (word.to_owned(), 0))),
            "correct" => *self.there.get_mut(words.next().unwrap()).unwrap() += 1,
            "forget" => words.for_each(|word| {
                self.there.remove(word);
                self.gone.insert(word.to_owned());
            }),
            _ => {}
        }
    }

    /// A process was killed: what it had begun has happened as a whole or not at all.
    fn lose(&mut self, process: &str) {
        let lost = self.under_way.extract_if(.., |thread, _| thread.starts_with(process));
        self.unknown.extend(lost.map(|(_, under_way)| under_way));
    }

    fn count(&self, how: &str) -> u64 {
        self.counts.get(how).copied().unwrap_or(0)
    }

    fn lost(&self, what: &str) -> impl Iterator<Item = Vec<&str>> {
        self.unknown.iter().filter(move |lost| lost.0 == what).map(|lost| lost.1.split(' ').collect())
    }
}

fn start(folder: &Path, name: &str, time: Duration, background: bool, seed: u64) -> Child {
    let mut child = Child::start_as("soak::work::take_part", folder);
    let background = if background { "background" } else { "alone" };
    child.send(&[name, &time.as_millis().to_string(), background, &seed.to_string()]);
    child
}

/// Hears a process out, to the end or until it is killed at that instant.
fn hear_out(child: &mut Child, tally: &Mutex<Tally>, kill_at: Option<Instant>) {
    let mut is_killed = false;
    let mut last = String::new();
    while let Some(line) = child.next() {
        tally.lock().unwrap().hear(&line);
        if kill_at.is_some_and(|at| !is_killed && Instant::now() > at) {
            child.kill();
            is_killed = true;
        }
        last = line;
    }
    assert_eq!(last == "end", !is_killed, "a process ended too early or too late");
}

/// Waits until the processes that are left have brought the index up to date so many times more.
fn wait_for_the_index(tally: &Mutex<Tally>, times: u64) {
    let caught_up = || tally.lock().unwrap().count("caught up");
    let (before, started) = (caught_up(), Instant::now());
    while caught_up() < before + times {
        assert!(started.elapsed() < PATIENCE, "nobody has taken over the index");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn open(world: &World) -> Memory {
    let options = Options { clock: Arc::new(SystemClock), ..world.options() };
    Memory::open(options).unwrap().0
}

/// Everything in force, in all projects.
fn all(memory: &Memory) -> Vec<Record> {
    let everybody = writer().with_reach(Reach::Below);
    let (mut records, mut page) = (Vec::new(), PageRequest { limit: 1000, cursor: None });
    loop {
        let found = memory.list(&everybody, &Filter::All(Vec::new()), &StateFilter::Current, &page).unwrap();
        records.extend(found.records);
        match found.cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return records,
        }
    }
}

/// Every success is in its counter once, and nothing else.
fn check_counters(memory: &Memory, records: &[Record], tally: &Tally) {
    let mei = writer();
    for number in 0..COUNTERS {
        let subject = counter_subject(number);
        let counter = records.iter().find(|record| record.subject.as_ref() == Some(&subject)).unwrap();
        let history = memory.history(&mei, &counter.memory_id).unwrap();
        let mut said: BTreeSet<String> = BTreeSet::new();
        for (value, entry) in (0..).zip(&history) {
            let record = entry.record.as_ref().unwrap();
            assert_eq!(stands_at(&record.content), value, "counter {number}");
            if value > 0 {
                said.insert(record.evidence[0].source.id.clone());
            }
        }
        assert_eq!(said.len() as u64, stands_at(&counter.content), "counter {number}");
        let counted = tally.counted.get(&number).cloned().unwrap_or_default();
        let mut may_be_there = tally.lost("count").map(|lost| lost[1]);
        assert_eq!(counted.difference(&said).next(), None, "counter {number} lost an update");
        let unsaid: Vec<&String> = said.difference(&counted).collect();
        assert!(
            unsaid.iter().all(|tag| may_be_there.any(|lost| lost == *tag)),
            "counter {number} was counted up by nobody: {unsaid:?}"
        );
    }
}

/// Every note that was acknowledged is there as it was left, and none that was forgotten.
fn check_notes(records: &[Record], tally: &Tally) {
    let mut found: BTreeMap<&str, &Record> = BTreeMap::new();
    for record in records.iter().filter(|record| record.subject.is_none()) {
        let word = word_of(&record.content);
        assert!(found.insert(word, record).is_none(), "{word} is there twice");
        assert!(!tally.gone.contains(word), "{word} was forgotten");
    }
    let half_forgotten: BTreeSet<&str> = tally.lost("forget").flatten().collect();
    let half_corrected: BTreeSet<&str> = tally.lost("correct").map(|lost| lost[0]).collect();
    for (word, corrections) in &tally.there {
        let Some(record) = found.remove(word.as_str()) else {
            assert!(half_forgotten.contains(word.as_str()), "{word} was acknowledged and is lost");
            continue;
        };
        let extra = record.version - 1 - corrections;
        let expected = u32::from(half_corrected.contains(word.as_str()));
        assert!(extra <= expected, "{word} has version {} after {corrections} corrections", record.version);
    }
    for batch in tally.lost("remember") {
        let there = batch.iter().filter(|word| found.remove(**word).is_some()).count();
        assert!(there == 0 || there == batch.len(), "{there} of {batch:?}");
    }
    assert_eq!(found.keys().next(), None, "nobody wrote that");
}

/// What some questions are answered, in every mode.
fn answers(memory: &Memory, words: &[&String]) -> Vec<String> {
    let mut answers = Vec::new();
    for project in PROJECTS {
        let mei = someone("acme", "mei", Some(project));
        for mode in Mode::ALL {
            for text in words.iter().map(|word| word.as_str()).chain(["counter stands at", "keeps beside"]) {
                answers.push(comparable(&memory.recall(&mei, &by(*mode, text)).unwrap()));
            }
        }
    }
    answers
}

#[test]
fn everything_at_once_by_two_processes_loses_no_update_and_a_killed_one_is_replaced() {
    let seconds = std::env::var("RECORDARI_SOAK").ok().map_or(SECONDS, |seconds| seconds.parse().unwrap());
    let seed = std::env::var("RECORDARI_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seed = seed.unwrap_or(u64::from(std::process::id()) << 20);
    let time = Duration::from_secs(seconds);
    let mut world = World::new();
    for number in 0..COUNTERS {
        let content = counter_content(number, 0, "nobody");
        world.say(&writer(), Some(&counter_subject(number)), &content, "start");
    }
    world.close();
    let tally = Mutex::new(Tally::default());
    let started = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| hear_out(&mut start(world.path(), "one", time, true, seed), &tally, None));
        scope.spawn(|| {
            let half = started + time / 2;
            hear_out(&mut start(world.path(), "two", time * 2, true, seed + 1000), &tally, Some(half));
            tally.lock().unwrap().lose("two");
            // The lock of the index moves to the process that is left. What it said before this may be heard only now.
            if started.elapsed() < time * 3 / 4 {
                wait_for_the_index(&tally, 2);
            }
            let left = time.saturating_sub(started.elapsed());
            hear_out(&mut start(world.path(), "three", left, false, seed + 2000), &tally, None);
        });
    });
    let took = started.elapsed();
    let tally = tally.into_inner().unwrap();
    assert_eq!(tally.under_way, BTreeMap::new());

    let memory = open(&world);
    let records = all(&memory);
    check_counters(&memory, &records, &tally);
    check_notes(&records, &tally);
    assert_eq!(memory.count_deletions(&writer().with_reach(Reach::Below)).unwrap().open, 0);
    assert_eq!(memory.verify().unwrap(), []);
    let gone: Vec<&str> = tally.gone.iter().map(String::as_str).collect();
    assert_eq!(Canary::new(&gone).remains(world.path()), [].into());

    assert!(memory.catch_up(&mut |_, _| {}).unwrap());
    let words: Vec<&String> = tally.there.keys().step_by(tally.there.len() / 10 + 1).collect();
    let before = answers(&memory, &words);
    assert!(memory.rebuild(&mut |_, _| {}).unwrap());
    assert!(answers(&memory, &words) == before, "a rebuild changed an answer");
    assert_eq!(memory.verify().unwrap(), []);

    let operations: u64 = tally.counts.values().sum();
    let counts: Vec<String> = tally.counts.iter().map(|(how, count)| format!("{count} {how}")).collect();
    println!(
        "RECORDARI_SEED={seed}: {:.1} s, 2 processes of {THREADS} threads, one killed and replaced: {operations} operations \
         ({:.0} a second): {}; no update lost, {} memories and {} forgotten as they should be, the index equals a rebuild",
        took.as_secs_f64(),
        operations as f64 / took.as_secs_f64(),
        counts.join(", "),
        tally.there.len(),
        tally.gone.len(),
    );
    for needed in ["counted", "conflict", "recalled", "caught up"] {
        assert!(tally.count(needed) > 0, "{needed} did not occur");
    }
}

#[test]
fn the_lock_of_the_index_moves_on_when_its_holder_is_killed() {
    let world = World::new();
    let written = world.say(&writer(), None, "keeps the ladder in the shed", "chat");
    let mut child = Child::start(world.path());
    assert_eq!(child.ask(&["hold_the_index"]), "holds");
    // Recall needs no lock, and neither do writes; the index itself is busy.
    assert_eq!(world.contents(&writer(), "ladder"), ["keeps the ladder in the shed"]);
    world.say(&writer(), None, "lends the ladder to the neighbour", "chat");
    assert!(!world.memory().catch_up(&mut |_, _| {}).unwrap());
    assert!(!world.memory().rebuild(&mut |_, _| {}).unwrap());
    let forgotten = world.forget_memory(&writer(), &written.memory_id);
    assert_eq!(forgotten.code(), "incomplete");
    child.kill();
    drop(child);
    world.drain();
    assert_eq!(world.memory().resume_deletions().unwrap(), 0);
    assert_eq!(world.contents(&writer(), "ladder"), ["lends the ladder to the neighbour"]);
    assert_eq!(world.memory().stats(&writer()).unwrap()["keyword_index"]["applied_writes"], 3);
    world.assert_sound();
}
