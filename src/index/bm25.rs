//! How much do shared words say? Okapi BM25 (Robertson, Walker, Jones, Hancock-Beaulieu and Gatford,
//! "Okapi at TREC-3", 1994) with the inverse document frequency that Lucene uses, which is never negative.
//!
//! Counts come from the caller and are exact: tantivy's own scorer counts deleted documents and every
//! tenant's, and rounds lengths.

/// How soon more of the same word stops counting.
const K1: f64 = 1.2;
/// How much longer texts are marked down; 0: not at all, 1: in proportion. Where all are of a length, a
/// longer one mostly says more; where a few are many times longer than the rest, they hold every word.
const B: std::ops::RangeInclusive<f64> = 0.7..=1.0;
/// How fast it rises with the spread of lengths (their standard deviation as a share of their mean).
const B_PER_SPREAD: f64 = 1.2;
/// The [`middle`] of the scale at most: so much said, in natural units of information, is as good a
/// match as half of what the words could say.
const SAID_ENOUGH: f64 = 5.0;

/// The documents that statistics are taken over: those that the caller may see and that are in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// How many.
    pub documents: u64,
    /// How many terms they have together.
    pub terms: u64,
    /// The sum of the squares of how many terms each has.
    pub squares: u64,
}

/// How long the documents of a collection are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lengths {
    average: f64,
    b: f64,
}

impl Collection {
    /// How much a word says that so many documents hold.
    pub fn weight(&self, document_frequency: u64) -> f64 {
        let (all, with) = (self.documents as f64, document_frequency as f64);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    /// Takes another document in.
    pub fn add(&mut self, length: u32) {
        self.documents += 1;
        self.terms += u64::from(length);
        self.squares += u64::from(length).pow(2);
    }

    /// Takes out a document that was taken in.
    pub fn remove(&mut self, length: u32) {
        self.documents -= 1;
        self.terms -= u64::from(length);
        self.squares -= u64::from(length).pow(2);
    }

    /// Both together.
    pub fn with(&self, other: &Collection) -> Collection {
        Collection {
            documents: self.documents + other.documents,
            terms: self.terms + other.terms,
            squares: self.squares + other.squares,
        }
    }

    /// How long the documents are.
    pub fn lengths(&self) -> Lengths {
        let documents = (self.documents as f64).max(1.0);
        let average = (self.terms as f64 / documents).max(1.0);
        let spread = (self.squares as f64 / documents - average.powi(2)).max(0.0).sqrt() / average;
        Lengths { average, b: (B_PER_SPREAD * spread).clamp(*B.start(), *B.end()) }
    }
}

impl Lengths {
    /// What a word contributes to a document that holds it `frequency` times and is `length` terms long,
    /// as a share of the most that it could contribute: in [0, 1).
    pub fn saturation(&self, frequency: u32, length: u32) -> f64 {
        let frequency = f64::from(frequency);
        let norm = K1 * (1.0 - self.b + self.b * f64::from(length) / self.average);
        frequency / (frequency + norm)
    }
}

/// The middle of the scale on which documents are relevant, from 0 to 1, by what they say: the sum over the query's
/// words of weight times saturation. `possible` is the sum of the weights. What a document says makes it as
/// relevant as that is a share of itself and the middle ([`share`](crate::simd::share)).
///
/// The middle, 0.5, is where a document says half of what the words could say, or five units of
/// information, whichever is less. A share alone would make nothing relevant to a long text, of whose
/// words every document has few; an amount alone would make nothing relevant in a small collection,
/// where no word says much.
pub fn middle(possible: f64) -> f32 {
    SAID_ENOUGH.min(possible / 2.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::share;

    #[test]
    fn rare_words_say_more_and_repetition_saturates() {
        let collection = Collection { documents: 100, terms: 1000, squares: 10_000 };
        assert!(collection.weight(1) > collection.weight(50));
        assert!(collection.weight(100) > 0.0);
        let lengths = collection.lengths();
        assert!(lengths.saturation(2, 10) > lengths.saturation(1, 10));
        assert!(lengths.saturation(1, 5) > lengths.saturation(1, 50));
        assert!(lengths.saturation(u32::MAX, 1) <= 1.0);
    }

    #[test]
    fn long_texts_are_marked_down_more_where_lengths_differ_more() {
        let b = |lengths: &[u32]| {
            let mut collection = Collection::default();
            lengths.iter().for_each(|length| collection.add(*length));
            collection.lengths().b
        };
        assert_eq!(b(&[]), 0.7);
        assert_eq!(b(&[20, 20, 20]), 0.7);
        assert_eq!(b(&[1, 1, 1, 1, 400]), 1.0);
        assert!((0.7..1.0).contains(&b(&[10, 10, 10, 40])));
    }

    #[test]
    fn relevance_has_its_middle_at_half_of_a_short_query_and_at_enough_of_a_long_one() {
        let relevance = |said: f32, possible: f64| share(said, middle(possible));
        assert_eq!(relevance(0.0, 0.0), 0.0);
        assert_eq!(relevance(2.0, 4.0), 0.5);
        assert_eq!(relevance(5.0, 400.0), 0.5);
        assert!(relevance(4.0, 4.0) < 1.0 && relevance(400.0, 400.0) < 1.0);
    }
}
