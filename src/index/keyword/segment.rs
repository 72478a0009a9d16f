//! What does one immutable segment hold? Knows nothing of the others.

use std::sync::Arc;

use tantivy::SegmentReader;
use tantivy::columnar::{Cardinality, Column};
use tantivy::index::{InvertedIndexReader, SegmentId};
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use crate::error::{Error, Result};

use super::schema::{DOC, FIELDS};

/// Documents that are decoded at a time: the block of the posting format.
const BLOCK: usize = 128;

/// An open segment. Its files stay readable while it lives, even when they have been unlinked.
pub(super) struct Segment {
    reader: SegmentReader,
    terms: Arc<InvertedIndexReader>,
    docs: Column<u64>,
}

impl Segment {
    /// Opens a segment and checks that its parts fit together.
    pub(super) fn open(segment: &tantivy::Segment) -> Result<Segment> {
        let reader = SegmentReader::open(segment)?;
        let terms = reader.inverted_index(FIELDS.terms)?;
        let docs = reader.fast_fields().u64(DOC)?;
        let count = reader.max_doc();
        let alive_fits = reader.alive_bitset().is_none_or(|alive| alive.bitset().max_value() == count);
        if docs.num_docs() != count || docs.get_cardinality() != Cardinality::Full || !alive_fits {
            return Err(Error::Index("the parts of a segment don't fit together".to_owned()));
        }
        Ok(Segment { reader, terms, docs })
    }

    pub(super) fn id(&self) -> SegmentId {
        self.reader.segment_id()
    }

    /// Says whether this is the segment `id` with exactly the removals that are told by `opstamp`.
    pub(super) fn is(&self, id: SegmentId, opstamp: Option<u64>) -> bool {
        self.id() == id && self.reader.delete_opstamp() == opstamp
    }

    pub(super) fn dead(&self) -> u64 {
        u64::from(self.reader.num_deleted_docs())
    }

    /// An upper bound of the document ids.
    pub(super) fn highest(&self) -> u64 {
        self.docs.max_value()
    }

    /// Gives every key with id and frequency of each alive document that holds it.
    pub(super) fn each_posting(&self, mut each: impl FnMut(&[u8], u64, u32)) -> Result<()> {
        let mut stream = self.terms.terms().stream().map_err(damaged)?;
        let mut found = Vec::new();
        while stream.advance() {
            self.decode(stream.value(), &mut found)?;
            found.drain(..).for_each(|(doc, frequency)| each(stream.key(), doc, frequency));
        }
        Ok(())
    }

    /// The same for the keys from `from` up to, and without, `until`; the key comes without its first `prefix`
    /// bytes.
    pub(super) fn postings_between(
        &self,
        (from, until): (&[u8], &[u8]),
        prefix: usize,
        mut each: impl FnMut(&[u8], u64, u32),
    ) -> Result<()> {
        let range = self.terms.terms().range().ge(from).lt(until);
        let mut stream = range.into_stream().map_err(damaged)?;
        let mut found = Vec::new();
        while stream.advance() {
            self.decode(stream.value(), &mut found)?;
            let term = stream.key().get(prefix..).unwrap_or_default();
            found.drain(..).for_each(|(doc, frequency)| each(term, doc, frequency));
        }
        Ok(())
    }

    /// Puts id and frequency of every alive document of a posting list into `found`, which is empty.
    fn decode(&self, info: &TermInfo, found: &mut Vec<(u64, u32)>) -> Result<()> {
        let mut block = self
            .terms
            .read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)
            .map_err(damaged)?;
        // Damage may claim anything; memory for it is not asked for.
        let most = self.docs.num_docs() as usize;
        found.reserve(most.min(info.doc_freq as usize));
        let alive = self.reader.alive_bitset();
        let mut ids = [0u64; BLOCK];
        loop {
            let docs = block.docs();
            if docs.is_empty() {
                return Ok(());
            }
            let ids = &mut ids[..docs.len()];
            self.docs.values.get_vals(docs, ids);
            let entries = docs.iter().zip(ids).zip(block.freqs());
            let alive_entries =
                entries.filter(|((doc, _), _)| alive.is_none_or(|alive| alive.is_alive(**doc)));
            found.extend(alive_entries.map(|((_, id), frequency)| (*id, *frequency)));
            if found.len() > most {
                return Err(Error::Index("a term has more documents than its segment".to_owned()));
            }
            block.advance();
        }
    }

    /// Appends the id of every alive document.
    pub(super) fn documents(&self, found: &mut Vec<u64>) {
        found.extend(self.reader.doc_ids_alive().map(|doc| self.docs.values.get_val(doc)));
    }

    /// Gives every key of the term dictionary, those of dead documents included.
    pub(super) fn keys(&self, mut each: impl FnMut(&[u8])) -> Result<()> {
        let mut stream = self.terms.terms().stream().map_err(damaged)?;
        while stream.advance() {
            each(stream.key());
        }
        Ok(())
    }
}

fn damaged(error: std::io::Error) -> Error {
    Error::Index(error.to_string())
}
