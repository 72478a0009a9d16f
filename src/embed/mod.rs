//! Turns text into vectors that lie close together when the texts mean something similar. Knows neither
//! records nor indexes.
//!
//! [`Embedder`] is the contract. [`E5`] keeps it with a small multilingual network that needs no other
//! program, `HttpEmbedder` by asking an endpoint, `FastEmbedder` with a model in an ONNX folder,
//! [`HashingEmbedder`] with nothing but character sequences, for tests and for stores that want no model.
//! [`ModelSpec`] is how a person names one of them.

mod cache;
mod e5;
#[cfg(feature = "fastembed")]
mod fast;
mod hashing;
mod http;
mod spec;
#[cfg(any(feature = "http-embedder", feature = "fastembed"))]
mod unit;
mod windows;

use crate::error::{Error, Result};

pub use cache::QueryCache;
pub use e5::E5;
#[cfg(feature = "fastembed")]
pub use fast::{FastEmbedder, FastOptions, Pooling};
pub use hashing::HashingEmbedder;
#[cfg(feature = "http-embedder")]
pub use http::HttpEmbedder;
pub use http::HttpOptions;
pub use spec::ModelSpec;

/// Vectors that a text may get. What lies behind the last window of a very long text gets none; 64
/// windows of [`E5`] hold some 28,000 tokens, or 64 KiB of any text that is not mostly symbols.
pub const MAX_WINDOWS: usize = 64;

/// Turns text into vectors.
///
/// The same text gives the same vectors to the last bit: on every machine, in any company of other
/// texts, from any thread.
pub trait Embedder: Send + Sync {
    /// Says which model this is and how to read its cosines.
    fn model(&self) -> &ModelInfo;

    /// Returns one or more vectors of unit length per text, in the order of the texts.
    ///
    /// A text that is longer than the model reads at once is embedded in overlapping windows, in the
    /// order of the text, up to [`MAX_WINDOWS`]. An empty text gets a vector too; it means nothing.
    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>>;

    /// Returns one vector of unit length for a question. Of a text that is longer than the model reads
    /// at once only the beginning counts.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>>;
}

/// Which model made a vector. Vectors of different fingerprints must never be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// The name for people.
    pub name: String,
    /// Sixteen hexadecimal digits that change with everything that changes the vectors.
    pub fingerprint: String,
    /// The length of a vector.
    pub dims: usize,
    /// How to read a cosine between a query and a passage.
    pub calibration: Calibration,
}

/// Where the cosines of a model lie. Models differ too much for one threshold: a cosine of 0.8 is the
/// best there is from one, and noise from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// The cosine of a query and a passage that have nothing to do with one another.
    pub unrelated: f32,
    /// The cosine of a query and a passage that clearly answers it.
    pub related: f32,
}

impl Calibration {
    /// What is assumed of a model that nobody has measured. It suits models whose cosines are spread out, as
    /// those of MiniLM; models with squeezed ones (E5, BGE, some of OpenAI's) need figures of their own.
    pub const GENERIC: Calibration = Calibration { unrelated: 0.1, related: 0.5 };

    /// Refuses figures that are no cosines, or in the wrong order.
    pub(crate) fn check(self) -> Result<()> {
        let cosine = |value: f32| (-1.0..=1.0).contains(&value);
        match cosine(self.unrelated) && cosine(self.related) && self.unrelated < self.related {
            true => Ok(()),
            false => Err(Error::invalid("calibration", "needs two cosines, unrelated below related")),
        }
    }

    /// Returns how related a cosine says two texts are: 0 for unrelated, 1 for clearly related.
    pub fn relevance(&self, cosine: f32) -> f32 {
        ((cosine - self.unrelated) / (self.related - self.unrelated)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Calibration;

    #[test]
    fn relevance_runs_from_unrelated_to_related() {
        let calibration = Calibration { unrelated: 0.8, related: 0.9 };
        assert_eq!(calibration.relevance(0.5), 0.0);
        assert!((calibration.relevance(0.85) - 0.5).abs() < 1e-5);
        assert_eq!(calibration.relevance(1.0), 1.0);
    }
}
