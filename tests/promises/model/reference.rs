//! The reference model: what a memory is to do, in maps and lists, without disk, index or time.

use std::collections::{BTreeMap, BTreeSet};

use recordari::{MemoryId, RecordId, Written};

use super::operations::Said;

#[derive(Clone, Debug)]
pub struct Version {
    pub record: RecordId,
    /// Counts all versions in the order of writing.
    order: usize,
    pub word: usize,
    pub sources: BTreeSet<usize>,
    /// Whether its content is there.
    pub alive: bool,
}

#[derive(Clone, Debug)]
pub struct Logical {
    pub id: MemoryId,
    pub place: usize,
    pub subject: Option<usize>,
    pub multi: bool,
    pub versions: Vec<Version>,
    /// How often it was forgotten.
    generation: usize,
}

impl Logical {
    /// The version in force: the last one, if its content is there.
    pub fn current(&self) -> Option<&Version> {
        self.versions.last().filter(|version| version.alive)
    }
}

/// What a forgotten memory was known by.
#[derive(Clone, Debug)]
struct Grave {
    place: usize,
    /// The subject, if it names one memory.
    subject: Option<usize>,
    /// What it said, under whatever subject.
    texts: BTreeSet<usize>,
    sources: BTreeSet<usize>,
}

/// What becomes of a statement.
#[derive(Debug, PartialEq, Eq)]
pub enum Expected {
    SourceWithdrawn,
    MemoryDeleted,
    BlockedByTombstone,
    /// It is there, in the memory of that number; true: from another source.
    There(usize, bool),
    Conflict(usize),
    Committed,
}

#[derive(Clone, Debug, Default)]
pub struct Reference {
    pub memories: Vec<Logical>,
    written: usize,
    graves: Vec<Grave>,
    blocked: BTreeSet<(usize, usize)>,
}

impl Reference {
    pub fn expected(&self, said: &Said) -> Expected {
        if let Some(refused) = self.refused(said) {
            return refused;
        }
        if let Some((number, from_another)) = self.same_text(said) {
            return Expected::There(number, from_another);
        }
        if said.subject.is_none() {
            return Expected::Committed;
        }
        // A subject has one value or several, as the records in force have it.
        let about = |multi: bool| {
            let about_it = (0..self.memories.len()).filter(move |number| {
                let memory = &self.memories[*number];
                memory.multi == multi && (memory.place, memory.subject) == (said.place, said.subject)
            });
            about_it
                .filter_map(|number| Some((self.memories[number].current()?.order, number)))
                .max()
                .map(|(_, number)| number)
        };
        let in_the_way = if said.multi { about(false) } else { about(false).or_else(|| about(true)) };
        in_the_way.map_or(Expected::Committed, Expected::Conflict)
    }

    /// Kept out by what was forgotten or withdrawn.
    pub fn refused(&self, said: &Said) -> Option<Expected> {
        if self.blocked.contains(&(said.place, said.source)) {
            return Some(Expected::SourceWithdrawn);
        }
        let single = if said.multi { None } else { said.subject };
        let met = self.graves.iter().filter(|grave| {
            grave.place == said.place
                && (grave.texts.contains(&said.word) || single.is_some() && grave.subject == single)
        });
        let met: Vec<&Grave> = met.collect();
        // Whoever is late observed it before all that was forgotten.
        let late = said.late && !met.is_empty();
        if late || met.iter().any(|grave| grave.sources.contains(&said.source)) {
            return Some(Expected::MemoryDeleted);
        }
        let is_blocked = met.iter().any(|grave| grave.texts.contains(&said.word));
        (is_blocked && !said.renewed && self.same_text(said).is_none())
            .then_some(Expected::BlockedByTombstone)
    }

    /// The memory in force that says so, and whether this source is new to it.
    pub fn same_text(&self, said: &Said) -> Option<(usize, bool)> {
        let same = |memory: &Logical| {
            (memory.place, memory.subject) == (said.place, said.subject)
                && memory.current().is_some_and(|version| version.word == said.word)
        };
        // Of several (a single value may say what one of several says) the one that was written first.
        let found = (0..self.memories.len()).filter(|number| same(&self.memories[*number]));
        let number =
            found.min_by_key(|number| self.memories[*number].current().map(|version| version.order))?;
        let version = self.memories[number].current()?;
        Some((number, !version.sources.contains(&said.source)))
    }

    pub fn commit(&mut self, said: &Said, written: &Written) {
        self.written += 1;
        let version = Version {
            record: written.record_id.clone(),
            order: self.written,
            word: said.word,
            sources: [said.source].into(),
            alive: true,
        };
        match self.memories.iter_mut().find(|memory| memory.id == written.memory_id) {
            Some(memory) => memory.versions.push(version),
            None => self.memories.push(Logical {
                id: written.memory_id.clone(),
                place: said.place,
                subject: said.subject,
                multi: said.multi,
                versions: vec![version],
                generation: 0,
            }),
        }
    }

    pub fn add_source(&mut self, number: usize, source: usize) {
        let version = self.memories[number].versions.last_mut().unwrap();
        version.sources.insert(source);
    }

    /// Erases memories; tells whether any of them had content.
    pub fn forget(&mut self, of: impl Fn(&Logical) -> bool) -> bool {
        let mut any = false;
        for memory in &mut self.memories {
            let alive: Vec<&Version> = memory.versions.iter().filter(|version| version.alive).collect();
            if alive.is_empty() || !of(memory) {
                continue;
            }
            any = true;
            self.graves.push(Grave {
                place: memory.place,
                subject: if memory.multi { None } else { memory.subject },
                texts: alive.iter().map(|version| version.word).collect(),
                sources: alive.iter().flat_map(|version| version.sources.iter().copied()).collect(),
            });
            memory.versions.iter_mut().for_each(|version| version.alive = false);
            memory.generation += 1;
        }
        any
    }

    /// Takes a source away; what rests on nothing else goes.
    pub fn withdraw(&mut self, place: usize, source: usize) {
        self.blocked.insert((place, source));
        let alone = |version: &Version| version.alive && version.sources == [source].into();
        self.forget(|memory| memory.place == place && memory.current().is_some_and(alone));
        for memory in self.memories.iter_mut().filter(|memory| memory.place == place) {
            for version in memory.versions.iter_mut().filter(|version| version.alive) {
                if version.sources == [source].into() {
                    version.alive = false;
                }
                version.sources.remove(&source);
            }
        }
    }

    /// What a store is that is made of a backup and told of everything that was forgotten since.
    pub fn restored(&self, backup: &Reference) -> Reference {
        let mut made = backup.clone();
        made.written = self.written;
        made.graves = self.graves.clone();
        for memory in &mut made.memories {
            let now = self.memories.iter().find(|now| now.id == memory.id);
            if let Some(now) = now.filter(|now| now.generation > memory.generation) {
                memory.versions.iter_mut().for_each(|version| version.alive = false);
                memory.generation = now.generation;
            }
        }
        for (place, source) in self.blocked.difference(&backup.blocked) {
            made.withdraw(*place, *source);
        }
        made
    }

    /// What can be seen in these places: the words in force, by memory.
    pub fn visible(&self, places: &[usize]) -> BTreeMap<MemoryId, usize> {
        let seen = self.memories.iter().filter(|memory| places.contains(&memory.place));
        seen.filter_map(|memory| Some((memory.id.clone(), memory.current()?.word))).collect()
    }
}
