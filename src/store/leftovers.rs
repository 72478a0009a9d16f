//! What a search for forgotten texts asks of the store: which texts are rightly there, and whether anything is left
//! where nothing should be.

use super::Snapshot;
use super::number::{doc_of, row_of};
use crate::change::DocId;
use crate::error::Result;

/// How long a text is that shows whether a search sees it: long enough to be told from chance, short enough to lie
/// on one page.
const WITNESS_BYTES: std::ops::RangeInclusive<i64> = 8..=400;

/// Whether a version holds what an erased one must not.
pub(super) const HOLDS_ANYTHING: &str =
    "content IS NOT NULL OR source IS NOT NULL OR locator IS NOT NULL OR speaker IS NOT NULL
    OR subject IS NOT NULL OR metadata IS NOT NULL OR session IS NOT NULL OR write_reason IS NOT NULL
    OR read_trigger IS NOT NULL OR revision_path IS NOT NULL OR checksum IS NOT NULL OR vectors IS NOT NULL
    OR EXISTS (SELECT 1 FROM coming_vectors c WHERE c.record = records.id)
    OR EXISTS (SELECT 1 FROM evidence e WHERE e.record = records.id)";

impl Snapshot<'_> {
    /// Gives every text that is rightly in the store: of all versions that are not erased, with their subjects, sources,
    /// speakers and metadata.
    pub fn each_text(&self, mut each: impl FnMut(&str)) -> Result<()> {
        let mut statement = self.connection().prepare(
            "SELECT content, subject, source, locator, speaker, metadata FROM records WHERE content IS NOT NULL",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..6 {
                if let Some(text) = row.get_ref(column)?.as_str_or_null().unwrap_or_default() {
                    each(text);
                }
            }
        }
        Ok(())
    }

    /// Gives the packed vectors of every version that is there, of whichever model, with its document.
    pub fn each_vector(&self, mut each: impl FnMut(DocId, &[u8]) -> Result<()>) -> Result<()> {
        let mut statement = self.connection().prepare(
            "SELECT id, vectors FROM records WHERE vectors IS NOT NULL AND content IS NOT NULL
             UNION ALL
             SELECT r.id, c.vectors FROM coming_vectors c JOIN records r ON r.id = c.record WHERE r.content IS NOT NULL",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(1)?.as_blob_or_null().unwrap_or_default().unwrap_or_default();
            each(doc_of(row.get(0)?), bytes)?;
        }
        Ok(())
    }

    /// The text of some version that is there, if there is one.
    pub fn any_text(&self) -> Result<Option<String>> {
        let mut statement = self.connection().prepare(
            "SELECT content FROM records WHERE state = 'current' AND length(CAST(content AS BLOB)) BETWEEN ?1 AND ?2 LIMIT 1",
        )?;
        let mut rows = statement.query([WITNESS_BYTES.start(), WITNESS_BYTES.end()])?;
        Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
    }

    /// How many erased versions there are, and how many of them hold anything still.
    pub fn leftovers(&self) -> Result<(u64, u64)> {
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE {HOLDS_ANYTHING}) FROM records WHERE state = 'forgotten'"
        );
        let found = self
            .connection()
            .query_row(&sql, [], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)))?;
        Ok(found)
    }

    /// Whether a version is there that says anything, or rests on anything, or has vectors.
    pub fn holds_anything(&self, doc: DocId) -> Result<bool> {
        let sql = format!("SELECT 1 FROM records WHERE id = ?1 AND ({HOLDS_ANYTHING})");
        Ok(self.connection().prepare_cached(&sql)?.exists([row_of(doc)])?)
    }
}
