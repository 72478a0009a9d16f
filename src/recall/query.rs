//! A question, and the bounds on it. Text, never syntax.

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::record::{FIELD_BYTES_MAX, Kind};
use crate::store::Filter;
use crate::words::words;

/// The longest query, in bytes.
pub const QUERY_BYTES_MAX: usize = 16 * 1024;
/// The most memories that an answer may hold.
pub const LIMIT_MAX: usize = 1000;
/// The largest budget of a projection, in characters.
pub const CHARACTERS_MAX: usize = 1_000_000;
/// The most task tags, and the most observations, that a query may carry.
pub const TAGS_MAX: usize = 64;

words! {
    /// Which searches take part.
    Mode("mode") {
        /// By words and by meaning.
        Hybrid = "hybrid",
        /// By words alone.
        Keyword = "keyword",
        /// By meaning alone.
        Vector = "vector",
    }
}

/// A question to a memory.
///
/// ```
/// use recordari::Query;
/// let query = Query { limit: Some(3), ..Query::new("which language should examples use?") };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The question, or the task at hand, in any language.
    pub text: String,
    /// How many memories at most; none: as the policy says.
    pub limit: Option<usize>,
    /// How many characters the projection may take; none: as the policy says.
    pub characters: Option<usize>,
    /// Only these kinds; empty: all.
    pub kinds: Vec<Kind>,
    /// Only hits with at least this score, from 0 to 1.
    pub minimum_score: Option<f64>,
    /// Only records that meet this.
    pub filter: Filter,
    /// What held at that instant, instead of now.
    pub valid_at: Option<Timestamp>,
    /// Which searches take part.
    pub mode: Mode,
    /// Compares every record at full precision, also where a shortcut would be faster: the oracle for tests and
    /// measurements.
    pub exact: bool,
    /// Counts what the filters kept out, by reason.
    pub explain: bool,
    /// Tags of the task, which may meet the read triggers of records.
    pub tags: Vec<String>,
    /// What the caller observes now, as subject and value: records that contradict it are marked.
    pub observed: Vec<(String, String)>,
    /// The caller's id of its task, for the trace.
    pub task: Option<String>,
}

impl Query {
    /// A question with everything else as the policy says.
    pub fn new(text: impl Into<String>) -> Query {
        Query {
            text: text.into(),
            limit: None,
            characters: None,
            kinds: Vec::new(),
            minimum_score: None,
            filter: Filter::All(Vec::new()),
            valid_at: None,
            mode: Mode::Hybrid,
            exact: false,
            explain: false,
            tags: Vec::new(),
            observed: Vec::new(),
            task: None,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.text.len() > QUERY_BYTES_MAX {
            return Err(Error::invalid("query", format!("must be at most {QUERY_BYTES_MAX} bytes long")));
        }
        if self.limit.is_some_and(|limit| !(1..=LIMIT_MAX).contains(&limit)) {
            return Err(Error::invalid("limit", format!("must lie between 1 and {LIMIT_MAX}")));
        }
        if self.characters.is_some_and(|characters| !(1..=CHARACTERS_MAX).contains(&characters)) {
            return Err(Error::invalid("characters", format!("must lie between 1 and {CHARACTERS_MAX}")));
        }
        if self.minimum_score.is_some_and(|score| !(0.0..=1.0).contains(&score)) {
            return Err(Error::invalid("minimum_score", "must lie between 0 and 1"));
        }
        let long = |text: &String| text.len() > FIELD_BYTES_MAX;
        if self.tags.iter().any(long)
            || self.observed.iter().any(|(subject, value)| long(subject) || long(value))
        {
            return Err(Error::invalid(
                "query",
                format!("must carry tags and observations of at most {FIELD_BYTES_MAX} bytes"),
            ));
        }
        if self.task.as_ref().is_some_and(|task| task.trim().is_empty() || long(task)) {
            return Err(Error::invalid("task", format!("must be 1 to {FIELD_BYTES_MAX} bytes long")));
        }
        if self.tags.len() > TAGS_MAX || self.observed.len() > TAGS_MAX {
            return Err(Error::invalid(
                "query",
                format!("must carry at most {TAGS_MAX} tags and observations"),
            ));
        }
        Ok(())
    }
}
