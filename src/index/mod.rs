//! Which documents could answer, and how well do they match? What may be asked of any index. It only
//! proposes: it holds numbers and terms, no content that an answer shows, and knows no store.
//!
//! A namespace is a [`Partition`]: the columns of what is in force in it, its vectors, and its words as the
//! [`keyword`] index has them on the disk. A search walks partitions that the caller may see and nothing
//! else, so its cost and its scores follow those alone.

pub mod block;
pub mod bm25;
#[cfg(feature = "graph")]
pub mod graph;
pub mod keyword;
mod partition;
mod sieve;
pub mod sketch;
mod spread;
mod turns;
pub mod words;

pub use block::{Beside, Neighbours, VectorBlock};
pub use partition::{Added, Entry, Partition, hash_of_words, subject_hash, subject_words};
pub use sieve::Sieve;
pub use sketch::{Among, Sketch};
pub use spread::Spread;
pub use turns::{Role, Speakers, Turn, naming};
pub use words::Words;
