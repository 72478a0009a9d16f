//! Carries what the store wrote to whatever is derived from it: the keyword index on disk, the
//! partitions in memory. It pulls, in the order of writes, and needs no notification to be correct.
//!
//! It decides nothing: applying the same change twice is applying it once, and a rebuild is the same
//! walk from zero.

mod check;
mod graphs;
mod leases;
mod lock;
mod partitions;

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::broken::{Step, is_broken};
use crate::change::{Change, DocId, NamespaceId, Seq};
use crate::error::{Error, Result};
use crate::index::keyword::{self, Condition, Entry, Home, KeywordIndex, View, Writer};
use crate::record::{Record, State};
use crate::store::{CipherKey, Snapshot, Store, create_private_folder, sync_folder};
use crate::text::index_terms;
use crate::trust::Sensitivity;

use graphs::Graphs;
#[cfg(feature = "graph")]
pub use graphs::Tending;
pub use leases::Holder;
use leases::Leases;
use lock::lock;
pub use partitions::{Area, Partitions};

/// How many changes are applied between two commits: it bounds the memory of a rebuild.
const BATCH: usize = 8192;
/// Which share of all writes may wait before an index commit repays itself, within these bounds: a commit costs
/// as much for one record as for hundreds, and what is committed in small pieces is merged again and again.
/// Until then whoever loads a partition takes its own waiting records from the store's texts, which costs about
/// 20 microseconds each.
const BACKLOG_SHARE: u64 = 4;
const BACKLOG_BOUNDS: (u64, u64) = (512, 16_384);
/// How long cleaning up waits for another process to let go before it reports what is left.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a lock can outlive whoever held it: a process that is being started shares it until it runs its program.
const MOMENT: Duration = Duration::from_millis(100);
/// Between two looks at whether it has.
const PAUSE: Duration = Duration::from_millis(20);

/// The derived side of a store, in one process.
pub struct Relay {
    home: Home,
    keyword: RwLock<KeywordIndex>,
    leases: Leases,
    graphs: Arc<Graphs>,
    partitions: Partitions,
}

/// What a drain did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// The keyword index has everything up to that write.
    Upto(Seq),
    /// Another process is writing the index.
    Busy,
}

/// What keeps a purge from being finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purged {
    /// No file of the index holds anything of what was removed.
    Clean,
    /// Another process is writing the index.
    Busy,
    /// These processes still have old files open.
    Held(Vec<Holder>),
}

impl Relay {
    /// Opens what is derived from a store. Whatever is missing, damaged or of a history that this store
    /// does not have is begun anew; the second value tells why, if there was something to begin anew.
    ///
    /// Of the partitions about `kept_bytes` stay in memory.
    pub fn open(store: &Store, kept_bytes: usize) -> Result<(Relay, Option<String>)> {
        let key = store.cipher().map(CipherKey::of_derived);
        let home = Home::new(store.derived_folder().join("keyword"), key);
        create_private_folder(home.folder())?;
        let opened = KeywordIndex::open(&home)?;
        let snapshot = store.snapshot()?;
        let last = snapshot.last()?;
        let mut why = match opened.condition {
            Condition::Found => None,
            // A store that begins has no index yet, or another process is making it.
            Condition::Created | Condition::Awaited { .. } if last == Seq(0) => None,
            Condition::Created => Some("it was missing".to_owned()),
            Condition::Discarded { why } => Some(why),
            Condition::Awaited { why } => Some(why),
        };
        let view = opened.index.view();
        if view.history() != snapshot.history_at(Seq(view.watermark()))? {
            // The database was put back to an earlier state, or the index is another store's.
            why = Some("it knew writes that the store does not have".to_owned());
            drop(view);
            if let Some(mut writer) = patiently(PATIENCE, || Writer::open(&home))? {
                writer.clear()?;
                writer.commit(0, 0)?;
                writer.purge()?;
            }
            opened.index.reload()?;
        }
        let graphs = Arc::new(Graphs::of(&store.derived_folder()));
        let relay = Relay {
            leases: Leases::open(&store.derived_folder().join("leases"))?,
            home,
            keyword: RwLock::new(opened.index),
            partitions: Partitions::new(graphs.clone(), kept_bytes),
            graphs,
        };
        relay.renew_lease()?;
        Ok((relay, why))
    }

    /// Picks up what another process committed, and lets go of older files. Cheap when there is nothing.
    pub fn refresh(&self) -> Result<()> {
        let failed = self.keyword().reload().is_err();
        if failed {
            // Gone or damaged while in use: begin anew, like at the start.
            return self.begin_anew();
        }
        self.partitions.drop_old_graphs_at_hand();
        self.renew_lease()
    }

    /// Compares what was left for later when the keyword index was opened, and begins anew if it is damaged.
    pub fn read_through(&self) -> Result<()> {
        let failed = self.keyword().read_through().is_err();
        if failed {
            self.begin_anew()?;
        }
        Ok(())
    }

    fn begin_anew(&self) -> Result<()> {
        // Under the writer's care: what reads quickly would find the same files sound again.
        drop(Writer::open(&self.home)?);
        let opened = KeywordIndex::open(&self.home)?;
        *self.keyword.write().unwrap_or_else(std::sync::PoisonError::into_inner) = opened.index;
        self.partitions.clear();
        self.renew_lease()
    }

    /// The keyword index as it was last loaded.
    pub fn view(&self) -> View {
        self.keyword().view()
    }

    /// The partitions of namespaces, kept equal to the store.
    pub fn partitions(&self) -> &Partitions {
        &self.partitions
    }

    /// Whether so many writes wait for the keyword index that it had better apply them.
    pub fn is_behind(&self, store: &Store) -> Result<bool> {
        let last = store.snapshot()?.last()?.0;
        let (few, many) = BACKLOG_BOUNDS;
        Ok(last.saturating_sub(self.keyword().watermark()) >= (last / BACKLOG_SHARE).clamp(few, many))
    }

    /// Applies everything that the store wrote to the keyword index, unless another process is writing it.
    /// `progress` is told how far it is.
    pub fn drain(&self, store: &Store, progress: &mut dyn FnMut(Seq, Seq)) -> Result<Drained> {
        self.drain_within(Duration::ZERO, store, progress)
    }

    /// The same, but another process that is writing it is waited for, up to three seconds.
    pub fn drain_patiently(&self, store: &Store, progress: &mut dyn FnMut(Seq, Seq)) -> Result<Drained> {
        self.drain_within(PATIENCE, store, progress)
    }

    fn drain_within(
        &self,
        patience: Duration,
        store: &Store,
        progress: &mut dyn FnMut(Seq, Seq),
    ) -> Result<Drained> {
        let Some(mut writer) = patiently(patience, || Writer::open(&self.home))? else {
            return Ok(Drained::Busy);
        };
        let written = self.apply(store, self.home.folder(), &mut writer, progress);
        let upto = self.close(writer, written)?;
        self.refresh()?;
        Ok(Drained::Upto(upto))
    }

    /// Closes the writer, and takes away the files that it has begun where writing has failed: on a full disk they would
    /// lie in the room that is kept for the next try.
    fn close<T>(&self, writer: Writer, written: Result<T>) -> Result<T> {
        drop(writer);
        if written.is_err() {
            let _ = Writer::open(&self.home);
        }
        written
    }

    /// Builds the keyword index anew from the store, beside the one in use, which serves until the new one is
    /// whole. One that was interrupted goes on where it was. Graphs are erased, to be built when there is time.
    pub fn rebuild(&self, store: &Store, progress: &mut dyn FnMut(Seq, Seq)) -> Result<Drained> {
        if !self.drop_graphs()? {
            return Ok(Drained::Busy);
        }
        // To the end: the lock of the writer is in the folder, which is taken away after it is given back.
        let Some(_lock) = lock(&self.beside_lock(), PATIENCE)? else { return Ok(Drained::Busy) };
        let beside = self.beside();
        create_private_folder(beside.folder())?;
        let Some(mut writer) = patiently(PATIENCE, || Writer::open(&beside))? else {
            return Ok(Drained::Busy);
        };
        let snapshot = store.snapshot()?;
        if writer.history() != snapshot.history_at(Seq(writer.watermark()))? {
            writer.clear()?;
            writer.commit(0, 0)?;
        }
        drop(snapshot);
        self.apply(store, beside.folder(), &mut writer, progress)?;
        // No one else may write to the old one from here on: what it learned would be lost.
        let Some(taken) = patiently(PATIENCE, || keyword::Taken::of(&self.home))? else {
            return Ok(Drained::Busy);
        };
        let upto = self.apply(store, beside.folder(), &mut writer, progress)?;
        writer.outnumber(taken.generation())?;
        writer.purge()?;
        drop(writer);
        taken.replace_by(beside.folder())?;
        Relay::remove_beside(beside.folder())?;
        // Takes away the files of the old one.
        if let Some(mut writer) = patiently(PATIENCE, || Writer::open(&self.home))? {
            writer.purge()?;
        }
        make_private(self.home.folder())?;
        self.partitions.clear();
        self.refresh()?;
        Ok(Drained::Upto(upto))
    }

    /// Where an index is built anew.
    fn beside(&self) -> Home {
        self.home.beside("keyword-new")
    }

    /// Who has it may make and take away that folder.
    fn beside_lock(&self) -> PathBuf {
        self.home.folder().with_file_name("keyword-new.lock")
    }

    /// Takes away what an interrupted rebuild has left, which may hold what is to be forgotten. False when one is
    /// running.
    fn clear_beside(&self) -> Result<bool> {
        let beside = self.beside();
        if !beside.folder().exists() {
            return Ok(true);
        }
        let Some(_lock) = lock(&self.beside_lock(), MOMENT)? else { return Ok(false) };
        match patiently(MOMENT, || Writer::open(&beside))? {
            Some(writer) => {
                drop(writer);
                Relay::remove_beside(beside.folder())?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// How many of these namespaces have a graph.
    pub fn count_graphs(&self, namespaces: &[NamespaceId]) -> usize {
        namespaces.iter().filter(|namespace| self.graphs.version(**namespace).is_some()).count()
    }

    /// The documents that graphs have a vector of, as their files say.
    pub fn docs_of_graphs(&self) -> Result<Vec<DocId>> {
        self.graphs.docs()
    }

    /// A loss of power may not bring it back.
    fn remove_beside(beside: &Path) -> Result<()> {
        std::fs::remove_dir_all(beside).map_err(Error::io(beside))?;
        beside.parent().map_or(Ok(()), sync_folder)
    }

    /// Erases every graph, as when another model's vectors come into use. False when another process is writing
    /// one.
    pub fn drop_graphs(&self) -> Result<bool> {
        let erased = self.graphs.erase_all(PATIENCE)?;
        self.partitions.drop_old_graphs();
        Ok(erased)
    }

    /// Applies everything, then rewrites the index so that no file holds a term of what was removed,
    /// and waits for every process to let go of the files that did. Before that the graphs of namespaces in which
    /// something was deleted are erased: no graph can forget.
    pub fn purge(&self, store: &Store) -> Result<Purged> {
        let deadline = Instant::now() + PATIENCE;
        let touched = store.snapshot()?.namespaces_of_open_jobs()?;
        if !self.graphs.erase(&touched, PATIENCE)? {
            return Ok(Purged::Busy);
        }
        self.partitions.drop_old_graphs();
        let Some(mut writer) = patiently(PATIENCE, || Writer::open(&self.home))? else {
            return Ok(Purged::Busy);
        };
        // Behind the writer's lock, under which a rebuild moves its files into place.
        if !self.clear_beside()? {
            return Ok(Purged::Busy);
        }
        let written =
            self.apply(store, self.home.folder(), &mut writer, &mut |_, _| {}).and_then(|_| writer.purge());
        make_private(self.home.folder())?;
        let generation = self.close(writer, written)?;
        if is_broken(Step::Readers) {
            return Ok(Purged::Clean);
        }
        loop {
            self.refresh()?;
            let holders = self.leases.older_than(generation)?;
            if holders.is_empty() && self.keyword().oldest_generation() >= generation {
                return Ok(Purged::Clean);
            }
            if Instant::now() > deadline {
                return Ok(Purged::Held(holders));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn apply(
        &self,
        store: &Store,
        folder: &Path,
        writer: &mut Writer,
        progress: &mut dyn FnMut(Seq, Seq),
    ) -> Result<Seq> {
        loop {
            let snapshot = store.snapshot()?;
            let (from, last) = (Seq(writer.watermark()), snapshot.last()?);
            let changes = snapshot.changes_anywhere(from, BATCH)?;
            let Some(upto) = changes.last().map(|change| change.seq) else {
                return Ok(from);
            };
            let mut found = Vec::new();
            for change in &changes {
                read(&snapshot, change, &mut found)?;
            }
            let entries: Vec<Entry> = found.into_par_iter().with_min_len(64).map(Found::entry).collect();
            writer.apply(entries)?;
            writer.commit(upto.0, snapshot.history_at(upto)?)?;
            make_private(folder)?;
            progress(upto, last);
        }
    }

    fn keyword(&self) -> RwLockReadGuard<'_, KeywordIndex> {
        self.keyword.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn renew_lease(&self) -> Result<()> {
        self.leases.renew(self.keyword().oldest_generation())
    }
}

/// Tries to open what somebody else may have open, until it is free or the time is up.
fn patiently<T>(patience: Duration, open: impl Fn() -> Result<Option<T>>) -> Result<Option<T>> {
    let deadline = Instant::now() + patience;
    loop {
        match open()? {
            None if Instant::now() < deadline => std::thread::sleep(PAUSE),
            opened => return Ok(opened),
        }
    }
}

/// The index library makes its files with the process's mask; whatever that is, they are for nobody else.
#[cfg(unix)]
fn make_private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        let private = std::fs::Permissions::from_mode(0o600);
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() && found.permissions().mode() & 0o777 != 0o600 => {
                std::fs::set_permissions(&path, private).map_err(Error::io(&path))?;
            }
            // Collected meanwhile, or nothing to do.
            _ => {}
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> Result<()> {
    Ok(())
}

/// What one change means for the keyword index, before its text is analysed.
enum Found {
    Gone(DocId),
    Came(DocId, Sensitivity, Box<Record>),
}

impl Found {
    fn entry(self) -> Entry {
        match self {
            Found::Gone(DocId(doc)) => Entry::Remove { doc },
            Found::Came(doc, sensitivity, record) => {
                let partition = keyword::Partition { namespace: doc.namespace().0, class: sensitivity as u8 };
                Entry::Add {
                    doc: doc.0,
                    partition,
                    terms: index_terms(&record.indexed_text(), &record.content),
                }
            }
        }
    }
}

/// Reads what a change brought. A document that has gone out of force since is left out; the change that took
/// it out comes later and finds nothing. So is a damaged one, whose words can't be trusted.
fn read(snapshot: &Snapshot<'_>, change: &Change, found: &mut Vec<Found>) -> Result<()> {
    found.extend(change.removed.map(Found::Gone));
    let Some(doc) = change.added else { return Ok(()) };
    match snapshot.record(doc) {
        Ok(Some(record)) if record.state == State::Current => {
            found.push(Found::Came(doc, record.sensitivity, Box::new(record)));
        }
        Ok(_) | Err(Error::Corrupt(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}
