//! How does the index follow the changes? One writer at a time applies, commits, and purges.
//!
//! It decides nothing: what is added and removed, and how far that has come, is the caller's word.
//!
//! The library applies removals on a thread of its own, where a panic over damaged files would end the
//! process. Therefore all checksums are verified when a writer opens, and again before each commit
//! that removes something. A file that is cut short while it is mapped is beyond help.

use std::path::PathBuf;

use tantivy::directory::error::LockError;
use tantivy::index::SegmentMeta;
use tantivy::indexer::{IndexWriter, IndexWriterOptions, NoMergePolicy};
use tantivy::query::AllQuery;
use tantivy::{Index, TantivyDocument, TantivyError, Term};

use crate::broken::{Step, is_broken};
use crate::error::{Error, Result};

use super::contain::contained;
use super::folder::{self, Care};
use super::home::Home;
use super::partition::Partition;
use super::payload::Payload;
use super::schema::FIELDS;
use super::tier::{self, Size};

/// A change to the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The document has these terms, and no others. One that is there already is replaced.
    Add {
        /// The id by which it is found and removed.
        doc: u64,
        /// Where its terms belong.
        partition: Partition,
        /// Its terms; a term that is there twice has frequency 2.
        terms: Vec<String>,
    },
    /// The document is no more. One that is not there is not missed.
    Remove {
        /// The id by which it was added.
        doc: u64,
    },
}

/// The writing side of the index in one folder; one at a time, over all processes.
///
/// After an error it refuses everything; drop it and open another, which begins at the last commit.
/// Dropped with uncommitted changes, it forgets them.
pub struct Writer {
    folder: PathBuf,
    index: Index,
    /// None after a failure.
    writer: Option<IndexWriter>,
    committed: Payload,
    /// No document that may have to be replaced has a higher id, so one that has needs no removal first.
    highest: Option<u64>,
    pending: bool,
    /// Whether what is pending removes anything.
    removes: bool,
}

impl Writer {
    /// Opens the index in a folder for writing, or gives None while somebody else has it open for that.
    ///
    /// Like [`KeywordIndex::open`](super::KeywordIndex::open) it creates what is missing and replaces
    /// what is broken: then [`Writer::watermark`] is 0.
    pub fn open(home: impl Into<Home>) -> Result<Option<Writer>> {
        let home = home.into();
        let folder = home.folder();
        let (Some(mut loaded), _) = folder::prepare(&home, Care::Thorough)? else { return Ok(None) };
        let options = IndexWriterOptions::builder().num_worker_threads(1).num_merge_threads(1).build();
        let writer: IndexWriter = match contained(|| Ok(loaded.index.writer_with_options(options)))? {
            Ok(writer) => writer,
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // Merging in the background would make the state depend on timing.
        writer.set_merge_policy(Box::new(NoMergePolicy));
        if !loaded.is_newest(folder) {
            loaded = folder::load(&home, Some(&loaded), Care::Thorough)?;
        }
        // Files that a crash left of a commit are in the way of the same commit: it would name its own alike.
        folder::sweep(folder, &loaded.index)?;
        let committed = loaded.view.payload();
        let highest = loaded.view.segments().iter().map(|segment| segment.highest()).max();
        let folder = folder.to_owned();
        Ok(Some(Writer {
            folder,
            index: loaded.index,
            writer: Some(writer),
            committed,
            highest,
            pending: false,
            removes: false,
        }))
    }

    /// Returns the watermark of the last commit.
    pub fn watermark(&self) -> u64 {
        self.committed.watermark
    }

    /// Returns the name of the history that the watermark is a point in.
    pub fn history(&self) -> u64 {
        self.committed.history
    }

    /// Sees to it that the next commit has a higher generation than that one.
    pub fn outnumber(&mut self, generation: u64) -> Result<()> {
        self.committed.generation = self.committed.generation.max(generation);
        self.committed.purged = false;
        Ok(())
    }

    /// Returns the generation of the last commit.
    pub fn generation(&self) -> u64 {
        self.committed.generation
    }

    /// Applies changes in their order; they count from the next commit on.
    ///
    /// Applying the same changes again changes nothing, so after a crash it is safe to begin at the
    /// watermark.
    pub fn apply(&mut self, entries: impl IntoIterator<Item = Entry>) -> Result<()> {
        let (mut highest, mut removes) = (self.highest, self.removes);
        self.pending = true;
        let result = self.attempt(|writer, _| {
            for entry in entries {
                match entry {
                    Entry::Remove { .. } if is_broken(Step::Removal) => {}
                    Entry::Remove { doc } => {
                        removes = true;
                        writer.delete_term(Term::from_field_u64(FIELDS.doc, doc));
                    }
                    Entry::Add { doc, partition, terms } => {
                        if highest.is_some_and(|highest| doc <= highest) {
                            removes = true;
                            writer.delete_term(Term::from_field_u64(FIELDS.doc, doc));
                        }
                        highest = highest.max(Some(doc));
                        writer.add_document(document(doc, partition, &terms))?;
                    }
                }
            }
            Ok(())
        });
        (self.highest, self.removes) = (highest, removes);
        result
    }

    /// Makes what was applied durable, together with the word that changes up to `watermark`, a point in
    /// the history that `history` names, are in it.
    ///
    /// Either all of it is there after a crash or nothing. Costs a few synchronous writes, and now and
    /// then a merge of small segments.
    pub fn commit(&mut self, watermark: u64, history: u64) -> Result<()> {
        let generation = self.committed.generation + 1;
        self.commit_payload(Payload { watermark, history, generation, purged: false })?;
        self.attempt(|writer, index| {
            loop {
                let metas = index.searchable_segment_metas()?;
                let groups = tier::groups(&metas.iter().map(size).collect::<Vec<_>>());
                if groups.is_empty() {
                    return Ok(());
                }
                for group in groups {
                    merge(writer, group.iter().map(|position| &metas[*position]))?;
                }
            }
        })
    }

    /// Rewrites every segment that holds removed documents, so that no file of the index has a term
    /// that only they had. What was applied before is committed, at the watermark as it is.
    ///
    /// Purging again with nothing applied in between makes no new generation: who let go of the old files
    /// for the first one need not do it again.
    ///
    /// Returns the generation from which on this holds: whoever has loaded it, or a later one, and
    /// keeps no older [`View`](super::View), has none of those files open. Files that older views use
    /// are unlinked, and freed with the last of them.
    pub fn purge(&mut self) -> Result<u64> {
        let next = |committed: Payload, purged| Payload {
            generation: committed.generation + 1,
            purged,
            ..committed
        };
        if self.pending {
            self.commit_payload(next(self.committed, false))?;
        }
        if !self.committed.purged {
            self.merge_dead()?;
            // Under a generation of its own, even when there was nothing to rewrite: an earlier merge
            // changes the files without changing the generation.
            self.commit_payload(next(self.committed, true))?;
        }
        // A crash may have left files behind, also after the commit.
        let folder = self.folder.clone();
        self.attempt(|writer, index| {
            writer.garbage_collect_files().wait()?;
            folder::sweep(&folder, index)?;
            match index.searchable_segment_metas()?.iter().any(SegmentMeta::has_deletes) {
                true if is_broken(Step::Merge) => Ok(()),
                true => Err(Error::Index("a segment could not be rewritten".to_owned())),
                false => Ok(()),
            }
        })?;
        Ok(self.committed.generation)
    }

    fn merge_dead(&mut self) -> Result<()> {
        self.attempt(|writer, index| {
            let metas = index.searchable_segment_metas()?;
            let with_dead: Vec<&SegmentMeta> = metas.iter().filter(|meta| meta.has_deletes()).collect();
            if with_dead.is_empty() || is_broken(Step::Merge) { Ok(()) } else { merge(writer, with_dead) }
        })
    }

    /// Removes every document, those not yet committed included, to build the index again. Like other
    /// changes it counts from the next commit on, so that until then readers keep what they have.
    pub fn clear(&mut self) -> Result<()> {
        self.pending = true;
        self.attempt(|writer, _| Ok(writer.delete_query(Box::new(AllQuery)).map(drop)?))?;
        (self.highest, self.removes) = (None, true);
        Ok(())
    }

    fn commit_payload(&mut self, payload: Payload) -> Result<()> {
        let removes = self.removes;
        self.attempt(|writer, index| {
            if removes {
                folder::verify(index)?;
            }
            let mut prepared = writer.prepare_commit()?;
            prepared.set_payload(&payload.write());
            prepared.commit()?;
            Ok(())
        })?;
        self.committed = payload;
        (self.pending, self.removes) = (false, false);
        Ok(())
    }

    /// Runs one step. A failure closes the writer: what the library holds then is not known.
    fn attempt<T>(&mut self, step: impl FnOnce(&mut IndexWriter, &Index) -> Result<T>) -> Result<T> {
        let mut writer = self
            .writer
            .take()
            .ok_or_else(|| Error::Index("an earlier write failed; open it again".to_owned()))?;
        let index = &self.index;
        let outcome = contained(|| step(&mut writer, index));
        match outcome {
            Ok(outcome) => {
                self.writer = Some(writer);
                Ok(outcome)
            }
            Err(error) => {
                // Dropping may meet the same damage again.
                let _ = contained(|| {
                    drop(writer);
                    Ok(())
                });
                Err(error)
            }
        }
    }
}

/// Each term is a value of its own, taken whole: a ready-made list of tokens would be carried as JSON.
fn document(doc: u64, partition: Partition, terms: &[String]) -> TantivyDocument {
    let mut document = TantivyDocument::default();
    document.add_u64(FIELDS.doc, doc);
    terms.iter().for_each(|term| document.add_text(FIELDS.terms, partition.key(term)));
    document
}

fn size(meta: &SegmentMeta) -> Size {
    Size { alive: u64::from(meta.num_docs()), dead: u64::from(meta.num_deleted_docs()) }
}

fn merge<'a>(writer: &mut IndexWriter, metas: impl IntoIterator<Item = &'a SegmentMeta>) -> Result<()> {
    let ids: Vec<_> = metas.into_iter().map(SegmentMeta::id).collect();
    writer.merge(&ids).wait()?;
    Ok(())
}
