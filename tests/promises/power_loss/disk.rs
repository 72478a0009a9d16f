//! What a disk may hold when the power failed at a moment of a recording.
//!
//! What a file held when it was synced is there. Of what was written to it since, each sector of 512 bytes has the content
//! that it had after any of the writes, whatever its neighbours have; its size may have grown with nothing but zeros in it.
//! What a folder listed when it was synced is there, and of what was made, moved and removed in it since any beginning:
//! in order, as journals of file systems keep it. That a sync of a file makes its name durable too, as it does on many
//! file systems, is not relied on. What is moved from one folder to another is in one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use super::recording::{Inode, ROOT, Recording, Step};
use crate::numbers::Numbers;

const SECTOR: usize = 512;

/// Files with what is in them, and folders.
pub struct Disk {
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    pub folders: BTreeSet<PathBuf>,
}

impl Disk {
    /// All that happened, as if nothing had failed.
    pub fn whole(recording: &Recording) -> Disk {
        let all: Vec<usize> = vec![usize::MAX; recording.paths.len()];
        Disk::of(recording, recording.steps.len(), &all, &mut Numbers::new(0))
    }

    /// One of the states that are possible when the power fails before a step. Syncs of what `is_ignored` names count for
    /// nothing.
    pub fn after_loss(
        recording: &Recording,
        cut: usize,
        is_ignored: &dyn Fn(&Path) -> bool,
        numbers: &mut Numbers,
    ) -> Disk {
        let mut synced = vec![0; recording.paths.len()];
        for step in &recording.steps[..cut] {
            match step {
                Step::Sync { inode, begun } if !is_ignored(&recording.paths[*inode]) => {
                    synced[*inode] = synced[*inode].max(*begun);
                }
                _ => {}
            }
        }
        Disk::of(recording, cut, &synced, numbers)
    }

    fn of(recording: &Recording, cut: usize, synced: &[usize], numbers: &mut Numbers) -> Disk {
        // Now and then everything has the same fate: the plainest states are the most likely ones.
        let for_all = match numbers.below(8) {
            0 => Some(Fate::Lost),
            1 => Some(Fate::There),
            _ => None,
        };
        let folders = listed(recording, cut, synced, for_all, numbers);
        let mut disk = Disk { files: BTreeMap::new(), folders: BTreeSet::new() };
        let mut open = vec![(ROOT, PathBuf::new())];
        while let Some((folder, path)) = open.pop() {
            for (name, inode) in folders.get(&folder).into_iter().flatten() {
                let path = path.join(name);
                if folders.contains_key(inode) {
                    disk.folders.insert(path.clone());
                    open.push((*inode, path));
                } else {
                    let bytes = content(recording, *inode, cut, synced[*inode], for_all, numbers);
                    disk.files.insert(path, bytes);
                }
            }
        }
        disk
    }

    /// What tells this state from others: all but what means nothing after a loss.
    pub fn hash(&self, hasher: &mut impl Hasher) {
        self.folders.hash(hasher);
        self.files.iter().filter(|(path, _)| !is_shared_memory(path)).for_each(|file| file.hash(hasher));
    }

    pub fn write(&self, to: &Path) {
        for folder in &self.folders {
            fs::create_dir(to.join(folder)).unwrap();
        }
        for (path, bytes) in &self.files {
            fs::write(to.join(path), bytes).unwrap();
        }
    }
}

/// What becomes of what was not synced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lost,
    There,
    /// All but one write.
    OneLost,
    OneThere,
    /// Each write by itself.
    Any,
    /// Each sector by itself.
    Torn,
}

impl Fate {
    fn any(numbers: &mut Numbers) -> Fate {
        const FATES: [Fate; 6] =
            [Fate::Lost, Fate::There, Fate::OneLost, Fate::OneThere, Fate::Any, Fate::Torn];
        FATES[numbers.below(FATES.len())]
    }
}

/// What each folder lists.
fn listed(
    recording: &Recording,
    cut: usize,
    synced: &[usize],
    for_all: Option<Fate>,
    numbers: &mut Numbers,
) -> BTreeMap<Inode, BTreeMap<String, Inode>> {
    let mut steps_of: BTreeMap<Inode, Vec<usize>> = BTreeMap::from([(ROOT, Vec::new())]);
    let mut moves = Vec::new();
    for (at, step) in recording.steps[..cut].iter().enumerate() {
        match step {
            Step::Enter { folder, .. } | Step::Leave { folder, .. } => {
                steps_of.entry(*folder).or_default().push(at);
            }
            Step::Move { from, to, .. } => {
                steps_of.entry(from.0).or_default().push(at);
                if from.0 != to.0 {
                    steps_of.entry(to.0).or_default().push(at);
                    moves.push((at, from.0, to.0));
                }
            }
            _ => {}
        }
    }
    // For each folder the step before which everything has happened to it.
    let mut until: BTreeMap<Inode, usize> = BTreeMap::new();
    for (folder, steps) in &steps_of {
        let pending = steps.iter().filter(|step| **step >= synced[*folder]).count();
        let there = match for_all.unwrap_or_else(|| Fate::any(numbers)) {
            Fate::Lost => 0,
            Fate::There => pending,
            _ => numbers.below(pending + 1),
        };
        let next = steps.get(steps.len() - pending + there);
        until.insert(*folder, next.copied().unwrap_or(cut));
    }
    // A move is one step for both folders, so what came before it in one has happened if it has in the other.
    loop {
        let mut is_settled = true;
        for (at, from, to) in &moves {
            for (one, other) in [(from, to), (to, from)] {
                if until[one] > *at && until[other] <= *at {
                    until.insert(*other, at + 1);
                    is_settled = false;
                }
            }
        }
        if is_settled {
            break;
        }
    }
    let is_folder = |inode: &Inode| recording.is_folder[*inode];
    let mut folders: BTreeMap<Inode, BTreeMap<String, Inode>> =
        (0..recording.paths.len()).filter(is_folder).map(|folder| (folder, BTreeMap::new())).collect();
    for (at, step) in recording.steps[..cut].iter().enumerate() {
        match step {
            Step::Enter { folder, name, inode } if at < until[folder] => {
                folders.get_mut(folder).unwrap().insert(name.clone(), *inode);
            }
            Step::Leave { folder, name } if at < until[folder] => {
                folders.get_mut(folder).unwrap().remove(name);
            }
            Step::Move { from, to, inode } if at < until[&from.0] => {
                folders.get_mut(&from.0).unwrap().remove(&from.1);
                folders.get_mut(&to.0).unwrap().insert(to.1.clone(), *inode);
            }
            _ => {}
        }
    }
    folders
}

/// What is in a file that was synced up to a step.
fn content(
    recording: &Recording,
    file: Inode,
    cut: usize,
    synced: usize,
    for_all: Option<Fate>,
    numbers: &mut Numbers,
) -> Vec<u8> {
    let steps = &recording.of_file[file];
    let steps = &steps[..steps.partition_point(|step| *step < cut)];
    let (durable, pending) = steps.split_at(steps.partition_point(|step| *step < synced));
    let mut cached = Vec::new();
    for step in durable {
        apply(&recording.steps[*step], &mut cached);
    }
    if is_shared_memory(&recording.paths[file]) {
        // It is written by mapping it, which no recording shows: it may hold anything.
        pending.iter().for_each(|step| apply(&recording.steps[*step], &mut cached));
        return cached.iter().map(|_| numbers.below(256) as u8).collect();
    }
    let mut disk = cached.clone();
    let fate = for_all.unwrap_or_else(|| Fate::any(numbers));
    let one = numbers.below(pending.len());
    for (number, step) in pending.iter().enumerate() {
        let step = &recording.steps[*step];
        apply(step, &mut cached);
        let is_there = match fate {
            Fate::Lost => false,
            Fate::There | Fate::Torn => true,
            Fate::OneLost => number != one,
            Fate::OneThere => number == one,
            Fate::Any => numbers.below(2) == 0,
        };
        match step {
            Step::Resize { size, .. } if is_there && (fate != Fate::Torn || numbers.below(2) == 0) => {
                disk.resize(*size, 0);
            }
            Step::Write { at, data, .. } if is_there => {
                for sector in at / SECTOR..(at + data.len()).div_ceil(SECTOR) {
                    if fate == Fate::Torn && numbers.below(2) == 0 {
                        continue;
                    }
                    let part = sector * SECTOR..(sector * SECTOR + SECTOR).min(cached.len());
                    disk.resize(disk.len().max(part.end), 0);
                    disk[part.clone()].copy_from_slice(&cached[part]);
                }
            }
            _ => {}
        }
    }
    if disk.len() < cached.len() && fate != Fate::Lost && numbers.below(3) == 0 {
        disk.resize(cached.len(), 0);
    }
    disk
}

/// The index of SQLite's journal.
pub fn is_shared_memory(path: &Path) -> bool {
    path.to_str().unwrap().ends_with("-shm")
}

fn apply(step: &Step, bytes: &mut Vec<u8>) {
    match step {
        Step::Write { at, data, .. } => {
            bytes.resize(bytes.len().max(at + data.len()), 0);
            bytes[*at..at + data.len()].copy_from_slice(data);
        }
        Step::Resize { size, .. } => bytes.resize(*size, 0),
        _ => {}
    }
}
