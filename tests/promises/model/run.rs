//! Does a history to a real store and to the reference model, and compares them after every step.

use std::collections::BTreeSet;
use std::path::Path;

use recordari::{
    Candidate, Cardinality, Forget, Memory, MemoryId, Mode, Namespace, Outcome, Policy, Principal, Reach,
    Reason, RecordId, RestoreFrom, Selector, Timestamp, restore,
};

use super::operations::{Operation, Said};
use super::reference::{Expected, Reference};
use crate::world::{World, at, by, comparable, correction, someone};

/// Words that share neither stems nor spelling.
const WORDS: [&str; 9] = [
    "harbour crane",
    "violin lesson",
    "tax form",
    "ginger tea",
    "snow boots",
    "rooftop party",
    "kiwi jam",
    "dental visit",
    "puzzle club",
];
const SUBJECTS: [&str; 3] = ["favourite thing", "next_step", "城市"];

struct Run {
    world: World,
    /// A second handle on the same store.
    other: Option<Memory>,
    reference: Reference,
    /// A copy of the derived folder from some time ago.
    old_index: tempfile::TempDir,
    /// A backup, and what there was when it was made.
    backup: Option<(tempfile::TempDir, Reference)>,
    hour: i64,
}

pub fn run(history: &[Operation]) {
    let policy = Policy::parse("[recall]\nnear_duplicate = 1.0\nfloor = 0.0").unwrap();
    let world = World::with_policy(policy);
    let other = Some(world.open_another());
    let old_index = tempfile::tempdir().unwrap();
    let mut run = Run { world, other, reference: Reference::default(), old_index, backup: None, hour: 0 };
    for operation in history {
        run.hour += 1;
        run.world.clock.set(at("2026-03-01T10:00:00Z").plus_seconds(run.hour * 3600));
        run.step(operation);
        run.compare();
    }
    run.compare_with_a_fresh_handle();
}

/// The four places: two people's own, one that both share, one of another tenant.
fn place(number: usize) -> Namespace {
    match number {
        0 => Namespace::from_parts("acme", Some("mei"), None, None).unwrap(),
        1 => Namespace::from_parts("acme", Some("tom"), None, None).unwrap(),
        2 => Namespace::new("acme").unwrap(),
        _ => Namespace::from_parts("globex", Some("mei"), None, None).unwrap(),
    }
}

fn people() -> [(Principal, Vec<usize>); 3] {
    [
        (someone("acme", "mei", None), vec![0, 2]),
        (someone("acme", "tom", None), vec![1, 2]),
        (someone("globex", "mei", None), vec![3]),
    ]
}

fn writer(place: usize) -> Principal {
    let [(mei, _), (tom, _), (stranger, _)] = people();
    match place {
        0 | 2 => mei,
        1 => tom,
        _ => stranger,
    }
}

/// Who sees everything below a tenant or a user, and the places there.
fn root_of(number: usize) -> (Principal, Vec<usize>) {
    let (namespace, places) = match number {
        0 => (place(2), vec![0, 1, 2]),
        1 => (place(0), vec![0]),
        _ => (Namespace::new("globex").unwrap(), vec![3]),
    };
    (Principal::new(namespace).with_reach(Reach::Below), places)
}

impl Run {
    fn step(&mut self, operation: &Operation) {
        match operation {
            Operation::Remember(said) => {
                let expected = self.reference.expected(said);
                let outcome =
                    self.world.memory().remember(&writer(said.place), &self.candidate(said)).unwrap();
                self.settle(said, expected, &outcome);
            }
            Operation::RememberAll(all) => {
                let all: Vec<Said> =
                    all.iter().map(|said| Said { place: all[0].place, ..said.clone() }).collect();
                let candidates: Vec<Candidate> = all.iter().map(|said| self.candidate(said)).collect();
                let outcomes = self.world.memory().remember_all(&writer(all[0].place), &candidates).unwrap();
                for (said, outcome) in all.iter().zip(outcomes) {
                    let expected = self.reference.expected(said);
                    self.settle(said, expected, &outcome.unwrap());
                }
            }
            Operation::Correct { which, word, source, stale } => self.correct(*which, *word, *source, *stale),
            Operation::ForgetMemory(which) => {
                let Some(memory) = self.pick(*which) else { return };
                let (id, place) =
                    (self.reference.memories[memory].id.clone(), self.reference.memories[memory].place);
                let any = self.reference.forget(|memory| memory.id == id);
                self.forget(place, Selector::Memory(id), Some(any));
            }
            Operation::ForgetSubject(place, subject) => {
                let any = self
                    .reference
                    .forget(|memory| memory.place == *place && memory.subject == Some(*subject));
                self.forget(
                    *place,
                    Selector::Subject(SUBJECTS[*subject].to_uppercase()),
                    any.then_some(true),
                );
            }
            Operation::ForgetSource(place, source) => {
                self.reference.withdraw(*place, *source);
                self.forget(*place, Selector::Source(format!("source-{source}")), None);
            }
            Operation::ForgetEverything(place) => {
                let any = self.reference.forget(|memory| memory.place == *place);
                self.forget(*place, Selector::Everything, any.then_some(true));
            }
            Operation::ForgetBelow(root) => {
                let (who, places) = root_of(*root);
                let any = self.reference.forget(|memory| places.contains(&memory.place));
                self.other = None;
                let request = Forget::new(Selector::Below, "asked for");
                let forgotten = self.world.memory().forget(&who, &request).unwrap();
                assert!(!any || forgotten.code() == "forgotten", "{forgotten:?}");
                assert_ne!(forgotten.code(), "incomplete");
                self.other = Some(self.world.open_another());
            }
            Operation::Recall(word) => {
                for (who, _) in people() {
                    self.world.ask(&who, &format!("about {} or so", WORDS[*word]));
                }
            }
            Operation::Drain => self.world.drain(),
            Operation::Rebuild => assert!(self.world.memory().rebuild(&mut |_, _| {}).unwrap()),
            Operation::Reopen => drop(self.world.reopen()),
            Operation::OldIndex => self.put_back_old_index(),
            Operation::Crash => {
                let copied = tempfile::tempdir().unwrap();
                copy(self.world.path(), copied.path());
                self.go_on_in(copied);
            }
            Operation::Backup => {
                let folder = tempfile::tempdir().unwrap();
                self.world.memory().backup(folder.path()).unwrap();
                self.backup = Some((folder, self.reference.clone()));
            }
            Operation::Restore => {
                let Some((backup, then)) = self.backup.take() else { return };
                let made = tempfile::tempdir().unwrap();
                let from =
                    RestoreFrom { ledger: Some(self.world.path().to_owned()), ..crate::world::restoring() };
                restore(backup.path(), made.path(), &from, self.world.memory().now()).unwrap();
                self.go_on_in(made);
                self.reference = self.reference.restored(&then);
                self.backup = Some((backup, then));
            }
            Operation::DropDerived => {
                self.close();
                std::fs::remove_dir_all(self.world.path().join("derived")).unwrap();
                self.open();
            }
            Operation::OtherHandle => std::mem::swap(&mut self.world.memory, &mut self.other),
        }
    }

    /// Goes on with the store in another folder; the one before is gone.
    fn go_on_in(&mut self, folder: tempfile::TempDir) {
        self.close();
        self.world.folder = folder;
        self.open();
    }

    fn close(&mut self) {
        self.other = None;
        self.world.close();
    }

    fn open(&mut self) {
        self.world.reopen();
        self.other = Some(self.world.open_another());
    }

    /// Puts the index back as it was the last time, and keeps the present one for the next.
    fn put_back_old_index(&mut self) {
        self.close();
        let (derived, old) = (self.world.path().join("derived"), self.old_index.path().join("derived"));
        let newest = tempfile::tempdir().unwrap();
        copy(&derived, &newest.path().join("derived"));
        if old.exists() {
            std::fs::remove_dir_all(&derived).unwrap();
            copy(&old, &derived);
        }
        self.old_index = newest;
        self.open();
    }

    fn candidate(&self, said: &Said) -> Candidate {
        let observed_at: Timestamp =
            if said.late { at("2026-03-01T10:00:00Z") } else { self.world.memory().now() };
        Candidate {
            namespace: Some(place(said.place)),
            cardinality: if said.multi { Cardinality::Multi } else { Cardinality::Single },
            observed_at: Some(observed_at),
            renew_consent: said.renewed,
            ..self.world.said(
                said.subject.map(|subject| SUBJECTS[subject]),
                &format!("speaks of the {}", WORDS[said.word]),
                &format!("source-{}", said.source),
            )
        }
    }

    fn settle(&mut self, said: &Said, expected: Expected, outcome: &Outcome) {
        let fits = match (&expected, outcome) {
            (Expected::SourceWithdrawn, Outcome::Rejected(Reason::SourceWithdrawn)) => true,
            (Expected::MemoryDeleted, Outcome::Rejected(Reason::MemoryDeleted)) => true,
            (Expected::BlockedByTombstone, Outcome::Rejected(Reason::BlockedByTombstone)) => true,
            (Expected::There(number, from_another), Outcome::Idempotent(written, reason)) => {
                written.memory_id == self.reference.memories[*number].id
                    && *reason == from_another.then_some(Reason::DuplicateMemory)
            }
            (
                Expected::Conflict(number),
                Outcome::Conflict(Reason::ConflictRequiresCorrection, Some(current)),
            ) => current.memory_id == self.reference.memories[*number].id,
            (Expected::Committed, Outcome::Committed(_)) => true,
            _ => false,
        };
        assert!(fits, "{said:?}: expected {expected:?}, got {outcome:?}");
        match (expected, outcome) {
            (Expected::Committed, Outcome::Committed(written)) => self.reference.commit(said, written),
            (Expected::There(number, true), _) => self.reference.add_source(number, said.source),
            _ => {}
        }
    }

    fn pick(&self, which: usize) -> Option<usize> {
        let memories = self.reference.memories.len();
        (memories > 0).then(|| which % memories)
    }

    fn correct(&mut self, which: usize, word: usize, source: usize, stale: bool) {
        let Some(number) = self.pick(which) else { return };
        let memory = self.reference.memories[number].clone();
        let seen = memory.versions.first().filter(|_| stale).or(memory.versions.last()).unwrap();
        let text = format!("speaks of the {}", WORDS[word]);
        let written =
            recordari::Written { record_id: seen.record.clone(), memory_id: memory.id.clone(), version: 1 };
        let correction = correction(&written, &text, &format!("source-{source}"), self.world.memory().now());
        let outcome = self.world.memory().correct(&writer(memory.place), &correction).unwrap();
        let Some(current) = memory.current() else {
            assert_eq!(outcome, None);
            return;
        };
        let said = Said {
            place: memory.place,
            subject: memory.subject,
            multi: memory.multi,
            word,
            source,
            late: false,
            renewed: false,
        };
        let outcome = outcome.unwrap();
        let mut expected = self.reference.refused(&said);
        expected = expected
            .or(self.reference.same_text(&said).map(|(number, another)| Expected::There(number, another)));
        if let Some(expected) = expected {
            self.settle(&said, expected, &outcome);
        } else if seen.record == current.record {
            let Outcome::Corrected(written) = &outcome else { panic!("{outcome:?}") };
            assert_eq!(written.memory_id, memory.id);
            self.reference.commit(&said, written);
        } else {
            assert!(
                matches!(outcome, Outcome::Conflict(Reason::StaleExpectedRecord, Some(_))),
                "{outcome:?}"
            );
        }
    }

    /// Forgets; `any` is whether there must have been something, or none if that is not known.
    fn forget(&mut self, number: usize, selector: Selector, any: Option<bool>) {
        // The other handle would keep the old files open.
        self.other = None;
        let request = Forget { namespace: Some(place(number)), ..Forget::new(selector, "asked for") };
        let forgotten = self.world.memory().forget(&writer(number), &request).unwrap();
        match any {
            Some(true) => assert_eq!(forgotten.code(), "forgotten", "{forgotten:?}"),
            Some(false) => assert_eq!(forgotten.code(), "already_forgotten", "{forgotten:?}"),
            None => assert_ne!(forgotten.code(), "incomplete", "{forgotten:?}"),
        }
        self.other = Some(self.world.open_another());
    }

    fn compare(&self) {
        for (who, places) in people() {
            let visible = self.reference.visible(&places);
            let listed = self.world.listed(&who);
            let ids: BTreeSet<&MemoryId> = listed.iter().map(|record| &record.memory_id).collect();
            assert_eq!(ids, visible.keys().collect::<BTreeSet<_>>());
            for record in &listed {
                assert!(record.content.ends_with(WORDS[visible[&record.memory_id]]), "{}", record.content);
            }
            for (word, text) in WORDS.iter().enumerate() {
                let found: BTreeSet<RecordId> = self
                    .world
                    .recall(&who, &by(Mode::Keyword, text))
                    .hits
                    .into_iter()
                    .map(|hit| {
                        assert_eq!(visible.get(&hit.record.memory_id), Some(&word));
                        hit.record.record_id
                    })
                    .collect();
                assert_eq!(found.is_empty(), !visible.values().any(|seen| *seen == word), "{text}");
            }
            for memory in &self.reference.memories {
                let current = self.world.memory().get(&who, &memory.id).unwrap();
                let expected = memory.current().filter(|_| places.contains(&memory.place));
                let record = |version: &super::reference::Version| version.record.clone();
                assert_eq!(current.map(|record| record.record_id), expected.map(record));
            }
        }
        self.world.assert_sound();
    }

    /// What this process has in memory followed change by change; a new handle loads everything anew.
    fn compare_with_a_fresh_handle(&self) {
        let fresh = self.world.open_another();
        for (who, _) in people() {
            for text in WORDS {
                for mode in Mode::ALL {
                    let query = by(*mode, text);
                    let (aged, new) = (self.world.recall(&who, &query), fresh.recall(&who, &query).unwrap());
                    assert_eq!(comparable(&aged), comparable(&new), "{mode} {text}");
                }
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)
        } else {
            drop(std::fs::copy(entry.path(), target))
        }
    }
}
