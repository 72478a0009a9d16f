//! Where do terms go while a text is analysed? Bounds their length and knows which are stop words.

use std::collections::HashSet;

use super::MAX_TERM_BYTES;

/// Collects terms in the order in which they are found.
#[derive(Default)]
pub(super) struct Sink {
    terms: Vec<String>,
    /// Positions in `terms` of the stop words, ascending.
    stops: Vec<usize>,
}

impl Sink {
    /// Adds a term, cut to [`MAX_TERM_BYTES`]. An empty term is no term.
    pub(super) fn push(&mut self, mut term: String) {
        if term.len() > MAX_TERM_BYTES {
            term.truncate(term.floor_char_boundary(MAX_TERM_BYTES));
        }
        if !term.is_empty() {
            self.terms.push(term);
        }
    }

    /// Adds a word that carries too little meaning to be looked for beside others.
    pub(super) fn push_stop(&mut self, term: String) {
        self.stops.push(self.terms.len());
        self.push(term);
    }

    pub(super) fn into_terms(self) -> Vec<String> {
        self.terms
    }

    pub(super) fn into_query_terms(self) -> Vec<String> {
        let keep_stops = self.stops.len() == self.terms.len();
        let mut stops = self.stops.into_iter().peekable();
        let mut seen = HashSet::new();
        let mut kept = Vec::new();
        for (position, term) in self.terms.into_iter().enumerate() {
            let is_stop = stops.next_if_eq(&position).is_some();
            if (keep_stops || !is_stop) && seen.insert(term.clone()) {
                kept.push(term);
            }
        }
        kept
    }
}
