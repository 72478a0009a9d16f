//! What has to be there after a loss of power, and whether it is.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use recordari::{
    Error, Filter, Forget, Forgotten, HashingEmbedder, ManualClock, Memory, Mode, Options, PageRequest,
    RestoreFrom, Selector, StateFilter, restore,
};

use super::recording::{Recording, Step};
use super::workday::{BACKUP, RESTORED, STORE};
use crate::child::{candidate, writer};
use crate::remains::Canary;
use crate::world::{at, by};

/// How many memories a batch has.
const BATCH: usize = 5;
const NOW: &str = "2026-03-01T10:00:00Z";

/// What had been acknowledged.
#[derive(Clone, Default)]
pub struct Expected {
    /// How many memories each word is in: one of these numbers.
    counts: BTreeMap<String, Vec<usize>>,
    /// The old word and the new one of corrections that were under way: one of both is in force.
    corrections: Vec<(String, String)>,
    /// Words that are in no file.
    gone: Vec<String>,
    /// Words that are in no file if they are in no memory.
    going: Vec<String>,
    backup: Option<Copy>,
    restored: Option<Copy>,
    /// How much had been said.
    pub said: usize,
}

/// What has to be in a copy of the store.
#[derive(Clone)]
struct Copy {
    counts: BTreeMap<String, Vec<usize>>,
    gone: Vec<String>,
    is_acknowledged: bool,
}

impl Expected {
    /// What had been acknowledged before a step.
    pub fn before(recording: &Recording, cut: usize) -> Expected {
        let mut expected = Expected::default();
        let mut under_way: Vec<&str> = Vec::new();
        for step in &recording.steps[..cut] {
            let Step::Said(said) = step else { continue };
            expected.said += 1;
            match said.as_str() {
                "ok" => expected.happened(&std::mem::take(&mut under_way)),
                "end" => {}
                said => under_way = said.split('\t').collect(),
            }
        }
        expected.may_have_happened(&under_way);
        expected
    }

    fn happened(&mut self, what: &[&str]) {
        let owned = |word: &&str| (*word).to_owned();
        match what {
            ["remember", name] => drop(self.counts.insert(owned(name), vec![1])),
            ["batch", name] => drop(self.counts.insert(owned(name), vec![BATCH])),
            ["correct", old, new] => {
                self.counts.insert(owned(old), vec![0]);
                self.counts.insert(owned(new), vec![1]);
            }
            ["forget", words @ ..] => {
                for word in words {
                    self.counts.insert(owned(word), vec![0]);
                    self.gone.push(owned(word));
                }
            }
            ["backup"] => self.backup = Some(self.copy(true)),
            ["restore"] => self.restored = self.restore(true),
            _ => {}
        }
    }

    fn may_have_happened(&mut self, what: &[&str]) {
        let owned = |word: &&str| (*word).to_owned();
        match what {
            ["remember", name] => drop(self.counts.insert(owned(name), vec![0, 1])),
            ["batch", name] => drop(self.counts.insert(owned(name), vec![0, BATCH])),
            ["correct", old, new] => {
                self.counts.insert(owned(old), vec![0, 1]);
                self.counts.insert(owned(new), vec![0, 1]);
                self.corrections.push((owned(old), owned(new)));
            }
            ["forget", words @ ..] => {
                if let Some(last) = words.last() {
                    self.counts.insert(owned(last), vec![0, 1]);
                }
                self.going = words.iter().map(owned).collect();
            }
            ["backup"] => self.backup = Some(self.copy(false)),
            ["restore"] => self.restored = self.restore(false),
            _ => {}
        }
    }

    fn copy(&self, is_acknowledged: bool) -> Copy {
        Copy { counts: self.counts.clone(), gone: self.gone.clone(), is_acknowledged }
    }

    fn restore(&self, is_acknowledged: bool) -> Option<Copy> {
        self.backup.as_ref().map(|backup| Copy { is_acknowledged, ..backup.without(&self.gone) })
    }

    /// Opens what is left, compares, goes on working and opens it again.
    pub fn check(&self, base: &Path) -> Result<(), String> {
        let store = base.join(STORE);
        let has_store = store.join("recordari.db").exists();
        let (memory, notices) = open(&store)?;
        // What is derived may be told to have been built again; the key and the database are in order.
        for notice in &notices {
            let is_derived =
                notice.starts_with("the keyword index") || notice.starts_with("the file of traces");
            ensure(is_derived || !has_store, || format!("opening says: {notice}"))?;
        }
        let words = self.compare(&memory, &store)?;
        // It can be worked with.
        let mei = writer();
        let fresh = candidate(None, "found feldspar after the loss", "child");
        memory.remember(&mei, &fresh).map_err(failed("remembering"))?;
        memory.catch_up(&mut |_, _| {}).map_err(failed("indexing"))?;
        let answer = memory.recall(&mei, &by(Mode::Keyword, "feldspar")).map_err(failed("recall"))?;
        ensure(answer.hits.len() == 1, || format!("feldspar is found {} times", answer.hits.len()))?;
        let mut after = self.clone();
        after.corrections.clear();
        after.counts.insert("feldspar".to_owned(), vec![1]);
        if let Some((word, _)) = words.iter().find(|(_, count)| **count == 1) {
            let answer = memory.recall(&mei, &by(Mode::Keyword, word)).map_err(failed("recall"))?;
            ensure(answer.hits.len() == 1, || format!("{word} is found {} times", answer.hits.len()))?;
            let selector = Selector::Memory(answer.hits[0].record.memory_id.clone());
            let done =
                memory.forget(&mei, &Forget::new(selector, "asked for")).map_err(failed("forgetting"))?;
            ensure(matches!(done, Forgotten::Done(_)), || {
                format!("{word} could not be forgotten: {done:?}")
            })?;
            after.counts.insert(word.clone(), vec![0]);
            after.gone.push(word.clone());
        }
        drop(memory);
        let (memory, _) = open(&store)?;
        after.compare(&memory, &store).map_err(|what| format!("once more: {what}"))?;
        drop(memory);
        self.check_copies(base, &after)
    }

    /// How often each word is there.
    fn compare(&self, memory: &Memory, store: &Path) -> Result<BTreeMap<String, usize>, String> {
        let mei = writer();
        let page = PageRequest { limit: 1000, cursor: None };
        let listed = memory.list(&mei, &Filter::All(Vec::new()), &StateFilter::Current, &page);
        let contents: Vec<String> =
            listed.map_err(failed("listing"))?.records.into_iter().map(|record| record.content).collect();
        let count = |word: &str| contents.iter().filter(|text| text.contains(word)).count();
        let mut found = BTreeMap::new();
        for (word, wanted) in &self.counts {
            let there = count(word);
            ensure(wanted.contains(&there), || {
                format!("{word} is there {there} times, acknowledged: {wanted:?}")
            })?;
            found.insert(word.clone(), there);
        }
        for (old, new) in &self.corrections {
            ensure(found[old] + found[new] == 1, || format!("{old} was corrected to {new} by half"))?;
        }
        let known: usize = found.values().sum();
        ensure(known == contents.len(), || format!("{} memories, {known} of them known", contents.len()))?;
        let is_gone = self.going.iter().all(|word| found[word] == 0);
        let gone: Vec<&str> =
            self.gone.iter().chain(self.going.iter().filter(|_| is_gone)).map(String::as_str).collect();
        let remains = Canary::new(&gone).remains(store);
        ensure(remains.is_empty(), || format!("of {gone:?} something remains: {remains:?}"))?;
        let deletions = memory.count_deletions(&mei).map_err(failed("counting"))?;
        ensure(deletions.open == 0, || format!("{} deletions are open", deletions.open))?;
        let findings = memory.verify().map_err(failed("verifying"))?;
        ensure(findings.is_empty(), || format!("{findings:?}"))?;
        Ok(found)
    }

    /// A backup that was acknowledged can be restored, one that was under way is whole or refused; and what was restored
    /// stands in its place as a whole or not at all.
    fn check_copies(&self, base: &Path, after: &Expected) -> Result<(), String> {
        if let Some(backup) = &self.backup {
            let again = base.join("again");
            let from = RestoreFrom { ledger: Some(base.join(STORE)), ..crate::world::restoring() };
            match restore(&base.join(BACKUP), &again, &from, at(NOW)) {
                Ok(_) => {
                    let mut copy = backup.without(&after.gone);
                    for word in &self.going {
                        copy.counts.entry(word.clone()).and_modify(|counts| *counts = vec![0, 1]);
                    }
                    copy.check(&again).map_err(|what| format!("the backup: {what}"))?;
                }
                Err(error) if backup.is_acknowledged => return Err(format!("the backup: {error}")),
                Err(_) => ensure(!again.exists(), || "a restore that was refused left something".to_owned())?,
            }
        }
        if let Some(restored) = &self.restored
            && (restored.is_acknowledged || base.join(RESTORED).exists())
        {
            restored.check(&base.join(RESTORED)).map_err(|what| format!("what was restored: {what}"))?;
        }
        Ok(())
    }
}

impl Copy {
    fn without(&self, gone: &[String]) -> Copy {
        let mut copy = Copy { gone: gone.to_vec(), ..self.clone() };
        for word in gone.iter().filter(|word| self.counts.contains_key(*word)) {
            copy.counts.insert(word.clone(), vec![0]);
        }
        copy
    }

    fn check(&self, folder: &Path) -> Result<(), String> {
        ensure(folder.join("recordari.db").exists(), || "there is none".to_owned())?;
        let (memory, _) = open(folder)?;
        let expected =
            Expected { counts: self.counts.clone(), gone: self.gone.clone(), ..Expected::default() };
        expected.compare(&memory, folder).map(drop)
    }
}

fn open(folder: &Path) -> Result<(Memory, Vec<String>), String> {
    let options = Options {
        embedder: Some(Arc::new(HashingEmbedder::new(256).unwrap())),
        clock: Arc::new(ManualClock::at(at(NOW))),
        background: false,
        cipher: crate::world::cipher(),
        ..Options::new(folder)
    };
    let (memory, opening) = Memory::open(options).map_err(failed("opening"))?;
    Ok((memory, opening.notices))
}

fn failed(what: &'static str) -> impl Fn(Error) -> String {
    move |error| format!("{what} failed: {error}")
}

fn ensure(holds: bool, otherwise: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
