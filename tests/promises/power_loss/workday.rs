//! What the processes do whose doings are recorded. Each says what it is about to do, with the words that it is about,
//! and `ok` when that is acknowledged.

use std::path::Path;

use recordari::{Forget, Forgotten, Memory, MemoryId, Mode, RestoreFrom, Selector, Written, restore};

use crate::child::{candidate, letter, say, writer};
use crate::world::{by, correction};

/// How many processes there are, one after the other.
pub const DAYS: u8 = 4;
/// Where the store lies, its backup, and what is restored from that.
pub const STORE: &str = "store";
pub const BACKUP: &str = "backup";
pub const RESTORED: &str = "restored";

/// Does some of everything. Every other process ends without closing the store.
pub fn work(memory: &Memory, day: u8, base: &Path) {
    let mei = writer();
    let word = |stone: &str, item: u8| format!("{stone}{}{}", letter(day), letter(item));
    let remember = |item: u8| {
        let name = word("quartz", item);
        say(&format!("remember\t{name}"));
        let content = format!("keeps {name} in the drawer");
        let outcome = memory.remember(&mei, &candidate(None, &content, "child")).unwrap();
        say("ok");
        outcome.written().unwrap()
    };
    let forget = |memory_id: &MemoryId, words: &[&str]| {
        say(&format!("forget\t{}", words.join("\t")));
        let request = Forget::new(Selector::Memory(memory_id.clone()), "asked for");
        let forgotten = memory.forget(&mei, &request).unwrap();
        assert!(matches!(forgotten, Forgotten::Done(_)), "{forgotten:?}");
        say("ok");
    };

    // Of yesterday, when the store was not closed and an index was half built.
    if day == 2 {
        let name = format!("quartz{}{}", letter(day - 1), letter(2));
        let found = memory.recall(&mei, &by(Mode::Keyword, &name)).unwrap();
        forget(&found.hits[0].record.memory_id, &[&name]);
    }
    let written: Vec<Written> = (0..3).map(remember).collect();
    let batch = word("basalt", 0);
    say(&format!("batch\t{batch}"));
    let together: Vec<_> = (0..5)
        .map(|item| candidate(None, &format!("lends {batch} to neighbour {}", letter(item)), "child"))
        .collect();
    assert!(memory.remember_all(&mei, &together).unwrap().iter().all(Result::is_ok));
    say("ok");
    let (before, after) = (word("quartz", 1), word("granite", 1));
    say(&format!("correct\t{before}\t{after}"));
    let moved = correction(&written[1], &format!("moved {after} to the shelf"), "child", memory.now());
    assert!(memory.correct(&mei, &moved).unwrap().unwrap().written().is_some());
    say("ok");
    say("index");
    assert!(memory.catch_up(&mut |_, _| {}).unwrap());
    say("ok");
    // Traces are written when somebody asks for one.
    memory.recall(&mei, &by(Mode::Hybrid, "what is in the drawer?")).unwrap();
    assert!(!memory.traces(&mei, 10).unwrap().is_empty());
    forget(&written[0].memory_id, &[&word("quartz", 0)]);
    remember(3);
    match day {
        1 => {
            say("rebuild");
            assert!(memory.rebuild(&mut |_, _| {}).unwrap());
            say("ok");
        }
        2 => {
            say("backup");
            memory.backup(&base.join(BACKUP)).unwrap();
            say("ok");
        }
        3 => {
            say("restore");
            let from = RestoreFrom { ledger: Some(base.join(STORE)), ..crate::world::restoring() };
            restore(&base.join(BACKUP), &base.join(RESTORED), &from, memory.now()).unwrap();
            say("ok");
        }
        _ => {}
    }
    if day > 0 {
        forget(&written[1].memory_id, &[&before, &after]);
    }
    say("end");
    if day % 2 == 1 {
        // In the middle of building the index anew, without closing the store.
        memory.rebuild(&mut |_, _| std::process::exit(0)).unwrap();
    }
}
