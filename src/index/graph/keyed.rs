//! A graph whose rows are known by the vector that they are: of which document, and which of the vectors that
//! it had. So whoever reads it back finds its rows again, and those that have changed meanwhile are not taken
//! for others.

use std::path::Path;

use super::{Go, Graph, Pace, files};
use crate::change::{DocId, Seq};
use crate::error::{Error, Result};
use crate::index::block::{Neighbours, RowKey};

/// How many bytes a key takes in a file.
const KEY_BYTES: usize = 12;

/// The moment of a store that a graph was made at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The last write.
    pub at: Seq,
    /// Names the history up to it.
    pub history: u64,
}

/// A graph of the vectors of a namespace.
pub struct Keyed {
    graph: Graph,
    /// By the graph's number.
    keys: Vec<RowKey>,
    mark: Mark,
}

impl Keyed {
    /// One without rows, to be filled with those of a moment; as [`Graph::new`].
    pub fn new(model: &str, dims: usize, rows: usize, mark: Mark) -> Keyed {
        Keyed { graph: Graph::new(model, dims, rows), keys: Vec::new(), mark }
    }

    /// The moment that its rows were first of: nothing older than that is in it.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// Puts vectors in. One without a direction has no place in a graph: its key is not taken.
    pub fn insert(&mut self, rows: &[(RowKey, Vec<f32>)], pace: Pace) {
        let first = self.keys.len() as u32;
        let numbered: Vec<(u32, &[f32])> =
            (first..).zip(rows).map(|(number, (_, vector))| (number, vector.as_slice())).collect();
        self.graph.insert(&numbered, pace, |_| Go::On);
        let taken = |(number, (key, _)): (u32, &(RowKey, Vec<f32>))| {
            if self.graph.has(number) { *key } else { RowKey::NONE }
        };
        self.keys.extend((first..).zip(rows).map(taken));
    }

    /// Writes it to a folder, as [`Graph::save`], with the moment that all of its rows are from.
    pub fn save(&mut self, folder: &Path, mark: Mark) -> Result<()> {
        self.mark = mark;
        let mut note = Vec::with_capacity(16 + self.keys.len() * KEY_BYTES);
        note.extend(mark.at.0.to_le_bytes());
        note.extend(mark.history.to_le_bytes());
        for key in &self.keys {
            note.extend(key.doc.0.to_le_bytes());
            note.extend(key.check.to_le_bytes());
        }
        self.graph.set_note(note);
        let saved = self.graph.save(folder);
        self.graph.set_note(Vec::new());
        saved
    }

    /// Reads what [`Keyed::save`] wrote; as [`Graph::load`].
    pub fn load(folder: &Path, model: &str, dims: usize) -> Result<Keyed> {
        let mut graph = Graph::load(folder, model, dims)?;
        let (mark, keys) = read_note(graph.note())
            .ok_or_else(|| Error::Index(format!("the graph in {} has another note", folder.display())))?;
        graph.set_note(Vec::new());
        Ok(Keyed { graph, keys, mark })
    }
}

/// The documents that the graph of a folder has a vector of, without reading the vectors.
///
/// # Errors
/// When its header is not whole, as while it is being written.
pub fn docs_in(folder: &Path) -> Result<Vec<DocId>> {
    let (_, keys) = read_note(&files::note_in(folder)?)
        .ok_or_else(|| Error::Index(format!("the graph in {} has another note", folder.display())))?;
    Ok(keys.into_iter().filter(|key| *key != RowKey::NONE).map(|key| key.doc).collect())
}

fn read_note(note: &[u8]) -> Option<(Mark, Vec<RowKey>)> {
    let (at, rest) = note.split_first_chunk::<8>()?;
    let (history, rest) = rest.split_first_chunk::<8>()?;
    let mark = Mark { at: Seq(u64::from_le_bytes(*at)), history: u64::from_le_bytes(*history) };
    let (keys, more) = rest.as_chunks::<KEY_BYTES>();
    let key = |bytes: &[u8; KEY_BYTES]| {
        let (doc, rest) = bytes.split_first_chunk::<8>()?;
        let check = u32::from_le_bytes(*rest.first_chunk::<4>()?);
        Some(RowKey { doc: DocId(u64::from_le_bytes(*doc)), check })
    };
    let keys = keys.iter().map(key).collect::<Option<Vec<_>>>()?;
    more.is_empty().then_some((mark, keys))
}

impl Neighbours for Keyed {
    fn keys(&self) -> &[RowKey] {
        &self.keys
    }

    fn nearest(
        &self,
        query: &[f32],
        breadth: usize,
        allowed: Option<&(dyn Fn(u32) -> bool + Sync)>,
    ) -> Vec<u32> {
        let found = match allowed {
            None => self.graph.nearest(query, breadth, breadth, None),
            Some(allowed) => self.graph.nearest(query, breadth, breadth, Some(&|number| allowed(number))),
        };
        found.into_iter().map(|(number, _)| number).collect()
    }

    fn bytes(&self) -> usize {
        self.graph.bytes() + self.keys.len() * size_of::<RowKey>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::Numbers;

    fn keyed(doc: u64) -> RowKey {
        RowKey { doc: DocId(doc), check: doc as u32 * 7 }
    }

    #[test]
    fn what_was_saved_has_its_keys_and_its_moment_and_none_for_what_has_no_direction() {
        let folder = tempfile::tempdir().unwrap();
        let mut numbers = Numbers::new(3);
        let mut rows: Vec<(RowKey, Vec<f32>)> = (0..300).map(|doc| (keyed(doc), numbers.floats(8))).collect();
        rows[7].1 = vec![0.0; 8];
        let mut first = Keyed::new("a model", 8, rows.len(), Mark::default());
        rows.chunks(100).for_each(|rows| first.insert(rows, Pace::OneCore));
        let mark = Mark { at: Seq(9), history: 77 };
        first.save(folder.path(), mark).unwrap();
        let second = Keyed::load(folder.path(), "a model", 8).unwrap();
        assert_eq!((second.mark(), second.keys()), (mark, first.keys()));
        assert_eq!((second.keys()[7], second.keys()[8]), (RowKey::NONE, keyed(8)));
        let found = second.nearest(&rows[42].1, 64, None);
        assert_eq!((found[0], found.len()), (42, 64));
        let even = |number: u32| number.is_multiple_of(2);
        assert!(second.nearest(&rows[42].1, 64, Some(&even)).iter().all(|number| even(*number)));
        assert!(read_note(&[0; 17]).is_none() && read_note(&[0; 9]).is_none());
    }
}
