//! Builds the graphs of namespaces, completes them, and reads back what was built before. A graph is of one
//! moment; before it is put into its folder the store is asked whether anything was deleted since, so that no
//! file is written that holds what is forgotten. What is there already serves until then.

use std::fs::{self, File};
use std::sync::Arc;
use std::time::Duration;

use super::super::{PATIENCE, Relay, make_private};
use super::{BUILDER, FILES, Graphs, remove};
use crate::change::NamespaceId;
use crate::error::{Error, Result};
use crate::index::Partition;
use crate::index::block::{RowKey, Stale};
use crate::index::graph::{Go, Keyed, Mark, Pace};
use crate::relay::Area;
use crate::store::{ModelRow, Store, create_private_folder};

/// Rows that are put in between two looks at whether to go on: below half a second, on one core.
const SLICE: usize = 96;
/// The same where all cores work, who would wait for one another.
const SLICE_OF_ALL: usize = 1024;

/// How graphs are looked after.
pub struct Tending<'a> {
    /// From how many vectors in force on a namespace has a graph.
    pub from: usize,
    /// On how many cores.
    pub pace: Pace,
    /// Told how many of how many rows are in the graph that is being built; says whether to go on.
    pub go: &'a mut dyn FnMut(u64, u64) -> Go,
}

/// What there was to do for a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    /// Nothing, or another process does it.
    Nothing,
    /// There is a graph that is up to date.
    Whole,
    /// The work was stopped.
    Stopped,
}

impl Relay {
    /// Sees to the graphs of the namespaces that this process has in memory.
    pub fn tend_graphs(&self, store: &Store, tending: &mut Tending<'_>) -> Result<()> {
        for namespace in self.partitions.want_graphs(tending.from) {
            if self.tend(store, namespace, tending)? == Done::Stopped {
                break;
            }
        }
        Ok(())
    }

    /// The same for every namespace that has enough vectors; tells how many have a graph now.
    pub fn build_graphs(&self, store: &Store, tending: &mut Tending<'_>) -> Result<usize> {
        let mut whole = 0;
        for namespace in store.snapshot()?.namespaces_with_vectors(tending.from)? {
            match self.tend(store, namespace, tending)? {
                Done::Stopped => break,
                Done::Whole => whole += 1,
                Done::Nothing => {}
            }
        }
        Ok(whole)
    }

    fn tend(&self, store: &Store, namespace: NamespaceId, tending: &mut Tending<'_>) -> Result<Done> {
        let Some((partition, model, mark)) = self.moment(store, namespace)? else {
            return Ok(Done::Nothing);
        };
        let rows = partition.vectors().map_or(0, |block| block.owners().len()) as u32;
        let live = |row: u32| partition.is_live(row);
        if partition.graph_state() == Stale::No {
            return Ok(Done::Whole);
        }
        if (0..rows).filter(|row| live(*row)).count() < tending.from {
            return Ok(Done::Nothing);
        }
        let version = self.graphs.version(namespace);
        let found = version.and_then(|version| self.read(store, namespace, version, &model)).map(Arc::new);
        // One that was of no use is gone now.
        let version = version.filter(|_| found.is_some());
        let mut met = partition.clone();
        met.drop_graph();
        if let (Some(found), Some(version)) = (&found, version) {
            met.set_graph(found.clone(), version);
        }
        let state = met.graph_state();
        if let (Stale::No, Some(found), Some(version)) = (state, &found, version) {
            self.partitions.attach(namespace, found.clone(), version);
            return Ok(Done::Whole);
        }
        let Some(_builder) = self.graphs.builder()? else { return Ok(Done::Nothing) };
        if self.graphs.version(namespace) != version {
            // Another process has just built it: the next round reads that one.
            return Ok(Done::Nothing);
        }
        let missing = |row: &u32| live(*row);
        let wanted: Vec<u32> = match met.graph().filter(|_| state == Stale::Behind) {
            Some(beside) => beside.tail(rows as usize).filter(missing).collect(),
            None => (0..rows).filter(missing).collect(),
        };
        drop(met);
        let graph = match found.and_then(Arc::into_inner).filter(|_| state == Stale::Behind) {
            Some(graph) => graph,
            None => Keyed::new(&model.fingerprint, model.dims, wanted.len(), mark),
        };
        let work = Work { namespace, model: &model, partition: &partition, mark, wanted: &wanted };
        self.grow(store, &work, graph, tending)
    }

    /// A namespace as it is now, with its vectors, the model that made them, and which moment that is; none when it
    /// has no vectors.
    fn moment(&self, store: &Store, namespace: NamespaceId) -> Result<Option<(Partition, ModelRow, Mark)>> {
        let view = self.view();
        let snapshot = store.snapshot()?;
        let model = snapshot.models()?.into_iter().find(|model| model.in_use);
        let (Some(model), Some(place)) = (model, snapshot.place_of(namespace)?) else { return Ok(None) };
        let partition = self.partitions.at(&snapshot, &view, Area::Own(&place), Some(&model), false)?;
        let at = snapshot.last()?;
        let mark = Mark { at, history: snapshot.history_at(at)? };
        Ok(Some((partition, model, mark)))
    }

    /// Reads the graph of a namespace. One that is damaged, of another model, of another history, or older than a
    /// deletion is thrown away.
    fn read(&self, store: &Store, namespace: NamespaceId, version: u64, model: &ModelRow) -> Option<Keyed> {
        let read = Keyed::load(&self.graphs.place(namespace), &model.fingerprint, model.dims);
        let is_sound = |graph: &Keyed| is_sound(store, namespace, graph.mark()).is_ok_and(|sound| sound);
        let sound = read.ok().filter(is_sound);
        if self.graphs.version(namespace) != Some(version) {
            // Replaced or erased while it was read: nothing is known of what is there now.
            return None;
        }
        if sound.is_none() {
            // What can't be erased now is found unfit again at the next round.
            let _ = self.graphs.erase(&[namespace], PATIENCE);
        }
        sound
    }

    /// Puts rows in, some at a time, and saves what has come of it, also when it is stopped.
    fn grow(
        &self,
        store: &Store,
        work: &Work<'_>,
        mut graph: Keyed,
        tending: &mut Tending<'_>,
    ) -> Result<Done> {
        let Some(block) = work.partition.vectors() else { return Ok(Done::Nothing) };
        let slice = match tending.pace {
            Pace::OneCore => SLICE,
            Pace::AllCores => SLICE_OF_ALL,
        };
        let since = graph.mark();
        let (mut done, mut stopped) = (0, false);
        for rows in work.wanted.chunks(slice) {
            let key = |row: u32| work.partition.key(row).unwrap_or(RowKey::NONE);
            let vectors: Vec<_> = rows.iter().map(|row| (key(*row), block.rough(*row as usize))).collect();
            graph.insert(&vectors, tending.pace);
            done += rows.len();
            // What was deleted meanwhile may be in it.
            if !is_sound(store, work.namespace, since)? {
                return Ok(Done::Nothing);
            }
            if (tending.go)(done as u64, work.wanted.len() as u64) == Go::Stop {
                stopped = true;
                break;
            }
        }
        if let Some(version) = self.save(store, work, &mut graph, since)? {
            self.partitions.attach(work.namespace, Arc::new(graph), version);
            return Ok(if stopped { Done::Stopped } else { Done::Whole });
        }
        Ok(if stopped { Done::Stopped } else { Done::Nothing })
    }

    /// Writes a graph beside the one that is there and puts it in its place; tells its version. None when it may
    /// not be kept, since something was deleted or the model has changed, or the folder is busy.
    fn save(&self, store: &Store, work: &Work<'_>, graph: &mut Keyed, since: Mark) -> Result<Option<u64>> {
        let (place, part) = (self.graphs.place(work.namespace), self.graphs.part(work.namespace));
        let Some(_lock) = self.graphs.lock(FILES, PATIENCE)? else { return Ok(None) };
        // Under the lock: whoever deletes something later waits for it, and then erases this graph.
        let is_in_use = |model: &ModelRow| model.in_use && model.id == work.model.id;
        if !is_sound(store, work.namespace, since)? || !store.snapshot()?.models()?.iter().any(is_in_use) {
            return Ok(None);
        }
        remove(&part)?;
        create_private_folder(&part)?;
        let saved = graph.save(&part, work.mark).and_then(|()| make_private(&part));
        if let Err(error) = saved {
            remove(&part)?;
            return Err(error);
        }
        remove(&place)?;
        fs::rename(&part, &place).map_err(Error::io(&place))?;
        Ok(self.graphs.version(work.namespace))
    }
}

/// A graph to be filled.
struct Work<'a> {
    namespace: NamespaceId,
    model: &'a ModelRow,
    partition: &'a Partition,
    mark: Mark,
    wanted: &'a [u32],
}

/// Whether a graph of that moment is of this store's history and holds nothing that was deleted since.
fn is_sound(store: &Store, namespace: NamespaceId, mark: Mark) -> Result<bool> {
    let snapshot = store.snapshot()?;
    Ok(snapshot.history_at(mark.at)? == mark.history && !snapshot.is_deleted_since(namespace, mark.at)?)
}

impl Graphs {
    /// Takes the place of the one who builds; none when another process has it.
    fn builder(&self) -> Result<Option<File>> {
        create_private_folder(&self.folder)?;
        self.lock(BUILDER, Duration::ZERO)
    }
}
