//! The partitions in memory: loaded on first use, brought up to each snapshot's moment, dropped when they
//! take too much. Equal to the store's own rows at that moment; a test compares them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::graphs::Graphs;
use crate::change::{Change, DocId, NamespaceId, Seq};
use crate::error::{Error, Result};
#[cfg(feature = "graph")]
use crate::index::block::{Neighbours, Stale};
use crate::index::keyword::View;
use crate::index::words::{self, Words};
use crate::index::{Added, Entry, Partition, Speakers, Turn, VectorBlock, subject_hash};
use crate::namespace::Namespace;
use crate::store::{InForce, ModelRow, Place, Snapshot};
use crate::text::index_terms;

/// After so many new records a partition is loaded anew instead of followed.
const CHANGES_MAX: usize = 5000;
/// So many changes are looked through: a hundred take as long as taking in one record. Of a small namespace no
/// more than this many for each record, since loading it takes less.
const LOOKED_THROUGH: usize = 200_000;
const LOOKED_THROUGH_EACH: usize = 4;

/// What is searched as one.
#[derive(Clone, Copy, Debug)]
pub enum Area<'a> {
    /// One namespace.
    Own(&'a Place),
    /// Every namespace that is narrower than this one: a wide read costs what it holds, not how many
    /// namespaces that is.
    Below(&'a Namespace),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Own(NamespaceId),
    Below(Namespace),
}

/// The partitions that this process has in memory.
pub struct Partitions {
    kept: Mutex<Kept>,
    graphs: Arc<Graphs>,
}

/// What may be done with graphs by a program that has them.
#[cfg(feature = "graph")]
impl Partitions {
    /// The namespaces in memory with at least so many vectors and without a graph that serves well.
    pub(super) fn want_graphs(&self, least: usize) -> Vec<NamespaceId> {
        let wants = |partition: &Arc<Mutex<Option<Partition>>>| {
            let held = partition.lock().unwrap_or_else(PoisonError::into_inner).clone();
            held.is_some_and(|partition| {
                let rows = partition.vectors().map_or(0, |block| block.owners().len());
                rows >= least && partition.graph_state() != Stale::No
            })
        };
        let found = self.own().into_iter().filter(|(_, partition)| wants(partition));
        found.map(|(namespace, _)| namespace).collect()
    }

    /// Gives a namespace's partition its graph, if it is in memory.
    pub(super) fn attach(&self, namespace: NamespaceId, graph: Arc<dyn Neighbours>, version: u64) {
        let key = Key::Own(namespace);
        let Some(shared) = self.lock().by_key.get(&key).map(|slot| slot.partition.clone()) else { return };
        let mut held = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(partition) = held.as_mut() else { return };
        partition.set_graph(graph, version);
        let bytes = partition.bytes();
        drop(held);
        self.weigh(&key, bytes);
    }
}

struct Kept {
    by_key: HashMap<Key, Slot>,
    uses: u64,
    bytes: usize,
    /// How many bytes are kept. Beyond it the least recently used partitions are dropped; those of the running
    /// recall stay whatever they take.
    most: usize,
}

impl Kept {
    fn nothing(most: usize) -> Kept {
        Kept { by_key: HashMap::new(), uses: 0, bytes: 0, most }
    }
}

/// One partition. Whoever loads or follows it holds its lock, so that it is done once.
#[derive(Default)]
struct Slot {
    partition: Arc<Mutex<Option<Partition>>>,
    used: u64,
    bytes: usize,
}

impl Partitions {
    pub(super) fn new(graphs: Arc<Graphs>, most: usize) -> Partitions {
        Partitions { kept: Mutex::new(Kept::nothing(most)), graphs }
    }

    /// The partition of an area as the snapshot has it, with its vectors if a model is named; with `exact`
    /// all of them in full, for this once.
    pub fn at(
        &self,
        snapshot: &Snapshot<'_>,
        view: &View,
        area: Area<'_>,
        model: Option<&ModelRow>,
        exact: bool,
    ) -> Result<Partition> {
        let now = match area {
            Area::Own(place) => place.revision,
            Area::Below(_) => snapshot.last()?,
        };
        let key = match area {
            Area::Own(place) => Key::Own(place.id),
            Area::Below(root) => Key::Below(root.clone()),
        };
        let shared = self.slot(&key);
        let mut held = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let source = Source { snapshot, view, area, now };
        if held.as_ref().is_some_and(|kept| kept.at() > now) {
            // A newer one was made for a later snapshot; what this snapshot saw is loaded for it alone.
            return source.with_vectors(source.load()?, model, exact);
        }
        let graph = held.as_ref().and_then(Partition::graph).cloned();
        let (mut partition, mut changed) = match held.take() {
            Some(kept) if kept.at() == now => (kept, false),
            Some(kept) => (source.follow(kept)?, true),
            None => (source.load()?, true),
        };
        if let Some(model) = model
            && partition.vectors().is_none_or(|block| block.model() != model.id.0)
        {
            partition = source.with_vectors(partition, Some(model), false)?;
            changed = true;
        }
        if let (Some(beside), Area::Own(place)) = (graph, area) {
            if self.graphs.version(place.id) != Some(beside.version()) {
                // Erased or replaced, by whichever process.
                partition.drop_graph();
            } else if partition.graph().is_none() {
                partition.set_graph(beside.graph().clone(), beside.version());
            }
        }
        *held = Some(partition.clone());
        drop(held);
        if exact && partition.vectors().is_some_and(|block| !block.is_full()) {
            return source.with_vectors(partition, model, true);
        }
        if changed {
            self.weigh(&key, partition.bytes());
        }
        Ok(partition)
    }

    /// About how many bytes there are.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Drops everything, as after a change of models.
    pub fn clear(&self) {
        let mut kept = self.lock();
        *kept = Kept::nothing(kept.most);
    }

    /// Lets go of what was erased in a namespace, in every partition that holds it, without waiting for the
    /// next recall: vectors are blanked, and where much has gone the rest is loaded anew when it is needed.
    pub fn let_go(&self, snapshot: &Snapshot<'_>, view: &View, namespace: &Namespace) -> Result<()> {
        let places: Vec<Place> = snapshot.place(namespace)?.into_iter().collect();
        let holds = |key: &Key| match key {
            Key::Own(id) => places.iter().any(|place| place.id == *id),
            Key::Below(root) => root.is_wider_than(namespace),
        };
        let held: Vec<Key> = self.lock().by_key.keys().filter(|key| holds(key)).cloned().collect();
        for key in held {
            match (&key, places.first()) {
                (Key::Own(_), Some(place)) => drop(self.at(snapshot, view, Area::Own(place), None, false)?),
                (Key::Below(root), _) => drop(self.at(snapshot, view, Area::Below(root), None, false)?),
                (Key::Own(_), None) => {}
            }
        }
        Ok(())
    }

    /// Lets go of graphs that were erased or replaced, by whichever process.
    pub(super) fn drop_old_graphs(&self) {
        for (namespace, partition) in self.own() {
            self.drop_old_graph(namespace, &mut partition.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The same but for partitions that are in somebody's hands just now, which nobody is to wait for.
    pub(super) fn drop_old_graphs_at_hand(&self) {
        for (namespace, partition) in self.own() {
            if let Ok(mut held) = partition.try_lock() {
                self.drop_old_graph(namespace, &mut held);
            }
        }
    }

    fn drop_old_graph(&self, namespace: NamespaceId, held: &mut Option<Partition>) {
        if let Some(partition) = held
            && let Some(version) = partition.graph().map(|beside| beside.version())
            && self.graphs.version(namespace) != Some(version)
        {
            partition.drop_graph();
        }
    }

    /// The partitions of single namespaces, in the order of their numbers.
    fn own(&self) -> Vec<(NamespaceId, Arc<Mutex<Option<Partition>>>)> {
        let of = |(key, slot): (&Key, &Slot)| match key {
            Key::Own(id) => Some((*id, slot.partition.clone())),
            Key::Below(_) => None,
        };
        let mut own: Vec<_> = self.lock().by_key.iter().filter_map(of).collect();
        own.sort_by_key(|(namespace, _)| *namespace);
        own
    }

    fn slot(&self, key: &Key) -> Arc<Mutex<Option<Partition>>> {
        let mut kept = self.lock();
        kept.uses += 1;
        let now = kept.uses;
        let slot = kept.by_key.entry(key.clone()).or_default();
        slot.used = now;
        slot.partition.clone()
    }

    /// Notes what a partition takes, and makes room.
    fn weigh(&self, key: &Key, bytes: usize) {
        let mut kept = self.lock();
        let Some(slot) = kept.by_key.get_mut(key) else { return };
        let before = std::mem::replace(&mut slot.bytes, bytes);
        kept.bytes = kept.bytes - before + bytes;
        while kept.bytes > kept.most {
            let others = kept.by_key.iter().filter(|(other, slot)| *other != key && slot.bytes > 0);
            let Some(oldest) = others.min_by_key(|(_, slot)| slot.used).map(|(key, _)| key.clone()) else {
                return;
            };
            kept.bytes -= kept.by_key.remove(&oldest).map_or(0, |slot| slot.bytes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a partition comes from.
#[derive(Clone, Copy)]
struct Source<'a> {
    snapshot: &'a Snapshot<'a>,
    view: &'a View,
    area: Area<'a>,
    now: Seq,
}

impl Source<'_> {
    fn members(&self) -> Result<Vec<NamespaceId>> {
        match self.area {
            Area::Own(place) => Ok(vec![place.id]),
            Area::Below(root) => Ok(self.snapshot.places_below(root)?.iter().map(|place| place.id).collect()),
        }
    }

    fn load(&self) -> Result<Partition> {
        let members = self.members()?;
        let mut found: Vec<(Entry, Option<String>)> = Vec::new();
        let mut speakers = Speakers::default();
        for member in &members {
            self.snapshot.in_force(*member, |one| {
                found.push((entry(&one), one.trigger.map(str::to_owned)));
                one.speaker.into_iter().for_each(|name| speakers.add(name));
                Ok(())
            })?;
        }
        if members.len() > 1 {
            found.sort_unstable_by_key(|(entry, _)| entry.columns.doc);
        }
        let mut triggers = BTreeMap::new();
        let mut entries = Vec::with_capacity(found.len());
        for (entry, trigger) in found {
            triggers.extend(trigger.map(|trigger| (entries.len() as u32, trigger)));
            entries.push(entry);
        }
        let words = self.words(&members, &entries)?;
        Ok(Partition::new(self.now, members, entries, words, triggers, speakers))
    }

    /// The posting lists: what the index has, and what it does not have yet from the store itself.
    fn words(&self, members: &[NamespaceId], entries: &[Entry]) -> Result<Words> {
        let mut unindexed: HashSet<DocId> = HashSet::new();
        // What is not of a member has no slot, so it does no harm here.
        for change in self.changes(Seq(self.view.watermark()), i64::MAX as usize)? {
            unindexed.extend(change.added);
        }
        let slot = |doc: DocId| entries.binary_search_by_key(&doc, |entry| entry.columns.doc).ok();
        let mut found: Vec<(u64, u32, u16)> = Vec::new();
        match self.indexed(members, |term, doc, count| {
            // What has gone out of force since the index was written has no slot any more.
            if !unindexed.contains(&doc)
                && let Some(slot) = slot(doc)
            {
                found.push((term, slot as u32, count));
            }
        }) {
            Ok(()) => {}
            // An index is disposable: when it fails, the store's own texts say the same.
            Err(Error::Index(_)) => {
                found.clear();
                unindexed.extend(entries.iter().map(|entry| entry.columns.doc));
            }
            Err(error) => return Err(error),
        }
        for doc in unindexed {
            if let Some(slot) = slot(doc) {
                let counted = self.counted(doc)?.into_iter();
                found.extend(counted.map(|(term, count)| (term, slot as u32, count)));
            }
        }
        Ok(Words::new(found))
    }

    fn indexed(&self, members: &[NamespaceId], mut each: impl FnMut(u64, DocId, u16)) -> Result<()> {
        for member in members {
            self.view.words_of(member.0, |term, doc, count| {
                each(words::key(term), DocId(doc), clamped(count));
            })?;
        }
        Ok(())
    }

    /// The terms of a document, as the store has its text.
    fn counted(&self, doc: DocId) -> Result<Vec<(u64, u16)>> {
        // A damaged record has no words that could be trusted; resolving it is what reports it.
        let record = match self.snapshot.record(doc) {
            Err(Error::Corrupt(_)) => None,
            other => other?,
        };
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for term in
            record.map_or_else(Vec::new, |record| index_terms(&record.indexed_text(), &record.content))
        {
            *counts.entry(words::key(term.as_bytes())).or_insert(0) += 1;
        }
        Ok(counts.into_iter().map(|(term, count)| (term, clamped(count))).collect())
    }

    fn with_vectors(
        &self,
        mut partition: Partition,
        model: Option<&ModelRow>,
        all_full: bool,
    ) -> Result<Partition> {
        let Some(model) = model else { return Ok(partition) };
        let mut block = VectorBlock::new(model.id.0, model.dims, all_full);
        for member in partition.members() {
            self.snapshot.vectors(*member, |doc, bytes| {
                if let Some(slot) = partition.slot(doc) {
                    // One of another width is left out there; verify reports it.
                    block.push(slot as u32, bytes);
                }
                Ok(())
            })?;
        }
        // Found in the order of members and documents; kept in the order of slots.
        block.settle();
        partition.set_vectors(block);
        Ok(partition)
    }

    /// What was written in the area after a moment, and for a wide one everywhere else too.
    fn changes(&self, after: Seq, limit: usize) -> Result<Vec<Change>> {
        match self.area {
            Area::Own(place) => self.snapshot.changes(place.id, after, limit),
            Area::Below(_) => self.snapshot.changes_anywhere(after, limit),
        }
    }

    /// What was written since a partition's moment; none when it is better loaded anew: too much was, or in a
    /// namespace that it does not have yet.
    fn since(&self, partition: &mut Partition) -> Result<Option<Vec<Change>>> {
        let most = match self.area {
            Area::Own(_) => {
                (partition.entries().len() * LOOKED_THROUGH_EACH).clamp(CHANGES_MAX, LOOKED_THROUGH)
            }
            Area::Below(_) => LOOKED_THROUGH,
        };
        let changes = self.changes(partition.at(), most + 1)?;
        // Namespaces are numbered as they come, so a new one has a higher number than all before.
        let newest = changes.iter().map(|change| change.namespace).max().unwrap_or(NamespaceId(0));
        if changes.len() > most || newest > partition.newest() && self.members()? != partition.members() {
            return Ok(None);
        }
        partition.knows_upto(newest);
        let members = partition.members();
        let is_here = |change: &Change| members.binary_search(&change.namespace).is_ok();
        let here: Vec<Change> = changes.into_iter().filter(is_here).collect();
        let came = here.iter().filter(|change| change.added.is_some()).count();
        Ok((came <= CHANGES_MAX).then_some(here))
    }

    /// Follows what was written since; loads anew when that is too much.
    fn follow(&self, mut partition: Partition) -> Result<Partition> {
        let Some(changes) = self.since(&mut partition)? else {
            return self.load();
        };
        let removed: BTreeSet<DocId> = changes.iter().filter_map(|change| change.removed).collect();
        let came: BTreeSet<DocId> = changes.iter().filter_map(|change| change.added).collect();
        let mut added = Vec::new();
        for doc in came {
            let mut one = None;
            self.snapshot.one_in_force(doc, |found| {
                let owned = |text: Option<&str>| text.map(str::to_owned);
                one = Some((entry(&found), owned(found.trigger), owned(found.speaker)));
                Ok(())
            })?;
            let Some((entry, trigger, speaker)) = one else { continue };
            let mut vectors = Vec::new();
            if partition.vectors().is_some() {
                self.snapshot.vectors_of(doc, |bytes| vectors.extend_from_slice(bytes))?;
            }
            added.push(Added { entry, words: self.counted(doc)?, vectors, trigger, speaker });
        }
        match partition.advance(self.now, &removed, &added) {
            true => Ok(partition),
            false => self.load(),
        }
    }
}

fn clamped(count: u32) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

fn entry(found: &InForce<'_>) -> Entry {
    let columns = found.columns;
    Entry {
        columns,
        subject: found.subject.map_or(0, subject_hash),
        turn: Turn::of(columns.doc.namespace(), found.session, found.speaker),
        in_force: true,
    }
}
