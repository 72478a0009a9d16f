//! What are the words of a text, and how alike are two texts? Knows scripts, not indexes: it neither
//! stores a term nor weighs it.
//!
//! [`terms`] and [`query_terms`] run one and the same analysis, so a text is found by any of its own
//! words whatever form they were typed in. The way of a text through it:
//!
//! 1. `clean`: NFKC, invisible characters removed, dashes and quotes made plain.
//! 2. `cut`: the text is cut where white space or the script says so.
//! 3. Scripts that write no spaces give single characters and adjacent pairs (`unspaced`), symbols
//!    and emoji give themselves (`symbol`), everything else goes on as a chunk.
//! 4. `chunk`: a chunk such as `src/a.rs`, `C++` or `gpt-4o` gives its whole form and its parts.
//! 5. `word`: a part gives its camel-case and digit parts; each is folded (`fold`) and then
//!    stemmed by its script (`stem`).
//!
//! User text is never syntax here: no character of it has a meaning beyond what it is.

mod canonical;
mod chunk;
mod clean;
mod clip;
mod cut;
mod days;
mod escape;
mod fold;
mod script;
mod similar;
mod sink;
mod stem;
mod stop;
mod symbol;
mod traits;
mod unspaced;
mod word;

pub use canonical::{canonical, mentions, statement};
pub use clip::{char_count, clip};
pub use days::days_named;
pub use escape::escape_control;
pub use script::is_unspaced;
pub use similar::{Sketch, is_similar, similarity};
pub use traits::{ASKS, ASKS_ALL, ORDERS};

use cut::Piece;
use sink::Sink;

/// Rises whenever the same text may give other terms, so that an index knows when it is out of date.
pub const ANALYSIS_VERSION: u32 = 2;

/// No term is longer; a longer one is cut at a character border, in texts and queries alike.
pub const MAX_TERM_BYTES: usize = 64;

/// Returns the terms to index `text` under, in the order of the text.
///
/// A term that occurs more than once is there more than once: the repetitions are its frequency.
/// Stop words are included, so that statistics mean what they say.
pub fn terms(text: &str) -> Vec<String> {
    analyse(text).into_terms()
}

/// Returns the terms of a text and those for what kind of statement its content is, which no query looks for:
/// [`ASKS`], [`ORDERS`].
pub fn index_terms(text: &str, content: &str) -> Vec<String> {
    let mut all = terms(text);
    all.extend(traits::traits(content));
    all
}

/// Returns the terms to look for, each once, in order of first appearance.
///
/// English function words are left out unless nothing else remains: "what should I do before deploy"
/// asks for *deploy*, "to be or not to be" for itself. Frequent characters of other scripts, such as
/// 的, need no list: they are so common that they weigh next to nothing.
///
/// A text without letters, digits and symbols gives no terms.
pub fn query_terms(text: &str) -> Vec<String> {
    analyse(text).into_query_terms()
}

fn analyse(text: &str) -> Sink {
    let mut sink = Sink::default();
    for piece in cut::pieces(&clean::clean(text)) {
        match piece {
            Piece::Chunk(chunk) => chunk::analyse(chunk, &mut sink),
            Piece::Unspaced(run) => unspaced::analyse(run, &mut sink),
            Piece::Symbols(run) => symbol::analyse(run, &mut sink),
        }
    }
    sink
}

#[cfg(test)]
mod tests;
